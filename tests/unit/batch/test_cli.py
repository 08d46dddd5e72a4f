from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.core.lending import draft
from alama.core.lending.draft import default_policy
from alama.platform.files import packaged
from tests.factories import a_model, write_model
from tests.policies import with_parts

HEADER = "loan,mobile_money_months,monthly_inflow,stability_score,airtime_regularity\n"
LOANS = HEADER + "a,3,9000,0.2,0.1\nb,60,41000,0.9,0.8\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.json"
    write_model(a_model(), path)
    return path


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    path = tmp_path / "loans.csv"
    path.write_text(LOANS)
    return path


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(draft.write(default_policy("KES")))
    return path


def test_a_file_is_scored_and_summed_up(
    model: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = loans.with_name("scores.parquet")
    assert main(["score", str(loans), "--model", str(model), "--out", str(out)]) == 0

    assert pyarrow.parquet.read_table(out).column_names == ["score", "default_probability"]
    told = capsys.readouterr()
    assert "scores.parquet: 2 rows, mean score " in told.out
    assert "does not name, ignored: loan\n" in told.err
    assert "2 rows" in told.err


def test_columns_can_be_kept_and_contributions_added(model: Path, loans: Path) -> None:
    out = loans.with_name("scores.csv")
    options = ["--contributions", "--keep", "loan, ", "--currency", "ugx"]
    assert main(["score", str(loans), "--model", str(model), "--out", str(out), *options]) == 0

    table = pyarrow.csv.read_csv(out)
    assert table.column_names[:4] == ["loan", "score", "default_probability", "base_score"]
    assert "points_mm_months" in table.column_names
    assert table["loan"].to_pylist() == ["a", "b"]


def test_without_a_model_the_built_in_one_scores(
    loans: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packaged, "builtin", a_model)
    assert main(["score", str(loans), "--out", str(loans.with_name("scores.csv"))]) == 0


def test_a_bad_row_is_told_and_leaves_nothing(
    model: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loans.write_text(LOANS + "c,-5,1,0.5,0.5\n")
    out = loans.with_name("scores.csv")
    code = main(["score", str(loans), "--model", str(model), "--out", str(out)])

    assert code == EXIT_MISTAKE
    assert "row 3: mobile_money_months must be a whole number" in capsys.readouterr().err
    assert sorted(path.name for path in loans.parent.iterdir()) == ["loans.csv", "model.json"]


def test_keeping_nothing_is_a_mistake(loans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["score", str(loans), "--out", "scores.csv", "--keep", ","])
    assert exit_info.value.code == EXIT_MISTAKE
    assert "names no column" in capsys.readouterr().err


def test_columns_and_fields_that_do_not_meet_are_told_once(
    model: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loans.write_text(
        HEADER.replace("loan,", "loan,regoin,counterparties,")
        + "a,x,NA,3,9000,0.2,0.1\nb,y,?,60,41000,0.9,0.8\n"
    )
    out = loans.with_name("scores.csv")
    assert main(["score", str(loans), "--model", str(model), "--out", str(out)]) == 0

    told = capsys.readouterr().err
    assert "does not name, ignored: loan, regoin (did you mean region?)\n" in told
    (absent,) = (line for line in told.splitlines() if line.startswith("Fields of the model"))
    assert "region" in absent
    assert "counterparties" not in absent
    (warned,) = (line for line in told.splitlines() if line.startswith("warning"))
    assert warned.endswith("read as missing: counterparties (2)")


# ------------------------------------------------------------------------------- with a policy


def decide(model: Path, policy: Path, loans: Path, *options: str) -> int:
    out = loans.with_name("decisions.csv")
    named = ["--model", str(model), "--policy", str(policy), "--out", str(out)]
    return main(["score", str(loans), *named, *options])


def test_a_policy_decides_on_each_row_and_is_summed_up(
    model: Path, policy: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loans.write_text(LOANS + "c,3,0,0.2,0.1\n")
    assert decide(model, policy, loans, "--keep", "loan", "--currency", "kes") == 0

    table = pyarrow.csv.read_csv(loans.with_name("decisions.csv"))
    assert table.column_names == [
        "loan",
        "score",
        "default_probability",
        "tier",
        "decision",
        "recommended_limit",
        "recommended_term_days",
        "recommended_apr",
        "rules",
        "counter_offer",
        "counter_offer_term_days",
    ]
    referred, approved, declined = table.to_pylist()
    assert (referred["decision"], referred["rules"]) == ("REVIEW", "tier_in_review")
    assert (approved["decision"], approved["rules"]) == ("APPROVED", "")
    assert (declined["decision"], declined["recommended_limit"]) == ("DECLINED", 0)
    assert {"tier_in_review", "unaffordable"} <= set(declined["rules"].split(";"))
    told = capsys.readouterr()
    assert "decisions.csv: 3 rows, mean score " in told.out
    volume = f"volume KES {approved['recommended_limit']:,}, of which "
    assert "approved 33.3%, review 33.3%, declined 33.3%; " + volume in told.out
    assert "3 rows" in told.err


def test_a_policy_and_contributions_go_together(model: Path, policy: Path, loans: Path) -> None:
    assert decide(model, policy, loans, "--contributions") == 0
    names = pyarrow.csv.read_csv(loans.with_name("decisions.csv")).column_names
    assert {"decision", "base_score", "points_mm_months"} <= set(names)


def test_where_nothing_is_lent_no_loss_is_told(
    model: Path, policy: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loans.write_text(HEADER + "a,3,0,0.2,0.1\n")
    assert decide(model, policy, loans) == 0
    assert capsys.readouterr().out.endswith("declined 100.0%; volume KES 0\n")


def test_another_currency_than_the_policys_is_refused(
    model: Path, policy: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert decide(model, policy, loans, "--currency", "UGX") == EXIT_MISTAKE
    told = capsys.readouterr().err
    assert "policy.toml lends in KES, but --currency says UGX" in told
    assert "leave --currency out" in told
    assert not loans.with_name("decisions.csv").exists()


def test_a_column_that_the_policy_forbids_refuses_the_file(
    model: Path, policy: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forbidding = with_parts(default_policy("KES"), law={"forbidden_fields": ("region",)})
    policy.write_text(draft.write(forbidding))
    loans.write_text(HEADER.replace("loan", "region") + ",3,9000,0.2,0.1\nb,60,41000,0.9,0.8\n")
    assert decide(model, policy, loans) == EXIT_MISTAKE
    told = capsys.readouterr().err
    assert "loans.csv fills what the policy forbids to use: region (row 2)" in told
    assert "nothing was written" in told
    assert not loans.with_name("decisions.csv").exists()


def test_a_policy_that_is_not_sound_is_refused_with_its_faults(
    model: Path, policy: Path, loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy.write_text(policy.read_text().replace('decision = "REVIEW"', 'decision = "PERHAPS"', 1))
    assert decide(model, policy, loans) == EXIT_MISTAKE
    told = capsys.readouterr().err
    assert "policy.toml:" in told
    assert "decision" in told
    assert "alama policy check" in told
