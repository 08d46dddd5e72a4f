"""What each hour has approved, added up in the transaction of the scores themselves.

Summing scores would take ever longer as a day goes on, and a bound is looked at every second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import func, select

from alama.core.lending.policy import Decision
from alama.service.holds import HOUR_US
from alama.storage import schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Select
    from sqlalchemy.engine.interfaces import DBAPICursor

    from alama.service.book import Book
    from alama.service.records import ScoreRow

_APPROVED: Final = Decision.APPROVED.value


class Approvals:
    """The sums of one process. Each has rows of its own: none waits for another's commit."""

    def __init__(self, mark: str, writer: str) -> None:
        """Write the statement once; `writer` names this process and no other."""
        self._writer = writer
        names = [column.name for column in schema.approvals.columns]
        self._text = (
            f"INSERT INTO approvals ({', '.join(names)}) "  # noqa: S608  our own names
            f"VALUES ({', '.join([mark] * len(names))}) "
            "ON CONFLICT (lender, mode, hour, writer) DO UPDATE SET "
            "volume = approvals.volume + excluded.volume, "
            "expected_loss = approvals.expected_loss + excluded.expected_loss"
        )

    def add(self, cursor: DBAPICursor, rows: Iterable[ScoreRow]) -> None:
        """Add what these scores approve."""
        sums: dict[tuple[str, str, int], tuple[float, float]] = {}
        for row in rows:
            if row.decision == _APPROVED:
                hour = (row.lender, row.mode, row.created_us // HOUR_US)
                volume, loss = sums.get(hour, (0.0, 0.0))
                sums[hour] = (volume + row.recommended_limit, loss + row.expected_loss)
        for hour, (volume, loss) in sums.items():
            cursor.execute(self._text, (*hour, self._writer, volume, loss))


def approved_since(book: Book, hour: int) -> Select[tuple[float, float]]:
    """Write the query for what was approved in a book from an hour on."""
    table = schema.approvals
    return select(
        func.coalesce(func.sum(table.c.volume), 0.0),
        func.coalesce(func.sum(table.c.expected_loss), 0.0),
    ).where(table.c.lender == book.lender, table.c.mode == book.mode.value, table.c.hour >= hour)
