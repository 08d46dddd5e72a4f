"""What loans earn: the money of each, summed by tier, product and month, and how sure a sum is.

A loan that is repaid earns its charges less funding, running cost and tax; a default loses a part
of what was due. Where it is known what became of a loan, the same is summed as it came.

An interval is that of drawing so many applicants again, and with them their luck: the sums hold the
squares that this takes, so that a million loans need no more memory than ten. Where a loan was
given by chance, it stands for as many as had that chance and were not drawn (one over it).
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.monitoring.rates import LEVEL, Interval, Weighed, deviations

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


BAND_POINTS: Final = 10
KNOWN_MIN: Final = 30
"""Loans, or defaults, below which an interval is left out: chance has not levelled out yet."""

_Z: Final = deviations(LEVEL)


class Worth(NamedTuple):
    """One loan in money, as its policy prices it.

    `total` is due in all, `income` what of it was not received. `at_stake` is what a default is
    taken to lose.
    """

    probability: float
    amount: float
    total: float
    income: float
    funding: float
    cost: float
    tax: float
    at_stake: float

    @property
    def sure(self) -> float:
        """What the loan earns if it is repaid."""
        return self.income - self.funding - self.cost - self.tax


class Known(NamedTuple):
    """What became of a loan: whether it was ever a default, and which share of it came back.

    `returned` is all that came back over what was paid out; None where that is not known.
    `propensity` is the chance with which the loan was given; 1 where it was sure.
    """

    is_default: bool
    returned: float | None = None
    propensity: float = 1.0


class Sum:
    """A sum over applications that were drawn by chance, and its interval."""

    __slots__ = ("count", "squares", "value")

    def __init__(self, value: float = 0.0, squares: float = 0.0, count: int = 0) -> None:
        self.value = value
        self.squares = squares
        self.count = count

    @property
    def variance(self) -> float:
        """How much it would vary if as many applications were drawn again."""
        if self.count < 2:  # noqa: PLR2004  one tells nothing of how they spread
            return 0.0
        spread = self.squares - self.value * self.value / self.count
        return max(spread, 0.0) * self.count / (self.count - 1)

    @property
    def interval(self) -> Interval:
        reach = _Z * math.sqrt(self.variance)
        return Interval(self.value - reach, self.value + reach)


class Earned:
    """What some applications earn under one policy: expected of all loans, and as it came of some.

    `loss` is expected. Of the loans `known` the outcome is known; `weight` is how many they stand
    for, and all that begins with `real` is weighed so. `seen_profit` is what was expected of the
    same loans. `valued` are defaults of which it is known what came back: they lost `real_lost` of
    `real_due`, where the policy takes them to lose `assumed_lost`.
    """

    __slots__ = (
        "_default_squares",
        "_real_squares",
        "_squares",
        "_weight_squares",
        "amount",
        "assumed_lost",
        "cost",
        "count",
        "defaults",
        "funding",
        "income",
        "known",
        "loans",
        "loss",
        "predicted",
        "profit",
        "real_defaults",
        "real_due",
        "real_loss",
        "real_lost",
        "real_predicted",
        "real_profit",
        "seen_profit",
        "tax",
        "valued",
        "weight",
    )

    def __init__(self) -> None:
        for name in self.__slots__:
            setattr(self, name, 0)

    count: int
    loans: int
    amount: float
    income: float
    funding: float
    cost: float
    tax: float
    loss: float
    profit: float
    predicted: float
    known: int
    defaults: int
    weight: float
    real_defaults: float
    real_predicted: float
    real_profit: float
    real_loss: float
    seen_profit: float
    valued: int
    real_due: float
    real_lost: float
    assumed_lost: float
    _squares: float
    _real_squares: float
    _weight_squares: float
    _default_squares: float

    def add(self, worth: Worth | None, known: Known | None) -> None:
        """Count one application; `worth` is None where nothing is lent."""
        self.count += 1
        if worth is None:
            return
        probability, amount, _, income, funding, cost, tax, at_stake = worth
        sure = income - funding - cost - tax
        loss = probability * at_stake
        profit = sure - loss
        self.loans += 1
        self.amount += amount
        self.income += income
        self.funding += funding
        self.cost += cost
        self.tax += tax
        self.loss += loss
        self.profit += profit
        self.predicted += probability
        # Mean of the square: of what it earns repaid and of what it earns in default.
        self._squares += profit * profit + loss * (at_stake - loss)
        if known is not None:
            self._add_known(worth, known)

    def _add_known(self, worth: Worth, known: Known) -> None:
        weight = 1.0 / known.propensity
        lost = lost_of(worth, known)
        profit = worth.sure - lost
        self.known += 1
        self.weight += weight
        self.real_predicted += weight * worth.probability
        self.real_profit += weight * profit
        self.real_loss += weight * lost
        self.seen_profit += weight * (worth.sure - worth.probability * worth.at_stake)
        self._real_squares += (weight * profit) ** 2
        self._weight_squares += weight * weight
        if known.is_default:
            self.defaults += 1
            self.real_defaults += weight
            self._default_squares += weight * weight
            if known.returned is not None:
                self.valued += 1
                self.real_due += weight * worth.total
                self.real_lost += weight * lost
                self.assumed_lost += weight * worth.at_stake

    def merge(self, other: Earned) -> None:
        """Count everything that another has counted."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def expected(self, of: int | None = None) -> Sum:
        """Give the expected profit, of `of` applications where those of others count as nothing."""
        return Sum(self.profit, self._squares, self.count if of is None else of)

    def realised(self, of: int | None = None) -> Sum:
        """Give the profit of the loans whose outcome is known, weighed, as it came."""
        return Sum(self.real_profit, self._real_squares, self.count if of is None else of)

    @property
    def probability(self) -> float | None:
        """Give the mean default probability of the loans."""
        return self.predicted / self.loans if self.loans else None

    @property
    def expected_rate(self) -> float | None:
        """Give the part of the amount lent that is expected to be lost."""
        return self.loss / self.amount if self.amount else None

    @property
    def predicted_rate(self) -> float | None:
        """Give the default rate that was predicted of the loans that are known."""
        return self.real_predicted / self.weight if self.weight else None

    @property
    def bad_rate(self) -> float | None:
        """Give the default rate of the loans that are known, weighed."""
        return self.real_defaults / self.weight if self.weight else None

    @property
    def bad_rate_interval(self) -> Interval | None:
        """Give Wilson's interval, of as many loans as the weighed ones are worth."""
        if not self.weight:
            return None
        weighed = Weighed(
            self.weight, self._weight_squares, self.real_defaults, self._default_squares
        )
        return weighed.interval

    @property
    def loss_given_default(self) -> float | None:
        """Give the part of what was due that the defaults of known amounts lost."""
        return self.real_lost / self.real_due if self.real_due else None

    @property
    def loss_assumed(self) -> float | None:
        """Give the part that the policy takes the same defaults to lose."""
        return self.assumed_lost / self.real_due if self.real_due else None


