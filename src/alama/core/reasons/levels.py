"""The level of a field that would help: where in its table the nearest better band lies.

What a move is worth is counted on the whole score, pairs included, with all other fields as they
are. So what is said holds for this applicant, not only on average.
"""

from __future__ import annotations

from bisect import bisect_right
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.catalogue import Kind, Way
from alama.core.lending.loan import AMOUNT, TERM
from alama.core.reasons import wording
from alama.core.reasons.dictionary import Safer
from alama.core.tables import neighbours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.catalogue import Field
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.reasons.dictionary import Shown
    from alama.core.tables import Card, Feature

NOTICEABLE_POINTS: Final = 1.0
"""Scores are shown in whole points: what moves them by less is nobody's reason."""


HELPFUL_POINTS: Final = 5.0
"""What brings fewer is not worth somebody's trouble: 40 double the odds of repayment."""

COMMON_SHARE: Final = 0.05
"""Values that fewer than one in twenty have are no advice: a wallet that hardly moves, say."""


class Sense(Enum):
    """What a field does to the score; the value is the sign of its points."""

    LOWERS = -1
    RAISES = 1


class Standing(NamedTuple):
    """Where an application stands in the table of one feature.

    `cuts` are in the caller's currency, `slots` those of all features of the card.
    """

    field: Field
    card: Card
    place: int
    cuts: Sequence[float]
    slots: Sequence[int]

    @property
    def feature(self) -> Feature:
        return self.card.features[self.place]

    @property
    def slot(self) -> int:
        return self.slots[self.place]

    def slot_of(self, number: float) -> int:
        return bisect_right(self.cuts, number) + 1

    def is_here(self, number: float) -> bool:
        """Say whether a number stands in the same band."""
        return self.slot_of(number) == self.slot


class Level(NamedTuple):
    """Values that would help, as they are shown: from `low` on, up to `high`, or below `below`."""

    low: Decimal | None = None
    high: Decimal | None = None
    below: Decimal | None = None


def bears_out(standing: Standing, safer: Safer, sense: Sense) -> bool:
    """Say whether the table calls a value low (or high) that lowers (or raises) the score.

    The points of the field alone must have the same sign as its contribution, and there must be
    better (or worse) bands on the side where the code has them. Otherwise it is the company of
    other fields, or another direction than the dictionary knows, that makes the contribution.
    """
    main, slot = standing.feature.main, standing.slot
    upwards = (safer is Safer.MORE) is (sense is Sense.LOWERS)
    others = main[slot + 1 :] if upwards else main[1:slot]
    own = sense.value * main[slot]
    return own > 0.0 and any(sense.value * points < own for points in others)


def gains(standing: Standing) -> list[float]:
    """Give the points that the score gains with each other slot of the feature."""
    place, slots, slot = standing.place, standing.slots, standing.slot
    main = standing.feature.main
    gained = [points - main[slot] for points in main]
    for pair in standing.card.pairs:
        if pair.first == place:
            halves = [pair.half(own, slots[pair.second]) for own in range(len(main))]
        elif pair.second == place:
            halves = [pair.half(slots[pair.first], own) for own in range(len(main))]
        else:
            continue
        for own, half in enumerate(halves):
            gained[own] += 2.0 * (half - halves[slot])
    return gained


def level_that_helps(
    standing: Standing, policy: ReadyPolicy, shown: Shown, number: float
) -> Level | None:
    """Give the nearest values that would raise the score by `HELPFUL_POINTS`; None if none would.

    Only what an applicant can change, the way they can, to what others have too. A loan is one
    that the policy offers.
    """
    change = standing.field.change
    if change is None or not standing.field.numeric:
        return None
    gained = gains(standing)
    if standing.field.name == TERM:
        return _nearest_term(standing, gained, change.way, policy.terms_days, number)
    run = _nearest_run(standing, gained, change.way)
    if run is None:
        return None
    first, last = run[0], run[-1]
    low = standing.cuts[first - 2] if first > 1 else None
    end = standing.cuts[last - 1] if last <= len(standing.cuts) else None
    if standing.field.name == AMOUNT:
        return _in_steps(shown, low, end, policy.limit_step, policy.limit_step)
    if standing.field.kind is Kind.INTEGER:
        return _in_steps(shown, low, end, 1, standing.field.minimum or 0)
    return _between(standing, shown, run, low, end)


def _nearest_term(
    standing: Standing, gained: Sequence[float], way: Way, terms_days: Sequence[int], days: float
) -> Level | None:
    better = [
        term
        for term in terms_days
        if gained[standing.slot_of(term)] >= HELPFUL_POINTS
        and (way is not Way.UP or term > days)
        and (way is not Way.DOWN or term < days)
    ]
    if not better:
        return None
    nearest = Decimal(min(better, key=lambda term: abs(term - days)))
    return Level(low=nearest, high=nearest)


def _nearest_run(standing: Standing, gained: Sequence[float], way: Way) -> range | None:
    """Give the neighbouring better slots that come next, up or down, and are no rarity."""
    slot = standing.slot
    # A loan that is on offer may be had by anyone.
    share_min = 0.0 if standing.field.name == AMOUNT else COMMON_SHARE
    better = [own for own in range(1, len(gained)) if gained[own] >= HELPFUL_POINTS]
    runs = [
        range(first, last + 1)
        for first, last in neighbours(better)
        if (way is not Way.UP or first > slot)
        and (way is not Way.DOWN or last < slot)
        and sum(standing.feature.shares[first : last + 1]) >= share_min
    ]
    # A run does not go past the slot itself, which is no better than it is.
    return min(runs, key=lambda run: min(abs(own - slot) for own in run), default=None)


def _in_steps(
    shown: Shown, low: float | None, end: float | None, step: int, least: float
) -> Level | None:
    """Give the whole steps from `low` to below `end`, none of them below the least there can be."""
    first = None if low is None else -int(-low // step) * step
    last = None if end is None else (-int(-end // step) - 1) * step
    if last is not None and last < max(least, first or 0):
        return None
    return Level(
        low=None if first is None else wording.scaled(shown, first),
        high=None if last is None else wording.scaled(shown, last),
    )


def _between(
    standing: Standing, shown: Shown, run: range, low: float | None, end: float | None
) -> Level:
    at_least = below = None
    if low is not None:
        at_least = wording.plain_least(shown, low, lambda number: standing.slot_of(number) in run)
    if end is not None:
        bottom = low if low is not None else standing.field.minimum or 0.0
        below = wording.plain_most(shown, end, lambda number: bottom < number <= end)
    if at_least is not None and at_least == below:
        return Level(low=at_least, high=at_least)
    return Level(low=at_least, below=below)
