"""When to send again, and how fast many requests may go."""

from __future__ import annotations

import random
import re
import threading
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from alama_client import errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from alama_client.calls import Call, Reply

    Now = Callable[[], float]

TOO_MANY_REQUESTS = 429
NOBODY_KNOWS = frozenset({408, 500, 502, 503, 504})
"""What does no harm when it is done twice may be sent again."""
NOTHING_WAS_DONE = (errors.Busy, errors.IdempotencyInFlight)
"""So everything may be sent again."""

FIRST_WAIT_S = 0.5
WAIT_S_MAX = 8.0
ANSWERED_WAIT_S_MIN = 1.0
JITTER_MAX = 1.25
"""Waits are longer by chance, so that those who were refused together do not come together."""


class Tries:
    """The attempts of one call: how long each may take, and when the next may begin."""

    def __init__(
        self, call: Call[Any], now: Now, retries: int, timeout: float, total_timeout: float
    ) -> None:
        self._call = call
        self._now = now
        self._left = retries
        self._timeout = timeout
        self._deadline = now() + total_timeout
        self._backoff_s = FIRST_WAIT_S

    def timeout(self) -> float:
        """Seconds that the next attempt may take."""
        return max(0.001, min(self._timeout, self._deadline - self._now()))

    def wait(self, error: errors.AlamaError, *, for_free: bool = False) -> float:
        """Seconds until the next attempt; raises the error where there is to be none."""
        if not self._again(error) or (self._left == 0 and not for_free):
            raise error
        self._left -= not for_free
        wait_s = error.retry_after
        if wait_s is None:
            least_s = 0.0 if error.status is None else ANSWERED_WAIT_S_MIN
            wait_s = max(self._backoff_s, least_s)
        self._backoff_s = min(2 * self._backoff_s, WAIT_S_MAX)
        wait_s *= random.uniform(1, JITTER_MAX)  # noqa: S311  it keeps no secret
        if self._now() + wait_s >= self._deadline:
            raise error
        return wait_s

    def _again(self, error: errors.AlamaError) -> bool:
        if isinstance(error, errors.ConnectionFailed):
            return self._call.repeatable or not error.was_sent
        if isinstance(error, NOTHING_WAS_DONE) or error.status == TOO_MANY_REQUESTS:
            return True
        return self._call.repeatable and error.status in NOBODY_KNOWS


class Pace:
    """How fast many requests may go: as many as `RateLimit` says are left, then one by one."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._left = 0.0
        self._left_at = 0.0
        self._left_max = 0.0
        self._per_s = 0.0
        """How many come back in a second; none while nothing is known."""
        self._on_their_way = 0
        self._closed_until = 0.0

    def take_turn(self) -> float:
        """Count a request that is about to go; the seconds that it has to wait before it does."""
        with self._lock:
            self._on_their_way += 1
            if not self._per_s:
                return self.closed_s()
            now = self._now()
            come_back = (now - self._left_at) * self._per_s
            self._left = min(self._left_max, self._left + come_back) - 1
            self._left_at = now
            return max(self.closed_s(), -self._left / self._per_s)

    def closed_s(self) -> float:
        """Seconds until anybody may send, after somebody was refused."""
        return max(0.0, self._closed_until - self._now())

    def heard(self, reply: Reply | None) -> None:
        """Count a request whose answer has come, or never will."""
        with self._lock:
            self._on_their_way -= 1
            if reply is None:
                return
            left = _LEFT.search(reply.headers.get("ratelimit", ""))
            policy = _POLICY.search(reply.headers.get("ratelimit-policy", ""))
            if left and policy:
                self._left_max = float(policy[1])
                self._per_s = self._left_max / float(policy[2])
                self._left = float(left[1]) - self._on_their_way
                self._left_at = self._now()
            if reply.status == TOO_MANY_REQUESTS:
                told_s = seconds(reply.headers.get("retry-after"))
                wait_s = ANSWERED_WAIT_S_MIN if told_s is None else told_s
                self._closed_until = max(self._closed_until, self._now() + wait_s)


_LEFT = re.compile(r";\s*r=(\d+)")
_POLICY = re.compile(r";\s*q=([1-9]\d*);\s*w=([1-9]\d*)")


def seconds(retry_after: str | None) -> float | None:
    """Read a `Retry-After`, which is in seconds or a date; None where it is neither."""
    if retry_after is None:
        return None
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None
