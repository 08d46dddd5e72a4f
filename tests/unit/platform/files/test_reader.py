import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from alama.core.errors import FileProblem
from alama.platform.files.reader import open_table
from alama.platform.files.table import Table, require


def csv(folder: Path, content: bytes | str, name: str = "loans.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def parquet(folder: Path, columns: dict[str, Any]) -> Path:
    path = folder / "loans.parquet"
    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


def rows(table: Table, names: Sequence[str], size: int = 65_536) -> list[tuple[object, ...]]:
    return [
        tuple(row.values()) for batch in table.batches(names, size) for row in batch.to_pylist()
    ]


def problem(path: Path, names: Sequence[str] = ("a",)) -> FileProblem:
    with pytest.raises(FileProblem) as caught:
        rows(open_table(path), names)
    return caught.value


def test_csv_columns_are_text_whatever_they_look_like(tmp_path: Path) -> None:
    table = open_table(csv(tmp_path, "a,b,c\n01,true,2024-01-01\n2.50,nan,\n"))

    assert table.names == ("a", "b", "c")
    assert rows(table, ["a", "b", "c"]) == [("01", "true", "2024-01-01"), ("2.50", "nan", None)]


def test_parquet_columns_keep_their_types(tmp_path: Path) -> None:
    table = open_table(parquet(tmp_path, {"a": [1, None], "b": ["x", "y"], "c": [True, False]}))

    assert table.rows == 2
    assert [b.schema.types for b in table.batches(["b", "a", "c"])] == [
        [pa.string(), pa.int64(), pa.bool_()]
    ]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_only_the_columns_asked_for_come_in_the_order_asked(tmp_path: Path, kind: str) -> None:
    made = csv(tmp_path, "a,b,c\n1,2,3\n") if kind == "csv" else parquet(
        tmp_path, {"a": ["1"], "b": ["2"], "c": ["3"]}
    )  # fmt: skip
    assert rows(open_table(made), ["c", "a"]) == [("3", "1")]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_batches_are_no_longer_than_asked_and_keep_the_order(tmp_path: Path, kind: str) -> None:
    values = [str(n) for n in range(1_000)]
    made = (
        csv(tmp_path, "a,b\n" + "".join(f"{value},x\n" for value in values))
        if kind == "csv"
        else parquet(tmp_path, {"a": values})
    )
    table = open_table(made)

    assert max(batch.num_rows for batch in table.batches(["a"], 64)) == 64
    assert rows(table, ["a"], 64) == [(value,) for value in values]


def test_every_call_is_a_pass_of_its_own(tmp_path: Path) -> None:
    table = open_table(csv(tmp_path, "a\n1\n2\n"))
    assert rows(table, ["a"]) == rows(table, ["a"])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_progress_runs_from_nothing_to_the_total(tmp_path: Path, kind: str) -> None:
    made = csv(tmp_path, "a\n1\n2\n") if kind == "csv" else parquet(tmp_path, {"a": [1, 2]})
    table = open_table(made)

    assert table.done == 0
    rows(table, ["a"])
    assert table.done == pytest.approx(table.total)


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    assert open_table(csv(tmp_path, b"\xef\xbb\xbfa,b\n1,2\n")).names == ("a", "b")


def test_space_around_a_name_does_not_count(tmp_path: Path) -> None:
    table = open_table(csv(tmp_path, "a, b ,c\n1,2,3\n"))
    assert table.names == ("a", "b", "c")
    assert rows(table, ["b"]) == [("2",)]


def test_a_quoted_value_may_span_lines_and_hold_commas(tmp_path: Path) -> None:
    table = open_table(csv(tmp_path, 'a,b\n"one\ntwo, three",4\n'))
    assert rows(table, ["a", "b"]) == [("one\ntwo, three", "4")]


def test_compressed_csv_is_read_as_it_is(tmp_path: Path) -> None:
    made = csv(tmp_path, gzip.compress(b"a\n1\n"), "loans.csv.gz")
    assert rows(open_table(made), ["a"]) == [("1",)]


def test_the_case_of_the_ending_does_not_matter(tmp_path: Path) -> None:
    assert open_table(csv(tmp_path, "a\n1\n", "LOANS.CSV")).names == ("a",)


def test_one_column_without_a_name_is_left_alone(tmp_path: Path) -> None:
    assert rows(open_table(csv(tmp_path, ",a\n0,1\n")), ["a"]) == [("1",)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"a,b\n", "has a header but no rows"),
        (b"a,b", "loans.csv has no rows"),
        (b"\n", "has no rows"),
        (b"a,b\n1,2\n3\n", "row 2 has 1 values where the header names 2 columns"),
        (b"a,b\n1,2\n3,4,5\n", "row 2 has 3 values where the header names 2 columns"),
        (b"a,a\n1,2\n", "has two columns named a"),
        (b"a,b\n1,2\nK\xf6ln,2\n", "is not UTF-8 text: row 2 cannot be read"),
        (b"a,K\xf6ln\n1,2\n", "is not UTF-8 text: its header cannot be read"),
        ("a,b\n1,2\n".encode("utf-16"), "is not UTF-8 but UTF-16"),
        (b"a;b\n1;2\n", "not separated by commas"),
        (b"PAR1....", "is a Parquet file by its content"),
        (b"PK\x03\x04....", "is a spreadsheet or a ZIP archive"),
        (gzip.compress(b"a\n1\n"), "is compressed by its content"),
        (b'a\n"' + b"x\n" * 5 * 2**20, "a row is longer than 4 MiB"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_is_wrong_with_a_csv_file_is_said(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in str(problem(csv(tmp_path, content)))


def test_a_bad_row_is_named_by_its_number_in_the_whole_file(tmp_path: Path) -> None:
    content = "a,b\n" + "1,2222222222\n" * 700_000 + "1\n"
    assert "row 700001 has 1 values" in str(problem(csv(tmp_path, content)))


def test_no_message_repeats_what_a_row_holds(tmp_path: Path) -> None:
    told = problem(csv(tmp_path, "a,b\nsecret\n"))
    assert "secret" not in f"{told} {told.hint}"


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    made = csv(tmp_path, gzip.compress(b"a\n1\n" * 10_000)[:-20], "loans.csv.gz")
    assert "loans.csv.gz" in str(problem(made))


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"PAR1", b"PAR1 and so on PAR1"])
def test_a_parquet_file_that_is_none_is_told(tmp_path: Path, content: bytes) -> None:
    made = csv(tmp_path, content, "loans.parquet")
    assert "is not a Parquet file, or is damaged" in str(problem(made))


def test_a_parquet_file_without_rows_is_told(tmp_path: Path) -> None:
    made = parquet(tmp_path, {"a": pa.array([], pa.int64())})
    assert "has columns but no rows" in str(problem(made))


def test_a_nested_column_is_refused_by_name_where_it_is_needed(tmp_path: Path) -> None:
    made = parquet(tmp_path, {"a": [[1], [2]], "b": [1, 2]})
    assert "column a holds lists or structures" in str(problem(made))
    assert rows(open_table(made), ["b"]) == [(1,), (2,)]


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert "does not exist" in str(problem(tmp_path / "loans.csv"))


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "loans.parquet").mkdir()
    assert "is a folder" in str(problem(tmp_path / "loans.parquet"))


def test_an_unknown_ending_is_refused_with_those_that_would_do(tmp_path: Path) -> None:
    told = problem(csv(tmp_path, "a\n1\n", "loans.xlsx"))
    assert ".csv, .csv.gz or .parquet" in str(told)


def test_missing_columns_are_named_beside_those_there_are(tmp_path: Path) -> None:
    table = open_table(csv(tmp_path, "a,b\n1,2\n"))
    with pytest.raises(FileProblem, match="has no column c, d") as caught:
        require(table, ["a", "c", "d"])
    assert caught.value.hint == "its columns are a, b"


@pytest.mark.parametrize("form", [csv, parquet])
def test_no_column_asked_for_is_no_column_read(form: Any, tmp_path: Path) -> None:
    path = csv(tmp_path, "a,b\n1,x\n2,y\n") if form is csv else parquet(tmp_path, {"a": [1, 2]})
    batches = list(open_table(path).batches([]))
    assert [batch.num_columns for batch in batches] == [0]
    assert sum(batch.num_rows for batch in batches) == 2
