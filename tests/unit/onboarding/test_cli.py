"""The steps of an onboarding as commands, but for training, which tests/e2e has."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE, build_parser, main
from alama.core.lending import policy_text
from alama.lenders import installation
from alama.lenders.installation import Installation
from alama.onboarding import cli, offline
from alama.onboarding import cli as onboarding_cli
from alama.onboarding.arguments import decided_from
from alama.onboarding.commands import COMMANDS
from alama.onboarding.records import Decided, Pilot
from alama.onboarding.steps import Step
from alama.onboarding.store import Stores
from alama.onboarding.tasks import options_of
from alama.platform import settings
from alama.platform.book import Book, Mode
from alama.policies.policies import text_in_force
from alama.training.history.loans import Options
from tests.histories import TODAY, history_columns, write_csv

NEW = ["--name", "Umoja [bold] SACCO", "--currency", "kes", "--by", "W. Mutua"]
LIVE = Book("umoja", Mode.LIVE)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def opened() -> Installation:
    return installation.open_installation(settings.read(os.environ))


def pilot() -> Pilot:
    installed = opened()
    found = Stores.at(installed).pilots.find("umoja")
    installed.close()
    assert found is not None
    return found


def a_history(folder: Path, **changes: int) -> Path:
    """A file of which a model could be made; `bad_every` says how often a loan defaulted."""
    return write_csv(folder, history_columns(**changes))


# ----------------------------------------------------------------------------------- terms


def test_a_new_lender_gets_its_terms_and_sees_what_comes_next(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["onboard", "umoja", *NEW, "--four-eyes", "--days-past-due", "60"]) == 0
    out = capsys.readouterr().out
    assert "Umoja [bold] SACCO (umoja): 1 of 6 steps" in out
    assert re.search(r"1 +lender +done +a default is 60 days past due; two people approve", out)
    assert re.search(r"2 +history +missing", out)
    assert "Next, history:" in out
    assert (pilot().approvers, pilot().set_by) == (2, "W. Mutua")


def test_without_a_terminal_what_is_missing_is_named_with_its_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["onboard", "umoja", "--currency", "KES"]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "The name of umoja" in err
    assert "--name" in err


def test_what_is_not_said_stays_as_it_was() -> None:
    assert main(["onboard", "terms", "umoja", *NEW, "--four-eyes", "--jurisdiction", "KE"]) == 0
    before = pilot()
    assert main(["onboard", "terms", "umoja", "--days-past-due", "90"]) == 0
    after = pilot()
    assert (after.days_past_due, after.approvers, after.jurisdiction) == (90, 2, "KE")
    assert main(["onboard", "umoja"]) == 0
    assert pilot() == after != before


def test_two_eyes_of_four_take_a_reason_and_are_warned_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    terms = ["onboard", "terms", "umoja"]
    assert main([*terms, *NEW, "--four-eyes"]) == 0
    assert main([*terms, "--two-eyes"]) == EXIT_MISTAKE
    assert 'alama onboard terms umoja --two-eyes --reason "..."' in capsys.readouterr().err
    assert main([*terms, "--days-past-due", "60", "--reason", "why not"]) == EXIT_MISTAKE
    assert (pilot().approvers, pilot().days_past_due) == (2, 30)
    assert main([*terms, "--two-eyes", "--reason", "J. Otieno has left"]) == 0
    assert pilot().approvers == 1
    assert "one person alone puts a model of umoja in force" in capsys.readouterr().err
    assert main(["audit", "verify"]) == 0


def test_the_law_can_be_left_again() -> None:
    assert main(["onboard", "terms", "umoja", *NEW, "--jurisdiction", "kenya"]) == 0
    assert main(["onboard", "terms", "umoja", "--jurisdiction", "none"]) == 0
    assert pilot().jurisdiction is None


def test_the_live_policy_is_drafted_from_the_pack_where_there_is_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["onboard", "terms", "umoja", *NEW, "--jurisdiction", "KE"]) == 0
    assert "alama policy show --lender umoja --mode live" in capsys.readouterr().err
    installed = opened()
    policy = policy_text.read(text_in_force(installed.registry, LIVE))
    [step] = installed.registry.deployments(LIVE)
    installed.close()
    assert policy.jurisdiction == "KE"
    assert (step.model_id, step.signed.by) == (None, "W. Mutua")


def test_a_live_policy_of_another_law_stays_in_force_and_is_spoken_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["onboard", "terms", "umoja", *NEW]) == 0
    policy = tmp_path / "policy.toml"
    assert main(["policy", "init", "--currency", "KES", "--out", str(policy)]) == 0
    activate = ["policy", "activate", str(policy), "--lender", "umoja", "--mode", "live"]
    assert main([*activate, "--by", "W. Mutua"]) == 0
    capsys.readouterr()
    assert main(["onboard", "terms", "umoja", "--jurisdiction", "KE"]) == 0
    assert "the live policy of umoja is one for" in capsys.readouterr().err
    installed = opened()
    assert len(installed.registry.deployments(LIVE)) == 1
    installed.close()


def test_a_law_of_another_currency_is_refused_and_sets_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["onboard", "terms", "umoja", *NEW, "--jurisdiction", "UG"]) == EXIT_MISTAKE
    assert "does not lend in KES" in capsys.readouterr().err
    installed = opened()
    assert Stores.at(installed).pilots.find("umoja") is None
    installed.close()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (["--name", "Another"], "the name of umoja is Umoja [bold] SACCO"),
        (["--currency", "UGX"], "the currency of umoja is KES"),
        (["--gate", "auc_low_min=0.5"], "would let more through than is allowed to anyone"),
        (["--gate", "auc_low_min=inf"], "no model could pass auc_low_min = inf"),
        (["--gate", "defaults_min=400.5"], "and not a whole one"),
        (["--days-past-due", "400"], "a default after 1 to 365 days"),
    ],
)
def test_terms_that_cannot_be_are_refused(
    said: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["onboard", "terms", "umoja", *NEW]) == 0
    assert main(["onboard", "terms", "umoja", *said]) == EXIT_MISTAKE
    assert message in capsys.readouterr().err


def test_a_gate_can_be_tightened() -> None:
    said = ["--gate", "slope_max=1.1", "--gate", "auc_low_min=0.65", "--gate", "defaults_min=400"]
    assert main(["onboard", "terms", "umoja", *NEW, *said]) == 0
    assert pilot().gates == '{"auc_low_min":0.65,"defaults_min":400,"slope_max":1.1}'


# ----------------------------------------------------------------------------------- history


def test_a_sound_history_is_sealed_and_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, page = a_history(tmp_path), tmp_path / "history.html"
    assert main(["onboard", "terms", "umoja", *NEW]) == 0
    assert main(["onboard", "history", "umoja", str(path), "--report", str(page)]) == 0
    out, err = capsys.readouterr()
    assert "2,000 rows: 2,000 loans whose outcome is known, 400 defaults (20.0%)" in out
    assert "is sealed as his_" in err
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert main(["onboard", "status", "umoja"]) == 0
    status = capsys.readouterr().out
    assert re.search(r"2 +history +done +2,000 rows, enough for a model", status)
    assert main(["onboard", "history", "umoja"]) == 0
    out, err = capsys.readouterr()
    assert "Where every row went" in out
    assert "--report PAGE" in err


def test_the_same_file_is_kept_once_unless_it_is_to_be_read_in_another_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = a_history(tmp_path)
    assert main(["onboard", "terms", "umoja", *NEW]) == 0
    hand_in = ["onboard", "history", "umoja", str(path)]
    for more, sealed, said in (
        ([], 1, "is sealed as his_"),
        ([], 1, "history.csv is the file of 20"),
        (["--exclude", "avg_balance"], 2, "is sealed as his_"),
        (["--exclude", "avg_balance"], 2, "history.csv is the file of 20"),
        ([], 3, "is sealed as his_"),
    ):
        assert main([*hand_in, *more]) == 0
        assert said in capsys.readouterr().err
        installed = opened()
        assert len(Stores.at(installed).histories.of("umoja")) == sealed
        installed.close()


def test_what_is_wrong_where_is_named_by_column_rule_and_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = history_columns()
    columns["mm_months"][10] = -4
    columns["due_on"][20] = "soon"
    path = write_csv(tmp_path, columns)
    assert main(["onboard", "terms", "umoja", *NEW]) == 0
    assert main(["onboard", "history", "umoja", str(path)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"mm_months +1 +must be a whole number at least 0 and at most 600 +11\b", out)
    assert re.search(r"due_on +1 +must be a date such as 2024-03-31 +21\b", out)
    assert re.search(r"\n +2 +0\.1% .*left out: they break a rule", out)
    assert "What is wrong where (these rows are left out; rows are counted from 1, without" in out


def leaking(folder: Path) -> Path:
    columns = history_columns()
    late = columns["largest_days_past_due"]
    columns["avg_balance"] = [0.0 if days >= 30 else 10.0 + days for days in late]
    return write_csv(folder, columns)


def test_a_field_that_gives_the_outcome_away_stops_the_walk_with_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, page = leaking(tmp_path), tmp_path / "history.html"
    said = ["onboard", "umoja", *NEW, "--file", str(path), "--report", str(page)]
    assert main(said) == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert re.search(r"avg_balance +1\.000 .*decide: --exclude or --keep", out)
    assert "avg_balance" in err
    assert "--exclude NAME" in err
    assert page.exists()
    installed = opened()
    assert not Stores.at(installed).histories.of("umoja")
    installed.close()


def test_a_file_is_read_again_as_it_was_when_it_was_handed_in(tmp_path: Path) -> None:
    path = leaking(tmp_path)
    reading = ["--exclude", "avg_balance", "--group", "device_type", "--region"]
    assert main(["onboard", "terms", "umoja", *NEW]) == 0
    assert main(["onboard", "history", "umoja", str(path), *reading]) == 0
    installed = opened()
    [record] = Stores.at(installed).histories.of("umoja")
    report = offline.report_of(installed, record)
    assert "avg_balance" not in report.inputs
    assert "region" in report.inputs
    options = options_of(report, datetime.fromtimestamp(record.created_us / 1e6, UTC).date())
    again = offline.read_file(installed, "umoja", path, options, lambda _share: None)
    assert again == report
    wishes = Options(today=TODAY, region=True, exclude=frozenset({"avg_balance"}))
    assert offline.is_kept(installed, record, path, wishes)
    assert not offline.is_kept(installed, record, path, Options(today=TODAY))
    installed.close()


@pytest.mark.parametrize("option", [["--exclude", "x"], ["--keep", "x"], ["--region"]])
def test_how_a_file_is_read_is_refused_where_none_is(
    option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["onboard", "umoja", *NEW], ["onboard", "history", "umoja"]):
        assert main([*command, *option]) == EXIT_MISTAKE
        err = capsys.readouterr().err
        assert f"nothing would use {option[0]}" in err
        assert "FILE" in err


def test_what_is_decided_for_a_training_run_is_taken_into_its_order() -> None:
    wanted = ["--exclude", "avg_balance,age", "--keep", "age", "--region", "--seed", "7", "--refit"]
    for command in (["onboard", "train", "umoja"], ["onboard", "umoja"]):
        args = build_parser().parse_args([*command, *wanted])
        assert decided_from(args) == Decided(
            region=True, exclude=("avg_balance", "age"), keep=("age",), seed=7, refit=True
        )
        assert decided_from(build_parser().parse_args(command)) == Decided()


def test_too_few_defaults_fail_and_name_the_shadow_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = a_history(tmp_path, bad_every=20)
    assert main(["onboard", "umoja", *NEW, "--file", str(path)]) == 1
    out = capsys.readouterr().out
    assert "not enough to train on" in out
    assert "200 more are needed" in out
    assert "alama keys issue --lender umoja --mode live --shadow" in " ".join(out.split())
    assert re.search(r"2 +history +blocked", out)


def test_a_file_is_forgotten_only_when_it_is_meant_and_its_report_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["onboard", "terms", "umoja", *NEW]) == 0
    assert main(["onboard", "history", "umoja", str(a_history(tmp_path))]) == 0
    assert main(["onboard", "forget", "umoja"]) == EXIT_MISTAKE
    assert main(["onboard", "forget", "umoja", "--yes"]) == 0
    assert main(["onboard", "train", "umoja"]) == EXIT_MISTAKE
    assert "hand the file in again" in capsys.readouterr().err
    assert main(["onboard", "history", "umoja"]) == 0


WITHOUT_ARROW = """
import sys
sys.modules["pyarrow"] = None  # importing it fails, as where it is not installed
from alama.app.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_what_was_found_in_a_file_is_shown_where_nothing_could_read_it(tmp_path: Path) -> None:
    assert main(["onboard", "terms", "umoja", *NEW]) == 0
    assert main(["onboard", "history", "umoja", str(a_history(tmp_path))]) == 0
    page = tmp_path / "history.html"
    show = ["onboard", "history", "umoja", "--report", str(page)]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ARROW, *show],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert page.read_text("utf-8").startswith("<!DOCTYPE")


