from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet
import pytest

from alama.batch import deciding
from alama.batch.deciding import TableDeciding
from alama.batch.scoring import Options, Tally, score_table
from alama.core.application import read
from alama.core.assess import assess, explain_score
from alama.core.errors import FileProblem
from alama.core.lending import draft, policy_text
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Policy
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.platform.files.reader import open_table
from tests.factories import a_model
from tests.policies import with_parts
from tests.unit.core.lending.test_products import TWO

CORE: dict[str, list[Any]] = {
    "mm_months": [3, 24, 60, 1],
    "avg_inflow": [9_000.0, 20_000.0, 41_000.0, 0.0],
    "balance_stability": [0.2, 0.6, 0.9, 0.0],
    "airtime_regularity": [0.1, 0.5, 0.8, 0.0],
}
MADE = [
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


@pytest.fixture(scope="module")
def model() -> ReadyModel:
    return ReadyModel(a_model(3), "KES")


@pytest.fixture(scope="module")
def policy(model: ReadyModel) -> ReadyPolicy:
    return ReadyPolicy(default_policy("KES"), model)


def decided(
    folder: Path, policy: ReadyPolicy, columns: dict[str, list[Any]], **options: Any
) -> tuple[pa.Table, TableDeciding, Tally]:
    source = folder / "loans.parquet"
    pyarrow.parquet.write_table(pa.table(columns), source)
    made = TableDeciding(policy, open_table(source), Options(**options))
    tally = score_table(made, folder / "decisions.parquet")
    return pyarrow.parquet.read_table(folder / "decisions.parquet"), made, tally


def refusal(folder: Path, policy: ReadyPolicy, columns: dict[str, list[Any]]) -> str:
    with pytest.raises(FileProblem) as caught:
        decided(folder, policy, columns)
    assert sorted(path.name for path in folder.iterdir()) == ["loans.parquet"]
    return str(caught.value)


def forbidding(model: ReadyModel, *names: str) -> ReadyPolicy:
    policy: Policy = with_parts(default_policy("KES"), law={"forbidden_fields": names})
    return ReadyPolicy(policy, model)


def test_each_row_gets_what_assess_says(tmp_path: Path, policy: ReadyPolicy) -> None:
    columns = {**CORE, "region": [None, "kiambu", None, "x"], "existing_repayments": [None] * 4}
    table, _, _ = decided(tmp_path, policy, columns)
    assert table.schema.names == MADE
    for row, found in zip(pa.table(columns).to_pylist(), table.to_pylist(), strict=True):
        said = assess(policy.model, policy, read(policy.model.catalogue, row))
        assert list(found.values())[:8] == [
            said.score,
            said.default_probability,
            said.tier,
            said.decision,
            said.offer.limit,
            said.offer.term_days,
            said.offer.apr,
            ";".join(said.rules),
        ]


def test_a_row_that_asks_for_nothing_is_scored_as_if_it_asked_for_the_standard_loan(
    tmp_path: Path, policy: ReadyPolicy
) -> None:
    loan = policy.standard_loan
    silent = {**CORE, "counterparties": [5, 6, 7, 8]}
    asking = {
        **silent,
        "requested_amount": [loan.amount] * 4,
        "requested_term_days": [loan.term_days] * 4,
    }
    assert decided(tmp_path, policy, silent)[0] == decided(tmp_path, policy, asking)[0]


def test_the_core_fields_alone_are_decided_on_by_the_compact_card(
    tmp_path: Path, policy: ReadyPolicy
) -> None:
    table, _, _ = decided(tmp_path, policy, CORE, contributions=True)
    for row, found in zip(pa.table(CORE).to_pylist(), table.to_pylist(), strict=True):
        alone = explain_score(policy.model, read(policy.model.catalogue, row))
        assert alone.card == "compact"
        assert found["score"] == alone.score
        assert found["points_counterparties"] is None


def test_contributions_and_base_sum_to_the_score_that_was_decided_on(
    tmp_path: Path, policy: ReadyPolicy
) -> None:
    columns = {**CORE, "counterparties": [5, None, 7, 8]}
    table, _, _ = decided(tmp_path, policy, columns, contributions=True)
    assert table.schema.names[: len(MADE) + 1] == [*MADE, "base_score"]
    for row in table.to_pylist():
        parts = [value or 0.0 for name, value in row.items() if name.startswith("points_")]
        assert round(row["base_score"] + sum(parts)) == row["score"]


def test_the_figures_add_up_what_was_decided(tmp_path: Path, policy: ReadyPolicy) -> None:
    table, made, tally = decided(tmp_path, policy, CORE)
    rows = table.to_pylist()
    for decision in Decision:
        counted = sum(row["decision"] == decision for row in rows)
        assert made.figures.decisions[decision] == counted
    approved = [row["recommended_limit"] for row in rows if row["decision"] == "APPROVED"]
    assert made.figures.volume == sum(approved)
    assert made.figures.count == tally.rows == len(rows)
    assert tally.mean_score == table["score"].to_numpy().mean()


def test_a_second_reading_counts_anew(tmp_path: Path, policy: ReadyPolicy) -> None:
    _, made, _ = decided(tmp_path, policy, CORE)
    score_table(made, tmp_path / "again.csv")
    assert made.figures.count == 4


def test_batches_make_no_difference(
    tmp_path: Path, policy: ReadyPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _, _ = decided(tmp_path, policy, CORE, keep=("mm_months",))
    monkeypatch.setattr(deciding, "CHUNK_ROWS", 1)
    parts, made, _ = decided(tmp_path, policy, CORE, keep=("mm_months",))
    assert parts == whole
    assert made.figures.count == 4


def test_kept_columns_come_first_and_must_not_hide_a_result(
    tmp_path: Path, policy: ReadyPolicy
) -> None:
    loans = {"loan": ["a", "b", "c", "d"], "tier": ["x"] * 4, **CORE}
    table, made, _ = decided(tmp_path, policy, loans, keep=("loan",))
    assert table.schema.names == ["loan", *MADE]
    assert table["loan"].to_pylist() == loans["loan"]
    assert made.ignored == ("tier",)
    with pytest.raises(FileProblem, match="the column tier cannot be kept"):
        decided(tmp_path, policy, loans, keep=("tier",))


def test_columns_and_fields_that_do_not_meet_are_named(tmp_path: Path, policy: ReadyPolicy) -> None:
    loans = {
        **CORE,
        "regoin": ["x"] * 4,
        "counterparties": ["NA", "1", "2", "3"],
        "applicant_ref": ["+254 712 345 678"] * 4,
    }
    _, made, _ = decided(tmp_path, policy, loans)
    assert made.ignored == ("regoin",)
    assert made.meant == {"regoin": "region"}
    assert "existing_repayments" in made.absent
    assert "applicant_ref" not in made.absent
    assert made.markers == {"counterparties": 1}


def test_a_value_that_breaks_a_rule_refuses_the_file(tmp_path: Path, policy: ReadyPolicy) -> None:
    told = refusal(tmp_path, policy, {**CORE, "existing_repayments": [1.0, -1.0, None, 0.0]})
    assert "row 2: existing_repayments must be a number at least 0" in told


def test_a_filled_field_that_the_policy_forbids_refuses_the_file_with_column_and_row(
    tmp_path: Path, model: ReadyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "CHUNK_ROWS", 2)
    policy = forbidding(model, "region", "device_type", "applicant_ref", "contacts")
    columns = {**CORE, "region": [None, None, None, "kiambu"], "device_type": [None] * 4}
    told = refusal(tmp_path, policy, columns)
    assert told.endswith("loans.parquet fills what the policy forbids to use: region (row 4)")
    named = {**CORE, "applicant_ref": ["c-1"] * 4, "device_type": [None, "x", None, None]}
    told = refusal(tmp_path, policy, named)
    assert told.endswith("forbids to use: device_type (row 2), applicant_ref (row 1)")


def test_a_column_that_no_application_may_have_refuses_the_file(
    tmp_path: Path, model: ReadyModel
) -> None:
    policy = forbidding(model, "contacts", "region")
    told = refusal(tmp_path, policy, {**CORE, "contacts": [None] * 4})
    assert told.endswith("loans.parquet has what the policy forbids to use: contacts")


def test_an_empty_column_of_a_forbidden_field_does_no_harm(
    tmp_path: Path, model: ReadyModel
) -> None:
    policy = forbidding(model, "region", "device_type")
    table, _, _ = decided(tmp_path, policy, {**CORE, "region": [None, "", " ", None]})
    assert table.num_rows == 4


def test_money_is_in_the_currency_of_the_policy(tmp_path: Path, policy: ReadyPolicy) -> None:
    # The factory's reference inflows: 20,000 KES are 560,000 UGX.
    ugandan = ReadyPolicy(default_policy("UGX"), ReadyModel(policy.model.model, "UGX"))
    inflows = [28 * value for value in CORE["avg_inflow"]]
    there, _, _ = decided(tmp_path, ugandan, {**CORE, "avg_inflow": inflows}, currency="UGX")
    here, _, _ = decided(tmp_path, policy, CORE)
    assert there["score"] == here["score"]


def test_a_row_has_the_largest_loan_that_would_be_approved(
    tmp_path: Path, policy: ReadyPolicy
) -> None:
    table, _, _ = decided(tmp_path, policy, CORE)
    catalogue = policy.model.catalogue
    rows = [read(catalogue, row) for row in pa.table(CORE).to_pylist()]
    said = [assess(policy.model, policy, row) for row in rows]
    loans = [one.counter.approved if one.counter else None for one in said]
    assert table["counter_offer"].to_pylist() == [loan and loan.amount for loan in loans]


def test_a_policy_that_makes_no_counter_offers_adds_no_columns(
    tmp_path: Path, policy: ReadyPolicy
) -> None:
    silent = seal(msgspec.structs.replace(policy.policy, counter_offers=msgspec.UNSET))
    table, _, _ = decided(tmp_path, ReadyPolicy(silent, policy.model), CORE)
    assert "counter_offer" not in table.column_names


def test_each_row_is_decided_on_by_the_product_that_it_asks_for(
    tmp_path: Path, model: ReadyModel
) -> None:
    ready = ReadyPolicy(policy_text.read(draft.default_text("KES") + TWO.encode()), model)
    asked = ["weekly", None, "", " monthly "]
    table, made, _ = decided(tmp_path, ready, {**CORE, "product": asked})
    assert "product" not in made.ignored
    assert table["product"].to_pylist() == ["weekly", "monthly", "monthly", "monthly"]
    for row, found in zip(pa.table(CORE).to_pylist(), table.to_pylist(), strict=True):
        said = assess(model, ready.for_product(found["product"]), read(model.catalogue, row))
        assert found["recommended_term_days"] == said.offer.term_days
        assert found["recommended_apr"] == said.offer.apr


def test_a_product_that_the_policy_has_not_refuses_the_file(
    tmp_path: Path, model: ReadyModel, policy: ReadyPolicy
) -> None:
    ready = ReadyPolicy(policy_text.read(draft.default_text("KES") + TWO.encode()), model)
    columns = {**CORE, "product": ["weekly", "yearly", None, None]}
    told = refusal(tmp_path, ready, columns)
    assert told == "column product, row 2: must be one of monthly, weekly"
    # Who has no products takes the column for one that nobody knows.
    _, made, _ = decided(tmp_path, policy, columns)
    assert "product" in made.ignored
