"""Charts of two states side by side: what was, in grey, and what would be, in blue."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from alama.platform.pages import numbers, svg
from alama.platform.pages.render import Markup, join
from alama.platform.pages.svg import Area, Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


BEFORE: Final = "old"
AFTER: Final = "new"

_ROW_PX: Final = 25.0
_BAR_PX: Final = 13.0
_OPACITY_MAX: Final = 0.75
"""Of the strongest cell, so that its figure can still be read on it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A named value as it was and as it would be; None where there is none to speak of.

    `told` is a remark that stands at the end of its row.
    """

    name: str
    before: float | None
    after: float | None
    told: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a bar: how much, its style, and what it is."""

    amount: float
    style: str
    told: str


@dataclass(frozen=True, slots=True)
class Stack:
    """A name with two bars of parts, each with a figure at its end."""

    name: str
    before: Sequence[Part]
    after: Sequence[Part]
    figures: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of an axis, from `low` to `high`, with a name in it."""

    low: float
    high: float
    style: str
    name: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many there are between each two edges, as shares of all."""

    edges: Sequence[float]
    before: Sequence[float]
    after: Sequence[float]


def legend(x: float, y: float) -> Markup:
    """Say which tone is old and which is new."""
    return join(
        svg.box(x, y - 9.0, 10.0, 10.0, "before"),
        svg.label(x + 15.0, y, BEFORE, anchor="start"),
        svg.box(x + 52.0, y - 9.0, 10.0, 10.0, "after"),
        svg.label(x + 67.0, y, AFTER, anchor="start"),
    )


def stacks(listed: Sequence[Stack], title: str) -> Markup:
    """Draw two bars of parts for each name, all on one scale."""
    row_px = 2.0 * _BAR_PX + 16.0
    frame = Frame(640.0, len(listed) * row_px + 12.0, left=112.0, right=180.0, top=6.0, bottom=6.0)
    longest = max(sum(p.amount for p in bar) for s in listed for bar in (s.before, s.after))
    x = frame.x(0.0, longest or 1.0)
    marks: list[str] = []
    for place, stack in enumerate(listed):
        top = frame.y1 + place * row_px + 5.0
        middle = top + _BAR_PX + 5.0
        name = svg.fitted(stack.name, frame.x0 - 52.0)
        marks.append(svg.label(frame.x0 - 46.0, middle, name, "figure", "end"))
        for row, (when, bar) in enumerate(((BEFORE, stack.before), (AFTER, stack.after))):
            y = top + row * (_BAR_PX + 2.0)
            marks.append(svg.label(frame.x0 - 8.0, y + 10.0, when, "label small", "end"))
            marks.append(_bar_of_parts(bar, x, y))
            end = x(sum(part.amount for part in bar)) + 7.0
            marks.append(svg.label(end, y + 10.5, stack.figures[row], "label small", "start"))
    told = "; ".join(f"{s.name}: {s.figures[0]}, then {s.figures[1]}" for s in listed)
    axis = svg.line(x(0.0), frame.y1, x(0.0), frame.y0, "axis")
    return svg.drawing(frame, title, f"{told}.", *marks, axis)


def _bar_of_parts(parts: Sequence[Part], x: svg.Linear, y: float) -> Markup:
    drawn, start = [], 0.0
    for part in parts:
        left, right = x(start), x(start + part.amount)
        if part.amount:
            drawn.append(svg.box(left, y, right - left, _BAR_PX, part.style, part.told))
        start += part.amount
    return join(*drawn)


def extent(listed: Sequence[Pair]) -> tuple[float, float]:
    """Give an axis on which all of these have room: drawings to be compared share one."""
    known = [v for pair in listed for v in (pair.before, pair.after) if v is not None] or [0.0]
    low, high = min(known), max(known)
    room = max(0.08 * (high - low), 0.01 * max(abs(high), abs(low)), 1e-6)
    return low - room, high + room


def dumbbells(
    listed: Sequence[Pair],
    form: Callable[[float], str],
    title: str,
    caption: str,
    bounds: tuple[float, float],
) -> Markup:
    """Draw where each name stood and where it would stand, and the way between.

    No wider than half a page, so that its type keeps its size where two stand side by side.
    """
    frame = Frame(430.0, len(listed) * _ROW_PX + 74.0, left=126.0, right=56.0, top=28.0)
    x = frame.x(*bounds)
    marks: list[str] = []
    for place, pair in enumerate(listed):
        y = frame.y1 + (place + 0.5) * _ROW_PX
        name = svg.fitted(pair.name, frame.x0 - 12.0)
        marks.append(svg.label(frame.x0 - 10.0, y + 4.0, name, anchor="end"))
        marks.append(svg.label(frame.x1 + 8.0, y + 4.0, pair.told, "label small", "start"))
        marks.append(_dumbbell(pair, x, y, form))
    told = "; ".join(f"{p.name}: {_said(p.before, form)} to {_said(p.after, form)}" for p in listed)
    return svg.drawing(
        frame,
        title,
        f"{told}.",
        svg.bottom_axis(frame, x, x.ticks(4), form, caption),
        *marks,
        legend(frame.x0, 13.0),
    )


