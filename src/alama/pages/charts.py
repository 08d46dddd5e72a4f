"""Charts of how a model did: ranking, calibration, scores by outcome, and months."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from alama.pages import numbers, svg
from alama.pages.markup import Markup, join, tag
from alama.pages.svg import Frame

if TYPE_CHECKING:
    from collections.abc import Sequence

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
