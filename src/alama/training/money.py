"""The money of loans, as a history tells it beside their outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.intp]


TIMES_MAX: Final = 20
"""How often one loan may teach: a few that stand for hundreds would decide alone."""


@dataclass(frozen=True, slots=True)
class LoanMoney:
    """What a history says of the money of some loans; NaN where it says nothing.

    `repaid` is all that came back. `propensity` is the chance with which a loan was given where it
    was given by chance, `present_score` what the lender's own score said.
    """

    amount: Floats
    repaid: Floats
    propensity: Floats
    present_score: Floats

    def take(self, places: Places) -> LoanMoney:
        return LoanMoney(
            self.amount[places],
            self.repaid[places],
            self.propensity[places],
            self.present_score[places],
        )

    def times(self, seed: int) -> NDArray[np.intp]:
        """Give how often each loan is to teach: one over its chance, whole on average.

        A part of one is drawn by the seed.
        """
        chance = np.where(np.isnan(self.propensity), 1.0, self.propensity)
        weight = np.minimum(1.0 / chance, TIMES_MAX)
        whole = np.floor(weight)
        more = np.random.default_rng((seed, 17)).random(len(weight)) < weight - whole
        found: NDArray[np.intp] = (whole + more).astype(np.intp)
        return found
