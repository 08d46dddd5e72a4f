"""`alama models`: read a model, take its tables elsewhere, go back to the one before."""

from __future__ import annotations

import io
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from alama.batch.listing import (
    NOT_GIVEN,
    FeatureRows,
    Listing,
    PairRow,
    PairRows,
    as_csv,
    as_json,
    listing,
)
from alama.batch.sql import as_sql
from alama.core import model as models
from alama.core.errors import FileProblem
from alama.core.model import Metric, Model, encode
from alama.lenders.installation import existing_installation
from alama.monitoring import models_cli
from alama.onboarding.approval import Approval
from alama.onboarding.commands import naming_commands
from alama.platform.files.packaged import builtin, model_at
from alama.platform.files.promise import promised
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import Glyphs, Scale, glyphs, style_of
from alama.training.validation.report import render

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from rich.console import RenderableType

    from alama.core.tables import Card


DESCRIPTION: Final = """\
Read a model as a credit officer would, take its tables to another program, let the model before
answer a lender again, or make the built-in model again. A model is one JSON file, named by the
hash of its content."""

SHOW_DESCRIPTION: Final = """\
Show a scorecard: every band of every field with its points, its share of the population and
its default rate, the most important field first, then what pairs of fields add together.

Points of all fields and pairs add up, with the base score, to the score of an application.
As JSON and CSV the same tables go to other programs; as SQL the whole model scores a table
of applications inside a database, to the same points."""

EXAMPLES: Final = """\
examples:
  # the built-in model
  alama models show

  # the scorecard for applications that give the core fields alone
  alama models show model.json --card compact

  # score inside the warehouse
  alama models show model.json --out score.sql"""

BUILD_DESCRIPTION: Final = """\
Make the model that comes with the package again: its population, its recipe, its seed are all
in the package, so the result has the same id, or something that matters has changed. Takes
some minutes and the training extra. Exits with 1 where the id is another."""

EXPORT_DESCRIPTION: Final = """\
Write a model that any score of this installation names to a file: whoever has the receipt of the
score replays it with this file and its policy. The id is that of the receipt or of `alama scores
show`, whole."""

ROLLBACK_DESCRIPTION: Final = """\
Go back to the model of its own that answered a lender in live mode before the one of now: every
process uses it within a second, and each request is answered by one model from its beginning to
its end. The policy stays as it is. A model that was itself rolled back is not gone back to: it
answers again when it is signed again, `alama onboard approve --candidate ID`. Where no other model
is left, `alama lenders pause` leaves every decision to a person."""

ROLLBACK_EXAMPLES: Final = """\
examples:
  alama models rollback umoja --by "W. Mutua" --reason "arrears of new loans, incident 44\""""

FORMATS: Final = ("table", "json", "csv", "sql")


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    show = actions.add_parser(
        "show",
        help="the scorecard as a table, JSON, CSV or SQL",
        description=SHOW_DESCRIPTION,
        epilog=EXAMPLES,
    )
    add = show.add_argument
    add(
        "model",
        nargs="?",
        type=Path,
        metavar="MODEL",
        help="a model file (default: the built-in model)",
    )
    add("--card", metavar="NAME", help="which scorecard (default: the largest; all for SQL)")
    add("--format", choices=FORMATS, help="default: by the ending of --out, else table")
    add("--currency", type=str.upper, metavar="CODE", help="of money (default: the model's)")
    add("--out", type=Path, metavar="FILE", help="write to a file instead of the terminal")
    show.set_defaults(run=run)
    exported = actions.add_parser(
        "export", help="the model that a score names, as a file", description=EXPORT_DESCRIPTION
    )
    exported.add_argument("id", metavar="ID", help="sha256: and 64 digits")
    exported.add_argument("--out", type=Path, required=True, metavar="FILE", help="a JSON file")
    exported.set_defaults(run=export)
    back = actions.add_parser(
        "rollback",
        help="let the model before answer a lender again",
        description=ROLLBACK_DESCRIPTION,
        epilog=ROLLBACK_EXAMPLES,
    )
    back.add_argument("lender", metavar="LENDER", help="`alama lenders list` shows them")
    back.add_argument("--by", required=True, metavar="NAME", help="who goes back")
    back.add_argument("--reason", required=True, metavar="TEXT", help="why: the audit keeps it")
    back.set_defaults(run=rollback)
    models_cli.register_recalibrate(actions)
    models_cli.register_challengers(actions)
    build = actions.add_parser(
        "build-builtin",
        help="make the built-in model again, to the same hash",
        description=BUILD_DESCRIPTION,
    )
    build.add_argument("--out", type=Path, required=True, metavar="MODEL", help="a JSON file")
    build.add_argument("--report", type=Path, metavar="PAGE", help="its validation report")
    build.set_defaults(run=build_builtin, extra="train")


