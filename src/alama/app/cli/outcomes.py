"""`alama outcomes`: say what became of loans, by the file."""

from __future__ import annotations

import csv
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.app.cli import outcomes_simulate
from alama.app.cli.installed import existing_installation
from alama.app.cli.outcomes_file import IGNORED_MAX, Row, Source, digest_of, open_news
from alama.app.delivering import give_way
from alama.core.application import visible
from alama.core.errors import AlamaError, FileProblem
from alama.lenders.keys import is_open
from alama.monitoring.outcomes import REFUSALS, Outcomes, Result, Sent
from alama.platform.book import Book, Mode
from alama.platform.files.promise import inert
from alama.platform.terminal import terminal
from alama.platform.terminal import terminal as words
from alama.platform.terminal.tables import plain_table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from alama.lenders.store import Registry


DESCRIPTION: Final = """\
Say what became of loans, so that what scores promised can be held against it: `alama monitor` does
that. Lenders can also send outcomes themselves, to POST /v1/outcomes."""

LOAD_DESCRIPTION: Final = """\
Record the outcomes in a file, a row for each: CSV, Parquet, or JSON lines (.jsonl). The columns are
those of POST /v1/outcomes: request_id; outcome, which is repaid, defaulted, written_off or
restructured; date, such as 2026-11-16; and, where you have them, disbursed_amount, repaid_amount,
corrects and defaulted_on. Other columns, or members of a line, are named and ignored.

A row that breaks a rule, or speaks of a score that is not there, keeps no other from being
recorded: it is listed, and the exit code is 1. Mend it and load the same file again: what was
recorded before is not counted twice. A row of CSV with more or fewer values than the header ends
the load, because nobody can say what is missing in it: what was recorded before it stands.

The audit notes the SHA-256 of the file, as sha256sum prints it."""

LOAD_EXAMPLES: Final = """\
examples:
  alama outcomes load repayments.csv --lender umoja
  alama outcomes load repayments.parquet --lender umoja --refused refused.csv --by 'A. Wanjiru'"""

INVALID: Final = "invalid"
"""What a row is counted as that breaks a rule of its fields."""

SHOWN_MAX: Final = 10
"""Refused rows that are told one by one where no file is asked for."""

NAME_MAX: Final = 40
"""Characters of a column's name that are worth repeating."""

EXIT_REFUSED: Final = 1

_MEANINGS: Final = {
    "recorded": "the first that is known of a loan",
    "updated": "later than what was known of it, or more of the same",
    "corrected": "stands in the place of all that was known",
    "unchanged": "was known already",
    "older": "something later is known, or a correction, and stands",
    "conflict": "something else stands, of the same date or by a correction; corrects: true "
    "would replace it",
    "unknown_score": "no such score of this lender in this mode",
    "in_the_future": "the date is yet to come",
    "before_the_loan": "the date is before the score",
    INVALID: "a field is missing or breaks its rule",
}


_MESSAGES: Final = {
    "unknown_score": "There is no score with this request_id in this mode. Check the id, and that "
    "the scores were given in this mode: see --mode.",
}
"""What is said here in other words than to a caller: nobody at a command line has sent a key."""


class Refused(NamedTuple):
    """A row of which nothing was recorded, and should have been."""

    place: str
    request_id: str
    result: str
    message: str


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    loaded = actions.add_parser(
        "load",
        help="record the outcomes in a file",
        description=LOAD_DESCRIPTION,
        epilog=LOAD_EXAMPLES,
    )
    add = loaded.add_argument
    add("file", metavar="FILE", type=Path, help="CSV, Parquet or JSON lines, by its ending")
    add("--lender", required=True, metavar="ID", help="whose loans they are")
    add(
        "--mode",
        choices=[mode.value for mode in Mode],
        help="default: live where the lender is live, else test",
    )
    add(
        "--refused",
        metavar="OUT.csv",
        type=Path,
        help="write what was refused there, with the row and the reason",
    )
    add("--by", metavar="NAME", help="who says so, for the audit (default: who is logged in)")
    loaded.set_defaults(run=load, extra="batch")
    outcomes_simulate.register(actions)


