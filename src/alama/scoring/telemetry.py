"""Watches one serving process: every request and every commit, for the log and for metrics."""

from __future__ import annotations

import asyncio
import math
import os
import time
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Protocol

from alama.platform.telemetry.log import Exchange, Log, log_on_stderr
from alama.platform.telemetry.trouble import ClockWatch, Outage, words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp

    from alama.core.errors import AlamaError
    from alama.platform.book import Book
    from alama.platform.telemetry.metrics import Commit, Metrics
    from alama.scoring.group_commit import LivingLedger, ScoreWriter


SAMPLE_EVERY_S: Final = 1.0
AGAIN_S: Final = 60.0
"""After so long a model that still cannot be used is told of again."""

UNUSABLE_MAX: Final = 1_000
"""How many such are remembered."""


class JournalHealth(Protocol):
    """The journal of a SQLite file, as `platform.database.checkpoints` knows it."""

    @property
    def size_bytes(self) -> int: ...
    @property
    def has_failed(self) -> bool: ...


class ServiceWatch:
    """What the parts of a process report to. Lives in one event loop."""

    def __init__(
        self,
        log: Log | None = None,
        metrics: Metrics | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.log = log or log_on_stderr("auto")
        self._metrics = metrics
        self._outage = Outage(self.log)
        self.clock = ClockWatch(self.log, None if metrics is None else metrics.clock)
        self._retention_waits: Mapping[Book, int] = {}
        self._clock_s = clock_s
        self._unusable_s: dict[tuple[Book, str], float] = {}
        self._request = self.log.request
        self._waiting: Callable[[], int] = int
        self._journal: JournalHealth | None = None
        self._sampling: list[asyncio.Task[None]] = []

    def follow(self, waiting: Callable[[], int], journal: JournalHealth | None = None) -> None:
        """Know whom to ask how many scores wait to be kept, and how it is with SQLite's journal."""
        self._waiting = waiting
        self._journal = journal

    # What follows is for a watch that makes spans of what happens inside: see `TracedWatch`.

    def around(self, application: ASGIApp) -> ASGIApp:
        """Give the application as it is to be served."""
        return application

    def ledger(self, ledger: LivingLedger) -> LivingLedger:
        """Give the ledger as scoring is to use it."""
        return ledger

    def writer(self, writer: ScoreWriter) -> ScoreWriter:
        """Give whoever keeps scores as the ledger is to use it."""
        return writer

    def start(self) -> None:
        """Begin, in the event loop that runs now."""
        if self._metrics is not None:
            self._sampling.append(asyncio.create_task(_sample(self._metrics, self._waiting)))
        if self._metrics is not None and self._journal is not None:
            looking = _sample_journal(self._metrics, self._journal)
            self._sampling.append(asyncio.create_task(looking))
        self.log.note("worker_started", pid=os.getpid())

    def close(self) -> None:
        for task in self._sampling:
            task.cancel()
        self.log.note("worker_stopped", pid=os.getpid())

    def exchanged(self, exchange: Exchange) -> None:
        self._request(exchange)
        if self._metrics is not None:
            self._metrics.request(exchange)
        # Whoever is known and gets what they asked for got it from the database.
        if self._outage.lasts and exchange.status == HTTPStatus.OK and exchange.key_id is not None:
            self._outage.request_answered()

    def broke(self, exchange: Exchange, error: Exception) -> None:
        """Note a defect of ours, or damage in the database: which kind and where.

        In words only where they are our own: any other message could hold a value.
        """
        told = {"request_id": exchange.request_id, "route": exchange.route}
        self.log.fail("defect", error, **told, **words(error))

    def chore_failed(self, chore: str, error: Exception) -> None:
        """Note that something done now and then has failed; it will be tried again."""
        self.log.fail("chore_failed", error, chore=chore)

    def retained(self, book: Book, scores: int) -> None:
        """Note how many scores of a book were deleted because their time is over."""
        if self._metrics is not None:
            self._metrics.retained(scores)
        self.log.note("retention_ran", lender=book.lender, mode=book.mode.value, scores=scores)

    def retention_waits(self, waiting: Mapping[Book, int]) -> None:
        """Note how many scores wait for a person to delete them; of each number once."""
        if self._metrics is not None:
            self._metrics.retention_waits(sum(waiting.values()))
        for book, scores in waiting.items():
            if self._retention_waits.get(book) != scores:
                hint = f"`alama retention run {book.lender}` deletes them, if that is right"
                told = {"lender": book.lender, "mode": book.mode.value}
                self.log.doubt("retention_waits", **told, scores=scores, hint=hint)
        self._retention_waits = dict(waiting)

    def unavailable(self, error: Exception) -> None:
        """Note that a request is refused because the database is away."""
        self._outage.request_refused(error)
        if self._metrics is not None:
            self._metrics.unavailable()

    def dropped(self, reason: str) -> None:
        """Note that a connection was closed before its time."""
        if self._metrics is not None:
            self._metrics.dropped(reason)

    def connections_used_up(self, reason: str, open_now: int, limit: int, dropped: int) -> None:
        """Note that there is no room for more connections."""
        told = {"open": open_now, "limit": limit, "dropped": dropped}
        self.log.doubt("connections_used_up", reason=reason, **told)

    def model_unavailable(self, book: Book, reason: AlamaError) -> None:
        """Note that a model or a policy of a book cannot be used, once a minute for each."""
        now_s, said = self._clock_s(), (book, str(reason))
        if now_s - self._unusable_s.get(said, -math.inf) < AGAIN_S:
            return
        if len(self._unusable_s) >= UNUSABLE_MAX:
            self._unusable_s.clear()
        self._unusable_s[said] = now_s
        told = {"lender": book.lender, "mode": book.mode, **words(reason)}
        self.log.fail("model_unavailable", None, **told)

    def committed(self, commit: Commit) -> None:
        """Note a finished group; of trouble with the database only its beginning and its end."""
        if self._metrics is not None:
            self._metrics.commit(commit)
        if commit.failed:
            self._outage.commit_failed(commit)
        else:
            self._outage.commit_done()


async def _sample(metrics: Metrics, waiting: Callable[[], int]) -> None:
    """Look at the queue now and then; a function asked on demand cannot cross processes."""
    while True:
        metrics.waiting(waiting())
        await asyncio.sleep(SAMPLE_EVERY_S)


async def _sample_journal(metrics: Metrics, journal: JournalHealth) -> None:
    """Look at the journal now and then, on another thread: a disk that hangs keeps only that one.

    It is not asked again before it has answered, so that no more threads are kept.
    """
    while True:
        with suppress(OSError):  # told by whoever copies the journal
            size_bytes, has_failed = await asyncio.to_thread(
                lambda: (journal.size_bytes, journal.has_failed)
            )
            metrics.journal(size_bytes, has_failed=has_failed)
        await asyncio.sleep(SAMPLE_EVERY_S)
