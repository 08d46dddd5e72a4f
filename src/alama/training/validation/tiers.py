"""The tiers on loans that the model never saw: what it said of each, and what happened.

Default rates have Jeffreys intervals; a light says how likely so many, or so few, defaults were had
every probability been right (exact binomial test, as supervisors use it).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from scipy import special

from alama.core.lending.policy import Decision
from alama.core.units import Points
from alama.training.validation.metrics import Floats, Interval, Labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from alama.core.lending.ready_policy import ReadyPolicy

    Days = NDArray[np.float64]


AMBER_BELOW: Final = 0.05
RED_BELOW: Final = 0.01
"""How unlikely the outcome must be, both sides together, for the light to change."""


class Light(StrEnum):
    """Whether what happened fits what was said; `DARK` where there was nothing to see."""

    GREEN = "green"
    AMBER = "amber"
    RED = "red"
    DARK = "dark"


class TierRate(msgspec.Struct, frozen=True):
    """A tier, the best first: loans, what was predicted of them and what happened.

    `chance` is how likely a count of defaults this far from the predicted one was, 0 to 1.
    """

    name: str
    score_min: int
    decision: Decision
    loans: int
    defaults: int
    predicted: float
    observed: float
    interval: Interval
    chance: float
    light: Light


class LoanRate(msgspec.Struct, frozen=True):
    """Booked loans that the model never saw: what it said of them and what happened.

    `chance` is as in `TierRate`.
    """

    loans: int
    defaults: int
    predicted: float
    observed: float
    interval: Interval
    chance: float
    light: Light


def loan_rate(loans: int, defaults: int, predicted: float) -> LoanRate:
    """Hold a mean probability against what happened."""
    chance = chance_of(defaults, loans, predicted) if loans else 1.0
    return LoanRate(
        loans=loans,
        defaults=defaults,
        predicted=predicted,
        observed=defaults / max(loans, 1),
        interval=jeffreys(defaults, loans),
        chance=chance,
        light=light_of(chance, loans),
    )


def jeffreys(defaults: int, loans: int) -> Interval:
    """Give the 95 % interval of a rate by Jeffreys' prior; it reaches 0 or 1 where the rate does.

    Without any loan it says nothing: 0 to 1.
    """
    low, high = special.betaincinv(defaults + 0.5, loans - defaults + 0.5, [0.025, 0.975]).tolist()
    return Interval(0.0 if defaults == 0 else low, 1.0 if defaults == loans else high)


def chance_of(defaults: int, loans: int, predicted: float) -> float:
    """Give how likely a count at least this far off is: twice the smaller tail, at most 1."""
    at_least = special.betainc(defaults, loans - defaults + 1, predicted) if defaults else 1.0
    at_most = (
        special.betainc(loans - defaults, defaults + 1, 1.0 - predicted)
        if defaults < loans
        else 1.0
    )
    return min(1.0, 2.0 * float(min(at_least, at_most)))


def light_of(chance: float, loans: int) -> Light:
    """Give the light of an outcome that was as likely as that."""
    if not loans:
        return Light.DARK
    if chance < RED_BELOW:
        return Light.RED
    return Light.AMBER if chance < AMBER_BELOW else Light.GREEN


def tier_places(policy: ReadyPolicy, points: Floats) -> NDArray[np.intp]:
    """Give for each row the place of its tier among those of the policy, by the score as shown."""
    shown, inverse = np.unique(np.rint(points), return_inverse=True)
    place = {tier.name: number for number, tier in enumerate(policy.tiers)}
    places = np.array([place[policy.tier(Points(score)).name] for score in shown.tolist()])
    return places[inverse.ravel()].astype(np.intp)


def tier_rates(
    policy: ReadyPolicy, labels: Labels, points: Floats, probabilities: Floats
) -> tuple[TierRate, ...]:
    """Compare predicted and observed default rates by tier."""
    places, count = tier_places(policy, points), len(policy.tiers)
    loans = np.bincount(places, minlength=count).tolist()
    defaults = np.bincount(places, weights=labels, minlength=count).tolist()
    predicted = np.bincount(places, weights=probabilities, minlength=count).tolist()
    return tuple(
        _rate(policy, place, loans[place], int(defaults[place]), predicted[place])
        for place in range(count)
    )


def _rate(
    policy: ReadyPolicy, place: int, loans: int, defaults: int, predicted_sum: float
) -> TierRate:
    tier = policy.tiers[place]
    rate = loan_rate(loans, defaults, predicted_sum / max(loans, 1))
    return TierRate(
        name=tier.name,
        score_min=tier.score_min,
        decision=tier.decision,
        **msgspec.structs.asdict(rate),
    )


def lights(tiers: Sequence[TierRate]) -> dict[Light, int]:
    """Count the tiers under each light."""
    return {light: sum(tier.light is light for tier in tiers) for light in Light}


_LAST_DAYS: Final = (7, 14, 30, 60, 90, 180, 365)
"""The longest term of each band, in days; one more band is open."""

JUDGED_MIN: Final = 50
"""Loans that a band needs before the figures of the whole say anything about it."""


class TermBand(msgspec.Struct, frozen=True):
    """Loans whose term lies in a band, in days; without `last` it has no end."""

    first: int
    last: int | None
    learned: int
    judged: int

    @property
    def words(self) -> str:
        """Name the band."""
        if self.first == 1:
            return f"up to {self.last} days"
        if self.last is None:
            return f"more than {self.first - 1} days"
        return f"{self.first} to {self.last} days"

    @property
    def thin(self) -> bool:
        """Say whether the model learned from such loans, and too few of them judge it."""
        return self.learned > 0 and self.judged < JUDGED_MIN


def term_bands(learned: Days, judged: Days) -> tuple[TermBand, ...]:
    """Count the terms (days) of the loans on either side, leaving out bands without any loan."""
    counts = [
        np.bincount(np.searchsorted(_LAST_DAYS, terms), minlength=len(_LAST_DAYS) + 1).tolist()
        for terms in (learned, judged)
    ]
    firsts = (1, *(day + 1 for day in _LAST_DAYS))
    return tuple(
        TermBand(*band)
        for band in zip(firsts, (*_LAST_DAYS, None), *counts, strict=True)
        if any(band[2:])
    )


def seldom_judged(bands: Iterable[TermBand]) -> str | None:
    """Say which terms the figures of a pack hardly speak of, None where there is none."""
    thin = [
        f"{band.words} ({band.judged:,} of those that judge, {band.learned:,} learned from)"
        for band in bands
        if band.thin
    ]
    if not thin:
        return None
    return (
        f"Of these terms fewer than {JUDGED_MIN} loans judge the model, mostly because long loans "
        f"of late are not yet due: {'; '.join(thin)}. How well it does for them is not known."
    )
