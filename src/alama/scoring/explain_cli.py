"""`alama explain`: a score, where its points come from, and what would lead to the goal.

What is said to the applicant is in their language; what is said about it is for whoever sits at the
terminal.
"""

from __future__ import annotations

import argparse
import time
from codecs import BOM_UTF8
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text

from alama.batch import listing
from alama.core import calibration
from alama.core.asked import Asked, Unmet, unmet, unmet_after
from alama.core.assess import Assessment, explain_score
from alama.core.errors import FileProblem, InvalidApplication, InvalidPolicy, MalformedDocument
from alama.core.explanation import Explanation, explain, horizon_days
from alama.core.intake import Intake
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
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
    read_goal,
    read_locked,
)
from alama.core.recourse.ready import ReadyRecourse
from alama.platform import clock
from alama.platform.files.packaged import language, model_at, sample_application
from alama.platform.files.promise import promised
from alama.platform.files.texts import STDIN, named, read_bytes, read_policy, told_of
from alama.platform.terminal import terminal
from alama.platform.terminal.command import whole
from alama.platform.terminal.tables import Paragraphs, Scale, glyphs
from alama.scoring.page import explanation_page
from alama.scoring.waterfall import DECISION_STYLES, WIDTH_MAX, drawing, offer_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from alama.core.application import Application
    from alama.core.lending.offer import Offer
    from alama.core.reasons.dictionary import Language


DESCRIPTION: Final = """\
Score one application, draw where each point comes from, and find what would change the decision.

FILE is a JSON object of fields, under either of their names; `-` reads it from standard
input; without FILE a sample application is scored. The drawing starts at the base score, which
the population has on average; each field then adds or takes exactly its points, the largest
first, and the last one ends at the score.

Below stand the reasons, and the cheapest changes of at most three fields that lead to --target:
only what an applicant can change, in the way and as far as they can, to values that real people
have. Each is proven to work: the changed application, scored again, gives what is promised. Where
nothing helps, it says what stands in the way. --html writes all of it as a page for the applicant,
in their language, to be printed and handed over.

Decision and offer are those of the default policy, or of --policy. Nothing is stored."""

EXAMPLES: Final = """\
examples:
  # the sample application, by the built-in model
  alama explain

  # four fields are enough
  echo '{"mobile_money_months": 14, "monthly_inflow": 18000, "stability_score": 0.6,
         "airtime_regularity": 0.8}' | alama explain -

  # what would bring this applicant into tier B, under my policy?
  alama explain application.json --policy policy.toml --target B \\
        --locked requested_amount,requested_term_days

  # a page in Swahili to print and hand over
  alama explain application.json --language sw --html page.html

  # your model, and money in Ugandan shillings
  alama explain application.json --model model.json --currency UGX"""

SEARCH_S: Final = 10.0
"""How long a what-if in a terminal may take; nearly all take milliseconds."""

SIZE_MAX: Final = 64 * 1024
"""Bytes of an application, as the service has it."""

_WAYS_MAX: Final = 5
"""As `recourse.COUNT_MAX`, which a test holds: the front door does not wait for its arrays."""


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    add = parser.add_argument
    add("file", nargs="?", type=Path, metavar="FILE", help="a JSON object, - for standard input")
    add("--model", type=Path, metavar="MODEL", help="a model file (default: the built-in model)")
    add(
        "--policy",
        type=Path,
        metavar="POLICY",
        help="a policy file that decides (default: the default policy of the currency)",
    )
    add(
        "--currency",
        type=str.upper,
        metavar="CODE",
        help="of money in the application (default: the policy's, or else the model's)",
    )
    add_sought(parser)
    add("--html", type=Path, metavar="PAGE", help="write a page for the applicant, to be printed")
    parser.set_defaults(run=run)


def add_sought(parser: argparse.ArgumentParser) -> None:
    """Let a command be told what is sought for an application, and in which language."""
    add = parser.add_argument
    add(
        "--target",
        default="APPROVED",
        metavar="GOAL",
        help="what is sought: APPROVED, a tier or a score (default: %(default)s)",
    )
    add(
        "--limit",
        type=whole(1, _WAYS_MAX),
        default=3,
        metavar="N",
        help=f"ways to show, 1 to {_WAYS_MAX} (default: %(default)s)",
    )
    add(
        "--locked",
        type=_names,
        default=(),
        metavar="A,B",
        help="fields that must stay as they are",
    )
    add(
        "--language",
        default="en",
        metavar="CODE",
        help="of what is said to the applicant: en, sw or fr (default: %(default)s)",
    )


