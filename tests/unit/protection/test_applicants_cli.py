from __future__ import annotations

import io
import json
import stat
from pathlib import Path

import msgspec
import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.protection import applicants
from tests.stored import give_score

BOOK = ["--lender", "demo", "--mode", "test"]
REF = ["--ref", "A-77"]


class Typing(io.StringIO):
    """A person at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def request_id() -> str:
    """A score of the applicant A-77."""
    sent = {
        "mobile_money_months": 14,
        "monthly_inflow": 18_000,
        "stability_score": 0.6,
        "airtime_regularity": 0.8,
        "applicant_ref": "A-77",
    }
    return give_score(json.dumps(sent).encode())


def test_an_export_is_the_document_and_nothing_else(
    request_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["applicants", "export", *BOOK, *REF]) == 0
    out, err = capsys.readouterr()
    exported = msgspec.json.decode(out, type=applicants.ApplicantExport)
    assert [score.request_id for score in exported.scores] == [request_id]
    assert err == ""


@pytest.mark.usefixtures("request_id")
def test_an_exported_file_is_readable_by_its_owner_alone(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / "a-77.json"
    assert main(["applicants", "export", *BOOK, *REF, "--out", str(file)]) == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (
        msgspec.json.decode(file.read_bytes(), type=applicants.ApplicantExport).applicant_ref
        == "A-77"
    )
    out, err = capsys.readouterr()
    assert out == f"{file}: 1 score, readable by you alone.\n"
    assert err == "It holds what the applicant sent: pass it on safely, then remove it.\n"


@pytest.mark.usefixtures("request_id")
def test_no_export_is_noted_that_could_not_be_written(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / "nowhere" / "a-77.json"
    assert main(["applicants", "export", *BOOK, *REF, "--out", str(file)]) == EXIT_MISTAKE
    main(["audit", "log"])
    assert "exported" not in capsys.readouterr().out


def test_an_erasure_says_what_stays_and_a_replay_says_that_it_was_erased(
    request_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["applicants", "erase", *BOOK, *REF, "--yes", "--by", "W. Mutua"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Erased: 1 score, under apk_")
    assert "What stays: the decisions (score, tier, limit, term, price), which name nobody." in out
    assert "Nothing that Alama knows of asks for them: its policy names no jurisdiction." in out
    assert "alama retention run demo --days N" in err
    assert "Backups still hold the key" in err
    for action in ("replay", "show"):
        assert main(["scores", action, request_id]) == EXIT_MISTAKE
        assert "what the applicant of this score sent was erased on 20" in capsys.readouterr().err
    assert main(["audit", "verify"]) == 0


@pytest.mark.usefixtures("request_id")
def test_an_erasure_names_the_law_that_asks_for_what_stays(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = str(home / "policy.toml")
    main(["policy", "init", "--jurisdiction", "KE", "--out", policy])
    main(["policy", "activate", policy, *BOOK])
    assert main(["applicants", "erase", *BOOK, *REF, "--yes"]) == 0
    out = capsys.readouterr().out
    assert "Kenya asks for records to be kept for 2,557 days. A reporting institution" in out
    assert "(Proceeds of Crime and Anti-Money Laundering Act (Cap. 59A), section 46)" in out


@pytest.mark.usefixtures("request_id")
def test_a_person_is_asked_for_the_reference_and_once_more(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Typing("A-77\nno\n"))
    assert main(["applicants", "erase", *BOOK]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert err.startswith("applicant_ref: Found apk_")
    assert ": 1 score.\nThis cannot be undone. To go on, type erase: " in err
    assert "nothing was done" in err
    monkeypatch.setattr("sys.stdin", Typing("A-77\nerase\n"))
    assert main(["applicants", "erase", *BOOK]) == 0
    assert "Erased: 1 score" in capsys.readouterr().out


@pytest.mark.usefixtures("request_id")
def test_a_person_hears_of_a_hold_before_they_are_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["applicants", "hold", *BOOK, *REF, "--reason", "complaint 7"])
    capsys.readouterr()
    monkeypatch.setattr("sys.stdin", Typing("no\n"))
    assert main(["applicants", "erase", *BOOK, *REF]) == EXIT_MISTAKE
    said = capsys.readouterr().err
    assert said.index("Hold 1 stands on this applicant: complaint 7") < said.index("type erase")


@pytest.mark.usefixtures("request_id")
def test_an_export_does_not_take_the_place_of_another_file(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / "a-77.json"
    file.write_text("somebody's")
    assert main(["applicants", "export", *BOOK, *REF, "--out", str(file)]) == EXIT_MISTAKE
    assert "is there already" in capsys.readouterr().err
    assert file.read_text() == "somebody's"


@pytest.mark.usefixtures("request_id")
def test_a_script_pipes_the_reference_in_and_says_that_it_means_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("A-77\n"))
    assert main(["applicants", "erase", *BOOK]) == EXIT_MISTAKE
    assert "add --yes if it is meant" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("A-77\n"))
    assert main(["applicants", "erase", *BOOK, "--yes"]) == 0


@pytest.mark.usefixtures("request_id")
def test_without_a_reference_nothing_happens(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["applicants", "erase", *BOOK, "--yes"]) == EXIT_MISTAKE
    assert "nothing was answered" in capsys.readouterr().err


@pytest.mark.usefixtures("request_id")
def test_a_hold_is_placed_listed_heard_and_released(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["applicants", "hold", *BOOK, *REF, "--reason", "suit [12] of 2026"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Hold 1 stands on apk_")
    assert err == "To end it: alama applicants release 1\n"
    assert main(["applicants", "holds"]) == 0
    assert "suit [12] of 2026" in capsys.readouterr().out
    assert main(["applicants", "erase", *BOOK, *REF, "--yes"]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "suit [12] of 2026" in err
    assert "hint: once the case is over: alama applicants release 1" in err
    main(["applicants", "hold", *BOOK, *REF, "--reason", "complaint 7"])
    capsys.readouterr()
    assert main(["applicants", "release", "1"]) == 0
    out, err = capsys.readouterr()
    assert "is released; it stood for 0 s." in out
    assert err == "Hold 2 still stands on the same applicant: complaint 7\n"
    main(["applicants", "release", "2"])
    capsys.readouterr()
    assert main(["applicants", "holds"]) == 0
    assert capsys.readouterr() == ("", "No legal hold stands.\n")


@pytest.mark.usefixtures("request_id")
def test_a_lender_that_is_not_there_is_said_before_anything_is_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for action in (["export"], ["erase"], ["hold", "--reason", "a case"]):
        assert main(["applicants", *action, "--lender", "umoja", "--mode", "test"]) == EXIT_MISTAKE
        assert "there is no lender umoja" in capsys.readouterr().err
