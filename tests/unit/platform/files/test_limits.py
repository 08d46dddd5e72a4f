"""Files that are small, and that would take hours or gigabytes: refused before the work."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from alama.core.errors import FileProblem
from alama.onboarding.jobs import JOB_S_MAX
from alama.onboarding.records import HISTORIES_BYTES_MAX
from alama.platform.files import reader
from alama.platform.files import table as limits_of_files
from alama.platform.files.reader import open_table
from alama.platform.files.table import NAME_LENGTH_MAX, OWN, SENT, Limits, TooLarge, check_csv_head

SMALL = Limits(columns=10, rows=1_000, unpacked_bytes=1 << 20)
MEMORY_MB_MAX = 400
"""Of a process that reads a hostile file, Arrow and all; without limits one took 1.8 GB."""

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
BOMBED = Limits(columns=10, rows=1_000_000, unpacked_bytes=256 << 20)
READS_ALL = f"""
import sys
from pathlib import Path
from alama.core.errors import FileProblem
from alama.platform.files.table import Limits
from alama.platform.files.reader import open_table
try:
    table = open_table(Path(sys.argv[1]), {BOMBED})
    for batch in table.batches(table.names):
        pass
except FileProblem as error:
    print(error)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) // 1024)
"""


def written(folder: Path, content: bytes, name: str = "loans.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def parquet_of(folder: Path, columns: dict[str, Any], **options: Any) -> Path:
    path = folder / "loans.parquet"
    # Without Arrow's own schema: whoever attacks does not say how to keep it small.
    pyarrow.parquet.write_table(pa.table(columns), path, store_schema=False, **options)
    return path


def repeated(value: str, rows: int) -> pa.DictionaryArray[Any, Any]:
    return pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [value])


def read(path: Path, limits: Limits) -> None:
    table = open_table(path, limits)
    for _ in table.batches(table.names):
        pass


def refused(path: Path, limits: Limits = SMALL) -> str:
    with pytest.raises(TooLarge) as caught:
        read(path, limits)
    assert caught.value.hint
    return str(caught.value)


def read_apart(path: Path) -> tuple[str, int]:
    """Read a file in a process of its own; give what it said, and its most memory in MB."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", READS_ALL, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=180,
    )
    assert not done.stderr
    *said, memory = done.stdout.splitlines()
    return " ".join(said), int(memory)


def test_a_table_at_its_limits_is_read(tmp_path: Path) -> None:
    header = ",".join(f"{'x' * (NAME_LENGTH_MAX - 1)}{place}" for place in range(10))
    row = ",".join("1" * 10)
    path = written(tmp_path, f"{header}\n{f'{row}{chr(10)}' * 1_000}".encode())
    table = open_table(path, SMALL)
    assert sum(batch.num_rows for batch in table.batches(table.names)) == 1_000


@pytest.mark.parametrize("limits", [SENT, OWN])
@pytest.mark.parametrize("packed", [False, True])
def test_too_many_columns_are_refused_by_the_first_line(
    tmp_path: Path, limits: Limits, *, packed: bool
) -> None:
    header = ",".join(f"c{place}" for place in range(40_000))
    content = f"{header}\n{'1,' * 39_999}1\n".encode()
    path = written(
        tmp_path,
        gzip.compress(content) if packed else content,
        "loans.csv.gz" if packed else "loans.csv",
    )
    assert f"has more than {limits.columns:,} columns" in refused(path, limits)


def test_as_many_columns_as_a_command_reads_take_no_time_in_the_square(tmp_path: Path) -> None:
    names = [f"c{place}" for place in range(OWN.columns)]
    path = written(tmp_path, f"{','.join(names)}\n{'1,' * (len(names) - 1)}1\n".encode())

    class Compared(str):
        """A name that counts how often it is held against another."""

        __slots__ = ()
        times = 0

        def __eq__(self, other: object) -> bool:
            Compared.times += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    table = open_table(path)
    table.type_of(names[-1])
    for _ in table.batches([Compared(name) for name in names]):
        pass
    assert Compared.times < 20 * len(names)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a," * 10 + b"a\n1\n", "has more than 10 columns"),
        (b'"a,b",' * 10 + b"a\n1\n", "has more than 10 columns"),
        (b"\n\r\n" + b"a," * 10 + b"a\n1\n", "has more than 10 columns"),
        (b"a,b\n" + b"1,2\n" * 1_001, "has more than 1,000 rows"),
        (b"a," + b"x" * 257 + b"\n1,2\n", "the name of column 2 is longer than 256 letters"),
        (b"a" * 11_000, "the name of column 1 is longer than 256 letters"),
        (b'"a,b\n' + b"1,2\n" * 9_000, "the name of column 1 is longer"),
        (b"a,b\n" + b"1," + b"x" * (1 << 20) + b"\n", "is larger than 1 MiB once it is unpacked"),
    ],
    ids=range(8),
)
def test_what_a_csv_file_has_too_much_of_is_said(
    tmp_path: Path, content: bytes, words: str
) -> None:
    assert words in refused(written(tmp_path, content))