# ----------------------------------------------------------------------------------- the order


@pytest.mark.parametrize("action", ["train", "validate"])
def test_a_step_before_its_time_names_the_one_that_is_missing(
    action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["onboard", "terms", "umoja", *NEW]) == 0
    assert main(["onboard", action, "umoja"]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "the step history is missing" in err
    assert COMMANDS[Step.HISTORY].format(lender="umoja") in err


@pytest.mark.parametrize("said", [["--approve"], ["--approve", "--by", "W. Mutua"]])
def test_nobody_approves_without_a_name_and_a_reason(
    said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["onboard", "umoja", *NEW[:4], *said]) == EXIT_MISTAKE
    assert "by name and with a reason" in capsys.readouterr().err


def test_a_reason_without_an_approval_is_no_approval(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["onboard", "umoja", *NEW, "--reason", "it is fine"]) == EXIT_MISTAKE
    assert "add --approve" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "run"),
    [
        (["umoja"], cli.walk),
        (["--region", "umoja", "--seed", "1"], cli.walk),
        (["walk", "status"], cli.walk),
        (["status", "umoja"], onboarding_cli.show_status),
    ],
)
def test_a_line_that_names_no_step_walks(typed: list[str], run: object) -> None:
    assert build_parser().parse_args(["onboard", *typed]).run is run


@pytest.mark.parametrize("command", COMMANDS.values(), ids=list(COMMANDS))
def test_every_command_that_a_step_names_can_be_typed(command: str) -> None:
    words = command.format(lender="umoja").replace('"..."', "because").split()
    assert words[0] == "alama"
    assert "run" in build_parser().parse_args(words[1:])
