"""The same tables in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bench.serve import page
from bench.serve.subjects import SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.page import Document


_NAMES: Final = {subject.title: name for name, subject in SUBJECTS.items()}
"""A terminal is narrower than a page."""


def tables(document: Document) -> None:
    """Print throughput, latency and what was aimed at."""
    console = Console()
    for head, rows in (
        (page.throughput_head(document), page.throughput_rows(document)),
        (page.LATENCY_HEAD, page.latency_rows(document)),
        (page.AIM_HEAD, page.aim_rows(document)),
    ):
        if rows:
            console.print(_table(head, rows))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(head):
        short = name.replace("requests", "req").replace("processor", "cpu")
        drawn.add_column(short, justify="right" if place else "left", no_wrap=place == 0)
    for title, *cells in rows:
        drawn.add_row(_NAMES.get(title, title), *(cell.replace("**", "") for cell in cells))
    return drawn