def test_a_quote_within_a_cell_hides_no_columns() -> None:
    with pytest.raises(TooLarge, match="more than 10 columns"):
        check_csv_head("the file", b'a",' + b"b," * 10 + b'c"\n1\n', SMALL)


class CountingCells:
    """Finds cells, and counts those that it was asked for."""

    def __init__(self) -> None:
        self._cell, self.found = limits_of_files._CELL, 0

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        for cell in self._cell.finditer(text):
            self.found += 1
            yield cell


@pytest.mark.parametrize(
    "content", [b"," * 20_000_000, b"\n" * 20_000_000, b"\r\n" * 10_000_000], ids=range(3)
)
@pytest.mark.parametrize("packed", [False, True])
def test_no_more_of_a_file_is_looked_at_than_a_first_line_may_have(
    monkeypatch: pytest.MonkeyPatch, content: bytes, *, packed: bool
) -> None:
    counted = CountingCells()
    monkeypatch.setattr(limits_of_files, "_CELL", counted)
    head = gzip.compress(content, 1) if packed else content
    with pytest.raises(TooLarge):
        check_csv_head("the file", head, SENT)
    assert counted.found <= SENT.columns + 1
    assert SENT.header_bytes == 256 << 10


def test_a_first_line_that_is_all_there_is_is_no_long_one() -> None:
    check_csv_head("the file", b"a,b", SMALL)
    check_csv_head("the file", gzip.compress(b"a,b\n" + b"1,2\n" * 100_000)[:2_000], SMALL)


@on_linux
def test_a_packed_bomb_ends_while_it_is_unpacked(tmp_path: Path) -> None:
    block = gzip.compress((b"x" * 1_023 + b"\n") * 4_096)
    bomb = gzip.compress(b"a\n") + block * (BOMBED.unpacked_bytes // (4_096 * 1_024) + 1)
    path = written(tmp_path, bomb, "loans.csv.gz")
    assert len(bomb) < 4 << 20
    said, memory_mb = read_apart(path)
    assert "is larger than 256 MiB once it is unpacked" in said
    assert memory_mb < MEMORY_MB_MAX
    assert "is larger than 1 MiB once it is unpacked" in refused(
        path, Limits(columns=10, rows=1 << 40, unpacked_bytes=1 << 20)
    )


@on_linux
def test_a_value_repeated_in_parquet_is_counted_before_it_is_expanded(tmp_path: Path) -> None:
    path = parquet_of(tmp_path, {"a": repeated("x" * 400_000, 100_000)}, compression="none")
    assert path.stat().st_size < 500_000
    said, memory_mb = read_apart(path)
    assert "is larger than 256 MiB once it is unpacked" in said
    assert memory_mb < MEMORY_MB_MAX


def test_long_text_that_is_not_too_much_is_read_a_little_at_a_time(tmp_path: Path) -> None:
    path = parquet_of(tmp_path, {"a": repeated("x" * 100_000, 2_000), "b": list(range(2_000))})
    batches = list(open_table(path, SENT).batches(["b", "a"]))
    assert [n for batch in batches for n in batch.column("b").to_pylist()] == list(range(2_000))
    assert all(batch.column("a").nbytes <= reader.TEXT_BYTES_AT_ONCE + 8_192 for batch in batches)
    assert {batch.column("a").type for batch in batches} == {pa.string()}


def test_a_row_of_parquet_that_no_person_has_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "TEXT_BYTES_AT_ONCE", 1 << 20)
    path = parquet_of(tmp_path, {"a": ["short", "x" * ((1 << 20) + 1)]})
    assert "a row holds more than 1 MiB of text" in refused(path, SENT)


