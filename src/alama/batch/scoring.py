"""Scoring a whole file: batches in, batches out, in bounded memory and on one core.

Every row gets what `core.assess` would say of it, bit for bit: the same card, the same points, the
same shown probability. A file with a value that an application may not hold is refused as a whole,
with the rows and the rules, and never the values.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from alama.batch.rules import broken_rules
from alama.core import kernel
from alama.core.errors import FileProblem
from alama.core.kernel import BatchScorecard, Column, Words
from alama.core.model import money_factor
from alama.files import columns as file_columns
from alama.files import writer
from alama.files.reader import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from alama.core.catalogue import Field
    from alama.core.model import Model
    from alama.files.reader import Table

CHUNK_ROWS: Final = 16_384
"""Rows scored at a time: few enough that their columns stay in the processor's cache."""

PROBLEMS_MAX: Final = 10
"""Broken rules told before reading stops."""

MISSPELT_LIKENESS: Final = 0.75
"""From here on (0 to 1, by `difflib`) a column looks like a field that somebody misspelt."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to write beside the score and the default probability.

    `contributions` adds the points of each field; `keep` names columns to copy from the source;
    `currency` None means that money in the file is in the currency of the model.
    """

    contributions: bool = False
    currency: str | None = None
    keep: tuple[str, ...] = ()


