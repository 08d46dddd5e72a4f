"""What is kept of a score, and what a replay of it needs.

A row is a tuple in the order of its columns, ready for the driver: on the hot path nothing is
turned into anything else on its way to the database.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from alama.core.assess import Assessment
from alama.core.errors import AlamaError, FieldProblem, InvalidApplication
from alama.memory.store import Stand
from alama.platform.book import Book, Mode
from alama.platform.errors import RETRY_AFTER_S, Kind, StoreUnfit
from alama.scoring.holds import NoRoom
from alama.vault.vault import damaged

if TYPE_CHECKING:
    from alama.core.lending.policy import Decision, Policy
    from alama.core.tally import Seen
    from alama.memory.borrower import Borrower, Standing
    from alama.memory.store import BorrowerRow, Known
    from alama.vault.ring import ApplicantKey, Ring


class UnknownScore(AlamaError):
    """No such score in this book."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_score", "Unknown score")

    def __init__(self) -> None:
        super().__init__("there is no score with this request_id")


class IdempotencyInFlight(AlamaError):
    """The first request under this idempotency key is still being answered."""

    kind = Kind(HTTPStatus.CONFLICT, "idempotency_in_flight", "Request in flight", RETRY_AFTER_S)

    def __init__(self) -> None:
        super().__init__(
            "a request with this Idempotency-Key is being answered right now",
            hint="send it again in a moment: it will get the same reply",
        )


class IdempotencyKeyReused(AlamaError):
    """Another request came under this idempotency key before."""

    kind = Kind(HTTPStatus.UNPROCESSABLE_ENTITY, "idempotency_key_reused", "Idempotency key reused")

    def __init__(self) -> None:
        super().__init__(
            "this Idempotency-Key came with another request before",
            hint="a new request needs a new key; a retry says the same as the first",
        )


def evidence_used() -> InvalidApplication:
    """Say that evidence came with a score of another applicant, or of one who was not named."""
    detail = "came with another score before; have the statement read for this applicant"
    return InvalidApplication([FieldProblem("evidence", "evidence_used", detail)])


IDEMPOTENCY_KEPT_US: Final = 72 * 3600 * 1_000_000
"""How long a retry finds the reply of the first request."""

_IN_CLEAR: Final = 16
"""Columns of a score before those that are sealed, or say by what."""


class ScoreRow(NamedTuple):
    """One score as stored. What the applicant said is in `sealed` alone.

    It is sealed under the key of the applicant, whom `applicant_key_id` names; or under a key of
    its own that it carries, wrapped by the lender's key `seal_key_id`. `propensity` is the chance
    with which a lot was to approve it; None: no lot was drawn. `product` is the one of the policy
    that decided, if it has any. The record says the same of both.
    """

    lender: str
    mode: str
    request_id: str
    created_us: int
    key_id: str
    model_id: str
    policy_id: str
    score: int
    tier: str
    default_probability: float
    decision: str
    recommended_limit: float
    recommended_term_days: int
    recommended_apr: float
    processing_ms: int
    expected_loss: float
    seal_key_id: str | None
    sealed: bytes
    applicant_key_id: str | None
    propensity: float | None = None
    product: str | None = None

    @property
    def in_clear(self) -> tuple[str | int | float, ...]:
        """What anybody with the database can read, which the digest covers."""
        return self[:_IN_CLEAR]

    @property
    def book(self) -> Book:
        """The only book that it is in."""
        return Book(self.lender, Mode(self.mode))

    @property
    def summary(self) -> ScoreSummary:
        """Its line in a list."""
        return ScoreSummary(*(getattr(self, name) for name in ScoreSummary._fields))


class ScoreSummary(NamedTuple):
    """One line of a list of scores."""

    request_id: str
    created_us: int
    score: int
    tier: str
    default_probability: float
    decision: str
    recommended_limit: float
    recommended_term_days: int
    recommended_apr: float
    propensity: float | None = None

    @property
    def weight(self) -> float:
        """How many applications it stands for where what was approved stands for all.

        One that was approved by lot stands for those on whom the lot did not fall.
        """
        return weight_of(self.decision, self.propensity)


def weight_of(decision: str, propensity: float | None) -> float:
    """Give the weight of a score by its decision and the chance of its lot: one over the chance.

    1 where no lot was drawn, and for whoever a lot was drawn for in vain: a person who lends to
    them all the same has chosen them.
    """
    return 1.0 / propensity if propensity and decision == _APPROVED else 1.0


_APPROVED: Final = "APPROVED"


class Wanted(NamedTuple):
    """Which scores of a book are listed: those of which all that is said here holds.

    They were given from `from_us` on and before `to_us`. `subject` is whom they are about, as
    `Ring.subject` has it. `waiting`: a person has to decide on them yet, and can.
    """

    from_us: int | None = None
    to_us: int | None = None
    decision: Decision | None = None
    tier: str | None = None
    subject: bytes | None = None
    waiting: bool = False


