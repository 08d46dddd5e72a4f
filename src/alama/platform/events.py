"""Events: what is announced. A payload names ids and what was decided, never an applicant's data.

The bytes of a payload are made once, in the transaction of what they speak of: what is signed and
sent is the same each time, to everyone.
"""

from __future__ import annotations

import time
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from alama.platform import ids

if TYPE_CHECKING:
    from alama.platform.book import Book

PREFIX: Final = "evt_"

_encode: Final = msgspec.json.Encoder().encode


class EventKind(StrEnum):
    """What can be announced."""

    SCORE_CREATED = "score.created"
    SCORE_REVIEWED = "score.reviewed"
    OUTCOME_RECORDED = "outcome.recorded"
    MODEL_ACTIVATED = "model.activated"
    DRIFT_DETECTED = "model.drift_detected"
    POLICY_ACTIVATED = "policy.activated"
    ENDPOINT_DISABLED = "webhook_endpoint.disabled"
    TEST = "webhook.test"


class Event(NamedTuple):
    """One event as stored, in the order of its columns.

    `subject_id` names what it speaks of: a score, a model, a policy or an endpoint. `payload` is
    what is sent, byte for byte.
    """

    id: str
    lender: str
    mode: str
    kind: str
    subject_id: str
    created_us: int
    payload: bytes


def event(
    book: Book, kind: EventKind, subject_id: str, data: dict[str, Any], at_us: int, chance: bytes
) -> Event:
    """Make an event of what happened in a book at a time; `chance` is seven random bytes."""
    lender, mode = book.lender, book.mode._value_  # `value` is slow on Python 3.11
    happened = {
        "type": kind._value_,
        "timestamp": moment(at_us),
        "data": {"mode": mode, **data},
    }
    event_id = ids.sortable(PREFIX, at_us, chance)
    return Event(event_id, lender, mode, kind._value_, subject_id, at_us, _encode(happened))


class ScoreGiven(msgspec.Struct, frozen=True, gc=False):
    """What is announced of a score: how it was decided, and nothing that the applicant said."""

    mode: str
    request_id: str
    score: int
    tier: str
    decision: str
    model: str
    policy: str


class _Announced(msgspec.Struct, frozen=True, gc=False):
    type: str
    timestamp: str
    data: ScoreGiven


def score_created(lender: str, given: ScoreGiven, at_us: int) -> Event:
    """Make the event of a score as `event` would, in half the time: every score has one.

    It is named after the score: there is no other event of it.
    """
    kind, request_id = EventKind.SCORE_CREATED._value_, given.request_id
    payload = _encode(_Announced(kind, moment(at_us), given))
    event_id = PREFIX + request_id[len(ids.PREFIX) :]
    return Event(event_id, lender, given.mode, kind, request_id, at_us, payload)


def moment(at_us: int) -> str:
    """Write a time as RFC 3339 does, UTC, with all six decimals."""
    second, fraction_us = divmod(at_us, 1_000_000)
    return f"{_second(second)}.{fraction_us:06d}Z"


@lru_cache(maxsize=4)
def _second(second: int) -> str:
    # Some thousand scores share one.
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