class _Question(NamedTuple):
    """An application, and what is sought for it in which language."""

    recourse: ReadyRecourse
    application: Application
    sought: Sought
    language: Language


def run(args: argparse.Namespace) -> int:
    with ExitStack() as held:
        # The place is held first: nobody waits for a search whose page cannot be written.
        page = held.enter_context(promised(args.html)) if args.html else None
        ready, policy = _laid_out(args)
        console = terminal.stdout()
        if isinstance(policy, InvalidPolicy):
            if args.html:
                raise _without_policy(policy)
            said = explain_score(ready, _application(args, ready, None))
            console.print(drawing(ready, None, said, console), soft_wrap=True)
            terminal.remark(f"No decision, no reasons and no recourse: {policy}.")
            return 0
        question = _question(args, policy)
        explanation = _explained(question)
        if page is not None:
            page.write(_page(question, explanation).encode())
    drawn = drawing(ready, policy, explanation.assessment, console)
    console.print(drawn, soft_wrap=True)
    RecourseDrawing(*question, console).show(explanation)
    if args.html:
        terminal.remark(f"{args.html}: the page for the applicant")
    return 0


def _explained(question: _Question) -> Explanation:
    stop_at_s = time.monotonic() + SEARCH_S
    return explain(*question, out_of_time=lambda: time.monotonic() > stop_at_s)


def _page(question: _Question, explanation: Explanation) -> str:
    recourse, application, sought, language = question
    made_on = terminal.day(clock.wall_us())
    return explanation_page(recourse, application, sought.goal, explanation, language, made_on)


# ---------------------------------------------------------------------------- what is asked for


def _question(args: argparse.Namespace, policy: ReadyPolicy) -> _Question:
    sought = Sought(
        read_goal(args.target, policy.policy),
        read_locked(args.locked, policy.model.catalogue),
        args.limit,
    )
    spoken = language(args.language)
    application = _application(args, policy.model, policy)
    recourse = ReadyRecourse(policy.for_product(application.product))
    return _Question(recourse, application, sought, spoken)


def _laid_out(args: argparse.Namespace) -> tuple[ReadyModel, ReadyPolicy | InvalidPolicy]:
    """Give the model and the policy, or why no policy can be had where none was named."""
    model = model_at(args.model)
    if args.policy is not None:
        policy = _named_policy(args, model)
        return policy.model, policy
    ready = ReadyModel(model, args.currency)
    if ready.currency is None:
        return ready, InvalidPolicy("the model knows no money, so nothing can be lent by it")
    try:
        return ready, ReadyPolicy(default_policy(ready.currency), ready)
    except InvalidPolicy as error:
        return ready, error


def _named_policy(args: argparse.Namespace, model: Model) -> ReadyPolicy:
    if args.policy == args.file == STDIN:
        raise FileProblem(
            "application and policy cannot both come by standard input",
            hint="name a file for one of them",
        )
    policy = read_policy(args.policy, model)
    if args.currency not in {None, policy.currency}:
        raise InvalidPolicy(
            f"{named(args.policy)} lends in {policy.currency}, but --currency says {args.currency}",
            hint="leave --currency out: money in the application is in the policy's currency",
        )
    with told_of(args.policy):
        return ReadyPolicy(policy, ReadyModel(model, policy.currency))


def _without_policy(why: InvalidPolicy) -> InvalidPolicy:
    return InvalidPolicy(
        f"there is no decision to put on a page: {why}",
        hint=why.hint or "name a policy that fits the model: --policy FILE",
    )


def _application(
    args: argparse.Namespace, ready: ReadyModel, policy: ReadyPolicy | None
) -> Application:
    """Read the application, without what the policy forbids."""
    document = sample_application() if args.file is None else read_document(args.file)
    source = "the sample application" if args.file is None else named(args.file)
    try:
        products = () if policy is None else policy.products
        application = Intake(ready.catalogue, products=products).read(document)
        if policy is not None:
            policy.refuse_forbidden(application)
    except MalformedDocument as error:
        hint = 'an application looks like {"mm_months": 14, ...}'
        raise FileProblem(f"{source} {error.fault}", hint=hint) from error
    except InvalidApplication as error:
        listed = [f"{problem.pointer[1:]} {problem.detail}" for problem in error.problems]
        if error.count > len(listed):
            listed.append(f"and {error.count - len(listed)} more")
        listing = "".join(f"\n  {line}" for line in listed)
        raise FileProblem(f"{source} is not a valid application:{listing}") from error
    return application


