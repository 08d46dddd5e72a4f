"""The same people as a lender's books show them: who borrowed again, when, and how late they paid.

Everything is drawn from words of its own, so that fields, outcomes and true risk are the same with
and without it. What the books say agrees with `default`: a mature loan was 30 days past due, or
was restructured in distress, exactly where it defaulted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from alama.training.portable import uniform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from alama.training.population.applicants import Traits
    from alama.training.population.missing import Mask
    from alama.training.population.truth import Loans
    from alama.training.portable import Floats, Words

OBSERVED_ON: Final = date(2025, 8, 31)
"""The day on which the books are closed, unless another is named: two months after the last
application."""

DAYS_PAST_DUE: Final = 30
"""What `default` of the population means."""

COLUMNS: Final[tuple[tuple[str, pa.DataType], ...]] = (
    ("borrower_id", pa.string()),
    ("disbursed_on", pa.date32()),
    ("due_on", pa.date32()),
    ("amount", pa.float64()),
    ("term_days", pa.int32()),
    ("largest_days_past_due", pa.int32()),
    ("restructured", pa.string()),
    ("observed_on", pa.date32()),
)
"""What a history has beside the columns of every population."""

WORDS_PER_LOAN: Final = 6
"""Raw 64-bit words that one chunk takes for each of its rows."""

_EPOCH: Final = date(1970, 1, 1)
_INCOME_STEPS: Final = 2.0
_AGAIN_SHARE: Final = 0.35
_DISBURSAL_DAYS_MAX: Final = 4.0
_LATE_SHARE: Final = 0.28
_RESTRUCTURED_SHARE: Final = 0.04
_LONG_LATE_DAYS: Final = 25.0


@dataclass(frozen=True, slots=True)
class Repayment:
    """What becomes of each application if it is booked; `applied_on` in days since 1970."""

    loans: Loans
    traits: Traits
    applied_on: NDArray[np.int32]
    defaulted: Mask

    def columns(self, words: Words, booked: Mask) -> list[pa.Array[Any]]:
        """Give COLUMNS from words shaped (WORDS_PER_LOAN, applications); empty if not booked."""
        again, names, delay, lateness, length, restructuring = words
        disbursed = self.applied_on + _whole(_DISBURSAL_DAYS_MAX * np.square(uniform(delay)))
        due = disbursed + self.loans.requested_term_days
        observed = np.full(len(due), (OBSERVED_ON - _EPOCH).days, dtype=np.int32)
        restructured = (
            self.defaulted & (uniform(restructuring) < _RESTRUCTURED_SHARE) & (due <= observed)
        )
        late = self._days_late(uniform(lateness), uniform(length), restructured)
        # On the day of the books nobody is later than the days since the loan was due.
        late = np.clip(np.minimum(late, observed - due), 0, None).astype(np.int32)
        told = np.array(["no", "yes"])[restructured.astype(np.intp)]
        return [
            pa.array([f"b{number:012x}" for number in self._people(again, names).tolist()]),
            pa.array(disbursed, mask=~booked).cast(pa.date32()),
            pa.array(due, mask=~booked).cast(pa.date32()),
            pa.array(self.loans.requested_amount, mask=~booked),
            pa.array(self.loans.requested_term_days, mask=~booked),
            pa.array(late, mask=~booked),
            pa.array(told, mask=~booked),
            pa.array(observed, mask=~booked).cast(pa.date32()),
        ]

    def _days_late(self, lateness: Floats, length: Floats, restructured: Mask) -> NDArray[np.int32]:
        """Give days past due as they will be in the end, whatever the day of the books."""
        below = np.where(
            lateness < _LATE_SHARE, 1 + _whole((DAYS_PAST_DUE - 1) * np.square(length)), 0
        )
        above = DAYS_PAST_DUE + _whole(_LONG_LATE_DAYS * length / (1.02 - length))
        return np.where(self.defaulted & ~restructured, above, below).astype(np.int32)

    def _people(self, again: Words, names: Words) -> Words:
        """Number the borrowers: like applications at different times may be one person's.

        Like are those of one region and of one step of income whose wallet was opened in one
        month. One person applies once a day at most, so no two rows are the same loan.
        """
        month = self.applied_on.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        opened = month - self.loans.mm_months
        step = np.floor(_INCOME_STEPS * self.traits.income).astype(np.int64)
        order = np.lexsort((self.applied_on, step, opened, self.traits.region))
        linked = uniform(again[order]) < _AGAIN_SHARE
        linked[0] = False
        for key in (step, opened, self.traits.region):
            linked[1:] &= key[order[1:]] == key[order[:-1]]
        linked[1:] &= self.applied_on[order[1:]] > self.applied_on[order[:-1]]
        first = np.flatnonzero(~linked)
        person = np.empty(len(order), dtype=np.uint64)
        person[order] = (names >> np.uint64(16))[order[first]][np.cumsum(~linked) - 1]
        return person


def _whole(days: Floats) -> NDArray[np.int32]:
    return np.floor(days).astype(np.int32)
