"""Where booked loans carry the model: who lies outside, what keeps them out, what is left inside.

Outside are those whom the earlier policy seldom booked (`alama.core.booking`). The model never saw
how their like repay, so they go to a person; its probabilities are judged on those inside.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from alama.core import kernel
from alama.core.model import money_factor
from alama.training.dataset import take_column
from alama.training.making.booking import log_odds_by_field
from alama.training.validation.tiers import LoanRate, loan_rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from alama.core.booking import Booking
    from alama.core.kernel import Column
    from alama.core.model import Model
    from alama.training.validation.decided import Decided
    from alama.training.validation.metrics import Floats, Labels

    Mask = NDArray[np.bool_]
    Places = NDArray[np.intp]


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