def lost_of(worth: Worth, known: Known) -> float:
    """Give what a loan lost of what was due: all that did not come back.

    Where that is not known, a default loses what its policy assumes. Who never was a default has
    paid what was due.
    """
    if not known.is_default:
        return 0.0
    if known.returned is None:
        return worth.at_stake
    return max(worth.total - known.returned * worth.amount, 0.0)


# -------------------------------------------------------------------------------------- comparing


class Verdict(StrEnum):
    """What a difference in profit says."""

    MORE = "more"
    LESS = "less"
    SAME = "same"
    """No application earns another amount."""
    UNCLEAR = "unclear"
    """No difference can be told: nought is within the interval."""
    UNKNOWN = "unknown"
    """There is too little to say anything."""


class Paired:
    """By how much one policy earns more than another on the same applications.

    Each application is its own control: what both earn alike of it cancels out. `known` are those
    of which the outcome is known and one of the two lends to; the two `real` ones are of these.
    """

    __slots__ = ("_real", "_real_squares", "_squares", "_value", "count", "differing", "known")

    def __init__(self) -> None:
        self.count = self.known = self.differing = 0
        self._value = self._squares = self._real = self._real_squares = 0.0

    def add(self, old: Worth | None, new: Worth | None, known: Known | None) -> None:
        self.count += 1
        if old is not new and old != new:
            self.differing += 1
            value, square = _difference(old, new)
            self._value += value
            self._squares += square
        if known is not None and not (old is None and new is None):
            self.known += 1
            apart = _came(new, known) - _came(old, known)
            self._real += apart
            self._real_squares += apart * apart

    @property
    def expected(self) -> Sum:
        return Sum(self._value, self._squares, self.count)

    @property
    def realised(self) -> Sum:
        return Sum(self._real, self._real_squares, self.count)

    @property
    def verdict(self) -> Verdict:
        """What the model expects."""
        return SAME if not self.differing else verdict(self.expected)

    @property
    def real_verdict(self) -> Verdict:
        """What came of those that are known."""
        if self.known < KNOWN_MIN:
            return Verdict.UNKNOWN
        return SAME if not self.differing else verdict(self.realised)


