"""The time of an installation: one clock in each process, anchored in a source.

The source is the clock of the database, or of the machine where the database is a file. Between two
looks at it a stopwatch carries the time on, so a host whose own clock is wrong stamps the right
time. What does not fit the stopwatch, or what was seen before the start, is a leap: nothing is
deleted and nothing expires by it until the source agrees again, or a person says that it is right.
docs/decisions/0021 says why.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple, Protocol

from alama.platform.days import DAY_US
from alama.platform.errors import StoreUnavailable
from alama.platform.timeouts import run_with_timeout

TOLERANCE_US: Final = 120_000_000
"""What a clock may be set by at once, back or ahead: time servers correct a few seconds."""

AHEAD_US_MAX: Final = DAY_US
"""How far ahead of the last time seen the time may be at a start. A retry finds its answer for
three days, so that two are left of them whatever the clock says."""

DRIFT: Final = 1_000
"""One part of so many may a clock run faster or slower than the stopwatch: Linux corrects by half
of that at most."""

LOOK_EVERY_S: Final = 5.0
"""How often a running process looks at its source: a leap is told that soon."""

HOST_US_MAX: Final = 30_000_000
"""How far the clock of a host may be off from that of its database before it is told."""

KEEP_EVERY_US: Final = 50_000_000
"""How old the last time seen may be while somebody looks."""


class Seen(NamedTuple):
    """The last time that a process was sure of, and how often a person has set it right.

    `leap_us` is by how much the source was ahead of it, where it leapt while a process ran; else 0.
    """

    at_us: int
    accepted: int = 0
    leap_us: int = 0


class SeenStore(Protocol):
    """Keeps the last time seen for all processes. May raise `StoreUnavailable`."""

    def seen(self) -> Seen | None:
        """Give it, or None where none was ever kept."""
        ...

    def latest_us(self, source_us: int) -> int | None:
        """Give when something was last done, as far as that is not after the source.

        But where the newest act of the audit is, by its number, give its time.
        """
        ...

    def keep(self, before: Seen | None, seen: Seen) -> None:
        """Replace what was seen before; where another process was quicker, leave it."""


class Leap(NamedTuple):
    """By how much the source is ahead of the time that is trusted; less than nothing: behind."""

    ahead_us: int


def leap_since(before: Seen | None, source_us: int) -> Leap | None:
    """Hold a time against the last one seen, with nothing to tell how long ago that was."""
    if before is None:
        return None
    met = _leap_met(before, source_us)
    if met is not None or -TOLERANCE_US <= source_us - before.at_us <= AHEAD_US_MAX:
        return met
    return Leap(source_us - before.at_us)


def _leap_met(before: Seen, source_us: int) -> Leap | None:
    """Give the leap that a running process has met, if it still shows.

    It is noted anew about once a minute, so the source is ahead by hardly more than it was.
    """
    more_us = source_us - before.at_us - before.leap_us
    still_shows = -TOLERANCE_US <= more_us <= KEEP_EVERY_US + TOLERANCE_US
    return Leap(before.leap_us) if before.leap_us and still_shows else None


class Time(Protocol):
    """Gives the time, in microseconds since 1970, UTC, and says how far it can be trusted."""

    def __call__(self) -> int:
        """Give the time that stamps."""
        ...

    def trusted(self) -> int:
        """Give the time that deletes and expires: the same, but for a leap nobody has confirmed."""
        ...

    @property
    def leap(self) -> Leap | None:
        """The leap that stands; while one does, nothing is deleted."""
        ...


class ClockWatch(Protocol):
    """Whom a process tells of its clock."""

    def leapt(self, leap: Leap | None) -> None:
        """Note the leap that stands now, or that none does any more."""

    def host_differs(self, ahead_us: int) -> None:
        """Note how far the clock of this host is ahead of the time; 0 where it is no more."""


class ProcessWatch(Protocol):
    """Whom a process tells what it finds."""

    @property
    def clock(self) -> ClockWatch: ...

    def chore_failed(self, chore: str, error: Exception) -> None:
        """Note that a look has failed; there will be another."""


class AnchoredClock:
    """The clock of one process. Any thread may read it, and any may have it look at its source."""

    def __init__(self, source: Clock, stopwatch_ns: Callable[[], int], store: SeenStore) -> None:
        """Hold the source against what was seen before; `StoreUnavailable` where neither answers.

        Behind that: the time goes on from there. Ahead by more than a day: it stamps by the source,
        since the service may have been off for long, and trusts what it has seen. In a leap that a
        running process has met: it has the time of that process.
        """
        self._source = source
        self._stopwatch_ns = stopwatch_ns
        self._store = store
        self._lock = threading.Lock()
        self._seen = store.seen()
        if self._seen is not None:
            self._anchor(self._seen)
            return
        latest_us = store.latest_us(source())
        self._anchor(None if latest_us is None else Seen(latest_us))
        with suppress(StoreUnavailable):  # it can be read, and whoever writes will tell
            self._keep()

    def __call__(self) -> int:
        """Give the time that stamps. It goes back by the tolerance at most, but for two cases.

        Those are the consent of a person, and the end of a leap ahead at the start.
        """
        return self._offset_us + self._stopwatch_ns() // 1_000

    def trusted(self) -> int:
        """Give the time that deletes and expires.

        Without consent it is never ahead of the stopwatch by more than the tolerance, and a
        thousandth, each day.
        """
        return self._trusted_us + self._stopwatch_ns() // 1_000

    @property
    def leap(self) -> Leap | None:
        """The leap that stands."""
        return self._leap

    def source_us(self) -> int:
        """Give the time of the source, whatever it says; `StoreUnavailable`."""
        return self._source()

    def look(self) -> None:
        """Hold the time against its source, and keep it for others; `StoreUnavailable`.

        For who does so every few seconds, since others go by what is kept.
        """
        with self._lock:
            seen = self._store.seen()
            accepted = self._seen.accepted if self._seen is not None else 0
            self._seen = seen
            if seen is not None and seen.accepted != accepted:
                self._anchor(seen)
            else:
                self._compare(seen)
            self._keep()

    def accept(self) -> tuple[int, int]:
        """Take the time of the source for right, in this process; the time before, and now."""
        with self._lock:
            before_us = self()
            self._anchor(None)
            return before_us, self()

    def _anchor(self, before: Seen | None) -> None:
        """Begin with the source, held against a time that is known to have passed."""
        source_us, at_us, _ = self._ask()
        leap = leap_since(before, source_us)
        trusted_us = source_us if leap is None else source_us - leap.ahead_us
        is_met = before is not None and _leap_met(before, source_us) is not None
        stamped_us = trusted_us if is_met else max(source_us, trusted_us)
        self._set(stamped_us - at_us, trusted_us - at_us, leap)
        self._base_us, self._base_at_us = trusted_us, at_us

    def _compare(self, seen: Seen | None) -> None:
        """Follow the source where it fits the stopwatch, and carry on by that where it does not.

        Where another process has met a leap before this one was started, it knows better.
        """
        source_us, at_us, took_us = self._ask()
        elapsed_us = at_us - self._base_at_us
        expected_us = self._base_us + elapsed_us
        if abs(source_us - expected_us) > TOLERANCE_US + elapsed_us // DRIFT:
            leap = Leap(source_us - self._trusted_us - at_us)
            self._set(self._offset_us, self._trusted_us, leap)
            return
        if seen is not None and _leap_met(seen, source_us) is not None:
            self._anchor(seen)
            return
        offset_us = source_us - at_us
        if self._leap is None and abs(offset_us - self._offset_us) <= took_us:
            offset_us = self._offset_us  # nearer than could be seen
        self._set(offset_us, offset_us, None)
        if elapsed_us >= DAY_US:  # not more often: a small step each time would be a leap in all
            self._base_us, self._base_at_us = offset_us + at_us, at_us

    def _set(self, offset_us: int, trusted_us: int, leap: Leap | None) -> None:
        self._offset_us = offset_us
        self._trusted_us = trusted_us
        self._leap = leap

    def _ask(self) -> tuple[int, int, int]:
        """Give the time of the source, the stopwatch at that moment, and how long it took."""
        began_us = self._stopwatch_ns() // 1_000
        source_us = self._source()
        ended_us = self._stopwatch_ns() // 1_000
        return source_us, (began_us + ended_us) // 2, ended_us - began_us

    def _keep(self) -> None:
        """Keep the time that is trusted, with the leap, where what is kept is older or another."""
        before, at_us = self._seen, self.trusted()
        if before is None:
            self._store.keep(None, Seen(at_us))
            return
        # A leap of the start is seen by all who start, and they stamp by the source as well.
        is_met = self._leap is not None and self._offset_us == self._trusted_us
        leap_us = self._leap.ahead_us if self._leap is not None and is_met else 0
        is_another = abs(leap_us - before.leap_us) > TOLERANCE_US
        if is_another or at_us - before.at_us >= KEEP_EVERY_US:
            self._store.keep(before, Seen(max(at_us, before.at_us), before.accepted, leap_us))


async def follow(clock: AnchoredClock, host: Clock, watch: ProcessWatch) -> None:
    """Have a clock look at its source now and then, and tell of leaps, until cancelled.

    `host` is the clock of this machine, which may be another than the source.
    """
    told, told_of_host = None, False
    while True:
        leap = clock.leap
        if (leap is None) != (told is None):
            watch.clock.leapt(leap)
            told = leap
        ahead_us = host() - clock()
        differs = leap is None and abs(ahead_us) > HOST_US_MAX
        if differs != told_of_host:
            watch.clock.host_differs(ahead_us if differs else 0)
            told_of_host = differs
        await asyncio.sleep(LOOK_EVERY_S)
        try:
            await run_with_timeout(clock.look)
        except StoreUnavailable:
            pass  # whoever waits for the database tells; the stopwatch carries on
        except Exception as error:  # noqa: BLE001  whatever it was, another time it may go well
            watch.chore_failed("look_at_clock", error)


# The first goes on while a machine is suspended, and not every system has it.
_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
stopwatch_ns: Final = partial(time.clock_gettime_ns, _STEADY)


def wall_us() -> int:
    """Give the time of this machine in microseconds since 1970, UTC: right or wrong.

    For what belongs to no installation; everything else goes by the clock of one.
    """
    return time.time_ns() // 1_000


def stopwatch_us() -> int:
    """Give microseconds that go on whatever becomes of the clock."""
    return stopwatch_ns() // 1_000


Clock = Callable[[], int]
"""Gives the time in microseconds since 1970, UTC. It may be set, and then step back."""

Stopwatch = Callable[[], int]
"""Gives microseconds that only ever go forward, since nobody knows when: for how long it took."""
