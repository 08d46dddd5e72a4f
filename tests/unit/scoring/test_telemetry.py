from __future__ import annotations

import asyncio
import errno
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from alama.core.errors import InvalidModel
from alama.platform.book import Book, Mode
from alama.platform.clock import Leap
from alama.platform.errors import StoreUnfit
from alama.platform.telemetry.log import JsonLines, Log
from alama.platform.telemetry.metrics import Metrics
from alama.scoring.telemetry import AGAIN_S, UNUSABLE_MAX, ServiceWatch
from tests.unit.platform.telemetry.test_formats import KNOWN, Finished
from tests.unit.platform.telemetry.test_metrics import Done, shown

KEPT = Done(entries=3, seconds=0.002)
REFUSED = Done(entries=3, seconds=8.0, error=TimeoutError("a value that nobody should read"))


class Heard:
    """A log in a file, and what it says so far."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self.log = Log(JsonLines(), self._file.fileno())

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._path.read_text("utf-8").splitlines()]

    def close(self) -> None:
        self._file.close()


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Heard]:
    heard = Heard(tmp_path / "log")
    yield heard
    heard.close()


def test_trouble_with_the_database_is_told_when_it_begins_and_when_it_ends(heard: Heard) -> None:
    watch = ServiceWatch(heard.log)
    for commit in (KEPT, REFUSED, REFUSED, REFUSED, KEPT, KEPT, REFUSED):
        watch.committed(commit)
    assert [(line["level"], line["event"]) for line in heard.lines()] == [
        ("error", "database_unavailable"),
        ("info", "database_recovered"),
        ("error", "database_unavailable"),
    ]
    assert heard.lines()[0]["errors"][0]["type"] == "TimeoutError"
    assert "nobody should read" not in str(heard.lines())
    assert heard.lines()[1]["failed_commits"] == 3


def test_a_request_that_an_outage_refuses_is_told_and_counted(heard: Heard) -> None:
    registry = CollectorRegistry()
    watch = ServiceWatch(heard.log, Metrics(registry))
    for _ in range(3):
        watch.unavailable(TimeoutError("a value that nobody should read"))
    (told,) = heard.lines()
    assert told["event"] == "database_unavailable"
    assert told["errors"] == [{"type": "TimeoutError"}]
    assert "alama_unavailable_total 3.0" in shown(registry)


def test_connections_that_are_used_up_are_told_and_those_that_go_are_counted(heard: Heard) -> None:
    registry = CollectorRegistry()
    watch = ServiceWatch(heard.log, Metrics(registry))
    watch.connections_used_up("address", 40, 160, 7)
    for reason in ("address", "head", "head"):
        watch.dropped(reason)
        ServiceWatch(heard.log).dropped(reason)  # without metrics nobody counts
    (told,) = heard.lines()
    del told["time"]
    assert told == {
        "level": "warning",
        "event": "connections_used_up",
        "reason": "address",
        "open": 40,
        "limit": 160,
        "dropped": 7,
    }
    assert 'alama_connections_dropped_total{reason="head"} 2.0' in shown(registry)


def test_only_an_answer_from_the_database_ends_an_outage(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alama.platform.telemetry.trouble.QUIET_S", 0.0)

    async def scenario() -> None:
        watch = ServiceWatch(heard.log)
        watch.unavailable(TimeoutError())
        for proves_nothing in (Finished(route="/docs"), KNOWN._replace(status=404)):
            watch.exchanged(proves_nothing)
        assert [line["event"] for line in heard.lines()] == ["database_unavailable"]
        watch.exchanged(KNOWN)
        watch.close()

    asyncio.run(scenario())
    assert "database_recovered" in [line["event"] for line in heard.lines()]


def test_a_defect_is_told_before_its_request_and_without_its_message(heard: Heard) -> None:
    async def scenario() -> None:
        watch = ServiceWatch(heard.log)
        finished = Finished(status=500)
        watch.broke(finished, ValueError("0712345678"))
        watch.exchanged(finished)

    asyncio.run(scenario())
    defect, request = heard.lines()
    assert defect["event"] == "defect"
    assert defect["request_id"] == request["request_id"] == "req_01"
    assert defect["errors"] == [{"type": "ValueError"}]


def test_damage_in_the_database_is_told_in_our_own_words(heard: Heard) -> None:
    error = StoreUnfit("the key apk_1 of an applicant is damaged", hint="restore it from a backup")
    ServiceWatch(heard.log).broke(Finished(status=500), error)
    (defect,) = heard.lines()
    assert (defect["event"], defect["request_id"]) == ("defect", "req_01")
    assert (defect["message"], defect["hint"]) == (str(error), error.hint)


def test_a_model_that_cannot_be_used_is_told_once_a_minute_for_each_book(heard: Heard) -> None:
    now_s = [0.0]
    watch = ServiceWatch(heard.log, clock_s=lambda: now_s[0])
    reason = InvalidModel("the stored model is damaged", hint="restore it")
    books = [Book("umoja", mode) for mode in Mode]
    for _ in range(3):
        for book in books:
            watch.model_unavailable(book, reason)
    assert [line["mode"] for line in heard.lines()] == [book.mode for book in books]
    now_s[0] = AGAIN_S
    watch.model_unavailable(books[0], reason)
    *_, told = heard.lines()
    assert len(heard.lines()) == 3
    assert (told["event"], told["level"], told["lender"]) == ("model_unavailable", "error", "umoja")
    assert (told["message"], told["hint"]) == (str(reason), "restore it")


def test_models_that_cannot_be_used_are_remembered_up_to_a_bound(heard: Heard) -> None:
    watch = ServiceWatch(heard.log, clock_s=lambda: 0.0)
    for number in range(UNUSABLE_MAX + 1):
        watch.model_unavailable(Book(f"l{number}", Mode.LIVE), InvalidModel("damaged"))
    watch.model_unavailable(Book("l0", Mode.LIVE), InvalidModel("damaged"))
    assert len(heard.lines()) == UNUSABLE_MAX + 2


def test_a_chore_that_failed_is_told_without_its_message(heard: Heard) -> None:
    ServiceWatch(heard.log).chore_failed(
        "note_key_use", ValueError("a value that nobody should read")
    )
    (told,) = heard.lines()
    assert (told["level"], told["event"], told["chore"]) == (
        "error",
        "chore_failed",
        "note_key_use",
    )
    assert told["errors"] == [{"type": "ValueError"}]


def test_leaps_of_the_clock_and_wrong_hosts_are_told_with_what_to_do(heard: Heard) -> None:
    registry = CollectorRegistry()
    clock = ServiceWatch(heard.log, Metrics(registry)).clock
    clock.leapt(Leap(-345_600_000_000))
    clock.host_differs(90_000_000)
    assert registry.get_sample_value("alama_clock_leap_seconds") == 345_600
    assert registry.get_sample_value("alama_clock_host_seconds") == 90
    clock.leapt(None)
    clock.host_differs(0)
    assert registry.get_sample_value("alama_clock_leap_seconds") == 0
    assert registry.get_sample_value("alama_clock_host_seconds") == 0
    lines = heard.lines()
    assert [(line["level"], line["event"], line.get("ahead_s")) for line in lines] == [
        ("warning", "clock_leapt", -345_600),
        ("warning", "clock_differs", 90),
        ("info", "clock_trusted", None),
        ("info", "clock_agrees", None),
    ]
    assert "alama clock accept" in lines[0]["hint"]


def test_what_retention_deletes_is_counted_and_what_waits_is_told_once(heard: Heard) -> None:
    registry = CollectorRegistry()
    watch = ServiceWatch(heard.log, Metrics(registry))
    book = Book("umoja", Mode.LIVE)
    watch.retained(book, 7)
    watch.retention_waits({book: 500})
    watch.retention_waits({book: 500})
    assert registry.get_sample_value("alama_retention_deleted_total") == 7
    assert registry.get_sample_value("alama_retention_waiting") == 500
    watch.retention_waits({})
    assert registry.get_sample_value("alama_retention_waiting") == 0
    ran, waits = heard.lines()
    assert (ran["event"], ran["lender"], ran["mode"], ran["scores"]) == (
        *("retention_ran", "umoja", "live"),
        7,
    )
    assert (waits["level"], waits["event"], waits["scores"]) == ("warning", "retention_waits", 500)
    assert "alama retention run umoja" in waits["hint"]


def test_a_request_that_went_well_waits_for_company(heard: Heard) -> None:
    async def scenario() -> list[dict[str, Any]]:
        watch = ServiceWatch(heard.log)
        watch.exchanged(Finished())
        before = heard.lines()
        watch.close()
        return before

    assert asyncio.run(scenario()) == []
    assert [line["event"] for line in heard.lines()] == ["request", "worker_stopped"]


def test_metrics_see_requests_commits_and_the_queue(heard: Heard) -> None:
    registry = CollectorRegistry()

    async def scenario() -> None:
        watch = ServiceWatch(heard.log, Metrics(registry))
        watch.follow(lambda: 5)
        watch.start()
        watch.exchanged(Finished())
        watch.committed(KEPT)
        await asyncio.sleep(0)
        watch.close()

    asyncio.run(scenario())
    lines = shown(registry)
    assert "alama_commit_waiting 5.0" in lines
    assert "alama_commit_entries_sum 3.0" in lines
    assert any(line.startswith("alama_requests_total{") for line in lines)


@pytest.mark.parametrize(("port", "loaded"), [(0, False), (9464, True)])
def test_the_library_of_metrics_is_loaded_only_where_they_are_wanted(
    port: int, *, loaded: bool
) -> None:
    code = (
        "import sys; from alama.app.watching import watching; "
        f"watching('json', {port}); print('prometheus_client' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == str(loaded)


class FakeJournal:
    """A journal that cannot be read at first, and then only once it is let."""

    has_failed = False

    def __init__(self) -> None:
        self.asked = 0
        self.answers = threading.Event()

    @property
    def size_bytes(self) -> int:
        self.asked += 1
        if self.asked == 1:
            raise OSError(errno.EMFILE, "too many open files")
        assert self.answers.wait(60.0)
        return 4_096


async def until(happens: Callable[[], bool]) -> None:
    while not happens():  # noqa: ASYNC110  another thread's, or a gauge's
        await asyncio.sleep(0.001)


def test_a_journal_that_cannot_be_read_or_hangs_holds_nothing_up(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alama.scoring.telemetry.SAMPLE_EVERY_S", 0.001)
    registry, journal, asked = CollectorRegistry(), FakeJournal(), []

    def waiting() -> int:
        asked.append(1)
        return len(asked)

    async def scenario() -> None:
        watch = ServiceWatch(heard.log, Metrics(registry))
        watch.follow(waiting, journal)
        watch.start()
        await until(lambda: journal.asked == 2)
        seen = len(asked)
        await until(lambda: len(asked) > seen + 3)  # while the journal is not answered
        assert journal.asked == 2
        journal.answers.set()
        await until(lambda: registry.get_sample_value("alama_journal_bytes") == 4_096)
        watch.close()

    asyncio.run(asyncio.wait_for(scenario(), 60.0))
