"""A file of loans and their outcomes -> a labelled dataset, and what was noticed on the way.

file -> which catalogue (given, the product's, or read from the data) -> one pass over the rows
     -> enough of both outcomes? -> columns worth learning from -> dataset
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from alama.core import memory
from alama.core.catalogue import WORD_LENGTH_MAX, Catalogue, Direction, Field
from alama.core.errors import AlamaError, FileProblem, InvalidCatalogue, TrainingProblem
from alama.core.kernel import Column, Words, present
from alama.core.product import PRODUCT
from alama.platform.files.reader import open_table
from alama.platform.files.table import Table, columns_hint
from alama.training.dataset import Dataset
from alama.training.history import columns as quality
from alama.training.history import leaks
from alama.training.history.columns import survey
from alama.training.history.gather import VOCABULARY_MAX, Gathered, Request, gather
from alama.training.history.leaks import Books
from alama.training.validation.gates import FOR_EVERYONE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path


APPLIED_ON: Final = "applied_on"
"""The column that says when a loan was asked for, unless another is named."""

FIELDS_MAX: Final = 250
"""More fields than anyone reads, and as many as the projection can hold in memory."""

ROWS_MIN: Final = 50
OUTCOMES_MIN: Final = 20
LENDING_OUTCOMES_MIN: Final = FOR_EVERYONE.defaults_min
"""Below this many defaults (or repaid loans) a model is for study, not for lending."""

_CORE_ALMOST: Final = 2
_CATALOGUE_BYTES_MAX: Final = 2**20

Watch = Callable[[float], None]
"""Called with the share of the reading that is done."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The dataset, what a person should know about it, and the columns that nobody read."""

    dataset: Dataset
    warnings: tuple[str, ...]
    ignored: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which columns are read as which fields. Without a catalogue the kinds were guessed."""

    fields: dict[str, Field]
    catalogue: Catalogue | None
    ignored: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)


def load(
    path: Path,
    *,
    label: str,
    catalogue: Catalogue | None,
    monotone: Mapping[str, Direction],
    exclude: Collection[str],
    date_column: str | None = None,
    watch: Watch = lambda _share: None,
) -> Loaded:
    """Read the rows with a known outcome, or raise and say what is wrong with the file.

    Without a catalogue, a file with the product's core columns is read by the product's, any
    other by what its columns hold. `date_column` None means `applied_on` where the file has it.
    """
    table = open_table(path)
    known = catalogue or (_products(table.names) if _has_core(table.names) else None)
    _require(table, label, "--label")
    for name in exclude:
        # A typo here would leave in the model what somebody wants out of it.
        _require(table, name, "--exclude", known.position if known is not None else ())
    day = _day(table, date_column, exclude)
    if label in {day, *exclude}:
        message = f"column {label} is the label: it can be neither the date nor excluded"
        raise TrainingProblem(message)
    not_features = {label} if day is None else {label, day}
    passes = Passes(table, 2 if known is None else 1, watch)
    if known is None:
        plan = _plan_by_data(table, not_features, set(exclude), passes)
    else:
        plan = _plan_by_catalogue(table, known, not_features, exclude)
    if not plan.fields:
        raise _nothing_left(plan.warnings)
    request = Request(
        plan.fields, label, day, day_wanted=date_column is not None, guessed=plan.catalogue is None
    )
    gathered = gather(table, request, passes.step)
    return _loaded(plan, gathered, label, monotone)


def read_catalogue(path: Path) -> Catalogue:
    """Read a field catalogue from TOML or JSON, strictly."""
    try:
        with path.open("rb") as file:
            document = file.read(_CATALOGUE_BYTES_MAX + 1)
    except OSError as error:
        raise FileProblem(f"cannot read {path}: {error.strerror}") from error
    if len(document) > _CATALOGUE_BYTES_MAX:
        raise FileProblem(f"{path} is too large for a field catalogue")
    try:
        match path.suffix.lower():
            case ".toml":
                return msgspec.convert(tomllib.loads(document.decode()), Catalogue)
            case ".json":
                return msgspec.json.decode(document, type=Catalogue)
            case _:
                message = f"{path.name}: a field catalogue is a .toml or a .json file"
                raise FileProblem(message, hint="`alama train --help` shows one")
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        # A catalogue describes fields and holds no person, so the parser's words may be shown.
        message = f"{path} is not a field catalogue: {error}"
        raise InvalidCatalogue(message, hint="`alama train --help` shows one") from error
    except InvalidCatalogue as error:
        raise InvalidCatalogue(f"{path}: {error}", hint=error.hint) from error


class Passes:
    """Tells the share that is done of one or two passes over a table."""

    def __init__(self, table: Table, count: int, watch: Watch) -> None:
        self._table = table
        self._count = count
        self._watch = watch
        self._finished = 0

    def step(self) -> None:
        share = self._table.done / self._table.total if self._table.total else 1.0
        self._watch((self._finished + min(share, 1.0)) / self._count)

    def next(self) -> None:
        self._finished += 1


# ----------------------------------------------------------------------------------- the plan


def _day(table: Table, asked: str | None, exclude: Collection[str]) -> str | None:
    if asked is not None:
        _require(table, asked, "--date")
        return asked
    return APPLIED_ON if APPLIED_ON in table.names and APPLIED_ON not in exclude else None


def _has_core(names: Iterable[str]) -> bool:
    return set(PRODUCT.core_names) <= _product_fields(names)


def _products(names: Collection[str]) -> Catalogue:
    """Give the product's catalogue, with what a file tells of what is remembered behind it."""
    told = tuple(field for field in memory.FIELDS if field.name in names)
    return msgspec.structs.replace(PRODUCT, fields=(*PRODUCT.fields, *told)) if told else PRODUCT


