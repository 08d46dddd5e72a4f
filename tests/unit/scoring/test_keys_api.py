"""A key tells of itself, and makes the one that follows it, which gets no more than it has."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alama.lenders import keys
from alama.lenders.installation import Installation
from alama.platform.acts import REPLACES, ActKind, decode
from alama.platform.book import Book, Mode, Scope
from alama.platform.clock import Leap
from alama.platform.days import moment
from alama.platform.errors import KeyRefused, StoreUnavailable
from alama.protection.audit.store import Trail
from alama.scoring import keys_api
from alama.scoring.admission import Admission
from tests.audited import verdict_on
from tests.callers import Lender
from tests.clocks import HandClock
from tests.exchanges import Received
from tests.served import Service

KEY = "/v1/key"
ROTATE = "/v1/keys/rotate"
SCOPES = (Scope.READ, Scope.WRITE, Scope.KEYS_ROTATE)


@pytest.fixture
def lender(installed: Installation) -> Lender:
    return Lender(installed, scopes=SCOPES)


def rotated(lender: Lender, body: object = None) -> dict[str, Any]:
    received = lender.ask("POST", ROTATE, body)
    assert received.status == 200, received.json()
    assert received.headers["cache-control"] == "no-store"
    told: dict[str, Any] = received.json()
    return told


def works(lender: Lender, key: str) -> bool:
    return Service(lender.installed, key).ask("/v1/scores").status == 200


def refused(received: Received) -> list[str]:
    assert (received.status, received.json()["code"]) == (422, "invalid_request")
    return [fault["pointer"] for fault in received.json()["errors"]]


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("scope", [Scope.WRITE, Scope.READ, Scope.WEBHOOKS_READ])
def test_any_key_is_told_what_it_is_and_never_itself(
    installed: Installation, mode: Mode, scope: Scope
) -> None:
    lender = Lender(installed).book.lender
    asking = Lender(installed, Book(lender, mode), (scope,))  # live: there is no model yet
    received = asking.ask("GET", KEY)
    told = received.json()
    (key,) = [one for one in installed.registry.keys(lender) if one.id == told["id"]]
    assert told == {
        "id": key.id,
        "lender": lender,
        "currency": "KES",
        "mode": mode.value,
        "scopes": [scope.value],
        "created_at": moment(key.created_us).isoformat().replace("+00:00", "Z"),
        "expires_at": None,
        "rate_limit": 3,
        "burst": 6,
    }
    assert received.headers["cache-control"] == "no-store"
    assert received.headers["ratelimit-policy"] == '"key";q=6;w=2'
    assert asking.service.key not in received.body.decode()


def test_a_key_that_was_rotated_is_told_when_it_ends(lender: Lender) -> None:
    followed = rotated(lender, {"overlap_hours": 1})
    told = lender.ask("GET", KEY).json()
    assert (told["id"], told["expires_at"]) == (
        followed["previous_id"],
        followed["previous_expires_at"],
    )
    newer = Service(lender.installed, followed["key"]).ask(KEY).json()
    assert (newer["id"], newer["expires_at"]) == (followed["id"], None)


def test_nobody_is_told_of_a_key_without_having_it(lender: Lender) -> None:
    without = lender.ask("GET", KEY, headers={"authorization": ""})
    assert (without.status, without.json()["code"]) == (401, "key_missing")
    (key,) = lender.installed.registry.keys(lender.book.lender)
    asked = lender.ask("GET", f"{KEY}?id={key.id}")
    assert (asked.status, asked.json()["code"]) == (400, "invalid_parameter")
    keys.revoke(lender.installed.registry, lender.installed.clock, key.id)
    revoked = lender.ask("GET", KEY)
    assert (revoked.status, revoked.json()["code"]) == (401, "key_refused")


def test_the_new_key_works_beside_the_old_one_for_a_day(lender: Lender) -> None:
    told = rotated(lender)
    keys.check(told["key"])
    assert works(lender, told["key"])
    assert works(lender, lender.service.key)
    ends = datetime.fromisoformat(told["previous_expires_at"])
    assert abs(ends - datetime.now(UTC) - timedelta(hours=24)) < timedelta(minutes=1)
    assert (told["mode"], told["scopes"]) == ("test", sorted(SCOPES))
    assert told["expires_at"] is None
    old, new = lender.installed.registry.keys(lender.book.lender)
    assert (old.id, new.id) == (told["previous_id"], told["id"])
    assert new.book == lender.book


def test_the_audit_says_which_key_has_made_which_and_holds_no_key(lender: Lender) -> None:
    told = rotated(lender, {"overlap_hours": 1})
    links = Trail(lender.installed.database).links("main", 0, 10_000)
    acts = [decode(link.body) for link in links if link.kind == ActKind.KEY_ROTATED]
    (act,) = [one for one in acts if one.lender == lender.book.lender]
    assert (act.subject, act.by) == (told["id"], told["previous_id"])
    assert act.details[REPLACES] == told["previous_id"]
    assert told["key"] not in repr(act)
    installed = lender.installed
    assert verdict_on(installed.database, vault=installed.vault).findings == []


def test_without_an_overlap_the_old_key_ends_at_once(lender: Lender) -> None:
    told = rotated(lender, {"overlap_hours": 0})
    received = lender.ask("GET", "/v1/scores")
    assert (received.status, received.json()["code"]) == (403, "key_expired")
    assert works(lender, told["key"])


def test_a_reply_that_was_lost_can_be_asked_for_again_and_moves_no_end(lender: Lender) -> None:
    first, second = (rotated(lender, {"overlap_hours": hours}) for hours in (1, 48))
    assert first["key"] != second["key"]
    assert first["previous_expires_at"] == second["previous_expires_at"]


def test_a_new_key_has_no_scope_that_the_old_one_lacks(lender: Lender) -> None:
    told = rotated(lender, {"scopes": ["scores:read"]})
    assert told["scopes"] == ["scores:read"]
    newer = Service(lender.installed, told["key"])
    assert newer.ask(ROTATE, body=b"{}").json()["code"] == "scope_missing"
    asked = {"scopes": ["scores:read", "applicants:write"]}
    assert refused(lender.ask("POST", ROTATE, asked)) == ["/scopes/1"]


def test_a_new_key_lives_no_longer_than_the_old_one_was_given(installed: Installation) -> None:
    lender = Lender(installed, scopes=SCOPES)
    text, _ = keys.issue(
        installed.registry, installed.clock, installed.pepper, lender.book, SCOPES, 30
    )
    lender.service = Service(installed, text)
    for body, days in (({"overlap_hours": 24}, 30), ({"days": 7}, 7)):
        ends = datetime.fromisoformat(rotated(lender, body)["expires_at"])
        assert abs(ends - datetime.now(UTC) - timedelta(days=days)) < timedelta(minutes=1)
    assert refused(lender.ask("POST", ROTATE, {"days": 31})) == ["/days"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"overlap_hours": -1}, "/overlap_hours"),
        ({"overlap_hours": 2_161}, "/overlap_hours"),
        ({"overlap_hours": "24"}, "/overlap_hours"),
        ({"days": 0}, "/days"),
        ({"days": 3_651}, "/days"),
        ({"scopes": []}, "/scopes"),
        ({"scopes": ["scores"]}, "/scopes/0"),
        ({"scopes": "scores:read"}, "/scopes"),
        ({"overlap": 24}, "/overlap"),
    ],
)
def test_a_rotation_that_breaks_a_rule_makes_no_key(
    lender: Lender, body: dict[str, Any], pointer: str
) -> None:
    assert refused(lender.ask("POST", ROTATE, body)) == [pointer]
    assert len(lender.installed.registry.keys(lender.book.lender)) == 1


def test_a_key_rotates_only_where_that_was_named(installed: Installation) -> None:
    received = Lender(installed).ask("POST", ROTATE)
    assert (received.status, received.json()["code"]) == (403, "scope_missing")
    assert "keys:rotate" in received.json()["detail"]


def test_no_key_is_made_by_one_that_was_revoked_meanwhile_or_by_a_wrong_clock(
    lender: Lender,
) -> None:
    installed = lender.installed
    (key,) = installed.registry.keys(lender.book.lender)
    clock = HandClock(installed.clock())
    endpoint = keys_api.KeyEndpoint(
        object.__new__(Admission),  # nobody is admitted here
        installed.registry,
        clock,
        installed.pepper,
    )
    clock.leap = Leap(3_600_000_000)
    with pytest.raises(StoreUnavailable, match="clock"):
        endpoint._rotated(key.id, keys.Successor(days=3))
    clock.leap = None
    keys.revoke(installed.registry, clock, key.id)
    with pytest.raises(KeyRefused):
        endpoint._rotated(key.id, keys.Successor())
    assert len(installed.registry.keys(lender.book.lender)) == 1
