"""`alama monitor`: how a book goes, what to look at first."""

from __future__ import annotations

import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from alama.core.application import visible_json
from alama.core.monitoring.figures import (
    COUNT_MIN,
    Finding,
    Loss,
    MonitoringReport,
    ProductFigures,
    Rate,
    RateVerdict,
    Urgency,
)
from alama.core.monitoring.findings import plural
from alama.lenders.installation import Installation, existing_installation
from alama.monitoring import page
from alama.monitoring.commands import naming_commands
from alama.monitoring.drift import Drift
from alama.monitoring.report import Monitoring
from alama.platform.book import Book, Mode
from alama.platform.errors import MasterKeyMissing
from alama.platform.files.promise import promised
from alama.platform.terminal import terminal
from alama.platform.terminal.command import whole
from alama.platform.terminal.tables import plain_table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rich.console import RenderableType
    from rich.table import Table


DESCRIPTION: Final = """\
Show how a book goes: what to look at first, the decisions of the last days, the
default rates that came true beside those that were predicted, how well the
score ranks, and what officers decided. --html writes the whole report: also by
day and by month, and how far scores and fields have moved from what the model
was trained on. --json has all of its figures.

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
    add_report(parser)
    parser.set_defaults(run=run)


def add_report(parser: argparse.ArgumentParser) -> None:
    """Let a command be told what to report on, and where to."""
    add = parser.add_argument
    add(
        "--days",
        type=whole(1, DAYS_MAX),
        default=DAYS_DEFAULT,
        metavar="N",
        help="how many, today included (default: %(default)s)",
    )
    add("--model", metavar="ID", help="another model than the one that answers, by its id")
    add("--json", type=Path, metavar="FILE", help="all figures, as JSON; - is standard output")
    add("--html", type=Path, metavar="PAGE", help="the report with its plots, an HTML page")


def run(args: argparse.Namespace) -> int:
    """Make the report, and show it or write it down."""
    with existing_installation() as opened:
        lender = opened.registry.lender(args.lender)
        mode = Mode(args.mode) if args.mode else _usual_mode(opened, lender.id)
        book = Book(lender.id, mode)
        _cut_windows(opened, book)
        report = naming_commands(Monitoring.at(opened).report(book, args.days, args.model))
    give(args, report)
    if not args.mode:
        terminal.remark(f"This is the {mode} mode; --mode shows the other.")
    return 0


def give(args: argparse.Namespace, report: MonitoringReport) -> None:
    """Write the report where a command was told to, or show what to look at."""
    if args.json or args.html:
        _write(args, report)
    else:
        terminal.say(summary(report))
        terminal.remark("\nMonth by month, what moved, and the plots: --html PAGE")


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
        sys.stdout.buffer.write(visible_json(figures.decode()).encode())
        sys.stdout.buffer.flush()
    for path, what in ((args.html, "the report"), (args.json, "all figures")):
        if path and path != STDOUT:
            terminal.remark(f"{path}: {what}")


_STYLES: Final = {Urgency.ACT: "bold red", Urgency.WATCH: "bold yellow", Urgency.NOTE: "dim"}
_VERDICTS: Final = {
    RateVerdict.AS_PREDICTED: Text("as predicted", "green"),
    RateVerdict.HIGHER: Text("higher", "red"),
    RateVerdict.LOWER: Text("lower", "yellow"),
    RateVerdict.TOO_FEW: Text("too few", "dim"),
}


def summary(report: MonitoringReport) -> RenderableType:
    """Give what to look at, the rates of the tiers, and what is known; the page has the rest."""
    parts: list[RenderableType] = [*_header(report), *map(_finding, report.findings)]
    if report.volume.scores:
        parts += [Text(), _given(report)]
    if report.rates.tiers:
        tiers = [(one.tier, one.rate) for one in report.rates.tiers]
        parts += [
            Text("\nDefault rate by tier", "bold"),
            _rates("tier", [*tiers, ("all", report.rates.overall)]),
        ]
    if report.products:
        products = [(one.product, one.rate) for one in report.products]
        parts += [
            Text("\nDefault rate by product", "bold"),
            _rates("product", products),
            *(Text(_brought(one, report.currency)) for one in report.products),
        ]
    parts += [Text("\nKnown", "bold"), *_known(report)]
    return Group(*parts)


def _header(report: MonitoringReport) -> list[RenderableType]:
    lines = [
        Text(
            f"{report.lender}, {report.mode} mode, {report.first_day} to {report.last_day}", "bold"
        )
    ]
    if report.model is not None:
        answers = "" if report.model.answers else " (no longer answers here)"
        lines += [Text(f"{report.model.name}{answers}"), Text(report.model.id, "dim")]
    lines += [
        Text(
            f"also: {one.id} ({plural(one.scores, 'score')}, "
            f"{plural(one.loans.count, 'mature loan')})",
            "dim",
        )
        for one in report.other_models
    ]
    return [*lines, Text()]


def _finding(one: Finding) -> RenderableType:
    said = Text.assemble((f"{one.urgency.value}: ", _STYLES[one.urgency]), one.says)
    if one.urgency is Urgency.NOTE:
        return said
    return Group(said, Padding(Text(one.advice, "dim"), (0, 0, 0, 2)))


def _given(report: MonitoringReport) -> Text:
    """Say how many scores there were, and how they were decided."""
    total = report.volume.scores
    shares = (f"{n / total:.1%} {name.lower()}" for name, n in report.volume.decisions.items())
    return Text(f"{plural(total, 'score')}: {', '.join(shares)}.")


def _brought(one: ProductFigures, currency: str) -> str:
    """Say what was approved of a product in the period, and what its loans brought."""
    approved = f"{one.product}: {plural(one.approved, 'loan')} approved in the period"
    if one.profit is None:
        return f"{approved}."
    ends = "" if one.low is None else f" ({one.low:,.0f} to {one.high:,.0f})"
    loans = plural(one.valued, "mature loan")
    return f"{approved}; {loans} brought {currency} {one.profit:,.0f}{ends}."


def _rates(of: str, rows: Sequence[tuple[str, Rate]]) -> Table:
    table = plain_table(of, "loans", "defaults", "came true", "predicted", "")
    for column in table.columns:
        column.no_wrap = column.header != "product"
        if column.header not in {of, ""}:
            column.justify = "right"
    for name, rate in rows:
        table.add_row(
            name,
            f"{rate.count:,}",
            f"{rate.defaults:,}",
            _percent(rate.realised),
            _percent(rate.predicted),
            _VERDICTS[rate.verdict] if rate.count else Text("none yet", "dim"),
        )
    return table


def _known(report: MonitoringReport) -> list[RenderableType]:
    outcomes, reviews, ranking = report.outcomes, report.reviews, report.ranking
    loans = plural(outcomes.known, "loan")
    lines = [f"Something is known of {loans}, {outcomes.mature:,} of them mature."]
    if outcomes.expected.of:
        lines.append(
            f"Of {plural(outcomes.expected.of, 'loan')} approved at once in months whose loans are "
            f"all mature, the outcome of {_percent(outcomes.expected.share)} is known."
        )
    if ranking.auc is not None:
        lines.append(f"AUC {ranking.auc:.3f} ({ranking.low:.3f} to {ranking.high:.3f}).")
    else:
        lines.append(
            f"AUC: {plural(ranking.bads, 'default')} and {ranking.goods:,} repaid so far; told "
            f"from {COUNT_MIN} of each on."
        )
    if outcomes.loss.share is not None:
        lines.append(
            f"Lost on {plural(outcomes.loss.defaults, 'default')}: {_percent(outcomes.loss.share)} "
            f"of {report.currency} {outcomes.loss.disbursed:,.0f}{_beside(outcomes.loss)}."
        )
    if reviews.left or reviews.waiting or reviews.reasons:
        overrides = reviews.to_approved + reviews.to_declined
        lines.append(
            f"Left to a person: {reviews.left:,}, decided {reviews.decided:,}. Overridden: "
            f"{overrides:,}. Waiting, of all days: {reviews.waiting:,}."
        )
    return [Text(line) for line in lines]


def _beside(loss: Loss) -> str:
    """Give the interval of what was lost, and what the policy assumes, where they are known."""
    low, high = loss.low, loss.high
    interval = "" if low is None or high is None else f" ({_percent(low)} to {_percent(high)})"
    assumed = "" if loss.assumed is None else f"; assumed: {_percent(loss.assumed)} of what is due"
    return interval + assumed


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
