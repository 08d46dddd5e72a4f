"""`alama lists`: whom a lender declines, or leaves to a person, whatever they apply with."""

from __future__ import annotations

import argparse
import csv
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.core.errors import AlamaError, FileProblem
from alama.lenders.installation import existing_installation, operator
from alama.platform.book import Book, Mode
from alama.platform.days import DAY_US, day_number
from alama.platform.errors import InvalidName
from alama.platform.terminal import terminal
from alama.platform.terminal.command import add_mode
from alama.platform.terminal.tables import plain_table
from alama.platform.terminal.terminal import ask
from alama.scoring.lists import (
    AT_ONCE,
    ENTRIES_MAX,
    ListEntry,
    Listing,
    ListKeeping,
    ListName,
    ListReason,
    Put,
    checked,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from alama.lenders.installation import Installation


DESCRIPTION: Final = """\
The block list and the watch list of a lender. Whoever is blocked is declined, whoever is watched
is left to a person, within a second, in every process, whatever they apply with. An applicant is
named by what the lender sends as applicant_ref. It is kept nowhere in clear; the lists, the scores
and the audit name the key of the applicant instead. Without --mode it is the live lists."""

ADD_DESCRIPTION: Final = """\
Put an applicant on a list, who need not have applied yet. One who is on a
list already is on this one from now on. The reference is asked for, so that
it need not stay in the history of a shell; in a script, pipe it in."""

ADD_EXAMPLES: Final = """\
examples:
  # asks for the reference
  alama lists add umoja-sacco --list block --reason fraud --by "W. Mutua"

  # watched until the end of June
  echo "$REF" | alama lists add umoja-sacco --list watch --reason staff \\
    --until 2027-06-30 --note "case 12" --by "W. Mutua\""""

REMOVE_DESCRIPTION: Final = """\
Take an applicant off the lists: within a second their applications are decided as others are."""

SHOW_DESCRIPTION: Final = """\
Print the entries of a lender, or the one of an applicant: the key that names the applicant, the
list, why, who said so, since when and until when. Times are UTC."""

LOAD_DESCRIPTION: Final = """\
Put the applicants of a CSV file on lists, 1,000 in a transaction. Columns: applicant_ref, list
and reason; until (2027-06-30) and note, if you like. The file is read to its end first, and
nothing is done where a line of it cannot be one. To load a file again does no harm."""

_COLUMNS: Final = ("applicant_ref", "list", "reason", "until", "note")
_NEEDED: Final = _COLUMNS[:3]
_SHOWN_MAX: Final = 10
_SECOND_US: Final = 1_000_000
_LINE_MAX: Final = 1_000


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    added = actions.add_parser(
        "add", help="put one on a list", description=ADD_DESCRIPTION, epilog=ADD_EXAMPLES
    )
    _add_book(added)
    _add_reference(added)
    names, reasons = [name.value for name in ListName], [reason.value for reason in ListReason]
    added.add_argument("--list", required=True, choices=names, help="which of the two")
    why = f"why, as it is counted: {', '.join(reasons)}"
    added.add_argument("--reason", required=True, choices=reasons, metavar="CODE", help=why)
    added.add_argument("--until", type=_day, metavar="DATE", help="the last day on it, UTC")
    added.add_argument("--note", default="", metavar="TEXT", help="the case, not the applicant")
    _add_by(added)
    added.set_defaults(run=add)
    removed = actions.add_parser("remove", help="take one off", description=REMOVE_DESCRIPTION)
    _add_book(removed)
    _add_reference(removed)
    _add_by(removed)
    removed.set_defaults(run=remove)
    shown = actions.add_parser("show", help="who is on them", description=SHOW_DESCRIPTION)
    _add_book(shown)
    shown.add_argument("--ref", metavar="REF", help="the entry of this applicant; -: asked for")
    shown.set_defaults(run=show)
    loaded = actions.add_parser("load", help="put many on lists", description=LOAD_DESCRIPTION)
    _add_book(loaded)
    loaded.add_argument("file", type=Path, metavar="FILE", help="CSV, UTF-8")
    _add_by(loaded)
    loaded.set_defaults(run=load)


def _add_book(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lender", metavar="ID", help="`alama lenders list` shows them")
    add_mode(parser, Mode.LIVE)


def _add_reference(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ref", metavar="REF", help="the applicant_ref (default: asked for)")


def _add_by(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--by", metavar="NAME", help="who says so, for the audit (default: who is logged in)"
    )


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a date such as 2027-06-30") from None


def _until_us(last: date | None) -> int | None:
    return None if last is None else (day_number(last) + 1) * DAY_US


def _book(args: argparse.Namespace, opened: Installation) -> Book:
    opened.registry.lender(args.lender)
    return Book(args.lender, Mode(args.mode))


def _reference(args: argparse.Namespace) -> str:
    return str(args.ref) if args.ref not in {None, "-"} else ask("applicant_ref: ")


def add(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        book = _book(args, opened)
        listing = Listing(
            _reference(args),
            ListName(args.list),
            ListReason(args.reason),
            args.by or operator(),
            _until_us(args.until),
            args.note,
        )
        (listed,) = ListKeeping.at(opened).put(book, [listing])
    entry = listed.entry
    if listed.put is Put.UNCHANGED:
        terminal.say(f"{entry.applicant_key_id} was on the {entry.name} list so already.")
    else:
        terminal.say(f"{entry.applicant_key_id} is on the {entry.name} list of {book.lender}.")
    return 0


def remove(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        book = _book(args, opened)
        by = args.by or operator()
        entry = ListKeeping.at(opened).remove(book, _reference(args), by)
    if entry is None:
        terminal.say(f"The applicant is on no list of {book.lender} in {book.mode} mode.")
    else:
        terminal.say(f"{entry.applicant_key_id} is off the {entry.name} list of {book.lender}.")
    return 0


def show(args: argparse.Namespace) -> int:
    table = plain_table("applicant", "list", "reason", "by", "since (UTC)", "until", "note")
    table.columns[0].no_wrap = True  # an id in two pieces cannot be copied
    with existing_installation() as opened:
        book = _book(args, opened)
        lists = ListKeeping.at(opened)
        if args.ref is None:
            found = list(_all(lists, book))
        else:
            entry = lists.find(book, _reference(args))
            found = [] if entry is None else [entry]
        now_us = opened.clock()
    if not found:
        terminal.remark(f"Nobody is on a list of {book.lender} in {book.mode} mode, or not they.")
        return 0
    for one in found:
        until = "" if one.until_us is None else terminal.day(one.until_us - _SECOND_US)
        table.add_row(
            one.applicant_key_id,
            one.name.value,
            one.reason.value,
            one.person,
            terminal.minute(one.listed_us),
            until if one.stands(now_us) else f"{until}, over",
            one.note,
        )
    terminal.say(table)
    return 0


def _all(lists: ListKeeping, book: Book) -> Iterator[ListEntry]:
    before: str | None = None
    while page := lists.page(book, before, AT_ONCE):
        yield from page
        before = page[-1].applicant_key_id


def load(args: argparse.Namespace) -> int:
    """Put everybody in a file on lists, and say how many were new."""
    by = args.by or operator()
    listings = _read(args.file, by)
    counts = dict.fromkeys(Put, 0)
    with existing_installation() as opened:
        book, lists = _book(args, opened), ListKeeping.at(opened)
        with terminal.progress("Listing", len(listings), unit="applicants") as bar:
            for first in range(0, len(listings), AT_ONCE):
                some = listings[first : first + AT_ONCE]
                for listed in lists.put(book, some):
                    counts[listed.put] += 1
                bar.advance(len(some))
    said = ", ".join(f"{count:,} {put}" for put, count in counts.items() if count)
    terminal.say(f"{args.file.name}: {said or 'nobody in it'}.")
    return 0


def _read(path: Path, by: str) -> list[Listing]:
    """Read a file whole, or raise `FileProblem` with the lines that cannot be one."""
    listings, faults = [], []
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(_short(lines), strict=True)
            _require_columns(rows.fieldnames or ())
            for row in rows:
                try:
                    listings.append(checked(_listing(row, by)))
                except AlamaError as error:
                    faults.append(f"line {rows.line_num}: {error}")
                if len(listings) > ENTRIES_MAX:
                    raise FileProblem(f"{path.name} has more than {ENTRIES_MAX:,} rows")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileProblem(f"{path.name} cannot be read as CSV: {type(error).__name__}") from error
    if faults:
        more = f"\n... and {len(faults) - _SHOWN_MAX:,} more" if len(faults) > _SHOWN_MAX else ""
        told = "\n".join(faults[:_SHOWN_MAX])
        raise FileProblem(f"nothing was done, for {path.name} has faults:\n{told}{more}")
    return listings


def _short(lines: Iterable[str]) -> Iterator[str]:
    """Give lines that are no longer than any entry is: nothing of a wrong file is held whole."""
    for line in lines:
        if len(line) > _LINE_MAX:
            raise csv.Error
        yield line


def _require_columns(names: Sequence[str]) -> None:
    missing = [name for name in _NEEDED if name not in names]
    unknown = len(set(names) - set(_COLUMNS))
    if missing or unknown:
        raise FileProblem(
            f"the columns are not those of a list: {', '.join(missing) or 'none'} missing, "
            f"{unknown} unknown",
            hint=f"the first line names them: {','.join(_COLUMNS)}",
        )


def _listing(row: Mapping[str | None, str | None], by: str) -> Listing:
    """Read a row; no value of it is ever part of a fault."""
    said = {name: (row.get(name) or "").strip() for name in _COLUMNS}
    try:
        name, reason = ListName(said["list"]), ListReason(said["reason"])
        until = date.fromisoformat(said["until"]) if said["until"] else None
    except ValueError:
        raise InvalidName(
            f"list is {' or '.join(ListName)}, reason one of {', '.join(ListReason)}, until a date "
            "such as 2027-06-30 or nothing"
        ) from None
    return Listing(said["applicant_ref"], name, reason, by, _until_us(until), said["note"])
