"""Whether there is any loan to lend: one that is not declined itself and pays for itself.

A policy judges every loan as if it were asked for, at its own points. So whatever is asked for, an
approval needs some term and some amount with the points at which that loan is neither below the
cut-off nor, at the cap of the price, below break-even. Those points add up as all others do:
moves of the amount and the term asked for leave them alone, and all others move them.

For each term the amounts are taken together, each at its best. That is a bound, so nothing is left
out that an assessment would approve; and it leaves little to be assessed in vain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core import calibration
from alama.core.lending.loan import AMOUNT, TERM, LoanTables
from alama.core.lending.policy import Decision
from alama.core.recourse.additive import Options, points_of
from alama.core.units import Points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.core.lending.pricing import Tariff
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.recourse.additive import Effects, Floats, Places
    from alama.core.recourse.moves import Moves
    from alama.core.scorecard import Scorecard

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
    gains_min: tuple[float, ...]

    def lets_pass(self, changes: Sequence[Places]) -> NDArray[np.bool_]:
        """Say which sets of changes may leave a loan to lend."""
        core = self.effects.of(changes)
        passes = np.zeros(len(core), dtype=np.bool_)
        for beside, gain_min in zip(self.beside_term, self.gains_min, strict=True):
            passes |= core + sum(beside[one] for one in changes) >= gain_min
        return passes


class ReadyLending:
    """The loans on offer to those who are scored by one card, and the points that each needs."""

    __slots__ = (
        "_amounts",
        "_asked",
        "_base",
        "_needs",
        "_nothing",
        "_others",
        "_points",
        "_terms",
    )

    def __init__(self, scorecard: Scorecard, policy: ReadyPolicy) -> None:
        """Lay out the terms and the bands of amounts as options of the card."""
        card = scorecard.card
        steps = range(policy.limit_step, policy.tiers[0].limit_max + 1, policy.limit_step)
        tables = LoanTables(scorecard, policy.model, steps, policy.terms_days)
        options = Options(card)
        self._base = card.base
        self._points = points_of(card, options)
        self._nothing = options.nothing
        self._amounts = _options(options, scorecard, AMOUNT, tables.amount_slots)
        self._terms = _options(options, scorecard, TERM, tables.term_slots)
        self._asked = frozenset({policy.amount_place, policy.term_place})
        self._others = np.flatnonzero([name not in {AMOUNT, TERM} for name in scorecard.fields])
        foot = _foot_of_lending(policy) - _ROUNDING
        self._needs = np.array(
            [
                [max(foot, _points_to_break_even(tariff, amount)) for amount in tables.lasts]
                for tariff in policy.tariffs
            ]
        )

    def to(self, standing: Places, moves: Moves) -> Lending | None:
        """Give the loans to an applicant; None where there is one to lend whatever is changed.

        `standing` are the options of all features as they stand.
        """
        if self._needs.min() == -math.inf:
            return None
        others = standing[self._others]
        # To ask for another loan changes nothing for the loans on offer.
        asks = np.array([lever.place in self._asked for lever in moves.levers], dtype=np.bool_)
        idle = asks[moves.lever_of]
        before = np.where(idle, self._nothing, moves.before)
        after = np.where(idle, self._nothing, moves.after)
        (effects,) = self._points.effects(others, before, after)
        (together,) = self._points.together
        terms, amounts = (
            together[np.ix_(after, loans)] - together[np.ix_(before, loans)]
            for loans in (self._terms, self._amounts)
        )
        lacking = self._needs - self._points_of_loans(others) - _FINE
        best = amounts.max(axis=1)
        return Lending(effects, terms.T + best, tuple(lacking.min(axis=1).tolist()))

    def _points_of_loans(self, others: Places) -> Floats:
        """Give the points of loans as things stand: a line a term, a cell a band of amounts."""
        (alone,), (together,) = self._points.alone, self._points.together
        (rest,) = self._points.totals(others)
        terms, amounts = (
            alone[loans] + together[np.ix_(loans, others)].sum(axis=1)
            for loans in (self._terms, self._amounts)
        )
        both = together[np.ix_(self._terms, self._amounts)]
        return np.asarray(self._base + rest + terms[:, None] + amounts + both)


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
