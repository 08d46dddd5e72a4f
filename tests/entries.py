"""Scores as they are stored, made up: for tests of what keeps them."""

from __future__ import annotations

import hashlib
from itertools import count

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from alama.core.lending.policy import Decision
from alama.platform import ids
from alama.platform.book import Book, Mode
from alama.scoring.records import (
    Entry,
    IdempotencyRow,
    ScoreRow,
    StoredScore,
    UnknownScore,
    Unsealed,
)
from alama.vault.ring import Ring

NOON_US = 1_794_744_000_000_000
"""2026-11-15 12:00 UTC."""

DEMO = Book("demo", Mode.TEST)
LIVE = Book("demo", Mode.LIVE)
UMOJA = Book("umoja", Mode.TEST)

_numbers = count()


def a_request_id(at_us: int = NOON_US) -> str:
    """An id that no other call has given; ids of one moment sort as they were given."""
    return ids.request_id(at_us, next(_numbers).to_bytes(ids.RANDOM_BYTES, "big"))


def nothing_stored(_book: Book, _request_id: str) -> StoredScore:
    """Find no score, whichever it is."""
    raise UnknownScore


def an_entry(
    book: Book = DEMO,
    *,
    at_us: int = NOON_US,
    idempotency_key: str | None = None,
    request: str = "",
    request_id: str | None = None,
    decision: Decision = Decision.APPROVED,
    limit: float = 12_500.0,
    expected_loss: float = 250.5,
) -> Entry:
    """A score of a book; with an idempotency key its reply is kept too, `reply to <request_id>`.

    The key that it came with stands nowhere: the commit seals it under that of its lender, which
    `tests.stores.lenders_in` makes.
    """
    request_id = request_id or a_request_id(at_us)
    score = ScoreRow(
        lender=book.lender,
        mode=book.mode.value,
        request_id=request_id,
        created_us=at_us,
        key_id="key_1",
        model_id="sha256:model",
        policy_id="sha256:policy",
        score=661,
        tier="B",
        default_probability=0.049,
        decision=decision.value,
        recommended_limit=limit,
        recommended_term_days=60,
        recommended_apr=36.5,
        processing_ms=1,
        seal_key_id=None,
        sealed=b"",
        expected_loss=expected_loss,
        applicant_key_id=None,
    )
    ring = Ring(book.lender, "vk_gone", AESGCM(bytes(32)), bytes(32))
    if idempotency_key is None:
        return Entry(score, None, b"d" * 32, Unsealed(None, ring, b"{}", None))
    idempotency = IdempotencyRow(
        lender=book.lender,
        mode=book.mode.value,
        operation="score",
        key_digest=hashlib.sha256(idempotency_key.encode()).digest(),
        request_digest=hashlib.sha256(request.encode()).digest(),
        request_id=request_id,
        created_us=at_us,
        seal_key_id=None,
        reply=b"",
        applicant_key_id=None,
    )
    reply = b"reply to " + request_id.encode()
    return Entry(score, idempotency, b"d" * 32, Unsealed(None, ring, b"{}", reply))