def _product_fields(names: Iterable[str]) -> set[str]:
    return {PRODUCT.field(name).name for name in names if name in PRODUCT.position}


def _plan_by_catalogue(
    table: Table, catalogue: Catalogue, not_features: set[str], exclude: Collection[str]
) -> _Plan:
    excluded = {
        catalogue.field(name).name if name in catalogue.position else name for name in exclude
    }
    column_of: dict[str, str] = {}
    ignored = []
    for name in table.names:
        if name in not_features or name in excluded:
            continue
        known = catalogue.fields[catalogue.position[name]] if name in catalogue.position else None
        if known is None or not known.learnable:
            ignored.append(name)
        elif known.name in column_of:
            message = f"columns {column_of[known.name]} and {name} are two spellings of one field"
            raise FileProblem(message, hint="remove one of them")
        elif known.name not in excluded:
            column_of[known.name] = name
    absent = [
        f for f in catalogue.model_fields if f.name not in {*column_of, *excluded, *not_features}
    ]
    for lacking in absent:
        if lacking.required:
            message = f"{table.path} has no column {lacking.name}, which its catalogue requires"
            raise FileProblem(message, hint=nearest_hint(lacking.name, ignored))
    plan = _Plan(
        {column_of[f.name]: f for f in catalogue.model_fields if f.name in column_of},
        catalogue,
        tuple(ignored),
    )
    if absent:
        names = ", ".join(f.name for f in absent)
        plan.warnings.append(f"the file has no {names}: the model will not know them")
    return plan


def _plan_by_data(
    table: Table, not_features: set[str], excluded: set[str], passes: Passes
) -> _Plan:
    left_out = not_features | excluded
    names = [name for name in table.names if name not in left_out]
    if not names:
        return _Plan({}, None)
    surveyed = survey(table, names, passes.step)
    passes.next()
    plan = _Plan(surveyed.fields, None, warnings=list(surveyed.warnings))
    core = set(PRODUCT.core_names)
    found = _product_fields(table.names) & core
    if len(found) >= _CORE_ALMOST:
        plan.warnings.insert(
            0,
            f"the file has no {', '.join(sorted(core - found))}, so it is not read by the "
            "product's catalogue: types are read from the data and no risk direction is held",
        )
    return plan


# ----------------------------------------------------------------------------------- the result


def _loaded(
    plan: _Plan, gathered: Gathered, label: str, monotone: Mapping[str, Direction]
) -> Loaded:
    warnings = list(plan.warnings)
    warnings += _about_rows(gathered, label)
    kept: dict[str, tuple[Field, Column]] = {}
    for name, known in plan.fields.items():
        column, warning = _judged(name, known, gathered, guessed=plan.catalogue is None)
        if warning is not None:
            warnings.append(warning)
        if column is not None:
            kept[known.name] = known, column
    if not kept:
        raise _nothing_left(warnings)
    if len(kept) > FIELDS_MAX:
        raise TrainingProblem(
            f"{len(kept):,} columns could be fields; a scorecard has at most {FIELDS_MAX}",
            hint="choose those that are known when a loan is asked for: --fields or --exclude",
        )
    base = plan.catalogue or Catalogue(fields=tuple(known for known, _ in kept.values()))
    catalogue = _directed(base.only(kept), monotone)
    columns = {name: column for name, (_, column) in kept.items()}
    fresh = {
        known.name: gathered.fresh[name]
        for name, known in plan.fields.items()
        if known.name in kept
    }
    ours = plan.catalogue is not None and set(PRODUCT.fields) <= set(plan.catalogue.fields)
    usual = leaks.USUAL_AUC if ours else {}
    warnings += _leaks(columns, fresh, gathered, usual)
    dataset = Dataset(catalogue, columns, gathered.labels, gathered.dates)
    dataset, missing = _with_what_is_required(dataset)
    return Loaded(dataset, (*warnings, *missing), plan.ignored)


