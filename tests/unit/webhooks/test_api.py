"""Webhook endpoints over HTTP, on a real database."""

from __future__ import annotations

import base64
import re

import pytest
from sqlalchemy import select

from alama.core.chain import MAIN
from alama.platform import clock, ids, settings
from alama.platform.acts import ActKind, decode
from alama.platform.book import Scope
from alama.platform.database import tables
from alama.protection.audit.store import Trail
from alama.webhooks import secrets
from alama.webhooks.endpoints import Endpoints
from alama.webhooks.outbox import Outbox
from alama.webhooks.records import ATTEMPT_PREFIX, ENDPOINTS_MAX, Attempt, Settled, Verdict
from tests.callers import ENDPOINTS, URL, YESTERDAY, Lender, deliveries

SHOWN = {
    "id",
    "url",
    "kinds",
    "description",
    "enabled",
    "created_at",
    "failing_since",
    "disabled_at",
    "disabled_reason",
    "pending",
}


# ----------------------------------------------------------------------------- endpoints


def test_an_endpoint_is_shown_as_it_was_added(lender: Lender) -> None:
    made = lender.add(kinds=["policy.activated", "score.created"], description="Système de prêts")
    assert made.keys() == SHOWN | {"secret"}
    assert (made["url"], made["description"]) == (URL, "Système de prêts")
    assert made["kinds"] == ["score.created", "policy.activated"]
    assert made["enabled"] is True
    shown = {name: made[name] for name in SHOWN}
    assert lender.read(f"{ENDPOINTS}/{made['id']}") == shown
    assert lender.read(ENDPOINTS) == {"data": [shown]}


def test_the_answer_to_a_new_endpoint_says_where_it_is(lender: Lender) -> None:
    reply = lender.ask("POST", ENDPOINTS, {"url": URL})
    assert reply.status == 201
    assert lender.read(reply.headers["location"])["id"] == reply.json()["id"]


def test_an_endpoint_says_what_is_on_its_way_to_it_and_when_the_next_attempt_is(
    lender: Lender,
) -> None:
    made, other = lender.add(), lender.add()
    nothing = {"count": 0, "next_attempt_at": None}
    assert made["pending"] == nothing
    path = f"{ENDPOINTS}/{made['id']}"
    sent = lender.ask("POST", f"{path}/test").json()["event"]
    pending = lender.read(path)["pending"]
    (happened,) = lender.events()
    assert (happened["id"], pending["count"]) == (sent, 1)
    assert pending["next_attempt_at"] == happened["created_at"]
    assert [one["pending"] for one in lender.read(ENDPOINTS)["data"]] == [pending, nothing]
    changed = lender.ask("PATCH", path, {"description": "the same"}).json()
    assert changed["pending"] == pending
    assert lender.ask("PATCH", path, {"enabled": False}).json()["pending"] == nothing
    assert lender.read(f"{ENDPOINTS}/{other['id']}")["pending"] == nothing


def test_a_scheme_may_be_written_in_any_case(lender: Lender) -> None:
    made = lender.add(url="HTTPS://Loans.example.com/Hook")
    assert made["url"] == "https://Loans.example.com/Hook"
    path = f"{ENDPOINTS}/{made['id']}"
    changed = lender.ask("PATCH", path, {"url": "Https://loans.example.com/"}).json()
    assert changed["url"] == "https://loans.example.com/"


def test_endpoints_are_listed_oldest_first(lender: Lender) -> None:
    made = [lender.add()["id"] for _ in range(3)]
    assert [one["id"] for one in lender.read(ENDPOINTS)["data"]] == made


def test_without_kinds_an_endpoint_wants_all(lender: Lender) -> None:
    assert lender.add()["kinds"] == lender.add(kinds=[])["kinds"] == []


def test_a_change_leaves_the_rest_as_it_is(lender: Lender) -> None:
    made = lender.add(kinds=["score.created"], description="one")
    path = f"{ENDPOINTS}/{made['id']}"
    changed = lender.ask("PATCH", path, {"description": "two"}).json()
    assert changed == {name: made[name] for name in SHOWN} | {"description": "two"}
    changed = lender.ask("PATCH", path, {"url": f"{URL}/2", "kinds": []}).json()
    assert (changed["url"], changed["kinds"]) == (f"{URL}/2", [])
    assert lender.read(path) == changed
    assert lender.ask("PATCH", path, {}).json() == changed


def test_the_audit_names_the_key_that_did_it(lender: Lender) -> None:
    path = f"{ENDPOINTS}/{lender.add()['id']}"
    lender.ask("PATCH", path, {"enabled": False})
    lender.ask("POST", f"{path}/rotate_secret")
    lender.ask("DELETE", path)
    trail = Trail(lender.installed.database)
    acts = [decode(link.body) for link in trail.links(MAIN, 0, 1_000)]
    mine = [act for act in acts if act.lender == lender.book.lender]
    (key_id,) = (act.subject for act in mine if act.kind is ActKind.KEY_ISSUED)
    assert [(act.kind, act.by) for act in mine if act.subject == path.rsplit("/", 1)[1]] == [
        (ActKind.ENDPOINT_ADDED, key_id),
        (ActKind.ENDPOINT_CHANGED, key_id),
        (ActKind.ENDPOINT_SECRET_ROTATED, key_id),
        (ActKind.ENDPOINT_REMOVED, key_id),
    ]


