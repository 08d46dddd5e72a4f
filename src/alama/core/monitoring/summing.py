"""Counts made into figures: a rate beside what was predicted, a share with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from alama.core.monitoring.figures import COUNT_MIN, Proportion, Rate, RateVerdict
from alama.core.monitoring.rates import LEVEL, wilson

if TYPE_CHECKING:
    from collections.abc import Iterable


class Loans(msgspec.Struct, frozen=True):
    """Mature loans: how many, how many defaulted, and the sum of the probabilities given."""

    count: int = 0
    defaults: int = 0
    predicted: float = 0.0


def together(parts: Iterable[Loans]) -> Loans:
    """Sum loans."""
    count = defaults = 0
    predicted = 0.0
    for part in parts:
        count += part.count
        defaults += part.defaults
        predicted += part.predicted
    return Loans(count, defaults, predicted)


def rate(loans: Loans) -> Rate:
    """Give the realised rate of loans with its interval, beside the predicted one."""
    count, defaults = loans.count, loans.defaults
    interval = wilson(defaults, count)
    return Rate(
        count=count,
        defaults=defaults,
        realised=defaults / count if count else None,
        low=interval.low,
        high=interval.high,
        predicted=loans.predicted / count if count else None,
        verdict=verdict(loans),
    )


def verdict(loans: Loans, level: float = LEVEL) -> RateVerdict:
    """Say whether the predicted rate lies in the interval that a level gives the realised one."""
    if loans.count < COUNT_MIN:
        return RateVerdict.TOO_FEW
    interval = wilson(loans.defaults, loans.count, level)
    mean = loans.predicted / loans.count
    if mean < interval.low:
        return RateVerdict.HIGHER
    return RateVerdict.LOWER if mean > interval.high else RateVerdict.AS_PREDICTED


def proportion(count: int, of: int) -> Proportion:
    """Give a share with its interval."""
    interval = wilson(count, of)
    return Proportion(
        count=count,
        of=of,
        share=count / of if of else None,
        low=interval.low,
        high=interval.high,
    )
