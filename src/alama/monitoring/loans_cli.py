"""`alama loans`: tell what was lent and what came back, from a file.

A row is read by the same rules as the body of `POST /v1/loans`. No message repeats a value.
"""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.errors import FileProblem, MalformedDocument
from alama.core.intake import members
from alama.lenders.installation import existing_installation
from alama.memory.loans import BATCH_MAX, REFUSALS, Loans, Sent, Told
from alama.monitoring import loans_api
from alama.monitoring.outcomes_cli import LINES, book_of, digest_of
from alama.onboarding.job_supervisor import give_way
from alama.platform.book import Mode
from alama.platform.http.parameters import SWITCH
from alama.platform.http.problems import InvalidRequest
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import plain_table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from alama.platform.terminal.command import Subparsers


DESCRIPTION: Final = """\
Tell what was lent and what came back, so that the book remembers its borrowers: policies can then
bound what one of them owes. Lenders can also send the events themselves, to POST /v1/loans."""

LOAD_DESCRIPTION: Final = """\
Record the events in a file, a row for each: CSV, Parquet, or JSON lines (.jsonl). The columns are
those of POST /v1/loans: applicant_ref, loan, kind, date, amount and the others. Other columns are
ignored. A row that breaks a rule keeps no other from being recorded: it is told, and the exit code
is 1. Mend it and load the same file again: nothing is counted twice."""

EXAMPLES: Final = """\
examples:
  alama loans load loans.csv --lender umoja-sacco --mode live
  alama loans load events.jsonl --lender demo --mode test --by 'A. Wanjiru'"""

INVALID: Final = "invalid"
SHOWN_MAX: Final = 10
EXIT_REFUSED: Final = 1

COLUMNS: Final = tuple(loans_api.RULES)


class Row(NamedTuple):
    """One row of a file: its event, or what is wrong with it."""

    place: str
    told: Told | None
    fault: str = ""


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions: Subparsers = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    loaded = actions.add_parser(
        "load",
        help="record the events of loans in a file",
        description=LOAD_DESCRIPTION,
        epilog=EXAMPLES,
    )
    add = loaded.add_argument
    add("file", metavar="FILE", type=Path, help="CSV, Parquet or JSON lines, by its ending")
    add("--lender", required=True, metavar="ID", help="whose loans they are")
    add(
        "--mode",
        choices=[mode.value for mode in Mode],
        help="default: live where the lender is live, else test",
    )
    add("--by", metavar="NAME", help="who says so, for the audit (default: who is logged in)")
    loaded.set_defaults(run=load, extra="batch")


def load(args: argparse.Namespace) -> int:
    """Record the rows of a file, and say what became of them."""
    sent = Sent(digest_of(args.file), args.by)
    counts: Counter[str] = Counter()
    shown: list[str] = []
    with existing_installation() as opened:
        book = book_of(opened.registry, args.lender, args.mode)
        terminal.remark(f"{book.lender}, {book.mode} mode:")
        give_way(opened)
        loans = Loans.at(opened)
        for rows in _batches(args.file):
            told = [row.told for row in rows if row.told is not None]
            results = iter(loans.record(book, told, sent) if told else ())
            for row in rows:
                result = None if row.told is None else next(results)
                answer = INVALID if result is None else result.answer.value
                message = row.fault if result is None else result.message
                counts[answer] += 1
                if message is not None:
                    shown.append(f"{row.place}: {answer}: {message}")
    table = plain_table("result", "rows")
    table.columns[1].justify = "right"
    for answer, count in sorted(counts.items()):
        table.add_row(answer, f"{count:,}")
    terminal.say(table)
    for line in shown[:SHOWN_MAX]:
        terminal.remark(line)
    if len(shown) > SHOWN_MAX:
        terminal.remark(f"... and {len(shown) - SHOWN_MAX:,} more")
    refused = counts[INVALID] + sum(counts[answer.value] for answer in REFUSALS)
    return EXIT_REFUSED if refused else 0


def _batches(path: Path) -> Iterator[Sequence[Row]]:
    """Read the rows of a file, at most `BATCH_MAX` at a time, or raise `FileProblem`."""
    if path.name.lower().endswith(LINES):
        yield from _lines(path)
        return
    from alama.platform.files.reader import open_table  # noqa: PLC0415  lines are read without Arrow
    from alama.platform.files.table import require  # noqa: PLC0415

    table = open_table(path)
    require(table, ("applicant_ref", "loan", "kind", "date"))
    names = [name for name in COLUMNS if name in table.names]
    number = 0
    for batch in table.batches(names, BATCH_MAX):
        rows = []
        for cells in batch.to_pylist():
            number += 1
            rows.append(_row(f"row {number}", _members(cells)))
        yield rows


def _lines(path: Path) -> Iterator[Sequence[Row]]:
    rows: list[Row] = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    rows.append(_line(f"line {number}", line))
                if len(rows) == BATCH_MAX:
                    yield rows
                    rows = []
    except OSError as error:
        raise FileProblem(f"cannot read {path}: {error.strerror}") from error
    if rows:
        yield rows


def _line(place: str, line: bytes) -> Row:
    try:
        sent = members(line)
    except MalformedDocument as error:
        return Row(place, None, f"the line {error.fault.partition(' line ')[0].removesuffix(':')}")
    return _row(place, [member for member in sent if member[0] in COLUMNS])


def _row(place: str, sent: Sequence[tuple[str, object]]) -> Row:
    try:
        return Row(place, loans_api.read_one(sent))
    except InvalidRequest as error:
        faults = (f"{one.pointer[1:]} {one.detail}" for one in error.problems)
        return Row(place, None, "; ".join(faults))


def _members(cells: Mapping[str, object]) -> list[tuple[str, object]]:
    """Give the cells of a row as JSON would have them; one that is empty is not given."""
    told = [(name, _value(name, cell)) for name, cell in cells.items()]
    return [(name, value) for name, value in told if value is not None]


def _value(name: str, cell: object) -> object:
    """Give a cell as what its field should be, where it can be read so; else as it is."""
    kind = loans_api.RULES[name].type
    if isinstance(cell, date):
        return (cell.date() if isinstance(cell, datetime) else cell).isoformat()
    if isinstance(cell, str):
        return _of_text(kind, cell.strip())
    if kind is str and isinstance(cell, int):  # a column of digits alone
        return str(cell)
    if kind in {float, int} and isinstance(cell, int | float | Decimal):
        number = float(cell)
        return None if number != number else kind(number)  # noqa: PLR0124  not a number: missing
    return cell


def _of_text(kind: type, text: str) -> object:
    if not text:
        return None
    if kind is bool:
        return SWITCH.get(text.lower(), text)
    if kind in {float, int}:
        try:
            return kind(text)
        except ValueError:
            return text
    return text
