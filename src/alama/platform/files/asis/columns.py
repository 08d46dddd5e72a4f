"""What all values of a column say of the way in which they are written, and values written anew.

A column is read in one way from top to bottom. Where its own values contradict each other, it is
refused; where they leave two ways, it is asked about.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from alama.platform.files.asis import written
from alama.platform.files.asis.delimited import is_garbled
from alama.platform.files.asis.likeness import Holds
from alama.platform.files.asis.written import (
    COMMA,
    DASHES,
    DAY_FIRST,
    DIGITS,
    ISO,
    MONTH_FIRST,
    NAMED,
    ORDERS,
    PARTS,
    POINT,
    SERIAL,
    TYPED,
    YEAR_FIRST,
    Amount,
    Cell,
    DayRead,
    amount_of,
    bare,
    day_of,
    is_empty,
    is_marker,
    tidy,
    yes_or_no,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MOSTLY: Final = 0.95
_EXACT_MAX: Final = 1e15
"""A spreadsheet holds no more digits of a number: the rest of a long id is zeros."""

MIDNIGHT_ELSEWHERE: Final = re.compile(
    r"[T ](?:1[2-9]|2[0-3]):00(?::00(?:\.0+)?)?(?:Z| ?UTC|\+00:?00)$"
)
"""In Nairobi a day begins at 21:00 of the day before in UTC, and programs write it so."""

_FEW: Final = 3
_MONTHS: Final = 12
_CACHED_MAX: Final = 100_000
_AROUND: Final = " \t\r\n\u00a0\u200b\u200e\u200f\u202a\u202b\u202c\u202f\u2066\u2069\ufeff"
_ROWS_TOLD: Final = 5


class ColumnWay(msgspec.Struct, frozen=True):
    """How a column is read: what it holds, its decimal mark, the order or the count of its days."""

    holds: Holds
    mark: str = POINT
    percent: bool = False
    dash: str = "missing"
    order: str = DAY_FIRST
    system: str = "1900"


class Trouble(Exception):
    """A column cannot be read in one way; `args` say why, and what to do."""


@dataclass(slots=True)
class Seen:
    """What was met in a column, and in which row first."""

    counts: Counter[str] = field(default_factory=Counter)
    rows: dict[str, list[int]] = field(default_factory=dict)
    money: frozenset[str] | None = None
    is_money_mixed: bool = False
    groups: set[str] = field(default_factory=set)
    firsts: set[str] = field(default_factory=set)
    lasts: set[str] = field(default_factory=set)

    def add(self, what: str, row: int) -> None:
        self.counts[what] += 1
        told = self.rows.setdefault(what, [])
        if len(told) < _ROWS_TOLD:
            told.append(row)

    def where(self, *what: str) -> str:
        rows = sorted({row for one in what for row in self.rows.get(one, ())})[:_ROWS_TOLD]
        return f"row{'' if len(rows) == 1 else 's'} {', '.join(f'{row:,}' for row in rows)}"


class ColumnSeen:
    """Looks at the values of one column, in their order, and says how it is written."""

    def __init__(self, name: str, holds: Holds, epoch: str | None = None) -> None:
        self.name = name
        self.holds = holds
        self.numbers = Seen()
        self.days = Seen()
        self.given = 0
        self._epoch = epoch
        self.may_be_years_first = False
        self._known: dict[str, tuple[Amount | None, DayRead | None]] = {}

    def add(self, cell: Cell, row: int) -> None:
        if is_empty(cell):
            return
        if isinstance(cell, str):
            text = tidy(cell)
            if is_marker(text):
                return
            self.given += 1
            if text in DASHES:
                self.numbers.add("dash", row)
                self.days.add("missing", row)
                return
            self._text(text, row)
        else:
            self.given += 1
            self._typed(cell, row)

    def _text(self, text: str, row: int) -> None:
        amount, day = self._read(text)
        if self.holds in {Holds.WORD, Holds.ID} and is_garbled(text):
            self.numbers.add("garbled", row)
        if self.holds not in {Holds.DAY, Holds.WORD, Holds.ANSWER}:
            _look_at_number(self.numbers, amount, text, row)
        if self.holds in {Holds.DAY, Holds.ANY}:
            _look_at_day(self.days, day, row)
            self.days.counts["elsewhere"] += MIDNIGHT_ELSEWHERE.search(text) is not None

    def _read(self, text: str) -> tuple[Amount | None, DayRead | None]:
        found = self._known.get(text)
        if found is None:
            amount = (
                None if self.holds in {Holds.DAY, Holds.WORD, Holds.ANSWER} else amount_of(text)
            )
            day = day_of(text) if self.holds in {Holds.DAY, Holds.ANY} else None
            found = amount, day
            if len(self._known) < _CACHED_MAX:
                self._known[text] = found
        return found

    def _typed(self, cell: Cell, row: int) -> None:
        if isinstance(cell, bool):
            self.numbers.add("unread", row)
            self.days.add("unread", row)
        elif isinstance(cell, date | datetime):
            self.days.add(TYPED, row)
            self.days.add("low" if cell.day <= 12 else "high", row)  # noqa: PLR2004 - months
            self.numbers.add("unread", row)
        elif isinstance(cell, int | float):
            self.numbers.add("typed", row)
            if abs(cell) >= _EXACT_MAX:
                self.numbers.add("inexact", row)
            _look_at_day(self.days, day_of(bare(float(cell))), row)
        else:
            self.numbers.add("unread", row)
            self.days.add("unread", row)

    # -------------------------------------------------------------------------------- judging

    def judged(self, decide: Callable[[str, ColumnSeen], str | None]) -> ColumnWay | None:
        """Say how it is read; `decide` answers what is open, None: nobody has. `Trouble`."""
        match self.holds:
            case Holds.NUMBER:
                return self._number(decide)
            case Holds.DAY:
                return self._day(decide)
            case Holds.ID:
                self._refuse_shortened()
                self._refuse_garbled()
                return ColumnWay(Holds.ID)
            case Holds.ANY:
                return self._any()
            case _:
                self._refuse_garbled()
                return ColumnWay(self.holds)

    def _refuse_garbled(self) -> None:
        if self.numbers.counts["garbled"]:
            raise Trouble(
                f"letters with accents are garbled in column {self.name} "
                f"({self.numbers.where('garbled')})",
                "export it again from where it came from, as CSV UTF-8 or .xlsx",
            )

    def _refuse_shortened(self) -> None:
        counts, seen = self.numbers.counts, self.numbers
        if counts["shortened"] or counts["inexact"]:
            raise Trouble(
                f"the long numbers in column {self.name} were shortened by a spreadsheet "
                f"({seen.where('shortened', 'inexact')}): their last digits are lost",
                "export it again, with the column formatted as text",
            )

    def _number(self, decide: Callable[[str, ColumnSeen], str | None]) -> ColumnWay | None:
        counts, seen = self.numbers.counts, self.numbers
        self._refuse_shortened()
        if seen.is_money_mixed:
            raise Trouble(
                f"column {self.name} holds amounts in more than one currency",
                "bring all of them into one currency",
            )
        if counts["percent"] and counts["percent"] < counts["amount"] + counts["typed"]:
            raise Trouble(
                f"in column {self.name} some numbers have a percent sign and others do not "
                f"({seen.where('percent')} has one)",
                "write all of them in one way",
            )
        mark = self._mark() or decide("decimal", self)
        dash = "missing"
        if counts["dash"] and (seen.money is not None or counts["group"] or counts["bracket"]):
            dash = decide("dash", self) or ""
        if not mark or not dash:
            return None
        return ColumnWay(Holds.NUMBER, mark, percent=bool(counts["percent"]), dash=dash)

    def _mark(self) -> str | None:
        """Give the decimal mark where the column's own values leave one; None where they do not."""
        counts, seen = self.numbers.counts, self.numbers
        if counts[POINT] and counts[COMMA]:
            few = POINT if counts[POINT] < counts[COMMA] else COMMA
            raise Trouble(
                f"in column {self.name} some numbers have a decimal point and others a decimal "
                f"comma ({seen.where(few)} unlike the rest)",
                "write all of them in one way",
            )
        if len(seen.groups - {"'"}) > 1 and not counts["open"]:
            raise Trouble(
                f"in column {self.name} thousands are set apart in more than one way",
                "write all of them in one way",
            )
        if not counts["open"]:
            return COMMA if counts[COMMA] else POINT
        settled = POINT if counts[POINT] else COMMA if counts[COMMA] else None
        if settled is None:
            return self._by_many()
        sign = written.MARKS[settled]
        other = "," if sign == "." else "."
        if counts[f"open{sign}"] and other in seen.groups:
            raise Trouble(
                f"in column {self.name} one sign stands before three digits as a decimal mark and "
                f"another sets thousands apart ({seen.where(f'open{sign}')})",
                "write all of them in one way",
            )
        is_odd = counts[f"open{other}"] and other not in seen.groups and counts["ungrouped"]
        return None if is_odd else settled

    def _by_many(self) -> str | None:
        """Nothing but values such as 1,234 and 800: nobody can tell; one who wrote them knows."""
        return None

    def _day(self, decide: Callable[[str, ColumnSeen], str | None]) -> ColumnWay | None:
        counts, seen = self.days.counts, self.days
        shapes = {one for one in (ISO, NAMED, PARTS, DIGITS, SERIAL, TYPED) if counts[one]}
        if counts["elsewhere"] >= _FEW and counts["elsewhere"] == sum(counts[s] for s in shapes):
            raise Trouble(
                f"the days in column {self.name} are midnights of another time zone, written in "
                "UTC: the day that stands there is the one before",
                "export them again as days without times, such as 2024-03-31",
            )
        loose = shapes & {PARTS, DIGITS, SERIAL}
        if loose and len(shapes) > 1:
            rare = min(shapes, key=lambda one: counts[one])
            swapped = TYPED in shapes and PARTS in shapes
            raise Trouble(
                f"the days in column {self.name} are written in more than one way "
                f"({seen.where(rare)} unlike the rest)"
                + (": a spreadsheet may have swapped days and months" if swapped else ""),
                "write all of them as 2024-03-31, best by exporting them again",
            )
        if not shapes:
            return ColumnWay(Holds.DAY, order=YEAR_FIRST)
        if shapes == {SERIAL}:
            system = self._epoch or decide("serial", self)
            return None if system is None else ColumnWay(Holds.DAY, system=system)
        if not loose:
            if counts["year-day"]:
                raise Trouble(
                    f"in column {self.name} the day stands before the month, after the year "
                    f"({seen.where('year-day')})",
                    "write days as 2024-03-31",
                )
            return ColumnWay(Holds.DAY, order=YEAR_FIRST)
        order = self._order() or decide("dates", self)
        return None if order is None else ColumnWay(Holds.DAY, order=order)

    def _order(self) -> str | None:
        """Give the order of days where the column's own values leave one; None: more than one."""
        counts, seen = self.days.counts, self.days
        fitting = self.open_orders
        if not fitting:
            rare = min(
                (o for o in ORDERS if counts[f"only {o}"]), key=lambda o: counts[f"only {o}"]
            )
            raise Trouble(
                f"in column {self.name} some days can only be read {_words(rare)} "
                f"({seen.where(f'only {rare}')}), and others only in another order",
                "write all of them as 2024-03-31",
            )
        return fitting[0] if len(fitting) == 1 else None

    @property
    def open_orders(self) -> tuple[str, ...]:
        """Give the orders that all days of the column leave open.

        24/03/31 begins with a year only where something shows it: the dash of 24-03-31, or ends
        that go over the days of a month while beginnings are few.
        """
        counts = self.days.counts
        total = counts[PARTS] + counts[DIGITS]
        fitting = tuple(order for order in ORDERS if counts[f"fits {order}"] == total)
        is_open = self.may_be_years_first or counts["dashed"]
        if len(fitting) > 1 and self.days.firsts and (not is_open or self._is_spread(first=True)):
            return tuple(order for order in fitting if order != YEAR_FIRST)
        return fitting

    @property
    def looks_years_first(self) -> bool:
        return self._is_spread(first=False)

    def _is_spread(self, *, first: bool) -> bool:
        """Say whether one end goes over the days of a month while the other is of few years."""
        ends = (self.days.firsts, self.days.lasts)
        days, years = ends if first else ends[::-1]
        return len(days) > _MONTHS and 2 * len(years) < len(days)

    def _any(self) -> ColumnWay:
        """Read a column that nobody asked for as what it surely is; else as it stands."""
        as_it_is = ColumnWay(Holds.WORD)
        amounts = self.numbers.counts["amount"] + self.numbers.counts["typed"]
        shapes = [one for one in (ISO, NAMED, PARTS, DIGITS, TYPED) if self.days.counts[one]]
        days = sum(self.days.counts[one] for one in shapes)
        try:
            if days >= MOSTLY * self.given and shapes and DIGITS not in shapes:
                return self._day(lambda _what, _of: None) or as_it_is
            if amounts >= MOSTLY * self.given and amounts:
                return self._number(lambda _what, _of: None) or as_it_is
        except Trouble:
            return as_it_is
        return as_it_is


