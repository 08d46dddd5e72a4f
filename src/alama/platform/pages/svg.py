"""The ground that charts stand on: scales, frames, axes. Colours live in the style sheet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from alama.platform.pages.render import Markup, join, tag

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_CHARACTER_PX: Final = 6.4
"""The mean width of a character of 12 px; labels are set out by it, with no font to measure."""

_LOG_TICKS: Final = (1.0, 2.0, 5.0)


class Scale(Protocol):
    """Maps values to pixels."""

    def __call__(self, value: float) -> float:
        """Give the pixel of a value."""
        ...

    def ticks(self, about: int) -> list[float]:
        """Give about so many round values on the scale."""
        ...


@dataclass(frozen=True, slots=True)
class Linear:
    """Equal steps; from `low` at pixel `start` to `high` at pixel `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        """Give about so many round values on the scale."""
        rough = (self.high - self.low) / max(about, 1)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * power >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(place * step, 12) for place in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Log:
    """Equal factors; values below `low` stand at its pixel."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        along = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return self.start + along * (self.end - self.start)

    def ticks(self, about: int = 8) -> list[float]:
        """Give round values on the scale: 1, 2 and 5 of each power, or fewer."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found = [m * 10.0**p for p in powers for m in _LOG_TICKS]
        found = [t for t in found if self.low * 0.999 <= t <= self.high * 1.001]
        return found if len(found) <= about else found[:: math.ceil(len(found) / about)]


@dataclass(frozen=True, slots=True)
class Frame:
    """A drawing and the plot inside it, in pixels; y grows downwards."""

    width: float
    height: float
    left: float = 52.0
    right: float = 22.0
    top: float = 14.0
    bottom: float = 46.0

    @property
    def x0(self) -> float:
        return self.left

    @property
    def x1(self) -> float:
        return self.width - self.right

    @property
    def y0(self) -> float:
        return self.height - self.bottom

    @property
    def y1(self) -> float:
        return self.top

    def x(self, low: float, high: float) -> Linear:
        return Linear(low, high, self.x0, self.x1)

    def y(self, low: float, high: float) -> Linear:
        return Linear(low, high, self.y0, self.y1)


def drawing(frame: Frame, title: str, description: str, *marks: str) -> Markup:
    """Give an accessible picture: a title and, in words, what it shows."""
    return tag(
        "svg",
        tag("title", title),
        tag("desc", description),
        *marks,
        viewBox=f"0 0 {frame.width:g} {frame.height:g}",
        width=frame.width,
        height=frame.height,
        role="img",
        aria_label=f"{title}. {description}",
        class_="chart",
    )


def label(x: float, y: float, shown: str, class_: str = "label", anchor: str = "middle") -> Markup:
    return tag("text", shown, x=x, y=y, class_=class_, text_anchor=anchor)


def turned(
    x: float,
    y: float,
    degrees: int,
    shown: str,
    class_: str = "label small",
    anchor: str = "start",
) -> Markup:
    """Write text at an angle."""
    moved = f"translate({x:.1f} {y:.1f}) rotate({degrees})"
    return tag("text", shown, class_=class_, text_anchor=anchor, transform=moved)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def box(x: float, y: float, width: float, height: float, class_: str, told: str = "") -> Markup:
    """Draw a rectangle; `told` shows where a reader points."""
    inside = [tag("title", told)] if told else []
    return tag(
        "rect",
        *inside,
        x=x,
        y=y,
        width=max(width, 0.0),
        height=max(height, 0.0),
        class_=class_,
    )


def dot(x: float, y: float, class_: str, told: str = "", radius: float = 3.6) -> Markup:
    """Draw a circle; `told` shows where a reader points."""
    inside = [tag("title", told)] if told else []
    return tag("circle", *inside, cx=x, cy=y, r=radius, class_=class_)


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle by its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> tuple[float, float]:
        """Give where a label in the middle stands."""
        return self.x + self.width / 2.0, self.y + self.height / 2.0 + 4.0


def shaded(area: Area, class_: str, opacity: float, told: str) -> Markup:
    """Draw a cell of a heat map: a colour over the ground, the stronger the more opaque."""
    inside = (area.x + 0.5, area.y + 0.5, area.width - 1.0, area.height - 1.0)
    colour = tag(
        "rect",
        tag("title", told),
        x=inside[0],
        y=inside[1],
        width=inside[2],
        height=inside[3],
        class_=class_,
        fill_opacity=f"{opacity:.3f}",
    )
    return join(box(*inside, "cell-ground"), colour)


def path(points: Sequence[tuple[float, float]], class_: str) -> Markup:
    drawn = " ".join(
        f"{'L' if place else 'M'}{x:.2f} {y:.2f}" for place, (x, y) in enumerate(points)
    )
    return tag("path", d=drawn, class_=class_)


def bottom_axis(
    frame: Frame,
    scale: Scale,
    ticks: Sequence[float],
    form: Callable[[float], str],
    caption: str,
) -> Markup:
    """Draw ticks with labels under the plot, light lines through it, and what they measure."""
    middle = (frame.x0 + frame.x1) / 2.0
    return join(
        *(line(scale(t), frame.y0, scale(t), frame.y1, "grid") for t in ticks),
        *(label(scale(t), frame.y0 + 16.0, form(t)) for t in ticks),
        line(frame.x0, frame.y0, frame.x1, frame.y0, "axis"),
        label(middle, frame.height - 8.0, caption, "caption"),
    )


def left_axis(
    frame: Frame,
    scale: Scale,
    ticks: Sequence[float],
    form: Callable[[float], str],
    caption: str = "",
) -> Markup:
    """Draw ticks with labels left of the plot, light lines through it, and what they measure."""
    middle = (frame.y0 + frame.y1) / 2.0
    return join(
        *(line(frame.x0, scale(t), frame.x1, scale(t), "grid") for t in ticks),
        *(label(frame.x0 - 6.0, scale(t) + 4.0, form(t), anchor="end") for t in ticks),
        turned(13.0, middle, -90, caption, "caption", "middle") if caption else "",
    )


def text_width(shown: str) -> float:
    """Estimate how many pixels a label needs."""
    return len(shown) * _CHARACTER_PX


def fitted(shown: str, pixels: float) -> str:
    """Cut a label to a width, with an ellipsis."""
    most = max(int(pixels / _CHARACTER_PX), 1)
    return shown if len(shown) <= most else shown[: max(most - 1, 1)].rstrip(" ,") + "\u2026"
