"""API keys and lenders: made, recognised, rotated, revoked. Only a keyed hash of a key is kept.

A key reads `alama_test_` or `alama_live_`, then 30 random characters, then 6 that check them, so
that secret scanners know one when they see it and a typo is refused without a look-up.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.model import REFERENCE_INFLOW_MONTHLY
from alama.lenders.records import Key, Lender, OnboardingIncomplete
from alama.platform.book import PILOT_SCOPES, USUAL_SCOPES, Book, Mode, Scope
from alama.platform.errors import ClockLeapt, InvalidName, KeyRefused

if TYPE_CHECKING:
    from alama.lenders.store import Registry
    from alama.platform.clock import Clock, Time


def is_open(registry: Registry, book: Book) -> bool:
    """Say whether a book can be scored in: a live one needs a model of its own."""
    deployed = registry.deployed(book)
    return book.mode is Mode.TEST or (deployed is not None and deployed[0] is not None)


DEMO: Final = "demo"
"""The lender of a new embedded database, so that the first score takes no administration."""

_LENDER_ID: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
_NAME_LENGTH_MAX: Final = 200


def add_lender(
    registry: Registry, clock: Clock, lender_id: str, name: str, currency: str
) -> Lender:
    """Add a lender, or raise `InvalidName` and say what is wrong."""
    if not _LENDER_ID.fullmatch(lender_id):
        raise InvalidName(
            "a lender's id is 1 to 40 lower-case letters, digits and dashes, a letter first",
            hint="for example: umoja-sacco",
        )
    if not (1 <= len(name.strip()) <= _NAME_LENGTH_MAX and name.isprintable()):
        raise InvalidName(
            f"a lender's name has 1 to {_NAME_LENGTH_MAX} characters, all on one line",
            hint='for example: "Umoja SACCO"',
        )
    if currency not in REFERENCE_INFLOW_MONTHLY:
        raise InvalidName(
            f"{currency} is not a currency that the built-in model knows",
            hint=f"it knows {', '.join(sorted(REFERENCE_INFLOW_MONTHLY))}",
        )
    lender = Lender(lender_id, name.strip(), currency, clock())
    registry.add_lender(lender)
    return lender


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
        raise OnboardingIncomplete("no model has been trained on its history and approved")
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


class Successor(NamedTuple):
    """What is asked of a key that follows another, which goes on working for the overlap.

    None stands for what the old one was given.
    """

    overlap_hours: int = 24
    days: int | None = None
    scopes: tuple[Scope, ...] | None = None


def rotate(
    registry: Registry,
    clock: Time,
    pepper: bytes,
    key_id: str,
    asked: Successor,
    by: str | None = None,
) -> tuple[str, Key]:
    """Make a key like another, which goes on working for the overlap and no longer.

    The old one ends by the time that keys expire by, so that without an overlap it ends at once.
    `by` is who says so, for the audit: the id of a key, or None for whoever runs this process.
    Raises `ClockLeapt` as `issue` does.
    """
    old = find(registry, key_id)
    now_us, trusted_us = clock(), clock.trusted()
    if old.revoked_us is not None or old.expired(trusted_us):
        was = "has expired" if old.revoked_us is None else "was revoked"
        raise InvalidName(f"{key_id} {was}, so it cannot be rotated", hint="issue a new key")
    if not 0 <= asked.overlap_hours <= OVERLAP_HOURS_MAX:
        raise InvalidName(
            f"the old key goes on for 0 to {OVERLAP_HOURS_MAX} hours",
            hint="0 ends it at once",
        )
    days, scopes = asked.days or old.days, asked.scopes or old.scopes
    _require_known_end(clock, days)
    text, new = make(now_us, pepper, old.book, scopes, days)
    ends_us = trusted_us + asked.overlap_hours * US_PER_HOUR
    registry.replace_key(key_id, min(ends_us, old.expires_us or ends_us), new, by)
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
