"""Days of counts, put together, and those of which all scores are kept."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from alama.core.tally import Tally
from alama.service.monitoring.ports import DayTally

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from alama.service.book import Book
    from alama.service.monitoring.ports import MonitoringStore


def whole_days(parts: Iterable[DayTally]) -> Iterator[DayTally]:
    """Put the parts of each day and model together, as they are once the day is folded.

    Bands of few scores will be dropped then: they could tell what one applicant said. To count them
    as long as they are there would show it, and figures would depend on when somebody looked. Parts
    of the same day and model have to come one after the other.
    """
    for (day, model_id), some in groupby(parts, attrgetter("day", "model_id")):
        total = Tally()
        for part in some:
            total.merge(part.tally)
        total.drop_small()
        yield DayTally(day, model_id, total)


def whole_from(store: MonitoringStore, book: Book, first_counted: int | None, today: int) -> int:
    """Give the day from which on no score was deleted of those that were counted.

    `first_counted` is the first day of which there are counts, if there is any.
    """
    if first_counted is None:
        return 0
    oldest = store.oldest_day(book)
    if oldest is None:
        return today + 1
    return oldest + 1 if first_counted < oldest else 0
