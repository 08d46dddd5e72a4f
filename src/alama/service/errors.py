"""What can go wrong while serving, each with what a caller or an operator needs to put it right.

AlamaError
├── KeyMissing              no API key came with the request
├── KeyRefused              the key is not one of ours, is mistyped or was revoked
├── KeyExpired              the key was good until its day came
├── ScopeMissing            the key may not do this
├── OnboardingIncomplete    the lender has no live model yet; names the step that is missing
├── ModelUnavailable        the model or policy that answers a key is there, but cannot be used
├── UnknownScore            no such score in this book
├── UnknownLender           no such lender
├── UnknownKey              no key of this id
├── UnknownPolicy           no policy of this name or id ever answered in the book
├── InvalidName             an id, name or currency that cannot be one
├── IdempotencyInFlight     the first request under this idempotency key is still being answered
├── IdempotencyKeyReused    another request came under this idempotency key before
├── TooManyRequests         the key is over its rate; says when to come back
├── Busy                    more explanations are asked for than can be given; nothing was done
├── StoreUnavailable        the database cannot take or give anything right now
└── StoreUnfit              the database cannot be served from as it is: schema, pepper, address
"""

from __future__ import annotations

from alama.core.errors import AlamaError


class KeyMissing(AlamaError):
    """No API key came with the request."""

    def __init__(self, message: str = "the request has no API key") -> None:
        """Say how a key is sent."""
        super().__init__(message, hint="send the header Authorization: Bearer <API_KEY>")


class KeyRefused(AlamaError):
    """The key is not one of ours, is mistyped or was revoked."""


class KeyExpired(AlamaError):
    """The key was good until its day came."""


class ScopeMissing(AlamaError):
    """The key may not do this."""

    def __init__(self, scope: str) -> None:
        """Name the scope that would allow it."""
        super().__init__(f"this key lacks the scope {scope}")


class OnboardingIncomplete(AlamaError):
    """The lender has no live model yet."""

    def __init__(self, step: str) -> None:
        """Name the step that is missing."""
        super().__init__(f"live scoring is not open to this lender yet: {step}")
        self.step = step


class ModelUnavailable(AlamaError):
    """The model or the policy that answers a key cannot be used."""

    def __init__(self, reason: AlamaError) -> None:
        """Say why: the reason speaks of models and policies, never of applicants."""
        super().__init__(
            f"what answers this key cannot be used: {reason}",
            hint="tell whoever runs the service; stored scores can be read meanwhile",
        )


class UnknownScore(AlamaError):
    """No such score in this book."""

    def __init__(self) -> None:
        """Say no more: whether another lender has it is not the caller's business."""
        super().__init__("there is no score with this request_id")


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

    def __init__(self) -> None:
        """Say what to do: nothing is lost by waiting."""
        super().__init__(
            "a request with this Idempotency-Key is being answered right now",
            hint="send it again in a moment: it will get the same reply",
        )


class IdempotencyKeyReused(AlamaError):
    """Another request came under this idempotency key before."""

    def __init__(self) -> None:
        """Say what the key is for."""
        super().__init__(
            "this Idempotency-Key came with another request before",
            hint="a new request needs a new key; a retry repeats the request byte for byte",
        )


class TooManyRequests(AlamaError):
    """The key is over its rate."""

    def __init__(self, retry_after_s: int) -> None:
        """Say when to come back, in whole seconds."""
        super().__init__(f"this key is over its rate; try again in {retry_after_s} s")
        self.retry_after_s = retry_after_s


class Busy(AlamaError):
    """More explanations are asked for than can be given. Nothing was done."""

    def __init__(self) -> None:
        """Say what goes on all the same."""
        super().__init__(
            "too many explanations are asked for at once",
            hint="send it again in a moment; scores are given meanwhile",
        )


class StoreUnavailable(AlamaError):
    """The database cannot take or give anything right now. Nothing was acknowledged."""


class StoreUnfit(AlamaError):
    """The database cannot be served from as it is."""
