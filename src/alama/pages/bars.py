"""Lists as pictures: bars, differences with intervals, and a grid of small figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from alama.pages import numbers, svg
from alama.pages.markup import Markup, tag
from alama.pages.svg import Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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
