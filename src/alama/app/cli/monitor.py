"""`alama monitor`: how a book goes, and whether what its model predicted came true."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from alama.app.cli import monitor_table
from alama.app.cli.installed import existing_installation
from alama.monitoring import page
from alama.monitoring.drift import Drift
from alama.monitoring.report import Monitoring
from alama.platform.book import Book, Mode
from alama.platform.errors import MasterKeyMissing
from alama.platform.files.promise import promised
from alama.platform.terminal import terminal
from alama.platform.terminal import terminal as words

if TYPE_CHECKING:
    from alama.app.installation import Installation
    from alama.core.monitoring.figures import MonitoringReport

DESCRIPTION: Final = """\
Show how a book goes: volume and decisions of the last days, how far scores and
fields have moved from what the model was trained on, the default rates that
came true beside those that were predicted, by tier and by month, how well the
score ranks, and what officers decided. What to look at first comes first.

Rates and ranking are of all mature loans of the model, whenever they were
scored: those that have been due for as long as it takes to be a default.
Days are UTC. Windows of drift that are complete by now are cut first, as the
service does within two hours of midnight."""

EXAMPLES: Final = """\
examples:
  alama monitor demo
  alama monitor demo --mode test --days 30 --html report.html
  alama monitor demo --json - | jq .findings"""

DAYS_DEFAULT: Final = 90
DAYS_MAX: Final = 730
STDOUT: Final = Path("-")


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    add = parser.add_argument
    add("lender", nargs="?", default="demo", metavar="LENDER", help="default: %(default)s")
    add(
        "--mode",
        choices=[mode.value for mode in Mode],
        help="default: live where the lender is live, else test",
    )
    add(
        "--days",
        type=_days,
        default=DAYS_DEFAULT,
        metavar="N",
        help="how many, today included (default: %(default)s)",
    )
    add("--model", metavar="ID", help="another model than the one that answers, by its id")
    add("--json", type=Path, metavar="FILE", help="all figures, as JSON; - is standard output")
    add("--html", type=Path, metavar="PAGE", help="the report with its plots, an HTML page")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make the report, and show it or write it down."""
    with existing_installation() as opened:
        lender = opened.registry.lender(args.lender)
        mode = Mode(args.mode) if args.mode else _usual_mode(opened, lender.id)
        book = Book(lender.id, mode)
        _cut_windows(opened, book)
        report = Monitoring.at(opened).report(book, args.days, args.model)
    if args.json or args.html:
        _write(args, report)
    else:
        words.say(monitor_table.drawing(report, terminal.stdout()))
    if not args.mode:
        words.remark(f"This is the {mode} mode; --mode shows the other.")
    return 0


def _usual_mode(opened: Installation, lender: str) -> Mode:
    """Give the mode that matters: live, once anything answers there."""
    live = Book(lender, Mode.LIVE)
    model_id, _ = opened.registry.deployed(live) or (None, None)
    return Mode.LIVE if model_id or opened.registry.in_shadow(live) else Mode.TEST


def _cut_windows(opened: Installation, book: Book) -> None:
    """Look for drift, as the service would by itself; without its key there is no telling."""
    with suppress(MasterKeyMissing):
        Drift.at(opened).look_in(book, opened.clock())


def _write(args: argparse.Namespace, report: MonitoringReport) -> None:
    """Write what was asked for, all of it or nothing."""
    figures = msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"
    with ExitStack() as held:
        if args.html:
            held.enter_context(promised(args.html)).write(page.monitoring_page(report).encode())
        if args.json and args.json != STDOUT:
            held.enter_context(promised(args.json)).write(figures)
    if args.json == STDOUT:
        sys.stdout.buffer.write(figures)
        sys.stdout.buffer.flush()
    for path, what in ((args.html, "the report"), (args.json, "all figures")):
        if path and path != STDOUT:
            words.remark(f"{path}: {what}")


def _days(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= DAYS_MAX):
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {DAYS_MAX}")
    return int(text)
