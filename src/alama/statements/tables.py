"""Tables of statements: CSV and spreadsheets as they come, columns by a mapping or by their names.

How cells are delimited, encoded and written is told by `alama.platform.files.asis`, as for any
other table. What leaves here is written in one way: money as 1234.50, moments as ISO 8601.
"""

from __future__ import annotations

import itertools
import re
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec

from alama.platform.files.asis.columns import ColumnSeen, ColumnWay, Trouble, as_word
from alama.platform.files.asis.delimited import HEAD_ROWS, TextGrid
from alama.platform.files.asis.grids import open_grid
from alama.platform.files.asis.inspection import require_sound
from alama.platform.files.asis.layout import HEADER_WITHIN, Body, Header, find_header, says_total
from alama.platform.files.asis.likeness import Holds, Likeness, Target, is_scaled
from alama.platform.files.asis.sheets import Sent
from alama.platform.files.asis.written import (
    COMMA,
    DAY_FIRST,
    MARKS,
    MONTH_FIRST,
    POINT,
    SYSTEMS,
    is_empty,
    is_marker,
    parted,
    tidy,
)
from alama.platform.files.table import Limits
from alama.statements.cells import (
    PLAIN,
    BadCell,
    DayOrder,
    hundredths,
    in_hundredths,
    moment,
    sided,
)
from alama.statements.ledger import Declared, Pseudonyms, Statement, Unread
from alama.statements.problems import MappingNeeded, StatementUnreadable
from alama.statements.rows import Row, Source, assemble
from alama.statements.wallets import WRONG_WIDTH, reason, rows_of, status_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from alama.platform.files.asis.grids import Grid
    from alama.platform.files.asis.sheets import Row as Cells
    from alama.platform.files.asis.sheets import Sheet
    from alama.platform.files.asis.written import Cell

ROWS_MAX: Final = 200_000
LIMITS: Final = Limits(columns=1_000, rows=ROWS_MAX, unpacked_bytes=128 << 20, cells=1_000_000)
SHEETS_MAX: Final = 20

_CREDITS: Final = ("c", "cr", "credit", "in", "credited")
_DEBITS: Final = ("d", "db", "dr", "debit", "out", "debited")


