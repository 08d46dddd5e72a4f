"""Writing a table as CSV or Parquet, by the ending of the file's name; all of it or nothing."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from alama.core.errors import FileProblem
from alama.platform.files import cells
from alama.platform.files.promise import promised, told_as_file_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


# Small row groups make Parquet slow to read; a group of this many rows is still a few megabytes.
_ROW_GROUP_ROWS: Final = 128 * 1024


class TableWriter(Protocol):
    """Somewhere to put the rows of one table, in order."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append the rows of a batch that has the table's schema."""


class _FormatWriter(TableWriter, Protocol):
    """A format's way of writing into an open sink."""

    def finish(self) -> None:
        """Write the end of the table."""

    def release(self) -> None:
        """Let go of the sink, whatever happened; harmless after `finish`."""


@contextmanager
def open_table(path: Path, schema: pa.Schema) -> Iterator[TableWriter]:
    """Write a table of this schema to `path`, which appears or changes only if the block succeeds.

    Raises FileProblem for an ending other than .csv or .parquet and for a place that cannot be
    written to.
    """
    _refuse_ending(path)
    with promised(path) as output:
        with told_as_file_problem(path):
            sink = pa.OSFile(str(output.part), "wb")
        with sink:
            writer = _WRITERS[path.suffix.lower()](sink, schema)
            try:
                yield _Translating(writer, path)
                with told_as_file_problem(path):
                    writer.finish()
            finally:
                writer.release()


def _refuse_ending(path: Path) -> None:
    if path.suffix.lower() not in _WRITERS:
        message = f"{path.name}: tables are written as .csv or .parquet, by the file's ending"
        hint = f"name the file {path.stem}.parquet or {path.stem}.csv"
        raise FileProblem(message, hint=hint)


class _CsvWriter:
    def __init__(self, sink: pa.NativeFile, schema: pa.Schema) -> None:
        self._schema = pa.schema([(cells.inert(one.name), _written_as(one.type)) for one in schema])
        # The stubs forget that Arrow's own files are sinks too.
        self._writer = pyarrow.csv.CSVWriter(sink, self._schema)  # type: ignore[arg-type]

    def write(self, batch: pa.RecordBatch) -> None:
        pairs = zip(batch.columns, self._schema, strict=True)
        columns = [_inert(column, field) for column, field in pairs]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def finish(self) -> None:
        self._writer.close()

    def release(self) -> None:
        with suppress(OSError):
            self._writer.close()


def _written_as(kind: pa.DataType) -> pa.DataType:
    """Give the type whose cells look the same in CSV: what may hold text is a string."""
    if pa.types.is_dictionary(kind):
        return _written_as(kind.value_type)
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return pa.string() if is_bytes or pa.types.is_fixed_size_binary(kind) else kind


def _inert(column: pa.Array[Any], field: pa.Field[Any]) -> pa.Array[Any]:
    """Give a column, as this type, in which no text is a formula, as `cells.inert` does it."""
    kind = field.type
    try:
        told: pa.Array[Any] = column if column.type == kind else column.cast(kind)
    except pa.ArrowInvalid:
        raise FileProblem(
            f"column {field.name} holds bytes that are not UTF-8, which a CSV file cannot hold",
            hint="name the file .parquet, or leave the column out",
        ) from None
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return told
    if not pc.any(pc.match_substring_regex(told, cells.SUSPECT)).as_py():
        return told
    return pa.array([one and cells.inert(one) for one in told.to_pylist()], kind)


class _ParquetWriter:
    """Gathers batches into row groups of a useful size."""

    def __init__(self, sink: pa.NativeFile, schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = pyarrow.parquet.ParquetWriter(sink, schema, compression="zstd")
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        if self._waiting_rows >= _ROW_GROUP_ROWS:
            self._flush()

    def finish(self) -> None:
        self._flush()
        self._writer.close()

    def release(self) -> None:
        with suppress(OSError):
            self._writer.close()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
        self._waiting.clear()
        self._waiting_rows = 0


_WRITERS: Final[dict[str, Callable[[pa.NativeFile, pa.Schema], _FormatWriter]]] = {
    ".csv": _CsvWriter,
    ".parquet": _ParquetWriter,
}


class _Translating:
    """A writer whose troubles with the disk are told as problems of the file."""

    def __init__(self, writer: TableWriter, path: Path) -> None:
        self._writer = writer
        self._path = path

    def write(self, batch: pa.RecordBatch) -> None:
        with told_as_file_problem(self._path):
            self._writer.write(batch)
