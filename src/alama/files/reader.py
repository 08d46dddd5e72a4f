"""Reading a table from CSV or Parquet, by the ending of the file's name, in bounded memory.

Text in a CSV file stays text: what it means is for the caller to say (`alama.files.columns`), not
for a guess from the first block. Parquet columns come in their own types. No message repeats a
value of the table, because a table holds people.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.csv

from alama.core.errors import FileProblem
from alama.files.limits import (
    GZIP,
    OWN,
    PARQUET,
    SPREADSHEET,
    check_csv_bytes,
    check_csv_head,
    check_separator,
)
from alama.files.parquet import ParquetTable
from alama.files.table import BATCH_ROWS, require, rows_at_once, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from alama.files.limits import Limits
    from alama.files.table import Table

_BLOCK_BYTES: Final = 4 * 2**20
"""What is parsed at a time, and so the longest row of a CSV file."""

_MEGABYTE: Final = 1e6

_RAGGED: Final = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


def open_table(path: Path, limits: Limits = OWN) -> Table:
    """Find out what columns a file has, or raise FileProblem and say why it is no table.

    A table beyond the limits is refused here, or while it is read where only reading tells.
    """
    name = path.name.lower()
    ending = next((known for known in _READERS if name.endswith(known)), None)
    if path.is_dir():
        message = f"{path} is a folder, not a file"
        raise FileProblem(message)
    if not path.exists():
        message = f"{path} does not exist"
        raise FileProblem(message)
    if ending is None:
        message = f"{path}: tables are read from .csv, .csv.gz or .parquet, by the file's ending"
        raise FileProblem(message, hint="export it as CSV (UTF-8, commas) or as Parquet")
    _refuse_disguise(path, ending)
    table = _READERS[ending](path, limits)
    _refuse_names(path, table.names)
    return table


# ----------------------------------------------------------------------------------- formats


class _CsvTable:
    """Comma-separated text, quoted where it must be; everything is read as text."""

    rows = None
    unit = "MB"

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path = path
        self.total = path.stat().st_size / _MEGABYTE
        self._limits = limits
        self._source: pa.NativeFile | None = None
        self._offered = self._probe()
        self.names = tuple(name.strip() for name in self._offered)
        self._place = {name: place for place, name in enumerate(self.names)}

    @property
    def done(self) -> float:
        if self._source is None or self._source.closed:
            return self.total if self._source is not None else 0.0
        return self._source.tell() / _MEGABYTE

    def type_of(self, name: str) -> pa.DataType:
        assert name in self._place
        return pa.string()

    def batches(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        require(self, names)
        offered = [self._offered[self._place[name]] for name in names]
        size = rows_at_once(len(names), size)
        rows = 0
        asked = pyarrow.csv.ConvertOptions(
            include_columns=offered or self._offered[:1],  # to Arrow, none would mean all
            column_types=dict.fromkeys(offered, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
        )
        with pa.OSFile(str(self.path), "rb") as source:
            self._source = source
            for batch in _read_csv(self.path, source, asked):
                rows += batch.num_rows
                self._limits.check_rows(str(self.path), rows)
                for start in range(0, batch.num_rows, size):
                    part = batch.slice(start, size).select(range(len(names)))
                    yield part.rename_columns(list(names))

    def _probe(self) -> list[str]:
        """Read the header and the first block, whose types do not matter here."""
        where = str(self.path)
        with self.path.open("rb") as file:
            check_csv_head(where, file.read(self._limits.header_bytes + 1), self._limits)
        check_csv_bytes(self.path, self._limits)
        asked = pyarrow.csv.ConvertOptions()
        with pa.OSFile(where, "rb") as source:
            first = next(_read_csv(self.path, source, asked), None)
            if first is None:
                message = f"{self.path} has a header but no rows"
                raise FileProblem(message)
            try:
                names = first.schema.names
            except UnicodeDecodeError:
                raise _not_utf8(self.path, "its header") from None
        self._limits.check_names(where, names)
        return names


def _read_csv(
    path: Path, source: pa.NativeFile, asked: pyarrow.csv.ConvertOptions
) -> Iterator[pa.RecordBatch]:
    """Give the non-empty batches of an open file; troubles are told as problems of it."""
    is_packed = path.name.lower().endswith(".gz")
    stream = pa.CompressedInputStream(source, "gzip") if is_packed else source
    with _csv_told_as_file_problem(path):
        reader = pyarrow.csv.open_csv(
            stream,  # type: ignore[arg-type]  # the stubs forget that Arrow's own files will do
            # Threads would lose the number of a bad row, and a second core is the caller's to use.
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
            convert_options=asked,
        )
    while True:
        with _csv_told_as_file_problem(path):
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
        if batch.num_rows:
            yield batch


@contextmanager
def _csv_told_as_file_problem(path: Path) -> Iterator[None]:
    """Translate without Arrow's own words, which may repeat a row: nor are they carried along."""
    try:
        yield
    except UnicodeDecodeError:
        raise _not_utf8(path, "it") from None
    except OSError as error:
        raise unreadable(path, error) from None
    except pa.ArrowInvalid as error:
        reason = str(error)
        if ragged := _RAGGED.match(reason):
            # A handler of such rows would be called with their text, which need not be UTF-8.
            place = f"row {int(ragged[1]) - 1}" if ragged[1] else "a row"
            message = (
                f"{path}: {place} has {ragged[3]} values where the header names {ragged[2]} columns"
            )
            hint = "a value that holds a comma needs quotes around it"
            raise FileProblem(message, hint=hint) from None
        if "UTF8" in reason:
            found = re.search(r"Row #(\d+)", reason)
            raise _not_utf8(path, f"row {int(found[1]) - 1}" if found else "it") from None
        if "straddl" in reason:
            message = f"{path}: a row is longer than {_BLOCK_BYTES // 2**20} MiB"
            raise FileProblem(message, hint="look for a quote that is never closed") from None
        if "Empty CSV" in reason:
            message = f"{path} has no rows"
            raise FileProblem(message) from None
        message = f"{path} cannot be read as CSV"
        raise FileProblem(message) from None