def _leaks(
    columns: Mapping[str, Column],
    fresh: Mapping[str, Column],
    gathered: Gathered,
    usual: Mapping[str, float],
) -> Iterator[str]:
    """Say which columns were hardly known before the loan, and why."""
    rows = len(present(next(iter(fresh.values()))))
    judged = leaks.judge(
        Books(
            {name: _below(column, fresh[name]) for name, column in columns.items()},
            np.arange(len(gathered.labels) + rows) < len(gathered.labels),
            gathered.labels,
            None
            if gathered.dates is None
            else np.concatenate([gathered.dates, np.full(rows, "NaT", gathered.dates.dtype)]),
            usual,
        )
    )
    doubts = {**judged.unusual, **judged.doubts}
    for name, column in columns.items():
        area = quality.knows_outcome(column, gathered.labels)
        if area is not None:
            why = f"alone tells the outcome almost perfectly (AUC {area:.3f})."
        elif name in doubts:
            area = quality.area_alone(column, gathered.labels)
            why = f"(AUC alone {area:.3f}): {doubts[name]}."
        else:
            continue
        yield (
            f"LEAK? {name} {why} If it was not known when the loan was made, the model is "
            f"worthless: --exclude {name}"
        )


def _below(known: Column, fresh: Column) -> Column:
    if isinstance(known, Words):
        assert isinstance(fresh, Words)
        return Words(np.concatenate([known.codes, fresh.codes]), fresh.vocabulary)
    assert not isinstance(fresh, Words)
    return np.concatenate([known, fresh])


def _with_what_is_required(data: Dataset) -> tuple[Dataset, list[str]]:
    """Leave out rows that no application could be like: serving refuses them."""
    said = []
    whole = np.ones(len(data), dtype=np.bool_)
    for name in data.catalogue.core_names:
        given = present(data.columns[name])
        if not given.all():
            said.append(
                f"{int(np.count_nonzero(~given)):,} rows without {name} are left out: every "
                "application must give it"
            )
        whole &= given
    return (data.take(np.flatnonzero(whole)) if said else data), said


def _about_rows(gathered: Gathered, label: str) -> list[str]:
    """Refuse too little evidence; say what was left out and what the rest can carry."""
    rows, bad = len(gathered.labels), int(gathered.labels.sum())
    need = f"at least {ROWS_MIN} rows with {OUTCOMES_MIN} of each outcome are needed"
    outcomes = f"{rows:,} rows with a known {label}: {bad:,} defaults, {rows - bad:,} repaid"
    if rows and not 0 < bad < rows:
        only = "default" if bad else "repaid loan"
        message = f"column {label} has one outcome only: every row is a {only}"
        raise TrainingProblem(message, hint=need)
    minority = min(bad, rows - bad)
    if rows < ROWS_MIN or minority < OUTCOMES_MIN:
        raise TrainingProblem(f"too little to learn from: {outcomes}", hint=need)
    said = []
    if gathered.rows_without_outcome:
        said.append(
            f"{gathered.rows_without_outcome:,} rows with nothing in column {label} are left out; "
            "if those loans were refused, the model knows only the kind that was approved"
        )
    if minority < LENDING_OUTCOMES_MIN:
        said.append(
            f"{outcomes}: with fewer than {LENDING_OUTCOMES_MIN} of each outcome this model is for "
            "study, not for lending"
        )
    said += [
        f"column {name}: {count:,} values such as NA or null are read as missing"
        for name, count in gathered.markers.items()
    ]
    if gathered.day_refused is not None:
        said.append(f"the dates are not used: {gathered.day_refused}")
    return said


def _judged(
    name: str, known: Field, gathered: Gathered, *, guessed: bool
) -> tuple[Column | None, str | None]:
    """Give the column where something can be learnt from it, and what to say about it."""
    if name in gathered.overflowing:
        reason: str | None = f"more than {VOCABULARY_MAX:,} different words name the rows"
    elif name in gathered.no_words:
        reason = f"it holds texts of more than {WORD_LENGTH_MAX} characters, or unprintable ones"
    else:
        column = gathered.columns[name]
        reason = quality.uselessness(column)
        if reason is None and guessed and quality.counts_rows(column):
            reason = "it numbers the rows"
        if reason is None:
            doubtful = guessed and quality.may_be_id(column)
            doubt = f"{known.name} differs in every row: if it is an id, --exclude {known.name}"
            return column, doubt if doubtful else None
    return None, f"column {name} is ignored: {reason}"


def _directed(catalogue: Catalogue, monotone: Mapping[str, Direction]) -> Catalogue:
    directions = {}
    for name, direction in monotone.items():
        place = catalogue.position.get(name)
        if place is None or not catalogue.fields[place].learnable:
            message = f"--monotone {name}: the model has no such field"
            raise TrainingProblem(message, hint=nearest_hint(name, catalogue.position))
        directions[catalogue.fields[place].name] = direction
    try:
        return catalogue.with_directions(directions)
    except AlamaError as error:
        raise TrainingProblem(f"--monotone: {error}") from error


def _nothing_left(reasons: Iterable[str]) -> TrainingProblem:
    return TrainingProblem("\n  ".join(["no column is left to learn from", *reasons]))


def _require(table: Table, name: str, option: str, also: Collection[str] = ()) -> None:
    if name not in table.names and name not in also:
        message = f"{table.path} has no column {name} ({option})"
        raise FileProblem(message, hint=nearest_hint(name, table.names))


def nearest_hint(name: str, known: Iterable[str]) -> str:
    """Say which of the known names was probably meant, or what they all are."""
    names = list(known)
    folded = {candidate.casefold(): candidate for candidate in names}
    near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f"did you mean {folded[near[0]]}?" if near else columns_hint(names)
