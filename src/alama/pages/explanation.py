"""What an applicant takes home: the answer, why it fell so, and what would change it.

One self-contained page in the applicant's language, without script, that a loan officer prints on
at most two sheets of A4 and hands over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core import calibration
from alama.core.asked import unmet, unmet_after
from alama.core.catalogue import Use
from alama.core.explanation import horizon_days
from alama.core.lending.policy import Decision
from alama.core.reasons import Advice
from alama.core.recourse import COUNT_DEFAULT, Approval, ScoreAtLeast, Status, TierAtLeast
from alama.pages import render as templates
from alama.pages.explanation_figures import Figures
from alama.pages.explanation_words import Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.application import Application
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
    said, recourse = explanation.assessment, explanation.recourse
    score_told = handout.words.label(
        "score_note",
        score=str(said.score),
        lowest=str(calibration.SCORE_MIN),
        highest=str(calibration.SCORE_MAX),
    )
    answer, lead = handout.answer()
    reference = handout.reference()
    shown = templates.render(
        "pages/templates/explanation.html",
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
