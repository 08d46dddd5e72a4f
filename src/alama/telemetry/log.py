"""The log of one process: its own events, its requests, and what the libraries under it say."""

from __future__ import annotations

import logging
import os
import sys
from typing import Final

from alama.telemetry.anatomy import anatomy, kind
from alama.telemetry.formats import (
    COLOURS,
    FAILED,
    Event,
    Exchange,
    Format,
    JsonLines,
    Level,
    TextLines,
)
from alama.telemetry.sink import Sink

STDERR: Final = 2

_MIGRATIONS: Final = "alembic.runtime.migration"


class Log:
    """Lines on a descriptor, in one format. Nothing in them was sent by an applicant or caller."""

    def __init__(self, form: Format, descriptor: int = STDERR) -> None:
        """Take a format and where the lines go."""
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
        """Write what waits."""
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
