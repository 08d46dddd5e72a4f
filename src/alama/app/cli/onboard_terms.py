"""The first step of an onboarding: the lender, its terms, and a policy under its law.

What nobody has said yet is asked at a terminal, else refused.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

import msgspec

from alama.app import installation
from alama.app.cli.onboard_arguments import DAYS_PAST_DUE
from alama.core.errors import AlamaError
from alama.core.model import REFERENCE_INFLOW_MONTHLY
from alama.lenders import keys
from alama.lenders.records import Lender, UnknownLender
from alama.onboarding.records import Pilot, require_reason
from alama.onboarding.steps import Stores
from alama.onboarding.terms import Agreement, Terms
from alama.platform.errors import InvalidName
from alama.platform.files.packaged import jurisdiction, jurisdictions
from alama.platform.terminal import terminal
from alama.platform.terminal import terminal as words
from alama.platform.terminal.command import whole
from alama.training.validation.gates import limits_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.app.installation import Installation


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
        words.remark(
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
    """Understand yes and no."""
    word = text.casefold()
    if word not in YES | NO:
        raise InvalidName("that is neither yes nor no")
    return word in YES
