from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from openpyxl import load_workbook
from sqlalchemy import update

from alama.app.cli import EXIT_MISTAKE, build_parser, main
from alama.core.lending import draft
from alama.core.lending.draft import default_policy, default_text
from alama.core.lending.policy import Policy
from alama.core.lending.policy_check import seal
from alama.lenders import installation
from alama.platform import settings
from alama.platform.book import Book, Mode
from alama.policies import simulate_cli
from alama.scoring import records, schema
from alama.scoring.replay import open_score
from alama.scoring.store import Scores
from tests.factories import a_model, write_model
from tests.own_fields import TEXT
from tests.simulations import a_wider_policy
from tests.stored import give_score
from tests.stores import sealed_row

HEAD = (
    "applicant_ref,mobile_money_months,monthly_inflow,stability_score,airtime_regularity,region\n"
)
COMPACT = {
    "mobile_money_months": 24,
    "monthly_inflow": 18500,
    "stability_score": 0.62,
    "airtime_regularity": 0.71,
}


RULE_OF_A_BRANCH = """
[[rules]]
name = "of_the_north"
when = 'branch == "north"'
decision = "REVIEW"
says = "the branch looks at all of its own"
"""

SHORT = """
[[products]]
name = "short"
default = true
terms_days = [30, 60]

[products.standard_loan]
amount = 4_000
term_days = 30
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place where nothing is installed yet, on a terminal as wide as a page."""
    folder = tmp_path / "home"
    monkeypatch.setenv("ALAMA_HOME", str(folder))
    monkeypatch.setenv("COLUMNS", "140")
    return folder


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    """Forty applicants, from good to bad."""
    path = tmp_path / "loans.csv"
    rows = [
        f"C-{n},{2 + 2 * n},{6_000 + 900 * n},{0.1 + n / 50:.2f},{n / 45:.2f},{place}"
        for n, place in enumerate(["Kiambu", ""] * 20)
    ]
    path.write_text(HEAD + "\n".join(rows) + "\n")
    return path


def written(folder: Path, policy: Policy, name: str = "new.toml") -> str:
    path = folder / name
    path.write_text(draft.write(policy))
    return str(path)


def shifted(points: int, currency: str = "KES") -> Policy:
    """The default policy with other cut-offs."""
    policy = default_policy(currency)
    tiers = [
        msgspec.structs.replace(tier, score_min=max(tier.score_min + points, 300))
        for tier in policy.tiers[:-1]
    ]
    name = f"shifted by {points}"
    return seal(msgspec.structs.replace(policy, id="", name=name, tiers=(*tiers, policy.tiers[-1])))


def run(*arguments: object) -> int:
    return main(["policy", "simulate", *map(str, arguments)])