def run(args: argparse.Namespace) -> int:
    """Show one card of a model in the form asked for."""
    model = model_at(args.model)
    args.format = args.format or _format_of(args.out)
    if args.out is None:
        _show(model, args)
    else:
        with promised(args.out) as output:
            output.write(_written(model, args).encode())
    return 0


def export(args: argparse.Namespace) -> int:
    """Write the artefact of a stored model, having seen that it is the one of that id."""
    with existing_installation() as opened:
        artefact = opened.registry.model(args.id)
    model = models.stored(artefact, args.id)
    with promised(args.out) as output:
        output.write(artefact)
    terminal.remark(f"{args.out}: {model.name}.")
    return 0


def rollback(args: argparse.Namespace) -> int:
    """Let the model before answer again."""
    with existing_installation() as opened, naming_commands(opened, args.lender):
        model_id = Approval.at(opened).roll_back(args.lender, args.by, args.reason)
    terminal.say(f"{model_id} answers for {args.lender} in live mode again.")
    terminal.remark(f"Where it stands: alama onboard status {args.lender}")
    return 0


def build_builtin(args: argparse.Namespace) -> int:
    """Build, write, and hold the id against the one that is shipped."""
    # Here, not above: the training libraries take seconds to load, and may not be installed.
    from alama.training.builtin import build  # noqa: PLC0415

    shipped = builtin().id
    with ExitStack() as outputs:
        out = outputs.enter_context(promised(args.out))
        report = None if args.report is None else outputs.enter_context(promised(args.report))
        with terminal.share("Building") as watch:
            judged = build(terminal.usable_cores(), watch)
        out.write(encode(judged.model))
        if report is not None:
            report.write(render(judged.model, judged.validation, judged.notes).encode())
    same = judged.model.id == shipped
    terminal.stdout().print(f"{judged.model.id}\n", markup=False, soft_wrap=True, end="")
    if not same:
        terminal.warn(f"the built-in model is another: {shipped}")
    return 0 if same else 1


def _show(model: Model, args: argparse.Namespace) -> None:
    if args.format == "table":
        card = _card(model, args.card)
        show(model, card, args.currency, terminal.stdout())
    else:
        terminal.stdout().out(_written(model, args), end="", highlight=False)


def _written(model: Model, args: argparse.Namespace) -> str:
    if args.format == "sql":
        cards = model.cards if args.card is None else (_card(model, args.card),)
        return as_sql(model, cards, args.currency)
    card = _card(model, args.card)
    if args.format == "json":
        return as_json(listing(model, card, args.currency))
    if args.format == "csv":
        return as_csv(listing(model, card, args.currency))
    return plain(model, card, args.currency, terminal.WIDTH_UNSEEN)


def _format_of(out: Path | None) -> str:
    """Take the format from a file's ending where nobody named one."""
    ending = "" if out is None else out.suffix.lower().removeprefix(".")
    return ending if ending in FORMATS else FORMATS[0]


def _card(model: Model, name: str | None) -> Card:
    if name is None:
        return model.cards[-1]
    for card in model.cards:
        if card.name == name:
            return card
    message = f"the model has no scorecard {name}"
    known = ", ".join(card.name for card in model.cards)
    raise FileProblem(message, hint=f"it has {known}")


_BAR_WIDTH_MIN: Final = 9
_BAR_WIDTH_MAX: Final = 25
_BAND_WIDTH_MAX: Final = 30
_GAP: Final = 2
_FIGURES_WIDTH: Final = sum(len(head) + _GAP for head in ("points", "share ", "defaults"))
_MEASURES: Final = {"auc": "AUC", "gini": "Gini", "ks": "KS", "calibration_slope": "slope"}
"""The figures of the model that the header shows, and what people call them."""


def show(model: Model, card: Card, currency: str | None, console: Console) -> None:
    rows = listing(model, card, currency)
    made_of = glyphs(console)
    console.print(_header(model, card, rows))
    console.print(_features(rows, console.width, made_of))
    if rows.pairs:
        console.print(Text("Pairs: points on top of those above, half to each of the two\n"))
        for pair in rows.pairs:
            console.print(_pair(pair, made_of))


