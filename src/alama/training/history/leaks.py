"""Whether a column was changed after the outcome, told from how strong it is.

What was known in time looks, in rows whose outcome is not known yet (fresh ones), like the mixture
of repaid and defaulted loans that it will become. What is written afterwards is not there yet:
fresh rows look like repaid ones. So two small models are held beside each other, one that knows the
column and one that does not. Their mean forecasts for fresh rows agree where the column is honest,
whoever the fresh applicants are. Where it is not, the first foresees too few defaults. The test is
the score test of "a share of its power is not there yet", so none finds small leaks more often.

Where no row is fresh, marks are left: a value that stands only where loans defaulted, numbers that
are not written as elsewhere, power that grows with the age of the loan, or that is beyond what the
field has where its truth is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core.kernel import Column, Words, present
from alama.training.dataset import take_column
from alama.training.validation.metrics import auc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

    Labels = NDArray[np.int8]

    Mask = NDArray[np.bool_]

    Codes = NDArray[np.intp]


FALSE_QUESTIONS: Final = 0.05
"""In one honest table of twenty chance alone has a column doubted, however many it has."""

_SURE: Final = 2.5
"""Standard errors by which a figure is held to be no chance where few are looked at."""

LOST_MIN: Final = 0.15
"""Less of a column's power than this may be gone by drift alone."""

_BORNE_OUT_MAX: Final = 0.4
"""Fresh rows that may lack less than this show a strong column to be honest."""

_COMMON_MAX: Final = 0.5
"""So much of all columns' power may be gone because safer people apply; more is no drift."""

AUC_MIN: Final = 0.55
"""A column that hardly tells anything does no harm, whenever it was written."""

_OUTCOMES_MIN: Final = 30
"""With fewer defaults, known or to be expected of the fresh rows, a column differs by chance."""

_POWER_MIN: Final = 1e-12
_ROWS_MAX: Final = 30_000
_COLUMNS_MIN: Final = 5
_COLUMNS_MAX: Final = 60
"""The strongest are looked at: a weaker one beside so many changes little."""

_BANDS: Final = 20
_HEAVY_SHARE: Final = 0.01
_HEAVY_ROWS_MIN: Final = 20
_HEAVY_MAX: Final = 60
_WORDS_MAX: Final = 8
_PRIOR_ROWS: Final = 10.0
_RIDGE: Final = 5.0
_NEWTON_STEPS_MAX: Final = 15
_HALVINGS_MAX: Final = 6
_LOSS_TOLERANCE: Final = 1e-2
"""Of a log likelihood: far below what chance moves."""

_RISK_MAX: Final = 0.8
"""Where more is foreseen a row would outweigh hundreds of others."""

_COHORTS: Final = 5
_COHORTS_MOVED: Final = 2.4
"""Cohort means spread so many times further than chance has them do in one history of twenty."""

_MEDIAN_ERROR: Final = 1.25
"""The standard error of a median beside that of a mean."""

_PURE_ROWS_MIN: Final = 30
_PURE_SHARE: Final = 0.97
_NEAR_ROWS: Final = 20
_OFF_GRID_MIN: Final = 0.1
_OFF_GRID_CHANCE: Final = 4.0
_AGED_CHANCE: Final = 3.5
_AGED_MIN: Final = 0.05
_UNUSUAL: Final = 0.08
"""So much more than in the synthetic population a field may tell elsewhere without a question."""

FRESH: Final = (
    "among loans whose outcome is not known yet it looks like those repaid: it may have been "
    "changed afterwards"
)
VALUE: Final = "one of its values stands almost only where the loan defaulted"
MISSING: Final = "it is missing almost only where the loan defaulted"
GRID: Final = (
    "where the loan defaulted its numbers are not written as elsewhere: they may have been "
    "computed afterwards"
)
AGED: Final = (
    "it tells the outcome of older loans better than that of younger ones: it may have gone on "
    "changing after the loan"
)

USUAL_AUC: Final[Mapping[str, float]] = {
    "mm_months": 0.65,
    "avg_inflow": 0.64,
    "avg_outflow": 0.60,
    "avg_balance": 0.66,
    "balance_stability": 0.66,
    "counterparties": 0.65,
    "tx_frequency": 0.64,
    "weekend_activity": 0.58,
    "airtime_avg": 0.59,
    "airtime_freq": 0.58,
    "airtime_regularity": 0.65,
    "device_type": 0.60,
    "device_age_months": 0.55,
    "requested_amount": 0.54,
    "requested_term_days": 0.54,
    "loan_purpose": 0.53,
    "region": 0.52,
}
"""The most that a field of a request tells alone in eight populations of `alama population`, where
nothing leaks; `python -m bench.onboarding.leaks --usual` measures it."""


