"""What a process tells of its clock: leaps, and a host whose own clock is wrong."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from alama.platform.clock import Leap
    from alama.platform.telemetry.log import Log


HINT: Final = (
    "set the clock of its machine; if the time is right as it is, `alama clock accept`. `alama "
    "clock` shows what is seen"
)
AHEAD: Final = "nothing is deleted, and nothing expires by this time"
BEHIND: Final = "nothing is deleted; stamps and ends of keys go by the last time seen"
HOST_HINT: Final = "have the clock of this host set by a time server: chrony, or systemd-timesyncd"

_SECOND_US: Final = 1_000_000


class ClockGauges:
    """The figures of the clock of one process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Make every metric in a registry that has none of them yet."""
        # Not at the top: nobody waits for a library that is not used.
        from prometheus_client import Gauge  # noqa: PLC0415

        self.leap = Gauge(
            "alama_clock_leap_seconds",
            "By how much the time is off from what is trusted; 0 where nothing waits for a person.",
            multiprocess_mode="livemax",
            registry=registry,
        )
        self.host = Gauge(
            "alama_clock_host_seconds",
            "By how much the clock of this host is off from that of the database; 0 up to 30.",
            multiprocess_mode="livemax",
            registry=registry,
        )


@functools.cache
def clock_gauges(registry: CollectorRegistry) -> ClockGauges:
    """Give those of a registry: what serves and what delivers may share a process."""
    return ClockGauges(registry)


class ClockWatch:
    """Lines of a log, and figures where they are wanted."""

    def __init__(self, log: Log, gauges: ClockGauges | None) -> None:
        """Take where to tell."""
        self._log = log
        self._gauges = gauges

    def leapt(self, leap: Leap | None) -> None:
        """Note the leap that stands now, or that none does any more."""
        ahead_s = 0 if leap is None else leap.ahead_us // _SECOND_US
        if self._gauges is not None:
            self._gauges.leap.set(abs(ahead_s))
        if leap is None:
            self._log.note("clock_trusted")
        else:
            message = AHEAD if leap.ahead_us > 0 else BEHIND
            self._log.doubt("clock_leapt", ahead_s=ahead_s, message=message, hint=HINT)

    def host_differs(self, ahead_us: int) -> None:
        """Note by how much the clock of the host is off; nothing where it is right again."""
        ahead_s = ahead_us // _SECOND_US
        if self._gauges is not None:
            self._gauges.host.set(abs(ahead_s))
        if ahead_us:
            self._log.doubt("clock_differs", ahead_s=ahead_s, hint=HOST_HINT)
        else:
            self._log.note("clock_agrees")
