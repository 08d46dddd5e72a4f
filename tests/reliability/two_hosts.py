"""A lender's system with two hosts to ask: whoever does not answer is passed by for the other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import cycle
from typing import Self

from tests.reliability.client import Client, Lost, Reply
from tests.reliability.load import UNAVAILABLE, Asks, Load, Sent

THINKS_S = 0.05
"""Between two requests of a connection: what is started meanwhile needs the machine as well."""


class Either:
    """A client that goes on with the next host after a lost connection or a 503."""

    def __init__(self, urls: Sequence[str], key: str) -> None:
        self._clients = [Client(url, key) for url in urls]
        self._order = cycle(self._clients)
        self._client = next(self._order)
        self._at_the_end = ExitStack()

    def __enter__(self) -> Self:
        for client in self._clients:
            self._at_the_end.enter_context(client)
        return self

    def __exit__(self, *_: object) -> None:
        self._at_the_end.close()

    def score(self, body: bytes, idempotency_key: str | None = None) -> Reply:
        try:
            reply = self._client.score(body, idempotency_key)
        except Lost:
            self._client = next(self._order)
            raise
        if reply.status == UNAVAILABLE:
            self._client = next(self._order)
        return reply


class LoadOnTwo(Load):
    """Asks two hosts, half of its connections each; every request is repeated until answered."""

    def __init__(self, urls: Sequence[str], key: str, connections: int) -> None:
        super().__init__(urls[0], key, connections)
        self._urls = cycle([list(urls), list(reversed(urls))])
        self.longest_s = 0.0
        """From the first attempt to the answer, pauses and repetitions included."""

    def client(self) -> Either:
        return Either(next(self._urls), self._key)

    def _next(self) -> Sent:
        sent = super()._next()
        sent.idempotency_key = sent.ref
        return sent

    def _send(self, client: Asks, sent: Sent) -> None:
        started = time.monotonic()
        super()._send(client, sent)
        self.longest_s = max(self.longest_s, time.monotonic() - started)
        time.sleep(THINKS_S)
