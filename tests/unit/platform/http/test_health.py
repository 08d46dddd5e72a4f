"""Health is what the database says of itself, at most once a second."""

import asyncio

import pytest

from alama.platform.errors import MasterKeyMissing, StoreUnavailable
from alama.platform.http.status import HealthCheck
from alama.platform.timeouts import FRESH_US, run_with_timeout
from tests.clocks import HandClock


class Patient:
    """A database that is as well as it is told to be; a full disk reads and does not write."""

    def __init__(self) -> None:
        self.reads = True
        self.writes = True
        self.opens = True
        self.failing = False
        self.asked: list[str] = []

    def ping(self) -> None:
        self.asked.append("read")
        if not self.reads:
            raise StoreUnavailable("no answer")

    def write_something(self) -> None:
        self.asked.append("write")
        if not self.writes:
            raise StoreUnavailable("no room")

    def own_master(self) -> None:
        if not self.opens:
            raise MasterKeyMissing("a" * 16, "b" * 16)


@pytest.fixture
def patient() -> Patient:
    return Patient()


@pytest.fixture
def health(patient: Patient, stopwatch: HandClock) -> HealthCheck:
    return HealthCheck(patient, patient, patient, stopwatch)


def reason(health: HealthCheck) -> str | None:
    return asyncio.run(health.report()).reason


def test_a_database_that_answers_is_well(health: HealthCheck) -> None:
    assert reason(health) is None


def test_a_database_that_does_not_answer_is_told_with_its_reason(
    health: HealthCheck, patient: Patient
) -> None:
    patient.reads = False
    assert reason(health) == "no answer"


def test_a_database_that_was_brought_under_another_master_key_is_not_well(
    health: HealthCheck, patient: Patient
) -> None:
    patient.opens = False
    assert "wrapped under the master key aaaa" in (reason(health) or "")


def test_the_database_is_asked_once_a_second_at_most(
    health: HealthCheck, patient: Patient, stopwatch: HandClock
) -> None:
    for _ in range(5):
        reason(health)
    assert patient.asked == ["read", "write"]
    stopwatch.now_us += FRESH_US
    reason(health)
    assert patient.asked == ["read", "write"] * 2


def test_health_returns_by_itself(
    health: HealthCheck, patient: Patient, stopwatch: HandClock
) -> None:
    patient.reads = False
    assert reason(health) is not None
    patient.reads = True
    stopwatch.now_us += FRESH_US
    assert reason(health) is None


def test_a_full_disk_is_told_before_a_score_has_met_it(
    health: HealthCheck, patient: Patient, stopwatch: HandClock
) -> None:
    patient.writes = False
    assert reason(health) == "no room"
    patient.writes = True
    stopwatch.now_us += FRESH_US
    assert reason(health) is None


def test_where_scores_cannot_be_kept_only_a_write_says_that_all_is_well(
    health: HealthCheck, patient: Patient, stopwatch: HandClock
) -> None:
    patient.failing, patient.writes = True, False
    assert reason(health) == "no room"
    patient.writes = True
    stopwatch.now_us += FRESH_US
    assert reason(health) is None
    assert patient.asked == ["write", "write"]


def test_many_who_ask_at_the_start_all_hear_that_it_is_well(
    health: HealthCheck, patient: Patient
) -> None:
    async def together() -> set[str | None]:
        reports = await asyncio.gather(*[health.report() for _ in range(5)])
        return {report.reason for report in reports}

    assert asyncio.run(together()) == {None}
    assert patient.asked == ["read", "write"]


def test_patience_with_a_database_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_with_timeout, "__defaults__", (0.05,))
    answered = []

    async def story() -> None:
        released = asyncio.Event()
        loop = asyncio.get_running_loop()

        def hang() -> None:
            asyncio.run_coroutine_threadsafe(released.wait(), loop).result()
            answered.append("late")

        with pytest.raises(StoreUnavailable, match="in time"):
            await run_with_timeout(hang)
        released.set()

    asyncio.run(story())
    assert answered == ["late"]


def test_what_the_database_says_in_time_is_passed_on() -> None:
    assert asyncio.run(run_with_timeout(lambda: 7)) == 7
    with pytest.raises(ZeroDivisionError):
        asyncio.run(run_with_timeout(lambda: 1 // 0))
