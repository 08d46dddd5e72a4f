"""Whether a history holds loans to people like the applicant: the chance of having been booked.

A lender's model learns from booked loans. Where an earlier policy hardly ever booked, there is
nothing that its points could have learned from, however ordinary the application looks. This says
when that happens. For each card a table by the slots of every field gives

    log-odds of being booked = base + sum over features of table[slot]

and an application below `log_odds_min` was seldom booked. Beside that, a field may have an end
beyond which next to nobody was: there a band of the card, which only knows booked loans, would put
those on both sides of an old cut-off together.

Every cell is a multiple of STEP. Sums of them are exact in any order, so that one application and
a million of them are told apart by the same bits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.scorecard import Scorecard, money_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alama.core.application import Value
    from alama.core.catalogue import Catalogue
    from alama.core.tables import Card, Feature


STEP: Final = 2.0**-10
"""Log-odds are multiples of this: finer than any history can tell."""

_LOG_ODDS_MAX: Final = 2.0**12


class FieldBooking(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one field says about being booked: log-odds by slot, and the ends of what was booked.

    Next to nobody below `lowest` or above `highest` was booked; None where there is no such end.
    Money stands in the currency of the model's cuts.
    """

    log_odds: tuple[float, ...]
    lowest: float | None = None
    highest: float | None = None


class Booking(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who of those that a card serves was booked. Fields stand in the order of its features.

    `booked_share` is that of all applications it was learned from.
    """

    card: str
    base: float
    fields: tuple[FieldBooking, ...]
    log_odds_min: float
    booked_share: float

    @property
    def chance_min(self) -> float:
        """Give the chance below which an application was seldom booked, 0 to 1."""
        return 1.0 / (1.0 + math.exp(-self.log_odds_min))


class ReadyBooking:
    """A booking laid out for look-up, in the caller's currency.

    `ends` has the least and the most that was booked by the place of a field in the catalogue, for
    those that have an end.
    """

    __slots__ = ("_ends", "_tables", "booking", "ends")

    def __init__(
        self, booking: Booking, scorecard: Scorecard, catalogue: Catalogue, money_factor: float
    ) -> None:
        self.booking = booking
        self._tables = tuple(field.log_odds for field in booking.fields)
        self.ends: Mapping[int, tuple[float, float]] = {
            place: ends_in(field, feature, catalogue, money_factor)
            for place, feature, field in zip(
                scorecard.places, scorecard.card.features, booking.fields, strict=True
            )
            if field.lowest is not None or field.highest is not None
        }
        self._ends = tuple((place, low, high) for place, (low, high) in self.ends.items())

    def log_odds(self, slots: Sequence[int]) -> float:
        """Give the log-odds of having been booked, from a slot for each feature of the card."""
        total = self.booking.base
        for slot, table in zip(slots, self._tables, strict=True):
            total += table[slot]
        return total

    def is_seldom(self, values: Sequence[Value], slots: Sequence[int]) -> bool:
        """Say whether such applications were seldom booked, or one of its values next to never."""
        if self.log_odds(slots) < self.booking.log_odds_min:
            return True
        for place, low, high in self._ends:
            value = values[place]
            if value is not None and not low <= value <= high:  # type: ignore[operator]  # numbers
                return True
        return False


def ends_in(
    field: FieldBooking, feature: Feature, catalogue: Catalogue, money_factor: float
) -> tuple[float, float]:
    """Give the least and the most that was booked in the caller's currency."""
    factor = money_in(feature, catalogue, money_factor)
    return (
        -math.inf if field.lowest is None else field.lowest * factor,
        math.inf if field.highest is None else field.highest * factor,
    )


def on_step(log_odds: float) -> float:
    """Give the nearest multiple of STEP."""
    # Adding 0.0 turns a negative zero, which JSON would keep, into a plain one.
    return round(log_odds / STEP) * STEP + 0.0


def faults(booking: Booking, card: Card) -> Iterator[str]:
    """Yield what makes this no booking of the card; nothing for a sound one."""
    if len(booking.fields) != len(card.features):
        yield "its booking does not have a table for each feature"
        return
    for field, feature in zip(booking.fields, card.features, strict=True):
        for fault in _field_faults(field, feature):
            yield f"the booking of {feature.field}: {fault}"
    if not (_is_cell(booking.base) and _is_cell(booking.log_odds_min)):
        yield "the base or the limit of its booking is off the grid"
    elif _reach(booking) > _LOG_ODDS_MAX:
        yield f"the log-odds of its booking reach beyond {_LOG_ODDS_MAX:.0f}"
    if not 0.0 < booking.booked_share < 1.0:
        yield "the booked share of its booking is not between 0 and 1"


def _field_faults(field: FieldBooking, feature: Feature) -> Iterator[str]:
    if len(field.log_odds) != len(feature.main):
        yield f"{len(field.log_odds)} slots where its table has {len(feature.main)}"
    if not all(_is_cell(cell) for cell in field.log_odds):
        yield "a cell is off the grid"
    ends = [end for end in (field.lowest, field.highest) if end is not None]
    if ends and feature.words:
        yield "words have no end"
    if not all(math.isfinite(end) for end in ends):
        yield "an end is not a finite number"
    if ends != sorted(ends):
        yield "its ends are the wrong way round"


def _is_cell(log_odds: float) -> bool:
    return math.isfinite(log_odds) and (log_odds / STEP).is_integer()


def _reach(booking: Booking) -> float:
    """Bound every partial sum that a look-up can meet."""
    cells = (max(map(abs, field.log_odds), default=0.0) for field in booking.fields)
    return abs(booking.base) + sum(cells)
