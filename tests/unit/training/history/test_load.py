from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alama.core.catalogue import Catalogue, Direction, Field, Kind
from alama.core.errors import AlamaError, FileProblem, InvalidCatalogue, TrainingProblem
from alama.core.product import PRODUCT
from alama.training.history.load import load, read_catalogue
from tests.loans import (
    ROWS,
    Columns,
    noise,
    outcomes,
    product_columns,
    read,
    warning_about,
    write_csv,
    write_parquet,
)


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_a_file_with_the_core_columns_is_read_by_the_products_catalogue(
    tmp_path: Path, write: Any
) -> None:
    columns = {
        "score_of_another_lender": noise(seed=7),
        **product_columns(),
        "true_default_probability": noise(seed=8),
        "booked": [True] * ROWS,
        "applied_on": ["2024-03-31"] * ROWS,
    }

    loaded = read(write(tmp_path, columns))

    expected = ["mm_months", "avg_inflow", "balance_stability", "airtime_regularity", "region"]
    assert list(loaded.dataset.columns) == expected
    assert [f for f in PRODUCT.model_fields if f.name in expected] == list(
        loaded.dataset.catalogue.model_fields
    )
    assert loaded.ignored == ("score_of_another_lender", "true_default_probability", "booked")
    assert loaded.dataset.dates is not None
    assert set(loaded.dataset.dates.tolist()) == {np.datetime64("2024-03-31").item()}
    assert loaded.dataset.defaults == ROWS // 2
    assert "requested_amount" in warning_about(loaded, "the model will not know them")


def test_compact_spellings_are_the_same_fields(tmp_path: Path) -> None:
    columns = product_columns()
    columns["mobile_money_months"] = columns.pop("mm_months")
    columns["stability_score"] = columns.pop("balance_stability")

    loaded = read(write_csv(tmp_path, columns))

    assert list(loaded.dataset.columns)[:2] == ["mm_months", "avg_inflow"]
    assert "balance_stability" in loaded.dataset.columns


def test_one_field_in_both_spellings_is_refused(tmp_path: Path) -> None:
    columns = {**product_columns(), "monthly_inflow": noise()}

    with pytest.raises(FileProblem, match="avg_inflow and monthly_inflow are two spellings"):
        read(write_csv(tmp_path, columns))


def test_a_file_that_almost_has_the_core_says_why_the_catalogue_is_not_used(tmp_path: Path) -> None:
    columns = product_columns()
    columns["airtime_regularty"] = columns.pop("airtime_regularity")

    loaded = read(write_csv(tmp_path, columns))

    assert "has no airtime_regularity" in warning_about(loaded, "the product's catalogue")
    assert "airtime_regularty" in loaded.dataset.columns


def test_a_catalogue_that_is_given_is_the_one_used(tmp_path: Path) -> None:
    catalogue = Catalogue(
        fields=(
            Field(name="region", kind=Kind.WORD),
            Field(name="mm_months", kind=Kind.NUMBER, required=True),
            Field(name="debts", kind=Kind.INTEGER),
        )
    )

    loaded = read(write_csv(tmp_path, product_columns()), catalogue=catalogue)

    assert list(loaded.dataset.columns) == ["region", "mm_months"]
    assert set(loaded.ignored) == {"avg_inflow", "balance_stability", "airtime_regularity"}
    assert warning_about(loaded, "debts") == "the file has no debts: the model will not know them"


def test_a_required_field_that_the_file_lacks_is_named_with_the_nearest_column(
    tmp_path: Path,
) -> None:
    catalogue = Catalogue(
        fields=(
            Field(name="mm_months", kind=Kind.NUMBER),
            Field(name="regions", kind=Kind.WORD, required=True),
        )
    )

    with pytest.raises(FileProblem, match="no column regions") as problem:
        read(write_csv(tmp_path, product_columns()), catalogue=catalogue)

    assert problem.value.hint == "did you mean region?"


TOML = """
[[fields]]
name = "income"
kind = "number"
minimum = 0
direction = "safer with more"
"""
JSON = """{"fields": [{"name": "income", "kind": "number", "minimum": 0,
"direction": "safer with more"}]}"""


@pytest.mark.parametrize(("name", "text"), [("fields.toml", TOML), ("fields.json", JSON)])
def test_a_catalogue_is_read_from_toml_and_from_json(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)

    assert read_catalogue(tmp_path / name).fields == (
        Field(name="income", kind=Kind.NUMBER, minimum=0, direction=Direction.SAFER),
    )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("fields.toml", TOML + "colour = 1", "unknown field `colour`"),
        ("fields.toml", "[[fields]", "not a field catalogue"),
        ("fields.json", "{", "not a field catalogue"),
        ("fields.json", "[" * 100_000, "not a field catalogue"),
        ("fields.json", '{"fields": [{"name": "a", "kind": "date"}]}', "'date'"),
        ("fields.json", '{"fields": []}', "no field that a model may read"),
        ("fields.toml", TOML + TOML, "income stands twice"),
        ("fields.yaml", "fields: []", ".toml or a .json"),
        ("fields.json", " " * (2**20 + 1), "too large"),
    ],
)
def test_a_catalogue_that_is_none_is_refused(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)

    with pytest.raises(AlamaError) as problem:
        read_catalogue(tmp_path / name)

    assert said in str(problem.value)
    assert name in str(problem.value)


