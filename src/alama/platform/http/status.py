"""Is it up? /v1/health is for callers, /livez for whoever restarts it, /readyz for traffic."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, Protocol

import msgspec
from msgspec import UNSET, Meta, UnsetType

from alama import __version__
from alama.platform.errors import RETRY_AFTER_S, MasterKeyMissing, StoreUnavailable
from alama.platform.http import operation
from alama.platform.http.exchange import JSON, PRIVATE, Call, Reply
from alama.platform.http.operation import Json, Operation, Success, reference
from alama.platform.timeouts import FRESH_US, run_with_timeout

if TYPE_CHECKING:
    from alama.platform.clock import Stopwatch


class Pulse(Protocol):
    """A database that can be asked how it is; both raise `StoreUnavailable` if it is not well."""

    def ping(self) -> None:
        """Read something."""

    def write_something(self) -> None:
        """Write something, durably; scores that were refused a moment ago say enough."""


class Keeping(Protocol):
    """Whoever keeps scores."""

    @property
    def failing(self) -> bool:
        """Whether the last scores could not be kept."""
        ...


class Unlocking(Protocol):
    """Whoever has the keys."""

    def own_master(self) -> object:
        """Look for the master key of the database; `MasterKeyMissing` if it is not at hand."""
        ...


class Report(NamedTuple):
    """How it is; no reason means that all is well."""

    reason: str | None


class HealthCheck:
    """Watches what scoring depends on. One instance lives in one event loop."""

    def __init__(
        self, pulse: Pulse, keeping: Keeping, keys: Unlocking, stopwatch: Stopwatch
    ) -> None:
        self._pulse = pulse
        self._keeping = keeping
        self._keys = keys
        self._stopwatch = stopwatch
        self._report = Report("starting")
        self._asked_us: int | None = None
        self._asking: asyncio.Task[Report] | None = None

    async def report(self) -> Report:
        """Say whether scores can be given and kept right now."""
        now_us = self._stopwatch()
        stale = self._asked_us is None or now_us - self._asked_us >= FRESH_US
        if self._asking is None and stale:
            self._asked_us = now_us
            self._asking = asyncio.create_task(self._ask())
            self._asking.add_done_callback(self._answered)
        # Whoever asks meanwhile waits for the same answer: an older one might be too good.
        return self._report if self._asking is None else await asyncio.shield(self._asking)

    def _answered(self, asking: asyncio.Task[Report]) -> None:
        self._asking = None
        if not asking.cancelled():
            self._report = asking.result()

    async def _ask(self) -> Report:
        # Where keeping has failed, it is only the write that can tell whether it would again.
        ask = self._pulse.write_something if self._keeping.failing else self._read_and_write
        try:
            await run_with_timeout(ask)
        except (StoreUnavailable, MasterKeyMissing) as error:
            return Report(str(error))
        return Report(None)

    def _read_and_write(self) -> None:
        self._pulse.ping()
        self._keys.own_master()
        self._pulse.write_something()


_ALIVE: Final = b'{"status":"ok"}'


class Health(msgspec.Struct, frozen=True):
    """Whether the service can serve, and if not, why."""

    status: Annotated[str, Meta(description="ok or unavailable.")]
    version: Annotated[str | UnsetType, Meta(description="Of Alama.")] = UNSET
    model: Annotated[
        str | UnsetType, Meta(description="Content hash of the model that answers test keys.")
    ] = UNSET
    reason: Annotated[str | UnsetType, Meta(description="What is in the way.")] = UNSET


_STATUS: Final = {
    200: Success(
        "Scores can be given and kept.",
        reference("Health"),
        operation.JSON,
        ("Cache-Control",),
        ("health",),
    ),
    503: Success(
        "Scores cannot be given or kept right now; `reason` says why.",
        reference("Health"),
        operation.JSON,
        ("Cache-Control", "Retry-After"),
        ("unhealthy",),
    ),
}


class StatusEndpoints:
    """Answers without a key."""

    def __init__(self, health: HealthCheck, model_id: str) -> None:
        self._health = health
        self._well = msgspec.json.encode(Health("ok", version=__version__, model=model_id))

    @Operation(
        path="/v1/health",
        method="GET",
        id="getHealth",
        tag="Status",
        summary="Ask whether scores can be given",
        description="Asks the database itself, at most once a second.",
        replies=_STATUS,
    )
    @Operation(
        path="/readyz",
        method="GET",
        id="getReadiness",
        tag="Status",
        summary="Ask whether to send traffic here",
        description="The same answer as `/v1/health`, where load balancers look for it.",
        replies=_STATUS,
        for_operators=True,
    )
    async def health(self, _: Call) -> Reply:
        report = await self._health.report()
        if report.reason is None:
            return Reply(200, [JSON, PRIVATE], self._well)
        body = msgspec.json.encode(Health("unavailable", reason=report.reason))
        retry_after = (b"retry-after", str(RETRY_AFTER_S).encode())
        return Reply(503, [JSON, PRIVATE, retry_after], body)

    @Operation(
        path="/livez",
        method="GET",
        id="getLiveness",
        tag="Status",
        summary="Ask whether the process answers",
        description="Touches nothing but the process itself: restart it if there is no answer.",
        replies={
            200: Success(
                "It does.", reference("Health"), operation.JSON, ("Cache-Control",), ("alive",)
            )
        },
        for_operators=True,
    )
    async def alive(self, _: Call) -> Reply:
        return Reply(200, [JSON, PRIVATE], _ALIVE)


def examples(model_id: str) -> dict[str, Json]:
    """Give the bodies of replies by name."""
    told = {
        "health": {"status": "ok", "version": __version__, "model": model_id},
        "unhealthy": {"status": "unavailable", "reason": "the database did not answer in time"},
        "alive": {"status": "ok"},
    }
    return {name: {"value": value} for name, value in told.items()}
