from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from alama.batch import deciding
from alama.batch.deciding import TableCases
from alama.core.errors import FileProblem
from alama.core.lending.simulation import Case
from alama.core.product import PRODUCT
from alama.platform.files.reader import open_table

HEAD = "mobile_money_months,monthly_inflow,stability_score,airtime_regularity"
ROWS = ("3,9000,0.2,0.1", "60,41000.5,0.9,0.8", "12,20000,0.5,0.5")


def written(folder: Path, text: str) -> TableCases:
    path = folder / "loans.csv"
    path.write_text(text)
    return TableCases(PRODUCT, open_table(path))


def values(case: Case) -> dict[str, object]:
    pairs = zip(PRODUCT.fields, case.application.values, strict=True)
    return {field.name: value for field, value in pairs if value is not None}


def test_each_row_is_an_application_in_the_order_of_the_catalogue(tmp_path: Path) -> None:
    text = "\n".join([HEAD + ",region,existing_repayments", *(f"{row}, Kiambu ," for row in ROWS)])
    found = list(written(tmp_path, text).first(10))
    assert [case.reference for case in found] == ["row 1", "row 2", "row 3"]
    assert values(found[1]) == {
        "mm_months": 60,
        "avg_inflow": 41000.5,
        "balance_stability": 0.9,
        "airtime_regularity": 0.8,
        "region": "Kiambu",
    }
    assert isinstance(values(found[1])["mm_months"], int)


def test_rows_of_several_batches_keep_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "CHUNK_ROWS", 2)
    cases = written(tmp_path, "\n".join([HEAD, *ROWS]))
    assert [case.reference for case in cases.first(10)] == ["row 1", "row 2", "row 3"]
    assert [case.reference for case in cases.first(1)] == ["row 1"]


def test_a_part_of_a_file_is_not_taken_for_all_of_it(tmp_path: Path) -> None:
    in_csv = written(tmp_path, "\n".join([HEAD, *ROWS]))
    path = tmp_path / "loans.parquet"
    columns = {name: [1, 1, 1] for name in HEAD.split(",")}
    pyarrow.parquet.write_table(pa.table(columns), path)
    in_parquet = TableCases(PRODUCT, open_table(path))
    for cases, part in ((in_csv, "the first in loans.csv"), (in_parquet, "the first of 3 in ")):
        assert cases.described(len(list(cases.first(2)))).startswith(part)
        assert cases.described(len(list(cases.first(9)))).startswith("those in loans.")


@pytest.mark.parametrize("column", ["request_id", "applicant_ref"])
def test_an_application_goes_by_its_reference(tmp_path: Path, column: str) -> None:
    rows = [f"{name},{row}" for name, row in zip(("a-1", "", "a-3"), ROWS, strict=True)]
    cases = written(tmp_path, "\n".join([f"{column},{HEAD}", *rows]))
    assert [case.reference for case in cases.first(10)] == ["a-1", "row 2", "a-3"]
    assert cases.ignored == ()


def test_what_looks_like_a_person_does_not_become_a_reference(tmp_path: Path) -> None:
    names = ("+254 712 345 678", "x" * 500, "a-3")
    rows = [f"{name},{row}" for name, row in zip(names, ROWS, strict=True)]
    cases = written(tmp_path, "\n".join([f"applicant_ref,{HEAD}", *rows]))
    assert [case.reference for case in cases.first(10)] == ["row 1", "row 2", "a-3"]
    assert cases.unnamed == 2


def test_what_would_steer_a_terminal_does_not_become_a_reference(tmp_path: Path) -> None:
    names = ("a\x1b[2J", "a\u202eb", "a-3")
    rows = [f"{name},{row}" for name, row in zip(names, ROWS, strict=True)]
    cases = written(tmp_path, "\n".join([f"applicant_ref,{HEAD}", *rows]))
    assert [case.reference for case in cases.first(10)] == ["row 1", "row 2", "a-3"]
    assert "2 references" in cases.remarks()[-1]
    assert "not printable" in cases.remarks()[-1]


def test_a_row_that_breaks_a_rule_stops_the_reading(tmp_path: Path) -> None:
    cases = written(tmp_path, "\n".join([HEAD, ROWS[0], "12,20000,7,0.5"]))
    with pytest.raises(FileProblem, match="row 2: stability_score must be"):
        list(cases.first(10))


def test_columns_and_fields_that_do_not_meet_are_named(tmp_path: Path) -> None:
    rows = [f"{row},x,NA" for row in ROWS]
    cases = written(tmp_path, "\n".join([HEAD + ",regoin,counterparties", *rows]))
    assert len(list(cases.first(10))) == 3
    assert cases.ignored == ("regoin",)
    assert cases.meant == {"regoin": "region"}
    assert "device_type" in cases.absent
    assert cases.markers == {"counterparties": 3}


def test_parquet_is_read_in_its_own_types(tmp_path: Path) -> None:
    path = tmp_path / "loans.parquet"
    columns: dict[str, pa.Array[Any]] = {
        "mm_months": pa.array([3, 60]),
        "avg_inflow": pa.array([9000, 41000.5]),
        "balance_stability": pa.array([0.2, 0.9]),
        "airtime_regularity": pa.array([0.1, 0.8]),
        "requested_term_days": pa.array([None, 30]),
    }
    pyarrow.parquet.write_table(pa.table(columns), path)
    first, second = TableCases(PRODUCT, open_table(path)).first(10)
    assert "requested_term_days" not in values(first)
    assert values(second)["requested_term_days"] == 30