def test_a_file_is_simulated_against_the_default_where_nothing_is_installed(
    tmp_path: Path, loans: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(written(tmp_path, shifted(-40)), "--on", loans) == 0
    out, err = capsys.readouterr()
    assert re.search(r"^old  default KES, version 1, sha256:\w{12}$", out, re.MULTILINE)
    assert re.search(r"^new  shifted by -40, version 1, sha256:\w{12}$", out, re.MULTILINE)
    assert "on   40 applications: those in loans.csv\n" in out
    assert re.search(r"^tiers\.C\.score_min +605 +565 *$", out, re.MULTILINE)
    for section in ("In total", "Rules that objected", "Applications that change decision"):
        assert f"\n{section}" in out
    assert re.search(r"The new policy would approve \d+\.\d% instead of \d+\.\d%, and", out)
    assert "Simulating: 40 applications in " in err
    assert "fields that the file lacks, taken as not given: " in err
    assert not home.exists(), "to simulate installs nothing"


def test_the_page_and_the_table_of_switches_are_written(tmp_path: Path, loans: Path) -> None:
    page, table = tmp_path / "page.html", tmp_path / "met.csv"
    new = written(tmp_path, a_wider_policy())
    assert run(new, "--on", loans, "--output", page, "--switched", table) == 0
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    rows = list(csv.DictReader(table.read_text("utf-8").splitlines()))
    assert rows
    assert all(row["reference"].startswith("C-") for row in rows)
    assert f">{rows[0]['reference']}</th>" in page.read_text("utf-8")


def test_no_more_than_the_limit_are_looked_at(
    tmp_path: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(written(tmp_path, shifted(5)), "--on", loans, "--limit", 7) == 0
    assert "on   7 applications: the first in loans.csv\n" in capsys.readouterr().out


def test_a_file_is_read_to_its_end_unless_fewer_are_asked_for(
    tmp_path: Path,
    loans: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(simulate_cli, "_SCORES_LIMIT", 10)
    new = written(tmp_path, shifted(5))
    for limit in ([], ["--limit", "100"]):
        assert run(new, "--on", loans, *limit) == 0
        assert "on   40 applications: those in loans.csv\n" in capsys.readouterr().out


def test_other_limits_and_prices_alone_are_counted_and_listed(
    tmp_path: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = default_policy("KES")
    pricing = msgspec.structs.replace(old.pricing, margin=12.0)
    new = seal(msgspec.structs.replace(old, id="", version="2", pricing=pricing))
    table = tmp_path / "met.csv"
    assert run(written(tmp_path, new), "--on", loans, "--switched", table) == 0
    out, err = capsys.readouterr()
    assert "The new policy would decide every application alike" in out
    count, dearer = re.findall(r"(\d+) keep their decision and .* (\d+) dearer", out)[0]
    rows = list(csv.DictReader(table.read_text("utf-8").splitlines()))
    assert len(rows) == int(count) > 10
    assert sum(float(row["new_apr"]) > float(row["old_apr"]) for row in rows) == int(dearer)
    assert {"price"} <= {row["changed"] for row in rows}
    assert f"the 0 that change decision, then the {count} that keep it with another offer" in err


def test_products_are_among_what_changes(
    tmp_path: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new, page = tmp_path / "new.toml", tmp_path / "page.html"
    new.write_bytes(draft.default_text("KES") + SHORT.encode())
    assert run(new, "--on", loans, "--output", page) == 0
    out = capsys.readouterr().out
    assert re.search(r"^products\.short\.terms_days +- +30, 60 *$", out, re.MULTILINE)
    assert "\nstandard_loan" not in out, "a table of a product is no change of the policy's"
    assert "products.short.terms_days" in page.read_text("utf-8")


def test_two_policies_of_one_name_and_version_are_warned_of(
    tmp_path: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = written(tmp_path, shifted(5), "old.toml")
    other = msgspec.structs.replace(shifted(5), id="", limit_step=1_000)
    assert run(written(tmp_path, seal(other)), "--on", loans, "--against", old) == 0
    assert "warning: both are called shifted by 5, version 1; give" in capsys.readouterr().err


def test_equal_policies_are_said_to_decide_alike(
    tmp_path: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = written(tmp_path, shifted(5))
    assert run(new, "--on", loans, "--against", new) == 0
    out = capsys.readouterr().out
    assert "\nnothing" in out
    assert "would decide every application alike" in out
    assert "Every offer stays as it is." in out


def test_the_default_is_at_hand_without_an_installation(
    tmp_path: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(written(tmp_path, shifted(5)), "--on", loans, "--against", "default") == 0
    assert "old  default KES" in capsys.readouterr().out


def test_another_model_can_be_named(
    tmp_path: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model.json"
    write_model(a_model(seed=2), model)
    new = written(tmp_path, shifted(-40))
    outs = []
    for arguments in ([], ["--model", model]):
        assert run(new, "--on", loans, *arguments) == 0
        outs.append(capsys.readouterr().out)
    assert outs[0] != outs[1]


def test_stored_applications_are_simulated_against_what_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = [give_score(), give_score(json.dumps(COMPACT).encode())]
    assert run(written(tmp_path, shifted(120)), "--on", "scores") == 0
    out = capsys.readouterr().out
    assert "old  default KES" in out
    assert "on   2 applications: the latest that demo has asked about in test mode" in out
    assert re.findall(r"req_\w+", out)[0] in ids


def test_against_a_policy_that_answered_before_by_its_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    give_score()
    first, second = shifted(10), shifted(20)
    for policy in (first, second):
        main(["policy", "activate", written(tmp_path, policy, "active.toml")])
    capsys.readouterr()
    new = written(tmp_path, shifted(30))
    for against, name in (
        ([], "shifted by 20"),
        (["--against", first.id.removeprefix("sha256:")[:8]], "shifted by 10"),
        (["--against", "default"], "default KES"),
    ):
        assert run(new, "--on", "scores", *against) == 0
        assert f"old  {name}, version 1" in capsys.readouterr().out


def test_a_file_meets_what_answers_where_something_is_installed(
    tmp_path: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    give_score()
    main(["policy", "activate", written(tmp_path, shifted(20), "active.toml")])
    capsys.readouterr()
    assert run(written(tmp_path, shifted(30)), "--on", loans) == 0
    assert "old  shifted by 20" in capsys.readouterr().out


def replace_application(home: Path, request_id: str, change: Callable[[bytes], bytes]) -> None:
    """Change what was sent for a score."""
    opened = installation.open_installation(settings.Settings(home=str(home)))
    stored = Scores.at(opened).find(Book("demo", Mode.TEST), request_id)
    kept = open_score(opened.vault, stored)
    record = records.pack(msgspec.structs.replace(kept, application=change(kept.application)))
    row = sealed_row(opened.vault, stored.row, record)
    with opened.database.writing() as connection:
        chosen = schema.scores.c.request_id == request_id
        connection.execute(update(schema.scores).where(chosen).values(row._asdict()))
    opened.close()


def test_stored_applications_that_the_model_cannot_read_are_left_out(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = give_score()
    give_score()
    replace_application(home, first, lambda _: b'{"shoe_size":43}')
    assert run(written(tmp_path, shifted(30)), "--on", "scores") == 0
    out, err = capsys.readouterr()
    assert "on   1 application: " in out
    assert "warning: 1 that this model cannot read were left out" in err


def test_words_that_were_stored_with_escapes_do_not_steer_the_terminal(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = give_score()
    give_score()
    old = {"region": "a\x1b[2J\nb\u202e"}
    replace_application(home, first, lambda sent: json.dumps(json.loads(sent) | old).encode())
    assert run(written(tmp_path, shifted(30)), "--on", "scores") == 0
    out = capsys.readouterr().out
    assert "on   2 applications" in out
    assert not {"\x1b", "\u202e"} & set(out)


def test_references_that_look_like_people_are_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "loans.csv"
    rows = [f"+2547123456{n},{20 - n},{30_000 - 1_000 * n},0.6,0.6,x" for n in range(10, 20)]
    path.write_text(HEAD + "\n".join(rows) + "\n")
    assert run(written(tmp_path, shifted(60)), "--on", path) == 0
    out, err = capsys.readouterr()
    assert "2547" not in out
    assert "10 references look like phone numbers" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--on", "scores"], "there is no installation at "),
        (["--on", "nowhere.csv"], "nowhere.csv does not exist"),
        (["--on", "Score"], "Score does not exist\n  hint: did you mean --on scores?"),
        (["--on", "LOANS", "--against", "nowhere.toml"], "cannot read nowhere.toml"),
        (["--on", "LOANS", "--against", "3f9a1c0d"], "there is no installation at "),
        (["--on", "LOANS", "--output", "no/such/page.html"], "the folder no/such does not exist"),
        (["--on", "LOANS", "--model", "nowhere.json"], "cannot read the model nowhere.json"),
    ],
)
def test_what_is_not_there_is_told(
    tmp_path: Path,
    loans: Path,
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    new = written(tmp_path, shifted(5))
    chosen = [str(loans) if argument == "LOANS" else argument for argument in arguments]
    assert run(new, *chosen) == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert said in err


@pytest.mark.usefixtures("installed_at_home")
def test_a_book_without_scores_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert run(written(tmp_path, shifted(5)), "--on", "scores", "--output", page) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "error: demo has no scores in test mode to simulate on\n  hint: " in err
    assert not page.exists()


def test_policies_in_two_currencies_are_not_compared(
    tmp_path: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = written(tmp_path, default_policy("UGX"), "old.toml")
    assert run(written(tmp_path, shifted(5)), "--on", loans, "--against", old) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "error: the new policy lends in KES, the old one in UGX\n  hint: " in err


def test_a_policy_that_is_not_sound_is_told_with_its_file_and_its_lines(
    tmp_path: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(default_text("KES").replace(b"limit_step = 500", b"limit_step = -3"))
    assert run(path, "--on", loans) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert f"error: {path}:\n  " in err
    assert "limit_step" in err
    assert f"alama policy check {path}" in err


@pytest.mark.parametrize("limit", ["0", "-1", "many", "10000001"])
def test_a_limit_has_its_bounds(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        run("new.toml", "--on", "scores", f"--limit={limit}")
    assert refused.value.code == EXIT_MISTAKE
    assert "is not a whole number from 1 to 10,000,000" in capsys.readouterr().err


def test_the_examples_of_the_help_can_be_parsed() -> None:
    commands = [line.split() for line in simulate_cli.EXAMPLES.splitlines() if "alama" in line]
    assert len(commands) == 4
    for command in commands:
        assert build_parser().parse_args(command[1:]).run is simulate_cli.run


# ------------------------------------------------------------------------------- what it earns


@pytest.fixture
def repaid(loans: Path) -> Path:
    """The same applicants, and what became of their loans: those below a third did not repay."""
    head, *rows = loans.read_text().splitlines()
    told = [
        f"{row},{int(n < 14)},1000,{300 if n < 14 else 1200},2026-0{1 + n % 3}-01"
        for n, row in enumerate(rows)
    ]
    lines = [f"{head},default,disbursed_amount,repaid_amount,applied_on", *told]
    loans.write_text("\n".join(lines) + "\n")
    return loans


def test_the_money_of_a_policy_is_told_part_by_part(
    tmp_path: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(written(tmp_path, shifted(-40)), "--on", loans) == 0
    out, _ = capsys.readouterr()
    for part in ("charges, fees included", "- funding", "- running cost", "= expected profit"):
        assert part in out
    assert "loans of known outcome" not in out
    assert "As the model expects it, " in out
    assert "no outcome is known: how they would have repaid, no figure here can tell" in out
    assert "Profit is expected to be the largest where scores from " in out


def test_known_outcomes_are_told_beside_what_was_expected(
    tmp_path: Path, repaid: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert run(written(tmp_path, shifted(-40)), "--on", repaid, "--output", page) == 0
    out, _ = capsys.readouterr()
    assert re.search(r"loans of known outcome +\d+ +\d+", out)
    for part in ("of these, defaulted", "lost of what was due", "profit as it came"):
        assert part in out
    assert "whose outcome is known, " in out
    assert "<h3>As it came</h3>" in page.read_text("utf-8")


@pytest.mark.parametrize("name", ["money.xlsx", "money.csv"])
def test_the_figures_of_money_leave_for_a_spreadsheet(
    tmp_path: Path, repaid: Path, name: str
) -> None:
    table = tmp_path / name
    assert run(written(tmp_path, shifted(-40)), "--on", repaid, "--tables", table) == 0
    if name.endswith("csv"):
        rows = list(csv.DictReader(table.read_text("utf-8").splitlines()))
        tables = {row["table"] for row in rows}
        months = {row["name"] for row in rows if row["table"] == "months"}
    else:
        book = load_workbook(table)
        tables = set(book.sheetnames)
        months = {row[0] for row in book["months"].iter_rows(min_row=2, values_only=True)}
    assert tables == {"about", "total", "tiers", "terms", "months", "swaps", "cut_offs"}
    assert months == {"2026-01", "2026-02", "2026-03"}


def test_tables_say_in_which_currency_by_which_policies_and_what_each_column_means(
    tmp_path: Path, repaid: Path
) -> None:
    table = tmp_path / "money.xlsx"
    policy = seal(msgspec.structs.replace(shifted(-40), id="", name="=HYPERLINK(1)"))
    assert run(written(tmp_path, policy), "--on", repaid, "--tables", table) == 0
    book = load_workbook(table)
    rows = book["about"].iter_rows(min_row=2, values_only=True)
    about = {str(name): str(meaning) for name, meaning in rows}
    assert about["currency"] == "KES"
    assert about["new"].startswith("'=HYPERLINK(1), version ")
    told = {name for key in about for name in key.split(", ")}
    columns = {str(cell.value) for sheet in book.worksheets[1:] for cell in sheet[1]}
    assert {
        name.removesuffix("_low").removesuffix("_high") for name in columns - told - {"name"}
    } <= told


def test_what_a_policy_asks_of_a_past_that_a_file_does_not_tell_is_said(
    tmp_path: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(written(tmp_path, shifted(-40)), "--on", loans) == 0
    said = "Nothing is known of the earlier applications and loans of 40 applications"
    assert said in capsys.readouterr().out


def test_own_fields_of_a_lender_are_read_where_nothing_is_installed(
    tmp_path: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fields.toml").write_bytes(TEXT)
    rows = loans.read_text("utf-8").splitlines()
    loans.write_text("\n".join([rows[0] + ",branch", *(row + ",north" for row in rows[1:])]))
    text = draft.write(shifted(-40)) + RULE_OF_A_BRANCH
    (tmp_path / "new.toml").write_text(text)
    given = (tmp_path / "new.toml", "--on", loans)
    assert run(*given, "--fields", tmp_path / "fields.toml") == 0
    assert re.search(r"^of_the_north +0 +40 +\+40 *$", capsys.readouterr().out, re.MULTILINE)
    assert run(*given) == EXIT_MISTAKE
    assert "branch is not a field" in capsys.readouterr().err


def test_tables_of_another_kind_are_refused_before_the_run(
    tmp_path: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = written(tmp_path, shifted(-40))
    assert run(new, "--on", loans, "--tables", tmp_path / "money.ods") == EXIT_MISTAKE
    assert "name a file that ends in .xlsx or .csv" in capsys.readouterr().err