@dataclass(frozen=True, slots=True)
class Books:
    """Columns of all rows; which have a `known` outcome, those outcomes, and when each was made.

    `labels` stand beside the known rows only, `days` beside all rows; None where nobody says.
    `usual` has the most that a column is known to tell alone, where that is known.
    """

    columns: Mapping[str, Column]
    known: Mask
    labels: Labels
    days: NDArray[np.datetime64] | None = None
    usual: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Why columns are doubted, and which of them fresh rows bear out to have been in time.

    Columns are doubted for a sign of a later hand, or are merely `unusual`: stronger than their
    kind, which is worth a question where fresh rows do not answer it.
    """

    doubts: Mapping[str, str]
    unusual: Mapping[str, str]
    borne_out: frozenset[str]


def judge(books: Books) -> Judgement:
    """Doubt columns on evidence that they were written after the outcome, never on strength."""
    books = _fewer(books)
    bad = int(np.count_nonzero(books.labels))
    if min(bad, len(books.labels) - bad) < _OUTCOMES_MIN:
        return Judgement({}, {}, frozenset())
    fresh = gone(books)
    doubts = {name: FRESH for name, lost in fresh.items() if lost.doubted}
    places = np.flatnonzero(books.known)
    days = None if books.days is None else books.days[places]
    unusual: dict[str, str] = {}
    for name, column in books.columns.items():
        known = take_column(column, places)
        if name in doubts or not present(known).any():
            continue
        why = marks(known, books.labels, days)
        if why is not None:
            doubts[name] = why
        elif name in books.usual and not (name in fresh and fresh[name].borne_out):
            why = _beyond(books.usual[name], known, books.labels)
            unusual |= {} if why is None else {name: why}
    honest = {name for name, lost in fresh.items() if lost.borne_out and name not in doubts}
    return Judgement(doubts, unusual, frozenset(honest))


def _fewer(books: Books) -> Books:
    """Look at so many rows of either kind only."""
    chosen = []
    for kind in (books.known, ~books.known):
        places = np.flatnonzero(kind)
        chosen.append(places[:: max(1, -(-len(places) // _ROWS_MAX))])
    rows = np.sort(np.concatenate(chosen))
    if len(rows) == len(books.known):
        return books
    label_of = np.full(len(books.known), -1, dtype=np.int8)
    label_of[books.known] = books.labels
    return replace(
        books,
        columns={name: take_column(column, rows) for name, column in books.columns.items()},
        known=books.known[rows],
        labels=label_of[rows[books.known[rows]]],
        days=None if books.days is None else books.days[rows],
    )


# --------------------------------------------------------------------------- what fresh rows lack


@dataclass(frozen=True, slots=True)
class Lost:
    """The share of a column's power that fresh rows lack (0 none, 1 all), and how sure that is.

    `common` is what all columns lack alike, because other people apply; it is no leak. So many
    `columns` were looked at; the more there are, the further out one of them lies by chance.
    """

    share: float
    error: float
    common: float
    columns: int

    @property
    def sureness(self) -> float:
        """Give how many standard errors its own lack is from none."""
        return (self.share - self.common) / self.error

    @property
    def doubted(self) -> bool:
        """Say whether so much is gone that neither chance nor drift explains it."""
        chance = -NormalDist().inv_cdf(FALSE_QUESTIONS / max(self.columns, _COLUMNS_MIN))
        return self.sureness >= chance and self.share - self.common >= LOST_MIN

    @property
    def borne_out(self) -> bool:
        """Say whether the fresh rows show that hardly any of its power is gone."""
        return abs(self.share) + _SURE * self.error < _BORNE_OUT_MAX


def enough_fresh(rows: int, labels: Labels) -> bool:
    """Say whether so many fresh rows can show that something is not there yet."""
    return bool(len(labels)) and rows * min(labels.mean(), 1.0 - labels.mean()) >= _OUTCOMES_MIN


def gone(books: Books) -> dict[str, Lost]:
    """Measure what fresh rows lack of the power of each column that tells something.

    Nothing is measured where few rows are fresh. A leak makes its honest neighbours look odd, so a
    column stays doubted only if it is also without those that are clearer leaks.
    """
    if not enough_fresh(int(np.count_nonzero(~books.known)), books.labels):
        return {}
    areas = {n: auc(books.labels, _others_rates(c, books)) for n, c in books.columns.items()}
    told = sorted((n for n in areas if areas[n] >= AUC_MIN), key=lambda name: -areas[name])
    logits = {
        name: _log_odds(_bands(books.columns[name], books.known), books)
        for name in told[:_COLUMNS_MAX]
    }
    weak = [n for n in books.columns if n not in logits and present(books.columns[n]).any()]
    ground = _ground([books.columns[name] for name in weak[:_COLUMNS_MAX]], books)
    found = _measured(logits, ground, books)
    surer = sorted((n for n in found if found[n].doubted), key=lambda name: -found[name].sureness)
    for place, name in enumerate(surer[1:], 1):
        clearer = {n for n in surer[:place] if found[n].doubted}
        rest = {n: values for n, values in logits.items() if n not in clearer}
        found[name] = replace(_measured(rest, ground, books)[name], columns=len(logits))
    return found


def _measured(logits: Mapping[str, Floats], ground: Floats, books: Books) -> dict[str, Lost]:
    if not logits:
        return {}
    design = np.column_stack([np.ones(len(books.known)), *logits.values()])
    fit = _fit(design[books.known], books.labels)
    with_all = _probabilities(design @ fit.weights)
    known, fresh = np.count_nonzero(books.known), np.count_nonzero(~books.known)
    shares, errors = np.zeros(len(logits)), np.zeros(len(logits))
    for place in range(len(logits)):
        without = _without(place + 1, fit, design, books)
        score = (without - with_all) / (1.0 - np.minimum(without, _RISK_MAX))
        # The variance of the score is also what its mean moves by where all power is gone.
        power = max(float(score[books.known].var()), _POWER_MIN)
        score = _levelled(score, ground, books)
        moved = score[~books.known].mean() - score[books.known].mean()
        chance = power * (1.0 / known + 1.0 / fresh) + _drifting(score, power, books)
        shares[place], errors[place] = moved / power, np.sqrt(chance) / power
    told = {}
    for place, name in enumerate(logits):
        others = np.arange(len(logits)) != place
        common = _common(shares[others], errors[others]) if others.any() else 0.0
        told[name] = Lost(float(shares[place]), float(errors[place]), common, len(logits))
    return told


def _common(shares: Floats, errors: Floats) -> float:
    """Give what other columns lack alike, as far as it is no chance, whichever of them leaks.

    Where safer people apply than before, every column lacks about the same share of its power.
    """
    surely = []
    for place in range(len(shares)):
        rest = np.arange(len(shares)) != place
        weights = errors[rest] ** -2.0
        if len(weights):
            error = _MEDIAN_ERROR / np.sqrt(weights.sum())
            surely.append(_middle(shares[rest], weights) - error)
    return float(np.clip(min(surely, default=0.0), 0.0, _COMMON_MAX))


def _ground(columns: Sequence[Column], books: Books) -> Floats:
    """Give what columns that hardly tell the outcome say of who is fresh, such as long terms."""
    parts = [part for column in columns for part in _features(column)]
    ground = np.column_stack([np.zeros(len(books.known)), *parts])
    centred: Floats = ground - ground[books.known].mean(axis=0)
    return centred


def _features(column: Column) -> list[Floats]:
    if isinstance(column, Words):
        counts = np.bincount(column.codes[column.codes >= 0])
        common = np.argsort(-counts, kind="stable")[:_WORDS_MAX]
        return [(column.codes == code).astype(np.float64) for code in common]
    given = ~np.isnan(column)
    order = np.sort(column[given])
    place = np.searchsorted(order, column, "left") + np.searchsorted(order, column, "right")
    share = np.where(given, place / len(order) - 1.0, 0.0)
    return [share, share**2, given.astype(np.float64)]


def _levelled(score: Floats, ground: Floats, books: Books) -> Floats:
    """Take out of a score what is foreseen of it by who is fresh, as the known rows have it."""
    known = ground[books.known]
    products = known.T @ known + _RIDGE * np.eye(ground.shape[1])
    told: Floats = score - ground @ np.linalg.solve(products, known.T @ score[books.known])
    return told


def _drifting(score: Floats, power: float, books: Books) -> float:
    """Give the variance by which cohorts of known loans differ beyond chance, where there is any.

    A leak is in all of them alike, so what moves between them is the column itself.
    """
    if books.days is None:
        return 0.0
    order = np.argsort(books.days[books.known], kind="stable")
    means = [part.mean() for part in np.array_split(score[books.known][order], _COHORTS)]
    by_chance = power * _COHORTS / len(order)
    spread = float(np.var(means, ddof=1))
    return spread - by_chance if spread > _COHORTS_MOVED * by_chance else 0.0


def _middle(values: Floats, weights: Floats) -> float:
    """Give the weighted median."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(upto, upto[-1] / 2.0)])


