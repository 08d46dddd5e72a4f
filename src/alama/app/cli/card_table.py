"""A scorecard as tables in a terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from alama.batch.listing import NOT_GIVEN, FeatureRows, Listing, PairRow, PairRows, listing
from alama.platform.terminal.tables import Glyphs, Scale, glyphs, style_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from alama.core.model import Metric, Model
    from alama.core.tables import Card


_BAR_WIDTH_MIN: Final = 9
_BAR_WIDTH_MAX: Final = 25
_BAND_WIDTH_MAX: Final = 30
_GAP: Final = 2
_FIGURES_WIDTH: Final = sum(len(head) + _GAP for head in ("points", "share ", "defaults"))
_MEASURES: Final = {"auc": "AUC", "gini": "Gini", "ks": "KS", "calibration_slope": "slope"}
"""The figures of the model that the header shows, and what people call them."""


def show(model: Model, card: Card, currency: str | None, console: Console) -> None:
    """Print a card."""
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
    if (moved := lineage.recalibrated) is not None:
        on = f"{moved.on}, by {moved.points:+.1f} points, on {moved.loans:,} loans"
        facts.add_row("recalibrated", f"{on}, from {moved.model_id}")
    facts.add_row("default", model.outcome.definition)
    measured = lineage.metrics.get(card.name, ())
    if measured:
        facts.add_row("on hold-out", _figures(measured))
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
