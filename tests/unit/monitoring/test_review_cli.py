from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.core.monitoring.news import News, State
from alama.lenders import installation
from alama.monitoring.outcomes import Outcomes, Sent
from alama.monitoring.scores_cli import facts_of
from alama.platform import clock, settings
from alama.platform.book import Book, Mode
from alama.platform.days import date_of
from alama.scoring.sequels import Outcome, Sequel
from tests.stored import give_score

DEMO = Book("demo", Mode.TEST)
DOUBTFUL = {
    "mobile_money_months": 12,
    "monthly_inflow": 9_000,
    "stability_score": 0.5,
    "airtime_regularity": 0.5,
}
DAY_US = 86_400 * 1_000_000


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    return tmp_path


def review(request_id: str, **options: str) -> int:
    usual = {
        "lender": "demo",
        "mode": "test",
        "decision": "DECLINED",
        "reason": "identity_doubted",
        "by": "W. [Mutua]",
    }
    arguments = [part for name, value in (usual | options).items() for part in (f"--{name}", value)]
    return main(["scores", "review", request_id, *arguments])


def test_a_review_is_kept_and_shown_with_its_score(capsys: pytest.CaptureFixture[str]) -> None:
    request_id = give_score()
    assert review(request_id, note="two names\non one card") == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{request_id}\n")
    decided = "DECLINED, which overrides APPROVED: identity doubted, by W. [Mutua], 20"
    assert decided in " ".join(said.split())  # a narrow terminal breaks the line
    assert "note    two names on one card" in said
    assert main(["scores", "show", request_id]) == 0
    shown = capsys.readouterr().out
    assert "review  DECLINED, which overrides APPROVED" in shown
    assert "note    two names on one card" in shown
    assert "outcome" not in shown


def test_what_waits_for_a_person_is_listed_until_it_is_reviewed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    waiting = ["scores", "list", "--waiting"]
    give_score()
    ids = [give_score(json.dumps(DOUBTFUL).encode()) for _ in range(2)]
    assert main([*waiting, "--limit", "1"]) == 0
    out, err = capsys.readouterr()
    assert re.findall(r"req_\w+", out) == ids[1:]
    assert err.splitlines() == [
        "demo, test mode, scores that wait for a person:",
        f"Older ones: --waiting --before {ids[1]}",
    ]
    for one in ids:
        assert review(one) == 0
    capsys.readouterr()
    assert main(waiting) == 0
    nothing = "demo has no scores that wait for a person in test mode.\n"
    assert capsys.readouterr() == ("", nothing)
    assert main(["scores", "list"]) == 0
    assert len(re.findall(r"req_\w+", capsys.readouterr().out)) == 3


def test_the_same_again_changes_nothing_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    request_id = give_score()
    assert review(request_id) == 0
    assert "nothing has changed" not in capsys.readouterr().err
    assert review(request_id) == 0
    assert "The same was said before; nothing has changed." in capsys.readouterr().err


def test_another_review_is_refused_with_where_the_first_one_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    request_id = give_score()
    assert review(request_id) == 0
    assert review(request_id, decision="APPROVED") == EXIT_MISTAKE
    said = capsys.readouterr().err
    assert "the first review stands" in said
    assert "read the score" in said


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"mode": "live"}, "demo has no score req_"),
        ({"lender": "nobody"}, "there is no lender nobody"),
        ({"by": " "}, "a name has 1 to 200 characters"),
        ({"note": "x" * 501}, "a note has at most 500 characters"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    options: dict[str, str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert review(give_score(), **options) == EXIT_MISTAKE
    assert told in capsys.readouterr().err


def test_what_is_no_request_id_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    give_score()
    assert review("req_1") == EXIT_MISTAKE
    assert "this is not a request id" in capsys.readouterr().err


def test_what_became_of_the_loan_is_shown_with_its_score(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request_id = give_score()
    today = clock.wall_us() // DAY_US
    opened = installation.open_installation(settings.Settings(home=str(home)))
    repaid = News(request_id, State.REPAID, today, 9_000.0, 9_400.0)
    Outcomes.at(opened).record(DEMO, [repaid], Sent(by="a test"))
    opened.close()
    assert main(["scores", "show", request_id]) == 0
    assert f"outcome  repaid on {date_of(today)}, 9,000 lent, 9,400 repaid" in (
        capsys.readouterr().out
    )


def test_a_loan_that_was_repaid_after_a_default_is_told_as_both() -> None:
    late = Outcome("", State.REPAID, 20_800, 20_700, None, None, 0, None)
    told = "repaid on 2026-12-13, a default since 2026-09-04"
    assert facts_of(Sequel(None, late)) == [("outcome", told)]
    written_off = late._replace(state=State.WRITTEN_OFF, defaulted_on=20_800)
    assert facts_of(Sequel(None, written_off)) == [("outcome", "written off on 2026-12-13")]


def test_the_export_of_an_applicant_has_what_was_decided(home: Path) -> None:
    body = json.dumps(
        {
            "mobile_money_months": 24,
            "monthly_inflow": 18_500,
            "stability_score": 0.7,
            "airtime_regularity": 0.8,
            "applicant_ref": "A-77",
        }
    ).encode()
    assert review(give_score(body), note="two names on one card") == 0
    arguments = ["--lender", "demo", "--mode", "test", "--ref", "A-77"]
    assert main(["applicants", "export", *arguments, "--out", str(home / "export.json")]) == 0
    (score,) = json.loads((home / "export.json").read_bytes())["scores"]
    assert score["review"]["note"] == "two names on one card"
    assert score["outcome"] is None
