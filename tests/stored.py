"""Scores that were really given: through the use case, into a real database."""

from __future__ import annotations

import asyncio
import os
import time

from alama.core.errors import AlamaError
from alama.lenders import installation, keys
from alama.lenders.installation import Installation
from alama.platform import ids, settings
from alama.platform.book import Book, Mode
from alama.platform.clock import stopwatch_us
from alama.platform.files.packaged import builtin, sample_application
from alama.platform.http.exchange import Arrival
from alama.scoring.directory import Directory
from alama.scoring.records import Entry, Question, Told
from alama.scoring.scoring import Given, Scoring
from alama.scoring.store import Scores


class CommitAtOnce:
    """A ledger that commits each entry by itself."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores

    async def append(self, entry: Entry | Question) -> Told:
        (fate,) = self._scores.commit([entry])
        if isinstance(fate, AlamaError):
            raise fate
        return fate


def give_score(body: bytes | None = None, lender: str = "demo", mode: Mode = Mode.TEST) -> str:
    """Score an application, the sample by default, as the environment's service would.

    Gives the request id.
    """
    opened = installation.open_installation(settings.read(os.environ))
    try:
        return asyncio.run(_give(opened, body or sample_application(), Book(lender, mode)))
    finally:
        opened.close()


async def _give(opened: Installation, body: bytes, book: Book) -> str:
    text, _ = keys.issue(opened.registry, opened.clock, opened.pepper, book)
    directory = Directory(
        opened.registry,
        Scores.at(opened),
        opened.clock,
        stopwatch_us,
        opened.pepper,
        builtin,
        opened.vault,
    )
    caller = await directory.caller(text)
    at_us = opened.clock()
    request_id = ids.request_id(at_us, os.urandom(ids.RANDOM_BYTES))
    scores = Scores.at(opened)
    scoring = Scoring(CommitAtOnce(scores), opened.vault, scores.find)
    arrival = Arrival(request_id, at_us, time.perf_counter())
    await scoring.score(caller, arrival, body, _identity, None)
    return request_id


def _identity(given: Given) -> bytes:
    return given.request_id.encode()
