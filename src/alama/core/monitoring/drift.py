"""How far the applicants of a card stand from the rows that it was trained on."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.calibration import SCORE_MIN
from alama.core.model import Model, Reference, money_factor
from alama.core.monitoring.figures import BandShare, CardStability, Moved, Movement, WindowFigure
from alama.core.scorecard import cuts_in
from alama.core.tables import MISSING, Card, Feature
from alama.core.tally import SCORE_STEP, CardTally

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


PSI_MIN: Final = 0.10
"""Below this the usual reading is "no change": what is smaller is let be, however sure it is."""

ALPHA: Final = 0.01
"""The chance that any of the figures of a window is over its limit where nothing has moved."""

SCORE: Final = "score"
"""What the figure of the scores is called, beside the fields: no field of ours has the name."""

SCORES_MIN: Final = 1_000
"""Scores to compare with training: fewer say more about chance than about applicants."""

IN_A_ROW: Final = 2
"""Windows over its limit that make what is in them drift."""

BANDS_SHOWN: Final = 4
"""Fields whose bands are told: those that moved most."""

_HALF_A_SCORE: Final = 0.5
_ROWS_MIN: Final = 100
"""No card is trained on fewer: shares that seem to be of fewer were not counted but made up."""


class Figure(NamedTuple):
    """A stability index, and what it is not over by chance."""

    psi: float
    limit: float

    @property
    def is_over(self) -> bool:
        """Whether it has moved: by more than chance, and by enough to matter."""
        return self.psi > self.limit


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


class Yardstick:
    """One card of a model, and what its fields and scores were in training.

    A card other than the smallest is held against the rows that it serves. The smallest was trained
    on all rows, also on those that a larger card reads: where those who say little are unlike those
    who say more, it starts with that difference.
    """

    def __init__(self, model: Model, card: Card) -> None:
        """Take from a model what is needed, and none of its points: this may be kept for long."""
        self._shares = {feature.field: feature.shares for feature in card.features}
        self._scores = next((r for r in model.references if r.card == card.name), None)
        self._model_rows = model.lineage.rows
        self._tests = len(self._shares) + (self._scores is not None)

    @cached_property
    def _rows(self) -> int:
        every = (share for shares in self._shares.values() for share in shares)
        return max(1, rows_behind(every, max(1, self._model_rows)))

    def fits(self, tally: CardTally) -> bool:
        """Say whether a tally can be one of this card."""
        if not tally.bands:
            return True
        return len(tally.bands) == len(self._shares) and all(
            len(counts) <= len(shares)
            for counts, shares in zip(tally.bands, self._shares.values(), strict=True)
        )

    def figures(self, tally: CardTally) -> Mapping[str, Figure]:
        """Measure what a card has met, by field, with its scores under `SCORE`.

        Fields of which nothing is counted, a tally may have lost its bands, are left out.
        """
        found = {}
        if self._scores is not None and tally.count:
            counts = by_edges(tally.steps, self._scores)
            found[SCORE] = self._figure(counts, self._scores.score_shares)
        for (name, shares), bands in zip(self._shares.items(), tally.bands, strict=False):
            if sum(bands):
                found[name] = self._figure(bands, shares)
        return found

    def _figure(self, counts: Sequence[int], shares: Sequence[float]) -> Figure:
        bands = max(1, bands_in_use(shares))
        return Figure(psi(counts, shares), limit(bands, sum(counts), self._rows, self._tests))


def banded(tally: CardTally) -> int:
    """Say of how many scores a tally knows the bands: each field has one for each of them."""
    return sum(tally.bands[0]) if tally.bands else 0


def by_edges(steps: Sequence[int], reference: Reference) -> list[int]:
    """Put the scores of a tally into the bands of a reference, whose edges lie between steps."""
    counts = [0] * len(reference.score_shares)
    for step, count in enumerate(steps):
        counts[bisect_right(reference.score_edges, SCORE_MIN + step * SCORE_STEP)] += count
    return counts


def newly_drifted(
    earlier: Sequence[Mapping[str, Figure]], latest: Sequence[Mapping[str, Figure]]
) -> Mapping[str, Figure]:
    """Give what has drifted by now: over its limit in the last window, and in the one before it.

    `earlier` are the figures of windows that were looked at before, two or more where there are,
    and `latest` of those that were not, newest last. One window may be a holiday, or a campaign.
    What has been over its limit ever since the two before the latest was given then. So drift is
    given once for as long as it lasts, and again after a window without it; what began and ended
    before anybody looked is not given at all.
    """
    before = [_over(figures) for figures in earlier[-IN_A_ROW:]]
    every = before + [_over(figures) for figures in latest]
    if len(every) < IN_A_ROW:
        return {}
    drifted = every[-1].intersection(*every[-IN_A_ROW:])
    if len(before) == IN_A_ROW:
        drifted -= before[0].intersection(*every)
    return {name: figure for name, figure in latest[-1].items() if name in drifted}


def _over(figures: Mapping[str, Figure]) -> frozenset[str]:
    return frozenset(name for name, figure in figures.items() if figure.is_over)


# ---------------------------------------------------------------------------------------- the index


def psi(counts: Sequence[int], shares: Sequence[float]) -> float:
    """Give the population stability index of counts against the shares of the training rows.

    Half a score is added to each band on both sides, to what was counted and to what so many scores
    would have been in training. So a band that is empty on either side gives a finite figure,
    counts that are as expected give nought, and a band that nobody is in changes nothing. It is
    symmetric: had training been the window, and the window training, it would be the same. Counts
    may end before the shares do; a tally leaves out empty bands at the end. None at all: nought.
    """
    total = sum(counts)
    if not total:
        return 0.0
    assert len(counts) <= len(shares)
    whole = total + _HALF_A_SCORE * len(shares)
    found = [*counts, *(0 for _ in range(len(shares) - len(counts)))]
    parts = []
    for count, share in zip(found, shares, strict=True):
        observed = count + _HALF_A_SCORE
        expected = total * share + _HALF_A_SCORE
        parts.append((observed - expected) / whole * math.log(observed / expected))
    return max(0.0, math.fsum(parts))


def bands_in_use(shares: Sequence[float]) -> int:
    """Say how many bands count for `limit`: those that somebody in training was in.

    Nobody is expected in the others, so they can add nothing by chance, and what turns up in one of
    them is drift however it is counted.
    """
    return sum(share > 0.0 for share in shares)


def rows_behind(shares: Iterable[float], rows: int) -> int:
    """Give the number of training rows that the shares of a card are of, all of them together.

    A model says how many `rows` it was trained on. The shares of a card are of those that it
    serves, perhaps a small part of them, and a share is a count over that number: so it is the
    least common denominator. Where all counts happen to have a divisor in common it is too small by
    that; where shares are no such fractions it is `rows`.
    """
    common = 1
    for share in shares:
        common = math.lcm(common, Fraction(share).limit_denominator(rows).denominator)
        if common > rows:
            return rows
    return common if common >= _ROWS_MIN else rows


def limit(bands: int, count: int, reference: int, tests: int) -> float:
    """Give the index that a window of `count` scores is not over by chance.

    `bands` are those in use, `reference` the number of training rows that the shares are of, which
    are a sample as well, and `tests` the number of figures that are looked at together. Of such a
    window, where nothing has moved, at most one in a hundred has any figure over its limit.
    """
    assert bands > 0
    assert count > 0
    assert reference > 0
    assert tests > 0
    if bands == 1:
        return PSI_MIN
    by_chance = chi_squared_above(ALPHA / tests, bands - 1)
    return max(PSI_MIN, by_chance * (1.0 / count + 1.0 / reference))


def chi_squared_above(chance: float, freedom: int) -> float:
    """Give what a chi-squared variable is above with a small chance, after Wilson and Hilferty.

    The cube root of such a variable is nearly normal. For the chances that are asked for here this
    is right to a hundredth from eight degrees of freedom on; with fewer it is a little too high, by
    six hundredths at most, and no lower than one hundredth below.
    """
    spread = 2.0 / (9.0 * freedom)
    # Of the upper end, through the lower: 1 - chance loses digits where chance is small.
    normal = -NormalDist().inv_cdf(chance)
    return freedom * (1.0 - spread + normal * math.sqrt(spread)) ** 3
