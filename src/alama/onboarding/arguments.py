"""What onboarding commands are told: their arguments, and the terms of a lender.

What nobody has said of the terms is asked at a terminal, else refused.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

import msgspec

from alama.core.errors import AlamaError
from alama.core.model import REFERENCE_INFLOW_MONTHLY
from alama.lenders import installation, keys
from alama.lenders.records import Lender, UnknownLender, require_reason
from alama.onboarding.records import Decided, Pilot
from alama.onboarding.store import Stores
from alama.onboarding.terms import Agreement, Terms
from alama.platform import clock
from alama.platform.errors import InvalidName
from alama.platform.files.packaged import jurisdiction, jurisdictions
from alama.platform.terminal import terminal
from alama.platform.terminal.command import names, whole
from alama.training.validation.gates import limits_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.lenders.installation import Installation
    from alama.training.history.loans import Options


EXIT_FAILED: Final = 1
"""What was judged did not hold: a gate failed, or the history cannot carry a model."""

DAYS_PAST_DUE: Final = 30
"""What a default is where nobody says otherwise."""


def add_lender(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lender", metavar="LENDER", help="a short word: umoja-sacco")


def add_by(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--by", metavar="NAME", help="who does it (default: the login name)")


def add_terms(parser: argparse.ArgumentParser) -> None:
    """Add what is agreed with a lender: each is kept as it was where nothing is said."""
    group = parser.add_argument_group("the lender and its terms")
    add = group.add_argument
    add("--name", metavar="NAME", help="the name for people, of a new lender")
    add("--currency", type=str.upper, metavar="CODE", help="that a new lender lends in: KES")
    add(
        "--jurisdiction",
        metavar="CODE",
        help="the pack of its law: KE, UG, TZ, ...; where no live policy is in force one is "
        "drafted from it (default: no law assumed)",
    )
    add(
        "--days-past-due",
        type=whole(1),
        metavar="K",
        help="a default is a loan ever K days past due by its due date + K "
        f"(default: {DAYS_PAST_DUE})",
    )
    eyes = group.add_mutually_exclusive_group()
    eyes.add_argument(
        "--four-eyes",
        dest="approvers",
        action="store_const",
        const=2,
        help="two people approve a model",
    )
    eyes.add_argument(
        "--two-eyes",
        dest="approvers",
        action="store_const",
        const=1,
        help="one person approves a model (default)",
    )
    add(
        "--gate",
        dest="gates",
        type=_limit,
        action="append",
        metavar="NAME=LIMIT",
        help="ask more of a model than is asked of everyone, such as auc_low_min=0.65; may be "
        "repeated, and takes the place of all gates before",
    )


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add how a file of loans is to be read."""
    add_inputs(parser).add_argument(
        "--group",
        dest="groups",
        type=names,
        action="extend",
        default=[],
        metavar="A,B",
        help="columns to look at for fairness, such as gender; never an input",
    )


