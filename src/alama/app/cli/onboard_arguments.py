"""Arguments that the actions of `alama onboard` share."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from alama.onboarding.orders import Decided
from alama.platform import clock
from alama.platform.errors import InvalidName
from alama.platform.terminal.command import names, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.training.history.loans import Options


EXIT_FAILED: Final = 1
"""What was judged did not hold: a gate failed, or the history cannot carry a model."""

DAYS_PAST_DUE: Final = 30
"""What a default is where nobody says otherwise."""


def add_lender(parser: argparse.ArgumentParser) -> None:
    """Name the lender, first of all."""
    parser.add_argument("lender", metavar="LENDER", help="a short word: umoja-sacco")


def add_by(parser: argparse.ArgumentParser) -> None:
    """Say who does it, for the audit."""
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
        help="keep a field that seems to give the outcome away; a gate then blocks approval",
    )
    add(
        "--region",
        action="store_true",
        help="let the model use the region, and show what that buys and does to groups",
    )
    return group


def add_training(parser: argparse.ArgumentParser) -> None:
    """Add how a model is trained."""
    add = parser.add_argument
    add("--seed", type=whole(0), metavar="N", help="equal seed, equal model (default: 0)")
    add("--jobs", type=whole(1), metavar="N", help="bags boosted at once (default: all cores)")


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
