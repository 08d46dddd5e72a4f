"""Parquet: columns in their own types, and what a small file must not become in memory.

A few bytes can stand for gigabytes: one value repeated a million times. What the end of the file
declares is checked before anything is read, and text is expanded only as far as it was counted.
"""

from __future__ import annotations

import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from alama.core.errors import FileProblem
from alama.files.limits import PARQUET, TooLarge
from alama.files.table import BATCH_ROWS, require, rows_at_once, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from alama.files.limits import Limits

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
        """Read the end of the file, which says what is in it."""
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
        """See `Table`."""
        kind: pa.DataType = self._schema.field(self._place[name]).type
        return kind

    def batches(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """See `Table`."""
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
