from __future__ import annotations

import asyncio
import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from alama.platform.telemetry.log import JsonLines, Log, _ToLog, gather_libraries, log_on_stderr

VALUE = "0712345678"

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def log(path: Path) -> Iterator[Log]:
    with path.open("wb") as file:
        yield Log(JsonLines(), file.fileno())


@pytest.fixture
def lines(path: Path) -> Lines:
    return lambda: [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def gathered(log: Log) -> Iterator[Log]:
    """A log that the libraries speak into; all is as before afterwards."""
    gather_libraries(log)
    yield log
    logging.getLogger().removeHandler(our_handler())


def our_handler() -> logging.Handler:
    (ours,) = (known for known in logging.getLogger().handlers if isinstance(known, _ToLog))
    return ours


def raised(message: str) -> Exception:
    with pytest.raises(ValueError, match=message) as info:
        _raise(message)
    return info.value


def _raise(message: str) -> None:
    raise ValueError(message)


def test_events_are_written_at_once(log: Log, lines: Lines) -> None:
    log.note("started", workers=2)
    (line,) = lines()
    assert (line["level"], line["event"], line["workers"]) == ("info", "started", 2)


def test_of_an_exception_all_is_told_but_its_message(log: Log, lines: Lines, path: Path) -> None:
    log.fail("defect", raised(f"the number {VALUE}"))
    (line,) = lines()
    assert line["level"] == "error"
    assert line["errors"][0]["type"] == "ValueError"
    assert line["errors"][0]["frames"][-1].endswith(" _raise")
    assert VALUE not in path.read_text("utf-8")


def test_libraries_speak_in_the_same_format(gathered: Log, lines: Lines) -> None:
    assert gathered is not None
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    (line,) = lines()
    assert line["level"] == "warning"
    assert line["logger"] == "uvicorn.error"
    assert line["message"] == "Invalid HTTP request received."


def test_a_library_is_heard_once_however_often_it_is_gathered(gathered: Log, lines: Lines) -> None:
    gather_libraries(gathered)
    logging.getLogger("sqlalchemy.pool").error("lost a connection")
    assert len(lines()) == 1


def test_the_exception_of_a_library_keeps_its_message_to_itself(
    gathered: Log, lines: Lines, path: Path
) -> None:
    assert gathered is not None
    logging.getLogger("uvicorn.error").error("It broke\n", exc_info=raised(VALUE))
    (line,) = lines()
    assert line["message"] == "It broke"
    assert line["errors"][0]["type"] == "ValueError"
    assert VALUE not in path.read_text("utf-8")


@pytest.mark.parametrize("pattern", ["reason: %s", "reason: %r", None])
def test_an_exception_that_a_library_puts_into_words_keeps_its_own_to_itself(
    gathered: Log, lines: Lines, path: Path, pattern: str | None
) -> None:
    assert gathered is not None
    said: tuple[object, ...] = (raised(VALUE),) if pattern is None else (pattern, raised(VALUE))
    logging.getLogger("library").error(*said)
    (line,) = lines()
    assert line["message"].strip("'").endswith("ValueError")
    assert line["errors"][0]["type"] == "ValueError"
    assert VALUE not in path.read_text("utf-8")


def test_a_task_that_nobody_waited_for_does_not_tell_what_it_held(
    gathered: Log, lines: Lines, path: Path
) -> None:
    assert gathered is not None

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        lost = loop.create_future()
        lost.set_exception(raised(VALUE))
        del lost
        await asyncio.sleep(0)

    asyncio.run(scenario())
    (line,) = lines()
    assert line["message"] == "Future exception was never retrieved"
    assert VALUE not in path.read_text("utf-8")


def test_small_talk_is_left_out_and_a_migration_is_not(gathered: Log, lines: Lines) -> None:
    assert gathered is not None
    logging.getLogger("uvicorn.error").info("Waiting for application startup.")
    alembic = logging.getLogger("alembic.runtime.migration")
    alembic.info("Context impl %s.", "SQLiteImpl")
    alembic.info("Running %s", "upgrade 0001 -> 0002")
    assert [line["message"] for line in lines()] == ["Running upgrade 0001 -> 0002"]


def test_warnings_are_lines_too(gathered: Log, lines: Lines) -> None:
    assert gathered is not None
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("this is old", stacklevel=1)
    assert lines()[0]["logger"] == "py.warnings"


def test_a_record_that_cannot_be_read_stops_nothing_and_is_not_repeated(
    gathered: Log, lines: Lines, path: Path
) -> None:
    assert gathered is not None
    record = logging.LogRecord("library", logging.ERROR, "", 0, "%d things", (VALUE,), None)
    our_handler().handle(record)  # not by a logger: pytest's own handlers would raise
    assert (lines()[0]["event"], lines()[0]["logger"]) == ("library_unreadable", "library")
    assert VALUE not in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("style", "seen", "is_json"),
    [("auto", False, True), ("auto", True, False), ("json", True, True), ("text", False, False)],
)
def test_the_style_follows_the_setting_and_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    style: str,
    *,
    seen: bool,
    is_json: bool,
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: seen)
    monkeypatch.setenv("NO_COLOR", "1")
    log_on_stderr(style).note("started")
    written = capfd.readouterr().err
    assert written.startswith("{") is is_json
    assert "\x1b" not in written
