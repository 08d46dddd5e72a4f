"""Windows of drift in a database, and the counts that they are cut from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from sqlalchemy import func, select

from alama.core.monitoring.drift import Figure
from alama.service.audit.drift_acts import drift_detected
from alama.service.book import Book, Mode
from alama.service.errors import StoreUnfit
from alama.service.monitoring.drift import Window
from alama.service.monitoring.ports import DayTally
from alama.service.webhooks.events import EventKind
from alama.storage import schema
from alama.storage.deploying import in_book, of_book
from alama.storage.event_books import NO_BOOK, books_after
from alama.storage.event_rows import announce
from alama.storage.tallies import decoded
from alama.storage.upserts import insert_new

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Row

    from alama.service.monitoring.drift import Drifted
    from alama.service.ports import Clock
    from alama.storage.acts import ActLog
    from alama.storage.database import Database

_COUNTS: Final = schema.daily_counts
_WINDOWS: Final = schema.drift_windows

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(dict[str, Figure]).decode


class SqlDrift:
    """Drift in a database; see `alama.service.monitoring.drift.DriftStore`."""

    def __init__(self, database: Database, log: ActLog, clock: Clock) -> None:
        """Use an open database, and the log in which what was told is noted."""
        self._database = database
        self._log = log
        self._clock = clock

    # -------------------------------------------------------------------------------- counts

    def books(self) -> Sequence[Book]:
        with self._database.reading() as connection:
            found = books_after(connection, _COUNTS, NO_BOOK)
            return [Book(lender, Mode(mode)) for lender, mode in found]

    def models(self, book: Book, first_day: int, last_day: int) -> Sequence[str]:
        query = (
            select(_COUNTS.c.model_id)
            .distinct()
            .where(in_book(_COUNTS, book), _COUNTS.c.day.between(first_day, last_day))
            .order_by(_COUNTS.c.model_id)
        )
        with self._database.reading() as connection:
            return list(connection.execute(query).scalars())

    def days(self, book: Book, model_id: str, first_day: int, last_day: int) -> Iterator[DayTally]:
        query = (
            select(_COUNTS.c.day, _COUNTS.c.counts)
            .where(
                in_book(_COUNTS, book),
                _COUNTS.c.model_id == model_id,
                _COUNTS.c.day.between(first_day, last_day),
            )
            .order_by(_COUNTS.c.day)
        )
        # All rows at once, some kilobytes each: who goes through them writes windows meanwhile.
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return (DayTally(day, model_id, decoded(counts)) for day, counts in rows)

    # -------------------------------------------------------------------------------- windows

    def reached(self, book: Book, model_id: str) -> Mapping[str, int]:
        query = (
            select(_WINDOWS.c.card, func.max(_WINDOWS.c.last_day).label("last_day"))
            .where(in_book(_WINDOWS, book), _WINDOWS.c.model_id == model_id)
            .group_by(_WINDOWS.c.card)
        )
        with self._database.reading() as connection:
            return {row.card: row.last_day for row in connection.execute(query)}

    def windows(self, book: Book, model_id: str, card: str, limit: int) -> Sequence[Window]:
        query = (
            select(_WINDOWS)
            .where(
                in_book(_WINDOWS, book),
                _WINDOWS.c.model_id == model_id,
                _WINDOWS.c.card == card,
            )
            .order_by(_WINDOWS.c.first_day.desc())
            .limit(limit)
        )
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return [_window(row) for row in reversed(rows)]

    def keep(
        self,
        book: Book,
        model_id: str,
        card: str,
        windows: Sequence[Window],
        drifted: Drifted | None,
    ) -> bool:
        now_us = self._clock()
        of_card = of_book(book) | {"model_id": model_id, "card": card, "created_us": now_us}
        first, *others = (of_card | _row(window) for window in windows)
        with self._database.writing() as connection:
            if not insert_new(connection, _WINDOWS, first):
                return False
            for row in others:
                insert_new(connection, _WINDOWS, row)
            if drifted is not None:
                kind = EventKind.DRIFT_DETECTED
                announce(connection, book, kind, model_id, drifted.data(), now_us)
                self._log.append(connection, drift_detected(book, drifted))
        return True


def _row(window: Window) -> dict[str, object]:
    return {
        "first_day": window.first_day,
        "last_day": window.last_day,
        "scores": window.scores,
        "figures": _encode(window.figures),
    }


def _window(row: Row[Any]) -> Window:
    try:
        figures = _decode(row.figures)
    except msgspec.MsgspecError as error:
        raise StoreUnfit(
            "a window of drift is damaged", hint="restore the database from a backup"
        ) from error
    return Window(row.first_day, row.last_day, row.scores, figures)
