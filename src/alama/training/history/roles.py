"""What each column of a lender's history is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from alama.core.catalogue import Catalogue, Field, Kind, Use
from alama.core.errors import FileProblem, TrainingProblem
from alama.core.product import PRODUCT
from alama.platform.files.columns import plain_type
from alama.training.history.load import nearest_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from alama.platform.files.table import Table


BORROWER_ID: Final = "borrower_id"
APPLIED_ON: Final = "applied_on"
DISBURSED_ON: Final = "disbursed_on"
DUE_ON: Final = "due_on"
OBSERVED_ON: Final = "observed_on"
REPAID_ON: Final = "repaid_on"
LARGEST_DAYS_PAST_DUE: Final = "largest_days_past_due"
RESTRUCTURED: Final = "restructured"
AMOUNT: Final = "amount"
TERM_DAYS: Final = "term_days"
REPAID_AMOUNT: Final = "repaid_amount"
PROPENSITY: Final = "propensity"
PRESENT_SCORE: Final = "present_score"

REQUIRED: Final = (
    BORROWER_ID,
    APPLIED_ON,
    DISBURSED_ON,
    DUE_ON,
    OBSERVED_ON,
    LARGEST_DAYS_PAST_DUE,
)
OPTIONAL: Final = (
    *(AMOUNT, TERM_DAYS, RESTRUCTURED),
    *(REPAID_AMOUNT, PROPENSITY, PRESENT_SCORE),
    REPAID_ON,
)

NUMBERS: Final[Mapping[str, Field]] = {
    LARGEST_DAYS_PAST_DUE: Field(name=LARGEST_DAYS_PAST_DUE, kind=Kind.INTEGER, minimum=0),
    AMOUNT: Field(name=AMOUNT, kind=Kind.NUMBER, above=0, maximum=1e12),
    TERM_DAYS: Field(name=TERM_DAYS, kind=Kind.INTEGER, minimum=1, maximum=3650),
    REPAID_AMOUNT: Field(name=REPAID_AMOUNT, kind=Kind.NUMBER, minimum=0, maximum=1e12),
    # Who stands for more than a thousand others would decide alone what is said of them.
    PROPENSITY: Field(name=PROPENSITY, kind=Kind.NUMBER, minimum=0.001, maximum=1),
    PRESENT_SCORE: Field(name=PRESENT_SCORE, kind=Kind.NUMBER),
}
"""What the numbers about a loan may be.

Where they are absent the amount is that of the request, and the term the days until it was due. All
that came back, the chance with which a loan was given, and what the lender's own score said of it
are looked at for what the scores are worth, and never are inputs.
"""

REGION: Final = "region"

_OF_THE_LOAN_ITSELF: Final = "days_past_due"

_PLAIN_VALUES: Final = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_null,
)


@dataclass(frozen=True, slots=True)
class Roles:
    """Columns by what they are for.

    `fields` maps columns to fields of a request, or of what is remembered; `worked_out` are those
    of the memory that have no column, and follow from earlier loans. `inputs` names those of both
    that a model may read and `excluded` those that somebody asked to leave out. `others` are the
    columns that nobody reads but to see whether they tell the outcome, and `unread` those that must
    not be looked at or cannot be.
    """

    loan: tuple[str, ...]
    fields: Mapping[str, Field]
    inputs: frozenset[str]
    excluded: frozenset[str]
    groups: tuple[str, ...]
    others: tuple[str, ...]
    unread: tuple[str, ...]
    worked_out: frozenset[str] = frozenset()

    @property
    def read(self) -> list[str]:
        """Give the columns of the first pass."""
        return [*self.loan, *self.fields, *(g for g in self.groups if g not in self.fields)]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What somebody asked for, by the names of columns or of fields in either spelling."""

    exclude: frozenset[str]
    keep: frozenset[str]
    groups: tuple[str, ...]
    region: bool = False
    catalogue: Catalogue = PRODUCT


