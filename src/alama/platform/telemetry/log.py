"""The log of one process: its events, its requests, how a line looks and where it goes."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
import sys
import threading
import time
import traceback
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


DEPTH_MAX: Final = 8
"""Exceptions in a chain of causes."""

FRAMES_MAX: Final = 40
"""Places of one exception, those nearest to where it was raised."""

_CODE: Final = re.compile("[A-Z0-9_]{1,40}")


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """One exception of a chain. Frames read `module:line function`, the place of the raise last."""

    type: str
    code: str | None = None
    """SQLSTATE, the name of SQLite's code or of the system's: `53100`, `SQLITE_FULL`, `ENOSPC`."""
    frames: tuple[str, ...] = ()


def anatomy(error: BaseException) -> list[Fault]:
    """Give an exception and its causes, the one that surfaced first."""
    return [Fault(kind(link), _code(link), _frames(link)) for link in _chain(error)]


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen and len(seen) < DEPTH_MAX:
        seen.add(id(link))
        yield link
        context = None if link.__suppress_context__ else link.__context__
        link = link.__cause__ or context


def kind(error: BaseException) -> str:
    """Give the type of an exception, by its whole name."""
    found = type(error)
    return (
        found.__qualname__
        if found.__module__ == "builtins"
        else f"{found.__module__}.{found.__qualname__}"
    )


def _code(error: BaseException) -> str | None:
    if isinstance(error, OSError):
        return errno.errorcode.get(error.errno or 0)
    for attribute in ("sqlstate", "sqlite_errorname"):
        code = getattr(error, attribute, None)
        # Whatever it is called, it is told only if it cannot be anything but a code.
        if isinstance(code, str) and _CODE.fullmatch(code):
            return code
    return None


def _frames(error: BaseException) -> tuple[str, ...]:
    walked = list(traceback.walk_tb(error.__traceback__))[-FRAMES_MAX:]
    return tuple(
        f"{frame.f_globals.get('__name__', '?')}:{line} {frame.f_code.co_name}"
        for frame, line in walked
    )


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
    """A finished request, as `alama.platform.http.endpoint.Exchanged` is one."""

    @property
    def request_id(self) -> str: ...
    @property
    def own_request_id(self) -> str: ...
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
    """One JSON object a line; times are RFC 3339, UTC.

    Lines of requests are made thousands of times a second. Everything in them but the time, the id
    and the duration is one of few combinations, so those parts are made once and kept.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._stamp = Stamp("%Y-%m-%dT%H:%M:%S", clock)
        self._parts: dict[tuple[str, str, int, str | None], tuple[str, str]] = {}

    def request(self, exchange: Exchange) -> str:
        kind = (exchange.route, exchange.method, exchange.status, exchange.code)
        parts = self._parts.get(kind)
        if parts is None:
            parts = self._parts[kind] = self._parts_of(*kind)
        # Ids are given by us, or looked at, and of letters that need no escapes.
        caller = (
            ""
            if exchange.key_id is None
            else f',"lender":"{exchange.lender}","key_id":"{exchange.key_id}"'
        )
        if exchange.own_request_id != exchange.request_id:
            caller += f',"own_request_id":"{exchange.own_request_id}"'
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
        self._stamp = Stamp("%H:%M:%S", clock)
        self._paint = paint or {}

    def request(self, exchange: Exchange) -> str:
        method = known_method(exchange.method)
        what = f"{exchange.status} {method} {exchange.route}"
        level = request_level(exchange.status)
        return (
            f"{self._head(level)} {what:<32} {exchange.seconds * 1000:8.1f} ms  "
            f"{exchange.request_id}{_own(exchange)}{_who(exchange)}{_why(exchange)}\n"
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


def _own(exchange: Exchange) -> str:
    own = exchange.own_request_id
    return "" if own == exchange.request_id else f" {own}"


def _who(exchange: Exchange) -> str:
    return "" if exchange.key_id is None else f" {exchange.lender} {exchange.key_id}"


def _why(exchange: Exchange) -> str:
    return "" if exchange.code is None else f" {exchange.code}"


def known_method(method: str) -> str:
    return method if method in METHODS else OTHER


def request_level(status: int) -> Level:
    return Level.WARNING if status >= FAILED else Level.INFO


LATE_S_MAX: Final = 0.2
"""How long a line may wait. A process that is killed takes these last lines with it."""

TOGETHER_MAX: Final = 4096
"""Bytes in one write: the most that a pipe takes whole, so that lines of workers never mix."""


class Sink:
    """Writes lines to a descriptor. What cannot be written is lost: a log stops no service.

    A system call for each of five thousand lines a second would cost as much as scoring. So lines
    that can wait are gathered and written together. What cannot wait takes the gathered lines
    along, so that the order stays.
    """

    def __init__(self, descriptor: int) -> None:
        """Take an open descriptor, which stays the caller's."""
        self._descriptor = descriptor
        self._waiting: list[str] = []
        self._size = 0
        self._timed = False
        # Not a plain lock: a signal handler may log in the middle of anything.
        self._lock = threading.RLock()

    def later(self, line: str) -> None:
        """Take a line of ASCII that can wait; to be called in an event loop."""
        with self._lock:
            if self._size + len(line) > TOGETHER_MAX:
                self.flush()
            self._waiting.append(line)
            self._size += len(line)
            if not self._timed:
                self._timed = True
                asyncio.get_running_loop().call_later(LATE_S_MAX, self._flush_late)

    def now(self, line: str) -> None:
        """Write a line at once, after all that came before it; from any thread."""
        with self._lock:
            self.flush()
            self._write(line.encode())

    def flush(self) -> None:
        with self._lock:
            if self._waiting:
                gathered = "".join(self._waiting)
                self._waiting = []
                self._size = 0
                self._write(gathered.encode())

    def _flush_late(self) -> None:
        self._timed = False
        self.flush()

    def _write(self, data: bytes) -> None:
        with suppress(OSError):
            while data:
                data = data[os.write(self._descriptor, data) :]


STDERR: Final = 2

_MIGRATIONS: Final = "alembic.runtime.migration"


class Log:
    """Lines on a descriptor, in one format. Nothing in them was sent by an applicant or caller."""

    def __init__(self, form: Format, descriptor: int = STDERR) -> None:
        self._form = form
        self._sink = Sink(descriptor)

    def request(self, exchange: Exchange) -> None:
        """Note a finished request, up to 0.2 s late unless it failed; in an event loop."""
        line = self._form.request(exchange)
        if exchange.status < FAILED:
            self._sink.later(line)
        else:
            self._sink.now(line)

    def traced(self, exchange: Exchange, trace_id: str) -> None:
        """Note a finished request that belongs to a trace, as `request` does."""
        line = self._form.traced(self._form.request(exchange), trace_id)
        if exchange.status < FAILED:
            self._sink.later(line)
        else:
            self._sink.now(line)

    def note(self, event: str, **fields: object) -> None:
        """Note that something has happened, as it should."""
        self._event(Event(Level.INFO, event, fields))

    def doubt(self, event: str, **fields: object) -> None:
        """Note that something went wrong that others have to put right."""
        self._event(Event(Level.WARNING, event, fields))

    def fail(self, event: str, error: BaseException | None = None, **fields: object) -> None:
        """Note that something broke; of an exception all is told but its message."""
        faults = () if error is None else anatomy(error)
        self._event(Event(Level.ERROR, event, fields, faults))

    def library(self, record: logging.LogRecord) -> None:
        """Note what a library has said; of an exception in it all is told but its message.

        Its first line only: further ones repeat objects, with the messages of their exceptions.
        """
        error = record.exc_info[1] if record.exc_info else _told_of(record)
        message = _message(record).strip().partition("\n")[0]
        fields = {"logger": record.name, "message": message}
        faults = () if error is None else anatomy(error)
        self._event(Event(_level(record.levelno), "library", fields, faults))

    def flush(self) -> None:
        self._sink.flush()

    def _event(self, event: Event) -> None:
        self._sink.now(self._form.event(event))


def log_on_stderr(style: str) -> Log:
    """Open the log as ALAMA_LOG says: `json`, `text`, or `auto`, which is text on a terminal."""
    seen = sys.stderr.isatty()
    if style == "json" or (style == "auto" and not seen):
        return Log(JsonLines())
    coloured = seen and not os.environ.get("NO_COLOR")
    return Log(TextLines(paint=COLOURS if coloured else None))


def gather_libraries(log: Log) -> None:
    """Send what uvicorn, SQLAlchemy, Alembic, asyncio and `warnings` say into a log."""
    root = logging.getLogger()
    for handler in [known for known in root.handlers if isinstance(known, _ToLog)]:
        root.removeHandler(handler)
    root.addHandler(_ToLog(log))
    logging.captureWarnings(capture=True)
    # A database that is brought up to date by itself is worth a line; Alembic's small talk is not.
    migrations = logging.getLogger(_MIGRATIONS)
    migrations.setLevel(logging.INFO)
    if _is_worth_a_line not in migrations.filters:
        migrations.addFilter(_is_worth_a_line)


class _ToLog(logging.Handler):
    """Where the libraries' records leave `logging`."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._log.library(record)
        except Exception as error:  # noqa: BLE001  a bad record stops nothing
            # Not `handleError`, which prints the arguments.
            self._log.fail("library_unreadable", error, logger=record.name)


def _told_of(record: logging.LogRecord) -> BaseException | None:
    """Give the exception that a record puts into its words, if there is one."""
    parts = (record.msg, *record.args) if isinstance(record.args, tuple) else (record.msg,)
    return next((part for part in parts if isinstance(part, BaseException)), None)


def _message(record: logging.LogRecord) -> str:
    """Give the words of a record, with the kind of an exception in place of its own words."""
    if _told_of(record) is None:
        return record.getMessage()
    pattern, *values = (
        kind(part) if isinstance(part, BaseException) else part
        for part in (record.msg, *(record.args or ()))
    )
    return str(pattern) % tuple(values) if values else str(pattern)


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    return record.levelno > logging.INFO or str(record.msg).startswith("Running")


def _level(number: int) -> Level:
    if number >= logging.ERROR:
        return Level.ERROR
    return Level.WARNING if number >= logging.WARNING else Level.INFO
