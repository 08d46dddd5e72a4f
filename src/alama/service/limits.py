"""How often a key may ask: a steady rate, and a burst above it."""

from __future__ import annotations

from typing import Final

import msgspec

from alama.service.errors import TooManyRequests

_US_PER_SECOND: Final = 1_000_000


class Standing(msgspec.Struct, frozen=True):
    """How a key stands after a request: requests left right now, seconds until all are back."""

    remaining: int
    full_in_s: int


class RateLimit:
    """Counts the requests of each key in this process.

    The bucket of a key is kept as one number, the time at which it will be full again: each request
    moves it by the time that one request is worth, and a key that would owe more than a burst has
    to wait.

    Times are whole numbers of `per_second`-ths of a microsecond, so that a request is worth exactly
    a million of them. As fractions of a second they would not add up to a burst.
    """

    def __init__(self, per_second: int, burst: int) -> None:
        """Allow a key `per_second` requests, and `burst` of them at once."""
        self.per_second = per_second
        self.burst = burst
        self._depth = burst * _US_PER_SECOND
        self._second = per_second * _US_PER_SECOND
        self._full_at: dict[str, int] = {}

    def take(self, key_id: str, now_us: int) -> Standing:
        """Count one request, or raise `TooManyRequests`, which counts nothing.

        The time is of a stopwatch: a clock that is set back would keep a key waiting for the step.
        """
        now = now_us * self.per_second
        full_at = max(self._full_at.get(key_id, 0), now) + _US_PER_SECOND
        owed = full_at - now
        if owed > self._depth:
            raise TooManyRequests(self._whole_seconds(owed - self._depth))
        self._full_at[key_id] = full_at
        return Standing((self._depth - owed) // _US_PER_SECOND, self._whole_seconds(owed))

    def _whole_seconds(self, owed: int) -> int:
        """Give whole seconds, rounded up; what is owed is never nothing."""
        return -(-owed // self._second)
