"""`alama outcomes`: record what became of loans from a file, or simulate it in a test book.

Whatever the file is, a row is read by the same rules as the body of `POST /v1/outcomes`. No
message repeats a value, because a file may hold people.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from alama.core.application import visible
from alama.core.errors import AlamaError, FileProblem, MalformedDocument
from alama.core.intake import members
from alama.core.monitoring.news import News
from alama.lenders.installation import existing_installation, installation
from alama.lenders.keys import is_open
from alama.monitoring import outcomes_api
from alama.monitoring.outcomes import BATCH_MAX, REFUSALS, Outcomes, Result, Sent
from alama.monitoring.outcomes_map_cli import as_it_comes, register_map
from alama.onboarding.job_supervisor import give_way
from alama.platform import ids
from alama.platform.book import Book, Mode
from alama.platform.files.cells import inert
from alama.platform.files.table import Table, require
from alama.platform.http.parameters import SWITCH
from alama.platform.http.problems import InvalidRequest
from alama.platform.terminal import terminal
from alama.platform.terminal.command import Subparsers, whole
from alama.platform.terminal.tables import plain_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from alama.lenders.installation import Installation
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
    add_file(loaded)
    add("--lender", required=True, metavar="ID", help="whose loans they are")
    add(
        "--mode",
        choices=[mode.value for mode in Mode],
        help="default: live where the lender is live, else test",
    )
    add("--by", metavar="NAME", help="who says so, for the audit (default: who is logged in)")
    loaded.set_defaults(run=load, extra="batch")
    register_map(actions)
    _register_simulate(actions)


def add_file(parser: argparse.ArgumentParser) -> None:
    """Let a command be told which file to record, and where to list what is refused."""
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help="CSV, .xlsx, Parquet or JSON lines")
    add(
        "--refused",
        metavar="OUT.csv",
        type=Path,
        help="write what was refused there, with the row and the reason",
    )


def load(args: argparse.Namespace) -> int:
    """Record the rows of a file, and say what became of them."""
    _require_apart(args.file, args.refused)
    if not args.file.is_file():
        open_news(args.file)  # which says what is wrong
    sent = Sent(digest_of(args.file), by=args.by)
    with existing_installation() as opened:
        book = book_of(opened.registry, args.lender, args.mode)
        with _readable(opened, book.lender, args.file) as file:
            source = open_news(file)
            terminal.remark(f"{book.lender}, {book.mode} mode:")
            give_way(opened)
            outcomes = Outcomes.at(opened)
            return record_all(args, source, lambda news: outcomes.record(book, news, sent))


@contextmanager
def _readable(opened: Installation, lender: str, file: Path) -> Iterator[Path]:
    """Give a file whose table is written as it is read here; lines of JSON are."""
    if file.name.lower().endswith((*LINES, ".json")):
        yield file
        return
    with as_it_comes(opened, lender, file) as known:
        yield known


def open_loaded(args: argparse.Namespace) -> Source:
    """Open the file of a command that `add_file` has told, or raise `FileProblem`."""
    _require_apart(args.file, args.refused)
    return open_news(args.file)


Recording = Callable[[Sequence[News]], Sequence[Result]]
"""Records some news, at most `BATCH_MAX`; a result for each, in their order."""


def record_all(args: argparse.Namespace, source: Source, recording: Recording) -> int:
    """Record the rows of a file, say what became of them, and give the exit code."""
    counts: Counter[str] = Counter()
    shown: list[Refused] = []
    with _writing(args.refused) as write:
        for refused in _progressing(source, recording, counts):
            write(refused)
            if args.refused is None and len(shown) < SHOWN_MAX:
                shown.append(refused)
    _say_ignored(source.ignored)
    _say(counts, shown, args.refused)
    return EXIT_REFUSED if _refused_in(counts) else 0


def _recorded(rows: Sequence[Row], recording: Recording) -> Iterator[tuple[Row, Result | None]]:
    """Record those of some rows that could be read; each with what became of it."""
    news = [row.news for row in rows if row.news is not None]
    results = iter(recording(news) if news else ())
    return ((row, None if row.news is None else next(results)) for row in rows)


def _progressing(source: Source, recording: Recording, counts: Counter[str]) -> Iterator[Refused]:
    """Record all of a file batch by batch, counting; give what is refused."""
    told = 0.0
    try:
        with terminal.progress("recording", source.total, unit=None) as bar:
            for rows in source.batches():
                for row, result in _recorded(rows, recording):
                    refused = _refused(row, result)
                    counts[INVALID if result is None else result.answer.value] += 1
                    if refused is not None:
                        yield refused
                bar.note(_rows(counts.total()))
                bar.advance(source.done - told)
                told = source.done
    except (AlamaError, KeyboardInterrupt):
        if counts:
            terminal.remark(
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


def book_of(registry: Registry, lender_id: str, mode: str | None) -> Book:
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
        terminal.remark(f"Not fields of an outcome, ignored: {told}{others}")


def _say(counts: Counter[str], shown: Sequence[Refused], target: Path | None) -> None:
    table = plain_table("result", "rows", "which means")
    table.columns[1].justify = "right"
    for name, meaning in _MEANINGS.items():
        if counts[name]:
            table.add_row(name, f"{counts[name]:,}", meaning)
    terminal.say(table)
    for one in shown:
        terminal.remark(f"{one.place}: {one.result}: {one.message}")
    more = _refused_in(counts) - len(shown)
    if more and target is None:
        terminal.remark(f"... and {more:,} more; --refused FILE.csv lists them all")
    elif more:
        terminal.remark(f"{_rows(more)} refused, and listed in {target}")


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


COLUMNS: Final = tuple(outcomes_api.RULES)
REQUIRED: Final = ("request_id", "outcome", "date")
AMOUNTS: Final = ("disbursed_amount", "repaid_amount")
DATES: Final = ("date", "defaulted_on")
LINES: Final = (".jsonl", ".ndjson")

IGNORED_MAX: Final = 20
"""Names that are told of what is no field; of lines one more is kept in mind."""

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_MARK: Final = b"\xef\xbb\xbf"  # how some editors begin a text in UTF-8


class Row(NamedTuple):
    """One row of a file: its news, or what is wrong with it."""

    place: str
    news: News | None
    fault: str = ""
    request_id: str = ""


class Source(Protocol):
    """A file that is read once, from its beginning."""

    total: float
    """How much there is to read, in a unit of its own."""

    @property
    def ignored(self) -> Sequence[str]:
        """Columns, or members of lines, that are no fields: those that were met, each once."""

    @property
    def done(self) -> float:
        """How much of `total` has been read."""

    def batches(self) -> Iterator[Sequence[Row]]:
        """Read the rows, at most `BATCH_MAX` at a time."""


def open_news(path: Path) -> Source:
    """Open a file by the ending of its name, or raise `FileProblem`."""
    if path.name.lower().endswith(LINES):
        return _Lines(path)
    from alama.platform.files.reader import open_table  # noqa: PLC0415  lines are read without Arrow

    if path.name.lower().endswith(".json"):
        raise FileProblem(
            f"{path}: JSON is read line by line, one object in each",
            hint="write it so, and have its name end in .jsonl",
        )
    return _Rows(open_table(path))


def digest_of(path: Path) -> str:
    """Give the SHA-256 of a file as `sha256sum` prints it, or raise `FileProblem`."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from error


