"""The terminal: consoles, progress, questions, and how results and remarks are said.

Results go to stdout, so that they can be piped; progress, warnings and errors go to stderr.
"""

from __future__ import annotations

import functools
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from alama.core.application import visible_lines
from alama.platform.days import moment
from alama.platform.errors import InvalidName

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from types import FrameType

    from rich.console import ConsoleOptions, RenderableType
    from rich.table import Table


# Where nobody is looking (a file, a pipe) tables get this width rather than rich's cramped 80.
WIDTH_UNSEEN: Final = 120


class _PlainConsole(Console):
    """A console that leaves a closed pipe to the front door, where rich would exit by itself.

    What it prints may come from anywhere: a stored word, the name of a column. No such text steers
    the terminal; only rich does, by styles and by segments of control.
    """

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(visible_lines(text), style)


@functools.cache
def stdout() -> Console:
    """The console for results."""
    return _PlainConsole(highlight=False, width=_width(seen=sys.stdout.isatty()))


@functools.cache
def stderr() -> Console:
    """The console for everything that is not the result."""
    return _PlainConsole(stderr=True, highlight=False, width=_width(seen=sys.stderr.isatty()))


def error(message: str, hint: str | None = None) -> None:
    _say("error: ", "bold red", message)
    if hint is not None:
        _say("  hint: ", "bold", hint)


def warn(message: str) -> None:
    _say("warning: ", "bold yellow", message)


class Progress(Protocol):
    """Work under way, as the code that does the work sees it."""

    def advance(self, amount: float = 1) -> None:
        """Say that so many more units are done."""

    def note(self, text: str) -> None:
        """Show the latest figure worth watching beside the bar; it replaces the one before."""


@contextmanager
def progress(
    description: str,
    total: float | None = None,
    *,
    unit: str | None = "",
    vanishing: bool = False,
    console: Console | None = None,
) -> Iterator[Progress]:
    """Show work under way on stderr: a bar in a terminal, else one line once it is done.

    `total` is in units of `unit` ("rows"); None where it is not known beforehand. Without a unit
    (None) no amount is shown beside the bar. A bar that is `vanishing` is gone once it is done, and
    where there is no terminal there is no line either: what comes after tells. A block that raises
    leaves no line: the error speaks for it.
    """
    console = console or stderr()
    if console.is_interactive:
        with _bar(description, total, unit, console, vanishing=vanishing) as bar:
            yield bar
    else:
        tally = _Tally()
        started_s = time.monotonic()
        yield tally
        if vanishing:
            return
        elapsed_s = time.monotonic() - started_s
        amount = "" if unit is None else f"{_amount(tally.done, unit)} in "
        parts = [f"{description}: {amount}{elapsed_s:.1f} s", tally.text]
        console.print(", ".join(filter(None, parts)), markup=False, soft_wrap=True)


Watch = Callable[[str, float, str], None]
"""Told the stage of the work, the share of it that is done, and a figure worth showing."""


@contextmanager
def share(description: str) -> Iterator[Watch]:
    """Show work of which the share that is done is known."""
    with progress(description, 100, unit=None) as bar:
        reached = 0.0
        latest = ""

        def watch(stage: str, done: float, figure: str) -> None:
            nonlocal reached, latest
            # A share is a guess at times; a bar that steps back would look broken.
            if 100 * done > reached:
                bar.advance(100 * done - reached)
                reached = 100 * done
            latest = figure or latest
            bar.note(", ".join(filter(None, (stage, latest))))

        yield watch
        bar.advance(100 - reached)


def usable_cores() -> int:
    """What this process may use, which in a container is less than what the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Tally:
    """Counts silently, for the one line at the end."""

    def __init__(self) -> None:
        self.done = 0.0
        self.text = ""

    def advance(self, amount: float = 1) -> None:
        self.done += amount

    def note(self, text: str) -> None:
        self.text = text


@contextmanager
def _bar(
    description: str, total: float | None, unit: str | None, console: Console, *, vanishing: bool
) -> Iterator[Progress]:
    # Here, not above: only long commands in a terminal need it.
    from rich import progress as rich_progress  # noqa: PLC0415

    class Amount(rich_progress.ProgressColumn):
        def render(self, task: rich_progress.Task) -> Text:
            return Text(_amount(task.completed, unit), style="progress.download")

    display = rich_progress.Progress(
        rich_progress.TextColumn("{task.description}", markup=False),
        rich_progress.BarColumn(),
        rich_progress.TaskProgressColumn(show_speed=total is None),
        Amount(),
        rich_progress.TimeRemainingColumn(elapsed_when_finished=True),
        rich_progress.TextColumn("{task.fields[note]}", markup=False, style="cyan"),
        console=console,
        transient=vanishing,
    )

    class Bar:
        def advance(self, amount: float = 1) -> None:
            display.advance(task, amount)

        def note(self, text: str) -> None:
            display.update(task, note=text)

    with display:
        task = display.add_task(description, total=total, note="")
        yield Bar()
        if total is None:  # now it is known, and the bar can come to rest
            display.update(task, total=display.tasks[task].completed)


def _amount(done: float, unit: str | None) -> str:
    return "" if unit is None else f"{done:,.0f} {unit}".rstrip()


def _say(label: str, style: str, message: str) -> None:
    # Text, not markup: a message may hold brackets, and a long one is wrapped by the terminal.
    stderr().print(Text.assemble((label, style), message), soft_wrap=True)


def _width(*, seen: bool) -> int | None:
    return None if seen or "COLUMNS" in os.environ else WIDTH_UNSEEN


_US: Final = 1_000_000
_SPANS: Final = (("d", 86_400 * _US), ("h", 3_600 * _US), ("min", 60 * _US), ("s", _US))


def say(result: RenderableType) -> None:
    """Print a result; brackets in a name of the lender's are not markup."""
    stdout().print(result, markup=False, soft_wrap=isinstance(result, str))


