"""Scores as they would have been given in the past, for a test book that is to have one.

They are made by the code that answers requests, and kept as its scores are: sealed, counted, named
in the audit. Only the time is another, and nobody is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from alama.lenders.records import Key
from alama.platform.book import Book, Mode
from alama.platform.http.exchange import Arrival
from alama.scoring.directory import ActiveModel, Caller
from alama.scoring.holds import Day
from alama.scoring.scoring import Given, Scoring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from alama.core.assess import Assessment
    from alama.core.intake import Intake
    from alama.scoring.records import Earlier, Entry, Fate
    from alama.vault.vault import Vault


KEY_ID: Final = "simulated"
"""What stands where the key of a caller would: no key has such a name."""


class Store(Protocol):
    """Where scores are kept, many in one transaction."""

    def commit(self, entries: Sequence[Entry]) -> Sequence[Fate]:
        """Keep all entries."""
        ...


class Past(NamedTuple):
    """A request of the past: the id that it gets, when it came in, and what was sent."""

    request_id: str
    at_us: int
    body: bytes


class Backdating:
    """Scores the past of one test book."""

    def __init__(
        self,
        store: Store,
        vault: Vault,
        intake: Intake,
        book: Book,
        active: ActiveModel,
        stopwatch: Callable[[], float],
    ) -> None:
        """Ask a model for which no bound of a day counts: the days are over.

        The stopwatch gives seconds, by which it is told how long each answer took.
        """
        assert book.mode is Mode.TEST
        self._store = store
        self._stopwatch = stopwatch
        self._gathering = _Gathering()
        self._scoring = Scoring(intake, self._gathering, vault)
        free = active._replace(day=Day(), announces=False, always=())
        key = Key(KEY_ID, book.lender, book.mode, b"", "", (), 0)
        self._caller = Caller(key, book, free, vault.ring(book.lender))

    async def score(self, requests: Iterable[Past]) -> Sequence[Assessment]:
        """Assess requests and keep them in one transaction; give what was said to each."""
        said: list[Assessment] = []

        def render(given: Given) -> bytes:
            said.append(given.assessment)
            return b""

        for request in requests:
            arrival = Arrival(request.request_id, request.at_us, self._stopwatch())
            await self._scoring.score(self._caller, arrival, request.body, render, None)
        self._store.commit(self._gathering.take())
        return said


class _Gathering:
    """A ledger that keeps nothing by itself: all of a batch is committed together."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._entries: list[Entry] = []

    async def append(self, entry: Entry) -> Earlier | None:
        """Take an entry; no idempotency key stands for it, so none was there before."""
        self._entries.append(entry)
        return None

    def take(self) -> Sequence[Entry]:
        """Give what was gathered since the last time."""
        taken, self._entries = self._entries, []
        return taken
