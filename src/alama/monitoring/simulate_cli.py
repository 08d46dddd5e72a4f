"""`alama outcomes simulate`: months of scores and outcomes in a test book, to see monitoring by."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Final

from alama.lenders.installation import installation
from alama.platform.terminal import terminal
from alama.platform.terminal.command import Subparsers, whole

if TYPE_CHECKING:
    from collections.abc import Callable


DESCRIPTION: Final = """\
Fill the test book of a lender with months of scores of people who do not exist, and with what
became of their loans, so that `alama monitor` and GET /v1/monitoring have something to show.

Every application is scored, sealed, counted and named in the audit as one that came over HTTP, by
the model and the policy of the test book; only its time lies in the past. No webhook is told of
these scores; of outcomes and reviews those of the test book are told as ever. Those who were
approved get the loan, and of those left to a person every second one. An officer reviews the
newest 600 of these, but for the last ten: they wait, and so do all that are older. What becomes of
a loan is drawn from its true risk, which the population knows and the model does not, and is
recorded as far as a lender would have heard of it by today: young loans are open.

--drift halves what two thirds of the applicants of the last third say of their inflow.
--worse 2 doubles the odds of default of all, which the model does not know.

It is for test books alone; what it adds is never removed but by the retention of the book. Run
again, it adds as many again, but windows of drift that were cut are not cut again: to see drift,
take a lender of which no report was made yet, and a hundred scores a day."""

EXAMPLES: Final = """\
examples:
  # half a year of a healthy book
  alama outcomes simulate demo
  alama monitor demo

  # a book whose applicants change, and whose loans go worse than promised
  alama lenders add shifting --name "A book that drifts" --currency KES
  alama outcomes simulate shifting --people 20000 --drift --worse 1.7
  alama monitor shifting"""

PEOPLE_MAX: Final = 1_000_000
MONTHS_MAX: Final = 36
REVIEWS_MAX: Final = 600
"""As many as the default has in the 90 days that a report is of. One by one, it takes seconds."""

WORSE_MIN: Final = 0.1
WORSE_MAX: Final = 10.0


def register(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "simulate",
        help="fill a test book with synthetic scores and outcomes",
        description=DESCRIPTION,
        epilog=EXAMPLES,
    )
    add = parser.add_argument
    add("lender", metavar="LENDER", help="whose test book; `alama lenders list` shows them")
    add("--people", type=_bounded(PEOPLE_MAX), default=5_000, metavar="N", help="default: 5000")
    add("--months", type=_bounded(MONTHS_MAX), default=6, metavar="N", help="default: 6")
    add("--seed", type=whole(0), default=1, metavar="S", help="equal seed, equal people")
    add("--drift", action="store_true", help="let the last third say less of their inflow")
    add(
        "--worse",
        type=_times,
        default=1.0,
        metavar="X",
        help=f"odds of default, {WORSE_MIN:g} to {WORSE_MAX:g} times what they are (default: 1)",
    )
    parser.set_defaults(run=run, extra="train")


def run(args: argparse.Namespace) -> int:
    """Fill the book and say what it has now."""
    from alama.monitoring.synthetic_book import Asked, fill  # noqa: PLC0415  it loads Arrow

    asked = Asked(
        args.lender, args.people, args.months, args.seed, args.drift, args.worse, REVIEWS_MAX
    )
    with installation() as opened:
        kept = fill(opened, asked)
    terminal.say(
        f"{asked.lender}, test mode: {asked.people:,} scores of the past {asked.months} months, "
        f"{len(kept.loans.request_ids):,} loans, {len(kept.news):,} pieces of news of them, and "
        f"{kept.reviews:,} reviews by an officer."
    )
    terminal.remark(
        "These people do not exist. No webhook was told of the scores.\n"
        f"Try next: alama monitor {args.lender} --mode test"
    )
    return 0


def _bounded(most: int) -> Callable[[str], int]:
    """Read a whole number from 1 to `most`."""

    def read(text: str) -> int:
        number = whole(1)(text.replace("_", ""))
        if number > most:
            message = f"{text!r} is more than {most:,}"
            raise argparse.ArgumentTypeError(message)
        return number

    return read


def _times(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not WORSE_MIN <= number <= WORSE_MAX:
        message = f"{text!r} is not a number from {WORSE_MIN:g} to {WORSE_MAX:g}"
        raise argparse.ArgumentTypeError(message)
    return number
