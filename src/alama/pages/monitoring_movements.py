"""The chart of what moved: the index of the score and of each field, each beside its own limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.monitoring.figures import Movement
from alama.pages import numbers, svg
from alama.pages.markup import Markup, join
from alama.pages.monitoring_charts import psi
from alama.pages.svg import Frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.monitoring.figures import Moved, WindowFigure

_WIDTH: Final = 640.0
_NAMES_PX: Final = 166.0
_VALUE_PX: Final = 40.0
"""Room for the value at the end of the longest bar."""

_WINDOW_PX: Final = 84.0
_VERDICT_PX: Final = 62.0
_ROW_PX: Final = 31.0
_LIMIT_PX: Final = 11.0
"""At the top of a row, for the limit above its mark."""

_BAR_PX: Final = 14.0


class _Row(NamedTuple):
    """Where a row is drawn: its upper end, and the scale of its bar."""

    top: float
    x: svg.Linear

    @property
    def base(self) -> float:
        """Give where its words stand."""
        return self.top + _LIMIT_PX + 11.5


def movements(listed: Sequence[Moved], window: WindowFigure | None, title: str) -> Markup:
    """Draw the index of the period as bars, each with its limit, and write that of the last window.

    A bar has the colour of its verdict, which may be of the windows: not of how long it is.
    """
    aside = (_WINDOW_PX if window else 0.0) + _VERDICT_PX
    frame = Frame(
        _WIDTH,
        len(listed) * _ROW_PX + 36.0,
        left=_NAMES_PX,
        right=aside + _VALUE_PX,
        top=26.0,
        bottom=10.0,
    )
    x = frame.x(0.0, max(0.12, *(max(one.psi, one.limit) for one in listed)))
    marks: list[str] = []
    for place, one in enumerate(listed):
        row = _Row(frame.y1 + place * _ROW_PX, x)
        name = svg.fitted(one.name, frame.x0 - 12.0)
        marks += [svg.label(frame.x0 - 8.0, row.base, name, anchor="end"), _bar(one, row)]
        marks.append(svg.label(_WIDTH, row.base, one.verdict.value, anchor="end"))
        if window and one.name in window.psi:
            value = psi(window.psi[one.name])
            marks.append(svg.label(_WIDTH - _VERDICT_PX, row.base, value, anchor="end"))
    told = "; ".join(_told(one, window) for one in listed)
    return svg.drawing(
        frame,
        title,
        f"{told}.",
        svg.label(frame.x0, 14.0, "PSI in the period", "caption", "start"),
        svg.label(_WIDTH - _VERDICT_PX, 14.0, "last window", "caption", "end") if window else "",
        *marks,
        svg.line(x(0.0), frame.y1 + 4.0, x(0.0), frame.y0, "axis"),
    )


def _bar(one: Moved, row: _Row) -> Markup:
    """Draw a bar with its value at its end, and the limit with its number above its mark."""
    end, limit, top = row.x(one.psi), row.x(one.limit), row.top + _LIMIT_PX
    value = psi(one.psi)
    style = "bar-plain" if one.verdict is Movement.STEADY else "bar-bad"
    # Where the value stands at the limit the mark ends above it.
    in_the_way = end - 1.0 < limit < end + 9.0 + svg.text_width(value)
    foot = top if in_the_way else top + _BAR_PX + 2.0
    start = row.x(0.0)
    return join(
        svg.box(start, top, max(end - start, 0.8), _BAR_PX, style, _told(one, None)),
        svg.line(limit, row.top + 3.0, limit, foot, "limit-mark"),
        svg.label(limit + 4.0, top - 2.0, f"limit {psi(one.limit)}", "label tiny", "start"),
        svg.label(end + 5.0, row.base, value, "figure", "start"),
    )


def _told(one: Moved, window: WindowFigure | None) -> str:
    told = f"{one.name}: {numbers.fixed(one.psi)}, limit {numbers.fixed(one.limit)}"
    if window and one.name in window.psi:
        told += f", in the last window {numbers.fixed(window.psi[one.name])}"
    return f"{told}, {one.verdict.value}"
