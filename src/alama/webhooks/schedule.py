"""What follows from an attempt: delivered, tried again later, given up, or an endpoint's end.

Pure: the time and the chance that spreads attempts are arguments.
"""

from __future__ import annotations

import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final, NamedTuple

from alama.webhooks.records import DisabledReason, SendError, Verdict

OURS: Final = frozenset(
    {
        SendError.URL_REFUSED,
        SendError.SECRET_UNREADABLE,
        SendError.NAMES_BUSY,
        SendError.DEFECT,
    }
)
"""These say nothing of the receiver."""


WAITS_S: Final = (
    5,
    60,
    5 * 60,
    30 * 60,
    2 * 3_600,
    5 * 3_600,
    10 * 3_600,
    14 * 3_600,
    20 * 3_600,
    24 * 3_600,
)
"""After the first attempt, after the second, ... : about three days, then it is given up."""

ATTEMPTS_MAX: Final = len(WAITS_S) + 1

JITTER: Final = 0.1
"""Each wait is longer or shorter by up to this share: what failed together comes back apart."""

RETRY_AFTER_S_MAX: Final = 24 * 3_600
"""A receiver may ask us to wait, but not for ever."""

LEFT_ALONE_S_MAX: Final = 3_600
"""For which an endpoint is left alone at its own wish: each delivery may wait longer, but whether
all of them are to is asked again."""

FAILING_US_MAX: Final = 5 * 86_400 * 1_000_000
"""An endpoint that nothing has reached for so long is sent nothing more."""

ASKS_TO_WAIT: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_SECONDS: Final = re.compile(r"[0-9]+")
_HEADER_LENGTH_MAX: Final = 40
_SECOND_US: Final = 1_000_000


class Tried(NamedTuple):
    """One attempt, as far as what follows depends on it.

    `attempts` counts it and those before; `status` is None where no answer came, and `error` says
    why; `retry_after_s` is what the answer asked for; `failing_since_us` is what the endpoint was
    like before.
    """

    attempts: int
    status: int | None
    retry_after_s: int | None
    failing_since_us: int | None
    error: SendError | None = None


def verdict(tried: Tried, now_us: int, chance: float) -> Verdict:
    """Judge an attempt that ended now; `chance` is from 0 to 1."""
    if tried.status is not None and HTTPStatus.OK <= tried.status < HTTPStatus.MULTIPLE_CHOICES:
        return Verdict(delivered=True)
    if tried.error in OURS:
        # Never given up: whatever we cannot do, it is not the receiver who is to miss something.
        attempts = min(tried.attempts, ATTEMPTS_MAX - 1)
        return Verdict(delivered=False, next_us=now_us + _ours_us(attempts, chance), ours=True)
    wait = wait_us(tried.attempts, asked_s(tried), chance)
    return Verdict(
        delivered=False,
        next_us=None if wait is None else now_us + wait,
        disable=_proposed(tried, now_us),
    )


def asked_s(tried: Tried) -> int:
    """Give for how many seconds the receiver asks to be left alone; 0 where it does not."""
    if tried.status not in ASKS_TO_WAIT:
        return 0
    return tried.retry_after_s or 0


def _proposed(tried: Tried, now_us: int) -> DisabledReason | None:
    if tried.status == HTTPStatus.GONE:
        return DisabledReason.GONE
    return DisabledReason.FAILING if failing_too_long(tried.failing_since_us, now_us) else None


def failing_too_long(since_us: int | None, now_us: int) -> bool:
    """Say whether an endpoint that has failed since a time, if it has, is to be disabled."""
    return since_us is not None and now_us - since_us >= FAILING_US_MAX


def wait_us(attempts: int, asked_s: int, chance: float) -> int | None:
    """Give the wait after so many attempts; None: there is no other.

    What the receiver asked for, in seconds, makes it longer, never shorter.
    """
    assert attempts >= 1
    assert 0 <= chance <= 1
    if attempts >= ATTEMPTS_MAX:
        return None
    return max(_ours_us(attempts, chance), min(asked_s, RETRY_AFTER_S_MAX) * _SECOND_US)


def _ours_us(attempts: int, chance: float) -> int:
    return round(WAITS_S[attempts - 1] * _SECOND_US * (1 + JITTER * (2 * chance - 1)))


def retry_after_s(header: str, now_us: int) -> int | None:
    """Read a Retry-After header, seconds or a date, as whole seconds from now; None: it is neither.

    Never below zero, and never beyond `RETRY_AFTER_S_MAX`.
    """
    text = header.strip()
    if len(text) > _HEADER_LENGTH_MAX:
        return None
    if _SECONDS.fullmatch(text):
        return min(int(text), RETRY_AFTER_S_MAX)
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        wait_s = moment.timestamp() - now_us / _SECOND_US
    except (ValueError, OverflowError):
        return None
    return min(max(0, round(wait_s)), RETRY_AFTER_S_MAX)
