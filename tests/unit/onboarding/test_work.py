"""A worker's turn at a job: however it is left, the job is not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alama.core.errors import AlamaError
from alama.onboarding import jobs
from alama.onboarding.commands import words_for
from alama.onboarding.records import LEASE_US, Job, JobState
from alama.onboarding.steps import State, Step, StepProgress
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.errors import InvalidName, MasterKeyMissing, StoreUnavailable
from tests.databases import sqlite_url
from tests.entries import NOON_US
from tests.onboarded import House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    database = databases.connect(sqlite_url(tmp_path))
    migrate.upgrade(database)
    house = House(database)
    house.begin()
    yield house
    database.close()


@pytest.fixture
def asked(house: House) -> Job:
    return jobs.ask_for_training(
        house.stores.jobs, lambda: house.now_us, bytes(7), "demo", b"{}", " W. Mutua "
    )


def turn(house: House, worker: str = "one") -> jobs.Turn:
    taken = jobs.take(house.stores.jobs, lambda: house.now_us, worker)
    assert taken is not None
    return taken


def seen(house: House, job: Job) -> Job:
    return house.stores.jobs.find("demo", job.id)


def test_a_job_says_who_asked_and_needs_somebody_who_does(house: House, asked: Job) -> None:
    assert (asked.asked_by, asked.state, asked.id[:4]) == ("W. Mutua", JobState.WAITING, "job_")
    with pytest.raises(InvalidName):
        jobs.ask_for_training(house.stores.jobs, lambda: NOON_US, bytes(7), "umoja", b"{}", "")


def test_where_nothing_waits_there_is_no_turn(house: House) -> None:
    assert jobs.take(house.stores.jobs, lambda: NOON_US, "one") is None


def test_progress_is_written_once_a_second_and_the_job_is_done_at_the_end(
    house: House, asked: Job
) -> None:
    with turn(house) as taken:
        assert taken.job.order == b"{}"
        taken.advance(0.1, "reading")
        taken.advance(0.2, "banding")
        assert (seen(house, asked).share, seen(house, asked).step) == (0.1, "reading")
        house.now_us += jobs.ADVANCE_US
        taken.advance(0.3, "fitting")
        assert seen(house, asked).step == "fitting"
        assert seen(house, asked).lease_us == house.now_us + LEASE_US
    assert (seen(house, asked).state, seen(house, asked).share) == (JobState.DONE, 1.0)


def test_what_a_person_can_put_right_is_told_and_ends_there(house: House, asked: Job) -> None:
    with turn(house):
        raise AlamaError("one class of outcomes alone", hint="hand in more loans")
    assert seen(house, asked).error == "one class of outcomes alone (hand in more loans)"
    assert seen(house, asked).state is JobState.FAILED


def test_a_mistake_of_ours_fails_the_job_and_goes_on(house: House, asked: Job) -> None:
    with pytest.raises(ZeroDivisionError), turn(house):
        raise ZeroDivisionError("of 4711 by nothing")
    assert seen(house, asked).error == jobs.UNEXPECTED


def test_a_worker_that_has_to_stop_leaves_the_job_to_others(house: House, asked: Job) -> None:
    with pytest.raises(KeyboardInterrupt), turn(house):
        raise KeyboardInterrupt
    assert seen(house, asked) == asked
    assert turn(house, "two").job.attempts == 1


def test_a_database_that_is_away_does_not_fail_a_job(house: House, asked: Job) -> None:
    with pytest.raises(StoreUnavailable), turn(house):
        raise StoreUnavailable("away")
    assert seen(house, asked).state is JobState.RUNNING
    house.now_us += LEASE_US
    assert turn(house, "two").job.id == asked.id


def test_a_worker_without_the_master_key_does_not_fail_a_job(house: House, asked: Job) -> None:
    taken = turn(house)
    with pytest.raises(MasterKeyMissing), taken:
        raise MasterKeyMissing("mk_1", None)
    assert seen(house, asked).state is JobState.RUNNING
    taken.give_back()
    assert seen(house, asked) == asked


def test_a_worker_that_was_silent_for_too_long_stops_and_changes_nothing(
    house: House, asked: Job
) -> None:
    with turn(house) as slow:
        house.now_us += LEASE_US
        quick = turn(house, "two")
        with pytest.raises(jobs.JobLost):
            slow.advance(0.9, "nearly")
    assert seen(house, asked).worker == "two"
    with quick:
        pass
    assert seen(house, asked).state is JobState.DONE


def worded(house: House, job: Job, now_us: int) -> str:
    return jobs.worded(house.stores.jobs, job, now_us).step


def test_a_job_that_nobody_takes_says_what_to_do_after_a_minute(house: House, asked: Job) -> None:
    assert worded(house, asked, NOON_US) == "it waits for a worker"
    in_vain = worded(house, asked, NOON_US + jobs.WAITS_US)
    assert in_vain.startswith("no worker takes it: one has to run")
    step = StepProgress(Step.TRAIN, State.MISSING, in_vain)
    assert "`alama worker` has to run" in words_for("demo", step)


@pytest.mark.usefixtures("asked")
def test_a_job_that_waits_for_another_says_so_as_long_as_that_is_being_done(house: House) -> None:
    theirs = jobs.ask_for_training(
        house.stores.jobs, lambda: NOON_US + 1, bytes(7), "umoja", b"{}", "A. Njeri"
    )
    turn(house)
    assert worded(house, theirs, NOON_US + LEASE_US - 1) == jobs.WAITS_BEHIND
    assert worded(house, theirs, NOON_US + LEASE_US) == jobs.WAITS_IN_VAIN


def test_a_job_whose_worker_is_silent_says_so_when_its_lease_is_over(
    house: House, asked: Job
) -> None:
    turn(house).advance(0.4, "fitting")
    running = seen(house, asked)
    assert worded(house, running, NOON_US + LEASE_US - 1) == "fitting"
    assert "has not been heard of" in worded(house, running, NOON_US + LEASE_US)
