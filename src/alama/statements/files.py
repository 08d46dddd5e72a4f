"""Ledgers as Parquet, and whole histories: each loan with the figures of its own day."""

from __future__ import annotations

import csv
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from itertools import islice
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet

from alama.core.errors import AlamaError, FileProblem
from alama.platform.files.writer import open_table
from alama.statements.deriving import Asked, found_in
from alama.statements.ledger import Declared, Entry, Statement
from alama.statements.published import FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from alama.statements.places import Place
    from alama.statements.tables import Layout

_META: Final = b"alama.ledger/1"
_COLUMNS: Final[list[tuple[str, pa.DataType]]] = [
    ("id", pa.string()),
    ("at", pa.timestamp("us", tz="UTC")),
    ("amount", pa.int64()),
    ("direction", pa.string()),
    ("balance_after", pa.int64()),
    ("kind", pa.string()),
    ("counterparty", pa.string()),
    ("status", pa.string()),
    ("group", pa.string()),
    ("reverses", pa.string()),
]
SCHEMA: Final = pa.schema(_COLUMNS)

STATEMENT: Final = "statement"
APPLIED_ON: Final = "applied_on"
TOGETHER: Final = 256
"""Loans that are under way at once: memory does not grow with the history."""

_WHOLE: Final = frozenset({"mm_months", "counterparties", "lenders_seen"})


class _Beside(msgspec.Struct):
    """What a ledger file has beside its entries."""

    format: str
    currency: str | None
    rows: int
    declared: Declared


def write_ledger(path: Path, statement: Statement) -> None:
    """Write the entries of a statement, and what it says of itself; all of it or nothing."""
    beside = _Beside(statement.format, statement.currency, statement.rows, statement.declared)
    schema = SCHEMA.with_metadata({_META: msgspec.json.encode(beside)})
    rows = [msgspec.structs.asdict(entry) for entry in statement.entries]
    for row in rows:
        for name in ("direction", "kind", "status"):
            row[name] = row[name].value
    with open_table(path, schema) as table:
        table.write(pa.RecordBatch.from_pylist(rows, schema=schema))


def read_ledger(path: Path) -> Statement:
    """Read what `write_ledger` wrote, or raise `FileProblem`."""
    try:
        table = pyarrow.parquet.read_table(path)
        meta = (table.schema.metadata or {})[_META]
        beside = msgspec.json.decode(meta, type=_Beside)
        entries = msgspec.convert(table.to_pylist(), tuple[Entry, ...])
    except (OSError, pa.ArrowException, KeyError, msgspec.MsgspecError) as error:
        raise FileProblem(
            f"{path.name} is no ledger",
            hint="make one of the statements first, by `statements read`",
        ) from error
    return Statement(
        format=beside.format,
        currency=beside.currency,
        entries=entries,
        rows=beside.rows,
        declared=beside.declared,
    )


# ------------------------------------------------------------------------------- histories


class Tally(NamedTuple):
    """What became of the loans of a history."""

    loans: int
    read: int
    doubtful: int
    problems: int


class _Task(NamedTuple):
    """One loan: its statements, its day, the clock."""

    files: tuple[Path, ...]
    as_of: str
    utc_offset_s: int
    weekend: tuple[int, ...]
    layouts: tuple[Layout, ...]


