"""How a line of the log looks: JSON for machines, words for people at a terminal.

Lines of requests are made thousands of times a second. Everything in them but the time, the id and
the duration is one of few combinations, so those parts are made once and kept.
"""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from alama.telemetry.anatomy import Fault

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER: Final = "OTHER"
"""Stands for every other method: what a caller made up is not repeated."""

FAILED: Final = 500
"""From this status on it was not the caller's doing."""

_BLANK_S: Final = -1

_THOUSANDTHS: Final = tuple(f".{number:03d}" for number in range(1000))
"""Made once: to format one with its leading zeros took a third of a stamp's time."""


class Level(StrEnum):
    """How much a line matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Exchange(Protocol):
    """A finished request, as `alama.api.endpoint.Exchanged` is one."""

    @property
    def request_id(self) -> str: ...
    @property
    def route(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def status(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def code(self) -> str | None: ...
    @property
    def lender(self) -> str | None: ...
    @property
    def key_id(self) -> str | None: ...


class Event(NamedTuple):
    """Anything but a request that is worth a line."""

    level: Level
    name: str
    fields: Mapping[str, object]
    faults: Sequence[Fault] = ()


class Format(Protocol):
    """One way to write lines."""

    def request(self, exchange: Exchange) -> str:
        """Give the line of a finished request, in ASCII."""
        ...

    def event(self, event: Event) -> str:
        """Give the line of anything else."""
        ...

    def traced(self, line: str, trace_id: str) -> str:
        """Give the line of a request with the trace that it belongs to."""
        ...


class Stamp:
    """The time as text, to the millisecond. The part that changes once a second is kept."""

    def __init__(self, pattern: str, clock: Callable[[], float]) -> None:
        """Take a pattern of `strftime` down to the second, and a clock in seconds since 1970."""
        self._pattern = pattern
        self._clock = clock
        self._second = _BLANK_S
        self._text = ""

    def __call__(self) -> str:
        """Give the time now, UTC."""
        now_s = self._clock()
        second = int(now_s)
        if second != self._second:
            self._text = time.strftime(self._pattern, time.gmtime(second))
            self._second = second
        return self._text + _THOUSANDTHS[int((now_s - second) * 1000)]


class JsonLines:
    """One JSON object a line; times are RFC 3339, UTC."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Take a clock in seconds since 1970."""
        self._stamp = Stamp("%Y-%m-%dT%H:%M:%S", clock)
        self._parts: dict[tuple[str, str, int, str | None], tuple[str, str]] = {}

    def request(self, exchange: Exchange) -> str:
        kind = (exchange.route, exchange.method, exchange.status, exchange.code)
        parts = self._parts.get(kind)
        if parts is None:
            parts = self._parts[kind] = self._parts_of(*kind)
        # Ids of lenders and keys are given by us, of letters that need no escapes.
        caller = (
            ""
            if exchange.key_id is None
            else f',"lender":"{exchange.lender}","key_id":"{exchange.key_id}"'
        )
        return (
            f'{{"time":"{self._stamp()}Z",{parts[0]}{exchange.request_id}'
            f"{parts[1]}{exchange.seconds * 1000:.3f}{caller}}}\n"
        )

    def event(self, event: Event) -> str:
        line: dict[str, object] = {
            "time": f"{self._stamp()}Z",
            "level": event.level,
            "event": event.name,
            **event.fields,
        }
        if event.faults:
            line["errors"] = event.faults
        return msgspec.json.encode(line, enc_hook=repr).decode() + "\n"

    def traced(self, line: str, trace_id: str) -> str:
        return f'{line[:-2]},"trace_id":"{trace_id}"}}\n'

    @staticmethod
    def _parts_of(route: str, method: str, status: int, code: str | None) -> tuple[str, str]:
        known = {"route": route, "method": known_method(method), "status": status}
        if code is not None:
            known["code"] = code
        after = msgspec.json.encode(known).decode()
        return (
            f'"level":"{request_level(status)}","event":"request","request_id":"',
            f'",{after[1:-1]},"ms":',
        )


class TextLines:
    """A line to read: time (UTC), level, what happened."""

    def __init__(self, clock: Callable[[], float] = time.time, paint: Paint | None = None) -> None:
        """Take a clock in seconds since 1970, and colours where they can be seen."""
        self._stamp = Stamp("%H:%M:%S", clock)
        self._paint = paint or {}

    def request(self, exchange: Exchange) -> str:
        method = known_method(exchange.method)
        what = f"{exchange.status} {method} {exchange.route}"
        level = request_level(exchange.status)
        return (
            f"{self._head(level)} {what:<32} {exchange.seconds * 1000:8.1f} ms  "
            f"{exchange.request_id}{_who(exchange)}{_why(exchange)}\n"
        )

    def event(self, event: Event) -> str:
        fields = "".join(f" {name}={value}" for name, value in event.fields.items())
        lines = [f"{self._head(event.level)} {event.name.replace('_', ' ')}{fields}"]
        for fault in event.faults:
            code = f" {fault.code}" if fault.code else ""
            lines += [f"    {fault.type}{code}", *(f"      {frame}" for frame in fault.frames)]
        return "\n".join(lines) + "\n"

    def traced(self, line: str, trace_id: str) -> str:
        return f"{line[:-1]} trace_id={trace_id}\n"

    def _head(self, level: Level) -> str:
        before, after = self._paint.get(level, ("", ""))
        return f"{self._stamp()} {before}{level:<7}{after}"


Paint = dict[Level, tuple[str, str]]
"""What switches a colour on and off again, by level."""

COLOURS: Final[Paint] = {
    Level.INFO: ("\x1b[2m", "\x1b[0m"),
    Level.WARNING: ("\x1b[33m", "\x1b[0m"),
    Level.ERROR: ("\x1b[1;31m", "\x1b[0m"),
}


def _who(exchange: Exchange) -> str:
    return "" if exchange.key_id is None else f" {exchange.lender} {exchange.key_id}"


def _why(exchange: Exchange) -> str:
    return "" if exchange.code is None else f" {exchange.code}"


def known_method(method: str) -> str:
    return method if method in METHODS else OTHER


def request_level(status: int) -> Level:
    return Level.WARNING if status >= FAILED else Level.INFO
