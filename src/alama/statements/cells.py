"""Cells of a statement: money in hundredths, and moments with a zone. What is no such raises."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from enum import StrEnum
from functools import cache
from typing import Final

DIGITS_MAX: Final = 15


class BadCell(ValueError):
    """A cell is not what its column holds. Says what is wrong, never what stands there."""


class DayOrder(StrEnum):
    """In which order a date of figures is written; one that begins with the year says itself."""

    DAY_FIRST = "day first"
    MONTH_FIRST = "month first"


_PLAIN: Final = re.compile(r"-?\d{1,15}(?:\.\d\d)?")
_WORD: Final = r"[A-Za-z\u20a6\u20b5$€£]{1,5}\.?"
_AROUND: Final = re.compile(
    rf"(?P<signs>[-+(]*(?:{_WORD})?[-+(]*)(?P<figures>[\d.,]*\d[.,]?)(?P<ends>[-+)]*)"
    rf"(?P<after>{_WORD})?(?P<last>[-+)]*)"
)
_DEBIT: Final = frozenset(("d", "db", "dr", "debit"))
_MULTIPLES: Final = frozenset(("b", "bn", "e", "k", "m", "mio", "mn", "t", "th", "tn"))
"""Words behind figures that make another amount of them: 1.5K is not 1.50."""

_THREE_BEHIND: Final = {mark: re.compile(rf"[^.,]*\d[{mark}]\d{{3}}\D*") for mark in ".,"}
_SPACES: Final = dict.fromkeys(map(ord, " \u00a0\u202f\u2009'"))
_MINUS: Final = str.maketrans({"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-"})


@cache
def _amount_of(decimal: str) -> re.Pattern[str]:
    group = re.escape("," if decimal == "." else ".")
    return re.compile(
        rf"(?P<whole>\d{{1,3}}(?:{group}\d{{2,3}})*{group}\d{{3}}|\d+)"
        rf"(?:{re.escape(decimal)}(?P<part>\d{{0,2}})0*)?"
    )


def hundredths(text: str, decimal: str = ".") -> int | None:
    """Read money; None for an empty cell.

    Separators of thousands, words of a currency, brackets or a sign at either end are understood,
    and `Dr` behind it: money that went.
    """
    if _PLAIN.fullmatch(text) and decimal == ".":
        whole, _, part = text.partition(".")
        return int(whole + (part or "00"))
    bare = text.translate(_MINUS).translate(_SPACES)
    if not bare or bare in {"-", "--"}:
        return None
    around = _AROUND.fullmatch(bare)
    if around is None or len(around["figures"]) > DIGITS_MAX + 8:
        raise BadCell("is no amount of money")
    after = (around["after"] or "").rstrip(".").casefold()
    found = _amount_of(decimal).fullmatch(around["figures"])
    if found is None or after in _MULTIPLES:
        raise BadCell("is no amount of money")
    is_negative = (
        any(sign in around["signs"] for sign in "-(")
        or "-" in around["ends"] + around["last"]
        or after in _DEBIT
    )
    figures = re.sub(r"\D", "", found["whole"])
    amount = int(figures) * 100 + int((found["part"] or "0").ljust(2, "0"))
    return -amount if is_negative else amount


def table_hundredths(text: str, decimal: str = ".") -> int | None:
    """Read money of a table that nobody has asked about; 1.500 may be fifteen hundred there."""
    three = _THREE_BEHIND.get(decimal)
    if three is not None and three.fullmatch(text.strip()):
        raise BadCell("has three figures behind its decimal mark, which may set thousands apart")
    return hundredths(text, decimal)


_FIGURES: Final = re.compile(
    r"(?P<a>\d{1,4})[-/. ](?P<b>\d{1,2}|[A-Za-z]{3,9})[-/. ,]+(?P<c>\d{2,4})"
    r"(?:[T ,]*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?)?"
)
_MONTHS: Final = (
    ("jan",),
    ("feb", "fév", "fev"),
    ("mar",),
    ("apr", "avr"),
    ("may", "mai"),
    ("jun", "juin"),
    ("jul", "juil"),
    ("aug", "aoû", "aou"),
    ("sep",),
    ("oct",),
    ("nov",),
    ("dec", "déc"),
)
_YEAR_DIGITS: Final = 4
_CENTURY: Final = 2000
_NOON: Final = 12
_YEARS: Final = range(1970, 2101)


def moment(text: str, zone: tzinfo, order: DayOrder | None = DayOrder.DAY_FIRST) -> datetime:
    """Read a day, or a day with a time; one that names no zone is of `zone`."""
    bare = text.strip()
    try:
        at = datetime.fromisoformat(bare)
    except ValueError:
        at = _figures(bare, order)
    if at.year not in _YEARS:
        raise BadCell("is no day of our time")
    return at.replace(tzinfo=zone) if at.tzinfo is None else at


def _figures(text: str, order: DayOrder | None) -> datetime:
    found = _FIGURES.fullmatch(text)
    if found is None:
        raise BadCell("is no date")
    first, middle, last = found["a"], found["b"], found["c"]
    if len(first) == _YEAR_DIGITS:
        year, day = int(first), int(last)
        month = _month(middle)
    elif middle.isalpha():
        year, month, day = int(last), _month(middle), int(first)
    elif order is None:
        raise BadCell("is a date of which day and month cannot be told apart")
    else:
        day_first = order is DayOrder.DAY_FIRST
        year = int(last)
        day, month = (int(first), int(middle)) if day_first else (int(middle), int(first))
    hour = int(found["hour"] or 0)
    if found["half"]:
        hour = hour % _NOON + (_NOON if found["half"][0] in "Pp" else 0)
    try:
        return datetime(  # noqa: DTZ001 - the zone is given by whoever asks
            year if year > 99 else _CENTURY + year,  # noqa: PLR2004 - two figures
            month,
            day,
            hour,
            int(found["minute"] or 0),
            int(found["second"] or 0),
        )
    except ValueError:
        raise BadCell("is no day that there is") from None


def _month(text: str) -> int:
    if text.isdecimal():
        return int(text)
    for number, names in enumerate(_MONTHS, start=1):
        if text.casefold().startswith(names):
            return number
    raise BadCell("names no month")