def test_a_catalogue_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fields.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(InvalidCatalogue, match="not a field catalogue"):
        read_catalogue(tmp_path / "fields.toml")
    with pytest.raises(FileProblem, match="No such file"):
        read_catalogue(tmp_path / "nowhere.toml")
    with pytest.raises(FileProblem, match="cannot read"):
        read_catalogue(tmp_path)


def test_directions_are_set_over_those_of_the_catalogue(tmp_path: Path) -> None:
    loaded = read(
        write_csv(tmp_path, product_columns()),
        monotone={"monthly_inflow": Direction.FREE, "balance_stability": Direction.RISKIER},
    )

    catalogue = loaded.dataset.catalogue
    assert catalogue.field("avg_inflow").direction is Direction.FREE
    assert catalogue.field("balance_stability").direction is Direction.RISKIER
    assert catalogue.field("mm_months").direction is Direction.SAFER


def test_a_direction_of_a_field_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = write_csv(tmp_path, product_columns())

    with pytest.raises(TrainingProblem, match="no such field") as problem:
        read(path, monotone={"avg_inflw": Direction.SAFER})
    assert problem.value.hint == "did you mean avg_inflow?"
    with pytest.raises(TrainingProblem, match="words have no order"):
        read(path, monotone={"region": Direction.SAFER})


def test_excluded_columns_are_not_seen(tmp_path: Path) -> None:
    path = write_csv(tmp_path, product_columns())

    loaded = read(path, exclude=["region", "mobile_money_months"])

    assert {"region", "mm_months"}.isdisjoint(loaded.dataset.columns)
    assert {"region", "mm_months"}.isdisjoint(loaded.ignored)


def test_a_typo_in_what_to_exclude_is_refused(tmp_path: Path) -> None:
    path = write_csv(tmp_path, {"default": outcomes(), "income": noise(), "recovered": noise()})

    with pytest.raises(FileProblem, match="no column recoverd") as problem:
        read(path, exclude=["recoverd"])
    assert problem.value.hint == "did you mean recovered?"
    with pytest.raises(TrainingProblem, match="neither the date nor excluded"):
        read(path, exclude=["default"])


def test_nothing_left_to_learn_from_is_said_with_the_reasons(tmp_path: Path) -> None:
    path = write_csv(tmp_path, {"default": outcomes(), "income": [1] * ROWS})

    with pytest.raises(TrainingProblem, match="no column is left") as problem:
        read(path)
    assert "column income is ignored: it holds the same value" in str(problem.value)
    with pytest.raises(TrainingProblem, match="no column is left"):
        read(path, exclude=["income"])


def test_the_day_can_be_in_a_column_of_any_name(tmp_path: Path) -> None:
    columns: Columns = {
        "default": outcomes(),
        "income": noise(),
        "savings": noise(seed=1),
        "asked": ["2024-02-29T10:00"] * ROWS,
    }
    path = write_csv(tmp_path, columns)

    dates = read(path, date_column="asked").dataset.dates
    assert dates is not None
    assert str(dates[0]) == "2024-02-29"
    assert read(path).dataset.dates is None
    with pytest.raises(FileProblem, match="no column askd"):
        read(path, date_column="askd")
    with pytest.raises(FileProblem, match="column income, row 1: must be a date"):
        read(path, date_column="income")
    with pytest.raises(TrainingProblem, match="neither the date nor excluded"):
        read(path, date_column="default")


def test_days_that_cannot_be_read_are_given_up_where_nobody_asked_for_them(tmp_path: Path) -> None:
    columns: Columns = {"default": outcomes(), "income": noise(), "applied_on": ["soon"] * ROWS}

    loaded = read(write_csv(tmp_path, columns))

    assert loaded.dataset.dates is None
    assert "applied_on" not in loaded.dataset.columns
    warning_about(loaded, "the dates are not used: column applied_on, row 1")


def test_the_share_read_rises_to_one(tmp_path: Path) -> None:
    shares: list[float] = []
    path = write_csv(tmp_path, {"default": outcomes(), "income": noise()})

    load(path, label="default", catalogue=None, monotone={}, exclude=(), watch=shares.append)

    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_rows_without_a_required_field_are_left_out_and_counted(tmp_path: Path) -> None:
    columns = product_columns()
    columns["avg_inflow"] = [None if row < 7 else x for row, x in enumerate(columns["avg_inflow"])]
    loaded = read(write_csv(tmp_path, columns), label="default")
    assert len(loaded.dataset) == len(columns["avg_inflow"]) - 7
    assert warning_about(loaded, "7 rows without avg_inflow are left out")


def test_a_file_of_more_columns_than_anyone_reads_is_refused(tmp_path: Path) -> None:
    columns = {f"field_{n}": noise(200, seed=n) for n in range(260)}
    path = write_parquet(tmp_path, {**columns, "bad": outcomes(200)})
    with pytest.raises(TrainingProblem, match="at most 250"):
        read(path, label="bad")
