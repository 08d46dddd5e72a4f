"""API keys: made, recognised, rotated and revoked. Only a keyed hash of each is ever kept.

A key reads `alama_test_` or `alama_live_`, then 30 random characters, then 6 that check them, so
that secret scanners know one when they see it and a typo is refused without a look-up.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import zlib
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from alama.service.book import Book, Mode, is_open
from alama.service.errors import ClockLeapt, InvalidName, KeyRefused, OnboardingIncomplete

if TYPE_CHECKING:
    from alama.service.clock import Time
    from alama.service.ports import Clock, Registry

_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET_LENGTH: Final = 30
_CHECK_LENGTH: Final = 6
_SHAPE: Final = re.compile(rf"alama_(test|live)_[0-9A-Za-z]{{{_SECRET_LENGTH + _CHECK_LENGTH}}}")
_HINT_LENGTH: Final = 4
_ID: Final = re.compile(r"key_[0-9a-f]{16}")

US_PER_SECOND: Final = 1_000_000
US_PER_HOUR: Final = 3_600 * US_PER_SECOND
US_PER_DAY: Final = 24 * US_PER_HOUR

DAYS_MAX: Final = 3_650
OVERLAP_HOURS_MAX: Final = 24 * 90


class Scope(StrEnum):
    """What a key may do."""

    WRITE = "scores:write"
    READ = "scores:read"
    OUTCOMES_WRITE = "outcomes:write"
    REVIEWS_WRITE = "reviews:write"
    MONITORING_READ = "monitoring:read"
    WEBHOOKS_WRITE = "webhooks:write"
    WEBHOOKS_READ = "webhooks:read"
    PILOT_WRITE = "pilot:write"
    PILOT_READ = "pilot:read"


PILOT_SCOPES: Final = (Scope.PILOT_WRITE, Scope.PILOT_READ)
"""These decide by which model live applications are answered: a key has them on purpose alone."""

USUAL_SCOPES: Final = tuple(scope for scope in Scope if scope not in PILOT_SCOPES)


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


def issue(
    registry: Registry,
    clock: Time,
    pepper: bytes,
    book: Book,
    scopes: tuple[Scope, ...] = USUAL_SCOPES,
    days: int | None = None,
) -> tuple[str, Key]:
    """Make a key; the first of the pair is the secret, which is never to be had again.

    `OnboardingIncomplete` where nothing would answer it: `onboarding.live_keys` says which step of
    a lender is missing. `ClockLeapt` where it is to end, and nobody knows when that is.
    """
    registry.lender(book.lender)
    if not (is_open(registry, book) or registry.in_shadow(book)):
        raise OnboardingIncomplete(
            "no model has been trained on its history and approved",
            hint=f"see what is missing: alama onboard {book.lender}",
        )
    _require_known_end(clock, days)
    text, key = make(clock(), pepper, book, scopes, days)
    registry.add_key(key)
    return text, key


def make(
    now_us: int,
    pepper: bytes,
    book: Book,
    scopes: tuple[Scope, ...] = USUAL_SCOPES,
    days: int | None = None,
) -> tuple[str, Key]:
    """Make a key that nobody knows yet, whatever answers in its book."""
    if days is not None and not 1 <= days <= DAYS_MAX:
        raise InvalidName(
            f"a key lives for 1 to {DAYS_MAX} days", hint="without a number it never expires"
        )
    if book.mode is Mode.LIVE and not set(scopes).isdisjoint(PILOT_SCOPES):
        raise InvalidName(
            "a live key scores, and onboards nobody",
            hint="issue a test key for pilot:read and pilot:write",
        )
    text = _new_text(book.mode)
    key = Key(
        id="key_" + secrets.token_hex(8),
        lender=book.lender,
        mode=book.mode,
        digest=digest(pepper, text),
        hint=text[-_HINT_LENGTH:],
        scopes=tuple(sorted(set(scopes))),
        created_us=now_us,
        days=days,
        expires_us=None if days is None else now_us + days * US_PER_DAY,
    )
    return text, key


def rotate(
    registry: Registry,
    clock: Time,
    pepper: bytes,
    key_id: str,
    overlap_hours: int,
    days: int | None = None,
) -> tuple[str, Key]:
    """Make a key like another, which goes on working for the overlap and no longer.

    The new key lives for so many days; without a number, for as long as the old one was given. The
    old one ends by the time that keys expire by, so that without an overlap it ends at once.
    Raises `ClockLeapt` as `issue` does.
    """
    old = find(registry, key_id)
    now_us, trusted_us = clock(), clock.trusted()
    if old.revoked_us is not None or old.expired(trusted_us):
        was = "has expired" if old.revoked_us is None else "was revoked"
        raise InvalidName(f"{key_id} {was}, so it cannot be rotated", hint="issue a new key")
    if not 0 <= overlap_hours <= OVERLAP_HOURS_MAX:
        raise InvalidName(
            f"the old key goes on for 0 to {OVERLAP_HOURS_MAX} hours",
            hint="0 ends it at once",
        )
    _require_known_end(clock, days or old.days)
    text, new = make(now_us, pepper, old.book, old.scopes, days or old.days)
    ends_us = trusted_us + overlap_hours * US_PER_HOUR
    registry.replace_key(key_id, min(ends_us, old.expires_us or ends_us), new)
    return text, new


def revoke(registry: Registry, clock: Clock, key_id: str) -> Key:
    """End a key for good; every process refuses it within a second. Gives what it was before."""
    key = find(registry, key_id)
    registry.revoke_key(key_id, clock())
    return key


def find(registry: Registry, key_id: str) -> Key:
    """Give the key of an id. What is no id is not repeated: it may be the key itself."""
    if not _ID.fullmatch(key_id):
        raise InvalidName(
            "this is not the id of a key",
            hint="an id starts with key_; `alama keys list` shows it beside the key's last "
            f"{_HINT_LENGTH} characters",
        )
    return registry.key(key_id)


def digest(pepper: bytes, text: str) -> bytes:
    """Give the keyed hash under which a key is kept: useless without the pepper."""
    return hmac.digest(pepper, text.encode(), "sha256")


def check(text: str) -> None:
    """Refuse what cannot be a key, without a look-up; the text is never part of the message."""
    if not _SHAPE.fullmatch(text):
        raise KeyRefused(
            "this is not an Alama key", hint="a key starts with alama_test_ or alama_live_"
        )
    if text[-_CHECK_LENGTH:] != _checksum(text[:-_CHECK_LENGTH]):
        raise KeyRefused("this key is mistyped", hint="copy it again, whole")


def fingerprint(pepper: bytes) -> str:
    """Tell one pepper from another without giving it away."""
    return hashlib.sha256(b"alama pepper" + pepper).hexdigest()[:32]


def _require_known_end(clock: Time, days: int | None) -> None:
    if days is not None and clock.leap is not None:
        raise ClockLeapt("no key was made: it is to end after some days")


def _new_text(mode: Mode) -> str:
    secret = "".join(secrets.choice(_BASE62) for _ in range(_SECRET_LENGTH))
    stem = f"alama_{mode}_{secret}"
    return stem + _checksum(stem)


def _checksum(stem: str) -> str:
    number = zlib.crc32(stem.encode())
    letters = []
    for _ in range(_CHECK_LENGTH):
        number, place = divmod(number, 62)
        letters.append(_BASE62[place])
    return "".join(reversed(letters))