def _look_at_number(seen: Seen, amount: Amount | None, text: str, row: int) -> None:
    if amount is None:
        seen.add("unread", row)
        return
    seen.add("amount", row)
    for told, is_so in (
        ("percent", amount.percent),
        ("shortened", amount.shortened),
        ("bracket", text.startswith("(")),
        ("group", bool(amount.grouped)),
        ("ungrouped", amount.wide and not amount.grouped and not amount.open),
    ):
        if is_so:
            seen.add(told, row)
    if amount.money is not None:
        both = amount.money if seen.money is None else seen.money & amount.money
        seen.is_money_mixed |= not both
        seen.money = both
    if amount.open:
        seen.add("open", row)
        seen.add("open," if "," in text else "open.", row)
    elif amount.by_comma is None:
        seen.add(POINT, row)
    elif amount.by_point is None:
        seen.add(COMMA, row)
    if amount.grouped and not amount.open:
        seen.groups.add(amount.grouped)


def _look_at_day(seen: Seen, day: DayRead | None, row: int) -> None:
    if day is None:
        seen.add("unread", row)
        return
    seen.add(day.shape, row)
    if "year-day" in day.by:
        seen.add("year-day", row)
    if day.shape in {PARTS, DIGITS}:
        for order in day.by:
            seen.add(f"fits {order}", row)
        if day.ends is not None:
            seen.firsts.add(day.ends[0])
            seen.lasts.add(day.ends[1])
            seen.counts["dashed"] += day.dashed
        if len(day.by) == 1:
            seen.add(f"only {next(iter(day.by))}", row)