class Tally:
    """Counts over the rows as they pass, for a summary without a second reading."""

    def __init__(self) -> None:
        self.rows = 0
        self._score_sum = 0
        self._probability_sum = 0.0

    def add(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        self._score_sum += int(batch.column("score").to_numpy().sum(dtype=np.int64))
        self._probability_sum += float(batch.column("default_probability").to_numpy().sum())

    @property
    def mean_score(self) -> float:
        """The mean score of at least one row."""
        return self._score_sum / self.rows

    @property
    def mean_probability(self) -> float:
        """The mean default probability of at least one row."""
        return self._probability_sum / self.rows


def score_table(
    scoring: TableScoring, target: Path, on_progress: Callable[[float], None] | None = None
) -> Tally:
    """Write the scores of a whole file, or nothing; rows keep their order.

    `on_progress` is told how much more has been done, in the unit of the source.
    """
    if target.exists() and target.samefile(scoring.source.path):
        message = f"{target} is the file to be scored; it would be lost"
        raise FileProblem(message, hint="give the result another name")
    tally = Tally()
    told = 0.0
    with writer.open_table(target, scoring.schema) as table:
        for batch in scoring.batches():
            table.write(batch)
            tally.add(batch)
            if on_progress is not None:
                on_progress(scoring.source.done - told)
                told = scoring.source.done
    return tally


class TableScoring:
    """A model laid out over the columns of one file.

    Making one raises FileProblem or UnknownCurrency where the file cannot be scored by this
    model, before any row is read. `ignored` lists the columns that the model does not name,
    `absent` the fields of the model that the file lacks, `meant` the field that an ignored column
    looks like. `markers` counts, by column, the marks such as NA that the latest reading took as
    missing.
    """

    def __init__(self, model: Model, source: Table, options: Options) -> None:
        self.source = source
        self._model = model
        self._options = options
        self._fields = _fields_read(model)
        self._column_of = _columns_of(source, self._fields)
        factor = money_factor(model, options.currency)
        self._scorecards = tuple(BatchScorecard(c, model.catalogue, factor) for c in model.cards)
        known = {*model.catalogue.position, *options.keep}
        self.ignored = tuple(name for name in source.names if name not in known)
        absent = [field for field in self._fields if field.name not in self._column_of]
        self.absent = tuple(field.name for field in absent)
        self.meant = _meant(self.ignored, absent)
        self.markers: dict[str, int] = {}
        self.schema = self._schema()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read and score the file once; raises FileProblem where a value breaks a rule."""
        self.markers.clear()
        problems: list[str] = []
        wanted = list(dict.fromkeys([*self._options.keep, *self._column_of.values()]))
        first_row = 1
        for batch in self.source.batches(wanted, CHUNK_ROWS):
            columns = self._columns(batch, first_row)
            problems += broken_rules(
                self._fields, self._column_of, columns, first_row, PROBLEMS_MAX - len(problems)
            )
            if len(problems) == PROBLEMS_MAX:
                break
            if not problems:
                yield self._scored(batch, columns)
            first_row += batch.num_rows
        if problems:
            raise _refusal(self.source.path, problems)

    def _columns(self, batch: pa.RecordBatch, first_row: int) -> dict[str, Column]:
        """Give a column for every field, all missing where the file has none."""
        columns: dict[str, Column] = {}
        for field in self._fields:
            name = self._column_of.get(field.name)
            if name is None:
                columns[field.name] = _nothing(field, batch.num_rows)
            elif field.numeric:
                values, markers = file_columns.numbers_and_markers(
                    batch.column(name), name, first_row
                )
                columns[field.name] = values
                if markers:
                    self.markers[name] = self.markers.get(name, 0) + markers
            else:
                columns[field.name] = file_columns.words(batch.column(name), name, first_row)
        return columns

    def _scored(self, batch: pa.RecordBatch, columns: Mapping[str, Column]) -> pa.RecordBatch:
        rows = batch.num_rows
        chosen = kernel.choose_card(self._model.cards, columns, rows)
        points = np.empty(rows)
        parts: dict[str, NDArray[np.float64]] = {
            field.name: np.full(rows, np.nan) for field in self._fields_shown()
        }
        for place, scorecard in enumerate(self._scorecards):
            mine = np.flatnonzero(chosen == place)
            if not len(mine):
                continue
            whole = len(mine) == rows
            scored = scorecard.score(
                columns if whole else _rows_of(columns, scorecard.fields, mine)
            )
            points[mine] = scored.points
            for name, contribution in zip(scorecard.fields, scored.contributions, strict=True):
                if name in parts:
                    parts[name][mine] = contribution
        arrays: list[pa.Array[Any]] = [
            file_columns.plain(batch.column(name)) for name in self._options.keep
        ]
        arrays.append(pa.array(kernel.shown_scores(points).astype(np.int32)))
        arrays.append(pa.array(kernel.shown_probabilities(points)))
        if self._options.contributions:
            bases = np.array([scorecard.card.base for scorecard in self._scorecards])
            arrays.append(pa.array(bases[chosen]))
            # NaN stands for a field that the row's card does not read: null in the file.
            arrays += [pa.array(part, from_pandas=True) for part in parts.values()]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _fields_shown(self) -> tuple[Field, ...]:
        if not self._options.contributions:
            return ()
        read = {feature.field for card in self._model.cards for feature in card.features}
        return tuple(field for field in self._fields if field.name in read)

    def _schema(self) -> pa.Schema:
        """Give the columns of the result; kept ones first, because they say which row it is."""
        require(self.source, self._options.keep)
        made: list[tuple[str, pa.DataType]] = [
            ("score", pa.int32()),
            ("default_probability", pa.float64()),
        ]
        if self._options.contributions:
            made.append(("base_score", pa.float64()))
            made += [(f"points_{field.name}", pa.float64()) for field in self._fields_shown()]
        taken = {name for name, _ in made} & set(self._options.keep)
        if taken:
            message = f"the column {min(taken)} cannot be kept: the result has one of that name"
            raise FileProblem(message, hint="rename it in the source")
        kept = [
            (name, file_columns.plain_type(self.source.type_of(name)))
            for name in self._options.keep
        ]
        return pa.schema([*kept, *made])


def _fields_read(model: Model) -> tuple[Field, ...]:
    """Give the fields that scoring looks at: those in tables, and those that must be there."""
    read = {feature.field for card in model.cards for feature in card.features}
    return tuple(
        field for field in model.catalogue.model_fields if field.required or field.name in read
    )


def _columns_of(source: Table, fields: Sequence[Field]) -> dict[str, str]:
    """Map each field to the column that holds it, whichever way it is spelled."""
    found: dict[str, str] = {}
    missing: list[str] = []
    for field in fields:
        spellings = _spellings(field)
        there = [name for name in spellings if name in source.names]
        if len(there) > 1:
            message = f"{source.path}: the columns {' and '.join(there)} are the same field"
            raise FileProblem(message, hint="remove one of them")
        if there:
            found[field.name] = there[0]
        elif field.required:
            missing.append(" or ".join(spellings))
    if missing:
        message = f"{source.path} lacks what the model requires: {', '.join(missing)}"
        raise FileProblem(message, hint=f"its columns are {', '.join(source.names)}")
    if fields and not found:
        message = f"{source.path} has no column that the model reads: there is nothing to score"
        read = ", ".join(field.name for field in fields)
        raise FileProblem(message, hint=f"the model reads {read}")
    return found


def _meant(ignored: Sequence[str], absent: Sequence[Field]) -> dict[str, str]:
    """Give the absent field, as the file might spell it, behind each column that looks like one."""
    spelled = {name.lower(): name for field in absent for name in _spellings(field)}
    meant: dict[str, str] = {}
    for name in ignored:
        close = difflib.get_close_matches(name.lower(), spelled, 1, MISSPELT_LIKENESS)
        if close:
            meant[name] = spelled[close[0]]
    return meant


def _spellings(field: Field) -> tuple[str, ...]:
    return tuple(dict.fromkeys([field.name, field.other_spelling or field.name]))


def _nothing(field: Field, rows: int) -> Column:
    if field.numeric:
        return np.full(rows, np.nan)
    return Words(np.full(rows, -1, dtype=np.int32), ())


def _rows_of(
    columns: Mapping[str, Column], names: Sequence[str], rows: NDArray[np.intp]
) -> dict[str, Column]:
    taken: dict[str, Column] = {}
    for name in names:
        column = columns[name]
        taken[name] = (
            Words(column.codes[rows], column.vocabulary)
            if isinstance(column, Words)
            else column[rows]
        )
    return taken


def _refusal(path: Path, problems: Sequence[str]) -> FileProblem:
    more = " (and perhaps more)" if len(problems) == PROBLEMS_MAX else ""
    listing = "".join(f"\n  {problem}" for problem in problems)
    message = f"{path} holds values that no application may hold{more}:{listing}"
    return FileProblem(message, hint="mend these rows or leave them out; nothing was written")
