"""Tables of the administration commands, as they look everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich import box
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

_GAP: Final = 2


def plain_table(*heads: str) -> Table:
    """Give a table without a frame, which reads well and pipes well."""
    # The box puts one more space between the columns.
    padding = (0, _GAP - 1, 0, 0)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding)
    for head in heads:
        table.add_column(head, overflow="fold")
    return table


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Give names and values side by side."""
    grid = Table.grid(padding=(0, _GAP))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, value)
    return grid
