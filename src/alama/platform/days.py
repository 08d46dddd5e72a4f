"""Days, numbered since 1970, UTC, and months, written as 202611."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Final

DAY_US: Final = 86_400 * 1_000_000
_EPOCH: Final = date(1970, 1, 1).toordinal()


def day_of(at_us: int) -> int:
    return at_us // DAY_US


def date_of(day: int) -> date:
    return date.fromordinal(_EPOCH + day)


def day_number(of: date) -> int:
    """Give a date as a day."""
    return of.toordinal() - _EPOCH


def month_of(day: int) -> int:
    found = date_of(day)
    return found.year * 100 + found.month


def month_name(day: int) -> str:
    """Give the month of a day as it is shown: 2026-11."""
    return date_of(day).isoformat()[:7]


def first_day_of(month: int) -> int:
    return day_number(date(month // 100, month % 100, 1))


def last_day_of(month: int) -> int:
    year, place = divmod(month, 100)
    return day_number(date(year + place // 12, place % 12 + 1, 1)) - 1


def moment_if(moment_us: int | None) -> datetime | None:
    return None if moment_us is None else moment(moment_us)


def moment(moment_us: int) -> datetime:
    """Give a time as the contract has it, of microseconds since 1970, UTC."""
    return datetime.fromtimestamp(moment_us / 1e6, UTC)
