"""No cell of a CSV file acts when a spreadsheet opens it, and no number becomes text."""

import csv
import io
import math
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.platform.files import cells
from alama.platform.files.writer import open_table
from tests.tries import tries

QUOTED = [
    *("=1+1", "+1+cmd", "-2+3", "@SUM(A1)", "\t=1", "-5\n", "--5", "\tword"),
    *(" =1", "\u00a0=1", "\ufeff=1", "\u200b=1", "\x00=1", "\u2060 =1"),
    *("\uff1d1", "\uff0b1", "\uff0d1", "\uff20a", "\u22121", " \uff1d1"),
]
FORMULAS = {
    **{text: f"'{text}" for text in QUOTED},
    "\r=1": "'\r'=1",
    "\n=1": "'\n'=1",
    "a\n=1": "a\n'=1",
    "a\r\n =1\nb": "a\r\n' =1\nb",
    "=1\n\u2028@b": "'=1\n\u2028'@b",
}
NUMBERS = ["-5", " -5 ", "+254712345678", "-1.5e3", ".5"]
HARMLESS = [*NUMBERS, "a=b", "a\nb-c", "", "Nairobi", "'=1", None]
KINDS = [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_csv_file_holds_no_formula_and_parquet_holds_what_was_given(
    kind: pa.DataType, tmp_path: Path
) -> None:
    columns = pa.schema({"=word": kind, "amount": pa.int64()})
    words = [*FORMULAS, *HARMLESS]
    if kind == pa.binary():
        words = [None if word is None else word.encode() for word in words]  # type: ignore[misc]
    amounts = pa.array([-1] * len(words))
    rows = pa.RecordBatch.from_arrays([pa.array(words, kind), amounts], schema=columns)
    for name in ("table.csv", "table.parquet"):
        with open_table(tmp_path / name, columns) as table:
            table.write(rows)
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert [row["'=word"] for row in written] == [
        *FORMULAS.values(),
        *(word or "" for word in HARMLESS),
    ]
    assert {row["amount"] for row in written} == {"-1"}
    assert pyarrow.parquet.read_table(tmp_path / "table.parquet")["=word"].to_pylist() == words


def test_bytes_of_one_length_may_grow_by_an_apostrophe(tmp_path: Path) -> None:
    columns = pa.schema({"raw": pa.binary(2)})
    with open_table(tmp_path / "table.csv", columns) as table:
        table.write(pa.RecordBatch.from_pydict({"raw": [b"a=", b"=a"]}, columns))
    assert (tmp_path / "table.csv").read_bytes() == b'"raw"\n"a="\n"\'=a"\n'


def test_a_cell_by_itself_is_written_as_in_a_table(subtests: pytest.Subtests) -> None:
    for text, told in [*FORMULAS.items(), *((one, one) for one in HARMLESS if one is not None)]:
        with subtests.test(text):
            assert cells.inert(text) == told


UNSEEN = " \t\r\n\v\f\x00\x1c\x85\u00a0\u200b\u200f\u2028\u2060\u3000\ufeff\ufe0f"
ACTING = "=+-@\uff1d\uff0b\uff0d\uff20\u2212\ufe62\ufe63\ufe66\ufe6b"
hostile = st.text(st.sampled_from(UNSEEN + ACTING + "a1'") | st.characters(codec="utf-8"))


@given(hostile)
@tries(500)
def test_no_line_of_a_cell_begins_with_a_sign_after_what_is_unseen(text: str) -> None:
    told = cells.inert(text)
    if re.fullmatch(cells.NUMBER.replace(r"\z", ""), text.strip(" ")):
        assert (told, math.isfinite(float(text))) == (text, True)
        return
    for line in told.splitlines():
        assert line.strip().lstrip(UNSEEN)[:1] not in tuple(ACTING)
    assert not told.startswith(("\t", "\r", "\n"))


@given(hostile)
@tries(300)
def test_a_cell_is_changed_by_apostrophes_alone_and_once(text: str) -> None:
    told = cells.inert(text)
    assert told.replace("'", "") == text.replace("'", "")
    assert cells.inert(told) == told
    if told != text:
        assert pc.match_substring_regex(pa.array([text]), cells.SUSPECT).to_pylist() == [True]


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers())
@tries(200)
def test_a_number_stays_one(number: float) -> None:
    assert cells.inert(repr(number)) == repr(number)


@given(st.lists(st.lists(hostile, min_size=2, max_size=2), min_size=1), hostile)
@tries(100)
def test_a_table_of_texts_reads_back_as_its_inert_cells(rows: list[list[str]], name: str) -> None:
    columns = [name, f"{name}2"]
    text = cells.as_csv(columns, (dict(zip(columns, row, strict=True)) for row in rows))
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read == [[cells.inert(cell) for cell in row] for row in (columns, *rows)]
