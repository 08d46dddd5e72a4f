"""Charts of how a model did, and lists as pictures."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from alama.platform.pages import numbers, svg
from alama.platform.pages.render import Markup, join, tag
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
    return join(
        *(
            join(
                svg.line(
                    x,
                    y + row * _LEGEND_STEP_PX,
                    x + 26.0,
                    y + row * _LEGEND_STEP_PX,
                    f"curve {tone}",
                ),
                svg.label(x + 32.0, y + row * _LEGEND_STEP_PX + 4.0, name, anchor="start"),
            )
            for row, (name, tone) in enumerate(zip(names, TONES, strict=False))
        )
    )


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
            tag(
                "circle",
                tag("title", _told(r)),
                cx=x(r.predicted),
                cy=y(r.observed),
                r=4.0,
                class_="dot",
            ),
        )
        for r in rates
    ]
    return svg.drawing(
        frame,
        title,
        f"Observed against predicted default rate in {len(rates)} bands of equal size, with "
        "95 % intervals; on the diagonal the model is exactly right.",
        svg.bottom_axis(frame, x, ticks, _tick_percent, "predicted default rate"),
        svg.left_axis(frame, y, ticks, _tick_percent, "observed default rate"),
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
        told = f"{low:.0f} to {high:.0f} points: "
        width = x(high) - x(low) - 1.0
        up, down = above[place], below[place]
        bars.append(
            svg.box(
                x(low),
                y(up),
                width,
                y(0.0) - y(up),
                "bar-good",
                told + f"{numbers.percent(up)} of repaid loans",
            )
        )
        bars.append(
            svg.box(
                x(low),
                y(0.0),
                width,
                y(-down) - y(0.0),
                "bar-bad",
                told + f"{numbers.percent(down)} of defaults",
            )
        )
    return svg.drawing(
        frame,
        title,
        "Distribution of the score among repaid loans, upwards, and among defaults, downwards.",
        svg.bottom_axis(frame, x, x.ticks(9), lambda t: f"{t:.0f}", "score"),
        svg.left_axis(frame, y, y.ticks(6), lambda t: _tick_percent(abs(t)), "share"),
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
        drawn += [
            tag(
                "circle",
                tag("title", f"{labels[int(a)]}, {curve.name}: {numbers.percent(b)}"),
                cx=x(a),
                cy=y(b),
                r=3.0,
                class_=f"point {tone}",
            )
            for a, b in zip(curve.xs, curve.ys, strict=True)
        ]
    names = [curve.name for curve in series]
    return svg.drawing(
        frame,
        title,
        f"{' and '.join(names)} from {labels[0]} to {labels[-1]}.",
        svg.bottom_axis(frame, x, [], str, caption),
        *(svg.label(x(p), frame.y0 + 16.0, labels[p]) for p in places),
        svg.left_axis(frame, y, y.ticks(4), _tick_percent),
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


def _tick_percent(share: float) -> str:
    return f"{100.0 * share:.6g}{numbers.NARROW_SPACE}%"


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
    for place, bar in enumerate(listed):
        top = frame.y1 + place * _ROW_PX + 3.0
        end = x(bar.value)
        marks.append(
            svg.label(
                frame.x0 - 8.0, top + 12.0, svg.fitted(bar.name, _LABEL_PX - 12.0), anchor="end"
            )
        )
        tone = "bar-plain" if bar.value >= 0.0 else "bar-bad"
        marks.append(
            svg.box(
                min(x(0.0), end),
                top,
                abs(end - x(0.0)),
                _ROW_PX - 8.0,
                tone,
                f"{bar.name}: {form(bar.value)}",
            )
        )
        marks.append(
            svg.label(max(end, x(0.0)) + 5.0, top + 12.0, form(bar.value), "figure", "start")
        )
    told = "; ".join(f"{bar.name}: {form(bar.value)}" for bar in listed)
    return svg.drawing(
        frame, title, told + ".", *marks, svg.line(x(0.0), frame.y1, x(0.0), frame.y0, "axis")
    )


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
        marks.append(tag("circle", tag("title", told), cx=x(one.value), cy=y, r=4.5, class_="dot"))
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
