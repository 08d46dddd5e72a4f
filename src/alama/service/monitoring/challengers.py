"""Challengers: models that score what others decide on, one at a time in each book.

A challenger decides nothing, and no reply waits for it: a worker asks it about scores that were
stored some seconds ago (`alama.service.monitoring.shadowing`). So a candidate may be one whose
gates have failed.

AlamaError
├── ChallengerThere     a book has a challenger already; names it
├── NoChallenger        a book has no challenger, so there is none to end or to compare
└── ChallengerUnfit     the model cannot be asked: no policy fits it, or it decides there itself
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from alama.core import model as models
from alama.core.errors import AlamaError, InvalidModel, InvalidPolicy, UnknownCurrency
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.service import ids, policies
from alama.service.book import Mode
from alama.service.errors import InvalidName
from alama.service.monitoring.answering import answering
from alama.service.onboarding.words import require_person, require_reason, short

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from alama.core.model import Model
    from alama.service.book import Book
    from alama.service.ports import Clock, Registry
    from alama.service.records import StoredScore


def how_to_begin(book: Book) -> str:
    """Tell somebody who wants a challenger what to type."""
    what = "--candidate ID" if book.mode is Mode.LIVE else "--model FILE"
    return f"begin with one: {_command(book, what)}"


def how_to_end(book: Book) -> str:
    """Give what ends the challenger of a book, to be typed with a name and a reason."""
    return _command(book, "--end")


def none_to_end(book: Book) -> str:
    """Tell somebody who wants to end a challenger that is not there where else to look."""
    other = Mode.TEST if book.mode is Mode.LIVE else Mode.LIVE
    return f"there is none to end here; that of the other book is named by --mode {other}"


def _command(book: Book, what: str) -> str:
    mode = "" if book.mode is Mode.LIVE else f" --mode {book.mode}"
    return f'alama models challenge {book.lender}{mode} {what} --by NAME --reason "..."'


class ChallengerThere(AlamaError):
    """A book has a challenger already."""

    def __init__(self, book: Book, model_id: str) -> None:
        """Say which, and how to end it."""
        super().__init__(
            f"{short(model_id)} challenges the model of {book.lender} in {book.mode} mode already",
            hint=f"end that first: {how_to_end(book)}",
        )


class NoChallenger(AlamaError):
    """A book has no challenger."""

    def __init__(self, book: Book, hint: str) -> None:
        """Say in which; the hint depends on what somebody was about."""
        super().__init__(
            f"no model challenges that of {book.lender} in {book.mode} mode", hint=hint
        )


class ChallengerUnfit(AlamaError):
    """A model cannot be asked about the scores of a book."""


class Challenger(NamedTuple):
    """A model that is asked about every score of a book, from a time on, until it is ended.

    `reached` is the id of the last score that it was asked about. `scored` are those that it had an
    answer to, `failed` those that it broke on; `error` names what broke last, and is never told
    what an applicant said.
    """

    book: Book
    model_id: str
    since_us: int
    set_by: str
    reason: str
    reached: str
    scored: int = 0
    failed: int = 0
    error: str | None = None
    ended_us: int | None = None


class Shadow(NamedTuple):
    """What a challenger would have said, and what was said, in the order of the columns."""

    request_id: str
    score: int
    tier: str
    default_probability: float
    decision: str
    given_model_id: str
    given_score: int
    given_tier: str
    given_default_probability: float
    given_decision: str


class Step(NamedTuple):
    """How far a challenger has come: up to which score, and what it said to those before it."""

    reached: str
    shadows: Sequence[Shadow] = ()
    failed: int = 0
    error: str | None = None


class Challengers(Protocol):
    """Where they are kept. Every method may raise `StoreUnavailable`."""

    def begin(self, challenger: Challenger, document: bytes) -> None:
        """Keep one with its model; `ChallengerThere`, `UnknownLender`."""

    def end(self, book: Book, ended_us: int, by: str, reason: str) -> Challenger:
        """End the one of a book and give it; `NoChallenger`, `UnknownLender`."""
        ...

    def of(self, book: Book) -> Sequence[Challenger]:
        """All that a book has ever had, the newest first."""
        ...

    def running(self) -> Sequence[Challenger]:
        """Those of all books that are not ended: for a worker, not for callers."""
        ...

    def waiting(self, challenger: Challenger, before: str, limit: int) -> Sequence[StoredScore]:
        """The next scores that it is to be asked about, oldest first, up to an id."""
        ...

    def advance(self, challenger: Challenger, step: Step) -> bool:
        """Keep a step; False, and nothing is kept, where another worker was here or it is ended."""
        ...


class Challenges:
    """Begins and ends them. Both are acts of the audit."""

    def __init__(
        self,
        challengers: Challengers,
        registry: Registry,
        clock: Clock,
        builtin: Callable[[], Model],
    ) -> None:
        """Keep what is asked; `builtin` gives the model of books that have none of their own."""
        self._challengers = challengers
        self._registry = registry
        self._clock = clock
        self._builtin = builtin

    def begin(
        self, book: Book, document: bytes, by: str, reason: str, from_us: int | None = None
    ) -> Challenger:
        """Have a model asked about every score of a book from now on.

        Or about those that are stored from an earlier time on, and all that follow.
        `ChallengerUnfit` where the policy in force does not fit it, or it decides there itself;
        `ChallengerThere`, `UnknownLender`, `InvalidModel`; `InvalidName` also where that time is
        yet to come, or before 1970.
        """
        by, reason = require_person(by), require_reason(reason)
        model = self._fitting(book, document)
        now_us = self._clock()
        if from_us is not None and not 0 <= from_us <= now_us:
            raise InvalidName(
                "a challenger cannot begin on a day that is yet to come, or before 1970"
            )
        reached = ids.first_of(now_us if from_us is None else from_us)
        challenger = Challenger(book, model.id, now_us, by, reason, reached)
        self._challengers.begin(challenger, document)
        return challenger

    def end(self, book: Book, by: str, reason: str) -> Challenger:
        """Ask it no more; what it has said stays.

        `NoChallenger`, `UnknownLender`, `InvalidName`.
        """
        by, reason = require_person(by), require_reason(reason)
        return self._challengers.end(book, self._clock(), by, reason)

    def _fitting(self, book: Book, document: bytes) -> Model:
        self._registry.lender(book.lender)
        _, policy_id = self._registry.deployed(book) or (None, None)
        policy = policies.policy_by_id(self._registry, book, policy_id)
        try:
            model = models.decode(document)
            ReadyPolicy(policy, ReadyModel(model, policy.currency))
        except (InvalidModel, InvalidPolicy, UnknownCurrency) as error:
            raise ChallengerUnfit(
                f"the model and the policy in force cannot answer together: {error}",
                hint=error.hint,
            ) from error
        if model.id == answering(self._registry, book, self._builtin):
            raise ChallengerUnfit(
                f"{short(model.id)} decides for {book.lender} in {book.mode} mode itself",
                hint="a challenger is another model than the one that it is held against",
            )
        return model
