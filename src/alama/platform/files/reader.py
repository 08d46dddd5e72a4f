"""Reading a table from CSV or Parquet, in bounded memory.

Text in a CSV file stays text: what it means is for the caller to say (`files.columns`), not
for a guess from the first block. Parquet columns come in their own types. No message repeats a
value of the table, because a table holds people.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from alama.core.errors import FileProblem
from alama.platform.files.table import (
    BATCH_ROWS,
    GZIP,
    OWN,
    PARQUET,
    SPREADSHEET,
    Limits,
    Table,
    TooLarge,
    check_csv_bytes,
    check_csv_head,
    check_separator,
    require,
    rows_at_once,
    unreadable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


FOOTER_BYTES_MAX: Final = 16 << 20
"""What the end of a file may say of it: a thousand columns in a hundred groups of rows."""

TEXT_BYTES_AT_ONCE: Final = 64 << 20
"""Text of one batch, once it is expanded; a value of this length is refused."""

DICTIONARY_BYTES_MAX: Final = 16 << 20
"""Of a column in a group of rows: each value of its dictionary is held until the group ends."""

_FIXED_LENGTH_MAX: Final = 1_024
"""Bytes of a value of fixed length: decimals and ids take 32 at most."""

_TEXT: Final = "BYTE_ARRAY"
_FIXED: Final = "FIXED_LEN_BYTE_ARRAY"
_PREFIXED: Final = "DELTA_BYTE_ARRAY"
"""Each value by what it shares with the one before: it cannot be counted before it is expanded."""

_UNCOUNTED: Final = "DELTA_LENGTH_BYTE_ARRAY"
"""As long in memory as in the file; Arrow cannot give it dictionary-encoded."""


class ParquetTable:
    """Parquet; columns in their own types."""

    unit = "rows"

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path = path
        self.done = 0.0
        self._limits = limits
        with told_as_file_problem(path):
            _check_footer_length(path)
            with pyarrow.parquet.ParquetFile(path) as file:
                self._encoded = _check_footer(path, file, limits)
                self.rows = file.metadata.num_rows
                self._schema = file.schema_arrow
        self.total = float(self.rows)
        self._offered = self._schema.names
        self.names = tuple(name.strip() for name in self._offered)
        self._place = {name: place for place, name in enumerate(self.names)}
        if not self.rows:
            message = f"{path} has columns but no rows"
            raise FileProblem(message)

    def type_of(self, name: str) -> pa.DataType:
        kind: pa.DataType = self._schema.field(self._place[name]).type
        return kind

    def batches(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        require(self, names)
        for name in names:
            if pa.types.is_nested(self.type_of(name)):
                message = f"{self.path}: column {name} holds lists or structures, not single values"
                raise FileProblem(message)
        offered = [self._offered[self._place[name]] for name in names]
        encoded = [name for name in offered if name in self._encoded]
        size = rows_at_once(len(names), size)
        self.done, text_bytes = 0.0, 0
        with told_as_file_problem(self.path):
            file = pyarrow.parquet.ParquetFile(self.path, read_dictionary=encoded)
            reader = file.iter_batches(batch_size=size, columns=offered, use_threads=False)
        with file:
            while True:
                with told_as_file_problem(self.path):
                    batch = next(reader, None)
                if batch is None:
                    return
                self.done += batch.num_rows
                self._limits.check_rows(str(self.path), int(self.done))
                lengths = _text_lengths(batch)
                text_bytes += int(lengths.sum())
                self._limits.check_bytes(str(self.path), text_bytes)
                for part in _parts(self.path, batch, lengths):
                    yield _expanded(self.path, part).select(offered).rename_columns(list(names))


# ----------------------------------------------------------------------------------- the footer


def _check_footer_length(path: Path) -> None:
    """Refuse an end of the file that would take long to read, by the length that it declares."""
    tail_bytes = 4 + len(PARQUET)
    with path.open("rb") as file:
        if file.seek(0, 2) < tail_bytes:
            return
        file.seek(-tail_bytes, 2)
        length, magic = struct.unpack("<I4s", file.read(tail_bytes))
    if FOOTER_BYTES_MAX < length < path.stat().st_size and magic == PARQUET:
        raise TooLarge(
            f"{path}: its metadata is larger than {FOOTER_BYTES_MAX >> 20} MiB",
            hint="write it again with larger row groups and fewer columns",
        )


def _check_footer(path: Path, file: pyarrow.parquet.ParquetFile, limits: Limits) -> frozenset[str]:
    """Check what a file declares; give the columns to be read dictionary-encoded: text."""
    metadata = file.metadata
    limits.check_columns(str(path), metadata.num_columns)
    limits.check_names(str(path), file.schema_arrow.names)
    limits.check_rows(str(path), metadata.num_rows)
    for place in range(metadata.num_columns):
        kind = file.schema.column(place)
        if kind.physical_type == _FIXED and (kind.length or 0) > _FIXED_LENGTH_MAX:
            raise _unsupported(path, f"values of more than {_FIXED_LENGTH_MAX} bytes each")
    unpacked_bytes, uncounted, text = 0, set[str](), set[str]()
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            chunk = group.column(place)
            unpacked_bytes += max(chunk.total_uncompressed_size, 0)
            limits.check_bytes(str(path), unpacked_bytes)
            if chunk.physical_type != _TEXT:
                continue
            text.add(chunk.path_in_schema)
            if _PREFIXED in chunk.encodings:
                raise _unsupported(path, f"the encoding {_PREFIXED}")
            if (
                _UNCOUNTED in chunk.encodings
                or chunk.total_uncompressed_size > DICTIONARY_BYTES_MAX
            ):
                uncounted.add(chunk.path_in_schema)
    return frozenset(text - uncounted)


def _unsupported(path: Path, what: str) -> FileProblem:
    message = f"{path} uses a part of Parquet that is not supported: {what}"
    return FileProblem(message, hint="write it again with plain columns")


# ----------------------------------------------------------------------------------- text


def _text_lengths(batch: pa.RecordBatch) -> NDArray[np.int64]:
    """Count the bytes that the dictionary-encoded text of each row will take."""
    lengths = np.zeros(batch.num_rows, dtype=np.int64)
    for column in batch.columns:
        if isinstance(column, pa.DictionaryArray) and _is_text(column.type.value_type):
            values: Any = column.dictionary  # the stubs do not say of what
            of_value: pa.Array[Any] = pc.binary_length(values).cast(pa.int64())
            of_row = of_value.take(column.indices).fill_null(0)
            lengths += of_row.to_numpy(zero_copy_only=False)
    return lengths


def _parts(
    path: Path, batch: pa.RecordBatch, lengths: NDArray[np.int64]
) -> Iterator[pa.RecordBatch]:
    """Cut a batch where its text would take too much memory at once."""
    before = np.concatenate([[0], np.cumsum(lengths)])
    start = 0
    while start < batch.num_rows:
        end = int(np.searchsorted(before, before[start] + TEXT_BYTES_AT_ONCE, side="right")) - 1
        if end == start:
            raise TooLarge(
                f"{path}: a row holds more than {TEXT_BYTES_AT_ONCE >> 20} MiB of text",
                hint="leave out the columns that no model needs",
            )
        yield batch.slice(start, end - start)
        start = end


def _expanded(path: Path, batch: pa.RecordBatch) -> pa.RecordBatch:
    if not batch.num_columns:
        return batch
    columns: list[pa.Array[Any]] = []
    column: Any  # the stubs do not follow `isinstance` into a name
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        is_encoded = isinstance(column, pa.DictionaryArray)
        try:
            # Arrow takes what is said to be UTF-8 on trust.
            (column.dictionary if is_encoded else column).validate(full=True)
        except pa.ArrowInvalid:
            message = f"{path}: column {name} holds text that is not UTF-8, or is damaged"
            raise FileProblem(message, hint="write it again with the encoding UTF-8") from None
        columns.append(column.dictionary_decode() if is_encoded else column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _is_text(kind: pa.DataType) -> bool:
    return (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


@contextmanager
def told_as_file_problem(path: Path) -> Iterator[None]:
    """Translate what Arrow says of a Parquet file."""
    try:
        yield
    except pa.ArrowInvalid as error:
        message = f"{path} is not a Parquet file, or is damaged"
        raise FileProblem(message, hint="write it again, or export it as CSV") from error
    except (pa.ArrowNotImplementedError, UnicodeDecodeError) as error:
        message = f"{path} uses a part of Parquet that is not supported"
        raise FileProblem(message, hint="write it again with plain columns") from error
    except OSError as error:
        raise unreadable(path, error) from error


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
