"""Admission: whose key it is, what it may do, and whether it has asked too often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.service.errors import KeyMissing, KeyRefused

if TYPE_CHECKING:
    from alama.api.exchange import Call, Headers
    from alama.service.directory import Caller, Directory
    from alama.service.keys import Scope
    from alama.service.limits import RateLimit


class Admission:
    """Stands before every endpoint that needs a key."""

    def __init__(self, directory: Directory, limit: RateLimit) -> None:
        """Know the keys and how often they may ask."""
        self._directory = directory
        self._limit = limit
        window_s = max(1, round(limit.burst / limit.per_second))
        self._policy = (b"ratelimit-policy", f'"key";q={limit.burst};w={window_s}'.encode())

    async def admit(self, call: Call, scope: Scope) -> tuple[Caller, Headers]:
        """Recognise the caller, or raise; the headers tell how the key stands with its rate."""
        caller = await self._directory.caller(_bearer(call))
        standing = self._limit.take(caller.key.id, call.arrival.at_us)
        caller.may(scope)
        remaining = f'"key";r={standing.remaining};t={standing.full_in_s}'
        return caller, [self._policy, (b"ratelimit", remaining.encode())]


def _bearer(call: Call) -> str:
    header = call.headers.get(b"authorization")
    if header is None:
        raise KeyMissing
    scheme, _, token = header.partition(b" ")
    if scheme.lower() != b"bearer" or not token.strip():
        raise KeyMissing
    try:
        return token.strip().decode("ascii")
    except UnicodeDecodeError:
        raise KeyRefused("this is not an Alama key") from None
