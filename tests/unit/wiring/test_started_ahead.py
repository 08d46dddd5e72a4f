"""A process started by a clock that is far ahead: what it takes, and what it stamps."""

from __future__ import annotations

from pathlib import Path

import pytest

from alama import wiring
from alama.service import lenders
from alama.service.days import DAY_US
from alama.service.onboarding import work
from alama.storage.vault import SqlVaultKeys
from alama.telemetry.formats import JsonLines
from alama.telemetry.jobs import JobWatch
from alama.telemetry.log import Log
from alama.wiring import working
from tests.onboarded import a_job
from tests.patients import opened


@pytest.fixture
def now_us() -> int:
    return wiring.wall_us()


def jump(monkeypatch: pytest.MonkeyPatch, now_us: int) -> None:
    monkeypatch.setattr("alama.wiring.installation.wall_us", lambda: now_us + 4 * DAY_US)


def test_no_job_is_taken_that_another_is_doing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now_us: int
) -> None:
    watch = JobWatch(Log(JsonLines()))
    with opened(tmp_path) as one:
        jobs = one.onboarding.jobs
        jobs.add(a_job(at_us=now_us))
        assert work.take(jobs, one.clock.trusted, "worker_1") is not None
        jump(monkeypatch, now_us)
        with opened(tmp_path) as ahead:
            working.runner(ahead, watch, 1).run()
        (job,) = jobs.of("demo")
    assert (job.worker, job.attempts) == ("worker_1", 1)


def test_keys_of_the_vault_are_stamped_as_acts_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now_us: int
) -> None:
    with opened(tmp_path):
        jump(monkeypatch, now_us)
    with opened(tmp_path) as ahead:
        assert ahead.clock.leap is not None
        lenders.add(ahead.registry, ahead.clock, "umoja", "Umoja", "KES")
        ahead.vault.ring("umoja")
        kept = SqlVaultKeys(ahead.database).of("umoja")
        made = [key.created_us for key in kept if key.lender == "umoja"]
    assert min(made) >= now_us + 4 * DAY_US