def load(args: argparse.Namespace) -> int:
    """Record the rows of a file, and say what became of them."""
    _require_apart(args.file, args.refused)
    source = open_news(args.file)
    sent = Sent(digest_of(args.file), by=args.by)
    counts: Counter[str] = Counter()
    shown: list[Refused] = []
    with existing_installation() as opened:
        book = _book(opened.registry, args.lender, args.mode)
        words.remark(f"{book.lender}, {book.mode} mode:")
        give_way(opened)
        recording = _Recording(Outcomes.at(opened), book, sent)
        with _writing(args.refused) as write:
            for refused in _progressing(source, recording, counts):
                write(refused)
                if args.refused is None and len(shown) < SHOWN_MAX:
                    shown.append(refused)
    _say_ignored(source.ignored)
    _say(counts, shown, args.refused)
    return EXIT_REFUSED if _refused_in(counts) else 0


class _Recording(NamedTuple):
    outcomes: Outcomes
    book: Book
    sent: Sent

    def __call__(self, rows: Sequence[Row]) -> Iterator[tuple[Row, Result | None]]:
        """Record those of some rows that could be read; each with what became of it."""
        news = [row.news for row in rows if row.news is not None]
        results = iter(self.outcomes.record(self.book, news, self.sent) if news else ())
        return ((row, None if row.news is None else next(results)) for row in rows)


def _progressing(source: Source, recording: _Recording, counts: Counter[str]) -> Iterator[Refused]:
    """Record all of a file batch by batch, counting; give what is refused."""
    told = 0.0
    try:
        with terminal.progress("recording", source.total, unit=None) as bar:
            for rows in source.batches():
                for row, result in recording(rows):
                    refused = _refused(row, result)
                    counts[INVALID if result is None else result.answer.value] += 1
                    if refused is not None:
                        yield refused
                bar.note(_rows(counts.total()))
                bar.advance(source.done - told)
                told = source.done
    except (AlamaError, KeyboardInterrupt):
        if counts:
            words.remark(
                f"{_rows(counts.total())} dealt with, and what was recorded of that stands. "
                "Load the whole file again: nothing is counted twice."
            )
        raise


def _refused(row: Row, result: Result | None) -> Refused | None:
    if result is None:
        return Refused(row.place, row.request_id, INVALID, row.fault)
    if result.message is None:
        return None
    answer = result.answer.value
    return Refused(row.place, result.request_id, answer, _MESSAGES.get(answer, result.message))


def _refused_in(counts: Counter[str]) -> int:
    return counts[INVALID] + sum(counts[answer.value] for answer in REFUSALS)


def _book(registry: Registry, lender_id: str, mode: str | None) -> Book:
    lender = registry.lender(lender_id).id
    live = Book(lender, Mode.LIVE)
    if mode is None:
        is_live = is_open(registry, live) or registry.in_shadow(live)
        return live if is_live else Book(lender, Mode.TEST)
    return Book(lender, Mode(mode))


# ------------------------------------------------------------------------------------- saying


def _say_ignored(names: Sequence[str]) -> None:
    if names:
        told = visible(", ".join(name[:NAME_MAX] for name in names[:IGNORED_MAX]))
        others = ", and others" if len(names) > IGNORED_MAX else ""
        words.remark(f"Not fields of an outcome, ignored: {told}{others}")


def _say(counts: Counter[str], shown: Sequence[Refused], target: Path | None) -> None:
    table = plain_table("result", "rows", "which means")
    table.columns[1].justify = "right"
    for name, meaning in _MEANINGS.items():
        if counts[name]:
            table.add_row(name, f"{counts[name]:,}", meaning)
    words.say(table)
    for one in shown:
        words.remark(f"{one.place}: {one.result}: {one.message}")
    more = _refused_in(counts) - len(shown)
    if more and target is None:
        words.remark(f"... and {more:,} more; --refused FILE.csv lists them all")
    elif more:
        words.remark(f"{_rows(more)} refused, and listed in {target}")


def _rows(many: int) -> str:
    return f"{many:,} row{'' if many == 1 else 's'}"


def _require_apart(file: Path, target: Path | None) -> None:
    if target is not None and target.exists() and file.exists() and target.samefile(file):
        raise FileProblem(
            f"{target} is the file to be loaded; it would be lost",
            hint="give the list of what was refused another name",
        )


@contextmanager
def _writing(target: Path | None) -> Iterator[Callable[[Refused], None]]:
    """Give what writes down refused rows; nothing is written where no file is asked for."""
    if target is None:
        yield lambda _: None
        return

    def written(row: Sequence[str]) -> None:
        try:
            rows.writerow(map(inert, row))
        except OSError as error:
            raise FileProblem(f"cannot write {target}: {error.strerror}") from error

    try:
        file = target.open("w", newline="", encoding="utf-8")
    except OSError as error:
        raise FileProblem(f"cannot write {target}: {error.strerror}") from error
    with file:
        rows = csv.writer(file)
        written(Refused._fields)
        yield written
