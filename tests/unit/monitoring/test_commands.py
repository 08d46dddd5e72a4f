"""What the terminal names as the command that does something about a finding."""

from __future__ import annotations

from msgspec.structs import replace

from alama.core.monitoring.figures import MonitoringReport, OtherModel, RunningChallenger
from alama.core.monitoring.rates import Loans, rate
from alama.monitoring.commands import naming_commands
from tests.reports import repaid, report, reviewed, scored, states


def advice(of: MonitoringReport, code: str) -> str:
    (said,) = [one.advice for one in naming_commands(of).findings if one.code == code]
    return said


def test_a_report_names_no_command_and_has_the_same_findings_without() -> None:
    for found in states().values():
        assert not [one for one in found.findings if "`alama " in one.advice]
        named = naming_commands(found)
        assert [(one.code, one.urgency, one.says) for one in named.findings] == [
            (one.code, one.urgency, one.says) for one in found.findings
        ]


def test_recalibrating_is_advised_as_a_whole_command_and_after_a_look_at_what_drifted() -> None:
    command = "`alama models recalibrate demo --mode test --out moved.json` moves the level"
    steady = advice(report(reviewed(repaid(times=1.5))), "defaults_higher")
    drifted = advice(states()["troubled"], "defaults_higher")
    assert steady.startswith(command)
    assert drifted.startswith("See first what has drifted")
    assert f"Then {command}" in drifted


def test_in_live_mode_recalibrating_needs_no_file() -> None:
    found = replace(report(reviewed(repaid(times=1.5))), mode="live")
    assert "`alama models recalibrate demo --mode live` moves" in advice(found, "defaults_higher")


def test_another_model_is_reported_on_by_a_command() -> None:
    healthy = states()["healthy"]
    loans = rate(Loans(9_000, 450, 450.0))
    other = OtherModel("sha256:" + "3c" * 32, scores=0, answers=False, loans=loans)
    told = advice(replace(healthy, other_models=(other,)), "other_model")
    assert told == f"`alama monitor demo --mode test --model {other.id}` reports on it."


def test_scores_that_wait_are_listed_by_a_command_too() -> None:
    sums = scored()
    sums.waits = 536
    assert advice(report(sums), "reviews_wait") == (
        "`alama scores list --lender demo --mode test --waiting`, or "
        "`GET /v1/scores?waiting=true`, lists them. `POST /v1/scores/{request_id}/review`, or "
        "`alama scores review`, gives them their end."
    )


def test_a_challenger_is_ended_or_compared_by_a_command() -> None:
    healthy = states()["healthy"]
    running = RunningChallenger("sha256:" + "8a" * 32, healthy.first_day, 12, 0, answers=False)
    told = advice(replace(healthy, challenger=running), "challenger")
    assert told == "`alama models compare demo --mode test` holds the two against each other."
    told = advice(replace(healthy, challenger=replace(running, answers=True)), "challenger")
    command = "alama models challenge demo --mode test --end --by NAME"
    assert told == f'End it: `{command} --reason "..."`.'
