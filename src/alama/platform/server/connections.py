"""The connections of one process: how long each may take, and how many there may be.

Nothing here needs a proxy in front. A timer for each request would cost more than the rest of it,
so one sweep a second looks at what every connection has noted as its deadline.
"""

from __future__ import annotations

import asyncio
import os
import resource
from collections import Counter
from ipaddress import IPv6Address
from typing import Final, NamedTuple, Protocol

DESCRIPTORS_MAX: Final = 8_192
"""As many as a process takes where it may take more."""

AGAIN_S: Final = 0.05
"""How long nobody is looked for who could make room, once there was none."""

TOLD_EVERY_S: Final = 60.0
"""While connections are used up, a line of the log for each such time."""


class Limits(NamedTuple):
    """What a caller may take before it has shown a key."""

    head_bytes: int = 32 * 1024
    """Of a request line with its headers; of what stands between the chunks of a body, and after
    them."""
    headers: int = 100
    """Of one head: each takes more room than its bytes do."""
    head_s: float = 10.0
    """From the first byte of a head to its last; of the first head, from the connection's start."""
    body_s: float = 30.0
    """From the end of a head to the end of its body."""
    body_bytes_s: int = 16 * 1024
    """For so many bytes of a body that have come, a second more."""
    reply_s: float = 30.0
    """For a caller to read more of a reply."""
    ahead: int = 100
    """Requests that are sent before those in front of them are answered."""
    connections: int = 4_096
    """However many descriptors there are: a caller who does not read costs some hundred KiB."""
    descriptors_kept: int = 96
    """For everything but connections: the database, the log, metrics, jobs."""
    health: int = 16
    """Of those, for connections that ask for nothing but health."""
    address_share: int = 4
    """One address may have the whole divided by this without a whole head."""
    sweep_s: float = 1.0


class ConnectionWatch(Protocol):
    """Whoever keeps logs and metrics."""

    def dropped(self, reason: str) -> None:
        """Note that a connection was closed before its time."""

    def connections_used_up(self, reason: str, open_now: int, limit: int, dropped: int) -> None:
        """Note that there is no room for more of them; `dropped` since this was noted last."""


class Connection(Protocol):
    """One of them, as `alama.platform.server.protocol.Protocol` is one."""

    place: str
    """Where it comes from."""
    due_s: float
    """When `expire` is to be called, by the clock of the loop."""

    @property
    def watch(self) -> ConnectionWatch:
        """Whom to tell."""
        ...

    @property
    def is_waiting(self) -> bool:
        """Whether it is its caller's turn: to send a request, the rest of one, or to read."""
        ...

    def expire(self) -> None:
        """End what has taken too long."""

    def cut(self) -> None:
        """Close at once."""


class Connections:
    """All connections of this process. Lives in one event loop, from the first of them on."""

    def __init__(self, limits: Limits = Limits(), descriptors: int | None = None) -> None:  # noqa: B008  a tuple
        """Take the limits, and how many descriptors there are; None: as many as the system says."""
        self.limits = limits
        self.now_s = 0.0
        """No earlier than now, and at most two sweeps later."""
        self._descriptors = descriptors
        self._limit = 0
        self._limit_each = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: dict[Connection, None] = {}
        self._fresh: dict[str, dict[Connection, None]] = {}
        """Those without a whole head yet, by where they come from, the oldest first."""
        self._nobody_waits_until_s = 0.0
        self._dropped = 0
        self._told_s = -TOLD_EVERY_S

    def opened(self, connection: Connection) -> bool:
        """Count one in, and make room for it; False where it may ask for nothing but health.

        Who waits goes first: the address that has most waiting, and of that who is due soonest.
        """
        if self._loop is None:
            self._begin(asyncio.get_running_loop())
        connection.due_s = self.now_s + self.limits.head_s
        fresh = self._fresh.setdefault(connection.place, {})
        if len(fresh) >= self._limit_each:
            self._used_up("address", connection)
            self._drop(next(iter(fresh)), "address")
        self._open[connection] = None
        # Looked up again: it is gone where the only one in it was dropped.
        self._fresh.setdefault(connection.place, {})[connection] = None
        if len(self._open) <= self._limit:
            return True
        self._used_up("all", connection)
        self._make_room(connection)
        over = len(self._open) - self._limit
        if over > self.limits.health:
            self._drop(connection, "all")
        return over <= 0

    def settled(self, connection: Connection) -> None:
        """Note that a connection has sent its first whole head."""
        fresh = self._fresh.get(connection.place)
        if fresh is not None:
            fresh.pop(connection, None)
            if not fresh:
                del self._fresh[connection.place]

    def closed(self, connection: Connection) -> None:
        """Count one out; once more does no harm."""
        self._open.pop(connection, None)
        self.settled(connection)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        descriptors = self._descriptors or descriptors_now()
        kept = min(self.limits.descriptors_kept, descriptors // 2)
        self._limit = min(max(descriptors - kept, 1), self.limits.connections)
        self._limit_each = max(self._limit // self.limits.address_share, 1)
        self._loop = loop
        self._sweep()

    def _sweep(self) -> None:
        assert self._loop is not None
        self._loop.call_later(self.limits.sweep_s, self._sweep)
        now_s = self._loop.time()
        self.now_s = now_s + self.limits.sweep_s
        for connection in [one for one in self._open if one.due_s <= now_s]:
            connection.expire()
        if self._open:
            self._look_for_a_descriptor()

    def _look_for_a_descriptor(self) -> None:
        """See whether one is left: what cannot be accepted for want of it, nobody is told of."""
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            self._used_up("descriptors", next(iter(self._open)))
            self._make_room(None)

    def _make_room(self, new: Connection | None) -> None:
        """Drop a sixteenth of all at once, so that a flood does not look through all for each.

        Where nobody waits there is nobody to drop, and it is looked again a moment later.
        """
        assert self._loop is not None
        now_s = self._loop.time()
        if now_s < self._nobody_waits_until_s:
            return
        waiting = [one for one in self._open if one is not new and one.is_waiting]
        if not waiting:
            self._nobody_waits_until_s = now_s + AGAIN_S
        held = Counter(one.place for one in waiting)
        waiting.sort(key=lambda one: (-held[one.place], one.due_s))
        for one in waiting[: max(self._limit // 16, 1)]:
            self._drop(one, "all")

    def _drop(self, connection: Connection, reason: str) -> None:
        self._dropped += 1
        connection.watch.dropped(reason)
        connection.cut()
        self.closed(connection)

    def _used_up(self, reason: str, connection: Connection) -> None:
        if self.now_s - self._told_s < TOLD_EVERY_S:
            return
        self._told_s = self.now_s
        connection.watch.connections_used_up(reason, len(self._open), self._limit, self._dropped)
        self._dropped = 0


def place_of(client: tuple[str, int] | None) -> str:
    """Give where a connection comes from: an address, or of IPv6 the network of one customer."""
    if client is None:
        return ""
    address = client[0]
    if ":" not in address or address.startswith("::ffff:"):
        return address
    return IPv6Address(address.partition("%")[0]).packed[:8].hex()


def take_descriptors() -> None:
    """Let this process, and those that it starts, have as many descriptors as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = DESCRIPTORS_MAX if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_MAX)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def descriptors_now() -> int:
    """Give how many descriptors this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return DESCRIPTORS_MAX if soft == resource.RLIM_INFINITY else min(soft, DESCRIPTORS_MAX)