@dataclass(frozen=True, slots=True)
class _Fit:
    """A logistic regression, the intercept first, and the inverse of its curvature."""

    weights: Floats
    inverse: Floats


def _fit(design: Floats, labels: Labels, start: Floats | None = None) -> _Fit:
    """Fit by Newton's steps, halved where they would go too far."""
    ridge = np.full(design.shape[1], _RIDGE)
    ridge[0] = 0.0
    base = labels.mean()
    weights = np.zeros(design.shape[1])
    weights[0] = np.log(base / (1.0 - base))

    def loss(at: Floats) -> float:
        odds = design @ at
        return float(np.logaddexp(0.0, odds).sum() - labels @ odds + 0.5 * ridge @ at**2)

    if start is not None:
        weights = start
    before = loss(weights)
    inverse: Floats = np.eye(len(weights))
    for _ in range(_NEWTON_STEPS_MAX):
        risk = _probabilities(design @ weights)
        curve = (design * (risk * (1.0 - risk))[:, None]).T @ design + np.diag(ridge)
        inverse = np.linalg.inv(curve).astype(np.float64, copy=False)
        step = inverse @ (design.T @ (labels - risk) - ridge * weights)
        halves = (step / 2.0**many for many in range(_HALVINGS_MAX))
        step = next((half for half in halves if loss(weights + half) <= before), np.zeros(1))
        weights, after = weights + step, loss(weights + step)
        if before - after < _LOSS_TOLERANCE:
            break
        before = after
    return _Fit(weights, inverse)


