"""Deciding on a whole file: each row gets what POST /v1/score would answer to it.

Its applications go one by one through `core.assess`, the very function that the service calls, so
there is no second way to decide. What belongs to the day and not to the applicant, a pause or a
daily bound, is not looked at.
"""

from __future__ import annotations

from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from alama.batch import became
from alama.batch.columns import FieldColumns
from alama.batch.scoring import Options, fields_in_cards, points_column, result_schema
from alama.core import kernel
from alama.core.application import (
    PRODUCT_NAME,
    Application,
    Value,
    looks_personal,
    may_be_word,
)
from alama.core.assess import Assessment, assess
from alama.core.catalogue import Catalogue, Field, Kind, Use
from alama.core.errors import FileProblem
from alama.core.kernel import Column, Words
from alama.core.lending.policy import CounterOffers
from alama.core.lending.simulation import Case, Figures, Stance
from alama.platform.files import columns as file_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.platform.files.table import Table


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


_COUNTER_PARTS: Final = (
    _Part("counter_offer", pa.int64(), lambda said: _counter(said, "amount")),
    _Part("counter_offer_term_days", pa.int32(), lambda said: _counter(said, "term_days")),
)
"""The largest other loan that would be approved, where a policy tells of it; null: none would."""


def _counter(said: Assessment, part: str) -> int | None:
    loan = None if said.counter is None else said.counter.approved
    return None if loan is None else getattr(loan, part)