EVERY: Final = Wanted()


class Sealed(msgspec.Struct, frozen=True):
    """The body as it was sent, byte for byte, and everything that was concluded from it.

    Kept as MessagePack: numbers stay what they are, and it is written in half the time of JSON.
    `salt` keys the digest by which the audit knows the record: with it gone, nobody can confirm a
    guess at what was sent. `fields` names the lender's own fields by which the body was read, where
    it had any.
    """

    application: bytes
    assessment: Assessment
    salt: bytes = b""
    fields: str | UnsetType = UNSET


pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(Sealed).decode


def unpack(plain: bytes, request_id: str) -> Sealed:
    """Read what was kept of a score once it is opened, or raise `StoreUnfit`."""
    try:
        return _unpack(plain)
    except msgspec.DecodeError as error:
        raise damaged(request_id) from error


def reference_of(plain: bytes, request_id: str) -> str | None:
    """Read whom a score is about from what was kept of it, or raise `StoreUnfit`."""
    sent = unpack(plain, request_id).application
    reference = msgspec.json.decode(sent, type=dict[str, object]).get("applicant_ref")
    return reference.strip() if isinstance(reference, str) else None


class StoredScore(NamedTuple):
    """A score as it is stored, and the key of its applicant if it names one: `open_score` reads it.

    Both are of one moment: a key that was erased later does not make it half a record.
    """

    row: ScoreRow
    applicant: ApplicantKey | None


class Became(NamedTuple):
    """What became of the loan of a score; days since 1970, amounts in the lender's currency."""

    request_id: str
    defaulted_on: int | None
    disbursed_amount: float | None
    repaid_amount: float | None


EVIDENCE: Final = "evidence"
"""The operation of a row that says whose some evidence is: `request_digest` is of the applicant."""

NOBODY: Final = bytes(32)
"""In the place of an applicant who is not named, or was erased."""


class IdempotencyRow(NamedTuple):
    """The reply that was given under an idempotency key, to be given again."""

    lender: str
    mode: str
    operation: str
    key_digest: bytes
    request_digest: bytes
    request_id: str
    created_us: int
    seal_key_id: str | None
    reply: bytes
    applicant_key_id: str | None


class Unsealed(NamedTuple):
    """What is to be sealed in the commit: it alone knows which keys stand at that moment.

    `subject` says whose key it is, as `Ring.subject` does; None: it names nobody, and gets a key of
    its own. `ring` wraps the key.
    """

    subject: bytes | None
    ring: Ring
    record: bytes
    reply: bytes | None


class Question(NamedTuple):
    """Asks how a borrower stands before anything is decided: lender, mode and `subject` say who."""

    lender: str
    mode: str
    subject: bytes


class Asking(NamedTuple):
    """By what a borrower was known when a decision was made, and how they are known after it."""

    known: Known
    after: Borrower
    standing: Standing


class Entry(NamedTuple):
    """What one request asks to be kept, all of it or nothing.

    What the applicant said is in `unsealed` alone: `sealed` and `reply` of the rows are empty.
    `digest` is what the audit knows the score by. `seen` is what the statistics of the day count;
    None: nothing is counted. `announced`: whoever wants to hear of scores is told of it. `region`
    is where the loan is counted, if a cap of the policy asks. `asking`: it is kept only if the
    borrower is still known by what it says. `claim`: it is kept only if no other applicant came
    with the same evidence. `bounds`: it is an approval, and kept only if the caps of this policy
    have room for it.
    """

    score: ScoreRow
    idempotency: IdempotencyRow | None
    digest: bytes
    unsealed: Unsealed
    seen: Seen | None = None
    announced: bool = True
    region: str | None = None
    asking: Asking | None = None
    claim: IdempotencyRow | None = None
    bounds: Policy | None = None


class SealedEntry(NamedTuple):
    """An entry whose rows are sealed: nothing else is written. `alama.scoring.store` makes it."""

    score: ScoreRow
    idempotency: IdempotencyRow | None
    digest: bytes
    seen: Seen | None
    announced: bool
    region: str | None = None
    borrower: BorrowerRow | None = None
    known: Known | None = None
    claim: IdempotencyRow | None = None
    bounds: Policy | None = None


class Earlier(NamedTuple):
    """An answer that was given before, under the same idempotency key; `open_reply` reads it.

    Sealed as the row of a score is.
    """

    request_digest: bytes
    request_id: str
    reply: bytes
    seal_key_id: str | None = None
    applicant: ApplicantKey | None = None


Told = Earlier | Stand | NoRoom | None
"""What became of an entry: None, it is kept; an earlier one stands; how the borrower stands that it
asked for; or a cap has no room for it."""

Fate = Told | StoreUnfit | InvalidApplication
"""The same; or it alone cannot be kept, or its evidence is of another."""
