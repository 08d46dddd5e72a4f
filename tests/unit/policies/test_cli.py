"""A policy is drafted, and checked until nothing is wrong with it."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE
from alama.core.lending import draft, policy_text
from alama.core.lending.draft import default_text
from alama.platform.files.packaged import jurisdiction, jurisdictions
from tests.factories import a_model, write_model
from tests.unit.core.lending.test_products import TWO
from tests.unit.policies.policy_files import run, squeezed, written

LENDING = [pack for pack in jurisdictions() if pack.currencies]
RULES = """
[[rules]]
name = "new_wallet"
when = "mm_months < 3"
decision = "DECLINED"

[[rules]]
name = "old_wallet"
when = "mm_months > 60"
decision = "REVIEW"
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where files and an installation lie, and where commands are called."""
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ------------------------------------------------------------------------------------ init


@pytest.mark.parametrize("code", [pack.code for pack in LENDING])
def test_a_draft_of_every_jurisdiction_is_sound_and_in_its_currency(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("init", "--jurisdiction", code.lower()) == 0
    out, err = capsys.readouterr()
    policy = policy_text.read(out.encode())
    pack = jurisdiction(code)
    assert (policy.jurisdiction, policy.currency) == (pack.code, pack.currencies[0])
    assert policy.name == f"our {policy.currency} policy"
    assert err == ""


def test_a_draft_without_a_law_wants_a_currency(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("init") == EXIT_MISTAKE
    assert "hint: add --currency KES, or --jurisdiction KE\n" in capsys.readouterr().err
    assert run("init", "--currency", "ghs", "--name", "Umoja [bold]") == 0
    policy = policy_text.read(capsys.readouterr().out.encode())
    assert (policy.jurisdiction, policy.currency, policy.name) == ("neutral", "GHS", "Umoja [bold]")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--jurisdiction", "KE", "--currency", "UGX"], "Kenya does not lend in UGX"),
        (["--jurisdiction", "XX"], "there is no jurisdiction pack 'XX'"),
        (["--currency", "KSH"], "no default policy for the currency KSH"),
        (["--currency", "KES", "--name", "a\nb"], "name must be a text"),
    ],
)
def test_what_cannot_be_drafted_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("init", *arguments, "--out", "policy.toml") == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert "hint: " in err or "name" in err
    assert not Path("policy.toml").exists()


def test_a_draft_in_a_file_is_never_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("init", "--jurisdiction", "KE", "--out", "policy.toml") == 0
    out, err = capsys.readouterr()
    assert out == "policy.toml: a draft for Kenya, in KES.\n"
    assert err == "Next: change what is yours, then alama policy check policy.toml\n"
    mine = Path("policy.toml").read_text("utf-8") + "# mine\n"
    Path("policy.toml").write_text(mine, "utf-8")
    assert run("init", "--jurisdiction", "KE", "--out", "policy.toml") == EXIT_MISTAKE
    assert "error: policy.toml is there already\n" in capsys.readouterr().err
    assert Path("policy.toml").read_text("utf-8") == mine


# ------------------------------------------------------------------------------------ check


def test_a_sound_policy_is_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    policy = written(
        "ours",
        ("# volume_max = 1_000_000", "volume_max = 2_500_000"),
        ("utc_offset_hours = 0", "utc_offset_hours = 3"),
        ("[30, 60, 90, 120, 180]", "[30, 60, 360]"),
    )
    assert run("check", "ours.toml") == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"ours.toml is sound.\n\nours, version 1\n{policy.id}\n\n")
    lines = squeezed(out)
    assert "terms 30, 60 days; 360 not offered: the model learned on no such loans" in lines
    assert "price at most 150 % a year, nominal" in lines
    day = "in a day at most KES 2,500,000 approved; it begins at midnight of UTC+3"
    assert day in lines
    assert "own rules none" in lines
    asked = "to a person outflow above 1.5 times the inflow; fewer than 4 fields; a value"
    assert asked in " ".join(lines)
    assert "A from 690 up to 3.0% APPROVED 40% up to 50,000" in lines
    assert "E 300 to 554 24.5 to 96.4% DECLINED 20% up to 5,000" in lines
    assert "Certified as monotone: a better value" in out
    assert err == ""


def test_a_policy_that_asks_for_no_data_in_particular_is_told_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = ("[sufficiency]", "fields_min = ", "outside_times = ", "unlike_share = ")
    text = default_text("KES").decode()
    kept = [line for line in text.splitlines() if not line.startswith((*lines, "outflow_ratio"))]
    Path("ours.toml").write_text("\n".join(kept), "utf-8")
    assert run("check", "ours.toml") == 0
    said = "to a person nothing beside tiers and rules; [sufficiency] asks for nothing"
    assert said in squeezed(capsys.readouterr().out)


def test_what_a_loan_costs_is_shown_for_the_tiers_that_lend(
    capsys: pytest.CaptureFixture[str],
) -> None:
    written("ours", ("apr_max = 150", "apr_max = 60"))
    assert run("check", "ours.toml") == 0
    lines = squeezed(capsys.readouterr().out)
    start = lines.index("APR of KES 10,000 at the lowest score of each tier, percent")
    assert lines[start + 1] == "tier score default 30 days 60 days 90 days 120 days 180 days"
    assert lines[start + 3 : start + 7] == [
        "A 690 3.0% 60.0* 45.1 38.8 35.3 31.5",
        "B 650 5.9% 60.0! 56.3 46.2 40.8 35.2",
        "C 605 12.0% 60.0! 60.0! 60.0* 53.1 43.4",
        "D 555 24.5% 60.0! 60.0! 60.0! 60.0! 60.0*",
    ]
    assert lines[start + 7].startswith("* at the cap")
    assert lines[start + 8].startswith("! below break-even at the cap")


def test_marks_are_explained_only_where_they_stand(capsys: pytest.CaptureFixture[str]) -> None:
    written("ours", ("apr_max = 150", "apr_max = 400"))
    assert run("check", "ours.toml") == 0
    out = capsys.readouterr().out
    assert "break-even" not in out
    assert "at the cap" not in out


def test_a_rule_under_which_better_is_worse_costs_the_certificate(
    capsys: pytest.CaptureFixture[str],
) -> None:
    written("ours", more=RULES)
    assert run("check", "ours.toml") == 0
    out = capsys.readouterr().out
    lines = squeezed(out)
    assert "new_wallet DECLINED mm_months < 3" in lines
    assert "own rules none" not in lines
    assert out.endswith(
        "Not certified as monotone: a better value can worsen a decision.\n"
        "  rule old_wallet: it will begin to fire as mm_months grows\n"
    )


def test_everything_that_is_wrong_is_listed_with_its_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = default_text("KES").decode()
    text = text.replace("limit_step = 500", "limit_step = 0").replace("= 650", "= 750")
    Path("ours.toml").write_text(text + RULES.replace("mm_months < 3", "mm_month < 3"), "utf-8")
    assert run("check", "ours.toml") == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert out.startswith("ours.toml is not sound:\n")
    assert err == ""
    written_lines = Path("ours.toml").read_text("utf-8").splitlines()
    found = [re.match(r"(\d+) (\S+) (.*)", line) for line in squeezed(out)]
    told = {match[2]: (written_lines[int(match[1]) - 1], match[3]) for match in found if match}
    assert told == {
        "limit_step": ("limit_step = 0  # limits are whole steps", told["limit_step"][1]),
        "tiers.B.score_min": ("score_min = 750", "is 750, not below A's 690"),
        "rules.new_wallet.when": (
            'when = "mm_month < 3"',
            "is wrong at column 1: mm_month is not a field; did you mean mm_months?",
        ),
    }


def test_what_deserves_a_second_look_is_listed_with_its_line_and_refuses_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rule = RULES.replace("mm_months > 60", "balance_stability > 40")
    written("ours", ("margin = 10", "margin = 0.1"), ('"neutral"', '"Kenya"'), more=rule)
    assert run("check", "ours.toml") == 0
    out, err = capsys.readouterr()
    lines = squeezed(out)
    start = lines.index("line key worth a second look")
    told = [line.partition(" ")[2] for line in lines[start + 2 : start + 7]]
    assert told == [
        "jurisdiction Kenya is no known pack, so no law was looked at; did you mean KE?",
        "pricing.margin is 0.1 percent a year: did you mean 10?",
        "rules.new_wallet.says has no text, so an applicant would read new_wallet instead",
        "rules.old_wallet.says has no text, so an applicant would read old_wallet instead",
        "rules.old_wallet.when is never true: balance_stability is from 0 up to 1 and always given",
    ]
    assert err == ""


def test_a_policy_that_approves_nobody_is_doubted(capsys: pytest.CaptureFixture[str]) -> None:
    written("ours", ('"APPROVED"', '"REVIEW"'))
    assert run("check", "ours.toml") == 0
    assert "none of them is APPROVED, so nobody ever is" in capsys.readouterr().out


def test_a_currency_that_the_model_does_not_know_is_told_with_its_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    written("ours", ('currency = "KES"', 'currency = "KSH"'))
    assert run("check", "ours.toml") == EXIT_MISTAKE
    out = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r"\d+ currency KSH is no currency that this model knows; did you mean KES\?", out
    )


def test_that_a_guess_may_hide_more_faults_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    text = default_text("KES").decode().replace("apr_max = 150", "apr_max = true")
    Path("ours.toml").write_text(text, "utf-8")
    assert run("check", "ours.toml") == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert "caps.apr_max must be a number" in " ".join(out.split())
    assert err.startswith("hint: mend these first; ")


@pytest.mark.parametrize("sound", [True, False], ids=["sound", "not sound"])
def test_a_policy_can_come_by_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, sound: bool
) -> None:
    text = default_text("KES") if sound else b"schema = "
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert run("check", "-") == (0 if sound else EXIT_MISTAKE)
    said = "standard input is sound.\n" if sound else "standard input is not sound:\n"
    assert capsys.readouterr().out.startswith(said)


def test_a_policy_that_does_not_fit_its_model_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_model(a_model(), Path("model.json"))
    written("ours", ("[30, 60, 90, 120, 180]", "[300]"), ("term_days = 30", "term_days = 300"))
    assert run("check", "ours.toml", "--model", "model.json") == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert out == ""
    assert "no term that the model has learned on" in err
    assert "hint: offer one of 14 to 180 days" in err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot read ours.toml: No such file"),
        (b"", "says no schema"),
        (b"#" * 300_000, "larger than 256 KiB"),
    ],
)
def test_what_is_no_policy_at_all_is_told_in_a_line(
    content: bytes | None, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        Path("ours.toml").write_bytes(content)
    assert run("check", "ours.toml") == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err


@pytest.mark.parametrize("width", ["80", "120"])
def test_a_check_fits_the_terminal(
    width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    written("ours", ("# volume_max", "volume_max"), more=RULES)
    assert run("check", "ours.toml") == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= int(width)
    assert "\u2026" not in "".join(lines)


def test_each_product_is_told_with_its_terms_and_its_price(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("ours.toml").write_bytes(draft.default_text("KES") + TWO.encode())
    assert run("check", "ours.toml") == 0
    said = capsys.readouterr().out
    monthly, weekly = said.partition("product weekly\n")[::2]
    assert "product monthly, for whoever names none\n" in monthly
    assert "30, 60, 90, 120, 180 days" in monthly
    assert "28, 56 days" in weekly
    assert "in equal payments every 7 days" in weekly
    assert "APR of KES 4,000" in weekly
