"""The worker beside the service: replaced when it dies, ended in time; tests/e2e has the real."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from alama.app import delivering, worker_process
from alama.app.worker_process import NoWorker, Where, WorkerProcess, WorkerThread
from alama.lenders import installation
from alama.platform import settings
from alama.platform.database import database as databases
from alama.platform.telemetry.log import JsonLines, Log
from tests.databases import sqlite_url
from tests.workers import worker

WITHIN_S = 60.0
STOP_S = 2.0

SLEEPS = "import time; time.sleep(60)"
DIES = "raise SystemExit(3)"
IGNORES = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print(flush=True); time.sleep(60)"
)


class Told:
    """A log in a file, and the process ids that were to be forgotten."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
        self.log = Log(JsonLines(), self._descriptor)
        self.gone: list[int] = []

    def lines(self, event: str) -> list[dict[str, object]]:
        lines = map(json.loads, self._path.read_text("utf-8").splitlines())
        return [line for line in lines if line["event"] == event]

    def close(self) -> None:
        os.close(self._descriptor)


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    opened = Told(tmp_path / "log")
    yield opened
    opened.close()


def beside(told: Told, program: str) -> WorkerProcess:
    return WorkerProcess(told.log, STOP_S, told.gone.append, (sys.executable, "-c", program))


def wait_until(reached: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + WITHIN_S
    while not reached():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def pid_of(worker: WorkerProcess) -> int:
    wait_until(lambda: worker._child)
    assert worker._child is not None
    return worker._child.pid


def test_one_that_is_killed_is_told_forgotten_and_replaced(told: Told) -> None:
    worker = beside(told, SLEEPS)
    worker.start()
    first = pid_of(worker)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: pid_of(worker) != first)
    worker.close()
    (died,) = told.lines("delivery_worker_died")
    assert (died["pid"], died["exit_code"]) == (first, -9)
    assert told.gone[0] == first
    assert len(told.gone) == 2


def test_one_that_dies_again_and_again_is_replaced_after_longer_and_longer_pauses(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_process, "PAUSE_S_MIN", 0.1)
    worker = beside(told, DIES)
    began_s = time.monotonic()
    worker.start()
    wait_until(lambda: len(told.lines("delivery_worker_died")) == 4)
    worker.close()
    assert time.monotonic() - began_s >= 0.1 + 0.2 + 0.4


def test_a_stop_asks_it_to_end_and_waits(told: Told) -> None:
    worker = beside(told, SLEEPS)
    worker.start()
    pid_of(worker)
    worker.ask_to_stop()
    worker.close()
    assert told.lines("delivery_worker_died") == []
    assert len(told.gone) == 1


def test_one_that_does_not_end_in_time_is_killed_and_told(told: Told) -> None:
    worker = beside(told, IGNORES)
    worker._stop_s = 0.3
    worker.start()
    pid = pid_of(worker)
    time.sleep(0.3)  # until it ignores what it is asked
    worker.close()
    assert told.gone == [pid]
    assert [line["pid"] for line in told.lines("stop_timed_out")] in ([pid], [])


def test_a_service_that_never_came_up_has_nothing_to_wait_for(told: Told) -> None:
    beside(told, SLEEPS).close()
    assert told.gone == []


