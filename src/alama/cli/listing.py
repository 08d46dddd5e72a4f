"""Lists of things with ids: a line for each where the terminal is wide enough for all of it.

Where it is not, what is longest stands below the rest, across the whole width. From 80 columns on
an id is never cut or broken: in two pieces it cannot be copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from alama.cli.tables import GAP, plain_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

_HEAD_LINES: Final = 2
_INDENT: Final = "  "


class Lines(NamedTuple):
    """Rows of one line each, under their heads; `right` are the places of numbers."""

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
    """Lines with others below each of them, which are cut where the terminal ends."""

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