def add_inputs(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add what a model may learn from, and give the group of it."""
    group = parser.add_argument_group("what a model may learn from")
    add = group.add_argument
    add(
        "--exclude",
        type=names,
        action="extend",
        default=[],
        metavar="A,B",
        help="fields that the model must not see, such as one filled in after the loan",
    )
    add(
        "--keep",
        type=names,
        action="extend",
        default=[],
        metavar="A,B",
        help="keep a suspected field; a gate blocks approval if it gives the outcome away",
    )
    add(
        "--region",
        action="store_true",
        help="let the model use the region, and show what that buys and does to groups",
    )
    return group


def add_training(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--seed", type=whole(0), metavar="N", help="equal seed, equal model (default: 0)")
    add("--jobs", type=whole(1), metavar="N", help="bags boosted at once (default: all cores)")
    add(
        "--refit",
        action="store_true",
        help="where every gate is passed, fit it once more on every loan; that model is to answer",
    )


def options_from(args: argparse.Namespace) -> Options:
    """Give how to read a file, as the arguments of `add_reading` say."""
    from alama.training.history.loans import Options  # noqa: PLC0415  it loads Arrow

    return Options(
        today=datetime.fromtimestamp(clock.wall_us() / 1e6, UTC).date(),
        region=args.region,
        exclude=frozenset(args.exclude),
        keep=frozenset(args.keep),
        groups=tuple(args.groups),
    )


def decided_from(args: argparse.Namespace) -> Decided:
    """Give what is decided about a training run, as `add_inputs` and `add_training` say."""
    return Decided(
        region=args.region,
        exclude=tuple(args.exclude),
        keep=tuple(args.keep),
        seed=args.seed or 0,
        refit=args.refit,
    )


def inputs_given(args: argparse.Namespace) -> dict[str, bool]:
    """Say which options of `add_inputs` were given."""
    return {
        "--exclude": bool(args.exclude),
        "--keep": bool(args.keep),
        "--region": args.region,
    }


def refuse_unused(given: Mapping[str, bool], why: str, hint: str) -> None:
    """Refuse those options that were given, because nothing would use them; `InvalidName`."""
    unused = [option for option, was_given in given.items() if was_given]
    if unused:
        raise InvalidName(f"nothing would use {' or '.join(unused)}: {why}", hint=hint)


def _limit(text: str) -> tuple[str, float]:
    name, equals, limit = (part.strip() for part in text.partition("="))
    try:
        if name and equals:
            return name, float(limit)
    except ValueError:
        pass
    message = f"{text!r} is not of the form NAME=LIMIT, such as auc_low_min=0.65"
    raise argparse.ArgumentTypeError(message)


NO_LAW: Final = "none"
"""How a person answers that no law is assumed."""


YES: Final = frozenset({"y", "yes"})
NO: Final = frozenset({"n", "no"})

Answer = TypeVar("Answer")

Read = Callable[[str], Answer]
"""Understands an answer, or raises `AlamaError` or `argparse.ArgumentTypeError`."""


class Question(Protocol):
    """Asks for one thing."""

    def __call__(
        self, question: str, option: str, read: Read[Answer], default: str | None = None
    ) -> Answer:
        """Give what was answered; `option` is how it is said on the command line."""
        ...


class Settled(NamedTuple):
    """The terms of a lender, and whether they were set just now."""

    pilot: Pilot
    changed: bool


def settle(opened: Installation, args: argparse.Namespace, ask: Question) -> Settled:
    """Add a lender that is new, and set its terms where they are new or other than before.

    What the arguments leave open stays as it was; what never was is asked for.
    """
    by = args.by or installation.operator()
    before = Stores.at(opened).pilots.find(args.lender)
    lender = _lender(opened, args, ask)
    terms = _terms(before, args, ask)
    if before is not None and terms == _terms_of(before):
        return Settled(before, changed=False)
    reason = _reason_for_fewer(before, terms, args)
    agreed = Agreement.at(opened).set(lender.id, terms, by, reason=reason)
    if reason is not None:
        terminal.warn(
            f"from now on one person alone puts a model of {lender.id} in force; two had to before"
        )
    place = agreed.pilot.jurisdiction
    if agreed.drafted:
        terminal.remark(
            f"A live policy was drafted from the pack {place}, to be looked at and changed:\n"
            f"  alama policy show --lender {lender.id} --mode live"
        )
    if agreed.other_law is not None:
        terminal.warn(
            f"the live policy of {lender.id} is one for {agreed.other_law}, not {place}; "
            f"`alama policy init --jurisdiction {place}` drafts another"
        )
    return Settled(agreed.pilot, changed=True)


def _reason_for_fewer(before: Pilot | None, terms: Terms, args: argparse.Namespace) -> str | None:
    """Give why fewer people approve than before; None where they do not. `InvalidName`."""
    said: str | None = args.fewer_because
    if before is None or terms.approvers >= before.approvers:
        if said is not None:
            raise InvalidName(
                "--reason says why one person approves where two had to, which is not so here",
                hint="leave --reason out",
            )
        return None
    if said is None:
        raise InvalidName(
            f"two people approve a model of {args.lender}, and one would from now on: say why",
            hint=f'alama onboard terms {args.lender} --two-eyes --reason "..."',
        )
    return require_reason(said)


def _lender(opened: Installation, args: argparse.Namespace, ask: Question) -> Lender:
    """Find the lender or add it; a name or currency that is another one's is refused."""
    try:
        found = opened.registry.lender(args.lender)
    except UnknownLender:
        name = args.name or ask(f"The name of {args.lender}, for people", "--name", str)
        currency = args.currency or ask(
            "The currency that it lends in, such as KES", "--currency", _read_currency
        )
        return keys.add_lender(opened.registry, opened.clock, args.lender, name, currency)
    for what, is_now, said in (
        ("name", found.name, args.name),
        ("currency", found.currency, args.currency),
    ):
        if said is not None and said != is_now:
            raise InvalidName(
                f"the {what} of {found.id} is {is_now}, and does not change",
                hint=f"leave --{what} out, or take another word for another lender",
            )
    return found


def _read_currency(text: str) -> str:
    code = text.strip().upper()
    if code not in REFERENCE_INFLOW_MONTHLY:
        known = ", ".join(sorted(REFERENCE_INFLOW_MONTHLY))
        raise InvalidName(f"{code} is not a currency that is known here", hint=f"known: {known}")
    return code


def _terms(before: Pilot | None, args: argparse.Namespace, ask: Question) -> Terms:
    said: dict[str, int | str | None] = {
        name: value
        for name, value in (("days_past_due", args.days_past_due), ("approvers", args.approvers))
        if value is not None
    }
    if args.jurisdiction is not None:
        said["jurisdiction"] = _place(args.jurisdiction)
    if args.gates is not None:
        said["gates"] = limits_text(dict(args.gates))
    if before is not None:
        return msgspec.structs.replace(_terms_of(before), **said)
    return msgspec.convert(said | _asked(said, ask), Terms)


def _asked(said: Mapping[str, object], ask: Question) -> dict[str, int | str | None]:
    """Ask for those terms of a new pilot about which nobody has said anything."""
    answers: dict[str, int | str | None] = {}
    if "jurisdiction" not in said:
        law = f"Whose law: {', '.join(_codes())}, or {NO_LAW}"
        answers["jurisdiction"] = ask(law, "--jurisdiction", _place, NO_LAW)
    if "days_past_due" not in said:
        late = "A default is a loan so many days past due"
        answers["days_past_due"] = ask(late, "--days-past-due", whole(1), str(DAYS_PAST_DUE))
    if "approvers" not in said:
        eyes = "Do two people approve a model, rather than one"
        answers["approvers"] = 1 + ask(eyes, "--four-eyes or --two-eyes", yes_or_no, "no")
    return answers


def _terms_of(pilot: Pilot) -> Terms:
    return Terms(pilot.days_past_due, pilot.approvers, pilot.jurisdiction, pilot.gates)


# ----------------------------------------------------------------------------------- the law


def _codes() -> list[str]:
    return [pack.code for pack in jurisdictions() if pack.currencies]


def _place(text: str) -> str | None:
    """Give the code of a place, or None where no law is assumed; `UnknownJurisdiction`."""
    if text.strip().casefold() == NO_LAW:
        return None
    return jurisdiction(text).code


# ----------------------------------------------------------------------------------- questions


def asker() -> Question:
    """Ask where somebody looks on and can answer; elsewhere take defaults, or refuse."""
    seen = sys.stdin.isatty() and sys.stderr.isatty()
    return ask_person if seen else take_default


def take_default(
    question: str, option: str, read: Read[Answer], default: str | None = None
) -> Answer:
    """Answer by the default; `InvalidName` names the option where there is none."""
    if default is None:
        raise InvalidName(f"this is not known yet: {question}", hint=f"say {option}")
    return read(default)


def ask_person(
    question: str, option: str, read: Read[Answer], default: str | None = None
) -> Answer:
    """Ask until the answer is understood; an empty one is the default."""
    shown = "" if default is None else f" [{default}]"
    while True:
        sys.stderr.write(f"{question}{shown}: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise InvalidName(f"this was not answered: {question}", hint=f"say {option}")
        answer = line.strip() or default
        if answer is None:
            continue
        try:
            return read(answer)
        except AlamaError as error:
            terminal.error(str(error), error.hint)
        except argparse.ArgumentTypeError as error:
            terminal.error(str(error))


def yes_or_no(text: str) -> bool:
    word = text.casefold()
    if word not in YES | NO:
        raise InvalidName("that is neither yes nor no")
    return word in YES
