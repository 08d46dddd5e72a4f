"""A model moved to the level of its loans: shown, written, kept, signed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.core import model as models
from alama.lenders import installation
from alama.lenders.installation import Installation
from alama.onboarding.approval import Approval, Signing
from alama.onboarding.store import Stores
from alama.platform import clock, settings
from alama.platform.book import Book, Mode
from alama.platform.files.packaged import builtin
from tests.onboarded import a_candidate, a_history, a_pilot
from tests.recalibrated import keep_loans

LIVE = Book("demo", Mode.LIVE)
TEST = Book("demo", Mode.TEST)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")


def opened() -> Installation:
    return installation.open_installation(settings.read(os.environ))


def with_loans(book: Book, shift: float) -> None:
    """A lender whose live model is the built-in one, as if it were its own, and its loans."""
    installed = opened()
    stores = Stores.at(installed)
    stores.pilots.set(a_pilot())
    history = a_history()
    stores.histories.keep(history, b"{}", [b"rows"])
    candidate = a_candidate(history, model_id=builtin().id)
    stores.candidates.add(candidate, models.encode(builtin()), b"{}")
    Approval.at(installed).sign("demo", candidate.id, Signing("A. Njeri", "it is the one"))
    keep_loans(installed.database, book, builtin().id, clock.wall_us(), shift)
    installed.close()


def test_what_passes_waits_to_be_signed_and_then_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_loans(LIVE, 0.6)
    page, model, pack = tmp_path / "p.html", tmp_path / "m.json", tmp_path / "kept.html"
    asked = ["models", "recalibrate", "demo", "--by", "W. Mutua"]
    assert main([*asked, "--pack", str(page), "--out", str(model)]) == 0
    said = capsys.readouterr()
    assert "all 5 gates passed" in said.out
    assert re.search(r"calibration_slope +passed +\d\.\d\d \(\d\.\d\d to \d\.\d\d\) ", said.out)
    assert re.search(r"later_half +passed +loss 0\.\d{5} -> 0\.\d{5} ", said.out)
    assert "may be approved" in page.read_text()
    assert "candidate can_" in said.err
    moved = models.decode(model.read_bytes())
    assert moved.lineage.recalibrated is not None
    assert moved.lineage.recalibrated.model_id == builtin().id
    assert main(["models", "show", str(model)]) == 0
    assert f"from {builtin().id}" in " ".join(capsys.readouterr().out.split())
    assert main(["onboard", "validate", "demo", "--pack", str(pack)]) == 0
    assert pack.read_bytes() == page.read_bytes()
    assert "loss 0." in capsys.readouterr().out
    assert main(["onboard", "approve", "demo", "--by", "A. Njeri", "--reason", "read it"]) == 0
    assert f"{moved.id} answers for demo in live mode" in capsys.readouterr().out
    assert main(["audit", "verify"]) == 0


def test_where_a_gate_fails_nothing_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    with_loans(LIVE, 0.02)
    assert main(["models", "recalibrate", "demo", "--by", "W. Mutua"]) == 1
    said = capsys.readouterr()
    assert "3 of 5 gates failed: nobody can approve it" in said.out
    assert "failed shift_no_chance: " in said.out
    assert "docs/recalibrating.md" in said.err
    assert "Nothing was kept as a candidate." in said.err
    installed = opened()
    assert len(Stores.at(installed).candidates.of("demo")) == 1
    installed.close()


def test_in_test_mode_it_is_written_to_a_file_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_loans(TEST, 0.6)
    out = tmp_path / "moved.json"
    asked = ["models", "recalibrate", "demo", "--mode", "test"]
    assert main(asked) == EXIT_MISTAKE
    assert "--out FILE" in capsys.readouterr().err
    assert main([*asked, "--out", str(out)]) == 0
    assert models.decode(out.read_bytes()).name.startswith(f"{builtin().name}, recalibrated 20")
    installed = opened()
    assert len(Stores.at(installed).candidates.of("demo")) == 1
    installed.close()


@pytest.mark.parametrize(
    ("shift", "ends_with", "said"),
    [(0.6, 0, "all 5 gates passed"), (0.02, 1, "3 of 5 gates failed\n")],
)
def test_in_test_mode_nothing_is_said_of_approval(
    shift: float, ends_with: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_loans(TEST, shift)
    out, page = tmp_path / "moved.json", tmp_path / "p.html"
    asked = ["models", "recalibrate", "demo", "--mode", "test", "--out", str(out)]
    assert main([*asked, "--pack", str(page)]) == ends_with
    found = capsys.readouterr()
    assert said in found.out
    assert "Tried in test mode, where nobody signs for a model" in found.err
    for told in (found.out, found.err, page.read_text()):
        assert "approve it" not in told
        assert "be approved" not in told
        assert "blocks approval" not in told
        assert "before signing" not in told
        assert "candidate" not in told


@pytest.mark.parametrize(
    ("mode", "words"), [("live", "no model of its own"), ("test", "0 are mature and known")]
)
def test_without_anything_to_go_by_it_says_what_is_missing(
    mode: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened().close()
    out = tmp_path / "m.json"
    asked = ["models", "recalibrate", "demo", "--mode", mode, "--out", str(out)]
    assert main(asked) == EXIT_MISTAKE
    assert words in " ".join(capsys.readouterr().err.split())
    assert not out.exists()


def test_where_nobody_could_sign_it_says_so_before_the_work(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with_loans(LIVE, 0.6)
    change_terms()
    assert main(["models", "recalibrate", "demo", "--by", "W. Mutua"]) == EXIT_MISTAKE
    said = capsys.readouterr()
    assert said.out == ""
    assert "terms of demo have changed" in " ".join(said.err.split())


def test_where_nobody_could_sign_the_files_are_written_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_loans(LIVE, 0.6)
    change_terms()
    out, page = tmp_path / "moved.json", tmp_path / "p.html"
    asked = ["models", "recalibrate", "demo", "--out", str(out), "--pack", str(page)]
    assert main(asked) == 1
    assert "Nobody can sign it: the terms of demo have changed" in page.read_text()
    assert "may be approved" not in page.read_text()
    said = " ".join(capsys.readouterr().err.split())
    assert "Nothing was kept as a candidate: the terms of demo have changed" in said
    assert "alama onboard train demo" in said
    assert models.decode(out.read_bytes()).lineage.recalibrated is not None
    installed = opened()
    assert len(Stores.at(installed).candidates.of("demo")) == 1
    installed.close()


def change_terms() -> None:
    installed = opened()
    Stores.at(installed).pilots.set(a_pilot(days_past_due=60))
    installed.close()


@pytest.mark.parametrize("days", ["0", "3651", "1000000", "x"])
def test_days_are_from_one_to_ten_years(days: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["models", "recalibrate", "demo", "--since-days", days])
    assert f"'{days}' is not a whole number from 1 to 3,650" in capsys.readouterr().err
