"""What `alama train` says about a model it has made, on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from alama.training.validation.figures import Measure

if TYPE_CHECKING:
    from rich.console import Console

    from alama.core.model import Model
    from alama.training.notes import CardNotes
    from alama.training.pipeline import Judged
    from alama.training.validation.figures import Performance
    from alama.training.validation.validate import Validation

_LINES_MAX: Final = 8
"""Fields listed of each kind; the report has them all."""

_SHARE_WORTH_SAYING: Final = 0.001


def show(judged: Judged, console: Console) -> None:
    """Print the figures of each card, what each step of the making cost, and the model's id."""
    model, validation = judged.model, judged.validation
    rows, bad = model.lineage.rows, model.lineage.defaults
    _line(console, f"\n{model.name}: learned from {rows:,} loans, {bad / rows:.2%} defaulted")
    if validation is None:
        _line(console, "nothing was set apart: the figures below are of rows it learned from")
    else:
        _line(console, f"judged on {validation.holdout.rows:,} loans it has not seen")
        _section(console, "How good it is (95 % intervals)", _figures(model, validation))
    _section(console, "What each step of its making cost", _stages(judged.notes))
    prices = _prices(judged.notes)
    if prices.rows:
        _section(console, "What each risk direction costs (log-loss a row)", prices)
    withheld = _withheld(judged.notes[-1])
    if withheld.rows:
        _section(console, "Who would score higher by withholding a field", withheld)
    _line(console, f"\nmodel {model.id}")
    if model.money is not None:
        _line(console, f"money in {model.money.currency}")


def _figures(model: Model, validation: Validation) -> Table:
    fields = {card.name: str(len(card.features)) for card in model.cards}
    table = _table()
    for heading in ("fields", "AUC", "calibration slope", "calibration error"):
        table.add_column(heading, justify="right")
    measured = [card.performance for card in validation.cards]
    if len(measured) > 1:
        measured.append(validation.served)
    for performed in measured:
        table.add_row(
            Text(performed.name),
            fields.get(performed.name, ""),
            _with_interval(performed, Measure.AUC, 4),
            _with_interval(performed, Measure.CALIBRATION_SLOPE, 3),
            _with_interval(performed, Measure.CALIBRATION_ERROR, 4),
        )
    return table


def _with_interval(performed: Performance, measure: Measure, decimals: int) -> str:
    figure = performed.figure(measure)
    low, high = figure.interval.low, figure.interval.high
    return f"{figure.value:.{decimals}f} ({low:.{decimals}f} to {high:.{decimals}f})"


def _stages(notes: tuple[CardNotes, ...]) -> Table:
    table = _table()
    for heading in ("step", "AUC", "change", "log-loss", "change"):
        table.add_column(heading, justify="left" if heading == "step" else "right")
    for note in notes:
        before = None
        for stage in note.stages:
            first = before is None
            table.add_row(
                Text(note.card if first else ""),
                stage.name,
                f"{stage.auc:.5f}",
                "" if before is None else f"{stage.auc - before.auc:+.5f}",
                f"{stage.log_loss:.6f}",
                "" if before is None else f"{stage.log_loss - before.log_loss:+.6f}",
            )
            before = stage
    return table


def _prices(notes: tuple[CardNotes, ...]) -> Table:
    """What each risk direction costs, the dearest of any card first."""
    by_card = {note.card: {p.field: p.log_loss for p in note.prices} for note in notes}
    dearest: dict[str, float] = {}
    for prices in by_card.values():
        for field, price in prices.items():
            dearest[field] = max(price, dearest.get(field, 0.0))
    table = _table()
    for card in by_card:
        table.add_column(Text(card), justify="right")
    fields = sorted(dearest, key=lambda field: -dearest[field])
    for field in fields[:_LINES_MAX]:
        cells = [prices.get(field) for prices in by_card.values()]
        table.add_row(Text(field), *("" if cell is None else f"{cell:.6f}" for cell in cells))
    _mention_rest(table, len(fields))
    return table


def _withheld(notes: CardNotes) -> Table:
    """Who would gain by not giving a field."""
    gains = [gain for gain in notes.withheld if gain.share >= _SHARE_WORTH_SAYING]
    gains.sort(key=lambda gain: -gain.share)
    table = _table()
    table.add_column("of those who gave it", justify="right")
    table.add_column("points gained", justify="right")
    for gain in gains[:_LINES_MAX]:
        table.add_row(Text(gain.field), f"{gain.share:.1%}", f"{gain.mean_points:.1f}")
    _mention_rest(table, len(gains))
    return table


def _mention_rest(table: Table, count: int) -> None:
    if count > _LINES_MAX:
        table.add_row(Text(f"and {count - _LINES_MAX} more", style="dim"))


def _table() -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="left")
    return table


def _section(console: Console, title: str, table: Table) -> None:
    console.print(Text(f"\n{title}", style="bold"), soft_wrap=True)
    console.print(table)


def _line(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)
