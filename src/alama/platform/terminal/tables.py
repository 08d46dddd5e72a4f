"""Tables, lists and bars in a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult


ONE_LINE_WIDTH: Final = 116
"""From this width on a thing with an id takes one line of a table, below it two."""

GAP: Final = 2
"""Spaces between columns."""


def plain_table(*heads: str) -> Table:
    """Give a table without a frame, which reads well and pipes well."""
    # The box puts one more space between the columns.
    padding = (0, GAP - 1, 0, 0)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding)
    for head in heads:
        table.add_column(head, overflow="fold")
    return table


def mention_rest(table: Table, count: int, shown: int, where: str = "") -> None:
    """Add how many of `count` are not shown, and where they are, where any are not."""
    if count > shown:
        table.add_row(Text(f"and {count - shown} more{where}", style="dim"))


def stacked(first: str, *others: str) -> Text:
    """Give lines for one cell of a narrow table, each cut to its column; empty ones are left out.

    The first is what a person looks for.
    """
    lines = [Text(first), *(Text(other, "dim") for other in others if other)]
    text = Text("\n").join(lines)
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Give names and values side by side."""
    grid = Table.grid(padding=(0, GAP))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, value)
    return grid


_HEAD_LINES: Final = 2
_INDENT: Final = "  "


class Lines(NamedTuple):
    """Rows of one line each, under their heads; `right` are the places of numbers.

    From 80 columns on an id is never cut or broken: in two pieces it cannot be copied.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Collection[int] = ()

    @property
    def width(self) -> int:
        """How wide a terminal has to be for all of it."""
        widths = [max(map(cell_len, column)) for column in self._columns()]
        return sum(widths) + GAP * (len(widths) - 1)

    def without_empty(self) -> Lines:
        """Leave out columns in which nothing stands."""
        kept = [place for place, (_, *cells) in enumerate(self._columns()) if any(cells)]
        heads = [self.heads[place] for place in kept]
        rows = [[row[place] for place in kept] for row in self.rows]
        return Lines(heads, rows, [kept.index(place) for place in self.right if place in kept])

    def table(self) -> Table:
        """Draw it as wide as it is."""
        table = plain_table(*self.heads)
        for place, column in enumerate(table.columns):
            column.no_wrap, column.overflow = True, "ellipsis"
            column.justify = "right" if place in self.right else "left"
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    def _columns(self) -> Sequence[tuple[str, ...]]:
        return list(zip(self.heads, *self.rows, strict=True))


class Stacked:
    """Lines with what is longest below each of them, which is cut where the terminal ends."""

    def __init__(self, lines: Lines, below: Sequence[Sequence[str]]) -> None:
        """Take what stands below each row, in their order; an empty text is left out."""
        assert len(lines.rows) == len(below)
        self._lines = lines
        self._below = below

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        drawn = console.render_lines(self._lines.table(), options, pad=False, new_lines=True)
        for line in drawn[:_HEAD_LINES]:
            yield from line
        for line, below in zip(drawn[_HEAD_LINES:], self._below, strict=True):
            yield from line
            yield from _cut(below, options.max_width)


def _cut(below: Sequence[str], width: int) -> Iterator[Text]:
    for told in filter(None, below):
        yield cut(f"{_INDENT}{told}", width, "dim")


def cut(told: str, width: int, style: str = "") -> Text:
    """Give a text in one line of at most this width; an ellipsis says that there is more."""
    text = Text(told, style, no_wrap=True, overflow="ellipsis")
    text.truncate(width, overflow="ellipsis")
    return text


_BULLET_WIDTH: Final = 3
_HANGING: Final = _BULLET_WIDTH + GAP


class Paragraphs:
    """Headings and hanging paragraphs, wrapped to the terminal but no wider than eyes follow."""

    def __init__(self, console: Console, width_max: int) -> None:
        self._console = console
        self._width = min(console.width, width_max)

    def blank(self) -> None:
        self._console.print()

    def heading(self, shown: str) -> None:
        self._console.print()
        for line in self._wrapped(Text(shown, "bold"), self._width):
            self._console.print(line)

    def hang(self, text: Text, bullet: str = "") -> None:
        """Print a paragraph that hangs from its bullet, or from nothing."""
        for place, line in enumerate(self._wrapped(text, self._width - _HANGING)):
            hung = "" if place else bullet
            self._console.print(Text(f"{hung:>{_BULLET_WIDTH}}{' ' * GAP}") + line)

    def _wrapped(self, text: Text, width: int) -> Iterator[Text]:
        for line in text.wrap(self._console, width):
            line.rstrip()
            yield line


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
