"""Jobs: each is done by one worker at a time, and none is lost with its worker."""

import threading
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from alama.lenders.records import UnknownLender
from alama.onboarding.jobs import Jobs
from alama.onboarding.records import (
    ATTEMPTS_MAX,
    LEASE_US,
    Job,
    JobKind,
    JobState,
    JobUnderWay,
    UnknownJob,
)
from alama.platform.database.database import Database
from tests.entries import NOON_US
from tests.onboarded import House, a_job, stores_in

KINDS = (JobKind.TRAIN,)
UNTIL_US = NOON_US + LEASE_US


@pytest.fixture
def jobs(database: Database) -> Jobs:
    house = House(database)
    house.begin()
    assert isinstance(house.stores.jobs, Jobs)
    return house.stores.jobs


def claimed(jobs: Jobs, worker: str = "one", now_us: int = NOON_US) -> Job | None:
    return jobs.claim(worker, KINDS, now_us, now_us + LEASE_US)


def test_a_job_is_found_as_it_was_asked_for_and_by_its_lender_alone(jobs: Jobs) -> None:
    job = a_job()
    jobs.add(job)
    assert jobs.find("demo", job.id) == job
    assert jobs.of("demo") == [job]
    assert jobs.of("umoja") == []
    with pytest.raises(UnknownJob):
        jobs.find("umoja", job.id)
    with pytest.raises(UnknownLender):
        jobs.add(a_job("nobody"))


def test_a_lender_has_one_open_job_of_a_kind(jobs: Jobs) -> None:
    first = a_job()
    jobs.add(first)
    with pytest.raises(JobUnderWay) as caught:
        jobs.add(a_job())
    assert caught.value.job_id == first.id
    jobs.add(a_job("umoja"))
    claimed(jobs)
    assert jobs.finish("one", first.id, NOON_US)
    jobs.add(a_job())


def test_the_oldest_job_is_taken_first_and_by_nobody_else(jobs: Jobs) -> None:
    old, new = a_job("umoja"), a_job()
    jobs.add(new)
    jobs.add(old)
    taken = [claimed(jobs, worker) for worker in ("one", "two", "three")]
    assert [job.id if job else None for job in taken] == [old.id, new.id, None]
    first = jobs.find("umoja", old.id)
    assert (first.state, first.worker, first.lease_us) == (JobState.RUNNING, "one", UNTIL_US)


def a_reading() -> Job:
    return msgspec.structs.replace(a_job(), kind=JobKind.READ)


def test_lenders_take_turns_however_much_one_of_them_has_asked_for(jobs: Jobs) -> None:
    for job in (a_job(), a_reading(), a_job("umoja")):
        jobs.add(job)
    served = []
    for now_us in range(NOON_US, NOON_US + 3):
        taken = jobs.claim("one", tuple(JobKind), now_us, now_us + LEASE_US)
        assert taken is not None
        assert jobs.finish("one", taken.id, now_us)
        served.append(taken.lender)
    assert served == ["demo", "umoja", "demo"]


def test_a_lender_for_whom_a_worker_is_busy_lets_others_pass(jobs: Jobs) -> None:
    for job in (a_job(), a_reading(), a_job("umoja")):
        jobs.add(job)
    taken = [jobs.claim(name, tuple(JobKind), NOON_US, UNTIL_US) for name in ("one", "two")]
    assert [job.lender for job in taken if job] == ["demo", "umoja"]


def test_a_job_of_a_kind_that_a_worker_cannot_do_is_left_to_others(jobs: Jobs) -> None:
    jobs.add(a_job())
    assert jobs.claim("one", (), NOON_US, UNTIL_US) is None


