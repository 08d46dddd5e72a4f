"""A lender's system that keeps asking, and remembers all it sent and all it was told.

Every second request has an idempotency key and is sent again, byte for byte, until it is answered.
The others are sent once: when their connection is lost, nobody knows whether they were scored.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol, Self

from tests.reliability.client import Client, Lost, NotReached, Reply, application

CONNECTIONS = 12
PAUSE_S = 0.05
"""Between two attempts: a service that is not there is not asked a thousand times a second."""

RETRY_S_MAX = 60.0
ASKED_TWICE_EVERY = 7
"""So many requests apart, one is repeated after its answer: it must get the same one again."""

OK = 200
UNAVAILABLE = 503


@dataclass
class Sent:
    """One request. No other has its `ref`, which is stored with its score."""

    ref: str
    body: bytes
    idempotency_key: str | None
    answers_wanted: int = 1
    replies: list[bytes] = field(default_factory=list)
    """The whole bodies of status 200."""


class Asks(Protocol):
    """What sends a request, once; raises `Lost` where no whole reply came."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def score(self, body: bytes, idempotency_key: str | None = None) -> Reply: ...


class Load:
    """Asks on several connections at once while `running`."""

    def __init__(self, url: str, key: str, connections: int = CONNECTIONS) -> None:
        self._url = url
        self._key = key
        self.connections = connections
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self.sent: dict[str, Sent] = {}
        self.statuses: Counter[int] = Counter()
        self.lost = 0
        self.refused: list[Reply] = []
        self.slowest_s = 0.0

    @property
    def answered(self) -> int:
        """How many requests got a score."""
        return self.statuses[OK]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Ask until the end of the block, then wait until every idempotency key is answered."""
        self._stopping.clear()
        threads = [threading.Thread(target=self._work) for _ in range(self.connections)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stopping.set()
            for thread in threads:
                thread.join()

    def wait_for_answers(self, more: int, within_s: float) -> None:
        """Wait until so many more requests are answered than now."""
        enough = self.answered + more
        deadline = time.monotonic() + within_s
        while self.answered < enough:
            assert time.monotonic() < deadline, f"{self.statuses}, last {self.refused[-1:]}"
            time.sleep(0.01)

    def client(self) -> Asks:
        """What one connection asks with."""
        return Client(self._url, self._key)

    def _work(self) -> None:
        with self.client() as client:
            while not self._stopping.is_set():
                self._send(client, self._next())

    def _next(self) -> Sent:
        with self._lock:
            number = next(self._numbers)
            ref = f"applicant-{number}"
            sent = Sent(ref, application(ref), f"loan-{number}" if number % 2 else None)
            if number % ASKED_TWICE_EVERY == 0:
                sent.answers_wanted = 2
            self.sent[ref] = sent
        return sent

    def _send(self, client: Asks, sent: Sent) -> None:
        """Ask until there is an answer; without an idempotency key only once."""
        deadline = time.monotonic() + RETRY_S_MAX
        while True:
            if not self._attempt(client, sent):
                time.sleep(PAUSE_S)
            enough = len(sent.replies) >= sent.answers_wanted or time.monotonic() > deadline
            if enough or sent.idempotency_key is None:
                return

    def _attempt(self, client: Asks, sent: Sent) -> bool:
        try:
            reply = client.score(sent.body, sent.idempotency_key)
        except NotReached:
            return False
        except Lost:
            with self._lock:
                self.lost += 1
            return False
        with self._lock:
            self.statuses[reply.status] += 1
            self.slowest_s = max(self.slowest_s, reply.seconds)
            if reply.status != OK:
                self.refused.append(reply)
                return False
        sent.replies.append(reply.body)
        return True