def _words(order: str) -> str:
    return {DAY_FIRST: "day first", MONTH_FIRST: "month first", YEAR_FIRST: "year first"}[order]


# ----------------------------------------------------------------------------------- writing anew


def rewriter(way: ColumnWay) -> Callable[[Cell], str]:
    """Give what writes the values of a column as every reader of Alama knows them.

    What cannot be read so stays as it is: whoever reads the rows counts it as a fault.
    """
    match way.holds:
        case Holds.NUMBER:
            return _remembering(lambda cell: _as_number(cell, way))
        case Holds.DAY:
            return _remembering(lambda cell: _as_day(cell, way))
        case Holds.ANSWER:
            return _remembering(_as_answer)
        case _:
            return as_word


def _remembering(write: Callable[[Cell], str]) -> Callable[[Cell], str]:
    known: dict[tuple[type, Cell], str] = {}

    def told(cell: Cell) -> str:
        key = type(cell), cell
        found = known.get(key)
        if found is None:
            found = write(cell)
            if len(known) < _CACHED_MAX:
                known[key] = found
        return found

    return told


def as_word(cell: Cell) -> str:  # noqa: PLR0911 - one for each type
    """Write a cell as somebody would have typed it."""
    match cell:
        case None:
            return ""
        case str():
            return _unwrapped(cell.strip(_AROUND))
        case bool():
            return "true" if cell else "false"
        case int():
            return str(cell)
        case float():
            return bare(cell)
        case datetime():
            whole = cell.time() == time()
            return cell.date().isoformat() if whole else cell.isoformat(sep=" ")
        case date():
            return cell.isoformat()
        case timedelta():
            return str(cell)
        case _:
            return str(cell)


