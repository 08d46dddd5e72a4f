"""News of loans in a file, row by row: one that cannot be read keeps no other from being read.

Whatever the file is, a row is read by the same rules as the body of `POST /v1/outcomes`. No
message repeats a value, because a file may hold people.
"""

from __future__ import annotations

import hashlib
import re
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from alama.core.errors import FileProblem, MalformedDocument
from alama.core.intake import members
from alama.monitoring import outcomes_api
from alama.monitoring.outcomes import BATCH_MAX
from alama.platform import ids
from alama.platform.files.table import Table, require
from alama.platform.http.problems import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from alama.core.monitoring.news import News


COLUMNS: Final = tuple(outcomes_api.RULES)
REQUIRED: Final = ("request_id", "outcome", "date")
AMOUNTS: Final = ("disbursed_amount", "repaid_amount")
DATES: Final = ("date", "defaulted_on")
LINES: Final = (".jsonl", ".ndjson")

IGNORED_MAX: Final = 20
"""Names that are told of what is no field; of lines one more is kept in mind."""

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SWITCH: Final = {"true": True, "1": True, "false": False, "0": False}
_MARK: Final = b"\xef\xbb\xbf"  # how some editors begin a text in UTF-8


class Row(NamedTuple):
    """One row of a file: its news, or what is wrong with it."""

    place: str
    news: News | None
    fault: str = ""
    request_id: str = ""


class Source(Protocol):
    """A file that is read once, from its beginning."""

    total: float
    """How much there is to read, in a unit of its own."""

    @property
    def ignored(self) -> Sequence[str]:
        """Columns, or members of lines, that are no fields: those that were met, each once."""

    @property
    def done(self) -> float:
        """How much of `total` has been read."""

    def batches(self) -> Iterator[Sequence[Row]]:
        """Read the rows, at most `BATCH_MAX` at a time."""


def open_news(path: Path) -> Source:
    """Open a file by the ending of its name, or raise `FileProblem`."""
    if path.name.lower().endswith(LINES):
        return _Lines(path)
    from alama.platform.files.reader import open_table  # noqa: PLC0415  lines are read without Arrow

    if path.name.lower().endswith(".json"):
        raise FileProblem(
            f"{path}: JSON is read line by line, one object in each",
            hint="write it so, and have its name end in .jsonl",
        )
    return _Rows(open_table(path))


def digest_of(path: Path) -> str:
    """Give the SHA-256 of a file as `sha256sum` prints it, or raise `FileProblem`."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from error


class _Rows:
    """CSV or Parquet."""

    def __init__(self, table: Table) -> None:
        require(table, REQUIRED)
        self._table = table
        self.total = table.total
        self.ignored = tuple(name for name in table.names if name not in COLUMNS)

    @property
    def done(self) -> float:
        return self._table.done

    def batches(self) -> Iterator[Sequence[Row]]:
        names = [name for name in COLUMNS if name in self._table.names]
        number = 0
        for batch in self._table.batches(names, BATCH_MAX):
            rows = []
            for cells in batch.to_pylist():
                number += 1
                rows.append(_row(f"row {number}", _members(cells)))
            yield rows


class _Lines:
    """JSON, one object in a line; empty lines are passed over.

    What a loan system exports has more members than are asked for here, as a table has columns.
    """

    def __init__(self, path: Path) -> None:
        self.ignored: list[str] = []
        self._path = path
        self._read = 0
        try:
            self.total = float(path.stat().st_size)
        except OSError as error:
            raise _unreadable(path, error) from error

    @property
    def done(self) -> float:
        return float(self._read)

    def batches(self) -> Iterator[Sequence[Row]]:
        rows: list[Row] = []
        try:
            with self._path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    self._read += len(line)
                    text = line.removeprefix(_MARK) if number == 1 else line
                    if text.strip():
                        rows.append(self._row(f"line {number}", text))
                    if len(rows) == BATCH_MAX:
                        yield rows
                        rows = []
        except OSError as error:
            raise _unreadable(self._path, error) from error
        if rows:
            yield rows

    def _row(self, place: str, line: bytes) -> Row:
        try:
            sent = members(line)
        except MalformedDocument as error:
            fault = error.fault.partition(" line ")[0].removesuffix(":")  # the place says which
            return Row(place, None, f"the line {fault}")
        for name, _ in sent:
            # Somebody may name members by ids: not all of a long file is kept in mind.
            is_new = name not in COLUMNS and name not in self.ignored
            if is_new and len(self.ignored) <= IGNORED_MAX:
                self.ignored.append(name)
        return _row(place, [member for member in sent if member[0] in COLUMNS])


def _row(place: str, sent: Sequence[tuple[str, object]]) -> Row:
    try:
        return Row(place, outcomes_api.read_one(sent))
    except InvalidRequest as error:
        fault = "; ".join(f"{one.pointer[1:]} {one.detail}" for one in error.problems)
    named = dict(sent).get("request_id")
    is_id = isinstance(named, str) and ids.is_request_id(named)
    return Row(place, None, fault, str(named) if is_id else "")


# ------------------------------------------------------------------------------------- cells


def _members(cells: Mapping[str, Any]) -> list[tuple[str, object]]:
    """Give the cells of a row as JSON would have them; one that is empty is not given."""
    told = [(name, _value(name, cell)) for name, cell in cells.items()]
    return [(name, value) for name, value in told if value is not None]


def _value(name: str, cell: object) -> object:
    """Give a cell as what its field should be, where it can be read so; else as it is."""
    if isinstance(cell, str):
        return _of_text(name, cell.strip())
    if name in AMOUNTS and isinstance(cell, int | float | Decimal) and not isinstance(cell, bool):
        return None if cell != cell else float(cell)  # noqa: PLR0124  not a number: missing
    if name in DATES and isinstance(cell, date):
        return (cell.date() if isinstance(cell, datetime) else cell).isoformat()
    return cell


def _of_text(name: str, text: str) -> object:
    if not text:
        return None
    if name in AMOUNTS and _NUMBER.fullmatch(text):
        return float(text)
    if name == "corrects":
        return _SWITCH.get(text.lower(), text)
    return text


def _unreadable(path: Path, error: OSError) -> FileProblem:
    return FileProblem(f"cannot read {path}: {error.strerror}")
