"""What can go wrong while serving, each with what a caller or an operator needs to put it right.

AlamaError
├── KeyMissing              no API key came with the request
├── KeyRefused              the key is not one of ours, is mistyped or was revoked
├── KeyExpired              the key was good until its day came
├── ScopeMissing            the key may not do this
├── OnboardingIncomplete    the lender has no live model yet; names the step that is missing
├── ModelUnavailable        a model or policy that an answer needs is there, but cannot be used
├── UnknownScore            no such score in this book
├── UnknownEndpoint         no such webhook endpoint in this book
├── UnknownEvent            no such event in this book, or none any more
├── UnknownModel            no such model gave scores in this book
├── EndpointDisabled        a webhook endpoint is disabled, so nothing is sent to it
├── TooManyEndpoints        a book has as many webhook endpoints as it may have
├── Erased                  what the applicant sent for this score is no more; says since when
├── AlreadyReviewed         somebody has decided on this score otherwise; says when
├── NoReceipt               the audit has no entry of this score, so nothing can be proved of it
├── UnknownApplicant        nothing is held on such an applicant in this book
├── UnderHold               a legal hold stands in the way of an erasure; says why it was placed
├── UnknownHold             no hold of this number stands
├── NoPeriod                nothing says for how long the scores of a book are kept
├── PeriodTooShort          the law says that they are kept for longer
├── LawUnknown              a policy cannot be read, so nobody knows which law its scores are under
├── UnknownLender           no such lender
├── UnknownKey              no key of this id
├── UnknownPolicy           no policy of this name or id ever answered in the book
├── InvalidName             an id, name or currency that cannot be one
├── IdempotencyInFlight     the first request under this idempotency key is still being answered
├── IdempotencyKeyReused    another request came under this idempotency key before
├── TooManyRequests         the key is over its rate; says when to come back
├── Busy                    more of what takes long is asked for than can be given; nothing was done
├── StoreUnavailable        the database cannot take or give anything right now
└── StoreUnfit              the database cannot be served from as it is: schema, secrets, address
    └── MasterKeyMissing    its keys are wrapped under a master key that is not at hand
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.errors import AlamaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.service.applicants import Hold
    from alama.service.book import Book
    from alama.service.retention import Law


RETRY_AFTER_S: Final = 2
MODEL_RETRY_AFTER_S: Final = 60
"""A model that cannot be used is put right by a person."""
BUSY_RETRY_AFTER_S: Final = 1


class Kind(NamedTuple):
    """One kind of problem, as callers see it."""

    status: HTTPStatus
    code: str
    title: str
    retry_after_s: int | None = None
    """After how many seconds the same request may fare better; None: never."""


class KeyMissing(AlamaError):
    """No API key came with the request."""

    kind = Kind(HTTPStatus.UNAUTHORIZED, "key_missing", "API key missing")

    def __init__(self, message: str = "the request has no API key") -> None:
        """Say how a key is sent."""
        super().__init__(message, hint="send the header Authorization: Bearer <API_KEY>")


class KeyRefused(AlamaError):
    """The key is not one of ours, is mistyped or was revoked."""

    kind = Kind(HTTPStatus.UNAUTHORIZED, "key_refused", "API key refused")


class KeyExpired(AlamaError):
    """The key was good until its day came."""

    kind = Kind(HTTPStatus.FORBIDDEN, "key_expired", "API key expired")


class ScopeMissing(AlamaError):
    """The key may not do this."""

    kind = Kind(HTTPStatus.FORBIDDEN, "scope_missing", "Scope missing")

    def __init__(self, scope: str) -> None:
        """Name the scope that would allow it."""
        super().__init__(
            f"this key lacks the scope {scope}",
            hint="ask for a new key: one that it is rotated to has the same scopes",
        )


class OnboardingIncomplete(AlamaError):
    """The lender has no live model yet."""

    kind = Kind(HTTPStatus.FORBIDDEN, "onboarding_incomplete", "Onboarding incomplete")

    def __init__(self, step: str, *, hint: str | None = None) -> None:
        """Name the step that is missing; the hint is for who runs the service, the way to it."""
        super().__init__(f"live scoring is not open to this lender yet: {step}", hint=hint)
        self.step = step


class ModelUnavailable(AlamaError):
    """A model, a policy or the report of a history that an answer needs cannot be used."""

    kind = Kind(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "model_unavailable",
        "Model unavailable",
        MODEL_RETRY_AFTER_S,
    )

    def __init__(self, reason: AlamaError) -> None:
        """Say why: the reason speaks of what is stored, never of applicants."""
        super().__init__(
            f"a stored document that this needs cannot be used: {reason}",
            hint="tell whoever runs the service; stored scores can be read meanwhile",
        )
        self.reason = reason


class UnknownScore(AlamaError):
    """No such score in this book."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_score", "Unknown score")

    def __init__(self) -> None:
        """Say no more: whether another lender has it is not the caller's business."""
        super().__init__("there is no score with this request_id")


