"""Where a wallet is: by which clock its days are counted, and which two days are its weekend."""

from __future__ import annotations

from datetime import timedelta, timezone, tzinfo
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from alama.core.errors import AlamaError

SATURDAY_SUNDAY: Final = frozenset({5, 6})
FRIDAY_SATURDAY: Final = frozenset({4, 5})

_BY_HOURS: Final = (
    (0, "BF CI GH GM GN GW LR ML MR SL SN TG"),
    (1, "AO BJ CD CF CG CM DZ GA GQ NE NG TD TN"),
    (2, "BI BW LS LY MW MZ NA RW SD SS SZ ZA ZM ZW"),
    (3, "BH DJ ER ET IQ JO KE KM KW MG QA SA SO SY TZ UG YE"),
    (4, "AE MU OM SC"),
    (5, "MV PK TJ UZ"),
    (5.5, "IN LK"),
    (5.75, "NP"),
    (6, "BD KG"),
    (6.5, "MM"),
    (7, "KH LA TH VN"),
    (8, "PH"),
)
_UTC_OFFSET_HOURS: Final = {code: hours for hours, codes in _BY_HOURS for code in codes.split()}
"""Countries of one zone that never puts its clocks forward. For any other, name the zone."""

_REST_ON_FRIDAY: Final = "BD BH DJ DZ EG IQ JO KW LY MV OM QA SA SD SO SY YE"

PACKS: Final = {"waemu": "SN"}
"""Jurisdictions that are no country, and one of theirs: they share clock and weekend."""

_OFFSET_MAX_HOURS: Final = 14


class UnknownPlace(AlamaError):
    """A country or a zone of which the clock is not known."""


class Place(NamedTuple):
    """The lender's clock, and the weekend of the country by the days of Python, Monday 0."""

    zone: tzinfo
    weekend: frozenset[int]


def place_of(country: str, zone: str | None = None) -> Place:
    """Give a place by its country (two letters), and its zone where the country has several."""
    code = PACKS.get(country.lower(), country).upper()
    weekend = FRIDAY_SATURDAY if code in _REST_ON_FRIDAY.split() else SATURDAY_SUNDAY
    if zone is not None:
        return Place(_named(zone), weekend)
    hours = _UTC_OFFSET_HOURS.get(code)
    if hours is None:
        raise UnknownPlace(
            f"the clock of {country!r} is not known, or it has several",
            hint="name the zone as well, such as Africa/Cairo or +03:00",
        )
    return Place(timezone(timedelta(hours=hours)), weekend)


def by_offset(hours: int) -> Place:
    """Give the place of a lender of which only the clock is known."""
    return Place(timezone(timedelta(hours=hours)), SATURDAY_SUNDAY)


def _named(zone: str) -> tzinfo:
    sign, rest = zone[:1], zone[1:]
    hours, _, minutes = rest.partition(":")
    if sign in {"+", "-"} and hours.isdecimal() and (minutes or "0").isdecimal():
        offset = timedelta(hours=int(hours[:2]), minutes=int((minutes or "0")[:2]))
        if offset <= timedelta(hours=_OFFSET_MAX_HOURS):
            return timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UnknownPlace(
            f"no zone {zone!r} is known here", hint="write its offset, such as +03:00"
        ) from None
