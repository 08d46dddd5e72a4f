"""`alama explain` as a what-if: the reasons, the ways to a goal, and the page for the applicant."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from alama.app.cli import EXIT_MISTAKE, main
from alama.core.lending.draft import default_policy, write
from alama.core.lending.policy import Law
from alama.core.lending.policy_check import seal
from alama.core.model import seal as seal_model
from alama.core.reasons.dictionary import Language
from alama.core.recourse.answer import COUNT_DEFAULT, COUNT_MAX, Recourse, Status
from alama.platform.files.packaged import language, languages
from alama.scoring import explain_cli, waterfall
from alama.scoring.explain_cli import RecourseDrawing
from tests.explanations import (
    APPROVED,
    ASKING_MUCH,
    BEYOND_HELP,
    COMPACT,
    DECLINED,
    DECLINED_FOR_MUCH,
    PENNILESS,
    explained,
)
from tests.factories import a_model, write_model

ENGLISH = language("en")

Say = Callable[..., tuple[str, str]]


@pytest.fixture
def say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Say:
    """Explain an application with some options, and give what is printed, and where to."""

    def run(sent: dict[str, Any], *options: str, code: int = 0) -> tuple[str, str]:
        path = tmp_path / "application.json"
        path.write_text(json.dumps(sent))
        assert main(["explain", str(path), *options]) == code
        out, err = capsys.readouterr()
        return out, err

    return run


def plain(text: str) -> str:
    """Printed text as one line, however it was wrapped."""
    return re.sub(r"\s+", " ", text)


# ------------------------------------------------------------------------------------ the answer


def test_below_the_waterfall_stand_the_reasons_and_the_cheapest_ways(say: Say) -> None:
    out, _ = say(DECLINED)
    case = explained(DECLINED, ENGLISH).explanation
    _, _, below = out.partition("double the odds of repayment")
    told = plain(below)
    assert all(reason.text in told for reason in case.reasons)
    assert "What leads to APPROVED: the cheapest first, proven" in below
    assert 1 < len(case.recourse.counterfactuals) <= COUNT_DEFAULT
    for way in case.recourse.counterfactuals:
        then = way.assessment
        assert f"score {case.assessment.score} to {then.score}, tier E to {then.tier}" in told
        limit, term = f"KES {then.offer.limit:,}", f"{then.offer.term_days} days"
        assert f"APPROVED up to {limit} for {term} at {then.offer.apr:.2f}% a year" in told
        soon = f"within {way.within_days} days" if way.within_days else "right away"
        assert f"cost {way.cost:.3f} {soon}" in told
    assert ENGLISH.advice.notice in told


def test_of_what_is_approved_the_strengths_are_told_and_nothing_needs_to_change(say: Say) -> None:
    out, _ = say(APPROVED)
    assert "\nWhat speaks for it\n" in out
    assert out.endswith("\nIt is APPROVED. Nothing needs to change.\n")


def test_an_approval_for_another_loan_than_was_asked_for_says_so(say: Say) -> None:
    out, _ = say(ASKING_MUCH)
    assert plain(out).endswith(
        "It is APPROVED, but for less than the KES 47,000 asked for and for 90 days instead of the "
        "25 asked for. Approval itself needs no change. "
    )


def test_a_way_to_another_loan_than_is_asked_for_says_so(say: Say) -> None:
    out, _ = say(DECLINED_FOR_MUCH)
    assert "a year for less than the KES 40,000 asked for" in plain(out)
    out, _ = say(COMPACT)
    assert "\nThe offer is for 120 days instead of the standard 30\n" in out
    assert "a year for 90 days instead of the standard 30 cost" in plain(out)
    out, _ = say(DECLINED)
    assert "a year for" not in plain(out)


@pytest.mark.parametrize(
    ("sent", "what_binds"),
    [
        (BEYOND_HELP, "out_of_reach: mobile_money_months, monthly_inflow, stability_score"),
        (PENNILESS, "rule: unaffordable, monthly_inflow"),
    ],
    ids=["out of reach", "rule"],
)
def test_where_nothing_helps_what_binds_is_named(
    say: Say, sent: dict[str, Any], what_binds: str
) -> None:
    out, _ = say(sent)
    assert "\nNothing leads to APPROVED within 180 days\n" in out
    assert what_binds in plain(out)


def test_a_tier_or_a_score_can_be_sought_in_as_many_ways_as_asked_for(say: Say) -> None:
    out, _ = say(APPROVED, "--target", "A", "--limit", "1")
    assert "What leads to tier A: the cheapest first" in out
    assert not re.search(r"^  2  ", out.partition("What leads to")[2], re.MULTILINE)
    out, _ = say(DECLINED, "--target", "560", "--limit", "5")
    assert "What leads to a score of 560: the cheapest first" in out
    assert re.search(r"^  5  ", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("target", "said"),
    [("C", "It is in tier C or a better one."), ("600", "The score is 600 or more.")],
)
def test_a_goal_that_is_met_is_told_as_such(say: Say, target: str, said: str) -> None:
    out, _ = say(APPROVED, "--target", target)
    assert f"\n{said} Nothing needs to change.\n" in out


def test_locked_fields_stay_as_they_are(say: Say) -> None:
    out, _ = say(DECLINED, "--target", "560", "--locked", "requested_amount, mm_months")
    assert "What leads to a score of 560 with mm_months, requested_amount as now" in plain(out)
    _, _, ways = out.partition("What leads to")
    assert "Ask for KES" not in ways
    assert "Wait until" not in ways


@pytest.mark.parametrize("spoken", languages(), ids=lambda one: one.code)
def test_the_applicant_is_spoken_to_in_their_language(say: Say, spoken: Language) -> None:
    out, _ = say(DECLINED, "--language", spoken.code)
    assert plain(spoken.advice.notice) in plain(out)


def test_a_search_that_runs_out_of_time_says_so(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain_cli, "SEARCH_S", -1.0)
    out, _ = say(DECLINED)
    assert "\nNothing was found that leads to APPROVED within 180 days\n" in out
    assert "out_of_time" in out


# -------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--target", "Z"], "ask for APPROVED, for a tier (A, B, C, D, E), or for a score"),
        (["--locked", "avg_balence"], "did you mean avg_balance?"),
        (["--language", "de"], "there are texts in en, sw, fr"),
    ],
)
def test_a_wrong_value_is_told_with_what_would_do(say: Say, options: list[str], told: str) -> None:
    _, err = say(COMPACT, *options, code=EXIT_MISTAKE)
    assert told in plain(err)


@pytest.mark.parametrize("options", [["--limit", "0"], ["--limit", "6"], ["--locked", ","]])
def test_what_no_search_could_take_is_refused(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["explain", *options])
    assert re.search("whole number from 1 to 5|names no field", capsys.readouterr().err)


def test_the_command_offers_as_many_ways_as_there_can_be() -> None:
    assert explain_cli._WAYS_MAX == COUNT_MAX


# ---------------------------------------------------------------------------------------- policy


def policy_file(folder: Path, **changed: Any) -> Path:
    policy = msgspec.structs.replace(default_policy("KES"), name="ours", id="", **changed)
    path = folder / "policy.toml"
    path.write_text(write(seal(policy)))
    return path


def stricter() -> tuple[Any, ...]:
    return tuple(
        msgspec.structs.replace(tier, score_min=tier.score_min + 30 if tier.name != "E" else 300)
        for tier in default_policy("KES").tiers
    )


def test_a_policy_of_ones_own_decides(say: Say, tmp_path: Path) -> None:
    out, _ = say(COMPACT, "--policy", str(policy_file(tmp_path, tiers=stricter())))
    assert "\ntier E   DECLINED (tier_below_cutoff)" in out
    assert "\nours policy, sha256:" in out
    assert " 585 " in plain(out)


def test_a_policy_of_another_currency_than_the_one_named_is_refused(
    say: Say, tmp_path: Path
) -> None:
    path = policy_file(tmp_path)
    _, err = say(COMPACT, "--policy", str(path), "--currency", "ugx", code=EXIT_MISTAKE)
    assert "policy.toml lends in KES, but --currency says UGX" in plain(err)
    assert "leave --currency out" in plain(err)


def test_a_field_that_the_policy_forbids_is_refused(say: Say, tmp_path: Path) -> None:
    path = policy_file(tmp_path, law=Law(forbidden_fields=("region",)))
    _, err = say(APPROVED, "--policy", str(path), code=EXIT_MISTAKE)
    assert "region must not be sent: the lender's policy forbids its use" in plain(err)


def test_a_policy_that_is_not_sound_is_told_under_its_name(say: Say, tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('schema = "nothing"')
    _, err = say(COMPACT, "--policy", str(path), code=EXIT_MISTAKE)
    assert "policy.toml" in err


def test_application_and_policy_cannot_both_be_piped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    assert main(["explain", "-", "--policy", "-"]) == EXIT_MISTAKE
    assert "name a file for one of them" in capsys.readouterr().err


@pytest.fixture
def unfit(tmp_path: Path) -> Path:
    """A model that has learned on no term that the default policy offers."""
    outcome = msgspec.structs.replace(a_model().outcome, longest_term_days=14)
    path = tmp_path / "short.json"
    write_model(seal_model(msgspec.structs.replace(a_model(), outcome=outcome)), path)
    return path


def test_without_a_policy_that_fits_it_says_why_there_is_no_recourse(say: Say, unfit: Path) -> None:
    out, err = say(COMPACT, "--model", str(unfit))
    assert "score " in out
    assert "No decision, no reasons and no recourse: the policy offers no term that" in plain(err)


def test_without_a_decision_no_page_is_written(say: Say, unfit: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    options = ("--model", str(unfit), "--html", str(page))
    _, err = say(COMPACT, *options, code=EXIT_MISTAKE)
    assert "there is no decision to put on a page" in plain(err)
    assert "hint: " in err
    assert not page.exists()


# ------------------------------------------------------------------------------------- the page


def test_the_page_for_the_applicant_is_written_in_their_language_with_the_day(
    say: Say, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    _, err = say(DECLINED, "--language", "sw", "--html", str(page))
    written = page.read_text("utf-8")
    assert written.startswith('<!DOCTYPE html>\n<html lang="sw">')
    assert re.search(r"<dd>20\d\d-\d\d-\d\d</dd>", written)
    assert (
        f"{page}: the page for the applicant" in plain(err).replace(" /", "/") or str(page) in err
    )


def test_a_page_that_cannot_be_written_is_told_before_anything_else(
    say: Say, tmp_path: Path
) -> None:
    out, err = say(DECLINED, "--html", str(tmp_path / "no" / "page.html"), code=EXIT_MISTAKE)
    assert out == ""
    assert "does not exist" in plain(err)


# ----------------------------------------------------------------------------------- the drawing


def drawn(sent: dict[str, Any], width: int, encoding: str = "utf-8") -> list[str]:
    ready, application, sought, explanation = explained(sent, ENGLISH)
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    console = Console(file=file, width=width)
    RecourseDrawing(ready, application, sought, ENGLISH, console).show(explanation)
    file.flush()
    return raw.getvalue().decode(encoding).splitlines()


@pytest.mark.parametrize("width", [60, 80, 110, 300])
@pytest.mark.parametrize("sent", [DECLINED, PENNILESS], ids=["ways", "none"])
def test_no_line_is_wider_than_the_terminal_or_than_eyes_follow(
    sent: dict[str, Any], width: int
) -> None:
    lines = drawn(sent, width)
    assert max(map(len, lines)) <= min(width, waterfall.WIDTH_MAX)
    assert all(line == line.rstrip() for line in lines)


def test_a_ring_stands_where_one_is_and_a_dot_where_one_would_be() -> None:
    asked = next(n for n, line in enumerate(drawn(DECLINED, 80)) if "Ask for KES" in line)
    strip = drawn(DECLINED, 80)[asked + 1]
    assert re.search(r"^ {5}─+●━+○─+  past \d+ of 100 people$", strip)


def test_a_terminal_without_such_signs_gets_plain_letters() -> None:
    lines = drawn(DECLINED, 80, "ascii")
    assert any(re.search(r"-o=+\|-", line) for line in lines)


def test_what_binds_twice_in_the_same_words_is_told_once() -> None:
    ready, application, sought, explanation = explained(PENNILESS, ENGLISH)
    (bound,) = explanation.recourse.binding
    other = msgspec.structs.replace(bound, fields=("avg_inflow",))
    twice = Recourse(Status.NO_RECOURSE, binding=(bound, other))
    console = Console(file=io.StringIO(), width=200)
    told = msgspec.structs.replace(explanation, recourse=twice)
    with console.capture() as captured:
        RecourseDrawing(ready, application, sought, ENGLISH, console).show(told)
    assert captured.get().count("\n  -  ") == 1
    assert captured.get().count("rule: unaffordable, ") == 2


def test_a_change_among_unknown_people_is_told_without_a_picture() -> None:
    ready, application, sought, explanation = explained(COMPACT, ENGLISH)
    way = explanation.recourse.counterfactuals[0]
    change = msgspec.structs.replace(
        way.changes[0], field="requested_term_days", before=60, after=30
    )
    recourse = Recourse(
        Status.FOUND, (msgspec.structs.replace(way, changes=(change,)),), optimal=False
    )
    console = Console(file=io.StringIO(), width=80)
    told = msgspec.structs.replace(explanation, recourse=recourse)
    with console.capture() as captured:
        RecourseDrawing(ready, application, sought, ENGLISH, console).show(told)
    assert "Ask for a shorter term" in captured.get()
    assert "of 100 people" not in captured.get()
    assert "time ran out, cheaper ones may exist" in captured.get()
