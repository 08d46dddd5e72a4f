"""`alama statements`: read statements into a ledger, and derive the fields of an application."""

from __future__ import annotations

import argparse
import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.errors import FileProblem
from alama.lenders import installation
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import plain_table
from alama.statements.cells import DayOrder
from alama.statements.ledger import Pseudonyms
from alama.statements.places import Place, by_offset, place_of
from alama.statements.reading import merged, read_statement
from alama.statements.tables import Columns, Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.lenders.mappings import KeptMapping
    from alama.statements.ledger import Check, Statement
    from alama.statements.problems import MappingProposal

PREVIEW_ROWS: Final = 20
_WAYS: Final = {"credits", "decimal", "dates", "currency"}
ROLES: Final = tuple(name for name in Columns.__struct_fields__ if name not in _WAYS)
_ORDERS: Final = {"day-first": DayOrder.DAY_FIRST.value, "month-first": DayOrder.MONTH_FIRST.value}
MARKS: Final = {"point": ".", "comma": ","}

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
    read.add_argument("--lender", metavar="LENDER", help="whose mappings are used")
    read.add_argument("--password", metavar="TEXT", help="opens a PDF")
    read.add_argument("--holder", metavar="NAME", help="the applicant's name, to be compared")
    _add_place(read)
    read.set_defaults(run=run_read, extra="batch")
    fields = actions.add_parser("fields", help="derive fields from a ledger, or for a history")
    fields.description = "Derive the fields of an application from a ledger, or those of a history."
    fields.add_argument("source", type=Path, metavar="LEDGER", help="a ledger; or a folder")
    fields.add_argument("--history", type=Path, metavar="LOANS", help="CSV: statement, applied_on")
    fields.add_argument("--lender", metavar="LENDER", help="with --history: whose mappings")
    fields.add_argument("--out", type=Path, metavar="FILE", help="with --history: where to")
    fields.add_argument(
        "--opened-on", type=_day, metavar="DATE", help="when the wallet was opened, if known"
    )
    _add_place(fields)
    fields.set_defaults(run=run_fields, extra="batch")
    _add_map(actions.add_parser("map", help="say how a lender's tables of a bank are read"))


