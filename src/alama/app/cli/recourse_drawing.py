"""Reasons and recourse in a terminal: why, what would lead to the goal, or what stands in the way.

What is said to the applicant is in their language; what is said about it is for whoever sits at the
terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from alama.app.cli.waterfall import DECISION_STYLES, WIDTH_MAX, offer_in_words
from alama.batch import listing
from alama.core import calibration
from alama.core.asked import Asked, Unmet, unmet, unmet_after
from alama.core.explanation import Explanation, horizon_days
from alama.core.lending.policy import Decision
from alama.core.reasons.advice import Advice
from alama.core.recourse.answer import (
    APPROVAL,
    Approval,
    Counterfactual,
    FieldChange,
    Goal,
    Obstacle,
    Recourse,
    ScoreAtLeast,
    Sought,
    Status,
    TierAtLeast,
)
from alama.platform.terminal.tables import Scale, glyphs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from alama.core.application import Application
    from alama.core.assess import Assessment
    from alama.core.lending.offer import Offer
    from alama.core.reasons.dictionary import Language
    from alama.core.recourse.ready import ReadyRecourse


_INDENT: Final = 5
_STRIP_WIDTH: Final = 32


class RecourseDrawing:
    """Shows what was found for one application."""

    def __init__(
        self,
        ready: ReadyRecourse,
        application: Application,
        sought: Sought,
        language: Language,
        console: Console,
    ) -> None:
        self._policy = ready.policy
        self._application = application
        self._card = ready.card(ready.policy.model.scorecard_for(application))
        self._sought = sought
        self._advice = Advice(ready.policy, language)
        self._console = console
        self._glyphs = glyphs(console)

    def show(self, explanation: Explanation) -> None:
        """Print the reasons, then the ways or what stands in their way."""
        recourse, said = explanation.recourse, explanation.assessment
        is_all_met = recourse.status is Status.ALREADY_MET and self._sought.goal == APPROVAL
        if not is_all_met and (loan := self._other_loan(said)):
            self._heading(f"The offer is {loan}")
        if explanation.reasons:
            is_approved = said.decision is Decision.APPROVED
            self._heading("What speaks for it" if is_approved else "Why")
            for number, reason in enumerate(explanation.reasons, start=1):
                self._hang(Text(reason.text), f"{number}")
        match recourse.status:
            case Status.ALREADY_MET:
                self._heading(self._met(said))
            case Status.FOUND:
                self._found(explanation)
            case Status.NO_RECOURSE:
                self._none(recourse)

    def _met(self, said: Assessment) -> str:
        """Say that a goal is met; to be approved for another loan is not all that was sought."""
        met, loan = _named_as_met(self._sought.goal), self._other_loan(said)
        if loan and isinstance(self._sought.goal, Approval):
            return f"{met.removesuffix('.')}, but {loan}. Approval itself needs no change."
        return f"{met} Nothing needs to change."

    def _other_loan(self, said: Assessment) -> str:
        """Say how the present offer differs from the loan that was asked for; often not at all."""
        return self._beside(unmet(self._policy, self._application, said.offer), said.offer)

    def _none(self, recourse: Recourse) -> None:
        """Say how far ahead was looked, and what binds: what reads the same is said once."""
        nothing = "Nothing" if recourse.optimal else "Nothing was found that"
        days = horizon_days(self._policy.model.catalogue)
        self._heading(f"{nothing} leads to {self._goal()} within {_in_days(days)}")
        names: dict[str, list[str]] = {}
        for obstacle in recourse.binding:
            told = self._advice.obstacle(obstacle)
            names.setdefault(told, []).append(_named_obstacle(obstacle))
        for told, named in names.items():
            self._hang(Text(told), "-")
            for name in named:
                self._hang(Text(name, "dim"))

    def _beside(self, asked: Unmet, offer: Offer) -> str:
        """Say what of the loan that was asked for is not offered; nothing where no loan is."""
        if not offer.limit:
            return ""
        told = []
        if asked.amount is not None:
            amount = f"{self._policy.currency} {listing.number(asked.amount.value)}"
            told.append(f"for less than the {_called(asked.amount, amount)}")
        if asked.term is not None:
            days = _called(asked.term, listing.number(asked.term.value))
            told.append(f"for {_in_days(offer.term_days)} instead of the {days}")
        return " and ".join(told)

    def _found(self, explanation: Explanation) -> None:
        recourse = explanation.recourse
        proof = "proven" if recourse.optimal else "time ran out, cheaper ones may exist"
        self._heading(f"What leads to {self._goal()}: the cheapest first, {proof}")
        for number, way in enumerate(recourse.counterfactuals, start=1):
            first, *others = self._way(explanation.assessment, way)
            self._console.print()
            self._hang(first, f"{number}")
            for line in others:
                self._hang(line)
        self._console.print()
        self._hang(Text(self._advice.notice()))

    def _way(self, said: Assessment, way: Counterfactual) -> Iterator[Text]:
        """Yield the changes in words and as pictures, and what they lead to."""
        for change in way.changes:
            yield Text(self._advice.change(change))
            yield from self._crossing(change)
        then = way.assessment
        scale = Scale(calibration.SCORE_MIN, calibration.SCORE_MAX, _STRIP_WIDTH)
        tiers = said.tier if said.tier == then.tier else f"{said.tier} to {then.tier}"
        score = f"  score {said.score} to {then.score}, tier {tiers}"
        yield scale.way(said.score, then.score, self._glyphs) + Text(score)
        decision = Text.assemble((then.decision.value, DECISION_STYLES[then.decision]))
        if then.offer.limit:
            decision.append("   ").append_text(offer_in_words(then.offer, self._policy.currency))
        yield decision
        asked = unmet_after(self._policy, self._application, way)
        if loan := self._beside(asked, then.offer):
            yield Text(loan)
        yield Text(f"cost {way.cost:.3f}   {self._advice.within(way.within_days)}", "dim")

    def _crossing(self, change: FieldChange) -> Iterator[Text]:
        """Draw the way among all people, the lowest value on the left; if they are known."""
        ladder = self._card.ladder(self._policy.model.catalogue.position[change.field])
        if ladder is None:
            return
        assert isinstance(change.before, int | float)  # words are no levers
        assert isinstance(change.after, int | float)
        before, after = ladder.share_below(change.before), ladder.share_below(change.after)
        passed = round(100.0 * abs(after - before))
        told = f"  past {passed or 'fewer than 1'} of 100 people"
        drawn = Scale(0.0, 1.0, _STRIP_WIDTH).way(before, after, self._glyphs)
        yield drawn + Text(told, "dim")

    def _goal(self) -> str:
        """Name what is sought, and what was to stay as it is."""
        kept = ", ".join(sorted(self._sought.locked))
        named = _named_goal(self._sought.goal)
        return f"{named} with {kept} as now" if kept else named

    def _heading(self, shown: str) -> None:
        self._console.print()
        for line in self._wrapped(Text(shown, "bold"), self._width):
            self._console.print(line)

    def _hang(self, text: Text, bullet: str = "") -> None:
        """Print a paragraph that hangs from its bullet, or from nothing."""
        for place, line in enumerate(self._wrapped(text, self._width - _INDENT)):
            self._console.print(Text(f"{'' if place else bullet:>3}  ") + line)

    def _wrapped(self, text: Text, width: int) -> Iterator[Text]:
        for line in text.wrap(self._console, width):
            line.rstrip()
            yield line

    @property
    def _width(self) -> int:
        return min(self._console.width, WIDTH_MAX)


def _named_goal(goal: Goal) -> str:
    match goal:
        case Approval():
            return Decision.APPROVED.value
        case TierAtLeast(name=name):
            return f"tier {name}"
        case ScoreAtLeast(score=score):
            return f"a score of {score}"


def _named_as_met(goal: Goal) -> str:
    match goal:
        case Approval():
            return f"It is {Decision.APPROVED.value}."
        case TierAtLeast(name=name):
            return f"It is in tier {name} or a better one."
        case ScoreAtLeast(score=score):
            return f"The score is {score} or more."


def _called(asked: Asked, shown: str) -> str:
    return f"standard {shown}" if asked.is_assumed else f"{shown} asked for"


def _in_days(days: int) -> str:
    return "1 day" if days == 1 else f"{days} days"


def _named_obstacle(obstacle: Obstacle) -> str:
    """Name an obstacle as programs do, with the rule and the fields that it is about."""
    about = ", ".join(filter(None, (obstacle.rule, *obstacle.fields)))
    return f"{obstacle.hindrance.value}: {about}" if about else obstacle.hindrance.value