def _without(place: int, fit: _Fit, design: Floats, books: Books) -> Floats:
    """Give the probabilities of the model without one column.

    The curvature says nearly what the others then weigh, so that a step or two fit them.
    """
    column = fit.inverse[:, place]
    near = fit.weights - column * (fit.weights[place] / column[place])
    rest = np.delete(design, place, axis=1)
    weights = _fit(rest[books.known], books.labels, np.delete(near, place)).weights
    return _probabilities(rest @ weights)


def _probabilities(odds: Floats) -> Floats:
    told: Floats = 1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0)))
    return told


def _bands(column: Column, rows: Mask) -> Codes:
    """Cut numbers at quantiles of these rows; what is missing and values met often stand apart."""
    if isinstance(column, Words):
        return column.codes.astype(np.intp) + 1
    given = column[rows & ~np.isnan(column)]
    values, counts = np.unique(given, return_counts=True)
    often = counts >= max(_HEAVY_ROWS_MIN, _HEAVY_SHARE * len(given))
    heavy = np.sort(values[np.argsort(-counts, kind="stable")[: min(_HEAVY_MAX, often.sum())]])
    light = given[~np.isin(given, heavy)]
    cuts = np.linspace(0.0, 1.0, _BANDS + 1)[1:-1]
    edges = np.unique(np.quantile(light, cuts)) if len(light) > _BANDS else np.empty(0)
    codes = np.searchsorted(edges, column, side="right") + 1
    if len(heavy):
        place = np.minimum(np.searchsorted(heavy, column), len(heavy) - 1)
        codes = np.where(heavy[place] == column, len(edges) + 2 + place, codes)
    return np.where(np.isnan(column), 0, codes)


def _log_odds(codes: Codes, books: Books) -> Floats:
    """Give each row the log-odds of its band among the known rows, drawn to the level of all."""
    many = int(codes.max()) + 1
    rows = np.bincount(codes[books.known], minlength=many)
    bad = np.bincount(codes[books.known], weights=books.labels, minlength=many)
    base = books.labels.mean()
    odds = (bad + _PRIOR_ROWS * base) / (rows - bad + _PRIOR_ROWS * (1.0 - base))
    told: Floats = np.log(odds * (1.0 - base) / base)[codes]
    return told


def _others_rates(column: Column, books: Books) -> Floats:
    """Give known rows the default rate of their band among the other half of them."""
    codes, labels = _bands(column, books.known)[books.known], books.labels
    many = int(codes.max()) + 1
    half = np.arange(len(codes)) % 2 == 0
    told = np.empty(len(codes))
    for side in (half, ~half):
        rows = np.bincount(codes[side], minlength=many)
        bad = np.bincount(codes[side], weights=labels[side], minlength=many)
        told[~side] = ((bad + labels.mean()) / (rows + 1.0))[codes[~side]]
    return told


# --------------------------------------------------------------------------- marks of an afterwards