class UnknownEndpoint(AlamaError):
    """No such webhook endpoint in this book."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_webhook_endpoint", "Unknown webhook endpoint")

    def __init__(self) -> None:
        """Say no more: whether another lender has it is not the caller's business."""
        super().__init__("there is no webhook endpoint with this id")


class UnknownEvent(AlamaError):
    """No such event in this book, or none any more."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_event", "Unknown event")

    def __init__(self) -> None:
        """Say no more: whether another lender has it is not the caller's business."""
        super().__init__("there is no event with this id", hint="events are kept for 30 days")


class UnknownModel(AlamaError):
    """No such model gave scores in this book."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_model", "Unknown model")

    def __init__(self) -> None:
        """Say no more: whether another lender has it is not the caller's business."""
        super().__init__(
            "no such model gave scores in this book",
            hint="leave it out for the one that answers; the report names the others",
        )


class EndpointDisabled(AlamaError):
    """The webhook endpoint is disabled, so nothing is sent to it."""

    kind = Kind(HTTPStatus.CONFLICT, "webhook_endpoint_disabled", "Webhook endpoint disabled")

    def __init__(self) -> None:
        """Say what to do first."""
        super().__init__(
            "this webhook endpoint is disabled", hint="enable it, and then have it sent"
        )


class TooManyEndpoints(AlamaError):
    """A book has as many webhook endpoints as it may have."""

    kind = Kind(HTTPStatus.CONFLICT, "too_many_endpoints", "Too many webhook endpoints")

    def __init__(self, most: int) -> None:
        """Say how many that are."""
        super().__init__(
            f"there are {most} webhook endpoints already",
            hint="remove one, or have one of them pass events on",
        )


class Erased(AlamaError):
    """What an applicant sent was erased: the key that would open it is no more."""

    kind = Kind(HTTPStatus.GONE, "erased", "Erased")

    def __init__(self, erased_us: int, remains: msgspec.Struct | None = None) -> None:
        """Say since when, UTC; `remains` is the score that was asked for, as lists have it."""
        super().__init__(
            f"what the applicant of this score sent was erased on {_day(erased_us)}",
            hint="its decision is still listed; a new application is scored as any other",
        )
        self.erased_us = erased_us
        self.remains = remains


class AlreadyReviewed(AlamaError):
    """Somebody has decided on a score before, and otherwise."""

    kind = Kind(HTTPStatus.CONFLICT, "already_reviewed", "Already reviewed")

    def __init__(self, reviewed_us: int) -> None:
        """Say when, UTC; the lender can read who it was and what they said."""
        when = datetime.fromtimestamp(reviewed_us / 1_000_000, UTC)
        super().__init__(
            f"this score was reviewed on {when:%Y-%m-%d at %H:%M} UTC, and the first review stands",
            hint="read the score: its review says what was decided, by whom and why",
        )
        self.reviewed_us = reviewed_us


class NoReceipt(AlamaError):
    """The audit has no entry of a score."""

    kind = Kind(HTTPStatus.NOT_FOUND, "no_receipt", "No receipt")

    def __init__(self) -> None:
        """Say what can be done instead."""
        super().__init__(
            "the audit has no entry of this score, so there is no receipt of it",
            hint="it was given before there was an audit; it can still be read and replayed",
        )


class UnknownApplicant(AlamaError):
    """Nothing is held on such an applicant in this book."""

    def __init__(self, book: Book) -> None:
        """Name the book, not the applicant: what is not held need not be repeated."""
        super().__init__(
            f"{book.lender} holds nothing on this applicant in {book.mode} mode",
            hint="the reference is what came as applicant_ref, letter by letter; one who was "
            "erased is not known any more",
        )


class UnderHold(AlamaError):
    """A legal hold stands in the way of an erasure."""

    def __init__(self, holds: Sequence[Hold]) -> None:
        """Say which, and why they were placed."""
        standing = "; ".join(
            f"hold {hold.number} of {_day(hold.placed_us)}: {hold.reason}" for hold in holds
        )
        super().__init__(
            f"a legal hold stands on this applicant ({standing})",
            hint="once the case is over: "
            + " and ".join(f"alama applicants release {hold.number}" for hold in holds),
        )
        self.holds = holds


class UnknownHold(AlamaError):
    """No hold of this number stands."""

    def __init__(self, number: int) -> None:
        """Name it, and where the others are."""
        super().__init__(f"no hold {number} stands", hint="`alama applicants holds` lists them")


class NoPeriod(AlamaError):
    """Nothing says for how long the scores of a book are kept."""

    def __init__(self, book: Book, reason: str) -> None:
        """Say why, and how to say it."""
        super().__init__(
            f"nothing says for how long {book.lender} keeps its scores of {book.mode} mode: "
            f"{reason}",
            hint="add --days N, or name a jurisdiction with such a rule in the policy",
        )
        self.reason = reason


class ClockLeapt(AlamaError):
    """The time does not fit what was seen of it before, so nothing ends by it."""

    def __init__(self, undone: str) -> None:
        """Say what was not done, and what to do."""
        super().__init__(
            f"{undone}: the clock has leapt, and nobody has said that it is right",
            hint="set the clock of its machine; if the time is right, `alama clock accept`. `alama "
            "clock` shows what is seen",
        )


