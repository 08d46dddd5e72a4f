"""The pictures of the printed explanation: the score among the tiers, its points, each way."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from alama.core import calibration
from alama.core.reasons.levels import NOTICEABLE_POINTS
from alama.pages import strips
from alama.pages.markup import Markup
from alama.pages.strips import Mark, Stretch
from alama.pages.svg import Linear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.application import Application, Value
    from alama.core.assess import Assessment, Contribution
    from alama.core.lending.policy import Decision
    from alama.core.recourse import Counterfactual, FieldChange, ReadyRecourse
    from alama.pages.explanation_words import Words

_SCORES = Linear(calibration.SCORE_MIN, calibration.SCORE_MAX, 0.0, 1.0)


class Row(NamedTuple):
    """A step from the average to the score: its name, its points, and both drawn."""

    name: str
    points: str
    picture: Markup


class Figures:
    """Draws what is said of one application."""

    __slots__ = ("_application", "_card", "_ready", "_tiers", "_words")

    def __init__(self, ready: ReadyRecourse, application: Application, words: Words) -> None:
        self._ready = ready
        self._application = application
        self._words = words
        self._card = ready.card(ready.policy.model.scorecard_for(application))
        self._tiers = self._stretches()

    def _stretches(self) -> list[Stretch]:
        """Lay the tiers along the scale, the worst first; it has whatever the others leave."""
        worst_first = self._ready.policy.tiers[::-1]
        starts = [calibration.SCORE_MIN, *(tier.score_min for tier in worst_first[1:])]
        ends = [*starts[1:], calibration.SCORE_MAX]
        return [
            Stretch(tier.name, _SCORES(low), _SCORES(high), _kind(tier.decision), str(low))
            for tier, low, high in zip(worst_first, starts, ends, strict=True)
        ]

    # --------------------------------------------------------------------------------- the score

    def score(self, said: Assessment, told: str) -> Markup:
        """Draw where the score stands among the tiers."""
        mark = Mark(_SCORES(said.score), str(said.score))
        return strips.scale(self._tiers, mark, told)

    def keys(self) -> list[tuple[Markup, str]]:
        """Give the kinds of tiers that the policy has, the worst first, each with its label."""
        decisions = dict.fromkeys(tier.decision for tier in self._ready.policy.tiers[::-1])
        return [(strips.swatch(_kind(one)), f"tier_{one.lower()}") for one in decisions]

    def points(self, said: Assessment) -> list[Row]:
        """Draw each field from where the one before ended; those that hardly count as one row."""
        shown = [one for one in said.contributions if abs(one.points) >= NOTICEABLE_POINTS]
        rest = sum(one.points for one in said.contributions[len(shown) :])
        rows = [(self._named(one), one.points) for one in shown]
        if len(shown) < len(said.contributions):
            rows.append((self._words.label("rest"), rest))
        base, total = round(10.0 * said.base), round(10.0 * said.points)
        tenths = _adding_up([points for _, points in rows], total - base)
        ends = list(accumulate((points for _, points in rows), initial=said.base))
        low, high = min(ends), max(ends)
        scale = Linear(low, high if high > low else low + 1.0, 0.03, 0.97)
        start = scale(said.base)
        first = strips.place(start, start)
        drawn = [Row(self._words.label("start"), self._words.tenths(base), first)]
        for (name, _), shown_tenths, (before, after) in zip(
            rows, tenths, pairwise(ends), strict=True
        ):
            bar = strips.bar(scale(before), scale(after), start)
            drawn.append(Row(name, self._words.points(shown_tenths), bar))
        last = strips.place(scale(ends[-1]), start)
        named = self._words.label("total", score=str(said.score))
        return [*drawn, Row(named, self._words.tenths(total), last)]

    def _named(self, one: Contribution) -> str:
        """Give the name of a field and the value that was scored."""
        catalogue = self._ready.policy.model.catalogue
        place = catalogue.position[one.feature]
        ladder = self._card.ladder(place)
        scored: Value = self._ready.policy.as_asked(self._application.values)[place]
        value = self._words.value(one.feature, scored, ladder.cuts if ladder else ())
        if one.value is None and scored is not None:
            value = self._words.assumed(value)
        return self._words.detail(self._words.name(one.feature), value)

    # ---------------------------------------------------------------------------------- the ways

    def movement(self, said: Assessment, way: Counterfactual) -> Markup:
        """Draw where the score would go."""
        then = way.assessment.score
        before, after = (Mark(_SCORES(score), str(score)) for score in (said.score, then))
        told = self._words.label("result_score", score=str(then))
        return strips.movement(self._tiers, before, after, told)

    def change(self, change: FieldChange) -> Markup:
        """Draw which people a change passes; nothing where no population is known."""
        place = self._ready.policy.model.catalogue.position[change.field]
        ladder = self._card.ladder(place)
        old, new = change.before, change.after
        if ladder is None or not isinstance(old, int | float) or not isinstance(new, int | float):
            return Markup()
        written = self._words.two_values(change.field, old, new, ladder.cuts)
        before, after = map(Mark, map(ladder.share_below, (old, new)), written)
        return strips.crossing(before, after, f"{before.label} \N{RIGHTWARDS ARROW} {after.label}")


def _adding_up(points: Sequence[float], total: int) -> list[int]:
    """Round points to tenths that add up to a total; those furthest from their tenth give way."""
    tenths = [round(10.0 * each) for each in points]
    missing = total - sum(tenths)
    step = 1 if missing > 0 else -1
    by_rest = sorted(
        range(len(points)), key=lambda place: step * (tenths[place] - 10.0 * points[place])
    )
    for place in by_rest[: abs(missing)]:
        tenths[place] += step
    return tenths


def _kind(decision: Decision) -> str:
    return f"tier-{decision.lower()}"
