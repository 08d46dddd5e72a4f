"""What monitoring sums and reports: rows, days, and the comparison of two models."""

from __future__ import annotations

from datetime import date, datetime
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec

from alama.core.tally import Tally
from alama.platform.book import Book, Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from alama.core.model import Model
    from alama.lenders.store import Registry


SIMULATED_KEY_ID: Final = "simulated"
"""What stands where the key of a caller would: no key has such a name."""


class RateRow(msgspec.Struct, frozen=True):
    """The mature loans of one model, month of the score and tier.

    `predicted` is the sum of their probabilities. `disbursed` and `repaid` are sums over the
    `valued` defaults: those of which both amounts are known. So are the squares of each, and
    `crossed`, the product of the two.
    """

    model_id: str
    month: int
    tier: str
    count: int
    defaults: int
    predicted: float
    valued: int
    disbursed: float
    repaid: float
    disbursed_squared: float = 0.0
    repaid_squared: float = 0.0
    crossed: float = 0.0


class ProductRow(msgspec.Struct, frozen=True):
    """The mature loans of one model and product."""

    product: str
    count: int
    defaults: int
    predicted: float


class GrantedRow(msgspec.Struct, frozen=True):
    """What was approved of one product in a while, also by officers."""

    product: str
    number: int
    volume: float


class ScoreCount(msgspec.Struct, frozen=True):
    """The mature loans of one model that had one score."""

    score: int
    count: int
    defaults: int
    predicted: float


class DayScore(msgspec.Struct, frozen=True):
    """The mature loans of one model that had one score on one day."""

    day: int
    score: int
    count: int
    defaults: int
    predicted: float


class KnownRow(msgspec.Struct, frozen=True):
    """The loans, mature or not, of one model and month that had one decision and are in one state.

    `defaults` of them have ever been one.
    """

    model_id: str
    month: int
    decision: str
    state: str
    count: int
    defaults: int


class ReviewRow(msgspec.Struct, frozen=True):
    """The scores on which officers decided alike, for the same reason."""

    given_decision: str
    decision: str
    reason: str
    count: int


class OverrideRow(msgspec.Struct, frozen=True):
    """The mature loans that an officer gave though the service had decided otherwise, or had not.

    Of those that an officer declined nobody will ever know.
    """

    given_decision: str
    decision: str
    count: int
    defaults: int
    predicted: float


class DayTally(NamedTuple):
    """What one model met and gave on one day; a day may come in several parts."""

    day: int
    model_id: str
    tally: Tally


class AmountRow(msgspec.Struct, frozen=True):
    """The mature loans of one model, product, month of the score and days they were given for.

    Sums are over the `count` of which both amounts are known. `without_price` of them were repaid
    with no more than was paid out.
    """

    month: int
    days: int
    unvalued: int
    count: int
    without_price: int
    disbursed: float
    repaid: float
    disbursed_squared: float
    repaid_squared: float
    crossed: float
    product: str | None = None


class LotRow(msgspec.Struct, frozen=True):
    """The mature loans of one model that were approved by lot; `weight` is one over the chance."""

    count: int
    defaults: int
    weight: float
    weight_squared: float
    defaults_weight: float
    defaults_squared: float
    predicted_weight: float


class MonitoringStore(Protocol):
    """What a database can tell of a book in sums. Every method may raise `StoreUnavailable`."""

    def rates(self, book: Book, due_before: Mapping[str, int]) -> Sequence[RateRow]:
        """Sum the mature loans of some models; `due_before` says of each what that means."""
        ...

    def amounts(self, book: Book, model_id: str, due_before: int) -> Sequence[AmountRow]:
        """Sum what mature loans of a model were paid out and what came back."""
        ...

    def by_product(self, book: Book, model_id: str, due_before: int) -> Sequence[ProductRow]:
        """Sum the mature loans of a model by product, those of a policy without products apart."""
        ...

    def granted(self, book: Book, first_day: int) -> Sequence[GrantedRow]:
        """Sum what was approved from a day on by product."""
        ...

    def by_lot(self, book: Book, model_id: str, due_before: int) -> LotRow:
        """Sum the mature loans of a model that were approved by lot, weighed by its chance."""
        ...

    def by_score(self, book: Book, model_id: str, due_before: int) -> Sequence[ScoreCount]:
        """Count the mature loans of a model by their score."""
        ...

    def by_day(
        self, book: Book, model_id: str, due_before: int, first_day: int
    ) -> Sequence[DayScore]:
        """Count the mature loans of a model by the day of their score, from one on, and by it."""
        ...

    def known(self, book: Book) -> Sequence[KnownRow]:
        """Count all of which anything is known, mature or not."""
        ...

    def terms(self, book: Book, model_id: str) -> Mapping[int, int]:
        """Count all loans of a model of which anything is known by the days they were given for."""
        ...

    def reviewed(self, book: Book, since_us: int) -> Sequence[ReviewRow]:
        """Count what officers decided on the scores that were given from a time on."""
        ...

    def waiting(self, book: Book) -> int:
        """Count the scores on which a person has to decide yet: all that lists of them have."""
        ...

    def overridden(self, book: Book, model_id: str, due_before: int) -> Sequence[OverrideRow]:
        """Count the mature loans of a model on which an officer decided."""
        ...

    def days(self, book: Book, first_day: int, last_day: int) -> Iterable[DayTally]:
        """Give what was met and given from a day to another, one after the other, oldest first.

        The parts of a day come by model.
        """
        ...

    def oldest_day(self, book: Book) -> int | None:
        """Give the day of the oldest score that is kept; None where there is none."""
        ...


# ------------------------------------------------------------------------------- comparison


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


# ------------------------------------------------------------------------------- days and models


def whole_days(parts: Iterable[DayTally]) -> Iterator[DayTally]:
    """Put the parts of each day and model together, as they are once the day is folded.

    Bands of few scores will be dropped then: they could tell what one applicant said. To count them
    as long as they are there would show it, and figures would depend on when somebody looked. Parts
    of the same day and model have to come one after the other.
    """
    for (day, model_id), some in groupby(parts, attrgetter("day", "model_id")):
        total = Tally()
        for part in some:
            total.merge(part.tally)
        total.drop_small()
        yield DayTally(day, model_id, total)


def whole_from(store: MonitoringStore, book: Book, first_counted: int | None, today: int) -> int:
    """Give the day from which on no score was deleted of those that were counted.

    `first_counted` is the first day of which there are counts, if there is any.
    """
    if first_counted is None:
        return 0
    oldest = store.oldest_day(book)
    if oldest is None:
        return today + 1
    return oldest + 1 if first_counted < oldest else 0


def answering(registry: Registry, book: Book, builtin: Callable[[], Model]) -> str | None:
    """Give the id of the model that answers in a book now; None where none does.

    Without one of its own a test book is answered by the built-in model, and so is a live book in
    shadow, whose every decision is left to a person.
    """
    model_id, _ = registry.deployed(book) or (None, None)
    if model_id is None and (book.mode is Mode.TEST or registry.in_shadow(book)):
        return builtin().id
    return model_id