def _dumbbell(pair: Pair, x: svg.Linear, y: float, form: Callable[[float], str]) -> Markup:
    told = f"{pair.name}: {_said(pair.before, form)}, then {_said(pair.after, form)}"
    marks: list[str] = []
    if pair.before is not None and pair.after is not None:
        style = "rise" if pair.after >= pair.before else "fall"
        marks.append(svg.line(x(pair.before), y, x(pair.after), y, style))
    for value, style in ((pair.before, "before"), (pair.after, "after")):
        if value is not None:
            marks.append(svg.dot(x(value), y, style, told, 5.0))
    return join(*marks)


def _said(value: float | None, form: Callable[[float], str]) -> str:
    return "none" if value is None else form(value)


def paired_bars(listed: Sequence[Pair], form: Callable[[float], str], title: str) -> Markup:
    """Draw two bars from zero for each name; its remark stands under it."""
    row_px = 2.0 * _BAR_PX + 12.0
    frame = Frame(640.0, len(listed) * row_px + 34.0, left=190.0, right=70.0, top=28.0, bottom=6.0)
    x = frame.x(0.0, max(max(p.before or 0.0, p.after or 0.0) for p in listed) or 1.0)
    marks: list[str] = []
    for place, pair in enumerate(listed):
        top = frame.y1 + place * row_px + 4.0
        name = svg.fitted(pair.name, frame.x0 - 12.0)
        marks.append(svg.label(frame.x0 - 10.0, top + 11.0, name, "figure", "end"))
        told = svg.fitted(pair.told, frame.x0 - 12.0)
        marks.append(svg.label(frame.x0 - 10.0, top + 25.0, told, "label small", "end"))
        for row, (value, style) in enumerate(((pair.before, "before"), (pair.after, "after"))):
            y = top + row * (_BAR_PX + 1.0)
            if value is None:
                shown, end = "not in it", x(0.0)
            else:
                shown, end = form(value), x(value)
                marks.append(svg.box(x(0.0), y, end - x(0.0), _BAR_PX, style))
            marks.append(svg.label(end + 6.0, y + 10.5, shown, "label small", "start"))
    told = "; ".join(f"{p.name}: {_said(p.before, form)} to {_said(p.after, form)}" for p in listed)
    axis = svg.line(x(0.0), frame.y1, x(0.0), frame.y0, "axis")
    return svg.drawing(frame, title, f"{told}.", *marks, axis, legend(frame.x0, 13.0))


def matrix(
    names: Sequence[str],
    cells: Sequence[Sequence[int]],
    title: str,
) -> Markup:
    """Draw how many moved from each name (rows) to each other (columns); the best comes first.

    The stronger the colour the more of all that moved; blue is for the better, orange for the
    worse, and those that stay are grey.
    """
    wide, high = 116.0, 62.0
    frame = Frame(
        134.0 + len(names) * wide + 8.0,
        len(names) * high + 56.0,
        left=134.0,
        right=8.0,
        top=50.0,
        bottom=6.0,
    )
    everyone = max(sum(sum(row) for row in cells), 1)
    moved = [n for row, line in enumerate(cells) for at, n in enumerate(line) if row != at]
    most = max(*moved, 1)
    marks: list[str] = []
    for row, line in enumerate(cells):
        middle = frame.y1 + (row + 0.5) * high
        marks.append(svg.label(frame.x0 - 10.0, middle + 4.0, names[row], anchor="end"))
        for column, number in enumerate(line):
            area = Area(frame.x0 + column * wide, frame.y1 + row * high, wide, high)
            tone = "cell-same" if row == column else "cell-up" if column < row else "cell-down"
            strength = 0.16 if row == column else _OPACITY_MAX * number / most
            told = f"{names[row]} to {names[column]}: {numbers.plural(number, 'application')}"
            x, y = area.middle
            marks.append(svg.shaded(area, tone, strength, told))
            marks.append(svg.label(x, y - 6.0, numbers.count(number), "figure cell"))
            share = numbers.percent(number / everyone, 2)
            marks.append(svg.label(x, y + 11.0, share, "small"))
    heads = [
        svg.label(frame.x0 + (column + 0.5) * wide, frame.y1 - 8.0, name)
        for column, name in enumerate(names)
    ]
    middle = (frame.x0 + frame.x1) / 2.0
    return svg.drawing(
        frame,
        title,
        f"{numbers.plural(sum(moved), 'application')} of {numbers.count(everyone)} moved.",
        *marks,
        *heads,
        svg.label(middle, 16.0, "under the new policy", "caption"),
        svg.turned(13.0, (frame.y0 + frame.y1) / 2.0, -90, "under the old", "caption", "middle"),
    )


