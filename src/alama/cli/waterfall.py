"""An assessment drawn in text: from the base score to the score, one bar a field."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from rich.text import Text

from alama.batch.listing import NOT_GIVEN, number
from alama.cli.bars import Glyphs, Scale, glyphs, style_of
from alama.core import calibration

if TYPE_CHECKING:
    from rich.console import Console

    from alama.core.application import Value
    from alama.core.assess import Assessment
    from alama.core.catalogue import Catalogue
    from alama.core.model import Model

WIDTH_MAX: Final = 110
_BAR_WIDTH_MIN: Final = 16
_VALUE_WIDTH_MAX: Final = 20
_POINTS_WIDTH: Final = 8
_GAUGE_WIDTH_MAX: Final = 64
_TICK_GAP_MIN: Final = 9
_ID_SHOWN: Final = len("sha256:") + 12

_BASE: Final = "base score"
_SCORE: Final = "score"


def drawing(model: Model, assessment: Assessment, currency: str | None, console: Console) -> Text:
    """Give the whole answer, as wide as the console is but no wider than eyes follow."""
    width = min(console.width, WIDTH_MAX)
    made_of = glyphs(console)
    source = f"{model.name}, {assessment.card} scorecard, {model.id[:_ID_SHOWN]}"
    lines = [
        Text(),
        _headline(assessment),
        _gauge(assessment.score, width, made_of),
        Text(),
        *_waterfall(model.catalogue, assessment, currency, width, made_of),
        Text(),
        Text(source, "dim"),
        Text(_SCALE_NOTE, "dim"),
    ]
    return Text("\n").join(lines)


_SCALE_NOTE: Final = (
    f"{calibration.ANCHOR_POINTS:.0f} points are a default probability of "
    f"{1.0 / (1.0 + calibration.ANCHOR_ODDS):.0%}; every "
    f"{calibration.POINTS_TO_DOUBLE_THE_ODDS:.0f} points double the odds of repayment"
)


def _headline(assessment: Assessment) -> Text:
    chance = assessment.default_probability
    odds = f"{(1.0 - chance) / chance:,.1f} to 1" if chance else "beyond counting"
    return Text.assemble(
        "score ",
        (str(assessment.score), "bold"),
        "   default probability ",
        (f"{chance:.2%}", "bold"),
        "   odds of repayment ",
        (odds, "bold"),
    )


def _gauge(score: int, width: int, made_of: Glyphs) -> Text:
    low, high = calibration.SCORE_MIN, calibration.SCORE_MAX
    length = min(width, _GAUGE_WIDTH_MAX) - len(f"{low}  {high}")
    place = round((score - low) / (high - low) * (length - 1))
    return Text.assemble(
        (f"{low} {made_of.line * place}", "dim"),
        (made_of.mark, "bold"),
        (f"{made_of.line * (length - 1 - place)} {high}", "dim"),
    )


@dataclass(frozen=True, slots=True)
class _Columns:
    """Widths of the columns in front of the bars."""

    name: int
    value: int

    @property
    def all(self) -> int:
        return self.name + 2 + self.value + _POINTS_WIDTH + 2

    def line(self, name: Text, value: Text, points: Text, bar: Text) -> Text:
        name.align("left", self.name + 2)
        value.truncate(self.value, overflow="ellipsis", pad=True)
        points.align("right", _POINTS_WIDTH)
        whole = Text.assemble(name, value, points, "  ", bar)
        whole.rstrip()
        return whole


def _waterfall(
    catalogue: Catalogue,
    assessment: Assessment,
    currency: str | None,
    width: int,
    made_of: Glyphs,
) -> list[Text]:
    """Draw each contribution from where the last one ended."""
    parts = assessment.contributions
    base = assessment.base
    ends = list(accumulate((part.points for part in parts), initial=base))
    values = [_value(catalogue, part.feature, part.value, currency) for part in parts]
    columns = _Columns(
        name=max(len(text) for text in (_BASE, *(part.feature for part in parts))),
        value=min(_VALUE_WIDTH_MAX, max(map(len, values), default=0)),
    )
    scale = Scale(min(ends), max(ends), max(width - columns.all, _BAR_WIDTH_MIN))
    lines = [columns.line(Text(_BASE), Text(), Text(f"{base:.1f}"), _mark(scale, base, made_of))]
    for part, value, (start, end) in zip(parts, values, pairwise(ends), strict=True):
        style = style_of(part.points) if part.points else "dim"
        bar = scale.bar(start, end, made_of, guide=base) if part.points else Text()
        shown = Text(value, "dim" if part.value is None else "")
        lines.append(
            columns.line(Text(part.feature), shown, Text(f"{part.points:+.1f}", style), bar)
        )
    last = Text(str(assessment.score), "bold")
    lines.append(columns.line(Text(_SCORE, "bold"), Text(), last, _mark(scale, ends[-1], made_of)))
    lines.append(Text(" " * columns.all) + _axis(scale))
    return lines


def _mark(scale: Scale, value: float, made_of: Glyphs) -> Text:
    return Text(" " * (scale.cell(value)) + made_of.mark, "bold")


def _axis(scale: Scale) -> Text:
    """Write round numbers of points under the bars, as many as have room."""
    step = next(
        (
            size
            for size in (5, 10, 20, 50, 100, 200)
            if size / (scale.high - scale.low) * scale.width >= _TICK_GAP_MIN
        ),
        500,
    )
    axis = ""
    for tick in range(math.ceil(scale.low / step) * step, math.floor(scale.high) + 1, step):
        label = str(tick)
        start = scale.cell(tick) - len(label) // 2
        if start >= len(axis) + (1 if axis else 0):
            axis = axis.ljust(start) + label
    return Text(axis, "dim")


def _value(catalogue: Catalogue, feature: str, value: Value, currency: str | None) -> str:
    if value is None:
        return NOT_GIVEN
    if isinstance(value, str):
        return value
    money = catalogue.field(feature).money and currency
    return f"{currency} {number(value)}" if money else number(value)
