"""Sealing: AES-256-GCM, bound to the place where the sealed text stands.

A text that is moved to another row, or of which a bit has changed, does not open. What names no
applicant is sealed under a key of its own, which stands in front of it, wrapped by the lender's:

    nonce 12 | wrapped key 32 | tag 16 | nonce 12 | text | tag 16

What names one is sealed under the applicant's key, and has no such front.
"""

from __future__ import annotations

import os
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from alama.platform.book import Book, Mode

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16
WRAPPED_BYTES: Final = NONCE_BYTES + KEY_BYTES + TAG_BYTES

RECORD: Final = "score"
REPLY: Final = "reply"
REVIEW: Final = "review"
"""The parts of a score that are sealed; the last is what an officer noted on it."""


class NotOpened(Exception):
    """The key is another, the place is another, or a bit is not what it was."""


def place(lender: str, mode: str, request_id: str, part: str) -> bytes:
    """Name where a text stands; none of the words may hold a bar."""
    return f"{lender}|{mode}|{request_id}|{part}".encode()


def place_in(book: Book, request_id: str, part: str) -> bytes:
    """Name the same by its book."""
    return place(book.lender, book.mode.value, request_id, part)


def place_in_history(lender: str, history_id: str, number: int) -> bytes:
    """Name the place of a part; the key that all parts share is bound to it without the number."""
    return place(lender, Mode.LIVE.value, history_id, str(number))


def new_key() -> bytes:
    """Make a key. Neither keys nor nonces are drawn beforehand, as ids are.

    A key that waits to be used, or is used and not yet dropped, lies in memory; and a machine that
    was copied as it ran would go on with the same ones in two places.
    """
    return os.urandom(KEY_BYTES)


def seal(key: AESGCM, text: bytes, where: bytes) -> bytes:
    """Seal a text. The nonce is drawn, which is safe for 2^32 texts under one key."""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + key.encrypt(nonce, text, where)


def open_sealed(key: AESGCM, sealed: bytes, where: bytes) -> bytes:
    """Give the text again, or raise `NotOpened`."""
    if len(sealed) < NONCE_BYTES + TAG_BYTES:
        raise NotOpened
    try:
        return key.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], where)
    except InvalidTag:
        raise NotOpened from None


class OwnKey(msgspec.Struct, frozen=True, gc=False):
    """A key of its own for the texts of one score, and its wrapped form, which goes before each."""

    wrapped: bytes
    cipher: AESGCM

    def seal(self, text: bytes, where: bytes) -> bytes:
        """Seal one of the texts, to be opened by `open_alone`."""
        nonce = os.urandom(NONCE_BYTES)
        return b"".join((self.wrapped, nonce, self.cipher.encrypt(nonce, text, where)))


def own_key(lender_key: AESGCM, where: bytes) -> OwnKey:
    """Make a key for what stands in a place, and for the other parts of the same score."""
    chance = os.urandom(KEY_BYTES + NONCE_BYTES)
    key, nonce = chance[:KEY_BYTES], chance[KEY_BYTES:]
    return OwnKey(nonce + lender_key.encrypt(nonce, key, _score(where)), AESGCM(key))


def open_alone(lender_key: AESGCM, sealed: bytes, where: bytes) -> bytes:
    """Give the text that was sealed under a key of its own, or raise `NotOpened`."""
    own = open_sealed(lender_key, sealed[:WRAPPED_BYTES], _score(where))
    return open_sealed(AESGCM(own), sealed[WRAPPED_BYTES:], where)


def rewrap_alone(old: AESGCM, new: AESGCM, sealed: bytes, where: bytes) -> bytes:
    """Hand a text with a key of its own over to another key of the lender, or raise `NotOpened`.

    The text itself is not opened, and its own key stays the same.
    """
    score = _score(where)
    own = open_sealed(old, sealed[:WRAPPED_BYTES], score)
    return seal(new, own, score) + sealed[WRAPPED_BYTES:]


def _score(where: bytes) -> bytes:
    """Give the place without the part: the record and the reply of a score share their own key."""
    return where.rpartition(b"|")[0]