def test_what_the_end_of_a_parquet_file_declares_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = parquet_of(tmp_path, {f"c{place}": [1] for place in range(11)})
    assert "has more than 10 columns" in refused(many)
    nested = pa.array([dict.fromkeys("abcdefghijk", 1)])
    assert "has more than 10 columns" in refused(parquet_of(tmp_path, {"a": nested}))
    long = parquet_of(tmp_path, {"a": pa.array(np.zeros(10_000_000, np.int8))})
    assert long.stat().st_size < 100_000
    assert "has more than 5,000,000 rows" in refused(long, SENT)
    packed = parquet_of(
        tmp_path, {"a": ["x" * 3_000] * 900}, use_dictionary=False, compression="zstd"
    )
    assert "is larger than 1 MiB once it is unpacked" in refused(packed)
    monkeypatch.setattr(reader, "FOOTER_BYTES_MAX", 100)
    assert "its metadata is larger than 0 MiB" in refused(packed, SENT)


@pytest.mark.parametrize(
    ("column", "options", "words"),
    [
        (
            pa.array(["x"]),
            {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}},
            "the encoding DELTA_BYTE_ARRAY",
        ),
        (pa.array([b"x" * 2_000], pa.binary(2_000)), {}, "values of more than 1024 bytes each"),
    ],
)
def test_parts_of_parquet_whose_size_nothing_tells_are_refused(
    tmp_path: Path, column: pa.Array[Any], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(FileProblem, match=words):
        open_table(parquet_of(tmp_path, {"a": column}, **options), SENT)


def test_other_encodings_of_text_are_read(tmp_path: Path) -> None:
    for encoding in ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY"):
        options = {"use_dictionary": False, "column_encoding": {"a": encoding}}
        path = parquet_of(tmp_path, {"a": ["x", None, "yz"]}, **options)
        (batch,) = open_table(path, SENT).batches(["a"])
        assert batch.column("a").to_pylist() == ["x", None, "yz"]


def test_text_that_is_not_utf_8_is_told_and_no_byte_of_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = [
        (written(tmp_path, b"a,b\n1,2\n1,caf\xe9\n", "one.csv"), "row 2 cannot be read"),
        (written(tmp_path, b"a,b\n1,2\n1,caf\xe9,3\n", "two.csv"), "row 2 has 3 values"),
        (written(tmp_path, b"a,caf\xe9\n1,2\n", "three.csv"), "its header cannot be read"),
        (written(tmp_path, gzip.compress(b"a,b\n1,caf\xe9,3\n"), "four.csv.gz"), "row 1 has 3"),
    ]
    text = pa.array([b"caf\xe9"]).view(pa.string())
    files.append((parquet_of(tmp_path, {"a": text}), "column a holds text that is not UTF-8"))
    for path, words in files:
        with pytest.raises(FileProblem, match=words) as caught:
            read(path, SENT)
        assert caught.value.hint
        assert caught.value.__cause__ is None
        assert "caf" not in f"{caught.value}{caught.value.hint}"
    # Arrow tells what it cannot raise on standard error, with the byte that it stumbled over.
    assert not capfd.readouterr().err


def test_the_page_for_lenders_has_the_limits_that_hold() -> None:
    page = (Path(__file__).parents[4] / "docs" / "onboarding-http.md").read_text("utf-8")
    told = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|", page, re.MULTILINE))
    assert told["columns"].startswith(f"{SENT.columns:,},")
    assert told["rows"] == f"{SENT.rows:,}"
    assert told["letters of a column's name"] == str(NAME_LENGTH_MAX)
    (unpacked,) = (limit for what, limit in told.items() if what.startswith("the table once"))
    assert unpacked.startswith(f"{SENT.unpacked_bytes >> 30} GiB")
    assert told["histories of a lender, sealed at once"] == f"{HISTORIES_BYTES_MAX >> 20} MiB"
    assert told["time of a job"] == f"{JOB_S_MAX / 3_600:.0f} hours"


def test_limits_of_files_need_no_arrow() -> None:
    program = "import sys, alama.platform.files.table; sys.exit('pyarrow' in sys.modules)"
    assert limits_of_files.SENT is SENT
    subprocess.run([sys.executable, "-P", "-c", program], check=True)