class PeriodTooShort(AlamaError):
    """The law says that scores are kept for longer."""

    def __init__(self, days: int, law: Law) -> None:
        """Say what the law says, and where."""
        super().__init__(
            f"{days} days are fewer than {law.place} asks for, {law.days}: {law.rule}",
            hint=f"{law.source}; leave --days out, or give {law.days} or more",
        )


class LawUnknown(AlamaError):
    """A policy cannot be read, so nobody knows which law the scores that name it are under."""

    def __init__(self, book: Book, reason: str) -> None:
        """Say why; nothing is deleted on a guess."""
        super().__init__(
            f"a policy that scores of {book.lender} in {book.mode} mode name cannot be read, and "
            f"so for how long the law has them kept: {reason}",
            hint="restore the table policies from a backup; nothing of it is deleted meanwhile",
        )
        self.reason = reason


class UnknownLender(AlamaError):
    """No such lender."""

    def __init__(self, lender: str) -> None:
        """Name it, and where the others are."""
        super().__init__(
            f"there is no lender {lender}",
            hint="`alama lenders list` shows them; to add it: "
            f"alama lenders add {lender} --name NAME --currency KES",
        )


class UnknownKey(AlamaError):
    """No key of this id."""

    def __init__(self, key_id: str) -> None:
        """Name it, and where the others are."""
        super().__init__(f"there is no key {key_id}", hint="`alama keys list` shows them")


class UnknownPolicy(AlamaError):
    """No policy of this name or id ever answered in the book."""

    def __init__(
        self, reference: str, hint: str = "`alama policy history` lists those that did"
    ) -> None:
        """Repeat what was asked for: an administrator typed it."""
        super().__init__(f"no policy {reference} ever answered here", hint=hint)
        self.reference = reference


class InvalidName(AlamaError):
    """An id, a name or a currency that cannot be one."""


class IdempotencyInFlight(AlamaError):
    """The first request under this idempotency key is still being answered."""

    kind = Kind(HTTPStatus.CONFLICT, "idempotency_in_flight", "Request in flight", RETRY_AFTER_S)

    def __init__(self) -> None:
        """Say what to do: nothing is lost by waiting."""
        super().__init__(
            "a request with this Idempotency-Key is being answered right now",
            hint="send it again in a moment: it will get the same reply",
        )


class IdempotencyKeyReused(AlamaError):
    """Another request came under this idempotency key before."""

    kind = Kind(HTTPStatus.UNPROCESSABLE_ENTITY, "idempotency_key_reused", "Idempotency key reused")

    def __init__(self) -> None:
        """Say what the key is for."""
        super().__init__(
            "this Idempotency-Key came with another request before",
            hint="a new request needs a new key; a retry repeats the request byte for byte",
        )


class TooManyRequests(AlamaError):
    """The key is over its rate."""

    kind = Kind(HTTPStatus.TOO_MANY_REQUESTS, "too_many_requests", "Too many requests")

    def __init__(self, retry_after_s: int) -> None:
        """Say when to come back, in whole seconds."""
        super().__init__(f"this key is over its rate; try again in {retry_after_s} s")
        self.retry_after_s = retry_after_s


class Busy(AlamaError):
    """More of what takes long is asked for than can be given. Nothing was done."""

    kind = Kind(HTTPStatus.SERVICE_UNAVAILABLE, "busy", "Busy", BUSY_RETRY_AFTER_S)

    def __init__(self, what: str = "explanations") -> None:
        """Say what there is too much of, and what goes on all the same."""
        super().__init__(
            f"too many {what} are asked for at once",
            hint="send it again in a moment; scores are given meanwhile",
        )


class StoreUnavailable(AlamaError):
    """The database cannot take or give anything right now. Nothing was acknowledged."""

    kind = Kind(
        HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", "Temporarily unavailable", RETRY_AFTER_S
    )


class StoreUnfit(AlamaError):
    """The database cannot be served from as it is."""


class MasterKeyMissing(StoreUnfit):
    """The keys of the database are wrapped under a master key that is not at hand."""

    def __init__(self, wanted: str, found: str | None) -> None:
        """Name both by their ids, which give neither away; None: there is no master key at all."""
        instead = "and there is none" if found is None else f"and this process has {found}"
        super().__init__(
            f"the keys of this database are wrapped under the master key {wanted}, {instead}",
            hint="set ALAMA_MASTER_KEY or ALAMA_MASTER_KEY_FILE, or put the file master-key below "
            "ALAMA_HOME, as it was before, from your backup; while you rotate it, set "
            "ALAMA_MASTER_KEY_OLD as well. Without it what applicants sent cannot be read again",
        )
        self.found = found

    def to_callers(self) -> AlamaError:
        """Say no more than that it cannot be used: the cause is for the log."""
        told = StoreUnavailable("the keys of the database cannot be used right now")
        told.__cause__ = self
        return told


def _day(moment_us: int) -> date:
    return datetime.fromtimestamp(moment_us / 1_000_000, UTC).date()
