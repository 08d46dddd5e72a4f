"""Charts of how a model did, and lists as pictures."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from alama.platform.pages import numbers, svg
from alama.platform.pages.render import Markup, join
from alama.platform.pages.svg import Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


TONES: Final = ("tone-a", "tone-b", "tone-c", "tone-d")
"""Styles of series, told apart by dash as well as by colour."""

_RATE_FLOOR: Final = 0.001
_LEGEND_STEP_PX: Final = 18.0


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through points, with the name it has in the legend."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]


@dataclass(frozen=True, slots=True)
class Rate:
    """A predicted rate beside the observed one and the interval that holds the true one."""

    predicted: float
    observed: float
    low: float
    high: float
    rows: int


def roc(curves: Sequence[Curve], title: str) -> Markup:
    """Draw ROC curves: defaults caught against good loans turned away."""
    frame = Frame(480.0, 420.0)
    x, y = frame.x(0.0, 1.0), frame.y(0.0, 1.0)
    ticks = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    drawn = [
        svg.path([(x(a), y(b)) for a, b in zip(c.xs, c.ys, strict=True)], f"curve {tone}")
        for c, tone in zip(curves, TONES, strict=False)
    ]
    return svg.drawing(
        frame,
        title,
        "Share of defaults below a cut-off against share of repaid loans below it, "
        f"for {', '.join(curve.name for curve in curves)}.",
        svg.bottom_axis(frame, x, ticks, _whole_percent, "repaid loans below the cut-off"),
        svg.left_axis(frame, y, ticks, _whole_percent, "defaults below the cut-off"),
        svg.line(x(0.0), y(0.0), x(1.0), y(1.0), "reference"),
        *drawn,
        legend([curve.name for curve in curves], frame.x1 - 200.0, frame.y0 - 64.0),
    )


def legend(names: Sequence[str], x: float, y: float) -> Markup:
    """Name the series, one below the other."""
    parts = []
    for name, tone in zip(names, TONES, strict=False):
        parts.append(svg.line(x, y, x + 26.0, y, f"curve {tone}"))
        parts.append(svg.label(x + 32.0, y + 4.0, name, anchor="start"))
        y += _LEGEND_STEP_PX
    return join(*parts)


def reliability(rates: Sequence[Rate], title: str) -> Markup:
    """Draw observed against predicted default rates, both on logarithmic axes.

    Risk is spread over decades: on equal steps the safest half of a book would be one blot.
    """
    frame = Frame(480.0, 420.0, left=60.0)
    known = [r.predicted for r in rates] + [r.observed for r in rates if r.observed > 0.0]
    low = max(min(known) / 1.6, _RATE_FLOOR)
    high = min(max([max(known) * 1.25, *(r.high for r in rates), low * 4.0]), 1.0)
    x = svg.Log(low, high, frame.x0, frame.x1)
    y = svg.Log(low, high, frame.y0, frame.y1)
    ticks = x.ticks(9)
    marks = [
        join(
            svg.line(x(r.predicted), y(r.low), x(r.predicted), y(r.high), "whisker"),
            svg.dot(x(r.predicted), y(r.observed), "dot", _told(r), 4.0),
        )
        for r in rates
    ]
    return svg.drawing(
        frame,
        title,
        f"Observed against predicted default rate in {len(rates)} bands of equal size, with "
        "95 % intervals; on the diagonal the model is exactly right.",
        svg.bottom_axis(frame, x, ticks, numbers.percent_tick, "predicted default rate"),
        svg.left_axis(frame, y, ticks, numbers.percent_tick, "observed default rate"),
        svg.line(x(low), y(low), x(high), y(high), "reference"),
        *marks,
    )


def _told(rate: Rate) -> str:
    return (
        f"predicted {numbers.percent(rate.predicted)}, observed {numbers.percent(rate.observed)} "
        f"({numbers.between(numbers.percent(rate.low), numbers.percent(rate.high))}), "
        f"{numbers.count(rate.rows)} rows"
    )


def mirrored_histogram(
    edges: Sequence[float], above: Sequence[float], below: Sequence[float], title: str
) -> Markup:
    """Draw the scores of repaid loans upwards and of defaults downwards, each as shares."""
    frame = Frame(760.0, 340.0, left=58.0)
    most = max(*above, *below) * 1.08
    x, y = frame.x(edges[0], edges[-1]), frame.y(-most, most)
    bars = []
    for place, (low, high) in enumerate(pairwise(edges)):
        points, width = f"{low:.0f} to {high:.0f} points", x(high) - x(low) - 1.0
        up, down = above[place], below[place]
        told = f"{points}: {numbers.percent(up)} of repaid loans"
        bars.append(svg.box(x(low), y(up), width, y(0.0) - y(up), "bar-good", told))
        told = f"{points}: {numbers.percent(down)} of defaults"
        bars.append(svg.box(x(low), y(0.0), width, y(-down) - y(0.0), "bar-bad", told))
    return svg.drawing(
        frame,
        title,
        "Distribution of the score among repaid loans, upwards, and among defaults, downwards.",
        svg.bottom_axis(frame, x, x.ticks(9), lambda t: f"{t:.0f}", "score"),
        svg.left_axis(frame, y, y.ticks(6), lambda t: numbers.percent_tick(abs(t)), "share"),
        *bars,
        svg.line(frame.x0, y(0.0), frame.x1, y(0.0), "axis"),
        svg.label(frame.x0 + 10.0, frame.y1 + 14.0, "repaid", "label strong-good", "start"),
        svg.label(frame.x0 + 10.0, frame.y0 - 8.0, "defaulted", "label strong-bad", "start"),
    )


def trend(labels: Sequence[str], series: Sequence[Curve], title: str, caption: str) -> Markup:
    """Draw rates over named periods; `xs` of the series are places among the labels."""
    frame = Frame(760.0, 260.0, left=58.0, top=30.0)
    top = max(max(curve.ys) for curve in series) * 1.15 or 1.0
    x, y = frame.x(-0.5, len(labels) - 0.5), frame.y(0.0, top)
    every = max(1, round(len(labels) * 56.0 / (frame.x1 - frame.x0) + 0.49))
    places = list(range(0, len(labels), every))
    drawn = []
    for curve, tone in zip(series, TONES, strict=False):
        points = [(x(a), y(b)) for a, b in zip(curve.xs, curve.ys, strict=True)]
        drawn.append(svg.path(points, f"curve {tone}"))
        for a, b in zip(curve.xs, curve.ys, strict=True):
            told = f"{labels[int(a)]}, {curve.name}: {numbers.percent(b)}"
            drawn.append(svg.dot(x(a), y(b), f"point {tone}", told, 3.0))
    names = [curve.name for curve in series]
    return svg.drawing(
        frame,
        title,
        f"{' and '.join(names)} from {labels[0]} to {labels[-1]}.",
        svg.bottom_axis(frame, x, [], str, caption),
        *(svg.label(x(p), frame.y0 + 16.0, labels[p]) for p in places),
        svg.left_axis(frame, y, y.ticks(4), numbers.percent_tick),
        *drawn,
        _legend_across(names, frame.x0 + 4.0, 14.0),
    )


def _legend_across(names: Sequence[str], x: float, y: float) -> Markup:
    parts = []
    for name, tone in zip(names, TONES, strict=False):
        parts.append(svg.line(x, y, x + 26.0, y, f"curve {tone}"))
        parts.append(svg.label(x + 32.0, y + 4.0, name, anchor="start"))
        x += 60.0 + svg.text_width(name)
    return join(*parts)


def _whole_percent(share: float) -> str:
    return numbers.percent(share, 0)


# -------------------------------------------------------------------------------------------- lists


@dataclass(frozen=True, slots=True)
class Bar:
    """A named value."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A named value with the interval that holds the true one."""

    name: str
    value: float
    low: float
    high: float


