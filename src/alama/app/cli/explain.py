"""`alama explain`: score one application, show where each point comes from, and what would help."""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.app.cli import waterfall
from alama.app.cli.policy_file import read_policy, told_of
from alama.app.cli.recourse_drawing import RecourseDrawing
from alama.core.assess import explain_score
from alama.core.errors import FileProblem, InvalidApplication, InvalidPolicy, MalformedDocument
from alama.core.explanation import Explanation, explain
from alama.core.intake import Intake
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.core.recourse.answer import Sought, read_goal, read_locked
from alama.core.recourse.ready import ReadyRecourse
from alama.platform import clock
from alama.platform.files.packaged import language, model_at, sample_application
from alama.platform.files.promise import promised
from alama.platform.files.texts import STDIN, named, read_bytes
from alama.platform.terminal import terminal
from alama.platform.terminal import terminal as words
from alama.scoring.page import explanation_page

if TYPE_CHECKING:
    from alama.core.application import Application
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

_SIZE_MAX: Final = 64 * 1024
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
    _add_what_is_sought(parser)
    parser.set_defaults(run=run)


def _add_what_is_sought(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--target",
        default="APPROVED",
        metavar="GOAL",
        help="what is sought: APPROVED, a tier or a score (default: %(default)s)",
    )
    add(
        "--limit",
        type=_count,
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
    add("--html", type=Path, metavar="PAGE", help="write a page for the applicant, to be printed")


class _Question(NamedTuple):
    """An application, and what is sought for it in which language."""

    recourse: ReadyRecourse
    application: Application
    sought: Sought
    language: Language


def run(args: argparse.Namespace) -> int:
    """Assess the application, search, and draw the answer."""
    with ExitStack() as held:
        # The place is held first: nobody waits for a search whose page cannot be written.
        page = held.enter_context(promised(args.html)) if args.html else None
        ready, policy = _laid_out(args)
        console = terminal.stdout()
        if isinstance(policy, InvalidPolicy):
            if args.html:
                raise _without_policy(policy)
            said = explain_score(ready, _application(args, ready, None))
            console.print(waterfall.drawing(ready, None, said, console), soft_wrap=True)
            words.remark(f"No decision, no reasons and no recourse: {policy}.")
            return 0
        question = _question(args, policy)
        explanation = _explained(question)
        if page is not None:
            page.write(_page(question, explanation).encode())
    drawn = waterfall.drawing(ready, policy, explanation.assessment, console)
    console.print(drawn, soft_wrap=True)
    RecourseDrawing(*question, console).show(explanation)
    if args.html:
        words.remark(f"{args.html}: the page for the applicant")
    return 0


def _explained(question: _Question) -> Explanation:
    stop_at_s = time.monotonic() + SEARCH_S
    return explain(*question, out_of_time=lambda: time.monotonic() > stop_at_s)


def _page(question: _Question, explanation: Explanation) -> str:
    recourse, application, sought, language = question
    made_on = words.day(clock.wall_us())
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
    return _Question(ReadyRecourse(policy), application, sought, spoken)


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
    document = sample_application() if args.file is None else read_bytes(args.file, _SIZE_MAX)
    source = "the sample application" if args.file is None else named(args.file)
    try:
        application = Intake(ready.catalogue).read(document)
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


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= _WAYS_MAX):
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {_WAYS_MAX}")
    return int(text)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise argparse.ArgumentTypeError("names no field")
    return names
