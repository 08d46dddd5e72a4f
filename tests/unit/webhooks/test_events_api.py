"""Events over HTTP, on a real database: announced, listed and sent again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.callers import ENDPOINTS, YESTERDAY, Lender, deliveries
from tests.served import BODY


def score(lender: Lender, **headers: str) -> str:
    reply = lender.ask("POST", "/v1/score", BODY, headers)
    assert reply.status == 200, reply.body
    request_id: str = reply.json()["request_id"]
    return request_id


def test_a_score_is_announced_to_who_wants_to_hear_of_it(lender: Lender) -> None:
    lender.add(kinds=["score.created"])
    reply = lender.ask("POST", "/v1/score", BODY).json()
    (event,) = lender.events()
    assert (event["kind"], event["subject"]) == ("score.created", reply["request_id"])
    told = event["payload"]["data"]
    assert told.keys() == {"mode", "request_id", "score", "tier", "decision", "model", "policy"}
    assert {name: told[name] for name in ("score", "tier", "decision", "request_id")} == {
        name: reply[name] for name in ("score", "tier", "decision", "request_id")
    }
    record = lender.read(f"/v1/scores/{reply['request_id']}")
    assert (told["model"], told["policy"]) == (record["model"], record["policy"])


@pytest.mark.parametrize("told", [None, {"kinds": ["policy.activated"]}])
def test_where_nobody_wants_to_hear_of_scores_none_is_announced(
    lender: Lender, told: dict[str, Any] | None
) -> None:
    if told is not None:
        path = f"{ENDPOINTS}/{lender.add()['id']}"
        lender.ask("PATCH", path, told)
    score(lender)
    assert lender.events() == []


def test_a_score_is_kept_for_an_endpoint_that_is_disabled(lender: Lender) -> None:
    lender.ask("PATCH", f"{ENDPOINTS}/{lender.add()['id']}", {"enabled": False})
    request_id = score(lender)
    assert [event["subject"] for event in lender.events()] == [request_id]


def test_a_retry_that_gets_the_earlier_reply_announces_nothing(lender: Lender) -> None:
    lender.add()
    order = {"idempotency-key": "order-1"}
    first, again = score(lender, **order), score(lender, **order)
    assert first == again
    assert [event["subject"] for event in lender.events()] == [first]


def test_events_are_listed_newest_first_in_pages_and_by_kind(lender: Lender) -> None:
    made = lender.add()
    scores = [score(lender) for _ in range(3)]
    test = lender.ask("POST", f"{ENDPOINTS}/{made['id']}/test").json()["event"]
    page = lender.read("/v1/events?limit=2")
    assert [one["subject"] for one in page["data"]] == [made["id"], scores[2]]
    rest = lender.read(f"/v1/events?limit=2&cursor={page['next_cursor']}")
    assert [one["subject"] for one in rest["data"]] == [scores[1], scores[0]]
    assert rest["next_cursor"] is None
    assert [one["id"] for one in lender.events("?kind=webhook.test")] == [test]
    assert len(lender.events("?kind=score.created")) == 3
    assert lender.read(f"/v1/events/{test}") == page["data"][0]


def test_an_event_is_sent_again_to_one_endpoint_or_to_all_that_want_it(lender: Lender) -> None:
    wanting = [lender.add()["id"], lender.add(kinds=["score.created"])["id"]]
    other = lender.add(kinds=["policy.activated"])["id"]
    score(lender)
    (event,) = lender.events()
    path = f"/v1/events/{event['id']}/resend"
    assert lender.ask("POST", path).json() == {"deliveries": 2}
    sent_to = {to for sent, to in deliveries(lender.installed) if sent == event["id"]}
    assert sent_to == set(wanting)
    reply = lender.ask("POST", path, {"endpoint_id": other})
    assert (reply.status, reply.json()) == (202, {"deliveries": 1})
    assert (event["id"], other) in deliveries(lender.installed)


def test_all_events_since_a_time_are_sent_again(lender: Lender) -> None:
    made = lender.add(kinds=["score.created"])
    scores = [score(lender) for _ in range(3)]
    path = f"{ENDPOINTS}/{made['id']}/resend"
    second = next(one for one in lender.events() if one["subject"] == scores[1])
    reply = lender.ask("POST", path, {"since": second["created_at"]})
    assert (reply.status, reply.json()) == (202, {"events": 2})
    assert lender.ask("POST", path, {"since": YESTERDAY}).json() == {"events": 3}
    assert lender.ask("POST", path, {"since": "0001-01-01T00:00:00+23:59"}).json() == {"events": 3}
