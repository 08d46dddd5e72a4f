"""What a history is made of that a count of rows does not show, each finding with its size.

New loans that pay for old ones, several products in one file, months from which on something is
recorded in another way, defaults that are written down late, ids that name a person. All of it is
held against what chance does to a history in which there is none of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alama.core.kernel import Column, Words
from alama.training.history.report import Oddity, OddityKind
from alama.training.validation.metrics import auc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from alama.training.history.rows import Book

    Days = NDArray[np.datetime64]
    Mask = NDArray[np.bool_]
    Counts = NDArray[np.int64]

SURE: Final = 5.0
"""Standard errors by which a finding is held to be no chance: hundreds of figures are looked at."""

NEAR_DAYS: Final = 3
"""So many days before or after a loan was due, a new one is likely to have paid for it."""

_AROUND_DAYS: Final = 14
_BESIDE_DAYS: Final = 60
_COUNTED_SHARE: Final = 0.2
_EXCESS_MIN: Final = 30
_ROLLOVERS_BEYOND: Final = 0.5
_TOP_UPS_BEYOND: Final = 0.25
"""Of what is expected: in clean books, what is counted is up to 0.23 and 0.11 beyond it."""

_EXCESS_SHARE: Final = 0.005
"""Of all loans: fewer that follow each other closely are of no weight, and may be chance."""

_WINDOW_MONTHS: Final = 3
_WINDOW_ROWS_MIN: Final = 200
_RATE_RATIO: Final = 1.5
_LEVEL_RATIO: Final = 1.6
_LEVEL_AUC: Final = 0.6
_MISSING_STEP: Final = 0.25
_WORDS_STEP: Final = 0.3
_YOUNG_DAYS: Final = 60
_OLDER_DAYS: Final = 240
_LATE_RATIO: Final = 0.65
_GAP: Final = 3.0
_PART_MIN: Final = 0.03
_APART: Final = 5.0

_EARLIER: Final = re.compile(
    r"(?:previous|prior|parent|original|earlier|old|last|refinanc\w*|renew\w*|roll(?:ed)?[ _-]?over"
    r"|top[ _-]?up|precedent|precedente|ancien|anterieur|awali|uliopita|zamani)",
    re.IGNORECASE,
)
_OF_LOAN: Final = re.compile(
    r"loan|pret|credit|mkopo|contract|account|facility|id$|ref", re.IGNORECASE
)
_PRODUCT: Final = re.compile(
    r"product|produit|bidhaa|scheme|loan[ _-]?type|type[ _-]?of[ _-]?loan", re.IGNORECASE
)

_UNITS: Final = (
    (1000.0, "thousands for units, or units for thousands"),
    (100.0, "hundredths for units, such as cents, or another currency"),
    (30.4, "a day for a month, or a month for a day"),
    (12.0, "a month for a year, or a year for a month"),
    (4.33, "a week for a month, or a month for a week"),
)
_LIKE: Final = 1.25


def of_loans(
    book: Book, fields: Mapping[str, Column], mature: Mask, bad: Mask, days_past_due: int
) -> list[Oddity]:
    """Find what is odd in the loans and in the fields of applications."""
    late = _recorded_late(book, mature, bad, days_past_due)
    rate = [] if late else _rate_break(book, mature, bad)
    levels = _level_breaks(fields, book.applied_on)
    return [*_rollovers(book), *_mixed(book), *late, *rate, *levels]


# ----------------------------------------------------------------------------------- rollovers


def _rollovers(book: Book) -> list[Oddity]:
    """Find loans that follow a loan of the same borrower too closely for chance."""
    booked = np.flatnonzero(book.booked & (book.borrower != 0) & ~np.isnat(book.due_on))
    order = booked[np.lexsort((book.disbursed_on[booked], book.borrower[booked]))]
    follows = book.borrower[order[1:]] == book.borrower[order[:-1]]
    earlier, later = order[:-1][follows], order[1:][follows]
    if not len(later):
        return []
    gap = (book.disbursed_on[later] - book.due_on[earlier]) / np.timedelta64(1, "D")
    late = np.nan_to_num(book.days_past_due[earlier])
    term = (book.due_on[earlier] - book.disbursed_on[earlier]) / np.timedelta64(1, "D")
    beside = (gap > late + NEAR_DAYS) & (gap <= late + NEAR_DAYS + _BESIDE_DAYS)
    a_day = max(int(np.count_nonzero(beside)), 1) / _BESIDE_DAYS
    found = []
    # Borrowers come back the more often the shorter a loan is over: near the day on which it was
    # due what is usual is told by the weeks around that day, not by the two months after it.
    around = (np.abs(gap) > NEAR_DAYS) & (np.abs(gap) <= NEAR_DAYS + _AROUND_DAYS)
    usual = max(a_day, int(np.count_nonzero(around)) / (2.0 * _AROUND_DAYS))
    near = usual * (2.0 * NEAR_DAYS + 1.0)
    close = (gap >= -NEAR_DAYS) & (gap <= late + NEAR_DAYS)
    at_once = np.abs(gap) <= NEAR_DAYS
    many = max(
        _beyond(close, near + a_day * float(late.mean()), len(booked), _ROLLOVERS_BEYOND),
        _beyond(at_once, near, len(booked), _ROLLOVERS_BEYOND),
    )
    if many:
        words = (
            f"about {many:,} loans were given to a borrower within {NEAR_DAYS} days of the day on "
            "which another one was due, or while that was unpaid: rollovers. The old loan may look "
            "repaid because the new one has paid it"
        )
        found.append(Oddity(OddityKind.ROLLOVERS, words, many, many / len(booked)))
    running = gap < -NEAR_DAYS
    by_chance = 2.0 * a_day * float(np.maximum(term - NEAR_DAYS, 0.0).mean())
    if many := _beyond(running, by_chance, len(booked), _TOP_UPS_BEYOND):
        words = (
            f"about {many:,} loans were given while another loan of the same borrower was not due: "
            "top-ups, or loans side by side. What is owed together is not in the file"
        )
        found.append(Oddity(OddityKind.TOP_UPS, words, many, many / len(booked)))
    return found


def _beyond(chosen: Mask, expected: float, loans: int, share: float) -> int:
    """Give how many more there are than expected, where that is no chance; else 0."""
    many = int(np.count_nonzero(chosen))
    surplus = many - expected
    least = max(_EXCESS_MIN, share * expected, _EXCESS_SHARE * loans)
    is_odd = surplus > SURE * np.sqrt(expected + 1.0) and surplus > least
    return round(surplus) if is_odd else 0


# ----------------------------------------------------------------------------------- products


def _mixed(book: Book) -> list[Oddity]:
    """Find two kinds of loans: their terms or amounts lie far apart, with nothing between."""
    booked = book.booked
    amount, term = book.amount[booked], book.term_days[booked]
    for values, what in ((amount, "amounts"), (term, "terms")):
        given = values[~np.isnan(values) & (values > 0)]
        cut = _gap(given)
        if cut is None:
            continue
        few = min(np.count_nonzero(given < cut), np.count_nonzero(given >= cut))
        high = np.median(given[given >= cut]) / np.median(given[given < cut])
        if high < _APART:
            continue
        words = (
            f"{few:,} loans have {what} of another kind than the rest, some {high:,.0f} times "
            "apart with nothing between: mixed products. A model of each alone may rank better"
        )
        return [Oddity(OddityKind.PRODUCTS, words, int(few), few / max(len(given), 1))]
    return []


def _gap(values: NDArray[np.float64]) -> float | None:
    """Give where sorted values leap by a factor, with enough of them on either side."""
    if len(values) < _WINDOW_ROWS_MIN:
        return None
    ordered = np.sort(values)
    least = int(np.ceil(_PART_MIN * len(ordered)))
    leaps = ordered[least:-least] / ordered[least - 1 : -least - 1]
    place = int(np.argmax(leaps))
    return float(ordered[least + place]) if leaps[place] >= _GAP else None


# ----------------------------------------------------------------------------------- months


class _Step(NamedTuple):
    """A month from which on something is otherwise, how sure that is, and from what to what."""

    month: np.datetime64
    rows: int
    strength: float
    before: float
    after: float


def _windows(month: NDArray[np.datetime64]) -> list[tuple[np.datetime64, Mask, Mask]]:
    """Give each month with the rows of the months before it and of those from it on."""
    first, last = month.min(), month.max()
    told = []
    for number in range(_WINDOW_MONTHS, int((last - first).astype(int)) - _WINDOW_MONTHS + 2):
        start = first + number
        before = (month >= start - _WINDOW_MONTHS) & (month < start)
        after = (month >= start) & (month < start + _WINDOW_MONTHS)
        if min(np.count_nonzero(before), np.count_nonzero(after)) >= _WINDOW_ROWS_MIN:
            told.append((start, before, after))
    return told


def _rate_break(book: Book, mature: Mask, bad: Mask) -> list[Oddity]:
    if not mature.any():
        return []
    month, defaults = book.applied_on[mature].astype("datetime64[M]"), bad[mature]
    steps = []
    for start, before, after in _windows(month):
        one, other = defaults[before].mean(), defaults[after].mean()
        both = defaults[before | after].mean()
        error = np.sqrt(
            both * (1.0 - both) * (1.0 / np.count_nonzero(before) + 1.0 / np.count_nonzero(after))
        )
        high, low = max(one, other), min(one, other)
        if error > 0 and abs(one - other) > SURE * error and high >= _RATE_RATIO * low:
            rows = int(np.count_nonzero(month >= start))
            steps.append(_Step(start, rows, abs(one - other) / error, float(one), float(other)))
    if not steps:
        return []
    step = max(steps, key=lambda one: one.strength)
    lent = _approvals(book, step.month)
    cause = lent or (
        "the definition of a default, or how repayments are recorded, may have changed then; or "
        "other borrowers came"
    )
    words = (
        f"from {step.month} on {step.after:.1%} of the loans default, {step.before:.1%} in the "
        f"months before: a break in the default rate. Likely cause: {cause}"
    )
    return [Oddity(OddityKind.RATE, words, step.rows, step.rows / max(len(month), 1))]


def _approvals(book: Book, start: np.datetime64) -> str | None:
    """Say whether another share of applications became loans from this month on."""
    month = book.applied_on.astype("datetime64[M]")
    shares = [
        book.booked[(month >= a) & (month < a + _WINDOW_MONTHS)].mean()
        for a in (start - _WINDOW_MONTHS, start)
    ]
    if abs(shares[0] - shares[1]) < 0.1:  # noqa: PLR2004 - a tenth of all applications
        return None
    return (
        f"{shares[1]:.0%} of the applications became loans since then, {shares[0]:.0%} before: the "
        "policy changed"
    )


def _level_breaks(fields: Mapping[str, Column], applied_on: Days) -> list[Oddity]:
    if not len(applied_on):
        return []
    month = applied_on.astype("datetime64[M]")
    windows = _windows(month)
    found = []
    for name, column in fields.items():
        tried = (_level_step(column, month, *one) for one in windows)
        steps = [step for step in tried if step is not None]
        if not steps:
            continue
        place, words = max(steps, key=lambda one: one[0].strength)
        told = f"from {place.month} on {name} {words}"
        share = place.rows / len(month)
        found.append(Oddity(OddityKind.LEVEL, told, place.rows, share, name))
    return found


def _level_step(
    column: Column, month: NDArray[np.datetime64], start: np.datetime64, before: Mask, after: Mask
) -> tuple[_Step, str] | None:
    rows = int(np.count_nonzero(month >= start))
    given = column.codes >= 0 if isinstance(column, Words) else ~np.isnan(column)
    one, other = 1.0 - given[before].mean(), 1.0 - given[after].mean()
    if abs(one - other) >= _MISSING_STEP:
        step = _Step(start, rows, 10.0 * abs(one - other), one, other)
        how = "is no longer filled in as before" if other > one else "is filled in as never before"
        cause = "another form, or another system"
        return step, (
            f"is missing in {other:.0%} of the rows, {one:.0%} before: it {how}. Likely cause: "
            f"{cause}"
        )
    before, after = before & given, after & given
    if min(np.count_nonzero(before), np.count_nonzero(after)) < _WINDOW_ROWS_MIN:
        return None
    if isinstance(column, Words):
        return _words_step(column, start, rows, before, after)
    return _numbers_step(column, start, rows, before, after)


def _words_step(
    column: Words, start: np.datetime64, rows: int, before: Mask, after: Mask
) -> tuple[_Step, str] | None:
    size = len(column.vocabulary)
    shares = [np.bincount(column.codes[one], minlength=size) / one.sum() for one in (before, after)]
    moved = float(np.abs(shares[0] - shares[1]).sum()) / 2.0
    if moved < _WORDS_STEP:
        return None
    step = _Step(start, rows, moved, 0.0, moved)
    return step, (
        f"holds other words: {moved:.0%} of the rows say something else than before. Likely cause: "
        "other codes, another form, or other applicants"
    )


def _numbers_step(
    column: NDArray[np.float64], start: np.datetime64, rows: int, before: Mask, after: Mask
) -> tuple[_Step, str] | None:
    one, other = float(np.median(column[before])), float(np.median(column[after]))
    if min(one, other) <= 0.0:
        return None
    ratio = max(one, other) / min(one, other)
    if ratio < _LEVEL_RATIO:
        return None
    labels = np.concatenate([np.zeros(before.sum(), np.int8), np.ones(after.sum(), np.int8)])
    area = auc(labels, np.concatenate([column[before], column[after]]))
    if max(area, 1.0 - area) < _LEVEL_AUC:
        return None
    step = _Step(start, rows, float(np.log(ratio)), one, other)
    unit = next((told for by, told in _UNITS if by / _LIKE <= ratio <= by * _LIKE), None)
    cause = f"another unit ({unit})" if unit else "another way to work it out, or other applicants"
    way = "higher" if other > one else "lower"
    return step, (
        f"is about {ratio:,.3g} times {way} than before: a break in its level. Likely cause: "
        f"{cause}"
    )


# ----------------------------------------------------------------------------------- late records


def _recorded_late(book: Book, mature: Mask, bad: Mask, days_past_due: int) -> list[Oddity]:
    """Find loans that have just matured and default less often than those a little older."""
    since = (book.observed_on - book.due_on) / np.timedelta64(1, "D") - days_past_due
    young = mature & (since <= _YOUNG_DAYS)
    older = mature & (since > _YOUNG_DAYS) & (since <= _OLDER_DAYS)
    many, others = int(np.count_nonzero(young)), int(np.count_nonzero(older))
    if min(many, others) < _WINDOW_ROWS_MIN:
        return []
    one, other = bad[older].mean(), bad[young].mean()
    error = np.sqrt(one * (1.0 - one) * (1.0 / many + 1.0 / others))
    if other > _LATE_RATIO * one or one - other < SURE * error:
        return []
    lacking = round((one - other) * many)
    words = (
        f"of {many:,} loans that matured in the last {_YOUNG_DAYS} days before the books were read "
        f"{other:.1%} are defaults, of those a little older {one:.1%}: about {lacking:,} defaults "
        "seem to be recorded late. Read the books again later, or leave these loans out"
    )
    return [Oddity(OddityKind.LATE, words, lacking, many / max(int(mature.sum()), 1))]


# ----------------------------------------------------------------------------------- columns


def of_columns(columns: Mapping[str, pa.Array[Any]], looked_at: int, rows: int) -> list[Oddity]:
    """Find columns that name an earlier loan or a product, among those that no request has.

    `columns` are those of `looked_at` loans; sizes are given for as many as there are `rows`.
    """
    found = []
    for name, column in columns.items():
        texts = pc.utf8_trim_whitespace(column.cast(pa.string())) if len(column) else column
        given = [t for t in texts.to_pylist() if t and t.casefold() not in _NOTHING]
        share = len(given) / looked_at if looked_at else 0.0
        if given and _EARLIER.search(name) and _OF_LOAN.search(name) and not _counts(given):
            many = round(share * rows)
            words = (
                f"column {name} names an earlier loan in about {many:,} rows: these loans may have "
                "paid for others"
            )
            found.append(Oddity(OddityKind.EARLIER, words, many, share, name))
        elif given and _PRODUCT.search(name):
            found += _products(name, given, share, rows)
    return found


_NOTHING: Final = frozenset(("no", "none", "0", "0.0", "false", "na", "n/a", "null", "-", "nil"))


def _counts(given: Sequence[str]) -> bool:
    """Say whether values count loans rather than name them: few numbers, again and again."""
    told = set(given)
    is_few = 1 < len(told) < _COUNTED_SHARE * len(given)
    return is_few and all(text.replace(".", "", 1).isdecimal() for text in told)


def _products(name: str, given: Sequence[str], share: float, rows: int) -> list[Oddity]:
    _, counts = np.unique([text.casefold() for text in given], return_counts=True)
    common = np.sort(counts[counts >= _PART_MIN * len(given)])[::-1]
    if len(common) < 2:  # noqa: PLR2004 - one product is no mixture
        return []
    rest = (len(given) - int(common[0])) / len(given)
    many = round(share * rest * rows)
    words = (
        f"column {name} tells {len(common)} products apart; about {many:,} loans are of another "
        "than the commonest: mixed products. A model of each alone may rank better"
    )
    return [Oddity(OddityKind.PRODUCTS, words, many, rest * share, name)]


# ----------------------------------------------------------------------------------- ids


def of_ids(phones: int, nationals: int, rows: int) -> list[Oddity]:
    """Tell of ids that name a person, at any count."""
    found = []
    for many, what in ((phones, "phone numbers"), (nationals, "national or tax numbers")):
        if many:
            words = (
                f"{many:,} of {rows:,} borrower_id look like {what}: put words of your own in "
                "their place, which mean nothing elsewhere"
            )
            found.append(Oddity(OddityKind.IDS, words, many, many / max(rows, 1), "borrower_id"))
    return found