class _Rows:
    """CSV or Parquet."""

    def __init__(self, table: Table) -> None:
        require(table, REQUIRED)
        self._table = table
        self.total = table.total
        self.ignored = tuple(name for name in table.names if name not in COLUMNS)

    @property
    def done(self) -> float:
        return self._table.done

    def batches(self) -> Iterator[Sequence[Row]]:
        names = [name for name in COLUMNS if name in self._table.names]
        number = 0
        for batch in self._table.batches(names, BATCH_MAX):
            rows = []
            for cells in batch.to_pylist():
                number += 1
                rows.append(_row(f"row {number}", _members(cells)))
            yield rows


class _Lines:
    """JSON, one object in a line; empty lines are passed over.

    What a loan system exports has more members than are asked for here, as a table has columns.
    """

    def __init__(self, path: Path) -> None:
        self.ignored: list[str] = []
        self._path = path
        self._read = 0
        try:
            self.total = float(path.stat().st_size)
        except OSError as error:
            raise _unreadable(path, error) from error

    @property
    def done(self) -> float:
        return float(self._read)

    def batches(self) -> Iterator[Sequence[Row]]:
        rows: list[Row] = []
        try:
            with self._path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    self._read += len(line)
                    text = line.removeprefix(_MARK) if number == 1 else line
                    if text.strip():
                        rows.append(self._row(f"line {number}", text))
                    if len(rows) == BATCH_MAX:
                        yield rows
                        rows = []
        except OSError as error:
            raise _unreadable(self._path, error) from error
        if rows:
            yield rows

    def _row(self, place: str, line: bytes) -> Row:
        try:
            sent = members(line)
        except MalformedDocument as error:
            fault = error.fault.partition(" line ")[0].removesuffix(":")  # the place says which
            return Row(place, None, f"the line {fault}")
        for name, _ in sent:
            # Somebody may name members by ids: not all of a long file is kept in mind.
            is_new = name not in COLUMNS and name not in self.ignored
            if is_new and len(self.ignored) <= IGNORED_MAX:
                self.ignored.append(name)
        return _row(place, [member for member in sent if member[0] in COLUMNS])


def _row(place: str, sent: Sequence[tuple[str, object]]) -> Row:
    try:
        return Row(place, outcomes_api.read_one(sent))
    except InvalidRequest as error:
        fault = "; ".join(f"{one.pointer[1:]} {one.detail}" for one in error.problems)
    named = dict(sent).get("request_id")
    is_id = isinstance(named, str) and ids.is_request_id(named)
    return Row(place, None, fault, str(named) if is_id else "")