def plain(model: Model, card: Card, currency: str | None, width: int) -> str:
    """Give the same as text for a file."""
    text = io.StringIO()
    show(model, card, currency, Console(file=text, width=width, highlight=False))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _header(model: Model, card: Card, rows: Listing) -> RenderableType:
    lineage = model.lineage
    rate = lineage.defaults / lineage.rows if lineage.rows else 0.0
    others = [other.name for other in model.cards if other.name != card.name]
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim")
    facts.add_column(overflow="fold")
    facts.add_row(
        "scorecard",
        f"{card.name}: {_counted(len(rows.features), 'field')}, {_counted(len(rows.pairs), 'pair')}"
        + (f" (the model also has {', '.join(others)})" if others else ""),
    )
    facts.add_row("trained on", f"{lineage.rows:,} loans, of which {rate:.1%} defaulted")
    if lineage.refit_of is not None:
        facts.add_row("refitted", f"on every loan, judged before as {lineage.refit_of}")
    if (moved := lineage.recalibrated) is not None:
        on = f"{moved.on}, by {moved.points:+.1f} points, on {moved.loans:,} loans"
        facts.add_row("recalibrated", f"{on}, from {moved.model_id}")
    facts.add_row("default", model.outcome.definition)
    measured = lineage.metrics.get(card.name, ())
    if measured:
        facts.add_row("on unseen loans", _figures(measured))
    if rows.currency:
        facts.add_row("money", rows.currency)
    facts.add_row("base score", f"{rows.base_score:.1f}, to which the points below are added")
    return Group(Text(), Text(rows.name, "bold"), Text(rows.model, "dim"), Text(), facts, Text())


def _figures(measured: tuple[Metric, ...]) -> str:
    shown = []
    for metric in measured:
        if metric.name in _MEASURES:
            interval = (
                f" ({metric.low:.3f} to {metric.high:.3f})"
                if metric.low is not None and metric.high is not None
                else ""
            )
            shown.append(f"{_MEASURES[metric.name]} {metric.value:.3f}{interval}")
    return ", ".join(shown)


def _features(rows: Listing, width: int, made_of: Glyphs) -> Table:
    table = _table()
    table.add_column("field", no_wrap=True)
    table.add_column("band", overflow="fold")
    table.add_column("points", justify="right", no_wrap=True)
    bar_width = _bar_width(rows, width)
    table.add_column("", width=bar_width, no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True, min_width=6)
    table.add_column("defaults", justify="right", no_wrap=True)
    reach = max((abs(band.points) for f in rows.features for band in f.bands), default=1.0)
    scale = Scale(-reach, reach, bar_width)
    for feature in rows.features:
        _add_feature(table, feature, scale, made_of)
    return table


def _bar_width(rows: Listing, width: int) -> int:
    """Give the bars what the words leave, odd so that there is a middle."""
    notes = max(len(note) for feature in rows.features for note in _notes(feature))
    bands = max(len(band.band) for feature in rows.features for band in feature.bands)
    left = width - (notes + min(bands, _BAND_WIDTH_MAX) + _FIGURES_WIDTH + 2 * _GAP + _GAP)
    return min(max(left, _BAR_WIDTH_MIN), _BAR_WIDTH_MAX) // 2 * 2 + 1


def _notes(feature: FeatureRows) -> list[str]:
    unit = [f"  {feature.unit}"] if feature.unit else []
    return [feature.feature, *unit, f"  {feature.importance:.1f} on average"]


def _add_feature(table: Table, feature: FeatureRows, scale: Scale, made_of: Glyphs) -> None:
    name, *others = _notes(feature)
    notes = iter([Text(name, "bold"), *(Text(other, "dim") for other in others)])
    for band in feature.bands:
        empty = band.share == 0.0
        if empty and band.band == NOT_GIVEN and feature.required:
            continue  # it cannot happen
        table.add_row(
            next(notes, Text()),
            Text(band.band, "dim" if empty else ""),
            Text(f"{band.points:+.1f}", "dim" if empty else style_of(band.points)),
            scale.bar(0.0, band.points, made_of, guide=0.0),
            Text(f"{band.share:.1%}", "dim" if empty else ""),
            Text("" if band.default_rate is None else f"{band.default_rate:.1%}"),
        )
    for left in notes:
        table.add_row(left)
    table.add_row()


def _pair(pair: PairRows, made_of: Glyphs) -> RenderableType:
    table = _table()
    table.add_column(Text(pair.feature), no_wrap=True)
    for label in _happening(pair, lambda cell: cell.with_band):
        table.add_column(label, justify="right", overflow="fold")
    columns = set(_happening(pair, lambda cell: cell.with_band))
    for label in _happening(pair, lambda cell: cell.band):
        cells = [c for c in pair.cells if c.band == label and c.with_band in columns]
        table.add_row(label, *(Text(f"{c.points:+.1f}", style_of(c.points)) for c in cells))
    title = Text.assemble(
        (f"{pair.feature} {made_of.across} {pair.with_feature}", "bold"),
        (f"  {pair.importance:.1f} on average", "dim"),
    )
    return Group(title, table, Text())


def _happening(pair: PairRows, label_of: Callable[[PairRow], str]) -> list[str]:
    """Give the bands of one side, without a "not given" that never was."""
    shares: dict[str, float] = {}
    for cell in pair.cells:
        shares[label_of(cell)] = shares.get(label_of(cell), 0.0) + cell.share
    return [label for label, share in shares.items() if share or label != NOT_GIVEN]


def _table() -> Table:
    # The box puts one more space between the columns.
    padding = (0, _GAP - 1, 0, 0)
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