_READERS: Final[dict[str, Callable[[Path, Limits], Table]]] = {
    ".csv": _CsvTable,
    ".csv.gz": _CsvTable,
    ".parquet": ParquetTable,
}


# ----------------------------------------------------------------------------------- refusals

_DISGUISES: Final[tuple[tuple[bytes, str, str], ...]] = (
    (PARQUET, ".parquet", "is a Parquet file by its content; rename it to end in .parquet"),
    (GZIP, ".csv.gz", "is compressed by its content; rename it to end in .csv.gz"),
    (SPREADSHEET, "", "is a spreadsheet or a ZIP archive; export the sheet as CSV (UTF-8)"),
    (b"\xff\xfe", "", "is not UTF-8 but UTF-16; save it as CSV (UTF-8)"),
    (b"\xfe\xff", "", "is not UTF-8 but UTF-16; save it as CSV (UTF-8)"),
)
"""How files that are often misnamed begin, the ending they are right under, and what to say."""


def _refuse_disguise(path: Path, ending: str) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError as error:
        raise unreadable(path, error) from error
    if not start:
        message = f"{path} is empty"
        raise FileProblem(message)
    for magic, right_ending, advice in _DISGUISES:
        if start.startswith(magic) and ending != right_ending:
            what, _, way_out = advice.partition("; ")
            message = f"{path} {what}"
            raise FileProblem(message, hint=way_out)


def _refuse_names(path: Path, names: tuple[str, ...]) -> None:
    # One nameless column is what data frames write for their row numbers; it can be left alone.
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        message = f"{path} has two columns named {twice[0] or '(nothing)'}"
        raise FileProblem(message, hint="rename or remove one of them")
    check_separator(str(path), names)


def _not_utf8(path: Path, what: str) -> FileProblem:
    message = f"{path} is not UTF-8 text: {what} cannot be read"
    return FileProblem(message, hint="save it as CSV with the encoding UTF-8")
