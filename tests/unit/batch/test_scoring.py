from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from alama.batch import scoring
from alama.batch.scoring import Options, TableScoring, Tally, score_table
from alama.core.catalogue import Catalogue
from alama.core.errors import FileProblem, UnknownCurrency
from alama.core.model import Model
from alama.platform.files.reader import open_table
from tests.factories import a_model

CORE: dict[str, list[Any]] = {
    "mm_months": [3, 60],
    "avg_inflow": [9_000.0, 41_000.0],
    "balance_stability": [0.2, 0.9],
    "airtime_regularity": [0.1, 0.8],
}


@pytest.fixture(scope="module")
def model() -> Model:
    return a_model(3)


def scored(
    folder: Path, model: Model, columns: dict[str, list[Any]], **options: Any
) -> tuple[pa.Table, TableScoring, Tally]:
    source = folder / "loans.parquet"
    pyarrow.parquet.write_table(pa.table(columns), source)
    made = TableScoring(model, open_table(source), Options(**options))
    tally = score_table(made, folder / "scores.parquet")
    return pyarrow.parquet.read_table(folder / "scores.parquet"), made, tally


def refusal(folder: Path, model: Model, columns: dict[str, list[Any]], **options: Any) -> str:
    with pytest.raises(FileProblem) as caught:
        scored(folder, model, columns, **options)
    assert sorted(path.name for path in folder.iterdir()) == ["loans.parquet"]
    return str(caught.value)


def test_the_result_has_the_score_and_the_probability_alone(tmp_path: Path, model: Model) -> None:
    table, _, tally = scored(tmp_path, model, CORE)
    assert table.schema.names == ["score", "default_probability"]
    assert table.schema.types == [pa.int32(), pa.float64()]
    assert tally.rows == 2
    assert tally.mean_score == table["score"].to_numpy().mean()
    assert tally.mean_probability == table["default_probability"].to_numpy().mean()


def test_contributions_and_base_sum_to_the_score(tmp_path: Path, model: Model) -> None:
    table, _, _ = scored(tmp_path, model, CORE, contributions=True)
    for row in table.to_pylist():
        parts = [value or 0.0 for name, value in row.items() if name.startswith("points_")]
        assert round(row["base_score"] + sum(parts)) == row["score"]


def test_a_field_that_the_rows_card_does_not_read_has_no_points(
    tmp_path: Path, model: Model
) -> None:
    table, _, _ = scored(
        tmp_path, model, {**CORE, "counterparties": [None, 12]}, contributions=True
    )
    compact, full = table.to_pylist()
    assert compact["points_counterparties"] is None
    assert full["points_counterparties"] is not None
    # The full card reads every field, and a missing one has its own points.
    assert full["points_region"] is not None


def test_kept_columns_come_first_as_they_were(tmp_path: Path, model: Model) -> None:
    loans: dict[str, list[Any]] = {"loan": ["a", "b"], "when": [1, None], **CORE}
    table, made, _ = scored(tmp_path, model, loans, keep=("when", "loan"))
    assert table.schema.names[:2] == ["when", "loan"]
    assert table["loan"].to_pylist() == ["a", "b"]
    assert made.ignored == ()


def test_kept_columns_may_be_encoded_and_a_field_may_be_kept(tmp_path: Path, model: Model) -> None:
    source = tmp_path / "loans.parquet"
    encoded = pa.array(["x", "y"]).dictionary_encode()
    pyarrow.parquet.write_table(pa.table({"group": encoded, **CORE}), source)
    made = TableScoring(model, open_table(source), Options(keep=("group", "mm_months")))
    score_table(made, tmp_path / "scores.csv")
    table = pyarrow.csv.read_csv(tmp_path / "scores.csv")
    assert table["group"].to_pylist() == ["x", "y"]
    assert table["mm_months"].to_pylist() == CORE["mm_months"]


def test_either_spelling_of_a_field_will_do(tmp_path: Path, model: Model) -> None:
    compact = {
        {"mm_months": "mobile_money_months", "avg_inflow": "monthly_inflow"}.get(name, name): column
        for name, column in CORE.items()
    }
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    assert scored(here, model, compact)[0] == scored(there, model, CORE)[0]


def test_both_spellings_of_a_field_are_one_too_many(tmp_path: Path, model: Model) -> None:
    told = refusal(tmp_path, model, {**CORE, "mobile_money_months": [3, 60]})
    assert "columns mm_months and mobile_money_months are the same field" in told


def test_columns_that_the_model_does_not_name_are_listed(tmp_path: Path, model: Model) -> None:
    loans = {**CORE, "default": [0, 1], "applicant_ref": ["x", "y"], "colour": ["red", "blue"]}
    assert scored(tmp_path, model, loans)[1].ignored == ("default", "colour")


def of_guessed_catalogue(model: Model) -> Model:
    """Give the model as one trained without a catalogue: nothing is required."""
    fields = tuple(
        msgspec.structs.replace(field, required=False) for field in model.catalogue.fields
    )
    return msgspec.structs.replace(model, catalogue=Catalogue(fields))


def test_a_file_with_none_of_the_columns_is_refused(tmp_path: Path, model: Model) -> None:
    source = tmp_path / "loans.csv"
    source.write_text("a,b\n1,2\n")
    with pytest.raises(FileProblem, match="has no column that the model reads") as caught:
        TableScoring(of_guessed_catalogue(model), open_table(source), Options(keep=("a",)))
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("the model reads mm_months, avg_inflow, ")


