"""Where booked loans carry the model: who lies outside, what keeps them out, what is left inside.

Outside are those whom the earlier policy seldom booked (`alama.core.booking`). The model never saw
how their like repay, so they go to a person; its probabilities are judged on those inside.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from alama.core import calibration, kernel
from alama.core.application import Application, Value
from alama.core.catalogue import Field, Kind
from alama.core.kernel import Column, Words
from alama.core.lending.decision import decide
from alama.core.lending.policy import Decision, Rule
from alama.core.model import Model, money_factor
from alama.training.dataset import take_column
from alama.training.making.booking import log_odds_by_field
from alama.training.validation import metrics
from alama.training.validation.tiers import LoanRate, loan_rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from alama.core.booking import Booking
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.training.validation.metrics import Floats, Labels

    Mask = NDArray[np.bool_]

    Places = NDArray[np.intp]


_OUTSIDE: Final = frozenset({Rule.VALUE_OUTSIDE_TRAINING.value, Rule.UNLIKE_TRAINING.value})


@dataclass(frozen=True, slots=True)
class Decided:
    """For each application: approved, left to a person; and whether it is unlike the training.

    `seldom` are those whose like were seldom booked, whether or not the policy looks at that; they
    are outside as well. `unaffordable` are those to whom not even the smallest loan can be offered
    that they could repay.
    """

    approved: Mask
    review: Mask
    outside: Mask
    seldom: Mask
    unaffordable: Mask

    @property
    def declined(self) -> Mask:
        """Say which were declined, by whatever rule."""
        return ~self.approved & ~self.review

    @property
    def seldom_declined_by_score(self) -> Mask:
        """Say which of the seldom booked were declined although they could repay some loan.

        Where a policy has no rules of its own that decline, nothing but a score is left.
        """
        return self.seldom & self.declined & ~self.unaffordable


def decide_rows(policy: ReadyPolicy, columns: Mapping[str, Column], rows: int) -> Decided:
    """Decide on every row. A field that the policy forbids is not looked at: nobody may send it."""
    found = np.zeros((5, rows), dtype=np.bool_)
    for row, values in enumerate(rows_of_values(policy, columns, rows)):
        scorecard = policy.model.scorecard_for(Application(values))
        asked = policy.as_asked(values)
        scored = scorecard.score(asked)
        verdict = decide(policy, scorecard, asked, scored)
        booking = policy.model.booking_of(scorecard)
        seldom = booking is not None and booking.is_seldom(asked, scored.slots)
        found[0, row] = verdict.decision is Decision.APPROVED
        found[1, row] = verdict.decision is Decision.REVIEW
        found[2, row] = seldom or not _OUTSIDE.isdisjoint(verdict.rules)
        found[3, row] = seldom
        found[4, row] = Rule.UNAFFORDABLE.value in verdict.rules
    return Decided(*found)


def rows_of_values(
    policy: ReadyPolicy, columns: Mapping[str, Column], rows: int
) -> Iterator[tuple[Value, ...]]:
    """Give the values of each row, without those of fields that the policy forbids."""
    forbidden = {name for _, name in policy.forbidden}
    lists: list[Iterable[Value]] = []
    for field in policy.model.catalogue.fields:
        column = None if field.name in forbidden else columns.get(field.name)
        lists.append(repeat(None, rows) if column is None else _values(column, field))
    return zip(*lists, strict=True)


def _values(column: Column, field: Field) -> list[Value]:
    if isinstance(column, Words):
        # The last entry is for what is missing, where code -1 finds it.
        words = [*column.vocabulary, None]
        return [words[code] for code in column.codes.tolist()]
    whole = field.kind is Kind.INTEGER
    return [
        None if value != value else int(value) if whole else value  # noqa: PLR0124  # NaN is not itself
        for value in column.tolist()
    ]


_SCORE_STEP_POINTS: Final = 20
_SCORE_BANDS: Final = 10


class FieldSelection(msgspec.Struct, frozen=True):
    """How far a field of the booked differs from that of all who applied (PSI); medians."""

    field: str
    psi: float
    applied_median: float | None
    booked_median: float | None


class Selection(msgspec.Struct, frozen=True):
    """Booked against applied, scored by the candidate. Shares are 0 to 1.

    `outside_` are the shares of those unlike the booked loans that the model learned from, but
    `outside_approved` and `outside_declined` count applications; `predicted_` are the mean
    probabilities of those inside.
    """

    applications: int
    booked: int
    score_psi: float
    score_edges: tuple[float, ...]
    applied_shares: tuple[float, ...]
    booked_shares: tuple[float, ...]
    fields: tuple[FieldSelection, ...]
    outside_booked: float
    outside_not_booked: float
    outside_to_review: float
    outside_approved: int
    outside_declined: int
    predicted_booked: float
    predicted_not_booked: float

    @property
    def booked_share(self) -> float:
        """Give the share of the applications that were booked."""
        return self.booked / max(self.applications, 1)


def select(
    model: Model,
    columns: Mapping[str, Column],
    booked: Mask,
    points: Floats,
    decided: Decided,
) -> Selection:
    """Compare the booked with all who applied; `points` and `decided` are of every application."""
    edges = _score_edges(points)
    scores = np.clip(points, calibration.SCORE_MIN, calibration.SCORE_MAX)
    cuts = np.quantile(points, np.linspace(0.0, 1.0, _SCORE_BANDS + 1)[1:-1])
    bands = np.searchsorted(cuts, points, side="right")
    inside = ~decided.outside
    chances = kernel.probabilities(points)
    outside = decided.outside
    return Selection(
        applications=len(booked),
        booked=int(np.count_nonzero(booked)),
        score_psi=_psi(bands, booked, _SCORE_BANDS),
        score_edges=tuple(edges.tolist()),
        applied_shares=_histogram(scores, edges),
        booked_shares=_histogram(scores[booked], edges),
        fields=_fields(model, columns, booked),
        outside_booked=_mean(outside[booked]),
        outside_not_booked=_mean(outside[~booked]),
        outside_to_review=_mean(decided.review[outside]),
        outside_approved=int(np.count_nonzero(outside & decided.approved)),
        outside_declined=int(np.count_nonzero(outside & decided.declined)),
        predicted_booked=_mean(chances[booked & inside]),
        predicted_not_booked=_mean(chances[~booked & inside]),
    )


def _fields(
    model: Model, columns: Mapping[str, Column], booked: Mask
) -> tuple[FieldSelection, ...]:
    card = model.cards[-1]
    slots = kernel.BatchScorecard(card, model.catalogue).slots(columns)
    found = [
        FieldSelection(
            feature.field,
            _psi(slot, booked, len(feature.main)),
            _median(columns[feature.field]),
            _median(columns[feature.field], booked),
        )
        for feature, slot in zip(card.features, slots, strict=True)
    ]
    return tuple(sorted(found, key=lambda field: (-field.psi, field.field)))


def _psi(bands: NDArray[np.intp], booked: Mask, size: int) -> float:
    applied = np.bincount(bands, minlength=size) / len(bands)
    kept = np.bincount(bands[booked], minlength=size) / max(int(np.count_nonzero(booked)), 1)
    return metrics.psi(applied, kept)


def _median(column: Column, rows: Mask | None = None) -> float | None:
    if isinstance(column, Words):
        return None
    given = column if rows is None else column[rows]
    given = given[~np.isnan(given)]
    return float(np.median(given)) if len(given) else None


def _score_edges(points: Floats) -> Floats:
    step = _SCORE_STEP_POINTS
    shown = np.clip(points, calibration.SCORE_MIN, calibration.SCORE_MAX)
    first, last = (np.floor(end / step) * step for end in (shown.min(), shown.max()))
    return np.arange(first, last + 2 * step, step, dtype=np.float64)


def _histogram(scores: Floats, edges: Floats) -> tuple[float, ...]:
    counts, _ = np.histogram(scores, bins=edges)
    return tuple((counts / max(len(scores), 1)).tolist())


def _mean(values: Floats | Mask) -> float:
    """Give the mean; 0 of nothing, which the counts beside it tell apart."""
    return float(np.mean(values)) if len(values) else 0.0


class KeptOut(msgspec.Struct, frozen=True):
    """A field, and the share of those outside against whose booking it counts most."""

    field: str
    share: float


class End(msgspec.Struct, frozen=True):
    """A field beyond whose ends next to nobody was booked; None where it has no such end."""

    field: str
    lowest: float | None
    highest: float | None


class Support(msgspec.Struct, frozen=True):
    """Who was seldom booked: `chance_min` of the largest card, where `booked_share` is average.

    Counts are of applications: those outside, the booked, the approved and the declined among them.
    `predicted` is the mean probability of those outside.
    """

    chance_min: float
    booked_share: float
    outside: int
    outside_booked: int
    outside_approved: int
    outside_declined: int
    predicted: float
    kept_out: tuple[KeptOut, ...]
    ends: tuple[End, ...]
    loans_inside: LoanRate
    loans_outside: LoanRate


@dataclass(frozen=True, slots=True)
class Applied:
    """All applications of a history, in `currency`, and what becomes of each.

    `judging` are the places of the loans that judge the model, `labels` their outcomes.
    """

    columns: Mapping[str, Column]
    booked: Mask
    points: Floats
    decided: Decided
    judging: Places
    labels: Labels
    currency: str


def support_of(model: Model, applied: Applied) -> Support | None:
    """Say who is outside, and how the model does on both sides; None where it knows of nobody."""
    if not model.booking:
        return None
    seldom = applied.decided.seldom
    chances = kernel.probabilities(applied.points)
    judged, outside = chances[applied.judging], seldom[applied.judging]
    known = model.booking[-1]
    return Support(
        chance_min=known.chance_min,
        booked_share=known.booked_share,
        outside=int(np.count_nonzero(seldom)),
        outside_booked=int(np.count_nonzero(seldom & applied.booked)),
        outside_approved=int(np.count_nonzero(seldom & applied.decided.approved)),
        outside_declined=int(np.count_nonzero(seldom & applied.decided.declined)),
        predicted=float(np.mean(chances[seldom])) if seldom.any() else 0.0,
        kept_out=_kept_out(model, applied),
        ends=_ends(model, known),
        loans_inside=_rate(applied.labels[~outside], judged[~outside]),
        loans_outside=_rate(applied.labels[outside], judged[outside]),
    )


def _rate(labels: Labels, chances: Floats) -> LoanRate:
    predicted = float(np.mean(chances)) if len(chances) else 0.0
    return loan_rate(len(labels), int(np.count_nonzero(labels)), predicted)


def _ends(model: Model, known: Booking) -> tuple[End, ...]:
    features = next(card for card in model.cards if card.name == known.card).features
    return tuple(
        End(feature.field, field.lowest, field.highest)
        for feature, field in zip(features, known.fields, strict=True)
        if field.lowest is not None or field.highest is not None
    )


def _kept_out(model: Model, applied: Applied) -> tuple[KeptOut, ...]:
    """Name for each of those outside the field that counts most against being booked."""
    rows = np.flatnonzero(applied.decided.seldom)
    read = {feature.field for card in model.cards for feature in card.features}
    nobody = np.full(len(applied.booked), np.nan)
    columns = {name: take_column(applied.columns.get(name, nobody), rows) for name in read}
    chosen = kernel.choose_card(model.cards, columns, len(rows))
    factor = money_factor(model, applied.currency)
    counts: Counter[str] = Counter()
    for place, card in enumerate(model.cards):
        known = next((known for known in model.booking if known.card == card.name), None)
        mine = np.flatnonzero(chosen == place)
        if known is not None and len(mine):
            some = {f.field: take_column(columns[f.field], mine) for f in card.features}
            said = log_odds_by_field(known, card, model.catalogue, some, factor)
            most = np.bincount(np.argmin(said, axis=0), minlength=len(card.features)).tolist()
            for feature, count in zip(card.features, most, strict=True):
                counts[feature.field] += count
    return tuple(
        KeptOut(name, count / len(rows))
        for name, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))
        if count
    )