def assign(table: Table, wishes: Wishes) -> Roles:
    """Say what each column is for, or raise FileProblem where the file is no history."""
    _require(table, REQUIRED)
    fields = _fields(table, wishes.catalogue)
    _require_core(table, fields)
    loan = (*REQUIRED, *(name for name in OPTIONAL if name in table.names))
    groups = _groups(table, wishes.groups, loan)
    asked = _known_names(table, wishes, "--exclude", wishes.exclude)
    excluded = asked | {_spelled(g) for g in groups}
    _known_names(table, wishes, "--keep", wishes.keep)
    if both := {_spelled(name) for name in wishes.keep} & excluded:
        raise TrainingProblem(f"{min(both)} cannot be both kept as an input and left out")
    if not wishes.region:
        excluded.add(REGION)
    worked_out = _worked_out(table, wishes.catalogue, fields)
    served = {field.name for field in fields.values()} | worked_out
    # A column without a name is what data frames write for their row numbers.
    used = {*loan, *fields, *groups}
    rest = [name for name in table.names if name and name not in used]
    others = tuple(name for name in rest if _may_be_looked_at(table, name))
    looked_at = set(others)
    return Roles(
        loan=loan,
        fields=fields,
        inputs=frozenset(served - excluded),
        excluded=frozenset(served & asked),
        groups=groups,
        others=others,
        unread=tuple(name for name in rest if name not in looked_at),
        worked_out=worked_out,
    )


def _worked_out(table: Table, catalogue: Catalogue, fields: Mapping[str, Field]) -> frozenset[str]:
    """Name what the loans of a borrower tell of the later ones, where it is told when they ended.

    Without those days nobody knows of a loan what was still owed when the next was asked for.
    """
    if REPAID_ON not in table.names:
        return frozenset()
    given = {field.name for field in fields.values()}
    return frozenset(f.name for f in catalogue.fields if f.use is Use.MEMORY) - given


def _fields(table: Table, catalogue: Catalogue) -> dict[str, Field]:
    """Map columns to the model's fields, in the order of the catalogue.

    In a file of loans `days_past_due` says how a loan went, not how its borrower stood before.
    """
    column_of: dict[str, str] = {}
    for name in table.names:
        if name not in catalogue.position or name == _OF_THE_LOAN_ITSELF:
            continue
        field = catalogue.field(name)
        if not field.learnable:
            continue
        if field.name in column_of:
            message = f"columns {column_of[field.name]} and {name} are two spellings of one field"
            raise FileProblem(message, hint="remove one of them")
        column_of[field.name] = name
    return {column_of[f.name]: f for f in catalogue.model_fields if f.name in column_of}


def _groups(table: Table, names: Sequence[str], loan: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in table.names:
            message = f"{table.path} has no column {name} (--group)"
            raise FileProblem(message, hint=nearest_hint(name, table.names))
        if name in loan or _spelled(name) in PRODUCT.core_names:
            raise TrainingProblem(f"--group {name}: this column is no attribute of a person")
    return tuple(dict.fromkeys(names))


def _known_names(table: Table, wishes: Wishes, option: str, names: Iterable[str]) -> set[str]:
    """Refuse a typo: it would leave in the model what somebody wants out of it."""
    for name in names:
        if name not in table.names and name not in wishes.catalogue.position:
            message = f"{table.path} has no column {name} ({option})"
            raise FileProblem(message, hint=nearest_hint(name, table.names))
    return {_spelled(name) for name in names}


def _spelled(name: str) -> str:
    """Give the name of the field behind either spelling, or the name of the column."""
    return PRODUCT.field(name).name if name in PRODUCT.position else name


def _may_be_looked_at(table: Table, name: str) -> bool:
    if name.casefold() in PRODUCT.prohibited:
        return False
    kind = plain_type(table.type_of(name))
    return any(says_something(kind) for says_something in _PLAIN_VALUES)


def _require(table: Table, names: Sequence[str]) -> None:
    absent = [name for name in names if name not in table.names]
    if absent:
        message = f"{table.path} is no history of loans: it has no column {', '.join(absent)}"
        raise FileProblem(message, hint=nearest_hint(absent[0], table.names))


def _require_core(table: Table, fields: Mapping[str, Field]) -> None:
    given = {field.name for field in fields.values()}
    absent = [PRODUCT.field(name) for name in PRODUCT.core_names if name not in given]
    if absent:
        told = ", ".join(
            f.name if f.other_spelling is None else f"{f.name} (or {f.other_spelling})"
            for f in absent
        )
        message = f"{table.path} has no column {told}, which every application gives"
        raise FileProblem(message, hint=nearest_hint(absent[0].name, table.names))