def read_document(file: Path) -> bytes:
    """Read an application as the service does: how some editors begin a file is no part of it."""
    return read_bytes(file, SIZE_MAX).removeprefix(BOM_UTF8)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise argparse.ArgumentTypeError("names no field")
    return names


STRIP_WIDTH: Final = 32
"""Characters of a drawn way, of scores or of people."""


class ExplanationDrawing:
    """Shows reasons and ways from plain values, wherever they were found."""

    def __init__(self, currency: str | None, console: Console) -> None:
        self._currency = currency
        self.told = Paragraphs(console, WIDTH_MAX)
        self.glyphs = glyphs(console)

    def reasons(self, decision: str, texts: Sequence[str]) -> None:
        if texts:
            self.told.heading("What speaks for it" if decision == Decision.APPROVED else "Why")
        for number, text in enumerate(texts, start=1):
            self.told.hang(Text(text), f"{number}")

    def ways(self, goal: str, ways: Iterable[Iterable[Text]], notice: str, *, proven: bool) -> None:
        proof = "proven" if proven else "time ran out, cheaper ones may exist"
        self.told.heading(f"What leads to {goal}: the cheapest first, {proof}")
        for place, way in enumerate(ways, start=1):
            self.told.blank()
            for number, line in enumerate(way):
                self.told.hang(line, "" if number else f"{place}")
        self.told.blank()
        self.told.hang(Text(notice))

    def step(self, score: int, tier: str, then: Assessment) -> Iterator[Text]:
        """Yield the way from a score and its tier to what is said then, and what is offered."""
        scale = Scale(calibration.SCORE_MIN, calibration.SCORE_MAX, STRIP_WIDTH)
        tiers = tier if tier == then.tier else f"{tier} to {then.tier}"
        told = f"  score {score} to {then.score}, tier {tiers}"
        yield scale.way(score, then.score, self.glyphs) + Text(told)
        decision = Text.assemble((then.decision.value, DECISION_STYLES[then.decision]))
        if then.offer.limit:
            decision.append("   ").append_text(offer_in_words(then.offer, self._currency))
        yield decision


def cost_of(cost: float, when: str) -> Text:
    """Tell what a way asks of the applicant, and by when."""
    return Text(f"cost {cost:.3f}   {when}", "dim")


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
        self._drawing = ExplanationDrawing(ready.policy.currency, console)
        self._told = self._drawing.told

    def show(self, explanation: Explanation) -> None:
        """Print the reasons, then the ways or what stands in their way."""
        recourse, said = explanation.recourse, explanation.assessment
        is_all_met = recourse.status is Status.ALREADY_MET and self._sought.goal == APPROVAL
        if not is_all_met and (loan := self._other_loan(said)):
            self._told.heading(f"The offer is {loan}")
        self._drawing.reasons(said.decision, [reason.text for reason in explanation.reasons])
        match recourse.status:
            case Status.ALREADY_MET:
                self._told.heading(self._met(said))
            case Status.FOUND:
                ways = [self._way(said, way) for way in recourse.counterfactuals]
                notice = self._advice.notice()
                self._drawing.ways(self._goal(), ways, notice, proven=recourse.optimal)
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
        self._told.heading(f"{nothing} leads to {self._goal()} within {_in_days(days)}")
        names: dict[str, list[str]] = {}
        for obstacle in recourse.binding:
            told = self._advice.obstacle(obstacle)
            names.setdefault(told, []).append(_named_obstacle(obstacle))
        for told, those in names.items():
            self._told.hang(Text(told), "-")
            for name in those:
                self._told.hang(Text(name, "dim"))

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

    def _way(self, said: Assessment, way: Counterfactual) -> Iterator[Text]:
        """Yield the changes in words and as pictures, and what they lead to."""
        for change in way.changes:
            yield Text(self._advice.change(change))
            yield from self._crossing(change)
        then = way.assessment
        yield from self._drawing.step(said.score, said.tier, then)
        asked = unmet_after(self._policy, self._application, way)
        if loan := self._beside(asked, then.offer):
            yield Text(loan)
        yield cost_of(way.cost, self._advice.within(way.within_days))

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
        drawn = Scale(0.0, 1.0, STRIP_WIDTH).way(before, after, self._drawing.glyphs)
        yield drawn + Text(told, "dim")

    def _goal(self) -> str:
        """Name what is sought, and what was to stay as it is."""
        kept = ", ".join(sorted(self._sought.locked))
        named = _named_goal(self._sought.goal)
        return f"{named} with {kept} as now" if kept else named


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
