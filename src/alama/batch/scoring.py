"""Scoring a whole file: batches in, batches out, in bounded memory and on one core.

Every row gets what `explain_score` would say of it, bit for bit: the same card, the same points,
the same shown probability. A file with a value that an application may not hold is refused as a
whole, with the rows and the rules, and never the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa

from alama.batch.columns import FieldColumns
from alama.core import kernel
from alama.core.errors import FileProblem
from alama.core.kernel import BatchScorecard, Column, Words
from alama.core.model import Model, money_factor
from alama.platform.files import columns as file_columns
from alama.platform.files import writer
from alama.platform.files.table import Table, require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from alama.core.catalogue import Field


CHUNK_ROWS: Final = 16_384
"""Rows scored at a time: few enough that their columns stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to write beside the score and the default probability.

    `contributions` adds the points of each field; `keep` names columns to copy from the source;
    `currency` None means that money in the file is in the currency of the policy that decides, or
    else of the model.
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


class Scoring(Protocol):
    """Something that scores one file: the model alone, or with a policy that decides as well.

    `schema` has `score` and `default_probability` among its columns. `ignored` lists the columns
    that the model does not name, `absent` the fields that the file lacks, `meant` the field that an
    ignored column looks like. `markers` counts, by column, the marks such as NA that the latest
    reading took as missing.
    """

    source: Table
    schema: pa.Schema
    ignored: tuple[str, ...]
    absent: tuple[str, ...]
    meant: dict[str, str]
    markers: dict[str, int]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read and score the file once; raises FileProblem where a value breaks a rule."""


def score_table(
    scoring: Scoring, target: Path, on_progress: Callable[[float], None] | None = None
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
    model, before any row is read.
    """

    def __init__(self, model: Model, source: Table, options: Options) -> None:
        self.source = source
        self._model = model
        self._options = options
        self._fields = _fields_read(model)
        self._shown = fields_in_cards(model) if options.contributions else ()
        self._file = FieldColumns(source, self._fields)
        factor = money_factor(model, options.currency)
        self._scorecards = tuple(BatchScorecard(c, model.catalogue, factor) for c in model.cards)
        known = {*model.catalogue.position, *options.keep}
        self.ignored = tuple(name for name in source.names if name not in known)
        self.absent = self._file.absent
        self.meant = self._file.meant(self.ignored)
        self.markers = self._file.markers
        self.schema = self._schema()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read and score the file once; raises FileProblem where a value breaks a rule."""
        for batch, columns in self._file.read(CHUNK_ROWS, self._options.keep):
            yield self._scored(batch, columns)

    def _scored(self, batch: pa.RecordBatch, columns: Mapping[str, Column]) -> pa.RecordBatch:
        rows = batch.num_rows
        chosen = kernel.choose_card(self._model.cards, columns, rows)
        points = np.empty(rows)
        parts: dict[str, NDArray[np.float64]] = {
            field.name: np.full(rows, np.nan) for field in self._shown
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

    def _schema(self) -> pa.Schema:
        made: list[tuple[str, pa.DataType]] = [
            ("score", pa.int32()),
            ("default_probability", pa.float64()),
        ]
        if self._options.contributions:
            made.append(("base_score", pa.float64()))
            made += [(points_column(field), pa.float64()) for field in self._shown]
        return result_schema(self.source, self._options.keep, made)


def result_schema(
    source: Table, keep: Sequence[str], made: Sequence[tuple[str, pa.DataType]]
) -> pa.Schema:
    """Give the columns of a result; kept ones first, because they say which row it is.

    Raises FileProblem where a column to keep is not in the source, or has the name of one made.
    """
    require(source, keep)
    taken = {name for name, _ in made} & set(keep)
    if taken:
        message = f"the column {min(taken)} cannot be kept: the result has one of that name"
        raise FileProblem(message, hint="rename it in the source")
    kept = [(name, file_columns.plain_type(source.type_of(name))) for name in keep]
    return pa.schema([*kept, *made])


def fields_in_cards(model: Model) -> tuple[Field, ...]:
    """Give the fields that have points, in the order of the catalogue."""
    read = {feature.field for card in model.cards for feature in card.features}
    return tuple(field for field in model.catalogue.model_fields if field.name in read)


def points_column(field: Field) -> str:
    """Name the column that holds the points of a field."""
    return f"points_{field.name}"


def _fields_read(model: Model) -> tuple[Field, ...]:
    """Give the fields that scoring looks at: those in tables, and those that must be there."""
    read = {field.name for field in fields_in_cards(model)}
    return tuple(
        field for field in model.catalogue.model_fields if field.required or field.name in read
    )


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