_ROW_PX = 23.0
_LABEL_PX = 160.0


def bars(
    listed: Sequence[Bar],
    form: Callable[[float], str],
    title: str,
    *,
    full_at_least: float = 0.0,
    limits: Sequence[tuple[float, str]] = (),
) -> Markup:
    """Draw values as bars from zero. The axis reaches at least `full_at_least`.

    `limits` are marks of usual limits, drawn where the axis reaches them.
    """
    frame = Frame(
        520.0, len(listed) * _ROW_PX + 34.0, left=_LABEL_PX, right=70.0, top=22.0, bottom=12.0
    )
    values = [bar.value for bar in listed]
    low, high = min(0.0, *values, 0.0), max(0.0, *values, full_at_least)
    x = frame.x(low, high if high > low else low + 1.0)
    marks: list[str] = []
    for limit, name in limits:
        if limit <= high:
            marks.append(svg.line(x(limit), frame.y1, x(limit), frame.y0, "limit"))
            marks.append(svg.label(x(limit), frame.y1 - 7.0, name, "label small"))
    zero, told = x(0.0), [f"{bar.name}: {form(bar.value)}" for bar in listed]
    for place, bar in enumerate(listed):
        top, end = frame.y1 + place * _ROW_PX + 3.0, x(bar.value)
        name = svg.fitted(bar.name, _LABEL_PX - 12.0)
        tone = "bar-plain" if bar.value >= 0.0 else "bar-bad"
        marks += [
            svg.label(frame.x0 - 8.0, top + 12.0, name, anchor="end"),
            svg.box(min(zero, end), top, abs(end - zero), _ROW_PX - 8.0, tone, told[place]),
            svg.label(max(end, zero) + 5.0, top + 12.0, form(bar.value), "figure", "start"),
        ]
    axis = svg.line(zero, frame.y1, zero, frame.y0, "axis")
    return svg.drawing(frame, title, f"{'; '.join(told)}.", *marks, axis)