def test_an_endpoint_is_turned_off_and_on(lender: Lender) -> None:
    path = f"{ENDPOINTS}/{lender.add()['id']}"
    off = lender.ask("PATCH", path, {"enabled": False}).json()
    assert (off["enabled"], off["disabled_reason"]) == (False, "requested")
    assert off["disabled_at"] is not None
    on = lender.ask("PATCH", path, {"enabled": True}).json()
    assert (on["enabled"], on["disabled_at"], on["disabled_reason"]) == (True, None, None)


def test_an_endpoint_that_is_removed_is_gone(lender: Lender) -> None:
    path = f"{ENDPOINTS}/{lender.add()['id']}"
    gone = lender.ask("DELETE", path)
    assert (gone.status, gone.body) == (204, b"")
    assert "content-length" not in gone.headers
    assert "content-type" not in gone.headers
    for method in ("GET", "DELETE"):
        assert lender.ask(method, path).json()["code"] == "unknown_webhook_endpoint"
    assert lender.read(ENDPOINTS) == {"data": []}


def test_there_are_twenty_endpoints_and_no_more(lender: Lender) -> None:
    made = [lender.add() for _ in range(ENDPOINTS_MAX)]
    refused = lender.ask("POST", ENDPOINTS, {"url": URL})
    assert (refused.status, refused.json()["code"]) == (409, "too_many_endpoints")
    assert "retry-after" not in refused.headers
    lender.ask("DELETE", f"{ENDPOINTS}/{made[0]['id']}")
    lender.add()


# ------------------------------------------------------------------------------- secrets


def raw(secret: str) -> bytes:
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", secret)
    return base64.b64decode(secret.removeprefix("whsec_"))


def signing(lender: Lender, endpoint_id: str) -> list[bytes]:
    kept = Endpoints.at(lender.installed, settings.read({}).webhook_reach)
    endpoint = kept.find(lender.book, endpoint_id)
    return secrets.of_endpoint(lender.installed.vault, endpoint, lender.installed.clock())


def test_the_secret_that_was_shown_is_the_one_that_signs(lender: Lender) -> None:
    made = lender.add()
    assert signing(lender, made["id"]) == [raw(made["secret"])]


def test_for_a_day_after_a_rotation_both_secrets_sign(lender: Lender) -> None:
    made = lender.add()
    rotated = lender.ask("POST", f"{ENDPOINTS}/{made['id']}/rotate_secret").json()
    assert rotated["previous_expires_at"] > made["created_at"]
    assert signing(lender, made["id"]) == [raw(rotated["secret"]), raw(made["secret"])]


def test_an_old_secret_can_be_ended_at_once(lender: Lender) -> None:
    made = lender.add()
    path = f"{ENDPOINTS}/{made['id']}/rotate_secret"
    rotated = lender.ask("POST", path, {"expire_previous": True}).json()
    assert rotated["previous_expires_at"] is None
    assert signing(lender, made["id"]) == [raw(rotated["secret"])]


def test_a_secret_stands_nowhere_in_the_clear(lender: Lender) -> None:
    made = lender.add()
    table = tables.webhook_endpoints
    query = select(table).where(table.c.id == made["id"])
    with lender.installed.database.reading() as connection:
        row = connection.execute(query).one()
    secret = raw(made["secret"])
    assert not any(secret in value for value in row if isinstance(value, bytes))
    assert not any(made["secret"] in value for value in row if isinstance(value, str))


# ------------------------------------------------------------------------- test events


def test_a_test_goes_to_its_endpoint_alone_whatever_it_wants(lender: Lender) -> None:
    lender.add()
    made = lender.add(kinds=["policy.activated"])
    reply = lender.ask("POST", f"{ENDPOINTS}/{made['id']}/test")
    event_id = reply.json()["event"]
    assert reply.status == 202
    assert {to for sent, to in deliveries(lender.installed) if sent == event_id} == {made["id"]}
    Outbox.at(lender.installed).dispatch(clock.wall_us(), 1_000)
    assert {to for sent, to in deliveries(lender.installed) if sent == event_id} == {made["id"]}
    event = lender.read(f"/v1/events/{event_id}")
    assert (event["kind"], event["subject"]) == ("webhook.test", made["id"])
    assert event["payload"]["data"]["endpoint_id"] == made["id"]


def test_nothing_is_sent_to_an_endpoint_that_is_disabled(lender: Lender) -> None:
    made = lender.add()
    path = f"{ENDPOINTS}/{made['id']}"
    event_id = lender.ask("POST", f"{path}/test").json()["event"]
    lender.ask("PATCH", path, {"enabled": False})
    for refused in (
        lender.ask("POST", f"{path}/test"),
        lender.ask("POST", f"{path}/resend", {"since": YESTERDAY}),
        lender.ask("POST", f"/v1/events/{event_id}/resend", {"endpoint_id": made["id"]}),
    ):
        assert (refused.status, refused.json()["code"]) == (409, "webhook_endpoint_disabled")
    resent = lender.ask("POST", f"/v1/events/{event_id}/resend")
    assert (resent.status, resent.json()) == (202, {"deliveries": 0})