def section(title: str, table: Table) -> None:
    """Print a table under its title; nothing where it has no rows."""
    if table.row_count:
        stdout().print(Text(f"\n{title}", "bold"), soft_wrap=True)
        stdout().print(table)


def remark(text: str) -> None:
    """Print a line about the result to stderr, out of the way of a pipe."""
    stderr().print(text, markup=False, soft_wrap=True)


def day(moment_us: int) -> str:
    """Give the day of a time, UTC."""
    return f"{_moment(moment_us):%Y-%m-%d}"


def minute(moment_us: int) -> str:
    """Give a time to the minute, UTC."""
    return f"{_moment(moment_us):%Y-%m-%d %H:%M}"


def second(moment_us: int) -> str:
    """Give a time to the second, UTC."""
    return f"{_moment(moment_us):%Y-%m-%d %H:%M:%S}"


def span(duration_us: int) -> str:
    """Give a duration in the largest unit that it fills, rounded down: 23 h, 5 min."""
    for unit, length_us in _SPANS:
        if duration_us >= length_us:
            return f"{duration_us // length_us} {unit}"
    return "0 s"


def _moment(moment_us: int) -> datetime:
    return datetime.fromtimestamp(moment_us / _US, UTC)


_TIMES: Final = ("--since", "--until")
"""The options whose times are kept in microseconds."""


def repeat(parser: argparse.ArgumentParser, *named: str) -> None:
    """Name what says which list is meant, options by their dashes, for `say_older`."""
    parser.set_defaults(default_of=parser.get_default, repeated=named)


def say_older(args: argparse.Namespace, last: object) -> None:
    """Say how to go on after the last line of a page: with what was given of what is repeated."""
    typed = []
    for name in args.repeated:
        word = name.removeprefix("--")
        given: Any = getattr(args, word, None)
        if given is True:
            typed.append(name)
        elif given != args.default_of(word):
            text = moment(given).isoformat() if name in _TIMES else str(given)
            if word == name:  # an argument
                typed.append(text)
            else:
                # What begins with a dash is taken for an option unless it is joined to its own.
                typed += [f"{name}={text}"] if text.startswith("-") else [name, text]
    remark(f"Older ones: {shlex.join([*typed, '--before', str(last)])}")


def add_yes(parser: argparse.ArgumentParser) -> None:
    """Let a script say that it means what cannot be undone."""
    parser.add_argument("--yes", action="store_true", help="do not ask once more")


def confirm(word: str, warning: str) -> None:
    """Have a word typed, or raise `InvalidName`; `warning` is a sentence without its end."""
    if not sys.stdin.isatty():
        raise InvalidName(
            "nothing was done: this wants to be confirmed, and there is no terminal to ask at",
            hint=f"add --yes if it is meant: {warning[0].lower()}{warning[1:]}",
        )
    if ask(f"{warning}. To go on, type {word}: ") != word:
        raise InvalidName("nothing was done")


def ask(question: str) -> str:
    """Read a line; a pipe is asked without a word."""
    if sys.stdin.isatty():
        sys.stderr.write(question)
        sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer:
        raise InvalidName("nothing was answered", hint="give it with --ref, or pipe it in")
    return answer.strip()


def say_journal(emptied: bool) -> None:  # noqa: FBT001  it is what was found, not what to do
    """Warn where the journal of a SQLite file still holds what is no more in the file."""
    if not emptied:
        warn(
            "another process is reading, so the journal of the database still holds what is no "
            "more in it; run the same command again until it does not say so"
        )


_ASKED: Final = (signal.SIGTERM, signal.SIGHUP)
_BY_SIGNAL: Final = 128
"""What a shell adds to the number of the signal that ended a program."""


@contextmanager
def undone_when_ended() -> Iterator[None]:
    """Have SIGTERM and SIGHUP leave the block as Ctrl-C does, so that all is undone on the way.

    A signal that was ignored before stays so, as `nohup` wants it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # no other may ask for signals, and none reaches another
        return
    before = {one: signal.getsignal(one) for one in _ASKED}
    asked = [one for one, handler in before.items() if handler is not signal.SIG_IGN]

    def leave(number: int, _frame: FrameType | None) -> None:
        for one in asked:  # once is enough: a second would end what undoes
            signal.signal(one, signal.SIG_IGN)
        raise SystemExit(_BY_SIGNAL + number)

    for one in asked:
        signal.signal(one, leave)
    try:
        yield
    finally:
        for one in asked:
            signal.signal(one, before[one])
