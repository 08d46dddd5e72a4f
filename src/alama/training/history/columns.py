"""What the columns of a file hold, where no catalogue says so: judged on all their values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from alama.core.catalogue import Field, Kind
from alama.core.errors import FileProblem
from alama.core.kernel import Column, Words, present
from alama.platform.files.columns import Looks, looks, numbers, without_markers
from alama.training.recipe import LEAF_ROWS_MAX, Recipe
from alama.training.validation.metrics import auc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from alama.platform.files.table import Table

    Floats = NDArray[np.float64]

    Labels = NDArray[np.int8]


LEAK_AUC: Final = 0.99
"""Nothing known before a loan is made tells its outcome this well."""

GIVEAWAY_AUC: Final = 0.9
"""Whole models of people with a bureau file stay below; one field known in time does by far."""

VALUES_ALONE: Final = "its values alone tell the outcome"

MOSTLY: Final = 0.95
"""A column is of the kind that this share of its values is of; the rest are slips of a pen."""

_OUTCOMES_MIN: Final = 20
"""With fewer of either outcome a column can tell them apart by chance."""

_BANDS: Final = 50
_DISTINCT_SHARE_MAX: Final = 0.5
_DISTINCT_FEW: Final = 20
_ROWS_LOOKED_AT: Final = 100_000
_ID_ROWS_MIN: Final = 1_000
"""In fewer rows whole amounts may well all differ."""

_BETWEEN_DIGITS: Final = str.maketrans("", "", " -().\u00a0")
_PHONE: Final = re.compile(
    r"""
    (?:\+|00)[1-9][0-9]{7,14}   # as it is dialled from abroad
    | 2[1-6][0-9][1-9][0-9]{8}  # the same without the sign: a code of Africa and nine digits
    | 0[1-9][0-9]{8}            # as it is dialled at home; zeros before a number make two
    """,
    re.VERBOSE,
)


_NATIONAL: Final = re.compile(
    r"""
    C[MF][0-9]{2}[0-9A-Z]{10}           # Uganda
    | GHA-?[0-9]{9}-?[0-9]              # Ghana
    | 1(?:19|20)[0-9]{2}[78][0-9]{8,10} # Rwanda
    | (?:19|20)[0-9]{6}-?[0-9]{5}-?[0-9]{5}-?[0-9]{2}  # Tanzania
    | [AP][0-9]{9}[A-Z]                 # tax numbers of Kenya
    | [0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{4}[01]8[0-9]  # South Africa
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Survey:
    """A field for each column worth reading (whole numbers not yet told apart), and the rest."""

    fields: dict[str, Field]
    warnings: tuple[str, ...]


def survey(table: Table, names: Sequence[str], watch: Callable[[], None]) -> Survey:
    """Read the columns once and say what each holds; `watch` is called after each batch."""
    as_written = dict.fromkeys(names, Looks())
    unmarked = dict.fromkeys(names, Looks())
    for batch in table.batches(names):
        for name in names:
            column = batch.column(name)
            found = _quick_looks(column)
            as_written[name] += found
            unmarked[name] += _quick_looks(without_markers(column)) if found.words else found
        watch()
    fields: dict[str, Field] = {}
    warnings: list[str] = []
    for name in names:
        kind, warning = _judge(name, as_written[name], unmarked[name])
        if kind is not None:
            fields[name] = Field(name=name, kind=kind)
        if warning is not None:
            warnings.append(warning)
    return Survey(fields, tuple(warnings))


def _quick_looks(column: pa.Array[Any]) -> Looks:
    """Count as `looks` does, but pass by its patterns where all values are numbers."""
    try:
        values = numbers(column, "")
    except FileProblem:
        return looks(column)
    missing = int(np.count_nonzero(np.isnan(values)))
    return Looks(missing=missing, numbers=len(values) - missing)


def _judge(name: str, as_written: Looks, unmarked: Looks) -> tuple[Kind | None, str | None]:
    """Give the kind of a column, None to leave it out, and what to say about it."""
    if not name:
        return None, "a column without a name is ignored"
    given = as_written.numbers + as_written.days + as_written.booleans + as_written.words
    if not given:
        return None, f"column {name} is ignored: it is empty"
    if as_written.days >= MOSTLY * given:
        return None, (
            f"column {name} is ignored: it holds dates, and a model of dates would not outlive "
            "them; give it as a number, such as the months since then"
        )
    without = unmarked.numbers + unmarked.days + unmarked.booleans + unmarked.words
    if unmarked.numbers and unmarked.numbers >= MOSTLY * without:
        return Kind.NUMBER, None  # reading it again names the row of a value that is no number
    if as_written.numbers:
        return Kind.WORD, (
            f"column {name} holds numbers ({as_written.numbers / given:.0%}) and other text, "
            "so all of it is read as words"
        )
    return Kind.WORD, None


# --------------------------------------------------------------------- what a column is no good for


def uselessness(column: Column) -> str | None:
    """Say why nothing can be learnt from a column, None where something can."""
    given = present(column)
    if not given.any():
        return "it is empty in every row with a known outcome"
    values = column.codes if isinstance(column, Words) else column
    if given.all() and (values == values[0]).all():
        return "it holds the same value in every row with a known outcome"
    return _words_uselessness(column) if isinstance(column, Words) else None


def _words_uselessness(column: Words) -> str | None:
    counts = np.bincount(column.codes[column.codes >= 0])
    distinct, given = int(np.count_nonzero(counts)), int(counts.sum())
    if distinct > max(_DISTINCT_FEW, _DISTINCT_SHARE_MAX * given):
        return f"{distinct:,} different words in {given:,} rows name the rows, as an id does"
    recipe = Recipe()
    least = int(np.ceil(max(LEAF_ROWS_MAX, recipe.word_share_min * len(column.codes))))
    if counts.max() < least:
        return f"none of its {distinct:,} words stands in {least:,} rows or more"
    return None


def is_whole(column: Column) -> bool:
    """Say whether a column holds whole numbers only."""
    if isinstance(column, Words):
        return False
    given = column[~np.isnan(column)]
    return bool((given == np.floor(given)).all())


def counts_rows(column: Column) -> bool:
    """Say whether a column is a row counter, in any order."""
    if isinstance(column, Words) or np.isnan(column).any():
        return False
    return float(column.max() - column.min()) == len(column) - 1 and _all_differ(column)


def may_be_id(column: Column) -> bool:
    """Say whether whole numbers differ in every row, as those of accounts and phones do."""
    if isinstance(column, Words) or len(column) < _ID_ROWS_MIN or np.isnan(column).any():
        return False
    return is_whole(column) and _all_differ(column)


def _all_differ(values: Floats) -> bool:
    return len(np.unique(values)) == len(values)


def may_be_phone(word: str) -> bool:
    """Say whether a word is written as phone numbers are. Some other long numbers are as well."""
    return _PHONE.fullmatch(word.translate(_BETWEEN_DIGITS)) is not None


def may_be_national(word: str) -> bool:
    """Say whether a word is written as numbers are that a state gives to a person."""
    return _NATIONAL.fullmatch(word.replace(" ", "")) is not None


# ---------------------------------------------------------------------------------------- giveaways


@dataclass(frozen=True, slots=True)
class Giveaway:
    """How well a column alone ranks defaults above repaid loans, and by what of it."""

    auc: float
    why: str

    @property
    def certain(self) -> bool:
        """Say whether this alone shows a leak; values that are merely strong do not."""
        return self.auc >= LEAK_AUC or self.why != VALUES_ALONE


def giveaway(column: Column, labels: Labels) -> Giveaway | None:
    """Say how a column tells the outcome too well to have been known before the loan, else None.

    More is doubted than by `knows_outcome`: a model for lending is at stake, and a person decides.
    """
    step = max(1, -(-len(labels) // _ROWS_LOOKED_AT))
    labels, column = labels[::step], _every(column, step)
    given = present(column)
    if min(np.count_nonzero(labels), np.count_nonzero(labels == 0)) < _OUTCOMES_MIN:
        return None
    if not given.all():
        area = auc(labels, given.astype(np.float64))
        if max(area, 1.0 - area) >= GIVEAWAY_AUC:
            side = "defaulted" if area > 0.5 else "was repaid"  # noqa: PLR2004 - a coin's area
            return Giveaway(max(area, 1.0 - area), f"it is given mostly where the loan {side}")
    if not given.any():
        return None
    area = _area_alone(column, labels)
    return Giveaway(area, VALUES_ALONE) if area >= GIVEAWAY_AUC else None


def area_alone(column: Column, labels: Labels) -> float:
    """Give the AUC of a column by itself; some values must be given, and both outcomes."""
    step = max(1, -(-len(labels) // _ROWS_LOOKED_AT))
    return _area_alone(_every(column, step), labels[::step])


def _area_alone(column: Column, labels: Labels) -> float:
    area = _unseen_rates_auc(_bands(column), labels)
    return area if isinstance(column, Words) else max(area, _numbers_auc(column, labels))


def _every(column: Column, step: int) -> Column:
    if isinstance(column, Words):
        return Words(column.codes[::step], column.vocabulary)
    return column[::step]


def _bands(column: Column) -> NDArray[np.intp]:
    """Give small numbers: words by their codes, numbers by their place among quantiles."""
    if isinstance(column, Words):
        return column.codes.astype(np.intp) + 1
    given = ~np.isnan(column)
    edges = np.unique(np.quantile(column[given], np.linspace(0.0, 1.0, _BANDS + 1)))
    return np.where(given, np.searchsorted(edges, column, side="right") + 1, 0)


def _unseen_rates_auc(codes: NDArray[np.intp], labels: Labels) -> float:
    """Rank rows by the default rate of their code among the other half of the rows.

    Rates of the very rows they rank would praise any column of many codes.
    """
    half = np.arange(len(codes)) % 2
    told = np.empty(len(codes))
    for side in (0, 1):
        others = half != side
        base = labels[others].mean()
        counts = np.bincount(codes[others], minlength=codes.max() + 1)
        bad = np.bincount(codes[others], weights=labels[others], minlength=codes.max() + 1)
        told[~others] = ((bad + base) / (counts + 1.0))[codes[~others]]
    return auc(labels, told)


def knows_outcome(column: Column, labels: Labels) -> float | None:
    """Give the AUC of a column that tells the outcome almost by itself, else None."""
    step = -(-len(labels) // _ROWS_LOOKED_AT)
    labels = labels[::step]
    if not 0 < np.count_nonzero(labels) < len(labels):
        return None
    if isinstance(column, Words):
        best = _rates_auc(column.codes[::step] + 1, labels)
    else:
        best = max(_numbers_auc(column[::step], labels), _rare_values_auc(column[::step], labels))
    return best if best >= LEAK_AUC else None


def _numbers_auc(values: Floats, labels: Labels) -> float:
    """Rank by the value, with what is missing at either end."""
    given = values[~np.isnan(values)]
    areas = [
        auc(labels, np.nan_to_num(values, nan=end))
        for end in {float(given.min()) - 1.0, float(given.max()) + 1.0}
    ]
    return max(max(area, 1.0 - area) for area in areas)


def _rare_values_auc(values: Floats, labels: Labels) -> float:
    """Rank a column of few values (states, codes) by the default rate of each."""
    found, codes = np.unique(values, return_inverse=True)
    if len(found) > len(values) / LEAF_ROWS_MAX:
        return 0.5
    return _rates_auc(codes.ravel(), labels)


def _rates_auc(codes: NDArray[np.integer], labels: Labels) -> float:
    counts = np.bincount(codes)
    # A word met once or twice tells the outcome of its own rows and nothing else: pool such words.
    pooled = np.where(counts < LEAF_ROWS_MAX, 0, np.arange(len(counts)))
    pool = pooled[codes]
    rates = np.bincount(pool, weights=labels) / np.maximum(np.bincount(pool), 1)
    return auc(labels, rates[pool])
