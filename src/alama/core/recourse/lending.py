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
from alama.core.recourse.additive import Effects, Options, points_of
from alama.core.units import Points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.core.lending.pricing import Tariff
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.recourse.additive import Floats, Places
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
        """Lay out the terms and the bands of amounts as options of the card."""
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
