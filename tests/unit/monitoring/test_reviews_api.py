"""POST /v1/scores/{request_id}/review: what is kept, what is answered, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from alama.core.lending.policy import Decision
from alama.core.monitoring.news import News, State
from alama.monitoring.outcomes import Outcomes, Sent
from alama.platform import clock
from alama.platform.book import USUAL_SCOPES, Book, Mode, Scope
from alama.scoring.sequels import ReviewReason
from alama.scoring.store import Scores
from tests.callers import Lender
from tests.entries import an_entry
from tests.exchanges import Received
from tests.served import BODY

SAID: dict[str, Any] = {
    "decision": "DECLINED",
    "reason": "cannot_afford",
    "name": "W. Mutua",
    "note": "owes two others,\nas she says",
}


def scored(lender: Lender) -> str:
    request_id: str = lender.ask("POST", "/v1/score", BODY).json()["request_id"]
    return request_id


def review(lender: Lender, request_id: str, said: object) -> Received:
    return lender.ask("POST", f"/v1/scores/{request_id}/review", said)


def without(name: str) -> dict[str, Any]:
    return {field: value for field, value in SAID.items() if field != name}


def test_a_review_is_answered_with_what_is_kept_and_shown_with_its_score(lender: Lender) -> None:
    request_id = scored(lender)
    before = datetime.now(UTC)
    reply = review(lender, request_id, SAID)
    assert reply.status == 201
    told = reply.json()
    assert list(told) == [
        *("request_id", "decision", "reason", "name", "reviewed_at", "given_decision"),
        *("overrides", "note"),
    ]
    assert {field: told[field] for field in SAID} == SAID
    assert before <= datetime.fromisoformat(told["reviewed_at"]) <= datetime.now(UTC)
    record = lender.read(reply.headers["location"])
    assert record["review"] == told
    assert told["given_decision"] == record["decision"]
    assert told["overrides"] is (record["decision"] == "APPROVED")


def test_the_note_may_be_left_out(lender: Lender) -> None:
    request_id = scored(lender)
    reply = review(lender, request_id, without("note"))
    assert (reply.status, reply.json()["note"]) == (201, "")
    assert review(lender, request_id, SAID | {"note": " \n"}).status == 200


def test_the_same_again_is_answered_alike_and_anything_else_is_refused(lender: Lender) -> None:
    request_id = scored(lender)
    first = review(lender, request_id, SAID)
    again = review(lender, request_id, SAID | {"name": "W. Mutua "})
    assert (again.status, again.json()) == (200, first.json())
    other = review(lender, request_id, SAID | {"reason": "other"})
    assert (other.status, other.json()["code"]) == (409, "already_reviewed")
    assert first.json()["reviewed_at"][:10] in other.json()["detail"]
    assert "Mutua" not in other.body.decode()
    assert lender.read(f"/v1/scores/{request_id}")["review"] == first.json()


@pytest.mark.parametrize(
    ("said", "pointer", "code"),
    [
        (without("decision"), "/decision", "missing_field"),
        (SAID | {"decision": "REVIEW"}, "/decision", "out_of_range"),
        (SAID | {"decision": "approved"}, "/decision", "out_of_range"),
        (SAID | {"decision": True}, "/decision", "wrong_type"),
        (without("reason"), "/reason", "missing_field"),
        (SAID | {"reason": "Zq7marked"}, "/reason", "out_of_range"),
        (without("name"), "/name", "missing_field"),
        (SAID | {"name": " "}, "/name", "out_of_range"),
        (SAID | {"name": "Zq7marked\nand more"}, "/name", "out_of_range"),
        (SAID | {"note": "Zq7marked" * 56}, "/note", "out_of_range"),
        (SAID | {"note": "Zq7marked\u001b[2J"}, "/note", "out_of_range"),
        (SAID | {"note": ["Zq7marked"]}, "/note", "wrong_type"),
        (SAID | {"limit": 5_000}, "/limit", "unknown_field"),
    ],
)
def test_a_field_that_breaks_its_rule_is_named_and_its_value_is_not(
    lender: Lender, said: dict[str, Any], pointer: str, code: str
) -> None:
    request_id = scored(lender)
    refused = review(lender, request_id, said)
    assert (refused.status, refused.json()["code"]) == (422, "invalid_request")
    (fault,) = refused.json()["errors"]
    assert (fault["pointer"], fault["code"]) == (pointer, code)
    assert "Zq7marked" not in refused.body.decode()
    assert lender.read(f"/v1/scores/{request_id}")["review"] is None


def test_every_reason_of_the_list_is_taken(lender: Lender) -> None:
    for reason in ReviewReason:
        # Each under a key of its own: a key may ask six times at once here.
        other = Lender(lender.installed, lender.book)
        assert review(other, scored(other), SAID | {"reason": reason.value}).status == 201


@pytest.mark.parametrize("asked", ["req_" + "0" * 28, "req_1", "evt_" + "0" * 28])
def test_what_names_no_score_is_unknown(lender: Lender, asked: str) -> None:
    refused = review(lender, asked, SAID)
    assert (refused.status, refused.json()["code"]) == (404, "unknown_score")


def test_the_score_of_another_book_is_as_unknown_as_none(lender: Lender) -> None:
    request_id = scored(lender)
    other_mode = Lender(lender.installed, Book(lender.book.lender, Mode.LIVE))
    for stranger in (Lender(lender.installed), other_mode):
        assert review(stranger, request_id, SAID).json()["code"] == "unknown_score"
    assert lender.read(f"/v1/scores/{request_id}")["review"] is None


def test_a_key_without_the_scope_may_not_review(lender: Lender) -> None:
    request_id = scored(lender)
    scopes = tuple(scope for scope in USUAL_SCOPES if scope is not Scope.REVIEWS_WRITE)
    refused = review(Lender(lender.installed, lender.book, scopes), request_id, SAID)
    assert (refused.status, refused.json()["code"]) == (403, "scope_missing")
    assert "reviews:write" in refused.json()["detail"]


def test_what_became_of_the_loan_is_shown_with_its_score(lender: Lender) -> None:
    request_id = scored(lender)
    assert lender.read(f"/v1/scores/{request_id}")["outcome"] is None
    today = clock.wall_us() // (86_400 * 1_000_000)
    news = News(request_id, State.WRITTEN_OFF, today, 9_000.0, 1_250.5)
    Outcomes.at(lender.installed).record(lender.book, [news], Sent(by="a test"))
    told = lender.read(f"/v1/scores/{request_id}")["outcome"]
    assert told.pop("recorded_at").startswith("20")
    assert told == {
        "outcome": "written_off",
        "date": datetime.fromtimestamp(today * 86_400, UTC).date().isoformat(),
        "is_default": True,
        "disbursed_amount": 9_000,
        "repaid_amount": 1_250.5,
    }


# ----------------------------------------------------------------------------------- what waits


def listed(lender: Lender, query: str) -> list[str]:
    return [one["request_id"] for one in lender.read(f"/v1/scores{query}")["data"]]


def test_what_waits_for_a_person_is_listed_in_pages_until_it_is_reviewed(lender: Lender) -> None:
    decided = scored(lender)
    entries = [
        an_entry(lender.book, at_us=clock.wall_us(), decision=Decision.REVIEW) for _ in range(3)
    ]
    Scores.at(lender.installed).commit(entries)
    waiting = [entry.score.request_id for entry in reversed(entries)]
    page = lender.read("/v1/scores?waiting=true&limit=2")
    assert [one["request_id"] for one in page["data"]] == waiting[:2]
    assert listed(lender, f"?waiting=true&cursor={page['next_cursor']}") == waiting[2:]
    assert review(lender, waiting[1], SAID).status == 201
    assert listed(lender, "?waiting=true") == [waiting[0], waiting[2]]
    assert Lender(lender.installed).read("/v1/scores?waiting=true")["data"] == []
    for said in ("True", "TRUE", "1"):
        assert listed(lender, f"?waiting={said}") == [waiting[0], waiting[2]]
    for query in ("", "?waiting=false", "?waiting=False", "?waiting=0"):
        assert listed(lender, query) == [*waiting, decided]


@pytest.mark.parametrize("said", ["", "2", "10", "yes", "true,false", "true&waiting=true", " true"])
def test_whether_it_waits_is_true_or_false(lender: Lender, said: str) -> None:
    reply = lender.ask("GET", f"/v1/scores?waiting={said}")
    assert (reply.status, reply.json()["code"]) == (400, "invalid_parameter")