def differences(
    listed: Sequence[Difference], form: Callable[[float], str], title: str, caption: str
) -> Markup:
    """Draw values with intervals around a line at zero: what the line crosses is not certain."""
    frame = Frame(520.0, len(listed) * 34.0 + 62.0, left=190.0, right=24.0, top=12.0)
    reach = max(max(abs(one.low), abs(one.high), abs(one.value)) for one in listed) * 1.15 or 1.0
    x = frame.x(min(0.0, *(one.low for one in listed)) - reach * 0.12, reach)
    if all(one.high <= 0.0 for one in listed):
        x = frame.x(-reach, reach * 0.12)
    marks: list[str] = []
    for place, one in enumerate(listed):
        y = frame.y1 + place * 34.0 + 17.0
        told = f"{one.name}: {form(one.value)} ({form(one.low)} to {form(one.high)})"
        marks.append(svg.label(frame.x0 - 10.0, y + 4.0, one.name, anchor="end"))
        marks.append(svg.line(x(one.low), y, x(one.high), y, "whisker"))
        marks.append(svg.dot(x(one.value), y, "dot", told, 4.5))
        marks.append(svg.label(x(one.value), y - 9.0, form(one.value), "figure"))
    told = "; ".join(f"{d.name}: {form(d.value)}, {form(d.low)} to {form(d.high)}" for d in listed)
    return svg.drawing(
        frame,
        title,
        told + ".",
        svg.bottom_axis(frame, x, x.ticks(4), form, caption),
        svg.line(x(0.0), frame.y1, x(0.0), frame.y0, "reference"),
        *marks,
    )


def grid(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[float]],
    full: float,
    title: str,
) -> Markup:
    """Draw figures of at least zero as a grid of shades; `full` and above is the strongest."""
    wide, row_px = 34.0, 19.0
    frame = Frame(
        160.0 + 24.0 + len(columns) * wide,
        len(rows) * row_px + 66.0,
        left=160.0,
        right=24.0,
        top=58.0,
        bottom=8.0,
    )
    marks: list[str] = []
    for row, name in enumerate(rows):
        y = frame.y1 + row * row_px
        marks.append(
            svg.label(frame.x0 - 8.0, y + 13.0, svg.fitted(name, 150.0), "label small", "end")
        )
        for column, value in enumerate(cells[row]):
            area = svg.Area(frame.x0 + column * wide, y, wide, row_px)
            told = f"{name}, {columns[column]}: {numbers.fixed(value)}"
            shade = 0.8 * min(value / full, 1.0)
            shown = svg.label(*area.middle, numbers.fixed(value, 2), "label tiny")
            marks += [svg.shaded(area, "cell-down", shade, told), shown]
    marks += [
        svg.turned(frame.x0 + (column + 0.6) * wide, frame.y1 - 5.0, -55, name)
        for column, name in enumerate(columns)
    ]
    most = max(max(row) for row in cells)
    return svg.drawing(
        frame,
        title,
        f"{len(rows)} rows by {len(columns)} columns; the largest figure is {numbers.fixed(most)}.",
        *marks,
    )
