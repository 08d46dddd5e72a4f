"""`alama monitor`: how a book goes, what to look at first."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from alama.core.monitoring.figures import (
    COUNT_MIN,
    CardStability,
    Finding,
    Loss,
    MonitoringReport,
    Movement,
    Rate,
    RateVerdict,
    Urgency,
)
from alama.core.monitoring.findings import last_window, plural
from alama.lenders.installation import Installation, existing_installation
from alama.monitoring import page
from alama.monitoring.drift import Drift
from alama.monitoring.report import Monitoring
from alama.platform.book import Book, Mode
from alama.platform.errors import MasterKeyMissing
from alama.platform.files.promise import promised
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import Glyphs, Scale, columns, glyphs, plain_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from rich.console import Console, RenderableType
    from rich.table import Table


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
        terminal.say(drawing(report, terminal.stdout()))
    if not args.mode:
        terminal.remark(f"This is the {mode} mode; --mode shows the other.")
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
            terminal.remark(f"{path}: {what}")


def _days(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= DAYS_MAX):
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {DAYS_MAX}")
    return int(text)


_STYLE: Final = "cyan"
_BAR_WIDTH: Final = 30
_WHISKERS_WIDTH: Final = 34
_WHISKERS_WIDTH_MIN: Final = 20
"""With less room they are left out: the figures say the same."""

_FIGURES_WIDTH: Final = 69
"""Of the columns beside the whiskers."""

_MOVED_WIDTH: Final = 61
"""Of the columns beside the bars of what moved."""

_HEIGHT: Final = 4
_DAYS_DRAWN_MAX: Final = 90
_FIELDS_MAX: Final = 8
_MONTHS_MAX: Final = 12
_STYLES: Final = {Urgency.ACT: "bold red", Urgency.WATCH: "bold yellow", Urgency.NOTE: "dim"}
_VERDICTS: Final = {
    RateVerdict.AS_PREDICTED: Text("as predicted", "green"),
    RateVerdict.HIGHER: Text("higher", "red"),
    RateVerdict.LOWER: Text("lower", "yellow"),
    RateVerdict.TOO_FEW: Text("too few", "dim"),
}
_MOVEMENTS: Final = {
    Movement.STEADY: Text("steady", "green"),
    Movement.MOVED: Text("moved", "yellow"),
    Movement.DRIFTED: Text("drifted", "red"),
}


def drawing(report: MonitoringReport, console: Console) -> RenderableType:
    """Draw a report."""
    made_of, width = glyphs(console), console.width
    parts: list[RenderableType] = [*_header(report), *map(_finding, report.findings)]
    if report.volume.scores:
        parts += [*_titled("Scores by day"), *_volume(report, made_of, width)]
        parts += [Text(), _given(report, made_of)]
    if report.rates.tiers:
        rows = [(one.tier, one.rate) for one in report.rates.tiers]
        rows.append(("all", report.rates.overall))
        parts += [*_titled("Default rate by tier"), _rates("tier", rows, made_of, width)]
        if _whiskers_width(width):
            parts.append(_key(made_of))
    if any(one.rate.count for one in report.rates.months):
        months = [
            (one.month + (" young" if one.young else " partial" if one.partial else ""), one.rate)
            for one in report.rates.months[-_MONTHS_MAX:]
        ]
        parts += [*_titled("By month of the score"), _rates("month", months, made_of, width)]
    parts += [*_titled("Known"), *_known(report)]
    for card in report.stability:
        parts += [*_titled(_card_title(card)), *_moved(card, report.first_day, made_of, width)]
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


def _titled(title: str) -> list[RenderableType]:
    return [Text(), Text(title, "bold")]


def _volume(report: MonitoringReport, made_of: Glyphs, width: int) -> list[RenderableType]:
    """Draw the scores of each day as columns, the last as far as there is room."""
    days = report.volume.days[-min(_DAYS_DRAWN_MAX, width) :]
    counts = [one.scores for one in days]
    top = max(*counts, 1)
    drawn = columns(counts, top, _HEIGHT, made_of)
    span = f"{days[0].day} to {days[-1].day}, at most {top:,} a day"
    return [
        *(Text(line.rstrip(), _STYLE) for line in drawn),
        Text(made_of.line * len(days), "dim"),
        Text(span, "dim"),
    ]


def _given(report: MonitoringReport, made_of: Glyphs) -> Table:
    table = _numbers_table("", "scores", "share", "")
    scale = Scale(0.0, 1.0, _BAR_WIDTH)
    total = report.volume.scores
    listed = [
        *((name.lower(), count) for name, count in report.volume.decisions.items()),
        *((f"tier {name}", count) for name, count in report.volume.tiers.items()),
    ]
    for name, count in listed:
        share = count / total
        bar = scale.bar(0.0, share, made_of, guide=0.0, style=_STYLE) if count else ""
        table.add_row(name, f"{count:,}", f"{share:.1%}", bar)
    return table


# ----------------------------------------------------------------------------------- rates


def _rates(noun: str, rows: Sequence[tuple[str, Rate]], made_of: Glyphs, width: int) -> Table:
    room = _whiskers_width(width)
    plot = [""] if room else []
    table = _numbers_table(noun, "loans", "defaults", "came true", "predicted", *plot, "")
    ends = [rate.high for _, rate in rows if rate.verdict is not RateVerdict.TOO_FEW]
    ends += [max(rate.realised or 0.0, rate.predicted or 0.0) for _, rate in rows]
    scale = Scale(0.0, max(*ends, 0.01), room)
    for name, rate in rows:
        table.add_row(
            name,
            f"{rate.count:,}",
            f"{rate.defaults:,}",
            _percent(rate.realised),
            _percent(rate.predicted),
            *([_whiskers(rate, scale, made_of)] if room else []),
            _VERDICTS[rate.verdict] if rate.count else Text("none yet", "dim"),
        )
    return table


def _whiskers_width(width: int) -> int:
    """Give how wide whiskers are drawn; 0 where there is no room for them."""
    room = min(width - _FIGURES_WIDTH, _WHISKERS_WIDTH)
    return room if room >= _WHISKERS_WIDTH_MIN else 0


def _whiskers(rate: Rate, scale: Scale, made_of: Glyphs) -> Text:
    """Draw a realised rate with its interval, and the predicted one.

    Of too few loans the interval is wider than all the others, and is left out.
    """
    text = Text()
    if rate.realised is None or rate.predicted is None:
        return text
    dot, predicted = scale.cell(rate.realised), scale.cell(rate.predicted)
    low, high = scale.cell(rate.low), scale.cell(rate.high)
    off = rate.verdict in {RateVerdict.HIGHER, RateVerdict.LOWER}
    style = "red" if off else _STYLE
    for cell in range(scale.width):
        if cell == dot:
            text.append(made_of.mark, style)
        elif cell == predicted:
            text.append("|", "bold")
        elif low <= cell <= high and rate.verdict is not RateVerdict.TOO_FEW:
            text.append(made_of.line, style)
        else:
            text.append(" ")
    return text


def _key(made_of: Glyphs) -> Text:
    line = made_of.line
    return Text(
        f"{line}{made_of.mark}{line} came true, with its 95 % interval   | predicted", "dim"
    )


# ------------------------------------------------------------------- what is known, what moved


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


def _card_title(card: CardStability) -> str:
    return f"Against training, card {card.card}: {plural(card.scores, 'score')}"


def _moved(card: CardStability, since: date, made_of: Glyphs, width: int) -> list[RenderableType]:
    """Draw the PSI of the period, and beside it that of the last window, which is what drifts."""
    window = last_window(card, since)
    table = _numbers_table("", "PSI", "limit", *(["last window"] if window else []), "", "")
    listed = [card.score, *card.fields] if card.compared else [card.score]
    room = min(max(width - _MOVED_WIDTH, 1), _BAR_WIDTH)
    scale = Scale(0.0, max(max(one.psi, one.limit) for one in listed), room)
    for one in listed[: _FIELDS_MAX + 1]:
        style = _STYLE if one.verdict is Movement.STEADY else str(_MOVEMENTS[one.verdict].style)
        table.add_row(
            one.name,
            f"{one.psi:.3f}",
            f"{one.limit:.3f}",
            *([_index(window.psi.get(one.name))] if window else []),
            scale.bar(0.0, one.psi, made_of, guide=one.limit, style=style),
            _MOVEMENTS[one.verdict],
        )
    rest = len(listed) - _FIELDS_MAX - 1
    more = [Text(f"and {rest} more that moved less", "dim")] if rest > 0 else []
    if not card.compared:
        more = [Text("fields: too few scores a day for their bands to be kept", "dim")]
    return [table, *more]


def _index(psi: float | None) -> str:
    return "" if psi is None else f"{psi:.3f}"


def _numbers_table(*heads: str) -> Table:
    """Give a table whose columns between the name and the drawing are numbers."""
    table = plain_table(*heads)
    for column in table.columns:
        column.no_wrap = True
        if column.header and column is not table.columns[0]:
            column.justify = "right"
    return table


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
