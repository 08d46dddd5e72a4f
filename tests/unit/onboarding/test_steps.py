"""Where an onboarding stands follows from what is kept, and each step names what comes next."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alama.lenders import keys
from alama.lenders.records import OnboardingIncomplete, Pause, UnknownLender
from alama.onboarding.approval import LiveKeys
from alama.onboarding.commands import command_for, words_for
from alama.onboarding.records import LEASE_US, JobKind
from alama.onboarding.steps import Progress, State, Step, progress_of
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.errors import InvalidName
from alama.training.history.report import Enough
from tests.clocks import HandClock
from tests.databases import sqlite_url
from tests.entries import LIVE, NOON_US
from tests.onboarded import FAILED, MODEL, OTHER_MODEL, House, a_history, a_job, a_pilot

PEPPER = b"pepper" * 8
DONE, MISSING, BLOCKED = State.DONE, State.MISSING, State.BLOCKED


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    database = databases.connect(sqlite_url(tmp_path))
    migrate.upgrade(database)
    house = House(database)
    house.begin()
    yield house
    database.close()


@pytest.fixture
def live_keys(house: House) -> LiveKeys:
    return LiveKeys(house.stores, HandClock(house.now_us), PEPPER)


def stands(house: House, lender: str = "demo") -> Progress:
    return progress_of(house.stores, lender, house.now_us)


def states(found: Progress) -> list[State]:
    return [step.state for step in found.steps]


def test_a_new_lender_has_everything_before_it(house: House) -> None:
    found = stands(house)
    assert [step.step for step in found.steps] == list(Step)
    assert states(found) == [MISSING, *[BLOCKED] * 5]
    assert found.next is not None
    assert command_for("demo", found.next) == "alama onboard terms demo"
    assert found.steps[1].words == "after the step lender"
    with pytest.raises(UnknownLender):
        stands(house, "nobody")


def test_each_step_that_is_taken_names_the_next_and_who_took_it(
    house: House, live_keys: LiveKeys
) -> None:
    house.stores.pilots.set(a_pilot(approvers=2))
    assert states(stands(house)) == [DONE, MISSING, *[BLOCKED] * 4]
    house.stores.histories.keep(a_history(), b"{}", [b"rows"])
    assert states(stands(house)) == [DONE, DONE, MISSING, *[BLOCKED] * 3]
    candidate = house.trained()
    assert states(stands(house)) == [DONE, DONE, DONE, DONE, MISSING, BLOCKED]
    house.signed(candidate, "A. Njeri")
    found = stands(house)
    assert found.candidate == candidate
    assert found.steps[4].words == "1 of 2 signatures"
    house.signed(candidate, "W. Mutua")
    assert states(stands(house)) == [*[DONE] * 5, MISSING]
    live_keys.issue("demo")
    found = stands(house)
    assert (states(found), found.next) == ([DONE] * 6, None)
    said = [(step.by, step.at_us) for step in found.steps]
    assert said == [*[("W. Mutua", NOON_US)] * 4, ("A. Njeri, W. Mutua", NOON_US), (None, NOON_US)]
    assert states(stands(house, "umoja")) == [MISSING, *[BLOCKED] * 5]


def test_signatures_from_before_four_eyes_became_two_ask_for_one_more(house: House) -> None:
    house.stores.pilots.set(a_pilot(approvers=2))
    candidate = house.trained()
    house.signed(candidate, "A. Njeri")
    house.stores.pilots.set(a_pilot(approvers=1))
    found = stands(house)
    assert states(found)[4] is MISSING
    assert found.steps[4].words == (
        "signed before by A. Njeri: one signature more, also by the same person, "
        "puts the model in force"
    )
    house.signed(candidate, "A. Njeri")
    assert states(stands(house))[4] is DONE


def test_a_newer_model_with_signatures_from_before_says_so_beside_the_one_that_answers(
    house: House,
) -> None:
    house.stores.pilots.set(a_pilot(approvers=1))
    house.signed(house.trained(), "A. Njeri")
    house.stores.pilots.set(a_pilot(approvers=2))
    newer = house.trained(model=OTHER_MODEL)
    house.signed(newer, "A. Njeri")
    short = OTHER_MODEL.id.removeprefix("sha256:")[:12]
    assert stands(house).steps[4].words.endswith(f"; model {short}: 1 of 2 signatures")
    house.stores.pilots.set(a_pilot(approvers=1))
    assert f"; model {short}: signed before by A. Njeri" in stands(house).steps[4].words
    house.signed(newer, "A. Njeri")
    house.approval.roll_back("demo", "W. Mutua", "it approves too many")
    # It has answered, and was left.
    back = f"rolled back from {short} by W. Mutua, 2026-11-15 12:00 UTC: it approves too many"
    assert stands(house).steps[4].words.endswith(f" answers, {back}")
    assert not stands(house).newer
    # Somebody wants it back: what was signed before it was left is over.
    house.stores.pilots.set(a_pilot(approvers=2))
    house.now_us += 1
    house.signed(newer, "A. Njeri")
    assert stands(house).steps[4].words.endswith(f"; model {short}: 1 of 2 signatures")


def test_a_history_with_too_few_defaults_is_in_the_way_and_says_what_helps(house: House) -> None:
    house.stores.pilots.set(a_pilot())
    house.stores.histories.keep(a_history(enough=Enough.NOTHING), b"{}", [b"rows"])
    found = stands(house)
    assert states(found)[:3] == [DONE, BLOCKED, BLOCKED]
    assert "too few defaults" in found.steps[1].words
    assert found.steps[1].words.endswith("left to a person collects more")
    command = "alama keys issue --lender demo --mode live --shadow"
    assert words_for("demo", found.steps[1]) == f"{found.steps[1].words} ({command})"


def test_a_newer_model_that_may_be_signed_is_known_beside_the_old_one(house: House) -> None:
    house.stores.pilots.set(a_pilot())
    house.signed(house.trained(), "A. Njeri")
    assert (stands(house).live, stands(house).newer) == (MODEL.id, False)
    house.stores.histories.keep(a_history(), b"{}", [b"rows"])
    short = MODEL.id.removeprefix("sha256:")[:12]
    assert stands(house).steps[2].words.endswith(f"model {short} goes on answering")
    house.trained(model=OTHER_MODEL, gates=FAILED)
    assert not stands(house).newer  # nobody could sign it
    house.trained(model=OTHER_MODEL)
    assert (stands(house).live, stands(house).newer) == (MODEL.id, True)


def test_a_pause_is_part_of_where_a_lender_stands(house: House) -> None:
    assert stands(house).paused is None
    pause = Pause(NOON_US, "arrears, incident 44")
    house.stores.registry.pause(LIVE, pause)
    assert stands(house).paused == pause


def test_a_decision_that_is_missing_is_in_the_way_and_says_about_which_fields(
    house: House,
) -> None:
    house.stores.pilots.set(a_pilot())
    report = b'{"suspects":[{"column":"avg_balance","standing":"open"}]}'
    house.stores.histories.keep(a_history(), report, [b"rows"])
    found = stands(house)
    assert states(found)[:3] == [DONE, BLOCKED, BLOCKED]
    assert "avg_balance tells the outcome almost alone" in found.steps[1].words
    assert command_for("demo", found.steps[1]) == "alama onboard train demo --exclude avg_balance"


def test_a_failed_gate_is_in_the_way_and_says_which(house: House) -> None:
    house.stores.pilots.set(a_pilot())
    house.trained(gates=FAILED)
    found = stands(house)
    assert states(found) == [DONE, DONE, DONE, BLOCKED, BLOCKED, BLOCKED]
    assert "psi: 0.31, and at most 0.25 is allowed" in found.steps[3].words


def test_the_first_step_tells_what_was_agreed(house: House) -> None:
    house.stores.pilots.set(a_pilot(approvers=2))
    said = "a default is 30 days past due; two people approve; the law of KE holds"
    assert stands(house).steps[0].words == said
    house.stores.pilots.set(a_pilot(jurisdiction=None, gates='{"auc":0.65}'))
    said = "a default is 30 days past due; one person approves; some gates are its own, and tighter"
    assert stands(house).steps[0].words == said


def test_other_terms_ask_for_what_was_done_under_those_before(house: House) -> None:
    house.stores.pilots.set(a_pilot())
    house.trained()
    house.stores.pilots.set(a_pilot(gates='{"auc":0.65}'))
    found = stands(house)
    assert states(found)[:4] == [DONE, DONE, DONE, BLOCKED]
    assert "judged by other gates" in found.steps[3].words
    assert command_for("demo", found.steps[3]) == "alama onboard train demo"
    house.stores.pilots.set(a_pilot(days_past_due=60))
    found = stands(house)
    assert states(found)[:3] == [DONE, MISSING, BLOCKED]
    assert "since the definition of default was changed" in found.steps[1].words


def test_a_newer_history_asks_for_a_model_of_its_own(house: House) -> None:
    house.stores.pilots.set(a_pilot())
    house.trained()
    house.stores.histories.keep(a_history(), b"{}", [b"more rows"])
    found = stands(house)
    assert states(found) == [DONE, DONE, MISSING, *[BLOCKED] * 3]
    assert found.candidate is None
    assert found.steps[2].words == (
        f"model {MODEL.id[7:19]} was trained on an earlier history than the newest: train again"
    )


def test_a_newer_history_does_not_undo_what_answers(house: House, live_keys: LiveKeys) -> None:
    house.stores.pilots.set(a_pilot())
    house.signed(house.trained(), "A. Njeri")
    live_keys.issue("demo")
    house.stores.histories.keep(a_history(), b"{}", [b"more rows"])
    found = stands(house)
    assert states(found) == [DONE, DONE, MISSING, BLOCKED, DONE, DONE]
    assert found.steps[4].words == f"model {MODEL.id[7:19]} answers"
    assert live_keys.issue("demo")[1].book == LIVE


def test_a_history_that_was_erased_untrained_gives_way_to_the_one_before(house: House) -> None:
    house.stores.pilots.set(a_pilot())
    candidate = house.trained()
    mistaken = a_history()
    house.stores.histories.keep(mistaken, b"{}", [b"of somebody else"])
    house.stores.histories.forget("demo", mistaken.id, NOON_US, "W. Mutua")
    found = stands(house)
    assert states(found)[:4] == [DONE] * 4
    assert found.candidate == candidate
    house.stores.histories.forget("demo", candidate.history_id, NOON_US, "W. Mutua")
    assert states(stands(house))[:4] == [DONE] * 4


def test_a_history_that_was_erased_before_anything_was_trained_is_missing(house: House) -> None:
    house.stores.pilots.set(a_pilot())
    history = a_history()
    house.stores.histories.keep(history, b"{}", [b"rows"])
    house.stores.histories.forget("demo", history.id, NOON_US, "W. Mutua")
    found = stands(house)
    assert states(found)[:3] == [DONE, MISSING, BLOCKED]
    assert "hand the file in again" in found.steps[1].words


def test_a_failure_on_an_earlier_history_says_nothing_about_a_newer(house: House) -> None:
    house.stores.pilots.set(a_pilot())
    house.stores.histories.keep(a_history(), b"{}", [b"rows"])
    job, jobs = a_job(), house.stores.jobs
    jobs.add(job)
    jobs.claim("one", (JobKind.TRAIN,), NOON_US, NOON_US + LEASE_US)
    jobs.fail("one", job.id, "one class of outcomes alone", NOON_US)
    house.stores.histories.keep(a_history(created_us=NOON_US + 1), b"{}", [b"rows"])
    step = stands(house).steps[2]
    assert (step.state, step.words) == (MISSING, "no model has been trained on its history")


def test_a_training_run_is_seen_on_its_way_and_in_its_failure(house: House) -> None:
    house.stores.pilots.set(a_pilot())
    house.stores.histories.keep(a_history(), b"{}", [b"rows"])
    job, jobs = a_job(), house.stores.jobs
    jobs.add(job)
    assert stands(house).steps[2].words == "it waits for a worker"
    jobs.claim("one", (JobKind.TRAIN,), NOON_US, NOON_US + LEASE_US)
    jobs.advance("one", job.id, 0.4, "fitting", NOON_US + LEASE_US)
    assert stands(house).steps[2].words == "under way, 40%: fitting"
    jobs.fail("one", job.id, "one class of outcomes alone", NOON_US)
    step = stands(house).steps[2]
    assert (step.state, step.words) == (BLOCKED, "it failed: one class of outcomes alone")


def test_a_newer_model_waits_beside_the_one_that_answers(house: House) -> None:
    house.stores.pilots.set(a_pilot())
    house.signed(house.trained(), "A. Njeri")
    house.trained(model=OTHER_MODEL)
    step = stands(house).steps[4]
    assert step.state is DONE
    assert f"model {MODEL.id[7:19]} answers; model {OTHER_MODEL.id[7:19]}: 0 of 1" in step.words


# ------------------------------------------------------------------------------- live keys


def test_a_live_key_before_approval_is_refused_with_the_missing_step(
    house: House, live_keys: LiveKeys
) -> None:
    with pytest.raises(OnboardingIncomplete, match="the step lender is missing"):
        live_keys.issue("demo")
    house.stores.pilots.set(a_pilot())
    with pytest.raises(OnboardingIncomplete, match="the step history is missing"):
        live_keys.issue("demo")
    candidate = house.trained()
    with pytest.raises(OnboardingIncomplete, match="the step approve is missing: 0 of 1"):
        live_keys.issue("demo")
    assert house.stores.registry.keys() == []
    house.signed(candidate, "A. Njeri")
    assert live_keys.issue("demo")[1].book == LIVE


def test_a_shadow_needs_terms_and_nothing_else(house: House, live_keys: LiveKeys) -> None:
    with pytest.raises(OnboardingIncomplete, match="the step lender is missing"):
        live_keys.issue_shadow("demo", "W. Mutua")
    house.stores.pilots.set(a_pilot())
    with pytest.raises(InvalidName):
        live_keys.issue_shadow("demo", " ")
    with pytest.raises(UnknownLender):
        live_keys.issue_shadow("nobody", "W. Mutua")
    _, key = live_keys.issue_shadow("demo", "W. Mutua", days=30)
    assert (key.book, key.days) == (LIVE, 30)
    assert house.stores.registry.in_shadow(LIVE)
    # A live key that is to be answered by a model still waits for one.
    with pytest.raises(OnboardingIncomplete, match="the step history is missing"):
        live_keys.issue("demo")
    step = stands(house).steps[5]
    assert step.state is BLOCKED
    assert step.words == "live keys answer with REVIEW alone, until a model is approved"


def test_a_key_that_ended_does_not_count(house: House, live_keys: LiveKeys) -> None:
    house.stores.pilots.set(a_pilot())
    house.signed(house.trained(), "A. Njeri")
    _, key = live_keys.issue("demo", days=1)
    assert stands(house).next is None
    house.now_us += keys.US_PER_DAY
    assert stands(house).steps[5].state is MISSING
    house.now_us = NOON_US
    keys.revoke(house.stores.registry, lambda: NOON_US, key.id)
    assert stands(house).steps[5].state is MISSING
