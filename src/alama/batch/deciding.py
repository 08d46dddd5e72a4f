"""Deciding on a whole file: each row gets what POST /v1/score would answer to it.

Its applications go one by one through `core.assess`, the very function that the service calls, so
there is no second way to decide. What belongs to the day and not to the applicant, a pause or a
daily bound, is not looked at.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from alama.batch.applications import applications
from alama.batch.field_columns import FieldColumns
from alama.batch.scoring import fields_in_cards, points_column, result_schema
from alama.core import kernel
from alama.core.assess import Assessment, assess
from alama.core.catalogue import Use
from alama.core.errors import FileProblem
from alama.core.lending.simulation import Figures, Stance
from alama.files import columns as file_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from alama.batch.scoring import Options
    from alama.core.kernel import Column
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.files.table import Table

CHUNK_ROWS: Final = 4_096
"""Rows that stand in memory as assessments at a time."""


class _Part(NamedTuple):
    """A column of the result, and where in an assessment its values are."""

    name: str
    kind: pa.DataType
    of: Callable[[Assessment], Any]


_PARTS: Final = (
    _Part("score", pa.int32(), attrgetter("score")),
    _Part("default_probability", pa.float64(), attrgetter("default_probability")),
    _Part("tier", pa.string(), attrgetter("tier")),
    _Part("decision", pa.string(), attrgetter("decision.value")),
    _Part("recommended_limit", pa.int64(), attrgetter("offer.limit")),
    _Part("recommended_term_days", pa.int32(), attrgetter("offer.term_days")),
    _Part("recommended_apr", pa.float64(), attrgetter("offer.apr")),
    # Empty, not null, where nothing objected: in SQL `NOT LIKE` would lose the nulls.
    _Part("rules", pa.string(), lambda said: ";".join(said.rules)),
)


def _refuse_prohibited(source: Table, policy: ReadyPolicy) -> None:
    """Refuse columns that no application may have, such as contacts, if the policy names them."""
    unknown = set(policy.policy.law.forbidden_fields) - policy.model.catalogue.position.keys()
    if there := [name for name in source.names if name in unknown]:
        raise FileProblem(
            f"{source.path} has what the policy forbids to use: {', '.join(there)}",
            hint="leave these columns out; nothing was written",
        )


class TableDeciding:
    """A policy, laid out for its model, over the columns of one file.

    Money in the file is in the currency of the policy. Making one raises FileProblem where the file
    cannot be decided on, before any row is read. `ignored`, `absent`, `meant` and `markers` are
    those of `TableScoring`. `figures` adds up what the latest reading has decided.
    """

    def __init__(self, policy: ReadyPolicy, source: Table, options: Options) -> None:
        assert options.currency in {None, policy.currency}
        self.source = source
        self.policy = policy
        self.figures = Figures()
        self._options = options
        catalogue = policy.model.catalogue
        forbidden = {
            catalogue.field(name).name
            for name in policy.policy.law.forbidden_fields
            if name in catalogue.position
        }
        # A reference says nothing about who asks, but a policy may forbid even that.
        fields = [
            field
            for field in catalogue.fields
            if field.use is not Use.REFERENCE or field.name in forbidden
        ]
        self._file = FieldColumns(source, fields)
        self._forbidden = {
            name: field.name
            for field in fields
            if field.name in forbidden
            for name in (field.name, field.other_spelling)
            if name in source.names
        }
        _refuse_prohibited(source, policy)
        known = {*catalogue.position, *options.keep}
        self.ignored = tuple(name for name in source.names if name not in known)
        self.absent = self._file.absent
        self.meant = self._file.meant(self.ignored)
        self.markers = self._file.markers
        self._shown = fields_in_cards(policy.model.model) if options.contributions else ()
        self.schema = self._schema()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the file once and decide on each row.

        Raises FileProblem where a value breaks a rule, or fills a field that the policy forbids.
        """
        self.figures = Figures()
        first_row = 1
        for batch, columns in self._file.read(CHUNK_ROWS, self._options.keep):
            self._refuse_forbidden(columns, first_row)
            yield self._decided(batch, columns)
            first_row += batch.num_rows

    def _refuse_forbidden(self, columns: Mapping[str, Column], first_row: int) -> None:
        """Refuse what the service would refuse; all columns that these rows fill are named."""
        filled = {
            name: np.flatnonzero(kernel.present(columns[field]))
            for name, field in self._forbidden.items()
        }
        told = [f"{name} (row {first_row + rows[0]})" for name, rows in filled.items() if len(rows)]
        if told:
            message = f"{self.source.path} fills what the policy forbids to use: {', '.join(told)}"
            hint = "leave these columns out or empty; nothing was written"
            raise FileProblem(message, hint=hint)

    def _decided(self, batch: pa.RecordBatch, columns: Mapping[str, Column]) -> pa.RecordBatch:
        model = self.policy.model
        said = [
            assess(model, self.policy, application)
            for application in applications(model.catalogue, columns, batch.num_rows)
        ]
        for one in said:
            self.figures.add(_stance(one))
        arrays: list[pa.Array[Any]] = [
            file_columns.plain(batch.column(name)) for name in self._options.keep
        ]
        arrays += [pa.array(map(part.of, said), part.kind) for part in _PARTS]
        if self._options.contributions:
            arrays.append(pa.array([one.base for one in said], pa.float64()))
            arrays += self._points(said)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _points(self, said: Sequence[Assessment]) -> list[pa.Array[Any]]:
        """Give the points of each field; null where the row's card does not read it."""
        by_row = [{part.feature: part.points for part in one.contributions} for one in said]
        return [
            pa.array([points.get(field.name) for points in by_row], pa.float64())
            for field in self._shown
        ]

    def _schema(self) -> pa.Schema:
        made = [(part.name, part.kind) for part in _PARTS]
        if self._options.contributions:
            made.append(("base_score", pa.float64()))
            made += [(points_column(field), pa.float64()) for field in self._shown]
        return result_schema(self.source, self._options.keep, made)


def _stance(said: Assessment) -> Stance:
    """Give what is counted."""
    offer = said.offer
    return Stance(
        said.score,
        said.tier,
        said.decision,
        said.rules,
        offer.limit,
        offer.term_days,
        offer.apr,
        offer.expected_loss,
    )
