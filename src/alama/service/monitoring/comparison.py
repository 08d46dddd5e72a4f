"""The report on a champion and a challenger: what `alama models compare` shows and writes."""

from __future__ import annotations

from datetime import date, datetime

import msgspec


class Crossed(msgspec.Struct, frozen=True):
    """How many scores had the first from the champion and the second from the challenger."""

    champion: str
    challenger: str
    count: int


class Rate(msgspec.Struct, frozen=True):
    """A default rate, predicted and realised, with Wilson's 95 % interval of the latter."""

    count: int
    defaults: int
    predicted: float
    realised: float
    low: float
    high: float


class TierRate(msgspec.Struct, frozen=True):
    """The rate of one tier of one model."""

    tier: str
    rate: Rate


class Swap(msgspec.Struct, frozen=True):
    """The loans on which both would decide so, and what became of them.

    `challenger_predicted` is beside the champion's in `rate`.
    """

    champion: str
    challenger: str
    rate: Rate
    challenger_predicted: float


class Area(msgspec.Struct, frozen=True):
    """An area under the ROC curve, or a difference of two, with its 95 % interval."""

    value: float
    low: float
    high: float


class Judged(msgspec.Struct, frozen=True):
    """How one model did on the loans that were given."""

    auc: Area | None
    rate: Rate
    tiers: tuple[TierRate, ...]


class Realised(msgspec.Struct, frozen=True):
    """What became of the loans that both have scored. The difference is challenger less champion.

    An area is None where all were repaid, or none.
    """

    count: int
    defaults: int
    champion: Judged
    challenger: Judged
    difference: Area | None
    swaps: tuple[Swap, ...]


class Comparison(msgspec.Struct, frozen=True):
    """Two models on the same applications; a later version of Alama may add to it.

    `champion` is None, and all that rests on it empty, where the challenger has answered nothing
    yet. `begun_at` is when it was begun; `scores_from` the day of the first score that both have
    given, which may be earlier. `waiting` are scores that it is yet to be asked about, counted up
    to `waiting_max`.
    """

    lender: str
    mode: str
    champion: str | None
    champion_name: str | None
    challenger: str
    challenger_name: str
    begun_at: datetime
    ended_at: datetime | None
    scores_from: date | None
    count: int
    waiting: int
    waiting_max: int
    failed: int
    champion_probability: float | None
    challenger_probability: float | None
    decisions: tuple[Crossed, ...]
    tiers: tuple[Crossed, ...]
    days_past_due: int | None
    realised: Realised | None
    notes: tuple[str, ...]
