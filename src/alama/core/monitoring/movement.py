"""How far the applicants of a scorecard are from those it was trained on, band by band."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.model import money_factor
from alama.core.monitoring.drift import SCORE, Figure, Yardstick, banded, by_edges
from alama.core.monitoring.figures import BandShare, CardStability, Moved, Movement
from alama.core.monitoring.stability import PSI_MIN
from alama.core.scorecard import cuts_in
from alama.core.tables import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.model import Model
    from alama.core.monitoring.figures import WindowFigure
    from alama.core.tables import Card, Feature
    from alama.core.tally import CardTally

BANDS_SHOWN: Final = 4
"""Fields whose bands are told: those that moved most."""

_NOTHING: Final = Figure(0.0, PSI_MIN)
"""What is said of a field of which nothing was counted."""


class History(NamedTuple):
    """The windows of a card, newest last, and what was over its limit in the last two of them."""

    windows: tuple[WindowFigure, ...] = ()
    drifted: frozenset[str] = frozenset()


def card_stability(
    model: Model, card: Card, counted: CardTally, currency: str, history: History
) -> CardStability:
    """Hold what a card has met and given in some days against its training."""
    found = Yardstick(model, card).figures(counted)
    places = {feature.field: place for place, feature in enumerate(card.features)}
    # By how far each is beyond its own limit: a field of many bands has a higher one.
    names = sorted(places, key=lambda name: -_beyond(found.get(name, _NOTHING)))
    factor = money_factor(model, currency) if model.money else 1.0
    fields = []
    for rank, name in enumerate(names):
        bands: tuple[BandShare, ...] = ()
        if rank < BANDS_SHOWN and name in found:
            feature = card.features[places[name]]
            cuts = cuts_in(feature, model.catalogue, factor)
            bands = _field_bands(feature, counted.bands[places[name]], cuts)
        fields.append(_moved(name, found.get(name, _NOTHING), history, bands))
    score = found.get(SCORE, _NOTHING)
    return CardStability(
        card=card.name,
        scores=counted.count,
        compared=banded(counted),
        score=_moved(SCORE, score, history, _score_bands(model, card, counted)),
        fields=tuple(fields),
        windows=history.windows,
    )


def _beyond(figure: Figure) -> float:
    return figure.psi / figure.limit


def _moved(name: str, figure: Figure, history: History, bands: tuple[BandShare, ...]) -> Moved:
    if name in history.drifted:
        verdict = Movement.DRIFTED
    else:
        verdict = Movement.MOVED if figure.is_over else Movement.STEADY
    return Moved(name, figure.psi, figure.limit, verdict, bands)


def _score_bands(model: Model, card: Card, counted: CardTally) -> tuple[BandShare, ...]:
    """Give the scores between the edges of the reference; none where the model has none."""
    reference = next((one for one in model.references if one.card == card.name), None)
    if reference is None:
        return ()
    counts = by_edges(counted.steps, reference)
    edges: list[float | None] = [None, *map(float, reference.score_edges), None]
    total = sum(counts) or 1
    return tuple(
        BandShare(low, high, None, count / total, share)
        for (low, high), count, share in zip(
            pairwise(edges), counts, reference.score_shares, strict=True
        )
    )


def _field_bands(
    feature: Feature, counts: Sequence[int], cuts: Sequence[float]
) -> tuple[BandShare, ...]:
    """Give the bands of a field in the order of its table, except that "not given" is last."""
    total = sum(counts) or 1
    edges: list[float | None] = [None, *cuts, None]
    found = []
    for slot in [*range(1, len(feature.main)), MISSING]:
        low = high = words = None
        if slot != MISSING and feature.words:
            words = feature.words[slot - 1] if slot <= len(feature.words) else ()
        elif slot != MISSING:
            low, high = edges[slot - 1], edges[slot]
        now = counts[slot] / total if slot < len(counts) else 0.0
        found.append(BandShare(low, high, words, now, feature.shares[slot]))
    return tuple(found)
