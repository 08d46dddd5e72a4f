"""Gates, signatures and the way back as commands show them; no model is trained here."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.core import document
from alama.core import model as models
from alama.core.model import Model
from alama.lenders import installation
from alama.onboarding.records import NO_GATES, Candidate
from alama.onboarding.records import Gate as KeptGate
from alama.onboarding.store import Stores
from alama.onboarding.terminal import ShownGate, ShownPack, ShownRefit
from alama.platform import clock, settings
from alama.platform.files.packaged import builtin
from alama.training.validation.gates import Gate
from tests.factories import a_model
from tests.histories import history_columns, write_csv

PASSED = ShownGate(Gate.SLOPE, passed=True, measured=1.02, limit="0.8 to 1.2", words="It is 1.02.")
FAILED = ShownGate(
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
    assert main(["onboard", "terms", "demo", "--four-eyes"]) == 0
    assert main(["onboard", "history", "demo", str(path)]) == 0


def keep_candidate(
    *gates: ShownGate,
    model: Model | None = None,
    questions: tuple[str, ...] = (),
    refit: ShownRefit | None = None,
) -> Candidate:
    """Keep the built-in model as if it had been trained, and judged so."""
    made = model or builtin()
    opened = installation.open_installation(settings.read(os.environ))
    [history] = Stores.at(opened).histories.of("demo")
    candidate = Candidate(
        id=f"can_{clock.wall_us():028x}",
        lender="demo",
        model_id=made.id,
        history_id=history.id,
        days_past_due=30,
        limits=NO_GATES,
        gates=tuple(KeptGate(gate.name, gate.passed, gate.words) for gate in gates),
        created_us=clock.wall_us(),
        made_by="A. Wanjiru",
    )
    pack = msgspec.json.encode(ShownPack(made.id, made.name, gates, questions, refit))
    Stores.at(opened).candidates.add(candidate, document.encode(made), pack, PAGE)
    opened.close()
    return candidate


def approve(person: str, *more: str) -> int:
    return main(["onboard", "approve", "demo", "--by", person, "--reason", "read the pack", *more])


def test_what_is_to_be_answered_before_signing_is_printed_with_the_gates(
    capsys: pytest.CaptureFixture[str],
) -> None:
    keep_candidate(PASSED, questions=("Tier C is red.",))
    assert main(["onboard", "validate", "demo"]) == 0
    assert "To be answered before signing\n- Tier C is red.\n" in capsys.readouterr().out


def test_the_gates_are_shown_with_what_was_measured_and_the_pack_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_candidate(PASSED)
    page, model = tmp_path / "pack.html", tmp_path / "model.json"
    said = ["onboard", "validate", "demo", "--pack", str(page), "--model", str(model)]
    assert main(said) == 0
    out = capsys.readouterr().out
    assert "all 1 gates passed" in out
    assert re.search(r"calibration_slope +passed +1\.020 +0\.8 to 1\.2", out)
    assert page.read_bytes() == PAGE
    assert model.read_bytes() == document.encode(builtin())


def test_a_failed_gate_says_why_and_nobody_can_sign(capsys: pytest.CaptureFixture[str]) -> None:
    keep_candidate(PASSED, FAILED)
    assert main(["onboard", "validate", "demo"]) == 1
    out = capsys.readouterr().out
    assert "1 of 2 gates failed: nobody can approve it" in out
    assert re.search(r"stability +FAILED +0\.310", out)
    assert "failed stability: The scores moved by a PSI of 0.310." in out
    assert approve("W. Mutua") == EXIT_MISTAKE
    assert "The scores moved" in capsys.readouterr().err
    assert main(["onboard", "status", "demo"]) == 0
    assert "Next, mend the file:\n  alama onboard history demo FILE" in capsys.readouterr().out


def test_four_eyes_are_those_of_two_people(capsys: pytest.CaptureFixture[str]) -> None:
    keep_candidate(PASSED)
    assert approve("W. Mutua") == 0
    out, err = capsys.readouterr()
    assert "1 more signature is needed, by somebody else." in out
    pack, signed = "alama onboard validate demo --pack pack.html", "alama onboard approve demo --by"
    assert f"Next, read the pack, then sign:\n  {pack}\n  {signed}" in err
    assert approve("w mutua") == EXIT_MISTAKE
    assert main(["keys", "issue", "--lender", "demo", "--mode", "live"]) == EXIT_MISTAKE
    assert "the step approve is missing" in capsys.readouterr().err
    assert approve("J. Otieno") == 0
    out, err = capsys.readouterr()
    assert f"{builtin().id} answers for demo in live mode" in out
    assert "Next, key: alama keys issue --lender demo --mode live" in err
    assert main(["keys", "issue", "--lender", "demo", "--mode", "live"]) == 0
    assert main(["onboard", "status", "demo"]) == 0
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


def test_the_line_that_made_a_candidate_goes_on_with_it_when_approval_is_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    candidate = keep_candidate(PASSED)
    path = write_csv(tmp_path, history_columns())
    line = ["onboard", "demo", "--file", str(path), "--seed", "7"]
    sign = ["--approve", "--reason", "read the pack", "--by"]
    assert main([*line, *sign, "W. Mutua"]) == 0
    told = f"--seed: for training alone, and candidate {candidate.id} stands. To train anew: "
    assert f"{told}alama onboard train demo, with the same options." in capsys.readouterr().err
    assert main([*line, *sign, "J. Otieno"]) == 0
    assert "answers for demo in live mode" in capsys.readouterr().out
    opened = installation.open_installation(settings.read(os.environ))
    assert Stores.at(opened).candidates.of("demo") == [candidate]
    opened.close()


def test_what_the_candidate_is_already_may_be_said_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    keep_candidate(PASSED)
    said = ["--exclude", "sales_channel", "--keep", "avg_balance", "--seed", "0"]
    assert main(["onboard", "demo", *said]) == 0
    assert "--exclude and --keep and --seed: for training alone" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (["--region"], "it does not read region"),
        (["--exclude", "monthly_inflow"], "it reads monthly_inflow"),
        (["--keep", "sales_channel"], "it does not read sales_channel"),
        (["--refit"], "it is no refit"),
    ],
)
def test_what_the_candidate_is_not_is_refused(
    option: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = a_model()
    compact = models.seal(msgspec.structs.replace(made, cards=made.cards[:1]))
    candidate = keep_candidate(PASSED, model=compact)
    assert main(["onboard", "demo", *option]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert f"a model was trained before, and {told}: candidate {candidate.id}" in err
    assert "alama onboard train demo, with the same options" in err


def test_a_refit_is_shown_with_the_model_that_was_judged_and_goes_on_by_its_own_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = a_model()
    lineage = msgspec.structs.replace(made.lineage, refit_of=made.id)
    again = models.seal(msgspec.structs.replace(made, lineage=lineage))
    keep_candidate(PASSED, model=again, refit=ShownRefit(made.id))
    assert main(["onboard", "demo", "--refit"]) == 0
    err = capsys.readouterr().err
    assert "--refit: for training alone" in err
    assert f"model {again.id}\nfitted once more on every loan, judged as {made.id}" in err
    assert approve("W. Mutua") == approve("J. Otieno") == 0
    assert f"{again.id} answers for demo in live mode" in capsys.readouterr().out


def test_that_no_refit_was_made_is_said_and_is_no_conflict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    keep_candidate(PASSED, FAILED, refit=ShownRefit(builtin().id))
    assert main(["onboard", "demo", "--refit"]) == 1
    assert (
        "no refit was made: it takes a model that has passed its gates" in capsys.readouterr().err
    )


def test_a_group_is_refused_where_no_file_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    keep_candidate(PASSED)
    assert main(["onboard", "demo", "--group", "gender"]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "nothing would use --group" in err
    assert "--file" in err


def test_a_candidate_of_an_earlier_history_is_shown_and_signed_by_its_id_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = keep_candidate(PASSED)
    another = write_csv(tmp_path, history_columns(bad_every=4))
    assert main(["onboard", "history", "demo", str(another)]) == 0
    assert main(["onboard", "validate", "demo"]) == EXIT_MISTAKE
    assert "was trained on an earlier history" in capsys.readouterr().err
    assert approve("W. Mutua") == EXIT_MISTAKE
    assert main(["onboard", "validate", "demo", "--candidate", earlier.id]) == 0
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
    assert main(back) == EXIT_MISTAKE
    assert "alama onboard approve demo --candidate can_" in capsys.readouterr().err


def test_the_status_tells_of_a_roll_back_and_of_a_pause(capsys: pytest.CaptureFixture[str]) -> None:
    for model in (builtin(), document.seal(msgspec.structs.replace(builtin(), name="another"))):
        keep_candidate(PASSED, model=model)
        assert approve("W. Mutua") == 0
        assert approve("J. Otieno") == 0
    back = ["models", "rollback", "demo", "--by", "W. Mutua", "--reason", "incident 44"]
    assert main(back) == 0
    assert main(["lenders", "pause", "demo", "--reason", "incident 45"]) == 0
    capsys.readouterr()
    assert main(["onboard", "status", "demo"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "rolled back from " in told
    assert re.search(r"PAUSED since [-\d]+ [:\d]+ UTC: incident 45$", told)


def test_the_status_lists_candidates_by_their_ids_newest_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["onboard", "status", "demo"]) == 0
    assert "Candidates" not in capsys.readouterr().out
    first, second = keep_candidate(PASSED, FAILED), keep_candidate(PASSED)
    assert main(["onboard", "status", "demo"]) == 0
    listed = capsys.readouterr().out.partition("Candidates, the newest first:")[2]
    model = first.model_id.removeprefix("sha256:")[:12]
    newest = rf"{second.id} +[-\d]+ [:\d]+ +passed +{model}"
    assert re.search(rf"{newest} *\n{first.id} +[-\d]+ [:\d]+ +1 failed +{model}", listed)


def test_a_newer_model_is_to_be_read_and_the_one_before_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    keep_candidate(PASSED)
    for person in ("W. Mutua", "J. Otieno"):
        assert approve(person) == 0
    keep_candidate(PASSED, model=document.seal(msgspec.structs.replace(builtin(), name="another")))
    capsys.readouterr()
    assert approve("W. Mutua") == 0
    err = capsys.readouterr().err
    assert "Next, read the pack of the newer model, then sign:" in err
    assert re.search(r"Until a newer model is approved, \w{12} goes on answering\.", err)


def test_there_is_no_way_back_from_the_first_model(capsys: pytest.CaptureFixture[str]) -> None:
    back = ["models", "rollback", "demo", "--by", "W. Mutua", "--reason", "arrears"]
    assert main(back) == EXIT_MISTAKE
    assert "alama lenders pause demo" in capsys.readouterr().err
