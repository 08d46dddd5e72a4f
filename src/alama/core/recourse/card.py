"""One card laid out for recourse, and what has to be so beside its points."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core import calibration
from alama.core.lending.loan import AMOUNT, TERM, LoanTables
from alama.core.lending.policy import Decision, Rule
from alama.core.lending.ready_policy import ReadyPolicy, booking_asked_for, known_ranges
from alama.core.model import money_factor
from alama.core.recourse.additive import (
    SIZE_MAX,
    Effects,
    Floats,
    Lever,
    Moves,
    Options,
    Places,
    booking_of,
    joined,
    points_of,
    strangeness_of,
)
from alama.core.recourse.values import Edge, Ladder, above, below
from alama.core.scorecard import Scorecard, cuts_in
from alama.core.units import Points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from alama.core.application import Value
    from alama.core.lending.pricing import Tariff


UNLIKE_SHARE: Final = 0.001
"""What is too strange where the policy does not say: stranger than all but one in a thousand."""

_ANYTHING: Final = (-math.inf, math.inf)


class ReadyCard:
    """One card: its tables as options, and where its features stand among the population.

    `sums` are its points; where it knows a likeness, also the surprise and its variance; where the
    policy looks at who was booked, the log-odds of that come last. `known` is for each place the
    range that the policy holds for known from training and from what was booked, `ranges` the
    conditions that values do not leave it.
    """

    __slots__ = (
        "_feature_of",
        "_first_bands",
        "_ladders",
        "booking",
        "known",
        "lending",
        "likeness",
        "options",
        "ranges",
        "scorecard",
        "strangeness_max",
        "sums",
    )

    def __init__(self, scorecard: Scorecard, policy: ReadyPolicy) -> None:
        model, asked = policy.model, policy.policy.sufficiency
        self.scorecard = scorecard
        self.options = Options(scorecard.card)
        self.sums = points_of(scorecard.card, self.options)
        self.lending = ReadyLending(scorecard, policy)
        self.likeness = model.likeness_of(scorecard)
        self.strangeness_max = math.inf
        if self.likeness is not None:
            share = UNLIKE_SHARE if asked.unlike_share is None else asked.unlike_share
            self.strangeness_max = self.likeness.limit(share)
            parts = strangeness_of(self.likeness.likeness, self.options)
            self.sums = joined(self.sums, *parts)
        self.booking = booking_asked_for(asked, scorecard, model)
        booked: Mapping[int, tuple[float, float]] = {}
        if self.booking is not None:
            booked = self.booking.ends
            self.sums = joined(self.sums, booking_of(self.booking.booking, self.options))
        self._feature_of = {place: n for n, place in enumerate(scorecard.places)}
        self._ladders: dict[int, Ladder] = {}
        # The slots of a feature are its missing value and then its bands.
        self._first_bands = {
            place: int(start) + 1
            for place, start in zip(scorecard.places, self.options.starts[:-1], strict=True)
        }
        trained = known_ranges(asked.outside_times, scorecard, model)
        self.known = {
            place: _both(ends, booked.get(place, _ANYTHING)) for place, ends in trained.items()
        }
        self.ranges = tuple(
            _within(rule, place, *ends)
            for rule, ranges in (
                (Rule.VALUE_OUTSIDE_TRAINING, trained),
                (Rule.SELDOM_BOOKED, booked),
            )
            for place, ends in ranges.items()
        )
        money = money_factor(model.model, model.currency)
        for place, feature in zip(scorecard.places, scorecard.card.features, strict=True):
            field = model.catalogue.fields[place]
            if field.numeric:
                factor = money if field.money else 1.0
                cuts = cuts_in(feature, model.catalogue, money)
                self._ladders[place] = Ladder(feature, cuts, factor)

    def standing(self, slots: Sequence[int]) -> Places:
        """Give the options of all features as they stand."""
        return self.options.starts[:-1] + np.array(slots, dtype=np.intp)

    def slots_after(self, slots: Sequence[int], moves: Moves, chosen: Sequence[int]) -> list[int]:
        """Give the slots of all features after some moves, from those as they stand."""
        after = list(slots)
        for move in chosen:
            feature = self._feature_of.get(moves.place_of(move))
            if feature is not None:
                after[feature] = int(moves.after[move] - self.options.starts[feature])
        return after

    def ladder(self, place: int) -> Ladder | None:
        return self._ladders.get(place)

    def option(self, place: int, value: float) -> int:
        """Give the option of a number; that of no feature where the card does not read it."""
        ladder = self._ladders.get(place)
        if ladder is None:
            return self.options.nothing
        return self._first_bands[place] + bisect_right(ladder.cuts, value)

    def kept_inside(self, place: int, value: float, low: Edge, high: Edge) -> tuple[Edge, Edge]:
        """Give the ends of a reach without what lies outside training where the value does not."""
        least, most = self.known.get(place, _ANYTHING)
        return (
            max(low, below(least)) if value >= least else low,
            min(high, above(most)) if value <= most else high,
        )

    def edges(self, place: int) -> Iterator[Edge]:
        """Yield where the card starts another band, and where training saw no more."""
        if place in self._ladders:
            yield from map(below, self._ladders[place].cuts)
            low, high = self.known[place]
            yield below(low)
            yield above(high)


def _both(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return max(one[0], other[0]), min(one[1], other[1])


def _within(rule: Rule, place: int, low: float, high: float) -> Condition:
    def need(values: Sequence[Value]) -> Need:
        value = values[place]
        return OPEN if value is None or low <= value <= high else SHUT  # type: ignore[operator]

    return Condition(rule.value, frozenset([place]), need)


# -------------------------------------------------------------------------------------------- gates
#
# A gate knows for each value of its fields the least score with which it lets somebody pass: no
# bound where a rule does not fire, an infinite one where it does. Gates are necessary for an
# approval, not enough: they spare the whole assessment of what cannot pass. A rule whose levers
# have too many values together has no gate, and is left to the assessment.


Need = float
"""The least score that is needed; infinite where none is enough."""

OPEN: Final = -math.inf
SHUT: Final = math.inf
_CELLS_MAX: Final = 50_000
"""The largest table that is made: larger ones take longer than they spare."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that an approval needs: its code, the places that it reads, and what it needs."""

    code: str
    places: frozenset[int]
    need: Callable[[Sequence[Value]], Need]


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition tabled over the moves of the levers that it reads.

    `ranks` number the moves along each axis from 1, 0 being a lever that stays, or another one.
    """

    condition: Condition
    ranks: tuple[Places, ...]
    table: Floats

    def needs(self, changes: Sequence[Places]) -> Floats:
        """Give the score that each set of changes needs."""
        where = tuple(sum(ranks[one] for one in changes) for ranks in self.ranks)
        return np.asarray(self.table[where])

    @property
    def is_shut(self) -> bool:
        """Say whether no change of its fields opens it."""
        return bool(self.table.min() == SHUT)


def gates(
    conditions: Sequence[Condition], moves: Moves, values: Sequence[Value], need: Need
) -> Iterator[Gate]:
    """Yield the gates of conditions that can ask for more than `need`, which the goal asks for."""
    for condition in conditions:
        axes = [
            number for number, lever in enumerate(moves.levers) if lever.place in condition.places
        ]
        if _cells([len(moves.levers[axis].values) for axis in axes]) > _CELLS_MAX:
            continue
        table = _table(condition, moves, values, axes)
        if table.max() > need:
            yield Gate(condition, tuple(_ranks(moves, axis) for axis in axes), table)


def _cells(sizes: Sequence[int]) -> int:
    """Give the number of ways to move some of the axes, no more of them than a set moves."""
    return sum(
        math.prod(moved) for count in range(SIZE_MAX + 1) for moved in combinations(sizes, count)
    )


def _table(
    condition: Condition, moves: Moves, values: Sequence[Value], axes: Sequence[int]
) -> Floats:
    """Table what is needed; more moves than a set has are not looked at, and left open."""
    levers = [moves.levers[axis] for axis in axes]
    choices = [(values[lever.place], *lever.values) for lever in levers]
    table = np.full([len(choice) for choice in choices], OPEN)
    for count in range(min(len(axes), SIZE_MAX) + 1):
        for moved in combinations(range(len(axes)), count):
            _fill(table, condition, list(values), [(n, levers[n]) for n in moved])
    return table


def _fill(
    table: Floats, condition: Condition, row: list[Value], moved: Sequence[tuple[int, Lever]]
) -> None:
    """Table the needs while some levers move and all others stay."""
    needs = []
    for chosen in product(*(lever.values for _, lever in moved)):
        for (_, lever), value in zip(moved, chosen, strict=True):
            row[lever.place] = value
        needs.append(condition.need(row))
    where: list[int | slice] = [0] * table.ndim
    for axis, _ in moved:
        where[axis] = slice(1, None)
    table[tuple(where)] = np.reshape(needs, [len(lever.values) for _, lever in moved])


def _ranks(moves: Moves, axis: int) -> Places:
    ranks = np.zeros(len(moves.values), dtype=np.intp)
    start, end = moves.starts[axis], moves.starts[axis + 1]
    ranks[start:end] = np.arange(1, end - start + 1)
    return ranks


# -------------------------------------------------------------------------------------------- loans
#
# Is there any loan to lend: one that is not declined itself and pays for itself? A policy judges
# every loan as if it were asked for, at its own points. So whatever is asked for, an approval needs
# some term and some amount with the points at which that loan is neither below the cut-off nor, at
# the cap of the price, below break-even. Those points add up as all others do: moves of the amount
# and the term asked for leave them alone, and all others move them.
#
# For each term the amounts are taken together, each at its best. That is a bound, so nothing is
# left out that an assessment would approve; and it leaves little to be assessed in vain.


_POINTS_MAX: Final = 2.0**13
_FINE: Final = 1e-6
_ROUNDING: Final = 0.5 + _FINE


@dataclass(frozen=True, slots=True)
class Lending:
    """The loans to one applicant: for each term how far moves bring it, and what is needed.

    `beside_term` has a line for each term, with what a move gives beside the term and, at best,
    beside an amount; `gains_min` is what the term needs beyond what it has.
    """

    effects: Effects
    beside_term: Floats
    gains_min: Floats

    def lets_pass(self, changes: Sequence[Places]) -> NDArray[np.bool_]:
        """Say which sets of changes may leave a loan to lend."""
        gains = self.effects.of(changes) + sum(
            self.beside_term.take(one, axis=1) for one in changes
        )
        return np.asarray((gains >= self.gains_min[:, None]).any(axis=0))


class ReadyLending:
    """The loans on offer to those who are scored by one card, and the points that each needs."""

    __slots__ = (
        "_asked",
        "_beside_amounts",
        "_beside_terms",
        "_loan",
        "_needs",
        "_needs_nothing",
        "_others",
        "_points",
        "_points_alone",
        "_together",
    )

    def __init__(self, scorecard: Scorecard, policy: ReadyPolicy) -> None:
        card = scorecard.card
        steps = range(policy.limit_step, policy.tiers[0].limit_max + 1, policy.limit_step)
        tables = LoanTables(scorecard, policy.model, steps, policy.terms_days)
        options = Options(card)
        self._points = points_of(card, options)
        (alone,), (self._together,) = self._points.alone, self._points.together
        amounts = _options(options, scorecard, AMOUNT, tables.amount_slots)
        terms = _options(options, scorecard, TERM, tables.term_slots)
        self._beside_amounts = self._together[:, amounts]
        self._beside_terms = self._together[:, terms]
        self._points_alone = card.base + alone[terms][:, None] + alone[amounts]
        self._points_alone += self._together[np.ix_(terms, amounts)]
        self._asked = frozenset({policy.amount_place, policy.term_place})
        is_of_loan = np.array([name in {AMOUNT, TERM} for name in scorecard.fields])
        self._loan, self._others = np.flatnonzero(is_of_loan), np.flatnonzero(~is_of_loan)
        foot = _foot_of_lending(policy) - _ROUNDING
        self._needs = np.array(
            [
                [max(foot, _points_to_break_even(tariff, amount)) for amount in tables.lasts]
                for tariff in policy.tariffs
            ]
        )
        self._needs_nothing = bool(self._needs.min() == -math.inf)

    def to(self, standing: Places, moves: Moves, points: Effects) -> Lending | None:
        """Give the loans to an applicant; None where there is one to lend whatever is changed.

        `standing` are the options of all features as they stand, `points` what moves do to those of
        the loan that is asked for.
        """
        if self._needs_nothing:
            return None
        others, asked = standing[self._others], standing[self._loan]
        together, after = self._together, moves.after
        stood = moves.stood.take(moves.lever_of)
        # To ask for another loan changes nothing for the loans on offer, and what is gained beside
        # the loan that is asked for is not gained beside others.
        counts = np.array([lever.place not in self._asked for lever in moves.levers])
        counts = counts.astype(np.float64).take(moves.lever_of)
        beside_asked = together[after[:, None], asked] - together[stood[:, None], asked]
        gains = (points.gains - beside_asked.sum(axis=1)) * counts
        extras = points.extras * counts * counts[:, None]
        terms = self._beside_terms[after] - self._beside_terms[stood]
        best = (self._beside_amounts[after] - self._beside_amounts[stood]).max(axis=1)
        lacking = self._needs - self._points_of_loans(others) - _FINE
        beside_term = (terms.T + best) * counts
        return Lending(Effects(gains, extras), beside_term, lacking.min(axis=1))

    def _points_of_loans(self, others: Places) -> Floats:
        """Give the points of loans as things stand: a line a term, a cell a band of amounts."""
        (rest,) = self._points.totals(others)
        terms = self._beside_terms[others].sum(axis=0)
        amounts = self._beside_amounts[others].sum(axis=0)
        return np.asarray(self._points_alone + rest + terms[:, None] + amounts)


def _options(options: Options, scorecard: Scorecard, name: str, slots: Sequence[int]) -> Places:
    """Give the options of a field's slots; that of no feature where the card does not read it."""
    if name not in scorecard.fields:
        return np.full(len(slots), options.nothing, dtype=np.intp)
    block = options.block(scorecard.fields.index(name))
    return np.array([block.start + slot for slot in slots], dtype=np.intp)


def _foot_of_lending(policy: ReadyPolicy) -> float:
    """Give where the worst tier begins that is not declined; infinite where all of them are."""
    lending = [tier for tier in policy.tiers if tier.decision is not Decision.DECLINED]
    if len(lending) == len(policy.tiers):
        return -math.inf
    return lending[-1].score_min if lending else math.inf


def _points_to_break_even(tariff: Tariff, amount: float) -> float:
    """Give the least points, to within a hair below, with which a loan pays for itself."""

    def pays(points: float) -> bool:
        return amount >= tariff.amount_min(calibration.shown_probability(Points(points)))

    low, high = -_POINTS_MAX, _POINTS_MAX
    if pays(low):
        return -math.inf
    if not pays(high):
        return math.inf
    while high - low > _FINE:
        middle = (low + high) / 2.0
        low, high = (low, middle) if pays(middle) else (middle, high)
    return low
