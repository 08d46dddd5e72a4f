"""A test book filled with months of people who do not exist: scored, lent to, and heard of.

Nothing here speaks to a person but the bars: `alama outcomes simulate` does, and a benchmark fills
its books with the same.
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from alama.core.lending.offer import lay_out
from alama.core.lending.policy import Decision
from alama.lenders import installation
from alama.lenders.records import Key
from alama.monitoring.outcomes import BATCH_MAX, Outcomes, Sent
from alama.monitoring.records import SIMULATED_KEY_ID
from alama.monitoring.reviews import Reviews
from alama.platform import clock, ids
from alama.platform.book import Book, Mode
from alama.platform.days import DAY_US
from alama.platform.files.packaged import builtin
from alama.platform.http.exchange import Arrival
from alama.platform.terminal import terminal
from alama.scoring.directory import ActiveModel, Caller, Directory
from alama.scoring.holds import Day
from alama.scoring.records import Question
from alama.scoring.scoring import Given, Scoring
from alama.scoring.sequels import Judgement, ReviewReason
from alama.scoring.store import Scores
from alama.training.population import aftermath
from alama.training.population.people import PopulationOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from alama.core.assess import Assessment
    from alama.core.lending.offer import Offer
    from alama.core.monitoring.news import News
    from alama.lenders.installation import Installation
    from alama.scoring.records import Earlier, Entry
    from alama.training.population.aftermath import Lent


REVIEWS_MAX: Final = 100
"""Each is a transaction of its own, some milliseconds, as officers decide one by one."""

WAITING: Final = 10
"""The newest scores that were left to a person: nobody has come to them yet."""

OFFICER: Final = "A. Simulated"

_AT_ONCE: Final = 500
_MONTH_DAYS: Final = 365.25 / 12.0
_SHORT_OF_NOW_US: Final = 60 * 1_000_000
"""What is drawn last must not lie in the future of another process."""

_DRIFTS_FROM: Final = 2.0 / 3.0
_APPROVED_IN_REVIEW: Final = 0.5


class Asked(NamedTuple):
    """What the test book of a lender is filled with, and how many scores an officer decides on."""

    lender: str
    people: int
    months: int
    seed: int
    drift: bool = False
    worse: float = 1.0
    reviews_max: int = REVIEWS_MAX


class Kept(NamedTuple):
    """What was added to the book; `reviews` is how many scores an officer decided on."""

    loans: Lent
    news: Sequence[News]
    reviews: int


class _Scored(NamedTuple):
    """What is needed of one application; an assessment is large, and there may be a million.

    `is_lucky`: an officer who is asked says yes.
    """

    request_id: str
    day: int
    risk: float
    decision: Decision
    limit: float
    total: float
    term_days: int
    is_lucky: bool

    @property
    def is_lent(self) -> bool:
        left_to_a_person = self.decision is Decision.REVIEW and self.is_lucky
        return bool(self.limit) and (self.decision is Decision.APPROVED or left_to_a_person)


def fill(opened: Installation, asked: Asked) -> Kept:
    """Score everybody, lend, record what became of it, and have an officer decide on some."""
    book = Book(asked.lender, Mode.TEST)
    active, now_us = _active_model(opened, book), opened.clock()
    scored: list[_Scored] = []
    with terminal.progress("Scoring", asked.people, unit="applications") as bar:
        for some in _scored(opened, book, active, asked, now_us):
            scored += some
            bar.advance(len(some))
    lent = _lent([one for one in scored if one.is_lent])
    days_past_due = active.model.model.outcome.days_past_due
    news = aftermath.news_of(
        replace(lent, risk=aftermath.worse(lent.risk, asked.worse)),
        np.random.default_rng((asked.seed, 2)),
        days_past_due,
        now_us // DAY_US,
    )
    with terminal.progress("Recording outcomes", len(news), unit="outcomes") as bar:
        for first in range(0, len(news), BATCH_MAX):
            batch = news[first : first + BATCH_MAX]
            Outcomes.at(opened).record(book, batch, Sent(by=installation.operator()))
            bar.advance(len(batch))
    return Kept(lent, news, _review(opened, book, scored, asked.reviews_max))


def _active_model(opened: Installation, book: Book) -> ActiveModel:
    """Give what answers in the test book."""
    directory = Directory(
        opened.registry,
        Scores.at(opened),
        opened.clock,
        clock.stopwatch_us,
        opened.pepper,
        builtin,
        opened.vault,
    )
    active = directory.active_model(book)
    assert active is not None  # a test book has the built-in model at least
    return active


def _scored(
    opened: Installation, book: Book, active: ActiveModel, asked: Asked, now_us: int
) -> Iterator[Sequence[_Scored]]:
    """Score everybody, batch by batch, in the order of their arrival."""
    backdating = _Backdating(opened, book, active)
    options = PopulationOptions(
        rows=asked.people, seed=asked.seed, currency=active.policy.policy.currency
    )
    forbidden = [name for _, name in active.policy.forbidden]
    drifts_from = int(asked.people * _DRIFTS_FROM) if asked.drift else None
    source = np.random.default_rng((asked.seed, 1))
    arrivals = iter(_arrivals(source, asked, now_us))
    for people in aftermath.applicants(options, forbidden, drifts_from):
        lucky = source.random(len(people.bodies)) < _APPROVED_IN_REVIEW
        # Bodies come first: when they end, no arrival of the next part is taken.
        whole = list(
            zip(people.bodies, people.risk.tolist(), lucky.tolist(), arrivals, strict=False)
        )
        for first in range(0, len(whole), _AT_ONCE):
            some = whole[first : first + _AT_ONCE]
            past = [
                _Past(ids.request_id(at_us, os.urandom(ids.RANDOM_BYTES)), at_us, body)
                for body, _, _, at_us in some
            ]
            said = asyncio.run(backdating.score(past))
            yield [
                _Scored(
                    request.request_id,
                    request.at_us // DAY_US,
                    risk,
                    given.decision,
                    float(given.offer.limit),
                    _total(active, given.offer),
                    given.offer.term_days,
                    is_lucky,
                )
                for request, given, (_, risk, is_lucky, _) in zip(past, said, some, strict=True)
            ]


def _arrivals(source: np.random.Generator, asked: Asked, now_us: int) -> Sequence[int]:
    """Draw when applications came in, in order, over so many months until now."""
    span_us = asked.months * _MONTH_DAYS * DAY_US
    shares = source.random(asked.people)
    shares.sort()
    start_us = now_us - span_us - _SHORT_OF_NOW_US
    found: Sequence[int] = (start_us + shares * span_us).astype("int64").tolist()
    return found


def _lent(loans: Sequence[_Scored]) -> Lent:
    days = np.array([one.day for one in loans], dtype=np.int64)
    terms = np.array([one.term_days for one in loans], dtype=np.int64)
    return aftermath.Lent(
        [one.request_id for one in loans],
        np.array([one.risk for one in loans], dtype=np.float64),
        days,
        days + terms,
        np.array([one.limit for one in loans], dtype=np.float64),
        np.array([one.total for one in loans], dtype=np.float64),
    )


def _total(active: ActiveModel, offer: Offer) -> float:
    """Give what is due of an offer in all; nothing where nothing is offered."""
    return lay_out(active.policy, offer).total if offer.limit else 0.0


def _review(opened: Installation, book: Book, scored: Sequence[_Scored], reviews_max: int) -> int:
    """Have an officer decide on scores that were left to a person; say how many.

    These are the newest but for those that still wait.
    """
    waiting = (one for one in reversed(scored) if one.decision is Decision.REVIEW)
    newest = list(islice(waiting, WAITING, WAITING + reviews_max))
    with terminal.progress("Reviewing", len(newest), unit="scores") as bar:
        for one in newest:
            yes = Judgement(Decision.APPROVED.value, ReviewReason.INCOME_VERIFIED, OFFICER)
            no = Judgement(Decision.DECLINED.value, ReviewReason.CANNOT_AFFORD, OFFICER)
            Reviews.at(opened).review(book, one.request_id, yes if one.is_lent else no)
            bar.advance()
    return len(newest)


# ------------------------------------------------------------------------------- the past


class _Past(NamedTuple):
    """A request of the past: the id that it gets, when it came in, and what was sent."""

    request_id: str
    at_us: int
    body: bytes


class _Backdating:
    """Scores the past of one test book.

    By the code that answers requests, and kept as its scores are: sealed, counted, named in the
    audit. Only the time is another, no bound of a day counts, and nothing is announced.
    """

    def __init__(self, opened: Installation, book: Book, active: ActiveModel) -> None:
        assert book.mode is Mode.TEST
        self._store = Scores.at(opened)
        self._gathered = _GatheredEntries()
        self._scoring = Scoring(self._gathered, opened.vault, self._store.find)
        free = active._replace(day=Day(), always=())
        key = Key(SIMULATED_KEY_ID, book.lender, book.mode, b"", "", (), 0)
        self._caller = Caller(key, book, free, opened.vault.ring(book.lender))

    async def score(self, requests: Iterable[_Past]) -> Sequence[Assessment]:
        """Assess requests and keep them in one transaction; give what was said to each."""
        said: list[Assessment] = []

        def render(given: Given) -> bytes:
            said.append(given.assessment)
            return b""

        for request in requests:
            arrival = Arrival(request.request_id, request.at_us, time.perf_counter())
            await self._scoring.score(self._caller, arrival, request.body, render, None)
        self._store.commit(self._gathered.take())
        return said


class _GatheredEntries:
    """A ledger that keeps nothing by itself: all of a batch is committed together."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    async def append(self, entry: Entry | Question) -> Earlier | None:
        """Take an entry; no idempotency key stands for it, so none was there before."""
        if isinstance(entry, Question):
            return None  # nobody in it has a past
        self._entries.append(entry._replace(announced=False))
        return None

    def take(self) -> Sequence[Entry]:
        """Give what was gathered since the last time."""
        taken, self._entries = self._entries, []
        return taken