# ------------------------------------------------------------------------------------- cells


def _members(cells: Mapping[str, Any]) -> list[tuple[str, object]]:
    """Give the cells of a row as JSON would have them; one that is empty is not given."""
    told = [(name, _value(name, cell)) for name, cell in cells.items()]
    return [(name, value) for name, value in told if value is not None]


def _value(name: str, cell: object) -> object:
    """Give a cell as what its field should be, where it can be read so; else as it is."""
    if isinstance(cell, str):
        return _of_text(name, cell.strip())
    if name in AMOUNTS and isinstance(cell, int | float | Decimal) and not isinstance(cell, bool):
        return None if cell != cell else float(cell)  # noqa: PLR0124  not a number: missing
    if name in DATES and isinstance(cell, date):
        return (cell.date() if isinstance(cell, datetime) else cell).isoformat()
    return cell


def _of_text(name: str, text: str) -> object:
    if not text:
        return None
    if name in AMOUNTS and _NUMBER.fullmatch(text):
        return float(text)
    if name == "corrects":
        return SWITCH.get(text.lower(), text)
    return text


def _unreadable(path: Path, error: OSError) -> FileProblem:
    return FileProblem(f"cannot read {path}: {error.strerror}")


SIMULATE_DESCRIPTION: Final = """\
Fill the test book of a lender with months of scores of people who do not exist, and with what
became of their loans, so that `alama monitor` and GET /v1/monitoring have something to show.

Every application is scored, sealed, counted and named in the audit as one that came over HTTP, by
the model and the policy of the test book; only its time lies in the past. No webhook is told of
these scores; of outcomes and reviews those of the test book are told as ever. Those who were
approved get the loan, and of those left to a person every second one. An officer reviews the
newest 600 of these, but for the last ten: they wait, and so do all that are older. What becomes of
a loan is drawn from its true risk, which the population knows and the model does not, and is
recorded as far as a lender would have heard of it by today: young loans are open.

--drift halves what two thirds of the applicants of the last third say of their inflow.
--worse 2 doubles the odds of default of all, which the model does not know.

It is for test books alone; what it adds is never removed but by the retention of the book. Run
again, it adds as many again, but windows of drift that were cut are not cut again: to see drift,
take a lender of which no report was made yet, and a hundred scores a day."""

SIMULATE_EXAMPLES: Final = """\
examples:
  # half a year of a healthy book
  alama outcomes simulate demo
  alama monitor demo

  # a book whose applicants change, and whose loans go worse than promised
  alama lenders add shifting --name "A book that drifts" --currency KES
  alama outcomes simulate shifting --people 20000 --drift --worse 1.7
  alama monitor shifting"""

PEOPLE_MAX: Final = 1_000_000
MONTHS_MAX: Final = 36
REVIEWS_MAX: Final = 600
"""As many as the default has in the 90 days that a report is of. One by one, it takes seconds."""

WORSE_MIN: Final = 0.1
WORSE_MAX: Final = 10.0


def _register_simulate(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "simulate",
        help="fill a test book with synthetic scores and outcomes",
        description=SIMULATE_DESCRIPTION,
        epilog=SIMULATE_EXAMPLES,
    )
    add = parser.add_argument
    add("lender", metavar="LENDER", help="whose test book; `alama lenders list` shows them")
    add("--people", type=whole(1, PEOPLE_MAX), default=5_000, metavar="N", help="default: 5000")
    add("--months", type=whole(1, MONTHS_MAX), default=6, metavar="N", help="default: 6")
    add("--seed", type=whole(0), default=1, metavar="S", help="equal seed, equal people")
    add("--drift", action="store_true", help="let the last third say less of their inflow")
    add(
        "--worse",
        type=_times,
        default=1.0,
        metavar="X",
        help=f"odds of default, {WORSE_MIN:g} to {WORSE_MAX:g} times what they are (default: 1)",
    )
    parser.set_defaults(run=simulate, extra="train")


def simulate(args: argparse.Namespace) -> int:
    from alama.monitoring.synthetic_book import Asked, fill  # noqa: PLC0415  it loads Arrow

    asked = Asked(
        args.lender, args.people, args.months, args.seed, args.drift, args.worse, REVIEWS_MAX
    )
    with installation() as opened:
        kept = fill(opened, asked)
    terminal.say(
        f"{asked.lender}, test mode: {asked.people:,} scores of the past {asked.months} months, "
        f"{len(kept.loans.request_ids):,} loans, {len(kept.news):,} pieces of news of them, and "
        f"{kept.reviews:,} reviews by an officer."
    )
    terminal.remark(
        "These people do not exist. No webhook was told of the scores.\n"
        f"Try next: alama monitor {args.lender} --mode test"
    )
    return 0


def _times(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not WORSE_MIN <= number <= WORSE_MAX:
        message = f"{text!r} is not a number from {WORSE_MIN:g} to {WORSE_MAX:g}"
        raise argparse.ArgumentTypeError(message)
    return number