def banded_histogram(
    found: Histogram, bands: tuple[Sequence[Stretch], Sequence[Stretch]], title: str
) -> Markup:
    """Draw how many have each score, under two ribbons that name its stretches: old and new."""
    frame = Frame(760.0, 340.0, left=58.0, top=72.0)
    x = frame.x(found.edges[0], found.edges[-1])
    y = frame.y(0.0, max(*found.before, *found.after) * 1.06 or 1.0)
    marks: list[str] = []
    for place, (low, high) in enumerate(pairwise(found.edges)):
        told = f"{low:.0f} to {high:.0f} points: {numbers.percent(found.after[place])}"
        top, width = y(found.after[place]), x(high) - x(low) - 1.0
        marks.append(svg.box(x(low), top, width, frame.y0 - top, "crowd", told))
    for row, (when, ribbon, style) in enumerate(
        ((BEFORE, bands[0], "was"), (AFTER, bands[1], "would"))
    ):
        level = 12.0 + row * 25.0
        marks.append(svg.label(frame.x0 - 8.0, level + 14.0, when, "label small", "end"))
        marks += [_stretch(stretch, x, level) for stretch in ribbon]
        inner = sorted(stretch.low for stretch in ribbon)[1:]
        marks += [svg.line(x(cut), level + 20.0, x(cut), frame.y0, style) for cut in inner]
    return svg.drawing(
        frame,
        title,
        "The share of applications with each score, and the tiers of both policies above it.",
        svg.bottom_axis(frame, x, x.ticks(9), lambda t: f"{t:.0f}", "score"),
        svg.left_axis(frame, y, y.ticks(4), numbers.percent_tick, "applications"),
        *marks,
    )


def _stretch(stretch: Stretch, x: svg.Linear, level: float) -> Markup:
    left, right = x(stretch.low), x(stretch.high)
    told = f"{stretch.name}: from {stretch.low:.0f}"
    box = svg.box(left + 0.5, level, right - left - 1.0, 20.0, stretch.style, told)
    if right - left < svg.text_width(stretch.name) + 4.0:
        return box
    ink = "on-part-review" if stretch.style == "part-review" else "on-part"
    return join(box, svg.label((left + right) / 2.0, level + 14.0, stretch.name, ink))


def overlaid_histogram(found: Histogram, title: str, caption: str) -> Markup:
    """Draw what was as bars, and what would be as an outline over them."""
    frame = Frame(760.0, 280.0, left=58.0, top=30.0)
    x = frame.x(found.edges[0], found.edges[-1])
    y = frame.y(0.0, max(*found.before, *found.after) * 1.08 or 1.0)
    bars, outline = [], [(x(found.edges[0]), y(0.0))]
    for place, (low, high) in enumerate(pairwise(found.edges)):
        was, would = found.before[place], found.after[place]
        told = f"{low:g} to {high:g}: {numbers.percent(was)}, then {numbers.percent(would)}"
        width = x(high) - x(low) - 1.0
        bars.append(svg.box(x(low), y(was), width, y(0.0) - y(was), "crowd", told))
        outline += [(x(low), y(would)), (x(high), y(would))]
    outline.append((x(found.edges[-1]), y(0.0)))
    return svg.drawing(
        frame,
        title,
        "How the approved are spread, as bars under the old policy, as a line under the new one.",
        svg.bottom_axis(frame, x, x.ticks(8), lambda t: f"{t:g}{numbers.NARROW_SPACE}%", caption),
        svg.left_axis(frame, y, y.ticks(4), numbers.percent_tick, "approved"),
        *bars,
        svg.path(outline, "step"),
        svg.box(frame.x0 + 4.0, 6.0, 12.0, 10.0, "crowd"),
        svg.label(frame.x0 + 21.0, 15.0, BEFORE, anchor="start"),
        svg.line(frame.x0 + 56.0, 11.0, frame.x0 + 76.0, 11.0, "step"),
        svg.label(frame.x0 + 82.0, 15.0, AFTER, anchor="start"),
    )