SAME: Final = Verdict.SAME


def verdict(difference: Sum) -> Verdict:
    """Say which way a difference goes, if it can be told."""
    low, high = difference.interval
    if low > 0.0:
        return Verdict.MORE
    return Verdict.LESS if high < 0.0 else Verdict.UNCLEAR


def _came(worth: Worth | None, known: Known) -> float:
    return 0.0 if worth is None else (worth.sure - lost_of(worth, known)) / known.propensity


_NOTHING: Final = Worth(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def _difference(old: Worth | None, new: Worth | None) -> tuple[float, float]:
    """Give the mean of new less old, and of its square.

    Who defaults on the safer of two loans defaults on both.
    """
    old, new = old or _NOTHING, new or _NOTHING
    sure = new.sure - old.sure
    both = min(old.probability, new.probability)
    cases = (
        (both, sure - new.at_stake + old.at_stake),
        (new.probability - both, sure - new.at_stake),
        (old.probability - both, sure + old.at_stake),
        (1.0 - max(old.probability, new.probability), sure),
    )
    return sum(p * x for p, x in cases), sum(p * x * x for p, x in cases)


# --------------------------------------------------------------------------------------- cut-offs


class CutOff(NamedTuple):
    """A band of scores, and what lending down to its lower end would earn.

    `lendable` are those of the band whom nothing but their score may keep from a loan, `band` what
    they earn and `above` what they earn with all of the bands above. `told` says whether the best
    cut-off earns more than this one, beyond what chance explains.
    """

    low: int
    high: int
    applications: int
    approved: int
    band: Earned
    above: Earned
    is_best: bool
    told: Verdict

    @property
    def lendable(self) -> int:
        return self.band.loans


class Band:
    """The applications of one band of scores."""

    __slots__ = ("approved", "count", "earned")

    def __init__(self) -> None:
        self.count = self.approved = 0
        self.earned = Earned()


def cut_offs(bands: Mapping[int, Band], *, by_outcome: bool = False) -> Sequence[CutOff]:
    """Give the table of cut-offs, from the best score down; `bands` are by their lower end.

    The best is where the profit of all above is the largest: as it is expected, or as it came.
    """
    lows = sorted(bands, reverse=True)
    everyone = sum(band.count for band in bands.values())
    value = Earned.realised if by_outcome else Earned.expected
    above = Earned()
    table: list[tuple[int, Band, Earned]] = []
    for low in lows:
        whole = Earned()
        whole.merge(above)
        whole.merge(bands[low].earned)
        above = whole
        table.append((low, bands[low], whole))
    best = max(range(len(table)), key=lambda at: (value(table[at][2]).value, -at), default=0)
    return [
        CutOff(
            low,
            low + BAND_POINTS - 1,
            band.count,
            band.approved,
            band.earned,
            whole,
            at == best,
            _told(at, best, [value(one.earned) for _, one, _ in table], everyone),
        )
        for at, (low, band, whole) in enumerate(table)
    ]


def _told(at: int, best: int, sums: Sequence[Sum], everyone: int) -> Verdict:
    """Compare the best cut-off with another: what they differ by are the bands between them."""
    if at == best:
        return SAME
    between: Iterable[Sum] = sums[at + 1 : best + 1] if at < best else sums[best + 1 : at + 1]
    some = list(between)
    sign = 1.0 if at < best else -1.0
    apart = Sum(sign * sum(s.value for s in some), sum(s.squares for s in some), everyone)
    return verdict(apart)
