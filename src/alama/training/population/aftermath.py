"""What becomes of synthetic loans: who repays and when, drawn from the true risk of each.

A scored application of the population has a true chance of default that its score knows nothing
of. What is drawn here from that chance is what a lender would say of the loan, day by day, and no
more of it than is known on the day of the drawing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from alama.core.monitoring.news import News, State
from alama.training.population.people import PopulationOptions, batches

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from alama.training.portable import Floats


KNOWN: Final = ("applied_on", "default", "true_default_probability")
"""Columns of the population that no applicant would send."""

DRIFTING_SHARE: Final = 2.0 / 3.0
DRIFTING_FIELD: Final = "avg_inflow"
"""What drifts: two thirds of those who apply say that half of what it was comes in."""

_LATE_SHARE: Final = 0.25
_EARLY_SHARE: Final = 0.15
_EARLY_DAYS_MAX: Final = 7
_RESTRUCTURED_SHARE: Final = 0.05
_CURED_SHARE: Final = 0.25
_CURED_AFTER_DAYS: Final = 45
_WRITTEN_OFF_AFTER_DAYS: Final = 90


@dataclass(frozen=True, slots=True)
class Applicants:
    """Applications as they would be sent, and the true risk of each."""

    bodies: Sequence[bytes]
    risk: Floats


@dataclass(frozen=True, slots=True)
class Lent:
    """Loans that were made: their ids, true risk and days, what is lent and what is due in all."""

    request_ids: Sequence[str]
    risk: Floats
    scored_day: NDArray[np.int64]
    due_day: NDArray[np.int64]
    amount: Floats
    total: Floats


def applicants(
    options: PopulationOptions, unsent: Collection[str], drifts_from: int | None
) -> Iterator[Applicants]:
    """Give the population as bodies of requests, without the fields that must not be sent.

    From row `drifts_from` on two thirds of the rows drift: what is said changes, and the risk does
    not, as where a provider begins to count otherwise. None: nothing drifts.
    """
    left_out = {*unsent, *KNOWN}
    first = 0
    for number, batch in enumerate(batches(options)):
        rows = batch.num_rows
        drifting = np.zeros(rows, dtype=np.bool_)
        if drifts_from is not None:
            source = np.random.default_rng((options.seed, number, 1))
            drifting = source.random(rows) < DRIFTING_SHARE
            drifting &= np.arange(first, first + rows) >= drifts_from
        risk = batch.column("true_default_probability").to_numpy()
        yield Applicants(_bodies(batch, left_out, drifting), risk)
        first += rows


def worse(risk: Floats, times: float) -> Floats:
    """Give chances whose odds are so many times as high."""
    odds = times * risk / (1.0 - risk)
    found: Floats = odds / (1.0 + odds)
    return found


def news_of(
    lent: Lent, source: np.random.Generator, days_past_due: int, today: int
) -> Sequence[News]:
    """Draw what becomes of loans, and give what a lender has heard by a day, in its order.

    A loan that defaults is one `days_past_due` days after it was due, or is restructured then. Some
    are repaid after all, which is told as well, and some are written off.
    """
    chance, kinds, lengths = source.random((3, len(lent.request_ids)))
    told: list[News] = []
    for request_id, defaults, scored, due, amount, total, kind, length in zip(
        lent.request_ids,
        (chance < lent.risk).tolist(),
        lent.scored_day.tolist(),
        lent.due_day.tolist(),
        lent.amount.tolist(),
        lent.total.tolist(),
        kinds.tolist(),
        lengths.tolist(),
        strict=True,
    ):
        if defaults:
            told += _default(request_id, due + days_past_due, amount, kind, length)
        else:
            # Nobody repays before the day after the loan.
            on = max(due + _days_late(kind, length, days_past_due), scored + 1)
            told.append(News(request_id, State.REPAID, on, amount, total))
    told.sort(key=lambda one: one.happened_on)
    return [one for one in told if one.happened_on <= today]


def _default(request_id: str, on: int, amount: float, kind: float, length: float) -> list[News]:
    """Give what is heard of a loan that defaults."""
    paid = round(amount * 0.6 * length, 2)
    state = State.RESTRUCTURED if length < _RESTRUCTURED_SHARE else State.DEFAULTED
    first = News(request_id, state, on, amount, paid)
    if kind < _CURED_SHARE:
        after = News(request_id, State.REPAID, on + _CURED_AFTER_DAYS, amount, amount)
    else:
        gone = on + _WRITTEN_OFF_AFTER_DAYS
        after = News(request_id, State.WRITTEN_OFF, gone, amount, paid)
    return [first, after]


def _days_late(kind: float, length: float, days_past_due: int) -> int:
    """Give days after the due date, below nought for those who repay early."""
    if kind < _LATE_SHARE:
        return 1 + int((days_past_due - 1) * length * length)
    if kind < _LATE_SHARE + _EARLY_SHARE:
        return -int(_EARLY_DAYS_MAX * length)
    return 0


def _bodies(
    batch: pa.RecordBatch, left_out: Collection[str], drifting: NDArray[np.bool_]
) -> list[bytes]:
    sent = batch.select([name for name in batch.schema.names if name not in left_out])
    encode = msgspec.json.Encoder().encode
    bodies = []
    for row, drifts in zip(sent.to_pylist(), drifting.tolist(), strict=True):
        said = {name: value for name, value in row.items() if value is not None}
        if drifts and DRIFTING_FIELD in said:
            said[DRIFTING_FIELD] = said[DRIFTING_FIELD] / 2.0
        bodies.append(encode(said))
    return bodies
