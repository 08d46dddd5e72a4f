"""What is kept of a score, and what a replay of it needs.

A row is a tuple in the order of its columns, ready for the driver: on the hot path nothing is
turned into anything else on its way to the database.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from alama.core.assess import Assessment
from alama.service.errors import StoreUnfit

IDEMPOTENCY_KEPT_US: Final = 72 * 3600 * 1_000_000
"""How long a retry finds the reply of the first request."""


class ScoreRow(NamedTuple):
    """One score as stored. What the applicant said is in `sealed` alone.

    `seal_key_id` names the key that `sealed` is encrypted under; None: it is not encrypted.
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
    seal_key_id: str | None
    sealed: bytes
    expected_loss: float


class Sealed(msgspec.Struct, frozen=True):
    """The body as it was sent, byte for byte, and everything that was concluded from it.

    Kept as MessagePack: numbers stay what they are, and it is written in half the time of JSON.
    """

    application: bytes
    assessment: Assessment


class StoredApplication(NamedTuple):
    """What the applicant of a score said, and what was concluded, as `ScoreRow` has it."""

    request_id: str
    sealed: bytes


seal: Final = msgspec.msgpack.Encoder().encode
_unseal: Final = msgspec.msgpack.Decoder(Sealed).decode


def unseal(row: ScoreRow | StoredApplication) -> Sealed:
    """Read what was kept of a score, or raise `StoreUnfit`."""
    try:
        return _unseal(row.sealed)
    except msgspec.DecodeError as error:
        raise StoreUnfit(
            f"the record of {row.request_id} is damaged", hint="restore it from a backup"
        ) from error


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


class Entry(NamedTuple):
    """What one request asks to be kept, all of it or nothing."""

    score: ScoreRow
    idempotency: IdempotencyRow | None = None


class Earlier(NamedTuple):
    """An answer that was given before, under the same idempotency key."""

    request_digest: bytes
    request_id: str
    reply: bytes


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