class Columns(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A mapping: which column of a table is what, and how its cells are written.

    `amount` carries its sign, or `direction` says it with one of the words of `credits`; or
    `paid_in` and `paid_out` are columns of their own. `decimal` and `dates` say what the cells
    do not tell.
    """

    at: str
    time: str | None = None
    amount: str | None = None
    direction: str | None = None
    credits: tuple[str, ...] = _CREDITS
    paid_in: str | None = None
    paid_out: str | None = None
    balance: str | None = None
    details: str | None = None
    counterparty: str | None = None
    receipt: str | None = None
    status: str | None = None
    decimal: Literal[".", ","] | None = None
    dates: DayOrder | None = None
    currency: str | None = None

    @property
    def named(self) -> dict[str, str]:
        """The columns that the table has to have, by what they are."""
        told = ((target.name, getattr(self, target.name)) for target in ROLES)
        return {role: name for role, name in told if name is not None}


class Layout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How tables are read whose header has these names; `header` is a digest of them."""

    header: str
    columns: Columns


ROLES: Final = (
    Target(
        "at",
        Holds.DAY,
        always=True,
        also=(
            "date",
            "transaction date",
            "date & time",
            "datetime",
            "timestamp",
            "posting date",
            "value date",
            "completion time",
        ),
    ),
    Target("time", Holds.WORD, also=("heure",)),
    Target("amount", Holds.NUMBER, also=("montant", "transaction amount"), money=True),
    Target("direction", Holds.WORD, also=("type", "dr/cr", "cr/dr", "debit/credit")),
    Target(
        "paid_in",
        Holds.NUMBER,
        also=("credit", "money in", "deposit", "deposits", "credits"),
        money=True,
    ),
    Target(
        "paid_out",
        Holds.NUMBER,
        also=("withdrawn", "debit", "money out", "withdrawal", "withdrawals", "debits"),
        money=True,
    ),
    Target(
        "balance",
        Holds.NUMBER,
        also=("running balance", "solde", "closing balance", "available balance"),
        money=True,
    ),
    Target(
        "details",
        Holds.WORD,
        also=("description", "narration", "particulars", "narrative", "service"),
    ),
    Target("counterparty", Holds.WORD, also=("beneficiary", "payee", "party")),
    Target("receipt", Holds.ID, also=("receipt no.", "reference", "transaction id", "ref", "id")),
    Target("status", Holds.WORD, also=("statut", "transaction status")),
)
"""What columns of any table may be, and what they are usually called; the likeliest first."""


class Answers(NamedTuple):
    """What is known of a table before its cells are looked at: by its format, or a mapping.

    `currency` is what its amounts are in; `until` the day after which no row can be.
    """

    decimal: str | None = None
    dates: DayOrder | None = None
    currency: str | None = None
    until: date | None = None


class Table(NamedTuple):
    """A table that was read: what stands above it, and its cells, each written in one way.

    `order` and `mark` are those of its own cells. `currency` is the one that its amounts name.
    """

    above: list[list[str]]
    rows: list[tuple[int, list[str]]]
    unread: list[Unread]
    order: DayOrder | None
    mark: str
    currency: str | None

    def declared(self, names: Pseudonyms, zone: tzinfo, until: date | None) -> Declared:
        """Read what the statement says of itself, in the ways of its table."""
        return declared_by(self.above, names, zone, self.mark, self.order, until)


class Tables:
    """A file with a table in it, by its content."""

    def __init__(self, content: bytes) -> None:
        self.grid: Grid = open_grid(Sent(content), LIMITS)
        shown = [sheet for sheet in self.grid.sheets if sheet.is_shown]
        if len(shown) > SHEETS_MAX:
            raise StatementUnreadable(f"the spreadsheet has more than {SHEETS_MAX} sheets")
        self._heads = [(sheet, self._head(sheet)) for sheet in shown]

    @property
    def format(self) -> str:
        return "csv" if isinstance(self.grid, TextGrid) else "spreadsheet"

    def _head(self, sheet: Sheet) -> list[Cells]:
        with closing(self.grid.rows(sheet)) as rows:
            return list(itertools.islice(rows, HEADER_WITHIN + HEAD_ROWS))

    def with_names(self, targets: Sequence[Target]) -> Headed | None:
        """Give the table whose header has all these names, whatever else it has."""
        return self._one(
            (sheet, head, header)
            for sheet, head in self._heads
            if (header := _header_with(head, targets)) is not None
        )

    def with_usual_names(self) -> tuple[Headed, Columns]:
        """Find the columns by the names that they usually have, or raise `MappingNeeded`."""
        found = [
            (sheet, head, header)
            for sheet, head in self._heads
            if (header := find_header(head, ROLES, {})) is not None and _guessed(header) is not None
        ]
        headed = self._one(found)
        columns = None if headed is None else _guessed(headed.header)
        if headed is None or columns is None:
            raise MappingNeeded(
                "the columns of the table are not known",
                hint="send a mapping: which column has the date, the amount, the details, the "
                "balance",
            )
        return headed, columns

    def _one(self, found: Iterable[tuple[Sheet, list[Cells], Header]]) -> Headed | None:
        all_of_them = [Headed(self.grid, *one) for one in found]
        if len(all_of_them) > 1:
            raise StatementUnreadable(
                "several sheets of the spreadsheet hold a table",
                hint="put all rows into one sheet, or send each sheet as a file of its own",
            )
        return all_of_them[0] if all_of_them else None


def first_rows(content: bytes, many: int) -> list[tuple[int, list[str]]]:
    """Give the first rows of the longest sheet as they stand in it, each with its number."""
    grid = open_grid(Sent(content), LIMITS)
    longest: list[tuple[int, list[str]]] = []
    for sheet in [one for one in grid.sheets if one.is_shown][:SHEETS_MAX]:
        with closing(grid.rows(sheet)) as rows:
            first = itertools.islice(rows, many)
            found = [(at, list(map(as_word, row))) for at, row in enumerate(first, start=1)]
        longest = max(longest, found, key=len)
    return longest


def plain(name: str) -> str:
    """Give a column's name as it is compared."""
    return " ".join(name.replace("\ufeff", "").split()).casefold()


def _header_with(head: Sequence[Cells], targets: Sequence[Target]) -> Header | None:
    for number, row in enumerate(head[:HEADER_WITHIN], start=1):
        names = [tidy(str(cell)) if not is_empty(cell) else "" for cell in row]
        known = [plain(name) for name in names]
        places = {one.name: known.index(one.name) for one in targets if one.name in known}
        if len(places) == len(targets):
            if any(known.count(name) > 1 for name in places):
                raise _twice()
            while names and not names[-1]:
                names.pop()
            return Header(number, 0, tuple(names), Likeness(places, (), (), {}))
    return None


def _twice() -> MappingNeeded:
    return MappingNeeded(
        "a column of the table stands twice under one name",
        hint="give each of the two a name of its own in the header of the file",
    )


def _guessed(header: Header) -> Columns | None:
    """Say what the columns are by their names; of two that may be it, the likelier one is."""
    places = dict(header.likeness.places)
    keys = [plain(name) for name in header.names]
    for role in ROLES:
        rivals = header.likeness.rivals.get(role.name, ())
        taken = places.values()
        likely = [
            keys.index(name) for name in role.also if name in keys and keys.index(name) in rivals
        ]
        if role.name not in places and (free := [one for one in likely if one not in taken]):
            places[role.name] = free[0]
    if "paid_in" in places and "paid_out" in places:
        places.pop("amount", None)
        places.pop("direction", None)
    elif "amount" not in places:
        return None
    if "at" not in places:
        return None
    names = {role: header.names[place] for role, place in places.items()}
    if any(keys.count(plain(name)) > 1 for name in names.values()):
        raise _twice()
    return msgspec.convert(names, Columns)


# --------------------------------------------------------------------------------- its cells


class Headed(NamedTuple):
    """A table of which the header was found."""

    grid: Grid
    sheet: Sheet
    head: list[Cells]
    header: Header

    @property
    def above(self) -> list[list[str]]:
        """The cells above the header."""
        return [list(map(as_word, row)) for row in self.head[: self.header.row - 1]]

    def renamed(self, roles: Mapping[str, str]) -> Headed:
        """Call the columns by what they are, no more by their names."""
        places = {roles[name]: place for name, place in self.header.likeness.places.items()}
        header = replace(self.header, likeness=Likeness(places, (), (), {}))
        return self._replace(header=header)

    def read(self, targets: Sequence[Target], answers: Answers) -> Table:
        """Read the columns of these targets, in their order, as far as each row can be read."""
        grid, sheet, head, header = self
        require_sound("the file", sheet, head, header, targets)
        if any(row > header.row for row in sheet.hidden_rows):
            raise StatementUnreadable(
                "rows are hidden in the sheet", hint="show them all, and save it once more"
            )
        if any(last > header.row for _, _, last, _ in sheet.merged):
            raise StatementUnreadable(
                "cells of the table are merged",
                hint="unmerge them, and write the value into each row it is meant for",
            )
        places = header.likeness.places
        wanted = [places[one.name] for one in targets]
        names = [header.names[place] for place in wanted]
        if any(
            one.holds is Holds.NUMBER and is_scaled(name)
            for one, name in zip(targets, names, strict=True)
        ):
            raise StatementUnreadable(
                "by its name, a column counts in thousands or millions",
                hint="write the amounts out in full, and take that out of the name",
            )
        body = Body("the file", header, targets, is_padded=True)
        wide: list[Unread] = []
        with closing(grid.rows(sheet)) as rows:
            found = [
                (number, [row[place] for place in wanted])
                for number, row in body.rows(_narrow(rows, header, wide))
            ]
        ways = _Ways(targets, names, found, sheet.epoch, answers)
        return ways.table(self.above, wide)


def _narrow(rows: Iterable[Cells], header: Header, wide: list[Unread]) -> Iterator[Cells]:
    """Leave out rows that are wider than the header: which cell is which, nobody knows."""
    for number, row in enumerate(rows, start=1):
        if (
            number > header.row
            and len(row) > header.end
            and not all(map(is_empty, row[header.end :]))
        ):
            wide.append(Unread(number, WRONG_WIDTH))
            yield ()
        else:
            yield row


_ISO: Final = re.compile(r"[12][0-9]{3}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?")
_ORDERS: Final = {DayOrder.DAY_FIRST: DAY_FIRST, DayOrder.MONTH_FIRST: MONTH_FIRST}
_ORDER_OF: Final = {written: order for order, written in _ORDERS.items()}
_ASKED: Final = {
    "dates": (
        "day and month of the dates cannot be told apart",
        'say `dates = "day first"` or `dates = "month first"` in the mapping',
    ),
    "decimal": (
        "1,234 may be more than a thousand, or little more than one",
        'say `decimal = "."` or `decimal = ","` in the mapping',
    ),
    "serial": (
        "the dates are written as a spreadsheet counts days",
        "format the column as dates, and save it once more",
    ),
}
"""What may have to be asked, and how it is answered."""


class _Ways:
    """How the columns of a table are written, by all of their cells."""

    def __init__(
        self,
        targets: Sequence[Target],
        names: Sequence[str],
        rows: list[tuple[int, list[Cell]]],
        epoch: str | None,
        answers: Answers,
    ) -> None:
        self._targets, self._rows, self._answers = targets, rows, answers
        self._epoch = epoch
        self._seen = {
            place: self._looked_at(place, name)
            for place, (target, name) in enumerate(zip(targets, names, strict=True))
            if target.holds in {Holds.NUMBER, Holds.DAY}
        }

    def _looked_at(self, place: int, name: str) -> ColumnSeen | None:
        """Look at a column; None where all of it is written as most write it."""
        holds = self._targets[place].holds
        known = PLAIN if holds is Holds.NUMBER else _ISO
        rows = self._rows
        if all(
            cell is None or (type(cell) is str and (not cell or known.fullmatch(cell)))
            for cell in (row[place] for _, row in rows)
        ):
            return None
        column = ColumnSeen(name, holds, self._epoch)
        for number, row in rows:
            cell = row[place]
            if isinstance(cell, str):
                if holds is Holds.DAY:
                    cell = _day_alone(cell)
                else:
                    cell = row[place] = sided(cell)
            column.add(cell, number)
        return column

    def table(self, above: list[list[str]], wide: list[Unread]) -> Table:
        """Write every cell in one way; a row of which one cannot be read is named."""
        ways = {place: self._judged(seen) for place, seen in self._seen.items()}
        writers = [
            self._writer(target.holds, ways.get(place))
            for place, target in enumerate(self._targets)
        ]
        rows: list[tuple[int, list[str]]] = []
        unread = list(wide)
        totals = _Totals(self._targets)
        for number, row in self._rows:
            try:
                totals.refuse(row)
                rows.append((number, [write(c) for write, c in zip(writers, row, strict=True)]))
            except (BadCell, ValueError, OverflowError) as error:
                unread.append(Unread(number, reason(error)))
        days = [ways[p] for p, t in enumerate(self._targets) if t.holds is Holds.DAY]
        has_commas = any(way is not None and way.mark == COMMA for way in ways.values())
        order = next((way.order for way in days if way is not None), None)
        return Table(
            above,
            rows,
            unread,
            _ORDER_OF.get(order or "", self._answers.dates),
            MARKS[COMMA if has_commas else POINT],
            self._currency(),
        )

    def _judged(self, seen: ColumnSeen | None) -> ColumnWay | None:
        if seen is None:
            return None
        try:
            way = seen.judged(self._decide)
        except Trouble as trouble:
            said, hint = trouble.args
            raise StatementUnreadable(str(said), hint=str(hint)) from None
        assert way is not None  # what is open was decided, or asked
        return way

    def _decide(self, what: str, column: ColumnSeen) -> str:
        match what:
            case "dash":
                return "missing"
            case "decimal" if self._answers.decimal is not None:
                return POINT if self._answers.decimal == "." else COMMA
            case "decimal":
                others = self._seen.items()
                marks = {
                    mark for mark in MARKS for _, one in others if one and one.numbers.counts[mark]
                }
                if any(one is None and self._is_money(place) for place, one in others):
                    marks.add(POINT)  # it is written as 1,234.50
                if len(marks) == 1:
                    return marks.pop()
            case "dates" if self._answers.dates is not None:
                order = _ORDERS[self._answers.dates]
                if order in column.open_orders:
                    return order
        said, hint = _ASKED[what]
        raise MappingNeeded(said, hint=hint)

    def _is_money(self, place: int) -> bool:
        is_number = self._targets[place].holds is Holds.NUMBER
        return is_number and any(row[place] for _, row in self._rows)

    def _writer(self, holds: Holds, way: ColumnWay | None) -> Callable[[Cell], str]:
        if holds is Holds.NUMBER:
            return _as_it_is if way is None else lambda cell: _money_written(cell, MARKS[way.mark])
        if holds is Holds.DAY:
            return _as_it_is if way is None else lambda cell: self._day_written(cell, way)
        return as_word

    def _day_written(self, cell: Cell, way: ColumnWay) -> str:
        if isinstance(cell, datetime | date):
            return cell.isoformat()
        if isinstance(cell, int | float):
            if isinstance(cell, bool) or not 0 < cell < 100_000:  # noqa: PLR2004 - beyond our time
                raise BadCell("is no date")
            first = datetime.combine(SYSTEMS[way.system], datetime.min.time())
            return (first + timedelta(seconds=round(cell * 86_400))).isoformat()
        at = moment(str(cell), _NO_ZONE, way.order, self._answers.until)
        return (at.replace(tzinfo=None) if at.tzinfo is _NO_ZONE else at).isoformat()

    def _currency(self) -> str | None:
        """Give the currency that the amounts name; it may not be another than the one known."""
        named = [one.numbers.money for one in self._seen.values() if one is not None]
        meant = [money for money in named if money is not None]
        if not meant:
            return None
        both = frozenset.intersection(*meant)
        known = self._answers.currency
        if not both or (known is not None and known.upper() not in both):
            raise StatementUnreadable(
                "the amounts are in another currency than the statement, or in several",
                hint="send the statement of one account, in one currency",
            )
        return next(iter(both)) if len(both) == 1 else None


_NO_ZONE: Final = timezone(timedelta(), "none told")


def _as_it_is(cell: Cell) -> str:
    return str(cell or "").replace(",", "")


def _money_written(cell: Cell, mark: str) -> str:
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        told = in_hundredths(float(cell))
    elif isinstance(cell, str):
        read = None if is_marker(tidy(cell)) else hundredths(cell, mark)
        if read is None:
            return ""
        told = read
    elif cell is None:
        return ""
    else:
        raise BadCell("is no amount of money")
    whole, part = divmod(abs(told), 100)
    return f"{'-' if told < 0 else ''}{whole}.{part:02}"


def _day_alone(cell: str) -> str:
    try:
        return parted(cell)[0]
    except ValueError:
        return cell


class _Totals:
    """Tells totals that have a day, where a table has no ids: their words say so."""

    def __init__(self, targets: Sequence[Target]) -> None:
        names = [one.name for one in targets]
        self._words = [place for place, one in enumerate(targets) if one.holds is Holds.WORD]
        self._balance = names.index("balance") if "balance" in names else None

    def refuse(self, row: Sequence[Cell]) -> None:
        """Raise `BadCell` for a row that says total, unless it has moved the balance."""
        if self._balance is not None and not is_empty(row[self._balance]):
            return
        if any(says_total(row[place]) for place in self._words):
            raise BadCell("says that it is a total, and has a date as a transaction has")


# ----------------------------------------------------------------------------------- mappings


def read_mapped(
    headed: Headed,
    columns: Columns,
    names: Pseudonyms,
    zone: tzinfo,
    until: date,
    format_name: str,
) -> Statement:
    """Read a table by a mapping."""
    if columns.amount is None and (columns.paid_in is None or columns.paid_out is None):
        raise MappingNeeded(
            "the mapping does not tell what came and what went",
            hint="name the column `amount`, or both `paid_in` and `paid_out`",
        )
    roles = [one for one in ROLES if one.name in columns.named]
    answers = Answers(columns.decimal, columns.dates, columns.currency, until)
    table = headed.read(roles, answers)
    declared = table.declared(names, zone, until)
    place = {one.name: at for at, one in enumerate(roles)}

    def row(number: int, cells: Sequence[str]) -> list[Row]:
        def cell(role: str) -> str:
            return cells[place[role]].strip() if role in place else ""

        return [
            Row(
                number,
                cell("receipt") or None,
                moment(f"{cell('at')} {cell('time')}", zone, None, until),
                cell("details"),
                status_of(cell("status")),
                _moved(columns, cell),
                hundredths(cell("balance")),
                None,
                cell("counterparty") or None,
            )
        ]

    read, bad = rows_of(table.rows, len(roles), row)
    source = Source(format_name, None, columns.currency or table.currency)
    return assemble(source, read, names, unread=[*table.unread, *bad], declared=declared)


def _moved(columns: Columns, cell: Callable[[str], str]) -> int:
    if columns.amount is None:
        came = hundredths(cell("paid_in")) or 0
        return came - abs(hundredths(cell("paid_out")) or 0)
    amount = hundredths(cell("amount"))
    if amount is None:
        raise BadCell("needs an amount")
    if columns.direction is None:
        return amount
    word = cell("direction").casefold()
    came_in = word in columns.credits
    if not came_in and columns.credits == _CREDITS and word not in _DEBITS:
        raise BadCell("does not tell whether money came or went")
    return abs(amount) if came_in else -abs(amount)


# ------------------------------------------------------------------- what stands above a table


_LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    "holder": (
        "customer name",
        "account holder",
        "account name",
        "name",
        "nom du client",
        "nom",
        "titulaire",
    ),
    "period": ("statement period", "period", "période", "periode"),
    "made_on": (
        "request date",
        "date of statement",
        "statement date",
        "printed on",
        "date d'édition",
        "date d'edition",
    ),
    "opened_on": ("account opened", "opened on", "date d'ouverture"),
    "opening": ("opening balance", "solde initial", "solde d'ouverture"),
    "closing": ("closing balance", "solde final", "solde de clôture"),
    "total": ("total", "total:"),
}
_ROLE_OF: Final = {label: role for role, labels in _LABELS.items() for label in labels}
_PERIOD: Final = re.compile(r"\s*(?:du )?(.+?)\s+(?:-|\u2013|to|au)\s+(.+?)\s*", re.IGNORECASE)
_TOTAL_CELLS: Final = 3


