"""What an applicant takes home: the answer, why it fell so, and what would change it.

One self-contained page in the applicant's language, without script, that a loan officer prints on
at most two sheets of A4 and hands over.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from decimal import Decimal
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core import calibration
from alama.core.asked import Unmet, unmet, unmet_after
from alama.core.catalogue import Use
from alama.core.explanation import Explanation, horizon_days
from alama.core.lending.policy import Decision
from alama.core.reasons import dictionary
from alama.core.reasons.advice import Advice
from alama.core.reasons.dictionary import COUNTED, Language, Shown, name_of, shown_as
from alama.core.reasons.tell import NOTICEABLE_POINTS
from alama.core.recourse.answer import (
    COUNT_DEFAULT,
    Approval,
    Counterfactual,
    FieldChange,
    Goal,
    ScoreAtLeast,
    Status,
    TierAtLeast,
)
from alama.platform.pages import render
from alama.platform.pages.numbers import MINUS
from alama.platform.pages.render import Markup, tag, text
from alama.platform.pages.svg import Linear
from alama.scoring import strips
from alama.scoring.strips import Mark, Stretch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alama.core.application import Application, Value
    from alama.core.assess import Assessment, Contribution
    from alama.core.lending.offer import Offer
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.recourse.ready import ReadyRecourse


_NO_BREAK: Final = "\u00a0"
_REFERENCE_BESIDE: Final = 16
"""Characters of a reference that has room beside the name; a longer one gets a line of its own."""

_SCORES = Linear(calibration.SCORE_MIN, calibration.SCORE_MAX, 0.0, 1.0)


class _Goal(NamedTuple):
    """A goal as labels know it: the end of their keys, and what they are filled with."""

    kind: str
    filled: dict[str, str]


class _Way(NamedTuple):
    """A way to the goal: how long it takes, each change in words and drawn, what it leads to."""

    within: str
    changes: Sequence[tuple[str, Markup]]
    movement: Markup
    result: str


class Row(NamedTuple):
    """A step from the average to the score: its name, its points, and both drawn."""

    name: str
    points: str
    picture: Markup


def explanation_page(
    ready: ReadyRecourse,
    application: Application,
    goal: Goal,
    explanation: Explanation,
    language: Language,
    made_on: str = "",
) -> str:
    """Give the page of what `explain` said of the application.

    `goal` is what recourse was sought for. `made_on` is the day as it is to be shown; without it
    the branch fills it in.
    """
    handout = _Handout(ready, application, goal, explanation, language)
    said, recourse = explanation.assessment, explanation.recourse
    score_told = handout.words.label(
        "score_note",
        score=str(said.score),
        lowest=str(calibration.SCORE_MIN),
        highest=str(calibration.SCORE_MAX),
    )
    answer, lead = handout.answer()
    reference = handout.reference()
    shown = render.render(
        "scoring/templates/explanation.html",
        language=language.code,
        label=handout.words.label,
        answer=answer,
        lead=lead,
        reference=reference,
        is_reference_long=len(reference) > _REFERENCE_BESIDE,
        made_on=made_on,
        is_approved=said.decision is Decision.APPROVED,
        score_told=score_told,
        score=handout.figures.score(said, score_told),
        keys=handout.figures.keys(),
        reasons=explanation.reasons,
        average=handout.words.tenths(round(10.0 * said.base)),
        points=handout.figures.points(said),
        goal=handout.goal(),
        status=recourse.status,
        Status=Status,
        is_optimal=recourse.optimal,
        ways=[handout.way(one) for one in recourse.counterfactuals],
        ways_few=COUNT_DEFAULT,
        within=handout.advice.within(horizon_days(ready.policy.model.catalogue)),
        obstacles=list(dict.fromkeys(map(handout.advice.obstacle, recourse.binding))),
        notice=handout.advice.notice(),
        model=ready.policy.model.model,
        policy=ready.policy.policy,
    )
    return handout.words.unbroken(shown)


class _Handout:
    """What is said of one application, in words of its language."""

    def __init__(
        self,
        ready: ReadyRecourse,
        application: Application,
        goal: Goal,
        explanation: Explanation,
        language: Language,
    ) -> None:
        self._policy = ready.policy
        self._application = application
        self._goal = goal
        self._explanation = explanation
        self.advice = Advice(ready.policy, language)
        self.words = Words(ready.policy, language)
        self.figures = Figures(ready, application, self.words)

    def answer(self) -> tuple[str, str]:
        """Say what was decided, and what the page has to say beyond it."""
        said = self._explanation.assessment
        label, offer = self.words.label, self.words.offer(said.offer)
        is_found = self._explanation.recourse.status is Status.FOUND
        is_way_shown = isinstance(self._goal, Approval) and is_found
        below = label("ways_below" if is_way_shown else "why_below")
        match said.decision:
            case Decision.APPROVED:
                asked = unmet(self._policy, self._application, said.offer)
                terms = [label("approved_terms", **offer), *self.words.unmet(asked)]
                return label("approved", **offer), " ".join(terms)
            case Decision.REVIEW:
                return label("review"), below
            case Decision.DECLINED:
                return label("declined"), below

    def reference(self) -> str:
        """Give the lender's own reference where one was sent."""
        fields = self._policy.model.catalogue.fields
        sent = (
            value
            for field, value in zip(fields, self._application.values, strict=True)
            if field.use is Use.REFERENCE and value is not None
        )
        return str(next(sent, ""))

    def goal(self) -> _Goal:
        match self._goal:
            case Approval():
                return _Goal("approval", {})
            case TierAtLeast(name=name):
                return _Goal("tier", {"tier": name})
            case ScoreAtLeast(score=score):
                return _Goal("score", {"score": str(score)})

    def way(self, way: Counterfactual) -> _Way:
        label, then = self.words.label, way.assessment
        told = [
            label("result_score", score=str(then.score)),
            label(f"result_{then.decision.lower()}", **self.words.offer(then.offer)),
        ]
        if then.decision is Decision.APPROVED:
            told += self.words.unmet(unmet_after(self._policy, self._application, way))
        return _Way(
            self.advice.within(way.within_days),
            [(self.advice.change(one), self.figures.change(one)) for one in way.changes],
            self.figures.movement(self._explanation.assessment, way),
            " ".join(told),
        )


