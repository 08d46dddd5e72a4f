"""Lenders, keys, and what answers in a book, as they are kept."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec

from alama.core.application import is_visible
from alama.core.errors import AlamaError
from alama.platform.book import Book, Mode, Scope
from alama.platform.errors import InvalidName, Kind


class OnboardingIncomplete(AlamaError):
    """The lender has no live model yet."""

    kind = Kind(HTTPStatus.FORBIDDEN, "onboarding_incomplete", "Onboarding incomplete")

    def __init__(self, step: str, *, hint: str | None = None) -> None:
        """Name the step that is missing; the hint is for who runs the service, the way to it."""
        super().__init__(f"live scoring is not open to this lender yet: {step}", hint=hint)
        self.step = step


class UnknownModel(AlamaError):
    """No such model gave scores in this book."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_model", "Unknown model")

    def __init__(self) -> None:
        super().__init__(
            "no such model gave scores in this book",
            hint="leave it out for the one that answers; the report names the others",
        )


class UnknownLender(AlamaError):
    """No such lender."""

    def __init__(self, lender: str) -> None:
        super().__init__(f"there is no lender {lender}")
        self.lender = lender


class UnknownKey(AlamaError):
    """No key of this id."""

    def __init__(self, key_id: str) -> None:
        super().__init__(f"there is no key {key_id}")


class UnknownPolicy(AlamaError):
    """No policy of this name or id ever answered in the book."""

    def __init__(self, reference: str) -> None:
        """Repeat what was asked for: an administrator typed it."""
        super().__init__(f"no policy {reference} ever answered here")
        self.reference = reference


class UnknownFields(AlamaError):
    """No fields of this id were ever in force for the lender."""

    def __init__(self, reference: str) -> None:
        """Repeat what was asked for: an administrator typed it."""
        super().__init__(f"no fields {reference} were ever in force here")
        self.reference = reference


class Lender(msgspec.Struct, frozen=True):
    """One lender. The id is a short word for commands and logs; the name is for people."""

    id: str
    name: str
    currency: str
    created_us: int


class Key(msgspec.Struct, frozen=True):
    """What is kept of a key. Times are microseconds since 1970, UTC.

    `hint` is the key's last characters, enough to find it in a vault and too few to guess it.
    """

    id: str
    lender: str
    mode: Mode
    digest: bytes
    hint: str
    scopes: tuple[Scope, ...]
    created_us: int
    days: int | None = None
    """How long it was to live, which a rotation may have cut short; None: for ever."""
    expires_us: int | None = None
    revoked_us: int | None = None
    last_used_us: int | None = None

    @property
    def book(self) -> Book:
        """The only book that this key opens."""
        return Book(self.lender, self.mode)

    def expired(self, now_us: int) -> bool:
        """Say whether the key's day has come."""
        return self.expires_us is not None and now_us >= self.expires_us


class Signed(NamedTuple):
    """When something was put in force, by whom and why, as they said."""

    at_us: int
    by: str | None = None
    note: str | None = None


class Deployment(NamedTuple):
    """What answered in a book from a moment on; None stands for what the package brings."""

    model_id: str | None
    policy_id: str | None
    signed: Signed


class FieldActivation(NamedTuple):
    """The own fields of a lender from a moment on, by the id of their text."""

    fields_id: str
    signed: Signed


class Pause(NamedTuple):
    """Since when every decision of a book is left to a person, and why."""

    since_us: int
    reason: str


class NoMapping(AlamaError):
    """Nothing was kept of how the files of a lender are read."""

    def __init__(self) -> None:
        super().__init__("no mapping is kept for these files: they are read as they come")


# ----------------------------------------------------------------------- who says what

TEXT_MAX: Final = 200


def require_person(name: str) -> str:
    """Give a name without what surrounds it, or raise `InvalidName`."""
    return _line(name, "a name", 'for example: --by "W. Mutua"')


def require_reason(reason: str) -> str:
    """Give a reason without what surrounds it, or raise `InvalidName`."""
    return _line(reason, "a reason", "say what convinced you: the history keeps it")


def _line(text: str, what: str, hint: str) -> str:
    if not is_line(text):
        raise InvalidName(f"{what} has 1 to {TEXT_MAX} characters, all on one line", hint=hint)
    return text.strip()


def is_line(text: str) -> bool:
    """Say whether a text may be a name or a reason: one line that says something."""
    return is_visible(text) and 1 <= len(text.strip()) <= TEXT_MAX
