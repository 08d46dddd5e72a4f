"""Admission: whose key it is, what it may do, and whether it has asked too often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.platform.errors import KeyMissing, KeyRefused

if TYPE_CHECKING:
    from alama.lenders.limits import RateLimit
    from alama.platform.book import Scope
    from alama.platform.http.exchange import Call, Headers
    from alama.scoring.directory import Caller, Directory


class Admission:
    """Stands before every endpoint that needs a key."""

    def __init__(self, directory: Directory, limit: RateLimit) -> None:
        self._directory = directory
        self.limit = limit
        window_s = max(1, round(limit.burst / limit.per_second))
        self._policy = (b"ratelimit-policy", f'"key";q={limit.burst};w={window_s}'.encode())
        self._used_up = [self._policy, (b"ratelimit", f'"key";r=0;t={window_s}'.encode())]

    async def admit(self, call: Call, scope: Scope | None) -> tuple[Caller, Headers]:
        """Recognise the caller, or raise; the headers tell how the key stands with its rate.

        Without a scope any key will do.
        """
        caller = call.caller = await self._directory.caller(_bearer(call))
        call.rate = self._used_up  # stands where the next line refuses
        # By the stopwatch: a clock that is set back must keep nobody waiting.
        standing = self.limit.take(caller.key.id, int(call.arrival.started_s * 1e6))
        remaining = b'"key";r=%d;t=%d' % (standing.remaining, standing.full_in_s)
        call.rate = [self._policy, (b"ratelimit", remaining)]
        if scope is not None:
            caller.may(scope)
        return caller, call.rate


def _bearer(call: Call) -> str:
    header = call.headers.get(b"authorization")
    if header is None:
        raise KeyMissing
    scheme, _, rest = header.partition(b" ")
    token = rest.strip()
    if scheme.lower() != b"bearer" or not token:
        raise KeyMissing("the header Authorization is not that of a bearer key")
    try:
        return token.decode("ascii")
    except UnicodeDecodeError:
        raise KeyRefused("this is not an Alama key") from None
