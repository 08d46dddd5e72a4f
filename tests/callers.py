"""Lenders who ask the application, each under a key of their own."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from sqlalchemy import select

from alama.lenders import keys
from alama.lenders.installation import Installation
from alama.platform import clock
from alama.platform.book import USUAL_SCOPES, Book, Mode, Scope
from alama.webhooks import schema
from tests.exchanges import Received
from tests.lending import early_key
from tests.served import Service

URL = "https://loans.example.com/hook"
ENDPOINTS = "/v1/webhook_endpoints"
YESTERDAY = "2026-11-14T00:00:00+03:00"

_numbers = count()


class Lender:
    """A caller with a book, in which nobody else is."""

    def __init__(
        self,
        installed: Installation,
        book: Book | None = None,
        scopes: tuple[Scope, ...] = USUAL_SCOPES,
    ) -> None:
        """Issue a key; without a book, for a lender that is new."""
        self.installed = installed
        if book is None:
            book = Book(f"lender-{next(_numbers)}", Mode.TEST)
            keys.add_lender(installed.registry, clock.wall_us, book.lender, book.lender, "KES")
        self.book = book
        key, _ = early_key(installed.registry, clock.wall_us, installed.pepper, book, scopes)
        self.service = Service(installed, key)

    def ask(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> Received:
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        return self.service.ask(path, body=raw, method=method, headers=headers)

    def add(self, **told: Any) -> dict[str, Any]:
        """Add an endpoint, and give the reply."""
        reply = self.ask("POST", ENDPOINTS, {"url": URL} | told)
        assert reply.status == 201, reply.body
        made: dict[str, Any] = reply.json()
        return made

    def read(self, path: str) -> Any:
        reply = self.ask("GET", path)
        assert reply.status == 200, reply.body
        return reply.json()

    def events(self, query: str = "") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.read(f"/v1/events{query}")["data"]
        return found


def deliveries(installed: Installation) -> set[tuple[str, str]]:
    """What is on its way: events and endpoints."""
    table = schema.deliveries
    waiting = select(table.c.event_id, table.c.endpoint_id).where(table.c.next_us.is_not(None))
    with installed.database.reading() as connection:
        return {(event, endpoint) for event, endpoint in connection.execute(waiting)}
