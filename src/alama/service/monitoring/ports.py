"""What monitoring needs from outside: sums of what became of loans, never the loans themselves.

Days are days since 1970, UTC; months are written as 202611. A loan is mature once its due day is
before `due_before`: until then loans that are repaid fast are known and slow defaults are not, and
whatever is worked out from the two flatters the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from alama.core.tally import Tally
    from alama.service.book import Book


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


class MonitoringStore(Protocol):
    """What a database can tell of a book in sums. Every method may raise `StoreUnavailable`."""

    def rates(self, book: Book, due_before: Mapping[str, int]) -> Sequence[RateRow]:
        """Sum the mature loans of some models; `due_before` says of each what that means."""
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
        """Count the scores on which a person has to decide yet: all that `Scores.waiting` lists."""
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