def test_of_many_workers_at_once_one_gets_the_job(jobs: Jobs, elsewhere: Database) -> None:
    others = stores_in(elsewhere).jobs
    assert isinstance(others, Jobs)
    for round_ in range(5):
        job = a_job(at_us=NOON_US + round_)
        jobs.add(job)
        start = threading.Barrier(4)

        def ask(number: int, start: threading.Barrier = start) -> Job | None:
            start.wait()
            return claimed(jobs if number % 2 else others, f"worker_{number}")

        with ThreadPoolExecutor(4) as pool:
            taken = [one for one in pool.map(ask, range(4)) if one is not None]
        assert [one.id for one in taken] == [job.id]
        assert jobs.finish(taken[0].worker or "", job.id, NOON_US)


def test_progress_can_be_read_and_keeps_the_job(jobs: Jobs) -> None:
    job = a_job()
    jobs.add(job)
    claimed(jobs)
    assert jobs.advance("one", job.id, 0.25, "fitting the mains", UNTIL_US + 5)
    seen = jobs.find("demo", job.id)
    assert (seen.share, seen.step, seen.lease_us) == (0.25, "fitting the mains", UNTIL_US + 5)
    assert claimed(jobs, "two", UNTIL_US) is None


def test_a_job_comes_back_when_its_worker_is_silent_and_begins_anew(jobs: Jobs) -> None:
    job = a_job()
    jobs.add(job)
    claimed(jobs)
    jobs.advance("one", job.id, 0.5, "half of it", UNTIL_US)
    assert claimed(jobs, "two", UNTIL_US - 1) is None
    again = claimed(jobs, "two", UNTIL_US)
    assert again is not None
    assert (again.worker, again.share, again.step, again.attempts) == ("two", 0.0, "", 2)
    # The first was only slow: what it says does not count any more.
    assert not jobs.advance("one", job.id, 0.9, "nearly", UNTIL_US + LEASE_US)
    assert not jobs.finish("one", job.id, UNTIL_US)
    assert not jobs.fail("one", job.id, "no", UNTIL_US)
    assert jobs.find("demo", job.id) == again


def test_a_lease_of_a_clock_that_ran_ahead_does_not_hold_a_job_for_a_year(jobs: Jobs) -> None:
    jobs.add(a_job())
    assert claimed(jobs, "ahead", NOON_US + 365 * 86_400 * 1_000_000) is not None
    assert claimed(jobs, "two") is not None


def test_a_job_that_costs_every_worker_is_given_up(jobs: Jobs) -> None:
    job, now_us = a_job(), NOON_US
    jobs.add(job)
    for number in range(ATTEMPTS_MAX):
        assert claimed(jobs, f"worker_{number}", now_us) is not None
        now_us += LEASE_US
    assert claimed(jobs, "another", now_us) is None
    ended = jobs.find("demo", job.id)
    assert (ended.state, ended.ended_us) == (JobState.FAILED, now_us)
    assert "3 workers ended in the middle of it" in str(ended.error)


def test_what_a_worker_gives_back_waits_as_if_it_had_never_been_taken(jobs: Jobs) -> None:
    mine, theirs = a_job(), a_job("umoja")
    jobs.add(mine)
    jobs.add(theirs)
    claimed(jobs)
    other = claimed(jobs, "two")
    jobs.give_back("one")
    assert jobs.find("demo", mine.id) == mine
    assert other is not None
    assert jobs.find("umoja", theirs.id) == other


@pytest.mark.parametrize("error", [None, "one class of outcomes alone"])
def test_a_job_ends_once(jobs: Jobs, error: str | None) -> None:
    job = a_job()
    jobs.add(job)
    running = claimed(jobs)
    assert running is not None
    if error is None:
        assert jobs.finish("one", job.id, NOON_US + 9)
    else:
        assert jobs.fail("one", job.id, error, NOON_US + 9)
    ended = msgspec.structs.replace(
        running,
        state=JobState.DONE if error is None else JobState.FAILED,
        share=1.0 if error is None else 0.0,
        error=error,
        ended_us=NOON_US + 9,
        worker=None,
        lease_us=None,
    )
    assert jobs.find("demo", job.id) == ended
    assert not jobs.finish("one", job.id, NOON_US + 10)
    assert claimed(jobs, "two", UNTIL_US + LEASE_US) is None
