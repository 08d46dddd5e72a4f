"""Tables of the administration commands, as they look everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich import box
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable

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
