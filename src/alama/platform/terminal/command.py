"""What a module must offer to be a command of the front door, and the parser that it fills."""

from __future__ import annotations

import argparse
import difflib
import importlib
import textwrap
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from alama.platform.book import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# argparse gives the type of what `add_subparsers()` returns no public name.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001


_WIDTH_MAX: Final = 98
"""Beyond that, lines are tiring to read."""


class Command(Protocol):
    """A module named for the noun it serves, imported when that noun is called.

    `register` adds to the noun's parser what it takes, and calls `set_defaults(run=...)` on it or
    on those below with a function `run(args: argparse.Namespace) -> int` that returns the exit
    code. The module imports at its top what it needs, but for the training libraries and Arrow:
    they take longer to load than most commands take to run, and may not be installed.
    """

    def register(self, parser: Parser) -> None: ...


class Parser(argparse.ArgumentParser):
    """Reads the arguments of every command: argparse makes those below of the same kind.

    That of a noun is empty until its module has filled it.
    """

    about_unknown: str | None = None
    """What is said of arguments that are not known, where they may be secret: not themselves."""

    def __init__(
        self,
        *,
        module: str | None = None,
        implied: str | None = None,
        **given: Any,  # noqa: ANN401  as argparse takes it
    ) -> None:
        """Take the module that fills it, and the action that is meant where none is named."""
        super().__init__(**given | {"formatter_class": _HelpFormatter})
        self._module = module
        self._implied = implied

    def fill(self) -> None:
        """Import the module of a noun, once, and have it say what its parser takes."""
        if self._module is not None:
            command: Command = importlib.import_module(self._module)
            self._module = None
            command.register(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401  as above
        """Be filled first: argparse calls this on the parser of the noun that was named."""
        self.fill()
        found, unknown = super().parse_known_args(self._with_action(args), namespace)
        if unknown and self.about_unknown is not None:
            self.error(self.about_unknown)
        return found, unknown

    def _with_action(self, args: Sequence[str] | None) -> Sequence[str] | None:
        """Name the implied action on a line that names none, only what that one takes."""
        if self._implied is None or args is None:
            return args
        if args and (args[0] in self._names_of_actions() or args[0] in {"-h", "--help"}):
            return args
        # Two words in a row are an action that was mistyped, and what it should have acted on.
        if len(args) > 1 and not args[0].startswith("-") and not args[1].startswith("-"):
            return args
        return [self._implied, *args]

    def _names_of_actions(self) -> set[str]:
        below = (one for one in self._actions if isinstance(one, argparse._SubParsersAction))  # noqa: SLF001
        return {name for one in below for name in one.choices}

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401
        """Name the command that was meant, where argparse would list all there are."""
        names = list(action.choices or ())
        if isinstance(action, argparse._SubParsersAction) and value not in names:  # noqa: SLF001
            near = difflib.get_close_matches(value, names, n=1)
            more = f"did you mean {near[0]}?" if near else f"`{self.prog} --help` lists them"
            raise argparse.ArgumentError(None, f"there is no command {value!r}; {more}")
        super()._check_value(action, value)


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps words to the terminal, and leaves what is indented as it is: examples and lists."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        width = min(width, _WIDTH_MAX)
        lines: list[str] = []
        for is_words, run in groupby(text.splitlines(), key=_is_words):
            kept = list(run)
            lines += _wrapped(" ".join(kept), width) if is_words else kept
        return "\n".join(f"{indent}{line}" for line in lines)

    def add_argument(self, action: argparse.Action) -> None:
        """Keep a command and its help on one line.

        argparse measures the names of commands without the indent it prints them with, and so
        breaks the line of the longest.
        """
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            self._action_max_length += self._indent_increment


def _wrapped(words: str, width: int) -> list[str]:
    return textwrap.wrap(words, width, break_on_hyphens=False, break_long_words=False)


def _is_words(line: str) -> bool:
    return bool(line) and not line.startswith(" ")


def add_mode(parser: argparse.ArgumentParser, default: Mode) -> None:
    """Let a command be told in which of a lender's two books."""
    parser.add_argument(
        "--mode",
        choices=[mode.value for mode in Mode],
        default=default.value,
        help="default: %(default)s",
    )


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Read a whole number of at least so much, and at most."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            bounds = f"of {least} or more" if most is None else f"from {least} to {most:,}"
            message = f"{text!r} is not a whole number {bounds}"
            raise argparse.ArgumentTypeError(message)
        return number

    return read


def moment_us(text: str) -> int:
    """Read a day or a time, UTC unless it says otherwise, as microseconds since 1970."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = f"{text} is no time; write it as 2026-11-15 or 2026-11-15T10:30"
        raise argparse.ArgumentTypeError(message) from None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1_000_000)


def names(text: str) -> list[str]:
    """Read names with commas between them."""
    return [name for name in (part.strip() for part in text.split(",")) if name]
