"""A file of whatever format becomes a statement; several statements of one wallet become one."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.errors import FileProblem
from alama.platform.files.asis.likeness import Holds, Target
from alama.platform.files.table import TooLarge
from alama.statements import wallets
from alama.statements.camt import read_camt
from alama.statements.cells import DayOrder
from alama.statements.ledger import (
    Check,
    Declared,
    Entry,
    Pseudonyms,
    Statement,
    Unknown,
    Verdict,
)
from alama.statements.pdf.statement import read_pdf
from alama.statements.problems import MappingNeeded, StatementUnreadable
from alama.statements.rows import UNKNOWN_MAX, link_reversals
from alama.statements.tables import Answers, Columns, Tables, plain, read_mapped
from alama.statements.transactions import read_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.statements.places import Place
    from alama.statements.tables import Headed

BYTES_MAX: Final = 16 << 20
_SHORTER: Final = "send the statement of a shorter period"
_WEB_PAGE: Final = re.compile(rb"<(?:!doctype html|html|table)", re.IGNORECASE)
_SPACE: Final = b" \t\r\n\xef\xbb\xbf"


def read_statement(
    content: bytes,
    names: Pseudonyms,
    place: Place,
    columns: Columns | None = None,
    password: str | None = None,
    until: date | None = None,
) -> Statement:
    """Read a file by what it is, or raise an error that says what to do.

    `columns` says what the columns of a table are that no wallet has written. `password` opens a
    PDF, for which a process is started and waited for. No row of `until`, by default of today,
    or before is of a later year, where years have two figures.
    """
    if len(content) > BYTES_MAX:
        raise StatementUnreadable(f"the file is larger than {BYTES_MAX >> 20} MiB", hint=_SHORTER)
    bare = content[:256].lstrip(_SPACE)
    if not bare:
        raise StatementUnreadable("the file is empty")
    try:
        if bare.startswith(b"%PDF"):
            return read_pdf(content, names, password)
        if bare.startswith(b"<") and _WEB_PAGE.match(bare) is None:
            return read_camt(content, names, place.zone)
        if bare.startswith((b"{", b"[")):
            return read_json(content, names, place.zone)
        return _read_table(content, names, place, columns, until or _today(place))
    except TooLarge as error:
        raise StatementUnreadable(str(error), hint=_SHORTER) from None
    except FileProblem as error:
        raise StatementUnreadable(str(error), hint=error.hint) from None
    except (ValueError, OverflowError, RecursionError):
        # What a cell or a member holds that none can hold; it is not repeated.
        raise StatementUnreadable("the file holds what no statement does") from None


def _today(place: Place) -> date:
    return datetime.now(place.zone).date()


def _read_table(
    content: bytes, names: Pseudonyms, place: Place, columns: Columns | None, until: date
) -> Statement:
    file = Tables(content)
    told = Columns(at="") if columns is None else columns
    for targets, read in ((wallets.MPESA, _mpesa), (wallets.MTN, _mtn), (wallets.ORANGE, _orange)):
        known = {target.name for target in targets}
        if columns is not None and not known.issuperset(map(plain, columns.named.values())):
            continue
        headed = file.with_names(targets)
        if headed is not None:
            return read(headed, Answers(told.decimal, told.dates, None, until), names, place)
    if columns is None:
        headed, guessed = file.with_usual_names()
        return read_mapped(headed, guessed, names, place.zone, until, file.format)
    wanted = [Target(plain(name), Holds.ANY) for name in columns.named.values()]
    headed = file.with_names(wanted)
    if headed is None:
        raise MappingNeeded(
            "the table lacks a column of the mapping",
            hint="compare the mapping with the header of the file, word by word",
        )
    mapped = headed.renamed({plain(name): role for role, name in columns.named.items()})
    return read_mapped(mapped, columns, names, place.zone, until, f"mapped_{file.format}")


def _mpesa(headed: Headed, told: Answers, names: Pseudonyms, _: Place) -> Statement:
    # Its figures have a point. Its days begin with the year, unless a spreadsheet wrote them anew.
    answers = told._replace(decimal=told.decimal or ".", currency="KES")
    table = headed.read(wallets.MPESA, answers)
    declared = table.declared(names, wallets.EAST_AFRICA, told.until)
    return wallets.mpesa(table.rows, names, declared=declared, unread=table.unread)


def _mtn(headed: Headed, told: Answers, names: Pseudonyms, _: Place) -> Statement:
    answers = told._replace(
        decimal=told.decimal or ".", dates=told.dates or DayOrder.DAY_FIRST, currency="UGX"
    )
    table = headed.read(wallets.MTN, answers)
    declared = table.declared(names, wallets.EAST_AFRICA, told.until)
    return wallets.mtn(table.rows, names, declared=declared, unread=table.unread)


def _orange(headed: Headed, told: Answers, names: Pseudonyms, place: Place) -> Statement:
    currency = _currency(headed.above)
    answers = told._replace(dates=told.dates or DayOrder.DAY_FIRST, currency=currency)
    table = headed.read(wallets.ORANGE, answers)
    return wallets.orange(
        table.rows,
        names,
        place.zone,
        currency=currency or table.currency,
        declared=table.declared(names, place.zone, told.until),
        unread=table.unread,
    )


_CURRENCY_LENGTH: Final = 3


def _currency(above: Sequence[Sequence[str]]) -> str | None:
    for line in above:
        cells = [cell.strip() for cell in line if cell.strip()]
        if len(cells) > 1 and plain(cells[0]).rstrip(": ") in {"devise", "currency"}:
            return cells[1].upper() if len(cells[1]) == _CURRENCY_LENGTH else None
    return None


# ------------------------------------------------------------------------- several statements


def merged(statements: Sequence[Statement]) -> Statement:
    """Put statements of one wallet together; rows that two of them have count once.

    They were read with the same pseudonyms. Where their periods leave a gap, what counts as
    covered begins behind the last.
    """
    if len(statements) == 1:
        return statements[0]
    currencies = {one.currency for one in statements if one.currency is not None}
    if len(currencies) > 1:
        raise StatementUnreadable(
            "the statements are in several currencies", hint="send those of one wallet"
        )
    ordered = sorted(statements, key=_begins)
    entries = _together(ordered)
    overlapping = len(entries) < sum(len(one.entries) for one in ordered)
    unknown: Counter[str] = Counter()
    for one in ordered:
        for words in one.unknown:
            unknown[words.words] += words.rows
    declared, gaps = _declared(ordered, overlapping=overlapping)
    return Statement(
        format="+".join(sorted({one.format for one in ordered})),
        currency=next(iter(currencies), None),
        entries=link_reversals(entries),
        rows=sum(one.rows for one in ordered),
        unread=tuple(row for one in ordered for row in one.unread),
        unknown=tuple(Unknown(words, many) for words, many in unknown.most_common(UNKNOWN_MAX)),
        declared=declared,
        checks=(*(check for one in ordered for check in one.checks), *gaps),
    )


def _begins(statement: Statement) -> tuple[date, ...]:
    first = statement.declared.first_day
    if first is None and statement.entries:
        first = min(entry.at for entry in statement.entries).date()
    return (first or date.max,)


def _together(statements: Sequence[Statement]) -> list[Entry]:
    seen: set[tuple[object, ...]] = set()
    names: Counter[str] = Counter()
    found: list[Entry] = []
    for statement in statements:
        new = []
        for entry in statement.entries:
            base = entry.id.partition("/")[0]
            key = (base, entry.at, entry.signed, entry.balance_after, entry.kind, entry.status)
            if key not in seen:
                new.append((key, base, entry))
        for key, base, entry in new:
            seen.add(key)
            names[base] += 1
            name = base if names[base] == 1 else f"{base}/{names[base]}"
            found.append(entry if name == entry.id else msgspec.structs.replace(entry, id=name))
    return sorted(found, key=lambda entry: entry.at)


def _declared(
    ordered: Sequence[Statement], *, overlapping: bool
) -> tuple[Declared, tuple[Check, ...]]:
    told = [one.declared for one in ordered]
    first, last = told[0].first_day, told[0].last_day
    gaps = 0
    for one in told[1:]:
        if one.first_day is None or last is None:
            first = last = None
            break
        if one.first_day > last + timedelta(days=1):
            first, gaps = one.first_day, gaps + 1
        last = max(last, one.last_day) if one.last_day else None
    sums = [
        None if overlapping or None in side else sum(amount for amount in side if amount)
        for side in ([one.paid_in for one in told], [one.paid_out for one in told])
    ]
    holders = {one.holder for one in told if one.holder is not None}
    checks: tuple[Check, ...] = ()
    if gaps:
        said = f"the periods of {len(ordered)} statements leave {gaps} gap(s) between them"
        checks = (Check("periods", Verdict.CANNOT_TELL, said),)
    if len(holders) > 1:
        said = "the statements name different holders"
        checks = (*checks, Check("one_holder", Verdict.FAIL, said))
    declared = Declared(
        first_day=first,
        last_day=last,
        made_on=max((one.made_on for one in told if one.made_on), default=None),
        opened_on=min((one.opened_on for one in told if one.opened_on), default=None),
        opening=told[0].opening,
        closing=told[-1].closing,
        paid_in=sums[0],
        paid_out=sums[1],
        holder=next(iter(holders)) if len(holders) == 1 else None,
    )
    return declared, checks