def _add_map(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = MAP_DESCRIPTION, MAP_EXAMPLES
    add = parser.add_argument
    add("lender", metavar="LENDER", help="whose applicants bring such statements")
    add("file", type=Path, nargs="?", metavar="FILE", help="one of them: CSV or .xlsx")
    add(
        "--column",
        dest="columns",
        type=_pair,
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help=f"read NAME from this column: {', '.join(ROLES)}",
    )
    add("--dates", choices=tuple(_ORDERS), help="how days such as 03/04/2026 are written")
    add("--decimal", choices=tuple(MARKS), help="the decimal mark of its amounts")
    add("--currency", type=str.upper, metavar="CODE", help="what its amounts are in, such as KES")
    add("--remove", action="store_true", help="forget what was kept last")
    add("--by", metavar="NAME", help="who says so (default: the login name)")
    terminal.add_yes(parser)
    parser.set_defaults(run=run_map, extra="batch")


MAP_DESCRIPTION: Final = """\
Say how the tables of a bank are read whose columns nobody knows, for all who bring such a one to
this lender: over HTTP, and to these commands with --lender.

What each column is taken for is shown with the first rows as they are read; what the table leaves
open has to be said. It is kept for tables with the same names of columns: these names and answers,
and no value. Without FILE what is kept is shown."""

MAP_EXAMPLES: Final = """\
examples:
  # look at a statement
  alama statements map umoja bank.csv

  # say what it leaves open, and keep it
  alama statements map umoja bank.csv --dates day-first --column amount=Sum --yes

  # what is kept, and away with the last of it
  alama statements map umoja
  alama statements map umoja --remove"""


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
    from alama.statements.proposing import columns_for  # noqa: PLC0415

    place = place_of(args.country, args.zone)
    columns = None if args.mapping is None else _columns(args.mapping)
    layouts = _layouts(args.lender)
    names = Pseudonyms(os.urandom(32))
    paths = list(files_in(args.files))
    if not paths:
        raise FileProblem("the folder has no files", hint="name the statements of one wallet")
    found = []
    with terminal.progress("Reading", len(paths), unit="files") as progress:
        for path in paths:
            content = _content(path)
            known = columns_for(content, columns, layouts)
            found.append(read_statement(content, names, place, known, args.password))
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
                _layouts(args.lender),
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


def run_map(args: argparse.Namespace) -> int:
    """Show what a table is taken for, and keep how such tables are read."""
    from alama.lenders.mappings import Files, Mappings  # noqa: PLC0415 - few commands need it
    from alama.statements.proposing import header_of, propose  # noqa: PLC0415

    with installation.existing_installation() as opened:
        opened.registry.lender(args.lender)
        mappings, by = Mappings.at(opened, Layout), args.by or installation.operator()
        if args.remove:
            removed = mappings.remove(args.lender, Files.STATEMENTS, by)
            terminal.say(f"Version {removed.version} is removed.")
            return 0
        kept = mappings.each(args.lender, Files.STATEMENTS)
        if args.file is None:
            _show_kept(kept)
            return 0
        content = _content(args.file)
        header = header_of(content)
        before = next((one.mapping for one in reversed(kept) if one.mapping.header == header), None)
        names, place = Pseudonyms(os.urandom(32)), by_offset(0)
        proposal = propose(content, names, place, _said(before, args))
        if proposal is None or header is None:
            raise FileProblem(
                f"{args.file.name} has no row of names with days and amounts below it",
                hint="name the columns in its first row",
            )
        _show_columns(proposal)
        if proposal.open:
            raise _open(proposal)
        columns = msgspec.convert(proposal.mapping, Columns)
        statement = read_statement(content, names, place, columns)
        _show_rows(statement)
        if not statement.entries:
            raise FileProblem(
                f"no row of {args.file.name} can be read so", hint="name other columns"
            )
        if not args.yes:
            terminal.confirm(args.lender, "Statements with these columns are read so from now on")
        layout = Layout(header, columns)
        version = mappings.keep(args.lender, Files.STATEMENTS, layout, by).version
        terminal.remark(f"Kept for {args.lender}, version {version}.")
    return 0


def _said(before: Layout | None, args: argparse.Namespace) -> dict[str, object]:
    """Give what was kept of such tables, with what is said now in its place."""
    from alama.statements.proposing import said_in  # noqa: PLC0415

    said = {**said_in(None if before is None else before.columns), **dict(args.columns)}
    told = (("dates", _ORDERS.get(args.dates)), ("decimal", MARKS.get(args.decimal)))
    said |= {name: value for name, value in told if value is not None}
    if args.currency is not None:
        said["currency"] = args.currency
    return said


def _open(proposal: MappingProposal) -> FileProblem:
    written = {value: name for name, value in (*_ORDERS.items(), *MARKS.items())}
    said = []
    for one in proposal.open:
        answers = " or ".join(written.get(answer, answer) for answer in one.answers)
        is_column = one.about in ROLES
        said.append(
            f"--column {one.about}=COLUMN" + (f" ({answers})" if answers else "")
            if is_column
            else f"--{one.about} {answers}"
        )
    return FileProblem(
        "the table does not tell " + ", ".join(one.about for one in proposal.open),
        hint="say " + "; ".join(said),
    )


def _show_columns(proposal: MappingProposal) -> None:
    table = plain_table("column", "holds", "read as", "told by")
    for one in proposal.columns:
        table.add_row(one.name or "(not shown)", one.holds, one.read_as or "", one.by or "")
    terminal.section("What each column is taken for", table)
    for name in ("dates", "decimal", "currency"):
        if name in proposal.mapping:
            terminal.remark(f"{name}: {proposal.mapping[name]}")


def _show_rows(statement: Statement) -> None:
    table = plain_table("at", "in", "out", "balance", "kind")
    for entry in statement.entries[:PREVIEW_ROWS]:
        amount = f"{entry.amount / 100:,.2f}"
        sides = (amount, "") if entry.signed > 0 else ("", amount)
        left = "" if entry.balance_after is None else f"{entry.balance_after / 100:,.2f}"
        table.add_row(f"{entry.at:%Y-%m-%d %H:%M}", *sides, left, entry.kind.value)
    terminal.section("The first rows, as they are read", table)
    read = statement.rows - len(statement.unread)
    _say(f"{read:,} of {statement.rows:,} rows read")
    for row in statement.unread[:PREVIEW_ROWS]:
        _say(f"  row {row.row} {row.reason}")


def _show_kept(kept: Sequence[KeptMapping[Layout]]) -> None:
    if not kept:
        terminal.say("Nothing is kept: tables of other columns want a mapping each.")
    for one in kept:
        when = terminal.minute(one.kept_us)
        _say(f"version {one.version}, kept at {when} UTC by {one.kept_by}")
        _say("  " + msgspec.json.encode(msgspec.to_builtins(one.mapping.columns)).decode())


def _layouts(lender: str | None) -> tuple[Layout, ...]:
    """Give what a lender has said of the tables that it is brought."""
    if lender is None:
        return ()
    from alama.lenders.mappings import Files, Mappings  # noqa: PLC0415 - as above

    with installation.existing_installation() as opened:
        opened.registry.lender(lender)
        kept = Mappings.at(opened, Layout).each(lender, Files.STATEMENTS)
        return tuple(one.mapping for one in kept)


def _pair(text: str) -> tuple[str, str]:
    name, _, column = text.partition("=")
    if name not in ROLES or not column.strip():
        message = f"{text!r} is not of the form NAME=COLUMN, such as amount=Sum"
        raise argparse.ArgumentTypeError(message)
    return name, column.strip()


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