def test_absent_fields_are_listed_and_misspelt_ones_guessed(tmp_path: Path, model: Model) -> None:
    loans = {**CORE, "Regoin": ["a", "b"], "colour": ["c", "d"]}
    made = scored(tmp_path, model, loans)[1]
    assert "region" in made.absent
    assert not set(CORE) & set(made.absent)
    assert made.meant == {"Regoin": "region"}


def test_marks_of_a_missing_number_are_counted_by_column(tmp_path: Path, model: Model) -> None:
    marked = {**CORE, "counterparties": ["NA", "12"], "region": ["na", "?"]}
    table, made, _ = scored(tmp_path, model, marked, contributions=True)
    assert made.markers == {"counterparties": 1}
    plain = {**marked, "counterparties": [None, 12]}
    assert scored(tmp_path, model, plain, contributions=True)[0] == table


def test_a_mark_in_a_required_field_is_missing(tmp_path: Path, model: Model) -> None:
    told = refusal(tmp_path, model, {**CORE, "avg_inflow": ["1", "n/a"]})
    assert "row 2: avg_inflow is required" in told


def test_a_missing_required_column_is_an_error_that_names_it(tmp_path: Path, model: Model) -> None:
    columns = {name: values for name, values in CORE.items() if name != "avg_inflow"}
    told = refusal(tmp_path, model, columns)
    assert "lacks what the model requires: avg_inflow or monthly_inflow" in told


def test_broken_rules_are_told_by_row_in_order_and_without_the_values(
    tmp_path: Path, model: Model
) -> None:
    told = refusal(
        tmp_path,
        model,
        {
            "mm_months": [3.5, 60, None, 7777],
            "avg_inflow": [-9_123.0, 41_000.0, 1.0, 1.0],
            "stability_score": [0.2, 0.9, 1.5, 0.5],
            "airtime_regularity": [0.1, 0.8, 0.5, 0.5],
            "requested_amount": [None, 0.0, 10.0, 10.0],
            "region": ["x", "y" * 65, "z", None],
        },
    )
    assert told.splitlines()[1:] == [
        "  row 1: mm_months must be a whole number at least 0 and at most 600",
        "  row 1: avg_inflow must be a number at least 0 and at most 1,000,000,000,000",
        "  row 2: requested_amount must be a number above 0 and at most 1,000,000,000,000",
        "  row 2: region must be a string of 1 to 64 printable characters",
        "  row 3: mm_months is required",
        "  row 3: stability_score must be a number at least 0 and at most 1",
        "  row 4: mm_months must be a whole number at least 0 and at most 600",
    ]
    assert not any(value in told for value in ("9123", "9,123", "7777", "yyy"))


def test_a_word_that_would_steer_a_terminal_breaks_a_rule(tmp_path: Path, model: Model) -> None:
    told = refusal(tmp_path, model, {**CORE, "region": ["Nyeri", "\x1b[2J"]})
    assert "row 2: region must be a string of 1 to 64 printable characters" in told
    assert "\x1b" not in told


def test_after_ten_broken_rules_reading_stops(
    tmp_path: Path, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "CHUNK_ROWS", 8)
    columns = {name: values[:1] * 30 for name, values in CORE.items()}
    columns["mm_months"] = [1] * 3 + [-1] * 27
    told = refusal(tmp_path, model, columns)
    assert "(and perhaps more)" in told
    assert told.splitlines()[1].startswith("  row 4: ")
    assert told.splitlines()[-1].startswith("  row 13: ")
    assert len(told.splitlines()) == 11


def test_a_broken_rule_in_a_late_batch_leaves_nothing_written(
    tmp_path: Path, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "CHUNK_ROWS", 8)
    columns = {name: values[:1] * 100 for name, values in CORE.items()}
    columns["avg_inflow"] = [1.0] * 99 + [None]
    assert "row 100: avg_inflow is required" in refusal(tmp_path, model, columns)


def test_text_where_a_number_should_be_is_an_error(tmp_path: Path, model: Model) -> None:
    told = refusal(tmp_path, model, {**CORE, "avg_inflow": ["1", "many"]})
    assert told == "column avg_inflow, row 2: must be a number"


def test_a_kept_column_must_exist_and_must_not_hide_a_result(tmp_path: Path, model: Model) -> None:
    assert "has no column loan" in refusal(tmp_path, model, CORE, keep=("loan",))
    told = refusal(tmp_path, model, {**CORE, "score": [1, 2]}, keep=("score",))
    assert "the column score cannot be kept" in told


def test_money_is_read_in_the_currency_named(tmp_path: Path, model: Model) -> None:
    # The factory's reference inflows: 20,000 KES are 560,000 UGX.
    ugandan = {**CORE, "avg_inflow": [28 * value for value in CORE["avg_inflow"]]}
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    assert scored(here, model, ugandan, currency="UGX")[0] == scored(there, model, CORE)[0]
    with pytest.raises(UnknownCurrency, match="XXX"):
        scored(here, model, CORE, currency="XXX")


def test_the_source_is_never_overwritten(tmp_path: Path, model: Model) -> None:
    source = tmp_path / "loans.parquet"
    pyarrow.parquet.write_table(pa.table(CORE), source)
    made = TableScoring(model, open_table(source), Options())
    with pytest.raises(FileProblem, match="is the file to be scored"):
        score_table(made, source)
    assert pyarrow.parquet.read_table(source).num_columns == len(CORE)


def test_progress_adds_up_to_the_total(tmp_path: Path, model: Model) -> None:
    source = tmp_path / "loans.parquet"
    pyarrow.parquet.write_table(pa.table(CORE), source)
    steps: list[float] = []
    made = TableScoring(model, open_table(source), Options())
    score_table(made, tmp_path / "scores.csv", steps.append)
    assert sum(steps) == made.source.total == 2
