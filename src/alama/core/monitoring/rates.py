"""Rates, ranking and losses that were seen, each with the interval that chance allows."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.calibration import PROBABILITY_STEPS
from alama.core.monitoring.figures import COUNT_MIN, Loss, Proportion, Rate, RateVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


LEVEL: Final = 0.95
PROBABILITY_MIN: Final = 0.5 / PROBABILITY_STEPS
"""What is shown as no chance at all may be up to this."""

_FAR: Final = -700.0
"""Below this a double has no exponential to speak of."""


class Interval(NamedTuple):
    """Both ends belong to it."""

    low: float
    high: float


def wilson(defaults: int, count: int, level: float = LEVEL) -> Interval:
    """Give Wilson's interval of a default rate.

    A tier may have a hundred loans and two defaults, and the best tier none. The interval that
    most spreadsheets have (the rate plus and minus 1.96 standard errors) is then far too narrow,
    goes below nought, and says of no defaults that there never are any. The exact one covers more
    than it says. Wilson's stays between 0 and 1, and covers on average what it says from a handful
    of loans on. Of no loans nothing is known: 0 to 1.
    """
    assert 0 <= defaults <= count
    if count == 0:
        return Interval(0.0, 1.0)
    return wilson_of(defaults / count, count, level)


def wilson_of(rate: float, count: float, level: float) -> Interval:
    """Give the same where loans are weighed: `count` is how many they are worth."""
    z = deviations(level)
    shrink = 1.0 + z * z / count
    centre = (rate + z * z / (2.0 * count)) / shrink
    reach = z / shrink * math.sqrt(rate * (1.0 - rate) / count + z * z / (4.0 * count * count))
    # The bounds with the rate itself: at 0 and at 1 it is one of them but for the last bit.
    return Interval(max(0.0, min(rate, centre - reach)), min(1.0, max(rate, centre + reach)))


class Weighed(NamedTuple):
    """Sums over loans of which each stands for others: of weights, and of their squares.

    `defaults` and `defaults_squared` are those of the loans that defaulted.
    """

    weight: float
    squared: float
    defaults: float
    defaults_squared: float

    @property
    def rate(self) -> float:
        """Give the share of the weight that defaulted."""
        return self.defaults / self.weight

    @property
    def interval(self) -> Interval:
        """Give Wilson's interval, of as many loans as the weighed ones are worth."""
        rate = self.rate
        # Of the ratio of two sums, by how far each loan is from it.
        spread = self.defaults_squared * (1.0 - 2.0 * rate) + rate * rate * self.squared
        if spread > 0.0 and 0.0 < rate < 1.0:
            worth = rate * (1.0 - rate) * self.weight * self.weight / spread
        else:
            worth = self.weight * self.weight / self.squared
        return wilson_of(min(rate, 1.0), worth, LEVEL)


def deviations(level: float) -> float:
    """Give how many standard deviations on either side hold this share of a normal variable."""
    assert 0.0 < level < 1.0
    return NormalDist().inv_cdf((1.0 + level) / 2.0)


def log_odds(probability: float) -> float:
    """Give the log-odds of a probability as it is shown: 0 may be half of the last decimal."""
    inside = min(max(probability, PROBABILITY_MIN), 1.0 - PROBABILITY_MIN)
    return math.log(inside / (1.0 - inside))


def probability(log_odds: float) -> float:
    """Give the probability of log-odds, however far from nought; it is never nought itself."""
    if log_odds < 0.0:
        odds = math.exp(max(log_odds, _FAR))
        return odds / (1.0 + odds)
    return 1.0 / (1.0 + math.exp(-log_odds))


# ------------------------------------------------------------------------------------------ ranking


class Ranked(NamedTuple):
    """The chance that of two loans, one repaid and one not, the one that was had the higher score.

    A tie counts half. `low` and `high` are its 95 % interval; `goods` and `bads` are how many loans
    of either kind it was worked out from.
    """

    auc: float
    low: float
    high: float
    goods: int
    bads: int


def ranked(by_score: Mapping[int, tuple[int, int]]) -> Ranked | None:
    """Rank loans by score, given how many of each were repaid and how many were not.

    A higher score is safer. The variance is DeLong's, summed by score instead of by loan, so that a
    million loans take as long as a thousand. The interval is made on the log-odds of the area and
    hence within 0 and 1. None where there are no loans of either kind: there is nothing to rank.
    """
    goods = sum(good for good, _ in by_score.values())
    bads = sum(bad for _, bad in by_score.values())
    if not (goods and bads):
        return None
    places = _places(by_score)
    beaten = above = 0.0
    for score, place in places.items():
        good, bad = by_score[score]
        beaten += good * place.beats
        above += bad * place.loses
    auc = beaten / goods
    assert math.isclose(auc, above / bads, abs_tol=1e-9)
    error = None
    if min(goods, bads) > 1:  # a single loan of its kind tells nothing of how they spread
        of_goods = [(by_score[score][0], place.beats) for score, place in places.items()]
        of_bads = [(by_score[score][1], place.loses) for score, place in places.items()]
        error = math.sqrt(_spread(of_goods, auc, goods) + _spread(of_bads, auc, bads))
    low, high = _interval(auc, error, min(goods, bads))
    return Ranked(auc, low, high, goods, bads)


