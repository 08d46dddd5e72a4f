"""Whoever cannot do jobs: says once that some wait, and nothing where others do them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from alama.app import delivering
from alama.lenders import installation
from alama.lenders.installation import Installation
from alama.onboarding import job_supervisor
from alama.onboarding.job_supervisor import JobAlarm, JobSupervisor
from alama.onboarding.jobs import Jobs, ask_for_training, take
from alama.onboarding.store import Stores
from alama.platform import clock, settings
from alama.platform.database import database
from alama.platform.telemetry.log import log_on_stderr
from alama.webhooks.telemetry import DeliveryWatch

WITHIN_S = 60.0
LOOK_S = 0.01
SOME_LOOKS_S = 0.3


class Watch:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def jobs_wait(self, why: str, hint: str) -> None:
        self.told.append((why, hint))

    def jobs_failed(self, exit_code: int | None, error: Exception | None = None) -> None:
        raise AssertionError((exit_code, error))


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Installation]:
    opened = installation.open_installation(settings.Settings(home=str(tmp_path)))
    yield opened
    opened.close()


@pytest.fixture
def jobs(installed: Installation) -> Jobs:
    return Stores.at(installed).jobs


def asked(jobs: Jobs) -> None:
    ask_for_training(jobs, clock.wall_us, bytes(7), "demo", b"{}", "W. Mutua")


def look(jobs: Jobs, until: Callable[[Watch], bool]) -> Watch:
    """Have it look until something is so, and for some looks more."""
    watch = Watch()

    async def run() -> None:
        alarm = JobAlarm(jobs, clock.wall_us, watch, "why", "what to do", LOOK_S)
        looking = asyncio.create_task(alarm.run())
        deadline = time.monotonic() + WITHIN_S
        while not until(watch):
            assert time.monotonic() < deadline
            await asyncio.sleep(LOOK_S)
        await asyncio.sleep(SOME_LOOKS_S)
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)

    asyncio.run(run())
    return watch


def test_a_job_that_waits_is_told_of_once(jobs: Jobs) -> None:
    asked(jobs)
    watch = look(jobs, lambda watch: watch.told != [])
    assert watch.told == [("why", "what to do")]


def test_a_job_that_another_worker_does_is_not_told_of(jobs: Jobs) -> None:
    asked(jobs)
    assert take(jobs, clock.wall_us, "worker_1") is not None
    assert look(jobs, lambda _: True).told == []


def test_where_jobs_can_be_done_somebody_has_them_done(installed: Installation) -> None:
    watch = DeliveryWatch(log_on_stderr("json"))
    assert isinstance(delivering.job_supervisor(installed, watch), JobSupervisor)


@pytest.mark.parametrize("lacking", ["a safe SQLite", "the libraries"])
def test_where_jobs_cannot_be_done_somebody_says_why(
    installed: Installation, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    if lacking == "a safe SQLite":
        monkeypatch.setattr(database, "SQLITE_SAFE_FOR_MANY", (99, 0, 0))
    else:
        monkeypatch.setattr(job_supervisor, "LIBRARIES", ("alama_no_such_library",))
    watch = DeliveryWatch(log_on_stderr("json"))
    assert isinstance(delivering.job_supervisor(installed, watch), JobAlarm)
