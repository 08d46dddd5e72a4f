"""One walk through everything that a lender does with webhooks, over the wire."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from alama.platform.book import Book, Mode
from tests.e2e.service import Service

ENDPOINTS = "/v1/webhook_endpoints"
LENDER = "webhook-walker"


class Caller:
    """Somebody with a key of their own."""

    def __init__(self, service: Service, book: Book) -> None:
        """Issue the key."""
        self._service = service
        self.key = service.key(book)

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        sent = {} if body is None else {"json": body}
        headers = self._service.credentials(self.key)
        return self._service.send(method, path, headers=headers, **sent)

    def said(self, status: int, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        reply = self.ask(method, path, body)
        assert reply.status_code == status, reply.text
        return reply.json() if reply.content else None


@pytest.fixture
def caller(service: Service) -> Caller:
    if LENDER not in {lender.id for lender in service.installed.registry.lenders()}:
        service.lender(LENDER)
    return Caller(service, Book(LENDER, Mode.TEST))


def test_an_endpoint_is_added_used_changed_and_removed(service: Service, caller: Caller) -> None:
    url = "https://loans.example.com/hook"
    made = caller.said(201, "POST", ENDPOINTS, {"url": url, "kinds": ["score.created"]})
    secret, path = made.pop("secret"), f"{ENDPOINTS}/{made['id']}"
    assert secret.startswith("whsec_")
    assert caller.said(200, "GET", ENDPOINTS) == {"data": [made]}
    assert caller.said(200, "GET", f"/api{path}") == made
    changed = caller.said(200, "PATCH", path, {"description": "the loan system"})
    assert changed == made | {"description": "the loan system"}
    rotated = caller.said(200, "POST", f"{path}/rotate_secret")
    assert rotated["secret"] not in {secret, None}
    assert rotated["previous_expires_at"] is not None

    test = caller.said(202, "POST", f"{path}/test")["event"]
    assert caller.said(200, "GET", f"/v1/events/{test}")["subject"] == made["id"]
    attempts = caller.said(200, "GET", f"{path}/attempts?limit=5")
    assert attempts == {"data": [], "next_cursor": None}, "nobody sends anything in this test"

    scored = service.score(key=caller.key).json()["request_id"]
    (event,) = caller.said(200, "GET", "/v1/events?kind=score.created")["data"]
    assert event["subject"] == scored
    assert caller.said(202, "POST", f"/v1/events/{event['id']}/resend") == {"deliveries": 1}
    since = {"since": event["created_at"]}
    assert caller.said(202, "POST", f"{path}/resend", since) == {"events": 1}

    stranger = Caller(service, Book(LENDER, Mode.LIVE))
    for method, target in (("GET", path), ("DELETE", path), ("GET", f"/v1/events/{event['id']}")):
        assert stranger.ask(method, target).status_code == 404

    gone = caller.ask("DELETE", path)
    assert (gone.status_code, gone.content) == (204, b"")
    assert caller.ask("GET", path).status_code == 404
    assert caller.said(200, "GET", "/v1/events?limit=1")["next_cursor"] is not None


def test_what_is_scored_after_the_answer_to_a_new_endpoint_has_its_event(
    service: Service, caller: Caller
) -> None:
    for _ in range(3):
        for _ in range(12):  # every process knows the key, and that nobody wants to hear of scores
            assert service.anywhere(key=caller.key).status_code == 200
        made = caller.said(201, "POST", ENDPOINTS, {"url": "https://loans.example.com/hook"})
        given = {service.anywhere(key=caller.key).json()["request_id"] for _ in range(12)}
        events = caller.said(200, "GET", "/v1/events?kind=score.created&limit=100")["data"]
        assert given - {event["subject"] for event in events} == set()
        caller.said(204, "DELETE", f"{ENDPOINTS}/{made['id']}")
