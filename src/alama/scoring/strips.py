"""Pictures as wide as the room they get: places are percentages, so that text keeps its size.

A drawing with a view box shrinks as a whole, and on a phone its words can no longer be read. Here
only the marks move closer together. Everything is told apart by its form as well as by colour:
filled and hollow, ring and dot; many branches print in black and white.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from alama.platform.pages.render import Markup, tag
from alama.platform.pages.svg import text_width

if TYPE_CHECKING:
    from collections.abc import Sequence


_NARROWEST_PX: Final = 286.0
_NARROWEST_CROSSING_PX: Final = 250.0
_NARROWEST_MOVEMENT_PX: Final = 220.0
"""The least room: on a phone of 320 pixels, there inside a card, and beside the words of a way on
paper. What would run into its neighbour there is moved or left out everywhere."""

_GAP_PX: Final = 10.0
_BORDER_ROWS_Y: Final = (70.0, 84.0)
_WAY_Y: Final = 24.0

_BOLDER: Final = 1.25
"""How much wider than a usual label one of capitals and digits in bold may be drawn."""

_PIN_HALF: Final = 0.05
"""Half of the label of a pin, which has three large digits."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A named part of a scale, from one share of its length to another; `kind` is its style."""

    name: str
    low: float
    high: float
    kind: str
    starts_at: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled place on a scale, by its share of the length."""

    at: float
    label: str


def scale(stretches: Sequence[Stretch], mark: Mark, title: str) -> Markup:
    """Draw a scale of named stretches, the lowest first, and where somebody stands on it."""
    borders = _borders(stretches)
    return _drawing(
        max((y for _, y in borders), default=_BORDER_ROWS_Y[0]) + 6.0,
        title,
        *(_stretch(one, 30.0, 24.0) for one in stretches),
        *(
            _text((one.low + one.high) / 2.0, 46.5, one.name, f"on-{one.kind}")
            for one in stretches
            if _has_room(one.name, one.high - one.low)
        ),
        *(_text(one.low, y, one.starts_at, "label") for one, y in borders),
        tag(
            "svg",
            # Corners of a polygon cannot be percentages; a drawing of its own moves as a whole.
            tag("polygon", points="-6,20 6,20 0,29", class_="there"),
            x=_at(mark.at),
            class_="strip",
        ),
        _text(mark.at, 17.0, mark.label, "pin-label", _anchor(mark.at, _PIN_HALF)),
    )


def movement(stretches: Sequence[Stretch], before: Mark, after: Mark, title: str) -> Markup:
    """Draw the way from one place on a scale to another."""
    return _drawing(
        44.0,
        title,
        *(_stretch(one, 32.0, 9.0) for one in stretches),
        *_way(before, after, _NARROWEST_MOVEMENT_PX),
    )


def crossing(before: Mark, after: Mark, title: str) -> Markup:
    """Draw everyone as a row of dots, and the way along it past some of them."""
    return _drawing(
        34.0,
        title,
        _line(0.0, _WAY_Y, 1.0, _WAY_Y, "crowd-row"),
        *_way(before, after, _NARROWEST_CROSSING_PX),
    )


def bar(start: float, end: float, guide: float) -> Markup:
    """Draw one bar of a waterfall; the figure beside it says the same, so it is not read out."""
    low, high = sorted((start, end))
    return tag(
        "svg",
        _line(guide, 0.0, guide, 18.0, "guide"),
        tag(
            "rect",
            x=_at(low),
            y=3.5,
            width=_at(max(high - low, 0.004)),
            height=11.0,
            class_="gives" if end >= start else "takes",
        ),
        width="100%",
        height=18.0,
        class_="bar",
        aria_hidden="true",
    )


def place(at: float, guide: float) -> Markup:
    return tag(
        "svg",
        _line(guide, 0.0, guide, 18.0, "guide"),
        tag("circle", cx=_at(at), cy=9.0, r=4.5, class_="there"),
        width="100%",
        height=18.0,
        class_="bar",
        aria_hidden="true",
    )


def swatch(kind: str) -> Markup:
    """Give a little box in the style of a stretch, for a key."""
    return tag(
        "svg",
        tag("rect", x=1.0, y=1.0, width=18.0, height=10.0, class_=kind),
        width=20.0,
        height=12.0,
        aria_hidden="true",
    )


def _drawing(height: float, title: str, *marks: str) -> Markup:
    return tag(
        "svg",
        tag("title", title),
        *marks,
        width="100%",
        height=height,
        role="img",
        aria_label=title,
        class_="chart strip",
    )


def _way(before: Mark, after: Mark, room_px: float) -> list[Markup]:
    """Draw a ring, a dot, the line between them, and their labels above."""
    left, right = sorted((before, after), key=lambda mark: mark.at)
    return [
        _line(before.at, _WAY_Y, after.at, _WAY_Y, "moved"),
        tag("circle", cx=_at(before.at), cy=_WAY_Y, r=5.0, class_="here"),
        tag("circle", cx=_at(after.at), cy=_WAY_Y, r=5.5, class_="there"),
        *(
            _text(at, 12.0, mark.label, "label-after" if mark is after else "label", anchor)
            for mark, at, anchor in _apart(left, right, room_px)
        ),
    ]


def _apart(left: Mark, right: Mark, room_px: float) -> list[tuple[Mark, float, str]]:
    """Give each of two labels its place and its anchor, so that none covers the other.

    Widths are estimates: what stands at an edge is held there, whatever its font makes of it.
    """
    gap = _GAP_PX / room_px
    first, last = (_BOLDER * text_width(mark.label) / room_px for mark in (left, right))
    # Centred on its mark, but inside the drawing.
    first_end = min(max(left.at + first / 2.0, first), 1.0)
    last_start = max(min(right.at - last / 2.0, 1.0 - last), 0.0)
    if last_start - first_end < gap:
        # Both grow outwards from the middle of the two, as far in as both have room.
        middle = (left.at + right.at) / 2.0
        middle = min(max(middle, first + gap / 2.0), 1.0 - last - gap / 2.0)
        first_end, last_start = middle - gap / 2.0, middle + gap / 2.0
    return [
        (left, first_end, "end") if first_end > first else (left, 0.0, "start"),
        (right, last_start, "start") if last_start < 1.0 - last else (right, 1.0, "end"),
    ]


def _stretch(one: Stretch, top: float, height: float) -> Markup:
    return tag(
        "rect",
        x=_at(one.low),
        y=top,
        width=_at(one.high - one.low),
        height=height,
        class_=one.kind,
    )


def _borders(stretches: Sequence[Stretch]) -> list[tuple[Stretch, float]]:
    """Give the stretches whose start is written, and the height of the row that has room for it.

    What would run into its neighbour goes one row down, and is left out where that is taken too.
    """
    written: list[tuple[Stretch, float]] = []
    free_from = dict.fromkeys(_BORDER_ROWS_Y, 0.0)
    for _, one in pairwise(stretches):
        half = (text_width(one.starts_at) + _GAP_PX) / 2.0 / _NARROWEST_PX
        y = next((y for y, free in free_from.items() if one.low - half >= free), None)
        if y is not None:
            written.append((one, y))
            free_from[y] = one.low + half
    return written


def _has_room(shown: str, share: float) -> bool:
    return share * _NARROWEST_PX > text_width(shown) + 4.0


def _anchor(at: float, half: float) -> str:
    """Let a label of twice a half grow inwards where it would leave the drawing."""
    if at < half:
        return "start"
    return "end" if at > 1.0 - half else "middle"


def _text(x: float, y: float, shown: str, class_: str, anchor: str = "middle") -> Markup:
    return tag("text", shown, x=_at(x), y=y, class_=class_, text_anchor=anchor)


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return tag("line", x1=_at(x1), y1=y1, x2=_at(x2), y2=y2, class_=class_)


def _at(share: float) -> str:
    return f"{100.0 * min(max(share, 0.0), 1.0):.2f}%"