def declared_by(
    lines: Iterable[Sequence[str]],
    names: Pseudonyms,
    zone: tzinfo,
    decimal: str = ".",
    order: DayOrder | None = None,
    until: date | None = None,
) -> Declared:
    """Read what a statement says of itself above its table; what cannot be read is left out."""
    days = _Days(zone, order, until)
    told: dict[str, str] = {}
    totals: list[str] = []
    for line in lines:
        cells = [cell.strip() for cell in line if cell.strip()]
        if len(cells) == 1 and ":" in cells[0]:
            label, _, rest = cells[0].partition(":")
            cells = [label, rest.strip()]
        if len(cells) < 2:  # noqa: PLR2004 - a label and what it says
            continue
        role = _ROLE_OF.get(plain(cells[0]).rstrip(": "))
        if role == "total" and len(cells) >= _TOTAL_CELLS:
            totals = cells[1:3]
        elif role is not None:
            told.setdefault(role, cells[1])
    first, last = days.period(told.get("period", ""))
    return Declared(
        first_day=first,
        last_day=last,
        made_on=days.day(told.get("made_on")),
        opened_on=days.day(told.get("opened_on")),
        opening=_money(told.get("opening"), decimal),
        closing=_money(told.get("closing"), decimal),
        paid_in=_money(totals[0], decimal) if totals else None,
        paid_out=_total_out(totals, decimal),
        holder=names.holder(told["holder"]) if "holder" in told else None,
    )


def _total_out(totals: Sequence[str], decimal: str) -> int | None:
    out = _money(totals[1], decimal) if totals else None
    return None if out is None else abs(out)


class _Days(NamedTuple):
    """How the days above a table are written; of two ways only one that fits is taken."""

    zone: tzinfo
    order: DayOrder | None
    until: date | None

    def day(self, text: str | None, order: DayOrder | None = None) -> date | None:
        try:
            at = moment(text, self.zone, order or self.order, self.until) if text else None
        except ValueError:
            return None
        return None if at is None else at.date()

    def period(self, text: str) -> tuple[date | None, date | None]:
        found = _PERIOD.fullmatch(text)
        if found is None:
            return None, None
        ways = {
            (self.day(found[1], order), self.day(found[2], order))
            for order in ((self.order,) if self.order else DayOrder)
        }
        whole = [(a, b) for a, b in ways if a is not None and b is not None and a <= b]
        return whole[0] if len(whole) == 1 else (None, None)


def _money(text: str | None, decimal: str) -> int | None:
    try:
        return hundredths(text, decimal) if text else None
    except BadCell:
        return None