# ----------------------------------------------------------------------------------------- pictures


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


# -------------------------------------------------------------------------------------------- words


class Words:
    """The words of one language for the applicants of one policy."""

    __slots__ = ("_language", "_policy")

    def __init__(self, policy: ReadyPolicy, language: Language) -> None:
        self._policy = policy
        self._language = language

    def label(self, key: str, **filled: str) -> str:
        """Give a label of the page, its placeholders filled."""
        return self._language.page[key].format(**filled)

    def detail(self, name: str, value: str) -> Markup:
        """Give the name of a field and its value, set apart."""
        form = text(self._language.page["detail"])
        return Markup(form.format(name=text(name), value=tag("span", value)))

    def name(self, feature: str) -> str:
        """Say what a field is, as a row begins."""
        field = self._policy.model.catalogue.field(feature)
        name = name_of(field, feature, self._language)
        return name[0].upper() + name[1:]

    def value(self, feature: str, value: Value, cuts: Sequence[float] = ()) -> str:
        """Write a value; rounding keeps it between the same cuts. None is a field not given."""
        if value is None:
            return self.label("not_given")
        if isinstance(value, str):
            name = self._policy.model.catalogue.field(feature).name
            return dictionary.word(self._language, name, value)
        return self._quantity(self._shown(feature), self._rounded(feature, value, cuts))

    def two_values(
        self, feature: str, old: float, new: float, cuts: Sequence[float]
    ) -> tuple[str, str]:
        """Write two values of a field side by side: the new one exactly, what is counted once."""
        shown = self._shown(feature)
        rounded = self._rounded(feature, old, cuts)
        bare = shown in COUNTED or shown is Shown.OF_HUNDRED
        return (
            dictionary.number(self._language, rounded) if bare else self._quantity(shown, rounded),
            self._quantity(shown, dictionary.scaled(shown, new)),
        )

    def _rounded(self, feature: str, value: float, cuts: Sequence[float]) -> Decimal:
        band = bisect_right(cuts, value)
        return dictionary.plain_value(
            self._shown(feature), value, lambda near: bisect_right(cuts, near) == band
        )

    def _shown(self, feature: str) -> Shown:
        return shown_as(self._policy.model.catalogue.field(feature), self._language)

    def assumed(self, value: str) -> str:
        """Say that a value is that of the standard loan."""
        return self._language.forms.assumed.format(value=value)

    def offer(self, offer: Offer) -> dict[str, str]:
        """Give limit, term and price of an offer by the placeholders that labels have for them."""
        return {
            "limit": self._quantity(Shown.MONEY, Decimal(offer.limit)),
            "term": self._quantity(Shown.DAYS, Decimal(offer.term_days)),
            "apr": self._quantity(Shown.PERCENT, Decimal(repr(offer.apr))),
        }

    def unmet(self, unmet: Unmet) -> Iterator[str]:
        """Say what was asked for and is not offered, in whole sentences; often there is nothing."""
        for asked, name, shown in (
            (unmet.amount, "amount", Shown.MONEY),
            (unmet.term, "term", Shown.DAYS),
        ):
            if asked is not None:
                how = "would_ask" if asked.is_changed else "asked"
                key = f"{'assumed' if asked.is_assumed else how}_{name}"
                value = self._quantity(shown, dictionary.scaled(shown, asked.value))
                yield self.label(key, **{name: value})

    def points(self, tenths: int) -> str:
        """Write points with their sign, a true minus among them."""
        sign = "" if tenths == 0 else "+" if tenths > 0 else MINUS
        return f"{sign}{self.tenths(abs(tenths))}"

    def tenths(self, tenths: int) -> str:
        """Write a number of tenths, with one digit after the mark."""
        whole, tenth = divmod(tenths, 10)
        return f"{whole}{self._language.numbers.decimal}{tenth}"

    def unbroken(self, page: str) -> str:
        """Keep amounts of money on one line, whoever wrote them."""
        currency = self._policy.currency
        known_as = re.escape(self._language.currencies.get(currency, currency))
        return re.sub(rf"\b{known_as} (?=\d)", lambda at: at[0][:-1] + _NO_BREAK, page)

    def _quantity(self, shown: Shown, number: Decimal) -> str:
        return dictionary.quantity(self._language, shown, number, self._policy.currency)
