"""Reading a table from CSV or Parquet, by the ending of the file's name, in bounded memory.

Text in a CSV file stays text: what it means is for the caller to say (`alama.files.columns`), not
for a guess from the first block. Parquet columns come in their own types. No message repeats a
value of the table, because a table holds people.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from alama.core.errors import FileProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

BATCH_ROWS: Final = 65_536

_BLOCK_BYTES: Final = 4 * 2**20
"""What is parsed at a time, and so the longest row of a CSV file."""

_MEGABYTE: Final = 1e6


class Table(Protocol):
    """A table in a file, not yet read."""

    @property
    def path(self) -> Path:
        """Where it is."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in their order, without space around the names."""

    @property
    def rows(self) -> int | None:
        """How many rows there are; None where only reading tells."""

    @property
    def total(self) -> float:
        """How much there is to read, in `unit`."""

    @property
    def unit(self) -> str:
        """What `total` and `done` count: "rows" or "MB"."""

    @property
    def done(self) -> float:
        """How much of `total` the latest pass has read."""

    def type_of(self, name: str) -> pa.DataType:
        """Give the type in which a column comes; it must exist."""

    def batches(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Read these columns, in this order, at most `size` rows at a time.

        Each call is a new pass over the file; FileProblem where a row cannot be read.
        """


def open_table(path: Path) -> Table:
    """Find out what columns a file has, or raise FileProblem and say why it is no table."""
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
    table = _READERS[ending](path)
    _refuse_names(path, table.names)
    return table


def require(table: Table, names: Sequence[str]) -> None:
    """Raise FileProblem unless the table has all these columns."""
    absent = [name for name in names if name not in table.names]
    if absent:
        message = f"{table.path} has no column {', '.join(absent)}"
        raise FileProblem(message, hint=f"its columns are {', '.join(table.names)}")


# ----------------------------------------------------------------------------------- formats


class _CsvTable:
    """Comma-separated text, quoted where it must be; everything is read as text."""

    rows = None
    unit = "MB"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.total = path.stat().st_size / _MEGABYTE
        self._source: pa.NativeFile | None = None
        self._offered = self._probe()
        self.names = tuple(name.strip() for name in self._offered)

    @property
    def done(self) -> float:
        if self._source is None or self._source.closed:
            return self.total if self._source is not None else 0.0
        return self._source.tell() / _MEGABYTE

    def type_of(self, name: str) -> pa.DataType:
        assert name in self.names
        return pa.string()

    def batches(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        require(self, names)
        offered = [self._offered[self.names.index(name)] for name in names]
        asked = pyarrow.csv.ConvertOptions(
            include_columns=offered or self._offered[:1],  # to Arrow, none would mean all
            column_types=dict.fromkeys(offered, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
        )
        with pa.OSFile(str(self.path), "rb") as source:
            self._source = source
            for batch in _read_csv(self.path, source, asked):
                for start in range(0, batch.num_rows, size):
                    part = batch.slice(start, size).select(range(len(names)))
                    yield part.rename_columns(list(names))

    def _probe(self) -> list[str]:
        """Read the header and the first block, whose types do not matter here."""
        with pa.OSFile(str(self.path), "rb") as source:
            first = next(_read_csv(self.path, source, pyarrow.csv.ConvertOptions()), None)
            if first is None:
                message = f"{self.path} has a header but no rows"
                raise FileProblem(message)
            try:
                return first.schema.names
            except UnicodeDecodeError as error:
                raise _not_utf8(self.path, "its header") from error


def _read_csv(
    path: Path, source: pa.NativeFile, asked: pyarrow.csv.ConvertOptions
) -> Iterator[pa.RecordBatch]:
    """Give the non-empty batches of an open file; troubles are told as problems of it."""
    ragged: list[pyarrow.csv.InvalidRow] = []

    def refuse(row: pyarrow.csv.InvalidRow) -> Literal["error"]:
        ragged.append(row)
        return "error"

    stream = (
        pa.CompressedInputStream(source, "gzip") if path.name.lower().endswith(".gz") else source
    )
    with _csv_told_as_file_problem(path, ragged):
        reader = pyarrow.csv.open_csv(
            stream,  # type: ignore[arg-type]  # the stubs forget that Arrow's own files will do
            # Threads would lose the number of a bad row, and a second core is the caller's to use.
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
            parse_options=pyarrow.csv.ParseOptions(
                newlines_in_values=True,
                invalid_row_handler=refuse,
            ),
            convert_options=asked,
        )
    while True:
        with _csv_told_as_file_problem(path, ragged):
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
        if batch.num_rows:
            yield batch


@contextmanager
def _csv_told_as_file_problem(
    path: Path, ragged: Sequence[pyarrow.csv.InvalidRow]
) -> Iterator[None]:
    """Translate without Arrow's own words where these would repeat a row."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise _not_utf8(path, "it") from error
    except OSError as error:
        raise _unreadable(path, error) from error
    except pa.ArrowInvalid as error:
        reason = str(error)
        if ragged:
            bad = ragged[0]
            place = f"row {bad.number - 1}" if bad.number else "a row"
            message = (
                f"{path}: {place} has {bad.actual_columns} values "
                f"where the header names {bad.expected_columns} columns"
            )
            hint = "a value that holds a comma needs quotes around it"
            raise FileProblem(message, hint=hint) from error
        if "UTF8" in reason:
            found = re.search(r"Row #(\d+)", reason)
            raise _not_utf8(path, f"row {int(found[1]) - 1}" if found else "it") from error
        if "straddl" in reason:
            message = f"{path}: a row is longer than {_BLOCK_BYTES // 2**20} MiB"
            raise FileProblem(message, hint="look for a quote that is never closed") from error
        if "Empty CSV" in reason:
            message = f"{path} has no rows"
            raise FileProblem(message) from error
        message = f"{path} cannot be read as CSV"
        raise FileProblem(message) from error


class _ParquetTable:
    """Parquet; columns in their own types."""

    unit = "rows"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done = 0.0
        with _parquet_told_as_file_problem(path), pyarrow.parquet.ParquetFile(path) as file:
            self.rows = file.metadata.num_rows
            self._schema = file.schema_arrow
        self.total = float(self.rows)
        self._offered = self._schema.names
        self.names = tuple(name.strip() for name in self._offered)
        if not self.rows:
            message = f"{path} has columns but no rows"
            raise FileProblem(message)

    def type_of(self, name: str) -> pa.DataType:
        kind: pa.DataType = self._schema.field(self.names.index(name)).type
        return kind

    def batches(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        require(self, names)
        places = [self.names.index(name) for name in names]
        for place, name in zip(places, names, strict=True):
            if pa.types.is_nested(self._schema.field(place).type):
                message = f"{self.path}: column {name} holds lists or structures, not single values"
                raise FileProblem(message)
        offered = [self._offered[place] for place in places]
        self.done = 0.0
        with _parquet_told_as_file_problem(self.path):
            file = pyarrow.parquet.ParquetFile(self.path)
            reader = file.iter_batches(batch_size=size, columns=offered, use_threads=False)
        with file:
            while True:
                with _parquet_told_as_file_problem(self.path):
                    batch = next(reader, None)
                if batch is None:
                    return
                self.done += batch.num_rows
                yield batch.select(offered).rename_columns(list(names))


@contextmanager
def _parquet_told_as_file_problem(path: Path) -> Iterator[None]:
    try:
        yield
    except pa.ArrowInvalid as error:
        message = f"{path} is not a Parquet file, or is damaged"
        raise FileProblem(message, hint="write it again, or export it as CSV") from error
    except (pa.ArrowNotImplementedError, UnicodeDecodeError) as error:
        message = f"{path} uses a part of Parquet that is not supported"
        raise FileProblem(message, hint="write it again with plain columns") from error
    except OSError as error:
        raise _unreadable(path, error) from error


_READERS: Final[dict[str, Callable[[Path], Table]]] = {
    ".csv": _CsvTable,
    ".csv.gz": _CsvTable,
    ".parquet": _ParquetTable,
}


# ----------------------------------------------------------------------------------- refusals

_DISGUISES: Final[tuple[tuple[bytes, str, str], ...]] = (
    (b"PAR1", ".parquet", "is a Parquet file by its content; rename it to end in .parquet"),
    (b"\x1f\x8b", ".csv.gz", "is compressed by its content; rename it to end in .csv.gz"),
    (b"PK\x03\x04", "", "is a spreadsheet or a ZIP archive; export the sheet as CSV (UTF-8)"),
    (b"\xff\xfe", "", "is not UTF-8 but UTF-16; save it as CSV (UTF-8)"),
    (b"\xfe\xff", "", "is not UTF-8 but UTF-16; save it as CSV (UTF-8)"),
)
"""How files that are often misnamed begin, the ending they are right under, and what to say."""


def _refuse_disguise(path: Path, ending: str) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError as error:
        raise _unreadable(path, error) from error
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
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"{path} has two columns named {twice[0] or '(nothing)'}"
        raise FileProblem(message, hint="rename or remove one of them")
    if len(names) == 1 and re.search(r"[;\t|]", names[0]):
        message = f"{path} has one column only: its values are not separated by commas"
        raise FileProblem(message, hint="save it with commas between the values")


def _not_utf8(path: Path, what: str) -> FileProblem:
    message = f"{path} is not UTF-8 text: {what} cannot be read"
    return FileProblem(message, hint="save it as CSV with the encoding UTF-8")


def _unreadable(path: Path, error: OSError) -> FileProblem:
    reason = os.strerror(error.errno) if error.errno else "it is damaged or not what its name says"
    return FileProblem(f"cannot read {path}: {reason}")
