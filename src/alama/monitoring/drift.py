"""Drift: what applicants say, and what they score, window by window against the training rows.

A window is a number of whole days in which one card of one model met at least a thousand
applications. Where it meets few on most days, what those applicants say is not counted, and its
windows tell of scores alone. Each begins the day after the one before has ended, and is kept, so
that all processes cut the same ones and whoever writes a window down announces it. What is over its
limit in two windows in a row has drifted, and is announced once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from sqlalchemy import func, select

from alama.core import model as models
from alama.core.monitoring.drift import (
    IN_A_ROW,
    SCORE,
    SCORES_MIN,
    Figure,
    Yardstick,
    banded,
    newly_drifted,
)
from alama.core.tally import CardTally
from alama.monitoring import schema
from alama.monitoring.records import DayTally, whole_days
from alama.platform.acts import Act, ActKind, ActLog, Detail, act_in_book
from alama.platform.book import Book, Mode
from alama.platform.database.books import NO_BOOK, books_after, in_book, of_book
from alama.platform.database.statements import insert_new
from alama.platform.days import DAY_US, date_of
from alama.platform.errors import StoreUnfit
from alama.platform.event_bundles import announce
from alama.platform.events import EventKind
from alama.scoring import schema as scoring_schema
from alama.scoring.counts import decoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Row

    from alama.lenders.installation import Installation
    from alama.lenders.store import Registry
    from alama.platform.clock import Clock
    from alama.platform.database.database import Database


SETTLED_US: Final = 15 * 60 * 1_000_000
"""How long after midnight, UTC, a day is taken to be over: its last scores have been kept."""

DAYS_MAX: Final = 400
"""Days that are looked back at most: a card that met fewer than a thousand in them is not told of.
So no look takes longer than that, however old the book is."""

MODELS_KEPT: Final = 100
"""Models whose shares are kept in memory, some ten kilobytes each: to read one takes longer than to
look at a day."""

_DECIMALS: Final = 4


class Window(NamedTuple):
    """Whole days, both included and numbered since 1970, UTC, of one card.

    `figures` are by field, and that of the scores is called `score`. Where days had few scores by
    this card, fields were not counted on them, and `scores` are more than the fields are of; where
    most had, there is no figure but that of the scores.
    """

    first_day: int
    last_day: int
    scores: int
    figures: Mapping[str, Figure]


class Drifted(NamedTuple):
    """What is announced: the window that showed it, and what has drifted with it, by name."""

    model_id: str
    card: str
    window: Window
    figures: Mapping[str, Figure]

    def data(self) -> dict[str, Any]:
        """Give what is sent to those who want to know; counts and fields, nothing of anybody."""
        return {
            "model": self.model_id,
            "card": self.card,
            "names": [
                {
                    "name": name,
                    "psi": round(figure.psi, _DECIMALS),
                    "limit": round(figure.limit, _DECIMALS),
                }
                for name, figure in self.figures.items()
            ],
            "first_day": date_of(self.window.first_day).isoformat(),
            "last_day": date_of(self.window.last_day).isoformat(),
            "scores": self.window.scores,
        }


_COUNTS: Final = scoring_schema.daily_counts
_WINDOWS: Final = schema.drift_windows

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(dict[str, Figure]).decode


class DriftStore:
    """Windows of drift in a database, and the counts that they are cut from."""

    def __init__(self, database: Database, log: ActLog, clock: Clock) -> None:
        self._database = database
        self._log = log
        self._clock = clock

    # -------------------------------------------------------------------------------- counts

    def books(self) -> Sequence[Book]:
        """Give all books in which anything was ever counted."""
        with self._database.reading() as connection:
            found = books_after(connection, _COUNTS, NO_BOOK)
            return [Book(lender, Mode(mode)) for lender, mode in found]

    def models(self, book: Book, first_day: int, last_day: int) -> Sequence[str]:
        """Give the ids of the models that gave scores in a book in these days."""
        query = (
            select(_COUNTS.c.model_id)
            .distinct()
            .where(in_book(_COUNTS, book), _COUNTS.c.day.between(first_day, last_day))
            .order_by(_COUNTS.c.model_id)
        )
        with self._database.reading() as connection:
            return list(connection.execute(query).scalars())

    def days(self, book: Book, model_id: str, first_day: int, last_day: int) -> Iterator[DayTally]:
        """Give what a model met and gave, oldest first; a day may come in several parts."""
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
        """Give the last day of the last window of each card of a model that has any."""
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
        """Keep windows, oldest first, and announce what has drifted, in one transaction.

        False, and nothing is kept or announced, where another process has kept the first meanwhile.
        """
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
                self._log.append(connection, _detected(book, drifted))
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


def _detected(book: Book, drifted: Drifted) -> Act:
    """Say what has drifted in which days; the index of each is in the window that was kept."""
    data = drifted.data()
    details: dict[str, Detail] = {
        "card": drifted.card,
        "names": " ".join(drifted.figures),
        "first_day": data["first_day"],
        "last_day": data["last_day"],
        "scores": drifted.window.scores,
    }
    return act_in_book(ActKind.DRIFT_DETECTED, book, drifted.model_id, details)


class Drift:
    """Looks whether applicants are still those whom a model was made for."""

    def __init__(self, store: DriftStore, registry: Registry) -> None:
        self._store = store
        self._registry = registry
        self._yardsticks: dict[str, Mapping[str, Yardstick]] = {}

    @classmethod
    def at(cls, installed: Installation) -> Drift:
        """Whether applicants are still those whom the models of an installation were made for."""
        store = DriftStore(installed.database, installed.log, installed.clock)
        return cls(store, installed.registry)

    def books(self) -> Sequence[Book]:
        """Give all books in which there may be something to look at."""
        return self._store.books()

    def look_in(self, book: Book, now_us: int) -> Sequence[Drifted]:
        """Cut the windows of a book that are complete by now, and give what was announced."""
        last_day = finished_day(now_us)
        first_day = last_day - DAYS_MAX + 1
        found: list[Drifted] = []
        for model_id in self._store.models(book, first_day, last_day):
            found += self._look_at(_Subject(book, model_id), first_day, last_day)
        return found

    def _look_at(self, subject: _Subject, first_day: int, last_day: int) -> Iterator[Drifted]:
        """Go through the days of a model that are in no window of all of its cards yet."""
        book, model_id = subject
        reached = self._store.reached(book, model_id)
        gathering = {}
        since = last_day + 1
        for name, yardstick in self._yardsticks_of(model_id).items():
            after_day = reached.get(name)
            begins = None if after_day is None else max(after_day + 1, first_day)
            gathering[name] = _Gathering(yardstick, begins)
            since = min(since, begins or first_day)
        parts = self._store.days(book, model_id, since, last_day)
        for day, _, tally in whole_days(parts):
            for name, counted in tally.cards.items():
                if name not in gathering:
                    raise _unfit()
                gathering[name].add(day, counted)
        for name, gathered in gathering.items():
            drifted = self._keep(subject, name, gathered.windows)
            if drifted is not None:
                yield drifted

    def _yardsticks_of(self, model_id: str) -> Mapping[str, Yardstick]:
        """Give those of the cards of a model; one of this id never changes, so they are kept."""
        found = self._yardsticks.get(model_id)
        if found is None:
            model = models.stored(self._registry.model(model_id), model_id)
            found = {card.name: Yardstick(model, card) for card in model.cards}
            if len(self._yardsticks) >= MODELS_KEPT:
                self._yardsticks.clear()
            self._yardsticks[model_id] = found
        return found

    def _keep(self, subject: _Subject, card: str, latest: Sequence[Window]) -> Drifted | None:
        """Keep new windows; give what was announced with them, if it was by this process.

        Most often there is one. Where a year is caught up with, what has drifted by now is
        announced, and not what did in spring.
        """
        if not latest:
            return None
        book, model_id = subject
        before = self._store.windows(book, model_id, card, IN_A_ROW)
        earlier = [one.figures for one in before if one.last_day < latest[0].first_day]
        figures = newly_drifted(earlier, [one.figures for one in latest])
        drifted = Drifted(model_id, card, latest[-1], figures) if figures else None
        return drifted if self._store.keep(book, model_id, card, latest, drifted) else None


class _Subject(NamedTuple):
    book: Book
    model_id: str


class _Gathering:
    """The days of one card since its last window."""

    def __init__(self, yardstick: Yardstick, first_day: int | None) -> None:
        """Begin with the day after the last window; None: with the first on which it was used."""
        self._yardstick = yardstick
        self._first_day = first_day
        self._tally = CardTally()
        self.windows: list[Window] = []

    def add(self, day: int, counted: CardTally) -> None:
        """Add a whole day, and so perhaps complete a window."""
        first_day = day if self._first_day is None else self._first_day
        if day < first_day:  # read for the sake of another card
            return
        if not self._yardstick.fits(counted):
            raise _unfit()
        self._first_day = first_day
        self._tally.merge(counted)
        figures = self._figures()
        if figures:
            self.windows.append(Window(first_day, day, self._tally.count, figures))
            self._tally, self._first_day = CardTally(), day + 1

    def _figures(self) -> Mapping[str, Figure]:
        """Measure what was gathered, if it makes a window.

        It does once fields are known of enough scores. To wait for that where they are known of
        fewer than half would take years: such a window is one of scores alone.
        """
        count, fields_of = self._tally.count, banded(self._tally)
        if fields_of >= SCORES_MIN:
            return self._yardstick.figures(self._tally)
        if count < SCORES_MIN or 2 * fields_of >= count:
            return {}
        found = self._yardstick.figures(self._tally)
        return {SCORE: found[SCORE]} if SCORE in found else {}


def finished_day(now_us: int) -> int:
    """Give the last day that is over, of which nothing more will be counted."""
    return (now_us - SETTLED_US) // DAY_US - 1


def _unfit() -> StoreUnfit:
    return StoreUnfit(
        "the counts of a day are not of the model that they name",
        hint="restore the database from a backup",
    )
