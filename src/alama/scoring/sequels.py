"""What is kept of a loan after its score: how it went, and what an officer decided.

Times are microseconds since 1970, UTC; days are days since 1970.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.monitoring.news import State

if TYPE_CHECKING:
    from alama.platform.book import Book
    from alama.vault.ring import ApplicantKey

DEFAULTS: Final = frozenset(State) - {State.REPAID}
"""What makes a loan a default, for ever: a promise of a rate is about who got there at all."""


class Said(NamedTuple):
    """What is copied of a score to what became of it, in the order of the columns."""

    score_us: int
    score_month: int
    due_day: int
    model_id: str
    score: int
    tier: str
    default_probability: float
    decision: str
    propensity: float | None = None
    product: str | None = None


class Outcome(NamedTuple):
    """What is known of a loan: the latest, and since when it has been a default, if it has.

    `settled_on`: it was corrected, and what is said without a correction of days until this one
    counts no more. `corrections` are the marks of those that were made, with blanks between.
    """

    request_id: str
    state: State
    happened_on: int
    defaulted_on: int | None
    disbursed_amount: float | None
    repaid_amount: float | None
    recorded_us: int
    key_id: str | None
    settled_on: int | None = None
    corrections: str = ""

    @property
    def is_default(self) -> bool:
        """Whether the loan has ever been a default."""
        return self.defaulted_on is not None


class Answer(StrEnum):
    """What becomes of one piece of news. The first three are kept."""

    RECORDED = "recorded"
    UPDATED = "updated"
    CORRECTED = "corrected"
    UNCHANGED = "unchanged"
    """The same was said before."""
    OLDER = "older"
    """Something later is known, which stands. That the loan was a default is kept all the same,
    unless that was corrected."""
    CONFLICT = "conflict"
    """Something else was said of the same day."""
    UNKNOWN_SCORE = "unknown_score"
    IN_THE_FUTURE = "in_the_future"
    BEFORE_THE_LOAN = "before_the_loan"


class ReviewReason(StrEnum):
    """Why an officer decided so, as it is counted; the officer's own words are beside it."""

    INCOME_VERIFIED = "income_verified"
    DOCUMENTS_CHECKED = "documents_checked"
    KNOWN_CUSTOMER = "known_customer"
    GUARANTEED = "guaranteed"
    DATA_CORRECTED = "data_corrected"
    CANNOT_AFFORD = "cannot_afford"
    IDENTITY_DOUBTED = "identity_doubted"
    FRAUD_SUSPECTED = "fraud_suspected"
    OUTSIDE_POLICY = "outside_policy"
    OTHER = "other"


APPROVED: Final = "APPROVED"
LEFT_OPEN: Final = "REVIEW"
DECLINED: Final = "DECLINED"
"""Decisions as scores have them; a test compares them with those of policies."""

RULINGS: Final = (APPROVED, DECLINED)
"""What an officer can decide. To leave it open is to say nothing yet."""


class Judgement(NamedTuple):
    """What an officer says of a score: one of `RULINGS`, why, who they are, and in what words."""

    decision: str
    reason: ReviewReason
    person: str
    note: str = ""


class Review(NamedTuple):
    """What an officer decided on a score. `note` is in their own words, and sealed at rest."""

    request_id: str
    decision: str
    reason: ReviewReason
    person: str
    note: str
    reviewed_us: int
    key_id: str | None
    given_decision: str

    @property
    def overrides(self) -> bool:
        """Whether the service had decided otherwise; where it left it to a person, it had not."""
        return self.given_decision not in {LEFT_OPEN, self.decision}

    @property
    def judgement(self) -> Judgement:
        return Judgement(self.decision, self.reason, self.person, self.note)


class StoredReview(NamedTuple):
    """A review as it is stored: without its note, which is sealed; `open_note` puts it in.

    It is sealed as the record of its score is: under the key of the applicant, or under one of its
    own that the lender's key `seal_key_id` wraps.
    """

    book: Book
    review: Review
    note: bytes
    seal_key_id: str | None
    applicant: ApplicantKey | None


class StoredSequel(NamedTuple):
    """The same as `Sequel`, the note sealed."""

    review: StoredReview | None
    outcome: Outcome | None


class Sequel(NamedTuple):
    """What became of a score, as far as that is known: what a person decided, how the loan went."""

    review: Review | None
    outcome: Outcome | None


class Shadowed(NamedTuple):
    """What a model would have said that was asked beside the one that decided."""

    model_id: str
    score: int
    tier: str
    default_probability: float
    decision: str