def marks(column: Column, labels: Labels, days: NDArray[np.datetime64] | None = None) -> str | None:
    """Say what in rows of a known outcome shows that a column was written afterwards, else None.

    Some values must be given.
    """
    found = _pure(column, labels)
    if found is None and not isinstance(column, Words) and _off_grid(column, labels):
        found = GRID
    if found is None and days is not None:
        rates = _others_rates(column, _known(labels))
        found = AGED if _aged(rates, labels, days) else None
    return found


def _beyond(usual_auc: float, column: Column, labels: Labels) -> str | None:
    """Say that a field tells more than it does anywhere else that is known, else None."""
    area, bad = told_alone(column, labels), int(np.count_nonzero(labels))
    chance = _SURE * float(np.sqrt(_auc_variance(area, bad, len(labels) - bad)))
    if area - chance <= usual_auc + _UNUSUAL:
        return None
    return (
        f"it tells the outcome better than this field does where the truth is known (AUC "
        f"{area:.2f}, there at most {usual_auc:.2f})"
    )


def told_alone(column: Column, labels: Labels) -> float:
    """Give the AUC of a column by itself, as `USUAL_AUC` has it."""
    return auc(labels, _others_rates(column, _known(labels)))


def _known(labels: Labels) -> Books:
    return Books({}, np.ones(len(labels), dtype=np.bool_), labels)


def _pure(column: Column, labels: Labels) -> str | None:
    """Look for a value, or its lack, that hardly any repaid loan has."""
    if isinstance(column, Words):
        codes = column.codes.astype(np.intp) + 1
    else:
        _, codes = np.unique(column, return_inverse=True)
        codes = np.where(np.isnan(column), 0, codes.ravel() + 1)
    rows = np.bincount(codes)
    bad = np.bincount(codes, weights=labels)
    pure = (rows >= _PURE_ROWS_MIN) & (bad >= _PURE_SHARE * rows)
    if not pure.any():
        return None
    return MISSING if pure[0] else VALUE


def _off_grid(column: Floats, labels: Labels) -> bool:
    """Say whether numbers of defaulted loans are met among repaid ones less than those beside them.

    Halves of whole numbers, or products of round ones, fall between what people write down.
    """
    given = ~np.isnan(column)
    repaid = np.sort(column[given & (labels == 0)])
    bad, many = np.unique(column[given & (labels == 1)], return_counts=True)
    if len(repaid) <= 2 * _NEAR_ROWS or not len(bad):
        return False
    met = np.searchsorted(repaid, bad, "right") > np.searchsorted(repaid, bad, "left")
    twice = np.zeros(len(repaid))
    again = repaid[1:] == repaid[:-1]
    twice[1:] = again
    twice[:-1] = np.maximum(twice[:-1], again)
    upto = np.concatenate([[0.0], np.cumsum(twice)])
    # As many to either side, the value itself not among them.
    low = np.searchsorted(repaid, bad, "left")
    high = np.searchsorted(repaid, bad, "right")
    first, last = np.maximum(low - _NEAR_ROWS, 0), np.minimum(high + _NEAR_ROWS, len(repaid))
    beside = (upto[low] - upto[first] + upto[last] - upto[high]) / np.maximum(
        low - first + last - high, 1
    )
    lacking = many * (beside - met)
    total = float(lacking.sum())
    error = float(np.sqrt((lacking**2).sum()))
    return total >= max(_OFF_GRID_MIN * float(many.sum()), _OFF_GRID_CHANCE * error, _POWER_MIN)


def _aged(rates: Floats, labels: Labels, days: NDArray[np.datetime64]) -> bool:
    """Say whether the older half of the loans is told apart better than the younger one."""
    order = np.argsort(days, kind="stable")
    older, younger = order[: len(order) // 2], order[len(order) // 2 :]
    areas, errors = [], []
    for half in (older, younger):
        bad = int(np.count_nonzero(labels[half]))
        if min(bad, len(half) - bad) < _OUTCOMES_MIN:
            return False
        areas.append(auc(labels[half], rates[half]))
        errors.append(_auc_variance(areas[-1], bad, len(half) - bad))
    fall = areas[0] - areas[1]
    return fall >= max(_AGED_MIN, _AGED_CHANCE * float(np.sqrt(sum(errors))))


def _auc_variance(area: float, bad: int, repaid: int) -> float:
    """Give the variance of an AUC by Hanley and McNeil."""
    two_bad, two_repaid = area / (2.0 - area), 2.0 * area**2 / (1.0 + area)
    return (
        area * (1.0 - area)
        + (bad - 1) * (two_bad - area**2)
        + (repaid - 1) * (two_repaid - area**2)
    ) / (bad * repaid)
