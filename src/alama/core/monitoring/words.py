"""How a report speaks of counts, days and windows, in a terminal as on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

    from alama.core.monitoring.figures import CardStability, WindowFigure


def plural(number: int, noun: str) -> str:
    """Write a count with its noun: 1 loan, 4,000 loans."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def days(first: date, last: date) -> str:
    """Name the days from one to another: 4 to 14 November."""
    end = f"{last.day} {last:%B}"
    if first == last:
        return end
    if first.year != last.year:
        return f"{first.day} {first:%B %Y} to {end} {last.year}"
    if first.month == last.month:
        return f"{first.day} to {end}"
    return f"{first.day} {first:%B} to {end}"


def last_window(card: CardStability, since: date) -> WindowFigure | None:
    """Give the last window of a card; none where it ended before the period of the report began."""
    if card.windows and card.windows[-1].last_day >= since:
        return card.windows[-1]
    return None