# --------------------------------------------------------------------------- attempts


def an_attempt(lender: Lender, endpoint_id: str, event_id: str, status: int | None) -> Attempt:
    now_us = clock.wall_us()
    attempt_id = ids.sortable(ATTEMPT_PREFIX, now_us, bytes(7))
    told = (attempt_id, lender.book.lender, lender.book.mode.value, endpoint_id, event_id)
    error = "timed_out" if status is None else None
    return Attempt(*told, 1, now_us, 12, status, error, "<b>what it said</b>")


def test_attempts_are_listed_newest_first_in_pages(lender: Lender) -> None:
    made, outbox = lender.add(), Outbox.at(lender.installed)
    path = f"{ENDPOINTS}/{made['id']}/attempts"
    assert lender.read(path) == {"data": [], "next_cursor": None}
    event_id = lender.ask("POST", f"{ENDPOINTS}/{made['id']}/test").json()["event"]
    tried = [an_attempt(lender, made["id"], event_id, status) for status in (None, 500, 204)]
    for one in tried:
        outbox.settle("w", [Settled(one, Verdict(delivered=one.status == 204), made["url"], 0)])
    page = lender.read(f"{path}?limit=2")
    assert [one["id"] for one in page["data"]] == [tried[2].id, tried[1].id]
    rest = lender.read(f"{path}?limit=2&cursor={page['next_cursor']}")
    assert rest["next_cursor"] is None
    (delivered, failed), (silent,) = page["data"], rest["data"]
    assert (delivered["delivered"], delivered["status"], delivered["event"]) == (
        True,
        204,
        event_id,
    )
    assert (failed["delivered"], failed["status"], failed["error"]) == (False, 500, None)
    assert (silent["delivered"], silent["status"], silent["error"]) == (False, None, "timed_out")
    assert failed["answer"] == "<b>what it said</b>"


@pytest.mark.parametrize("error", ["name_not_resolved", "address_forbidden"])
def test_attempts_do_not_tell_which_names_the_operators_network_has(
    lender: Lender, error: str
) -> None:
    made = lender.add()
    event_id = lender.ask("POST", f"{ENDPOINTS}/{made['id']}/test").json()["event"]
    tried = an_attempt(lender, made["id"], event_id, None)._replace(error=error)
    failed = Settled(tried, Verdict(delivered=False), made["url"], 0)
    Outbox.at(lender.installed).settle("w", [failed])
    (shown,) = lender.read(f"{ENDPOINTS}/{made['id']}/attempts")["data"]
    assert shown["error"] == "address_refused"
    assert shown["took_ms"] is None, "a name that is there is found sooner"


# ----------------------------------------------------------------------------- scopes


@pytest.mark.parametrize(
    ("scope", "method", "path"),
    [
        (Scope.WEBHOOKS_WRITE, "GET", ENDPOINTS),
        (Scope.WEBHOOKS_WRITE, "GET", ENDPOINTS + "/{id}"),
        (Scope.WEBHOOKS_WRITE, "GET", ENDPOINTS + "/{id}/attempts"),
        (Scope.WEBHOOKS_WRITE, "GET", "/v1/events"),
        (Scope.WEBHOOKS_WRITE, "GET", "/v1/events/{event}"),
        (Scope.WEBHOOKS_READ, "POST", ENDPOINTS),
        (Scope.WEBHOOKS_READ, "PATCH", ENDPOINTS + "/{id}"),
        (Scope.WEBHOOKS_READ, "DELETE", ENDPOINTS + "/{id}"),
        (Scope.WEBHOOKS_READ, "POST", ENDPOINTS + "/{id}/rotate_secret"),
        (Scope.WEBHOOKS_READ, "POST", ENDPOINTS + "/{id}/test"),
        (Scope.WEBHOOKS_READ, "POST", ENDPOINTS + "/{id}/resend"),
        (Scope.WEBHOOKS_READ, "POST", "/v1/events/{event}/resend"),
    ],
)
def test_a_key_does_what_its_scopes_say_and_no_more(
    lender: Lender, scope: Scope, method: str, path: str
) -> None:
    made = lender.add()
    event = lender.ask("POST", f"{ENDPOINTS}/{made['id']}/test").json()["event"]
    before = lender.read(f"{ENDPOINTS}/{made['id']}")
    target = path.format(id=made["id"], event=event)
    needed = {Scope.WEBHOOKS_READ: "write", Scope.WEBHOOKS_WRITE: "read"}[scope]
    for scopes in ((scope,), (Scope.WRITE, Scope.READ)):
        refused = Lender(lender.installed, lender.book, scopes).ask(method, target, {})
        assert (refused.status, refused.json()["code"]) == (403, "scope_missing")
        assert f"webhooks:{needed}" in refused.json()["detail"]
    assert lender.read(f"{ENDPOINTS}/{made['id']}") == before
