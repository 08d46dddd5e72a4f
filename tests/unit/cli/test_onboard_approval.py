"""Gates, signatures and the way back as commands show them; no model is trained here."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
import pytest

from alama import settings, wiring
from alama.cli.main import EXIT_MISTAKE, main
from alama.cli.pilot_tables import Judged
from alama.core import document
from alama.core.model import Model
from alama.files.models import builtin
from alama.service.onboarding.records import NO_GATES, Candidate
from alama.service.onboarding.records import Gate as KeptGate
from alama.training.validation.gates import Gate, GateResult
from tests.histories import history_columns, write_csv

PASSED = GateResult(Gate.SLOPE, passed=True, measured=1.02, limit="0.8 to 1.2", words="It is 1.02.")
FAILED = GateResult(
    Gate.STABILITY,
    passed=False,
    measured=0.31,
    limit="PSI of the scores under 0.25",
    words="The scores moved by a PSI of 0.310.",
)
PAGE = b"<!DOCTYPE html><title>pack</title>"


@pytest.fixture(autouse=True)
def with_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lender whose two approvers wait for a model."""
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    path = write_csv(tmp_path, history_columns())
    assert main(["pilot", "terms", "demo", "--four-eyes"]) == 0
    assert main(["pilot", "history", "demo", str(path)]) == 0


def keep_candidate(*gates: GateResult, model: Model | None = None) -> Candidate:
    """Keep the built-in model as if it had been trained, and judged so."""
    made = model or builtin()
    opened = wiring.open_installation(settings.read(os.environ))
    [history] = opened.onboarding.histories.of("demo")
    candidate = Candidate(
        id=f"can_{wiring.now_us():028x}",
        lender="demo",
        model_id=made.id,
        history_id=history.id,
        days_past_due=30,
        limits=NO_GATES,
        gates=tuple(KeptGate(gate.name, gate.passed, gate.words) for gate in gates),
        created_us=wiring.now_us(),
        made_by="A. Wanjiru",
    )
    pack = msgspec.json.encode(Judged(made.id, made.name, gates))
    opened.onboarding.candidates.add(candidate, document.encode(made), pack, PAGE)
    opened.close()
    return candidate


def approve(person: str, *more: str) -> int:
    return main(["pilot", "approve", "demo", "--by", person, "--reason", "read the pack", *more])


def test_the_gates_are_shown_with_what_was_measured_and_the_pack_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_candidate(PASSED)
    page, model = tmp_path / "pack.html", tmp_path / "model.json"
    said = ["pilot", "validate", "demo", "--pack", str(page), "--model", str(model)]
    assert main(said) == 0
    out = capsys.readouterr().out
    assert "all 1 gates passed" in out
    assert re.search(r"calibration_slope +passed +1\.020 +0\.8 to 1\.2", out)
    assert page.read_bytes() == PAGE
    assert model.read_bytes() == document.encode(builtin())


def test_a_failed_gate_says_why_and_nobody_can_sign(capsys: pytest.CaptureFixture[str]) -> None:
    keep_candidate(PASSED, FAILED)
    assert main(["pilot", "validate", "demo"]) == 1
    out = capsys.readouterr().out
    assert "1 of 2 gates failed: nobody can approve it" in out
    assert re.search(r"stability +FAILED +0\.310", out)
    assert "failed stability: The scores moved by a PSI of 0.310." in out
    assert approve("W. Mutua") == EXIT_MISTAKE
    assert "The scores moved" in capsys.readouterr().err


def test_four_eyes_are_those_of_two_people(capsys: pytest.CaptureFixture[str]) -> None:
    keep_candidate(PASSED)
    assert approve("W. Mutua") == 0
    out, err = capsys.readouterr()
    assert "1 more signature is needed, by somebody else." in out
    assert "Next, approve: " in err
    assert approve("w mutua") == EXIT_MISTAKE
    assert main(["keys", "issue", "--lender", "demo", "--mode", "live"]) == EXIT_MISTAKE
    assert "the step approve is missing" in capsys.readouterr().err
    assert approve("J. Otieno") == 0
    out, err = capsys.readouterr()
    assert f"{builtin().id} answers for demo in live mode" in out
    assert "Next, key: alama keys issue --lender demo --mode live" in err
    assert main(["keys", "issue", "--lender", "demo", "--mode", "live"]) == 0
    assert main(["pilot", "status", "demo"]) == 0
    assert "6 of 6 steps" in capsys.readouterr().out


def test_onboard_goes_on_with_a_candidate_and_signs_when_told_to(
    capsys: pytest.CaptureFixture[str],
) -> None:
    keep_candidate(PASSED)
    assert main(["onboard", "demo"]) == 0
    assert "0 of 2 signatures" in capsys.readouterr().out
    sign = ["onboard", "demo", "--approve", "--reason", "read the pack", "--by"]
    assert main([*sign, "W. Mutua"]) == 0
    assert main([*sign, "J. Otieno"]) == 0
    assert "answers for demo in live mode" in capsys.readouterr().out
    # A model that answers is not signed for again.
    assert main([*sign, "J. Otieno"]) == 0


@pytest.mark.parametrize(
    "option", [["--seed", "0"], ["--region"], ["--exclude", "avg_balance"], ["--group", "gender"]]
)
def test_what_would_make_another_model_is_refused_where_there_is_one(
    option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    keep_candidate(PASSED)
    assert main(["onboard", "demo", *option]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert f"nothing would use {option[0]}" in err
    assert ("--file" if option[0] == "--group" else "alama pilot train demo") in err


def test_a_candidate_of_an_earlier_history_is_shown_and_signed_by_its_id_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = keep_candidate(PASSED)
    assert main(["pilot", "history", "demo", str(write_csv(tmp_path, history_columns()))]) == 0
    assert main(["pilot", "validate", "demo"]) == EXIT_MISTAKE
    assert "was trained on an earlier history" in capsys.readouterr().err
    assert approve("W. Mutua") == EXIT_MISTAKE
    assert main(["pilot", "validate", "demo", "--candidate", earlier.id]) == 0
    assert "all 1 gates passed" in capsys.readouterr().out
    assert approve("W. Mutua", "--candidate", earlier.id) == 0


def test_what_cannot_be_signed_yet_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    new = ["--name", "Umoja", "--currency", "KES", "--jurisdiction", "none", "--two-eyes"]
    signed = ["--approve", "--by", "W. Mutua", "--reason", "read it"]
    assert main(["onboard", "umoja", *new, *signed]) == 1
    assert "Nothing was signed" in capsys.readouterr().err


def test_one_command_goes_back_to_the_model_before(capsys: pytest.CaptureFixture[str]) -> None:
    other = document.seal(msgspec.structs.replace(builtin(), name="an earlier one"))
    for model in (other, builtin()):
        keep_candidate(PASSED, model=model)
        assert approve("W. Mutua") == 0
        assert approve("J. Otieno") == 0
    back = ["models", "rollback", "demo", "--by", "W. Mutua", "--reason", "arrears, incident 44"]
    assert main(back) == 0
    assert f"{other.id} answers for demo in live mode again." in capsys.readouterr().out


def test_there_is_no_way_back_from_the_first_model(capsys: pytest.CaptureFixture[str]) -> None:
    back = ["models", "rollback", "demo", "--by", "W. Mutua", "--reason", "arrears"]
    assert main(back) == EXIT_MISTAKE
    assert "alama lenders pause demo" in capsys.readouterr().err
