"""Two lenders, two modes: no key sees or touches endpoints, events or attempts of another book."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from sqlalchemy import select

from alama.lenders.installation import Installation
from alama.platform.book import Book, Mode
from alama.platform.database import tables as schema
from alama.webhooks import schema as webhooks_schema
from alama.webhooks.outbox import Outbox
from alama.webhooks.records import Settled, Verdict
from tests.callers import ENDPOINTS, Lender
from tests.served import BODY
from tests.unit.webhooks.test_api import an_attempt

SINCE = {"since": "2020-01-01T00:00:00Z"}


class Apart(NamedTuple):
    """A lender who has an endpoint, an event and an attempt; and others, who have none of it."""

    victim: Lender
    endpoint_id: str
    event_id: str
    strangers: list[Lender]


@pytest.fixture(scope="module")
def apart(installed: Installation) -> Apart:
    victim = Lender(installed)
    made = victim.add(description="ours alone")
    endpoint_id = made["id"]
    assert victim.ask("POST", "/v1/score", BODY).status == 200
    (event,) = victim.events()
    tried = an_attempt(victim, endpoint_id, event["id"], 200)
    Outbox.at(installed).settle("w", [Settled(tried, Verdict(delivered=True), made["url"], 0)])
    other_mode = Lender(installed, Book(victim.book.lender, Mode.LIVE))
    return Apart(victim, endpoint_id, event["id"], [Lender(installed), other_mode])


def everything(installed: Installation) -> list[object]:
    """All that is kept of webhooks."""
    tables = (
        schema.webhook_endpoints,
        schema.bundles,
        schema.events,
        webhooks_schema.deliveries,
        webhooks_schema.webhook_attempts,
    )
    with installed.database.reading() as connection:
        return [
            tuple(row) for table in tables for row in connection.execute(select(table)).fetchall()
        ]


def test_lists_of_others_are_empty(apart: Apart) -> None:
    later = "f" * 28
    for stranger in apart.strangers:
        assert stranger.read(ENDPOINTS) == {"data": []}
        assert stranger.events() == stranger.events(f"?cursor=evt_{later}") == []
        assert stranger.events("?kind=score.created") == []


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", {"enabled": False, "url": "https://thief.example.com"}),
        ("DELETE", "", None),
        ("POST", "/rotate_secret", {}),
        ("POST", "/test", None),
        ("GET", "/attempts", None),
        ("POST", "/resend", SINCE),
    ],
)
def test_an_endpoint_of_another_book_is_unknown_and_stays_as_it_is(
    apart: Apart, method: str, path: str, body: object
) -> None:
    before = everything(apart.victim.installed)
    for stranger in apart.strangers:
        refused = stranger.ask(method, f"{ENDPOINTS}/{apart.endpoint_id}{path}", body)
        nowhere = stranger.ask(method, f"{ENDPOINTS}/we_{'0' * 28}{path}", body)
        assert (refused.status, refused.json()["code"]) == (404, "unknown_webhook_endpoint")
        assert refused.json()["detail"] == nowhere.json()["detail"]
    assert everything(apart.victim.installed) == before


def test_an_event_of_another_book_is_unknown_and_not_sent(apart: Apart) -> None:
    for stranger in apart.strangers:
        own = stranger.add()["id"]
        before = everything(apart.victim.installed)
        for method, path, body in (
            ("GET", "", None),
            ("POST", "/resend", None),
            ("POST", "/resend", {"endpoint_id": own}),
            ("POST", "/resend", {"endpoint_id": apart.endpoint_id}),
        ):
            refused = stranger.ask(method, f"/v1/events/{apart.event_id}{path}", body)
            assert (refused.status, refused.json()["code"]) == (404, "unknown_event")
        assert everything(apart.victim.installed) == before
        stranger.ask("DELETE", f"{ENDPOINTS}/{own}")


def test_an_own_event_is_not_sent_to_an_endpoint_of_another_book(apart: Apart) -> None:
    for stranger in apart.strangers:
        own = stranger.add()["id"]
        event = stranger.ask("POST", f"{ENDPOINTS}/{own}/test").json()["event"]
        before = everything(apart.victim.installed)
        refused = stranger.ask(
            "POST", f"/v1/events/{event}/resend", {"endpoint_id": apart.endpoint_id}
        )
        assert refused.json()["code"] == "unknown_webhook_endpoint"
        assert everything(apart.victim.installed) == before
        assert stranger.ask("POST", f"/v1/events/{event}/resend").json() == {"deliveries": 1}
        stranger.ask("DELETE", f"{ENDPOINTS}/{own}")


def test_a_score_is_announced_in_its_own_book_alone(apart: Apart) -> None:
    stranger = apart.strangers[0]
    stranger.add(kinds=["score.created"])
    before = apart.victim.events()
    assert stranger.ask("POST", "/v1/score", BODY).status == 200
    assert len(stranger.events("?kind=score.created")) == 1
    assert apart.victim.events() == before


def test_the_owner_sees_all_of_it(apart: Apart) -> None:
    assert [one["id"] for one in apart.victim.read(ENDPOINTS)["data"]] == [apart.endpoint_id]
    tried = apart.victim.read(f"{ENDPOINTS}/{apart.endpoint_id}/attempts")["data"]
    assert [one["event"] for one in tried] == [apart.event_id]
