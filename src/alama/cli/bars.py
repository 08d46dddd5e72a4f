"""Bars of half a character's precision, and columns of an eighth, for terminals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

RAISES: Final = "green"
LOWERS: Final = "red"


@dataclass(frozen=True, slots=True)
class Glyphs:
    """What bars are made of; the terminal may know no more than ASCII."""

    left: str
    right: str
    full: str
    guide: str
    mark: str
    line: str
    across: str
    levels: str
    """Of a column within one character, from nothing to full."""
    ring: str
    way: str


BLOCKS: Final = Glyphs(
    left="\u258c",
    right="\u2590",
    full="\u2588",
    guide="\u250a",
    mark="\u25cf",
    line="\u2500",
    across="\u00d7",
    levels=" \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588",
    ring="\u25cb",
    way="\u2501",
)
ASCII: Final = Glyphs(
    left="#",
    right="#",
    full="#",
    guide=":",
    mark="o",
    line="-",
    across="x",
    levels=" .:=#",
    ring="|",
    way="=",
)


def glyphs(console: Console) -> Glyphs:
    return ASCII if console.options.ascii_only else BLOCKS


def style_of(points: float) -> str:
    return RAISES if points >= 0.0 else LOWERS


class Scale:
    """A range of numbers laid over a number of characters."""

    def __init__(self, low: float, high: float, width: int) -> None:
        self.low = low
        self.high = high if high > low else low + 1.0
        self.width = width

    def edge(self, value: float) -> int:
        """Give the place of a value in half characters from the left, 0 to twice the width."""
        share = (value - self.low) / (self.high - self.low)
        return round(min(max(share, 0.0), 1.0) * 2 * self.width)

    def cell(self, value: float) -> int:
        """Give the character that a value falls into."""
        return min(self.edge(value) // 2, self.width - 1)

    def bar(
        self, start: float, end: float, made_of: Glyphs, guide: float, style: str | None = None
    ) -> Text:
        """Draw a bar between two values, at least half a character long.

        It is green where it ends above its start, else red, unless it has a style of its own.
        `guide` is a value that is marked where the bar leaves its place free.
        """
        first, last = sorted((self.edge(start), self.edge(end)))
        if first == last:
            first, last = (first - 1, last) if self._grows_left(start, end) else (first, last + 1)
        style = style_of(end - start) if style is None else style
        text = Text()
        for cell in range(self.width):
            match (first <= 2 * cell < last, first <= 2 * cell + 1 < last):
                case (True, True):
                    text.append(made_of.full, style)
                case (True, False):
                    text.append(made_of.left, style)
                case (False, True):
                    text.append(made_of.right, style)
                case _:
                    text.append(made_of.guide if cell == self.cell(guide) else " ", "dim")
        return text

    def way(self, start: float, end: float, made_of: Glyphs) -> Text:
        """Draw the way from a ring at one value to a dot at another."""
        ring, dot = self.cell(start), self.cell(end)
        text = Text()
        for cell in range(self.width):
            if cell == dot:
                text.append(made_of.mark, "bold")
            elif cell == ring:
                text.append(made_of.ring)
            elif min(ring, dot) < cell < max(ring, dot):
                text.append(made_of.way, RAISES)
            else:
                text.append(made_of.line, "dim")
        return text

    def _grows_left(self, start: float, end: float) -> bool:
        """Say where a bar too short to be seen has room: its own way, but within the scale."""
        at = self.edge(start)
        return at > 0 and (end < start or at == 2 * self.width)


def columns(values: Sequence[float], top: float, height: int, made_of: Glyphs) -> list[str]:
    """Draw a column for each value, in lines from the top down; `top` reaches the full height.

    What is more than nothing is seen, however little it is.
    """
    full = len(made_of.levels) - 1
    filled = [max(round(value / top * height * full), 1) if value else 0 for value in values]
    return [
        "".join(made_of.levels[min(max(level - below * full, 0), full)] for level in filled)
        for below in reversed(range(height))
    ]
