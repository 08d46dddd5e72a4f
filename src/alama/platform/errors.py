"""What can go wrong while serving, each with what a caller or an operator needs to put it right.

What is not in the caller's own book is unknown, and the message says no more of it: whether another
lender has it is not the caller's business.

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
from typing import Final, NamedTuple

from alama.core.errors import AlamaError

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
        super().__init__(
            f"this key lacks the scope {scope}",
            hint="ask for a new key: one that it is rotated to has the same scopes",
        )


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


class Erased(AlamaError):
    """What an applicant sent was erased: the key that would open it is no more."""

    kind = Kind(HTTPStatus.GONE, "erased", "Erased")

    def __init__(self, erased_us: int, remains: object = None) -> None:
        """Say since when, UTC; `remains` is what is left of the score that was asked for."""
        super().__init__(
            f"what the applicant of this score sent was erased on {day_of_us(erased_us)}",
            hint="its decision is still listed; a new application is scored as any other",
        )
        self.erased_us = erased_us
        self.remains = remains


class ClockLeapt(AlamaError):
    """The time does not fit what was seen of it before, so nothing ends by it."""

    def __init__(self, undone: str) -> None:
        super().__init__(
            f"{undone}: the clock has leapt, and nobody has said that it is right",
            hint="set the clock of its machine; if the time is right, `alama clock accept`. `alama "
            "clock` shows what is seen",
        )


class InvalidName(AlamaError):
    """An id, a name or a currency that cannot be one."""


class TooManyRequests(AlamaError):
    """The key is over its rate."""

    kind = Kind(HTTPStatus.TOO_MANY_REQUESTS, "too_many_requests", "Too many requests")

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"this key is over its rate; try again in {retry_after_s} s")
        self.retry_after_s = retry_after_s


class Busy(AlamaError):
    """More of what takes long is asked for than can be given. Nothing was done."""

    kind = Kind(HTTPStatus.SERVICE_UNAVAILABLE, "busy", "Busy", BUSY_RETRY_AFTER_S)

    def __init__(self, what: str = "explanations") -> None:
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


def day_of_us(moment_us: int) -> date:
    return datetime.fromtimestamp(moment_us / 1_000_000, UTC).date()
