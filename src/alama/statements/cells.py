"""Cells of a statement: money in hundredths, and moments with a zone. What is no such raises."""

from __future__ import annotations

import re
from datetime import date, datetime, time, tzinfo
from enum import StrEnum
from functools import lru_cache
from typing import Final

from alama.platform.files.asis.written import (
    COMMA,
    DASHES,
    PARTS,
    POINT,
    DayRead,
    amount_of,
    day_of,
    parted,
    tidy,
)

DIGITS_MAX: Final = 15


class BadCell(ValueError):
    """A cell is not what its column holds. Says what is wrong, never what stands there."""


class DayOrder(StrEnum):
    """In which order a date of figures is written; one that begins with the year says itself."""

    DAY_FIRST = "day first"
    MONTH_FIRST = "month first"


PLAIN: Final = re.compile(r"-?(?:[0-9]{1,13}|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,4})\.[0-9]{2}")
"""Money as most write it, which can be read in one way only."""

_AMOUNT_MAX: Final = 10.0**13
_CENTS: Final = 100
_NOISE: Final = 1e-4
_SIDE: Final = re.compile(
    r"(?P<amount>.*[^a-z ]) ?(?P<side>dr|db|d|debit|cr|c|credit)\.?", re.IGNORECASE
)
_POWER: Final = re.compile(r"[0-9][eE]")


def sided(text: str) -> str:
    """Give an amount with a minus for `Dr` behind it, which is money that went; `Cr` came."""
    if text[-1:] < "A":  # a figure: nearly every amount
        return text
    found = _SIDE.fullmatch(tidy(text)) if len(text) <= 4 * DIGITS_MAX else None
    if found is None:
        return text
    return f"-{found['amount']}" if found["side"][0] in "dD" else found["amount"]


def hundredths(text: str, decimal: str = ".") -> int | None:
    """Read money; None for an empty cell.

    Separators of thousands, words of a currency, brackets or a sign at either end are understood,
    and `Dr` behind it. What may mean another amount is none: 1.5K, 1E5, 12 %.
    """
    if decimal == "." and PLAIN.fullmatch(text):
        return int(text.replace(",", "").replace(".", ""))
    if text.isdecimal() and len(text) < DIGITS_MAX:
        return int(text) * _CENTS
    bare = tidy(text)
    if not bare or bare in DASHES:
        return None
    amount = amount_of(sided(bare))
    value = None if amount is None else amount.by(POINT if decimal == "." else COMMA)
    if amount is None or value is None or amount.percent or _POWER.search(bare):
        raise BadCell("is no amount of money")
    return in_hundredths(value)


def in_hundredths(value: float) -> int:
    """Give a number of a spreadsheet as money; its formulas leave noise far behind the cents."""
    if not abs(value) < _AMOUNT_MAX:
        raise BadCell("is no amount of money")
    cents = round(value * _CENTS)
    if abs(value * _CENTS - cents) > _NOISE * max(1.0, abs(value) / 10**9):
        raise BadCell("is no amount of money")
    return cents


_YEARS: Final = range(1970, 2101)


def moment(
    text: str,
    zone: tzinfo,
    order: str | None = DayOrder.DAY_FIRST,
    until: date | None = None,
) -> datetime:
    """Read a day, or a day with a time; one that names no zone is of `zone`.

    `order` is one of `DayOrder`, or of those that a column of any table may have.
    A year of two figures is none that comes after `until`; without that it is not read.
    """
    bare = text.strip()
    try:
        at = datetime.fromisoformat(bare)
    except ValueError:
        at = _written(bare, order, until)
    if at.year not in _YEARS:
        raise BadCell("is no day of our time")
    return at.replace(tzinfo=zone) if at.tzinfo is None else at


def _written(text: str, order: str | None, until: date | None) -> datetime:
    try:
        told, clock = parted(text)
    except ValueError:
        raise BadCell("is no time of day that there is") from None
    read = _day_of(told)
    if read is None or not read.by:
        raise BadCell("is no date")
    day = next(iter(read.by.values()))
    if read.shape == PARTS:
        if order is not None:
            found = read.by.get(order.replace(" ", "-"))
            if found is None:
                raise BadCell("is no day that there is")
            day = found
        elif len(set(read.by.values())) > 1:
            raise BadCell("is a date of which day and month cannot be told apart")
    elif len(read.by) > 1:
        raise BadCell("is a date of which day and month cannot be told apart")
    if str(day.year) not in told and (until is None or day > until):
        raise BadCell("has a year of two figures that is yet to come")
    return datetime.combine(day, clock or time())


@lru_cache(maxsize=4096)
def _day_of(text: str) -> DayRead | None:
    return day_of(text)
