from __future__ import annotations

import csv
import io

import pytest
from openpyxl import load_workbook

from alama.platform.files.sheets import Sheet, as_csv, as_xlsx

FORMULA = '=HYPERLINK("http://x")'
SHEETS = (
    Sheet("tiers", ("name", "profit"), [{"name": FORMULA, "profit": -2.5}, {"name": "B"}]),
    Sheet("cut_offs", ("score_from", "profit"), [{"score_from": 600, "profit": 12}]),
)


def test_a_workbook_has_a_sheet_for_each_table_and_runs_nothing() -> None:
    book = load_workbook(io.BytesIO(as_xlsx(SHEETS)))
    assert book.sheetnames == ["tiers", "cut_offs"]
    rows = list(book["tiers"].iter_rows())
    assert [cell.value for cell in rows[0]] == ["name", "profit"]
    assert rows[1][0].value == f"'{FORMULA}"
    assert rows[1][0].data_type == "s", "text, and no formula"
    assert rows[1][1].value == -2.5
    assert rows[2][1].value is None
    assert [cell.value for cell in list(book["cut_offs"].iter_rows())[1]] == [600, 12]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t=", "\N{FULLWIDTH EQUALS SIGN}"])
def test_text_that_looks_like_a_formula_is_inert_in_both(sign: str) -> None:
    sheet = Sheet("one", ("name",), [{"name": f"{sign}1+1 and more"}])
    (_, row) = csv.reader(io.StringIO(as_csv([sheet])))
    assert row[1].startswith("'")
    cell = list(load_workbook(io.BytesIO(as_xlsx([sheet])))["one"].iter_rows())[1][0]
    assert str(cell.value).startswith("'")
    assert cell.data_type == "s"


def test_what_xml_cannot_hold_is_replaced() -> None:
    sheet = Sheet("one", ("name",), [{"name": "a\x00b\x1fc"}])
    book = load_workbook(io.BytesIO(as_xlsx([sheet])))
    assert book["one"]["A2"].value == "a\ufffdb\ufffdc"


def test_one_csv_has_all_tables_and_says_of_which_a_row_is() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(SHEETS))))
    assert [row["table"] for row in rows] == ["tiers", "tiers", "cut_offs"]
    assert rows[0]["name"] == f"'{FORMULA}"
    assert (rows[2]["score_from"], rows[2]["profit"], rows[2]["name"]) == ("600", "12", "")