def derive_history(
    folder: Path,
    loans: Path,
    out: Path,
    place: Place,
    layouts: tuple[Layout, ...],
    cores: int,
    advance: Callable[[float], None],
) -> Tally:
    """Write each loan of a CSV file with the fields of its own day, using so many processes.

    Column `statement` names its file in the folder (several with `;` between), `applied_on` its
    day. A statement that cannot be read leaves the fields empty and says why.
    """
    offset = place.zone.utcoffset(None)
    if offset is None:
        raise FileProblem("a history needs a clock without summer time", hint="name an offset")
    seconds, weekend = round(offset.total_seconds()), tuple(sorted(place.weekend))
    with loans.open(encoding="utf-8-sig", newline="") as lines:
        rows = csv.DictReader(lines)
        columns = tuple(rows.fieldnames or ())
        _require(loans, columns)
        schema = _schema(columns)
        count = read = doubtful = problems = 0
        with (
            open_table(out, schema) as table,
            ProcessPoolExecutor(cores, get_context("spawn")) as pool,
        ):
            while part := list(islice(rows, TOGETHER)):
                tasks = [
                    _Task(
                        tuple(folder / name.strip() for name in row[STATEMENT].split(";")),
                        row[APPLIED_ON],
                        seconds,
                        weekend,
                        layouts,
                    )
                    for row in part
                ]
                told = list(pool.map(_derive, tasks, chunksize=4))
                table.write(pa.RecordBatch.from_pylist(_joined(part, told), schema=schema))
                count += len(part)
                problems += sum(one["statement_problem"] is not None for one in told)
                doubtful += sum(one["statement_doubtful"] is True for one in told)
                advance(len(part))
        read = count - problems
    return Tally(count, read, doubtful, problems)


def loans_in(loans: Path) -> int:
    """Count the lines of a history, for a bar."""
    try:
        with loans.open("rb") as lines:
            return max(sum(1 for _ in lines) - 1, 0)
    except OSError as error:
        raise FileProblem(f"{loans.name} cannot be read") from error


def _require(loans: Path, columns: Sequence[str]) -> None:
    lacking = [name for name in (STATEMENT, APPLIED_ON) if name not in columns]
    if lacking:
        raise FileProblem(
            f"{loans.name} lacks the column {' and '.join(lacking)}",
            hint="`statement` names the file of a loan, `applied_on` its day, such as 2026-03-31",
        )
    own = {field.name for field in FIELDS}
    taken = sorted(own.intersection(columns))
    if taken:
        raise FileProblem(
            f"{loans.name} has columns that are derived: {', '.join(taken)}",
            hint="leave them out, or name them otherwise",
        )


def _schema(columns: Sequence[str]) -> pa.Schema:
    kept: list[tuple[str, pa.DataType]] = [(name, pa.string()) for name in columns]
    derived: list[tuple[str, pa.DataType]] = [
        (field.name, pa.int32() if field.name in _WHOLE else pa.float64()) for field in FIELDS
    ]
    told: list[tuple[str, pa.DataType]] = [
        ("statement_months", pa.int32()),
        ("statement_doubtful", pa.bool_()),
        ("statement_problem", pa.string()),
    ]
    return pa.schema([*kept, *derived, *told])


def _joined(part: Sequence[dict[str, str]], told: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, **found} for row, found in zip(part, told, strict=True)]


def _derive(task: _Task) -> dict[str, Any]:
    """Give the figures of one loan; runs in a process of its own."""
    try:
        asked = Asked(
            files=[path.read_bytes() for path in task.files],
            as_of=date.fromisoformat(task.as_of.strip()),
            utc_offset_s=task.utc_offset_s,
            weekend=task.weekend,
            layouts=task.layouts,
        )
        found = found_in(asked)
    except OSError:
        return _problem("there is no such file, or it cannot be read")
    except ValueError:
        return _problem("applied_on is no day such as 2026-03-31")
    except AlamaError as error:
        return _problem(str(error))
    return {
        **found.fields,
        "statement_months": found.coverage.months,
        "statement_doubtful": found.doubtful,
        "statement_problem": None,
    }


def _problem(told: str) -> dict[str, Any]:
    return {
        "statement_months": None,
        "statement_doubtful": None,
        "statement_problem": told,
    }


def files_in(paths: Sequence[Path]) -> Iterator[Path]:
    """Give the files that are named, and those of a folder in their order."""
    for path in paths:
        if path.is_dir():
            yield from sorted(one for one in path.iterdir() if one.is_file())
        else:
            yield path