def _interval(auc: float, error: float | None, fewer: int) -> tuple[float, float]:
    if error is None:
        return 0.0, 1.0
    if not 0.0 < auc < 1.0:
        # All in order, or none: the variance is nought, though few may have been seen. What is
        # known is a share that was seen in as many as there are on the smaller side.
        return wilson(round(auc) * fewer, fewer)
    centre = math.log(auc / (1.0 - auc))
    reach = deviations(LEVEL) * error / (auc * (1.0 - auc))
    return probability(centre - reach), probability(centre + reach)


class Difference(NamedTuple):
    """By how much the second area is larger, and the 95 % interval of that.

    Both ends are the value itself where the two put every one of the loans into the same order.
    """

    value: float
    low: float
    high: float


def difference(cells: Mapping[tuple[int, int], tuple[int, int]]) -> Difference | None:
    """Give how much better the second of two models ranks the same loans than the first.

    Two areas whose intervals overlap may still differ beyond doubt: both models were asked about
    the same loans, and what is odd about these is odd for both. DeLong's test for paired scores
    takes that out.

    `cells` has the count of loans that were repaid, and of those that were not, by the score of the
    first and the score of the second; a higher score is safer. It is exactly what a sum over single
    loans gives. None where there are no loans of either kind.
    """
    goods = sum(good for good, _ in cells.values())
    bads = sum(bad for _, bad in cells.values())
    if not (goods and bads):
        return None
    first, second = _places(_by_score(cells, 0)), _places(_by_score(cells, 1))
    # Of each cell: how many there are, and by how much the second model is better for one of them.
    of_goods = [
        (good, second[b].beats - first[a].beats) for (a, b), (good, _) in cells.items() if good
    ]
    of_bads = [(bad, second[b].loses - first[a].loses) for (a, b), (_, bad) in cells.items() if bad]
    value = math.fsum(count * better for count, better in of_goods) / goods
    if min(goods, bads) == 1:
        return Difference(value, -1.0, 1.0)  # one loan tells nothing of how they spread
    variance = _spread(of_goods, value, goods) + _spread(of_bads, value, bads)
    reach = deviations(LEVEL) * math.sqrt(variance)
    return Difference(value, max(-1.0, value - reach), min(1.0, value + reach))


class _Place(NamedTuple):
    """Of a score: the share of bads whom it beats, and the share of goods who beat it."""

    beats: float
    loses: float


def _by_score(
    cells: Mapping[tuple[int, int], tuple[int, int]], which: int
) -> dict[int, tuple[int, int]]:
    """Count loans by the score of one of the two models."""
    by_score: dict[int, tuple[int, int]] = {}
    for scores, (good, bad) in cells.items():
        goods, bads = by_score.get(scores[which], (0, 0))
        by_score[scores[which]] = (goods + good, bads + bad)
    return by_score


def _places(by_score: Mapping[int, tuple[int, int]]) -> dict[int, _Place]:
    """Give the place of each score, in rising order."""
    goods = sum(good for good, _ in by_score.values())
    bads = sum(bad for _, bad in by_score.values())
    places = {}
    bads_below, goods_above = 0, goods
    for score in sorted(by_score):
        good, bad = by_score[score]
        goods_above -= good
        places[score] = _Place(
            beats=(bads_below + bad / 2.0) / bads, loses=(goods_above + good / 2.0) / goods
        )
        bads_below += bad
    return places


def _spread(parts: list[tuple[int, float]], mean: float, count: int) -> float:
    """Give the variance of a mean over loans."""
    squares = math.fsum(times * (better - mean) ** 2 for times, better in parts)
    return squares / (count - 1) / count


# ------------------------------------------------------------------------------------------- losses


class Amounts(NamedTuple):
    """Sums over defaults of which both amounts are known; `crossed` is of their products."""

    defaults: int = 0
    disbursed: float = 0.0
    repaid: float = 0.0
    disbursed_squared: float = 0.0
    repaid_squared: float = 0.0
    crossed: float = 0.0


def lost(amounts: Amounts) -> Loss:
    """Give the share that was lost, and between which bounds that of all such loans may lie.

    A large loan weighs more, and its loss is no coin: the interval is that of a ratio of two means,
    by how far each loan is from the common ratio. Of fewer than `COUNT_MIN` defaults none is given.
    """
    share = 1.0 - amounts.repaid / amounts.disbursed if amounts.disbursed else None
    interval = None
    if share is not None and amounts.defaults >= COUNT_MIN:
        interval = _loss_interval(amounts, share)
    return Loss(
        defaults=amounts.defaults,
        disbursed=amounts.disbursed,
        repaid=amounts.repaid,
        share=share,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        assumed=None,
    )


def _loss_interval(amounts: Amounts, share: float) -> Interval:
    back = 1.0 - share
    apart = (
        amounts.repaid_squared
        - 2.0 * back * amounts.crossed
        + back * back * amounts.disbursed_squared
    )
    # Nought where all lost alike, but for the last bits.
    of_one = max(apart, 0.0) / (amounts.defaults - 1)
    reach = deviations(LEVEL) * math.sqrt(of_one * amounts.defaults) / amounts.disbursed
    # No share is below nought or above one, but that of loans that paid more than they were.
    return Interval(min(max(share - reach, 0.0), share), min(share + reach, 1.0))


# ------------------------------------------------------------------------------------------ figures


class Loans(msgspec.Struct, frozen=True):
    """Mature loans: how many, how many defaulted, and the sum of the probabilities given."""

    count: int = 0
    defaults: int = 0
    predicted: float = 0.0


def together(parts: Iterable[Loans]) -> Loans:
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
