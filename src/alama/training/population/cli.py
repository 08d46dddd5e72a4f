"""`alama population`: write the public synthetic population to a file."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from alama.core.model import REFERENCE_INFLOW_MONTHLY
from alama.platform.terminal import terminal

DESCRIPTION: Final = """\
Make loan applications of people who do not exist, with outcomes and their true risk.

Nobody knows the true risk of a real applicant. Here it is a published formula of the 17
fields, so that every claim about a model can be checked: how close it comes to the truth,
whether its probabilities hold, what a missing field costs. The same seed gives the same rows
on every machine, and a longer file begins with the shorter one. Only the days of a --history
follow the day on which it is made, unless --closed-on names another.

Columns: the fields (some missing, and not at random), applied_on, default (0 or 1) and
true_default_probability; with --history also what a lender's books say of each loan.
docs/population.md has the recipe."""

EXAMPLES: Final = """\
examples:
  # a history to train a first model on
  alama population --rows 100_000 --seed 1 --out loans.parquet

  # the same people in Ghana, times getting harder over two years
  alama population --rows 100_000 --seed 1 --currency GHS --drift 1 --out hard.csv

  # as a lender sees its past: outcomes only where somebody approved the loan
  alama population --rows 1_000_000 --seed 2 --prior-policy --out booked.parquet

  # the books of a lender, to try its onboarding with
  alama population --rows 50_000 --seed 3 --history --out history.csv

  # the same where a lender has statements: each with figures that are known
  alama population --rows 500 --seed 3 --history --ledgers statements --out loans.csv"""


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument(
        "--rows", type=_integer, required=True, metavar="N", help="applications, such as 1_000_000"
    )
    parser.add_argument(
        "--seed",
        type=_integer,
        required=True,
        metavar="S",
        help="0 or more; equal seed, equal rows",
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="ends in .csv or .parquet"
    )
    parser.add_argument(
        "--currency",
        default="KES",
        metavar="CODE",
        help=f"of all money in the file: {', '.join(REFERENCE_INFLOW_MONTHLY)} (default: KES)",
    )
    parser.add_argument(
        "--drift",
        type=float,
        default=0.0,
        metavar="X",
        help="0 to 1: how far incomes fall and risk rises over the two years (default: 0)",
    )
    parser.add_argument(
        "--prior-policy",
        action="store_true",
        help="add `booked`, an earlier lender's approval, and leave other outcomes empty",
    )
    parser.add_argument(
        "--history",
        action="store_true",
        help="add what a lender's books say: borrower_id, dates, amount, days past due, ...",
    )
    parser.add_argument(
        "--closed-on",
        type=_day,
        metavar="DATE",
        help="with --history: when the books are closed, two months after the last application; "
        "all days move with it (default: today)",
    )
    parser.add_argument(
        "--ledgers",
        type=Path,
        metavar="FOLDER",
        help="write the statement of each applicant's wallet here, in turns in every format; what "
        "is derived from it stands in the file as known_avg_inflow, ...",
    )
    parser.set_defaults(run=run, extra="train")


def run(args: argparse.Namespace) -> int:
    """Stream the population to the file and say what is in it."""
    # Here, not above: Arrow takes longer to load than most commands take to run.
    from alama.platform.files.writer import open_table  # noqa: PLC0415
    from alama.training.population.formats import into_folder  # noqa: PLC0415
    from alama.training.population.people import (  # noqa: PLC0415
        ImpossiblePopulation,
        PopulationOptions,
        Tally,
        batches,
        schema,
    )

    options = PopulationOptions(
        rows=args.rows,
        seed=args.seed,
        currency=args.currency.upper(),
        drift=args.drift,
        prior_policy=args.prior_policy,
        history=args.history,
    )
    if args.closed_on is not None and not args.history:
        raise ImpossiblePopulation("--closed-on is for --history: without it there are no books")
    if args.ledgers is not None:
        options = replace(options, write_statement=into_folder(args.ledgers))
    if args.history:
        options = replace(options, closed_on=args.closed_on or datetime.now(UTC).date())
    tally = Tally()
    with (
        open_table(args.out, schema(options)) as table,
        terminal.progress("Making applications", options.rows, unit="rows") as progress,
    ):
        for batch in batches(options):
            table.write(batch)
            tally.add(batch)
            progress.advance(batch.num_rows)
    size_mb = args.out.stat().st_size / 1e6
    terminal.stdout().print(
        f"{args.out}: {tally.rows:,} rows, {tally.default_rate:.2%} of known outcomes default, "
        f"{tally.complete_share:.1%} complete, {size_mb:,.1f} MB",
        markup=False,
        soft_wrap=True,
    )
    return 0


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        message = f"{text!r} is not a date such as 2026-03-31"
        raise argparse.ArgumentTypeError(message) from None


def _integer(text: str) -> int:
    try:
        return int(text)  # underscores between digits are fine with Python
    except ValueError:
        message = f"{text!r} is not a whole number"
        raise argparse.ArgumentTypeError(message) from None
