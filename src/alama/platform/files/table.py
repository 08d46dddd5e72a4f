"""A table in a file, not yet read, and how large one may be."""

from __future__ import annotations

import codecs
import gzip
import os
import re
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from alama.core.errors import FileProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa


NAME_LENGTH_MAX: Final = 256
"""Letters of a column's name."""

_NAME_BYTES_MAX: Final = 4 * NAME_LENGTH_MAX
_HEADER_BYTES: Final = 256 << 10
_PART_BYTES: Final = 1 << 20
_GZIP_RATIO_MAX: Final = 1_032
"""No file becomes more times as long: 258 bytes are told in two bits."""

GZIP: Final = b"\x1f\x8b"
PARQUET: Final = b"PAR1"
SPREADSHEET: Final = b"PK\x03\x04"

_OTHER_SEPARATOR: Final = re.compile(r"[;\t|]")
_CELL: Final = re.compile(r'((?:"[^"]*(?:""[^"]*)*"?)?[^,\r\n]*)(,|\r\n?|\n|$)')
"""A cell and what ends it. A quote counts where a cell begins, as it does for Arrow."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a table may have: columns, rows, bytes once it is unpacked, cells of a workbook."""

    columns: int
    rows: int
    unpacked_bytes: int
    cells: int = 8_000_000

    @property
    def header_bytes(self) -> int:
        """How long the first line of a CSV file may be, with the empty lines before it."""
        letters = self.columns * NAME_LENGTH_MAX
        return min(self.columns * _NAME_BYTES_MAX, max(letters, _HEADER_BYTES))

    def check_columns(self, where: str, count: int) -> None:
        """Raise FileProblem for too many."""
        if count > self.columns:
            raise TooLarge(
                f"{where} has more than {self.columns:,} columns",
                hint="leave out the columns that no model needs",
            )

    def check_names(self, where: str, names: Sequence[str]) -> None:
        """Raise FileProblem for too many columns, or for a name that is too long."""
        self.check_columns(where, len(names))
        for place, name in enumerate(names, start=1):
            if len(name) > NAME_LENGTH_MAX:
                raise TooLarge(
                    f"{where}: the name of column {place} is longer than {NAME_LENGTH_MAX} letters",
                    hint="give it a shorter name",
                )

    def check_rows(self, where: str, count: int) -> None:
        """Raise FileProblem for too many."""
        if count > self.rows:
            raise TooLarge(
                f"{where} has more than {self.rows:,} rows", hint="leave out the oldest loans"
            )

    def check_bytes(self, where: str, count: int) -> None:
        """Raise FileProblem for too many."""
        if count > self.unpacked_bytes:
            raise TooLarge(
                f"{where} is larger than {self.unpacked_bytes >> 20:,} MiB once it is unpacked",
                hint="leave out the oldest loans, or the columns that no model needs",
            )


class TooLarge(FileProblem):
    """A table exceeds a limit; says which."""


SENT: Final = Limits(columns=1_000, rows=5_000_000, unpacked_bytes=1 << 30)
"""For files that others send."""

OWN: Final = Limits(columns=10_000, rows=1_000_000_000, unpacked_bytes=1 << 40)
"""For files that whoever runs a command has chosen: against slips, not against them."""


def check_csv_head(where: str, head: bytes, limits: Limits) -> None:
    """Check the first line of a CSV file, compressed or not, by the first bytes of the file.

    `head` is `limits.header_bytes` and one more, or all that there is. Of a file that is damaged
    nothing is said here; whoever reads it says so.
    """
    if head.startswith(GZIP):
        head = _unpacked(head, limits.header_bytes + 1)
    is_whole = len(head) <= limits.header_bytes
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head[: limits.header_bytes])
    except UnicodeDecodeError:
        return  # the header or a row: whoever reads it knows which
    names, is_ended = _first_line(text, limits.columns + 1)
    check_separator(where, names)
    if is_ended or not is_whole:
        limits.check_names(where, names)
    if not is_ended and not is_whole:
        raise TooLarge(
            f"{where}: the first line is longer than {limits.header_bytes >> 10:,} KiB",
            hint="it must name the columns, separated by commas; look for a quote that is never "
            "closed",
        )


def check_separator(where: str, names: Sequence[str]) -> None:
    """Raise FileProblem where all names stand in one cell, as Excel writes them in some places."""
    if len(names) == 1 and _OTHER_SEPARATOR.search(names[0]):
        message = f"{where} has one column only: its values are not separated by commas"
        raise FileProblem(message, hint="save it with commas between the values")


def check_csv_bytes(path: Path, limits: Limits) -> None:
    """Check how long a CSV file is; one that is compressed is unpacked, but for what is too much.

    By a pass of its own: Arrow reads from threads, which must not call back into Python. No pass is
    needed where the best packed file of this length would still be within the limits.
    """
    packed_bytes = path.stat().st_size
    with path.open("rb") as file:
        is_packed = file.read(len(GZIP)) == GZIP
    if not is_packed:
        limits.check_bytes(str(path), packed_bytes)
    elif packed_bytes * _GZIP_RATIO_MAX > limits.unpacked_bytes:
        seen = 0
        with gzip.open(path) as unpacked, suppress(OSError, EOFError, zlib.error):
            while part := unpacked.read(_PART_BYTES):
                seen += len(part)
                limits.check_bytes(str(path), seen)


def _unpacked(head: bytes, bytes_max: int) -> bytes:
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, bytes_max)
    except zlib.error:
        return b""


def _first_line(text: str, cells_max: int) -> tuple[list[str], bool]:
    """Give the cells of the first line that is not empty, and whether its end is there.

    Beyond so many cells no more are looked at: the line has ended for whoever counts them.
    """
    names: list[str] = []
    for cell in _CELL.finditer(text.lstrip("\r\n")):
        names.append(cell[1])
        if not cell[2]:
            break
        if cell[2] != "," or len(names) == cells_max:
            return names, True
    return names, False


BATCH_ROWS: Final = 65_536

_CELLS_AT_ONCE: Final = 64 * BATCH_ROWS
"""In one batch; of a table with more columns fewer rows are read at a time."""

_SHOWN: Final = 20


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


def require(table: Table, names: Sequence[str]) -> None:
    """Raise FileProblem unless the table has all these columns."""
    there = set(table.names)
    absent = [name for name in names if name not in there]
    if absent:
        message = f"{table.path} has no column {', '.join(absent)}"
        raise FileProblem(message, hint=columns_hint(table.names))


def columns_hint(names: Iterable[str]) -> str:
    """Say which columns there are: the first of them."""
    listed = [name for name in names if name]
    rest = f" and {len(listed) - _SHOWN:,} more" if len(listed) > _SHOWN else ""
    return f"its columns are {', '.join(listed[:_SHOWN])}{rest}" if listed else "it has no others"


def rows_at_once(columns: int, size: int) -> int:
    """Give how many rows of so many columns are read at a time, at most `size`."""
    return max(1, min(size, _CELLS_AT_ONCE // max(columns, 1)))


def unreadable(path: object, error: OSError) -> FileProblem:
    """Say why a file cannot be read, without the words of a library."""
    reason = os.strerror(error.errno) if error.errno else "it is damaged or not what its name says"
    return FileProblem(f"cannot read {path}: {reason}")
