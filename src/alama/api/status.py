"""Is it up? /v1/health is for callers, /livez for whoever restarts it, /readyz for traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from alama import __version__
from alama.api.exchange import JSON, PRIVATE, Reply
from alama.api.wire import Health as HealthReply
from alama.service.errors import RETRY_AFTER_S

if TYPE_CHECKING:
    from alama.api.exchange import Call
    from alama.service.health import Health

OPERATORS: Final = frozenset({"/livez", "/readyz"})
"""Paths for whoever runs the service, which have no second one below a prefix."""

_ALIVE: Final = b'{"status":"ok"}'


class StatusEndpoints:
    """Answers without a key."""

    def __init__(self, health: Health, model_id: str) -> None:
        """Know whom to ask, and which model answers test keys."""
        self._health = health
        self._well = msgspec.json.encode(HealthReply("ok", version=__version__, model=model_id))

    async def health(self, _: Call) -> Reply:
        """GET /v1/health and /readyz: whether scores can be given and kept."""
        report = await self._health.report()
        if report.reason is None:
            return Reply(200, [JSON, PRIVATE], self._well)
        body = msgspec.json.encode(HealthReply("unavailable", reason=report.reason))
        retry_after = (b"retry-after", str(RETRY_AFTER_S).encode())
        return Reply(503, [JSON, PRIVATE, retry_after], body)

    async def alive(self, _: Call) -> Reply:
        """GET /livez: the process answers; nothing else is asked."""
        return Reply(200, [JSON, PRIVATE], _ALIVE)
