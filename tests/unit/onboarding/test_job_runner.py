"""Whoever does jobs: tells how far it has come, keeps the job meanwhile, and stops at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from alama.core.errors import AlamaError, TrainingProblem
from alama.lenders import installation
from alama.onboarding.job_runner import Do, Runner, Stopped, Told
from alama.onboarding.jobs import UNEXPECTED, Jobs, ask_for_training
from alama.onboarding.records import Job, JobKind, JobState
from alama.onboarding.store import Stores
from alama.platform import clock, settings
from alama.platform.errors import MasterKeyMissing, StoreUnavailable

WITHIN_S = 60.0


class Watch:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.defects: list[Exception] = []

    def job_started(self, job: Job) -> None:
        self.told.append(f"started {job.attempts}")

    def job_ended(self, job: Job) -> None:
        self.told.append(job.state)

    def job_given_back(self, _job: Job) -> None:
        self.told.append("given back")

    def job_broke(self, _job: Job, error: Exception) -> None:
        self.defects.append(error)


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    opened = installation.open_installation(settings.Settings(home=str(tmp_path)))
    yield Stores.at(opened).jobs
    opened.close()


@pytest.fixture
def job(jobs: Jobs) -> Job:
    return ask_for_training(jobs, clock.wall_us, bytes(7), "demo", b"{}", "W. Mutua")


@pytest.fixture
def watch() -> Watch:
    return Watch()


def runner(jobs: Jobs, do: Do, watch: Watch, name: str = "worker_1") -> Runner:
    return Runner(name, jobs, clock.wall_us, do, watch, every_s=0.01)


def kept(jobs: Jobs, job: Job) -> Job:
    return jobs.find(job.lender, job.id)


def test_a_job_is_done_and_the_next_one_left_to_another_process(
    jobs: Jobs, job: Job, watch: Watch
) -> None:
    done: list[str] = []
    order = jobs.find(job.lender, job.id)
    later = msgspec.structs.replace(order, id=f"{job.id[:-1]}z", kind=JobKind.READ)
    jobs.add(later)
    runner(jobs, lambda one, _: done.append(one.id), watch).run()
    assert (done, watch.told) == ([job.id], ["started 1", "done"])
    assert (kept(jobs, job).state, kept(jobs, job).share) == (JobState.DONE, 1.0)
    assert kept(jobs, later).state is JobState.WAITING


def test_a_job_that_takes_too_long_is_ended_and_says_what_would_do(
    jobs: Jobs, job: Job, watch: Watch
) -> None:
    ended = threading.Event()

    def waits(_job: Job, _told: Told) -> None:
        ended.wait(WITHIN_S)

    endless = Runner(
        "worker_1",
        jobs,
        clock.wall_us,
        waits,
        watch,
        every_s=0.01,
        seconds_max=0.05,
    )
    with pytest.raises(Stopped):
        endless.run()
    ended.set()
    assert kept(jobs, job).state is JobState.FAILED
    assert "the longest that a job may take (hand in fewer" in (kept(jobs, job).error or "")
    assert (watch.told[-1], watch.defects) == ("failed", [])


def test_a_job_that_needs_too_much_memory_has_failed_and_is_no_defect(
    jobs: Jobs, job: Job, watch: Watch
) -> None:
    def swallows(_job: Job, _told: Told) -> None:
        raise pa.ArrowMemoryError("malloc of size 4294967296 failed")

    runner(jobs, swallows, watch).run()
    assert kept(jobs, job).state is JobState.FAILED
    assert "more memory than a job may take" in (kept(jobs, job).error or "")
    assert (watch.told[-1], watch.defects) == ("failed", [])


def test_progress_is_kept_while_the_work_goes_on(jobs: Jobs, job: Job, watch: Watch) -> None:
    seen: list[Job] = []

    def do(_job: Job, told: Told) -> None:
        told(0.25, "boosting")
        deadline = time.monotonic() + WITHIN_S
        while kept(jobs, job).share == 0.0:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        seen.append(kept(jobs, job))

    runner(jobs, do, watch).run()
    assert (seen[0].share, seen[0].step) == (0.25, "boosting")
    assert watch.told[-1] == "done"


def test_what_a_lender_can_mend_is_told_and_a_defect_is_not(
    jobs: Jobs, job: Job, watch: Watch
) -> None:
    def refuses(_job: Job, _told: Told) -> None:
        raise TrainingProblem("too few defaults", hint="wait until more loans are due")

    runner(jobs, refuses, watch).run()
    assert kept(jobs, job).error == "too few defaults (wait until more loans are due)"
    assert (watch.told[-1], watch.defects) == ("failed", [])

    def breaks(_job: Job, _told: Told) -> None:
        raise KeyError("what somebody sent")

    other = ask_for_training(jobs, clock.wall_us, b"another", "demo", b"{}", "W. Mutua")
    runner(jobs, breaks, watch).run()
    assert kept(jobs, other).error == UNEXPECTED
    assert len(watch.defects) == 1


@pytest.mark.parametrize("error", [StoreUnavailable("away"), MasterKeyMissing("mk_1", None)])
def test_a_worker_that_can_do_no_job_gives_it_back_and_ends(
    jobs: Jobs, job: Job, watch: Watch, error: AlamaError
) -> None:
    def do(_job: Job, _told: Told) -> None:
        raise error

    with pytest.raises(type(error)):
        runner(jobs, do, watch).run()
    assert kept(jobs, job) == job  # as if nobody had tried
    assert (watch.told, watch.defects) == (["started 1", "given back"], [])


def test_a_job_is_given_back_as_soon_as_the_database_is_there_again(
    jobs: Jobs, job: Job, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_back, tried = jobs.give_back, list[str]()

    def comes_back(worker: str) -> None:
        tried.append(worker)
        if len(tried) < 3:
            raise StoreUnavailable("away")
        give_back(worker)

    def do(_job: Job, _told: Told) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(jobs, "give_back", comes_back)
    with pytest.raises(StoreUnavailable):
        runner(jobs, do, watch).run()
    assert (len(tried), kept(jobs, job).attempts) == (3, 0)


def test_a_stop_gives_the_job_back_whatever_the_work_is_busy_with(
    jobs: Jobs, job: Job, watch: Watch
) -> None:
    begun, release = threading.Event(), threading.Event()

    def do(_job: Job, _told: Told) -> None:
        begun.set()
        release.wait(WITHIN_S)

    stopping = runner(jobs, do, watch)

    def stop() -> None:
        assert begun.wait(WITHIN_S)
        stopping.stop()

    threading.Thread(target=stop).start()
    with pytest.raises(Stopped):
        stopping.run()
    release.set()
    left = kept(jobs, job)
    assert (left.state, left.worker, left.attempts) == (JobState.WAITING, None, 0)
    assert watch.told == ["started 1", "given back"]


def test_a_stop_while_the_database_is_away_is_a_stop(
    jobs: Jobs, watch: Watch, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()

    def away(_worker: str) -> None:
        raise StoreUnavailable("away")

    def do(_job: Job, _told: Told) -> None:
        stopping.stop()
        release.wait(WITHIN_S)

    stopping = runner(jobs, do, watch)
    monkeypatch.setattr(jobs, "give_back", away)
    with pytest.raises(Stopped):  # for the thread of the job goes on
        stopping.run()
    release.set()
    assert kept(jobs, job).state is JobState.RUNNING  # until its lease is over
    assert watch.defects == []


def test_a_job_that_was_given_to_another_is_let_go(jobs: Jobs, job: Job, watch: Watch) -> None:
    given, release = threading.Event(), threading.Event()

    def do(_job: Job, _told: Told) -> None:
        # It was silent for so long that another has it.
        jobs.give_back("worker_1")
        later = clock.wall_us() + 1
        assert jobs.claim("worker_2", tuple(JobKind), later, later + 2**40) is not None
        given.set()
        release.wait(WITHIN_S)

    with pytest.raises(Stopped):
        runner(jobs, do, watch).run()
    assert given.wait(WITHIN_S)  # it may be let go as soon as it was given back
    release.set()
    assert kept(jobs, job).worker == "worker_2"