_PRODUCT: Final = _Part(PRODUCT_NAME, pa.string(), attrgetter("product"))


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
        self._product = [PRODUCT_NAME] if policy.products and PRODUCT_NAME in source.names else []
        known = {*catalogue.position, *options.keep, *self._product}
        self.ignored = tuple(name for name in source.names if name not in known)
        self.absent = self._file.absent
        self.meant = self._file.meant(self.ignored)
        self.markers = self._file.markers
        tells = policy.counter_offers is not CounterOffers.NONE
        self._parts: tuple[_Part, ...] = (*_PARTS, *_COUNTER_PARTS) if tells else _PARTS
        if policy.products:
            self._parts += (_PRODUCT,)
        self._shown = fields_in_cards(policy.model.model) if options.contributions else ()
        self.schema = self._schema()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the file once and decide on each row.

        Raises FileProblem where a value breaks a rule, or fills a field that the policy forbids.
        """
        self.figures = Figures()
        first_row = 1
        for batch, columns in self._file.read(CHUNK_ROWS, [*self._options.keep, *self._product]):
            self._refuse_forbidden(columns, first_row)
            yield self._decided(batch, columns, self._products(batch, first_row))
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

    def _products(self, batch: pa.RecordBatch, first_row: int) -> Sequence[str | None]:
        """Give the product of each row, or refuse one that the policy has not."""
        if not self._product:
            return [None] * batch.num_rows
        asked = _products(batch, first_row)
        known = self.policy.products
        for row, product in enumerate(asked, start=first_row):
            if product is not None and product not in known:
                message = f"column {PRODUCT_NAME}, row {row}: must be one of {', '.join(known)}"
                raise FileProblem(message, hint="an empty one is the first; nothing was written")
        return asked

    def _decided(
        self,
        batch: pa.RecordBatch,
        columns: Mapping[str, Column],
        products: Sequence[str | None],
    ) -> pa.RecordBatch:
        model = self.policy.model
        said = [
            assess(model, self.policy, application)
            for application in applications(model.catalogue, columns, products)
        ]
        for one in said:
            self.figures.add(_stance(one))
        arrays: list[pa.Array[Any]] = [
            file_columns.plain(batch.column(name)) for name in self._options.keep
        ]
        arrays += [pa.array(map(part.of, said), part.kind) for part in self._parts]
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
        made = [(part.name, part.kind) for part in self._parts]
        if self._options.contributions:
            made.append(("base_score", pa.float64()))
            made += [(points_column(field), pa.float64()) for field in self._shown]
        return result_schema(self.source, self._options.keep, made)


def _refuse_prohibited(source: Table, policy: ReadyPolicy) -> None:
    """Refuse columns that no application may have, such as contacts, if the policy names them."""
    unknown = set(policy.policy.law.forbidden_fields) - policy.model.catalogue.position.keys()
    if there := [name for name in source.names if name in unknown]:
        raise FileProblem(
            f"{source.path} has what the policy forbids to use: {', '.join(there)}",
            hint="leave these columns out; nothing was written",
        )


def _stance(said: Assessment) -> Stance:
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


# -------------------------------------------------------------------------------------------- cases


CASES_AT_ONCE: Final = 4_096
"""Rows that stand in memory as values of Python at a time."""

REFERENCES: Final = ("request_id", "applicant_ref")
"""Columns that say what an application is known by, the better one first."""


class TableCases:
    """The applications in one file, in order, for what has to look at each as a whole.

    Making one raises FileProblem where the file lacks a required field. `total` is how many there
    are, None where only reading tells. `ignored` lists the columns that the catalogue does not
    name, `absent` the fields that the file lacks, `meant` the field that an ignored column looks
    like. After reading, `markers` counts by column the marks such as NA that were taken as missing,
    and `unnamed` the references that could not be used; `ended` says whether that was all there is.
    """

    def __init__(self, catalogue: Catalogue, source: Table) -> None:
        self.total = source.rows
        self._name = source.path.name
        self._catalogue = catalogue
        self._fields = tuple(field for field in catalogue.fields if field.use is not Use.REFERENCE)
        self._file = FieldColumns(source, self._fields)
        self._reference = next((name for name in REFERENCES if name in source.names), None)
        self._became = became.columns_in(source.names)
        self._product = [name for name in source.names if name == PRODUCT_NAME]
        known = {*catalogue.position, *REFERENCES, *self._became, *self._product}
        self.ignored = tuple(name for name in source.names if name not in known)
        self.absent = self._file.absent
        self.meant = self._file.meant(self.ignored)
        self.markers = self._file.markers
        self.unnamed = 0
        self.ended = False

    def first(self, count: int) -> Iterator[Case]:
        """Read the first so many, or all there are; FileProblem where a value breaks a rule.

        What has no reference goes by its row, and so does what has one that looks like a person's:
        a phone number must not travel in a report.
        """
        return islice(self._cases(), count)

    def described(self, count: int) -> str:
        """Say which the `count` applications of the latest reading are: all of the file or not."""
        if self.ended or count == self.total:
            return f"those in {self._name}"
        total = "" if self.total is None else f" of {self.total:,}"
        return f"the first{total} in {self._name}"

    def remarks(self) -> list[str]:
        """Say what the latest reading took otherwise than a reader of the file might."""
        told = [
            f"the column {name} was ignored; did you mean {field}?"
            for name, field in self.meant.items()
        ]
        if self.absent:
            told.append(f"fields that the file lacks, taken as not given: {', '.join(self.absent)}")
        if self.markers:
            counted = ", ".join(f"{name} ({count:,})" for name, count in self.markers.items())
            told.append(f"values such as NA, null or ? were read as missing: {counted}")
        if self.unnamed:
            told.append(
                f"{self.unnamed:,} references look like phone numbers, e-mail addresses or "
                "national ids, are too long or not printable; these applications go by their row"
            )
        return told

    def _cases(self) -> Iterator[Case]:
        self.unnamed = 0
        self.ended = False
        keep = [*self._became, *self._product]
        keep += [] if self._reference is None else [self._reference]
        row = 1
        for batch, columns in self._file.read(CASES_AT_ONCE, keep):
            references = self._references(batch, row)
            products = _products(batch, row) if self._product else [None] * batch.num_rows
            read = applications(self._catalogue, columns, products)
            told = became.read(batch, self._became, row)
            for reference, application, (month, known) in zip(references, read, told, strict=True):
                yield Case(reference, application, month, known)
            row += batch.num_rows
        self.ended = True

    def _references(self, batch: pa.RecordBatch, first_row: int) -> list[str]:
        rows = [f"row {first_row + place}" for place in range(batch.num_rows)]
        if self._reference is None:
            return rows
        named = file_columns.words(batch.column(self._reference), self._reference, first_row)
        usable = [_is_usable(word) for word in named.vocabulary]
        self.unnamed += sum(code >= 0 and not usable[code] for code in named.codes.tolist())
        return [
            named.vocabulary[code] if code >= 0 and usable[code] else row
            for code, row in zip(named.codes.tolist(), rows, strict=True)
        ]


def _is_usable(reference: str) -> bool:
    return may_be_word(reference) and not looks_personal(reference)


def _products(batch: pa.RecordBatch, first_row: int) -> Sequence[str | None]:
    named = file_columns.words(batch.column(PRODUCT_NAME), PRODUCT_NAME, first_row)
    vocabulary = [*named.vocabulary, None]  # the last answers for code -1
    return [vocabulary[code] for code in named.codes.tolist()]


def applications(
    catalogue: Catalogue, columns: Mapping[str, Column], products: Sequence[str | None]
) -> Iterator[Application]:
    """Give the applications of the rows that ask for these products, None for the default one.

    The columns already keep the rules of the catalogue; a field without one is not given by any.
    """
    nothing: Sequence[Value] = [None] * len(products)
    by_field = [
        _values(columns[field.name], field) if field.name in columns else nothing
        for field in catalogue.fields
    ]
    rows = zip(zip(*by_field, strict=True), products, strict=True)
    return (Application(values, None, None, product) for values, product in rows)


def _values(column: Column, field: Field) -> Sequence[Value]:
    """Give a column as values of Python, None where nothing is given."""
    if isinstance(column, Words):
        # The last entry answers for code -1, which is missing.
        vocabulary = [*column.vocabulary, None]
        return [vocabulary[code] for code in column.codes.tolist()]
    number = int if field.kind is Kind.INTEGER else float
    return [
        None if missing else number(value)
        for value, missing in zip(column.tolist(), np.isnan(column).tolist(), strict=True)
    ]
