"""`alama statements`: read statements into a ledger, and derive the fields of an application."""

from __future__ import annotations

import argparse
import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.errors import FileProblem
from alama.platform.terminal import terminal
from alama.statements.places import Place, place_of
from alama.statements.tables import Columns

if TYPE_CHECKING:
    from alama.statements.ledger import Check, Statement

DESCRIPTION: Final = """\
Derive the fields of an application from the statement of a wallet or an account.

Statements of M-PESA, MTN, Orange Money, banks (camt.053), GSMA JSON and any table with a
mapping become one ledger, of which no name is kept; published formulas derive fields from it,
and checks say whether it holds together. docs/statements.md has the formulas and the formats."""

EXAMPLES: Final = """\
examples:
  # what is in two statements of one wallet, and whether they hold together
  alama statements read may.csv june.csv --country KE --out ledger.parquet

  # the fields of an application of a day
  alama statements fields ledger.parquet --country KE --as-of 2026-11-02

  # a whole history: each loan with the fields of its own day
  alama statements fields statements/ --country KE --history loans.csv --out fields.parquet"""


def register(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EXAMPLES
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    read = actions.add_parser("read", help="read statements of one wallet into a ledger")
    read.description = "Read statements of one wallet into a ledger, and say what to make of them."
    read.add_argument("files", type=Path, nargs="+", metavar="FILE", help="statements, or a folder")
    read.add_argument("--out", type=Path, metavar="FILE", help="the ledger; ends in .parquet")
    read.add_argument("--mapping", type=Path, metavar="FILE", help="names the columns; TOML")
    read.add_argument("--password", metavar="TEXT", help="opens a PDF")
    read.add_argument("--holder", metavar="NAME", help="the applicant's name, to be compared")
    _add_place(read)
    read.set_defaults(run=run_read, extra="batch")
    fields = actions.add_parser("fields", help="derive fields from a ledger, or for a history")
    fields.description = "Derive the fields of an application from a ledger, or those of a history."
    fields.add_argument("source", type=Path, metavar="LEDGER", help="a ledger; or a folder")
    fields.add_argument("--history", type=Path, metavar="LOANS", help="CSV: statement, applied_on")
    fields.add_argument("--out", type=Path, metavar="FILE", help="with --history: where to")
    fields.add_argument(
        "--opened-on", type=_day, metavar="DATE", help="when the wallet was opened, if known"
    )
    _add_place(fields)
    fields.set_defaults(run=run_fields, extra="batch")


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--country", required=True, metavar="CODE", help="such as KE: its clock")
    parser.add_argument("--zone", metavar="ZONE", help="such as Africa/Cairo or +03:00")
    parser.add_argument(
        "--as-of", type=_day, metavar="DATE", help="of application (default: today)"
    )


def run_read(args: argparse.Namespace) -> int:
    """Read, report, check, and keep the ledger where it is wanted."""
    from alama.statements.checks import check  # noqa: PLC0415  Arrow comes with the files
    from alama.statements.files import files_in, write_ledger  # noqa: PLC0415
    from alama.statements.ledger import Pseudonyms  # noqa: PLC0415
    from alama.statements.reading import merged, read_statement  # noqa: PLC0415

    place = place_of(args.country, args.zone)
    columns = None if args.mapping is None else _columns(args.mapping)
    names = Pseudonyms(os.urandom(32))
    paths = list(files_in(args.files))
    if not paths:
        raise FileProblem("the folder has no files", hint="name the statements of one wallet")
    found = []
    with terminal.progress("Reading", len(paths), unit="files") as progress:
        for path in paths:
            content = _content(path)
            found.append(read_statement(content, names, place, columns, args.password))
            progress.advance()
    statement = merged(found)
    checks = check(statement, _as_of(args, place), place, names=names, holder=args.holder)
    _report(statement, checks)
    if args.out is not None:
        write_ledger(args.out, statement)
        _say(f"{args.out}: {len(statement.entries):,} entries")
    return 0


def run_fields(args: argparse.Namespace) -> int:
    """Derive the fields of a ledger, or of every loan of a history."""
    from alama.statements.files import derive_history, loans_in, read_ledger  # noqa: PLC0415
    from alama.statements.formulas import derive  # noqa: PLC0415

    place = place_of(args.country, args.zone)
    if args.history is not None:
        if args.out is None:
            raise FileProblem("a history needs --out", hint="name a .csv or .parquet file")
        many = loans_in(args.history)
        with terminal.progress("Deriving", many, unit="loans") as progress:
            tally = derive_history(
                args.source,
                args.history,
                args.out,
                place,
                terminal.usable_cores(),
                progress.advance,
            )
        _say(
            f"{args.out}: {tally.loans:,} loans, {tally.read:,} statements read, "
            f"{tally.doubtful:,} doubtful, {tally.problems:,} not read"
        )
        return 0
    ledger = read_ledger(args.source)
    as_of = _as_of(args, place)
    derived = derive(ledger.entries, ledger.declared, as_of, place, args.opened_on)
    told = msgspec.json.format(msgspec.json.encode(derived), indent=2).decode()
    _say(told)
    return 0


def _report(statement: Statement, checks: tuple[Check, ...]) -> None:
    from alama.statements.checks import is_doubtful  # noqa: PLC0415  as above

    read = statement.rows - len(statement.unread)
    currency = statement.currency or "no currency told"
    _say(f"{statement.format}, {currency}: {read:,} of {statement.rows:,} rows read")
    for row in statement.unread[:20]:
        _say(f"  row {row.row} {row.reason}")
    for one in statement.unknown:
        _say(f"  no pattern knows {one.words!r}: {one.rows:,} rows count as other")
    for each in checks:
        _say(f"{each.verdict.value:<12}{each.name}: {each.evidence}")
    _say("doubtful: a person has to look" if is_doubtful(checks) else "holds together")


def _say(line: str) -> None:
    terminal.stdout().print(line, markup=False, soft_wrap=True, highlight=False)


def _columns(path: Path) -> Columns:
    try:
        return msgspec.toml.decode(_content(path), type=Columns)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FileProblem(
            f"{path.name} is no mapping: {error}", hint="docs/statements.md lists its keys"
        ) from None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileProblem(f"{path} cannot be read: {error.strerror}") from error


def _as_of(args: argparse.Namespace, place: Place) -> date:
    if args.as_of is not None:
        found: date = args.as_of
        return found
    return datetime.now(UTC).astimezone(place.zone).date()


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        message = f"{text!r} is not a date such as 2026-03-31"
        raise argparse.ArgumentTypeError(message) from None