@pytest.mark.parametrize(
    ("delivery", "safe", "place", "kind"),
    [
        ("inside", True, Where.PROCESS, WorkerProcess),
        ("inside", False, Where.THREAD, WorkerThread),
        ("alone", True, Where.ELSEWHERE, NoWorker),
    ],
)
def test_where_webhooks_are_sent_from_follows_from_the_setting_and_the_database(
    delivery: str,
    safe: bool,  # noqa: FBT001  a parameter of the test
    place: Where,
    kind: type,
    told: Told,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not safe:
        monkeypatch.setattr(databases, "SQLITE_SAFE_FOR_MANY", (99, 0, 0))
    chosen = settings.Settings(home=str(tmp_path), delivery=delivery)
    database = databases.connect(sqlite_url(tmp_path))
    assert worker_process.where(chosen, database) is place
    database.close()
    worker = worker_process.service_worker(place, chosen, told.log, told.gone.append)
    assert type(worker) is kind


def test_nobody_takes_no_time(told: Told) -> None:
    nobody = NoWorker()
    nobody.start()
    nobody.ask_to_stop()
    nobody.close()
    assert told.gone == []


def test_a_worker_in_a_thread_begins_and_ends_with_the_service(
    told: Told, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    chosen = settings.Settings(home=str(tmp_path), log="json")
    worker = WorkerThread(chosen, told.log)
    worker.start()
    wait_until(lambda: worker._stop)
    worker.close()
    err = capfd.readouterr().err
    assert '"event":"deliveries_started"' in err
    assert '"event":"deliveries_stopped"' in err


def test_a_worker_in_a_thread_that_cannot_open_the_database_is_told_and_tried_again(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_process, "PAUSE_S_MIN", 0.01)
    chosen = settings.Settings(home=str(tmp_path), database="sqlite://")
    worker = WorkerThread(chosen, told.log)
    worker.start()
    wait_until(lambda: len(told.lines("deliveries_failed")) >= 2)
    worker.close()
    assert not worker._keeper.is_alive()
    assert "in memory" in str(told.lines("deliveries_failed")[0]["message"])


def test_a_worker_in_a_thread_that_breaks_is_told_and_replaced(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lives = iter(range(10))
    real = delivering.deliver

    async def breaks_once(*given: Any) -> None:
        if next(lives) == 0:
            raise KeyError("a defect")
        await real(*given)

    monkeypatch.setattr(worker_process, "PAUSE_S_MIN", 0.01)
    monkeypatch.setattr(delivering, "deliver", breaks_once)
    worker = WorkerThread(settings.Settings(home=str(tmp_path), log="json"), told.log)
    worker.start()
    wait_until(lambda: worker._stop)
    worker.close()
    assert len(told.lines("deliveries_failed")) == 1


def test_a_stop_that_comes_before_the_worker_in_a_thread_has_begun_is_not_forgotten(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, may_open = threading.Event(), threading.Event()
    real = installation.open_installation

    def slowly(chosen: settings.Settings) -> installation.Installation:
        opening.set()
        may_open.wait(WITHIN_S)
        return real(chosen)

    monkeypatch.setattr(installation, "open_installation", slowly)
    worker = WorkerThread(settings.Settings(home=str(tmp_path), log="json"), told.log)
    worker.start()
    opening.wait(WITHIN_S)
    worker.ask_to_stop()
    may_open.set()
    worker.close()
    assert not worker._keeper.is_alive()


def test_one_that_cannot_even_be_started_is_told_and_tried_again(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_process, "PAUSE_S_MIN", 0.01)
    worker = WorkerProcess(told.log, STOP_S, told.gone.append, ("/nowhere/python",))
    worker.start()
    wait_until(lambda: len(told.lines("deliveries_failed")) >= 2)
    worker.close()
    assert not worker._keeper.is_alive()
    assert told.gone == []


def test_whoever_looks_after_it_goes_on_whatever_breaks(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot_forget(_: int) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(worker_process, "PAUSE_S_MIN", 0.01)
    worker = WorkerProcess(told.log, STOP_S, cannot_forget, (sys.executable, "-c", DIES))
    worker.start()
    wait_until(lambda: len(told.lines("deliveries_failed")) >= 2)
    worker.close()
    assert not worker._keeper.is_alive()
    assert len(told.lines("delivery_worker_died")) >= 2
    assert "FileNotFoundError" in str(told.lines("deliveries_failed")[0]["errors"])


def test_a_stop_finds_a_worker_in_a_thread_whose_loop_is_closed_already(
    told: Told, tmp_path: Path
) -> None:
    worker = WorkerThread(settings.Settings(home=str(tmp_path)), told.log)
    loop = asyncio.new_event_loop()
    loop.close()
    # As it is for the moment between the end of the loop and what is done after it.
    worker._stop = partial(loop.call_soon_threadsafe, int)
    worker.close()
    assert worker._stopping.is_set()


def test_a_worker_in_a_thread_is_asked_once_and_has_its_time_from_then_on(
    told: Told, tmp_path: Path
) -> None:
    asked: list[int] = []
    may_end = threading.Event()
    worker = WorkerThread(settings.Settings(home=str(tmp_path), stop_timeout=60), told.log)
    worker._keeper = threading.Thread(target=may_end.wait)
    worker._stop = partial(asked.append, 1)
    worker.start()
    worker.ask_to_stop()
    worker._until_s -= 60.0  # that long ago
    began_s = time.monotonic()
    worker.close()
    assert time.monotonic() - began_s < 30
    assert asked == [1]
    may_end.set()
    worker._keeper.join()


@pytest.mark.long
def test_a_worker_beside_a_service_ends_when_its_input_does(tmp_path: Path) -> None:
    with worker(tmp_path, "--beside-service", stdin=subprocess.PIPE) as beside_us:
        beside_us.send_signal(signal.SIGINT)  # for the service to answer, not for it
        _, said = beside_us.communicate()
    assert beside_us.returncode == 0
    assert b"deliveries_stopped" in said