def _unwrapped(text: str) -> str:
    """Take off what keeps a spreadsheet from reading digits as a number: ="0712" is 0712."""
    return text[2:-1] if text.startswith('="') and text.endswith('"') and len(text) > 3 else text  # noqa: PLR2004 - the wrapping


def _as_number(cell: Cell, way: ColumnWay) -> str:
    if isinstance(cell, str):
        text = tidy(cell)
        if not text or is_marker(text):
            return ""
        if text in DASHES:
            return "0" if way.dash == "zero" else ""
        amount = amount_of(text)
        value = None if amount is None else amount.by(way.mark)
        return text if value is None else bare(value)
    return as_word(cell)


def _as_day(cell: Cell, way: ColumnWay) -> str:
    if isinstance(cell, datetime):
        return cell.date().isoformat()
    text = tidy(cell) if isinstance(cell, str) else as_word(cell)
    if not text or is_marker(text) or text in DASHES:
        return ""
    day = day_of(text)
    if day is None:
        return text
    if day.serial is not None:
        return written.of_serial(day.serial, way.system).isoformat()
    found = day.by.get(way.order) or (
        next(iter(day.by.values())) if day.shape in {ISO, NAMED} else None
    )
    return text if found is None else found.isoformat()


def _as_answer(cell: Cell) -> str:
    text = as_word(cell)
    return "" if is_marker(text) or tidy(text) in DASHES else yes_or_no(text) or text
