"""A process started by a clock that is far ahead: what it takes, and what it stamps."""

from __future__ import annotations

from pathlib import Path

import pytest

from alama.lenders import keys
from alama.onboarding import worker_jobs
from alama.onboarding.job_runner import JobWatch
from alama.onboarding.jobs import take
from alama.onboarding.store import Stores
from alama.platform import clock
from alama.platform.days import DAY_US
from alama.platform.telemetry.log import JsonLines, Log
from alama.vault.store import SqlVaultKeys
from tests.onboarded import a_job
from tests.unit.operations.patients import opened


@pytest.fixture
def now_us() -> int:
    return clock.wall_us()


def jump(monkeypatch: pytest.MonkeyPatch, now_us: int) -> None:
    monkeypatch.setattr("alama.lenders.installation.wall_us", lambda: now_us + 4 * DAY_US)


def test_no_job_is_taken_that_another_is_doing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now_us: int
) -> None:
    watch = JobWatch(Log(JsonLines()))
    with opened(tmp_path) as one:
        jobs = Stores.at(one).jobs
        jobs.add(a_job(at_us=now_us))
        assert take(jobs, one.clock.trusted, "worker_1") is not None
        jump(monkeypatch, now_us)
        with opened(tmp_path) as ahead:
            worker_jobs.job_runner(ahead, watch, 1).run()
        (job,) = jobs.of("demo")
    assert (job.worker, job.attempts) == ("worker_1", 1)


def test_keys_of_the_vault_are_stamped_as_acts_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now_us: int
) -> None:
    with opened(tmp_path):
        jump(monkeypatch, now_us)
    with opened(tmp_path) as ahead:
        assert ahead.clock.leap is not None
        keys.add_lender(ahead.registry, ahead.clock, "umoja", "Umoja", "KES")
        ahead.vault.ring("umoja")
        kept = SqlVaultKeys(ahead.database).of("umoja")
        made = [key.created_us for key in kept if key.lender == "umoja"]
    assert min(made) >= now_us + 4 * DAY_US
