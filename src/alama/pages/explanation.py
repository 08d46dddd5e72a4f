"""What an applicant takes home: the answer, why it fell so, and what would change it.

One self-contained page in the applicant's language, without script, that a loan officer prints on
at most two sheets of A4 and hands over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core import calibration
from alama.core.asked import unmet, unmet_after
from alama.core.catalogue import Use
from alama.core.explanation import horizon_days
from alama.core.lending.policy import Decision
from alama.core.reasons import Advice
from alama.core.recourse import COUNT_DEFAULT, Approval, ScoreAtLeast, Status, TierAtLeast
from alama.pages import explanation_figures, page
from alama.pages.explanation_words import Words
from alama.pages.markup import join, tag

if TYPE_CHECKING:
    from alama.core.application import Application
    from alama.core.assess import Assessment
    from alama.core.explanation import Explanation
    from alama.core.reasons import Language
    from alama.core.recourse import Counterfactual, Goal, ReadyRecourse
    from alama.pages.markup import Markup

_REFERENCE_BESIDE: Final = 16
"""Characters of a reference that has room beside the name; a longer one gets a line of its own."""


def render(
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
    shown = page.handout(
        handout.words.label("title"),
        handout.header(made_on),
        [handout.score(), handout.reasons(), handout.points(), handout.ways(), handout.promise()],
        handout.footer(),
        language.code,
    )
    return handout.words.unbroken(shown)


class _Handout:
    """The parts of the page, from top to bottom."""

    def __init__(
        self,
        ready: ReadyRecourse,
        application: Application,
        goal: Goal,
        explanation: Explanation,
        language: Language,
    ) -> None:
        self._ready = ready
        self._policy = ready.policy
        self._application = application
        self._goal = goal
        self._explanation = explanation
        self._advice = Advice(ready.policy, language)
        self.words = Words(ready.policy, language)
        self._figures = explanation_figures.Figures(ready, application, self.words)

    @property
    def _said(self) -> Assessment:
        return self._explanation.assessment

    @property
    def _is_approved(self) -> bool:
        return self._said.decision is Decision.APPROVED

    # ------------------------------------------------------------------------------- the answer

    def header(self, made_on: str) -> Markup:
        label = self.words.label
        answer, lead = self._answer()
        reference = self._reference()
        is_long = len(reference) > _REFERENCE_BESIDE
        return join(
            tag("p", label("kicker"), class_="kicker"),
            tag("h1", answer),
            tag("p", lead, class_="lead"),
            tag(
                "dl",
                _blank(label("name"), "", "wide"),
                _blank(label("reference"), reference, "long" if is_long else None),
                _blank(label("date"), made_on),
                class_="blanks",
            ),
        )

    def _answer(self) -> tuple[str, str]:
        """Say what was decided, and what the page has to say beyond it."""
        label, offer = self.words.label, self.words.offer(self._said.offer)
        is_way_shown = isinstance(self._goal, Approval) and self._recourse_found
        below = label("ways_below" if is_way_shown else "why_below")
        match self._said.decision:
            case Decision.APPROVED:
                asked = unmet(self._policy, self._application, self._said.offer)
                terms = [label("approved_terms", **offer), *self.words.unmet(asked)]
                return label("approved", **offer), " ".join(terms)
            case Decision.REVIEW:
                return label("review"), below
            case Decision.DECLINED:
                return label("declined"), below

    @property
    def _recourse_found(self) -> bool:
        return self._explanation.recourse.status is Status.FOUND

    def _reference(self) -> str:
        """Give the lender's own reference where one was sent."""
        fields = self._policy.model.catalogue.fields
        sent = (
            value
            for field, value in zip(fields, self._application.values, strict=True)
            if field.use is Use.REFERENCE and value is not None
        )
        return str(next(sent, ""))

    # ---------------------------------------------------------------------------------- the why

    def score(self) -> Markup:
        label = self.words.label
        told = label(
            "score_note",
            score=str(self._said.score),
            lowest=str(calibration.SCORE_MIN),
            highest=str(calibration.SCORE_MAX),
        )
        return _section(
            label("score"),
            page.paragraph(told),
            self._figures.score(self._said, told),
            self._figures.keys(),
        )

    def reasons(self) -> Markup:
        told = self._explanation.reasons
        if not told:
            return join()
        title = self.words.label("strengths" if self._is_approved else "reasons")
        listed = (tag("li", reason.text) for reason in told)
        return _section(title, tag("ol", *listed, class_="reasons"))

    def points(self) -> Markup:
        label = self.words.label
        return _section(
            label("points"),
            page.note(label("points_note", base=self.words.tenths(round(10.0 * self._said.base)))),
            self._figures.points(self._said),
        )

    # ------------------------------------------------------------------------ what would change it

    def ways(self) -> Markup:
        recourse = self._explanation.recourse
        match recourse.status:
            case Status.ALREADY_MET:
                return self._already_met()
            case Status.FOUND:
                return self._found()
            case Status.NO_RECOURSE:
                within = self._advice.within(horizon_days(self._policy.model.catalogue))
                told = dict.fromkeys(map(self._advice.obstacle, recourse.binding))
                return _section(
                    self._heading(),
                    page.paragraph(self.words.label("none", within=within)),
                    tag("ul", *(tag("li", one) for one in told), class_="reasons"),
                )

    def _already_met(self) -> Markup:
        """Say that a goal is met, except for an approval: that is the headline."""
        match self._goal:
            case Approval():
                return join()
            case TierAtLeast(name=name):
                said = page.paragraph(self.words.label("met_tier", tier=name))
                return _section(self._heading(), said)
            case ScoreAtLeast(score=score):
                said = page.paragraph(self.words.label("met_score", score=str(score)))
                return _section(self._heading(), said)

    def _found(self) -> Markup:
        label, recourse = self.words.label, self._explanation.recourse
        found = recourse.counterfactuals
        notes = [label("ways_note")] if len(found) > 1 else []
        notes += [] if recourse.optimal else [label("unproven")]
        return _section(
            self._heading(),
            page.paragraph(" ".join(notes)) if notes else "",
            *(self._way(number, one) for number, one in enumerate(found, start=1)),
            tag("p", label("people_note"), class_="note people"),
            class_="many" if len(found) > COUNT_DEFAULT else None,
        )

    def _way(self, number: int, way: Counterfactual) -> Markup:
        changes = (
            tag("li", self._advice.change(change), self._figures.change(change))
            for change in way.changes
        )
        when = tag("span", f"({self._advice.within(way.within_days)})")
        return tag(
            "article",
            tag("h3", self.words.label("way", number=str(number)), " ", when),
            tag("ul", *changes),
            tag("div", self._figures.movement(self._said, way), tag("p", self._result(way))),
            class_="way",
        )

    def _result(self, way: Counterfactual) -> str:
        label, then = self.words.label, way.assessment
        told = [
            label("result_score", score=str(then.score)),
            label(f"result_{then.decision.lower()}", **self.words.offer(then.offer)),
        ]
        if then.decision is Decision.APPROVED:
            told += self.words.unmet(unmet_after(self._policy, self._application, way))
        return " ".join(told)

    def _heading(self) -> str:
        """Name the goal."""
        match self._goal:
            case Approval():
                return self.words.label("ways_approval")
            case TierAtLeast(name=name):
                return self.words.label("ways_tier", tier=name)
            case ScoreAtLeast(score=score):
                return self.words.label("ways_score", score=str(score))

    # ---------------------------------------------------------------------------------- the foot

    def promise(self) -> Markup:
        """Say how long the ways hold; where none is shown there is nothing to promise."""
        if not self._recourse_found:
            return join()
        return _section(self.words.label("promise"), page.paragraph(self._advice.notice()))

    def footer(self) -> Markup:
        label, policy, model = self.words.label, self._policy.policy, self._policy.model.model
        return join(
            tag("p", label("model", model=f"{model.name}, {model.id}")),
            tag("p", label("policy", policy=f"{policy.name}, {policy.version}, {policy.id}")),
        )


def _section(title: str, *parts: str, class_: str | None = None) -> Markup:
    return tag("section", tag("h2", title), *parts, class_=class_)


def _blank(name: str, value: str, class_: str | None = None) -> Markup:
    return tag("div", tag("dt", name), tag("dd", value), class_=class_)
