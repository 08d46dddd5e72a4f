"""POST /v1/outcomes: what is read, what is refused, and what is answered to each."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from alama.lenders.installation import Installation
from alama.monitoring import schema
from alama.monitoring.outcomes_api import BODY_MAX
from alama.platform import clock
from alama.platform.book import Book, Mode, Scope
from alama.scoring.store import Scores
from tests.callers import Lender
from tests.entries import a_request_id, an_entry
from tests.exchanges import Received

PATH = "/v1/outcomes"
UNKNOWN = a_request_id()


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def tomorrow_everywhere() -> str:
    return (datetime.now(UTC) + timedelta(days=2)).date().isoformat()


def scored(lender: Lender, count: int = 1) -> list[str]:
    lender.installed.vault.ring(lender.book.lender)
    entries = [an_entry(lender.book, at_us=clock.wall_us()) for _ in range(count)]
    Scores.at(lender.installed).commit(entries)
    return [entry.score.request_id for entry in entries]


def news(request_id: str, **more: Any) -> dict[str, Any]:
    return {"request_id": request_id, "outcome": "repaid", "date": today()} | more


def say(lender: Lender, *told: dict[str, Any]) -> Received:
    return lender.ask("POST", PATH, {"outcomes": list(told)})


def kept(lender: Lender) -> int:
    table = schema.outcomes
    query = select(func.count()).select_from(table).where(table.c.lender == lender.book.lender)
    with lender.installed.database.reading() as connection:
        return connection.execute(query).scalar_one()


def faults(reply: Received) -> list[tuple[str, str]]:
    assert reply.status == 422, reply.body
    told = reply.json()
    assert told["code"] == "invalid_request"
    return [(one["pointer"], one["code"]) for one in told["errors"]]


# ------------------------------------------------------------------------------------- answers


def test_one_outcome_is_recorded_and_answered(lender: Lender) -> None:
    (request_id,) = scored(lender)
    reply = lender.ask("POST", PATH, news(request_id, disbursed_amount=500, repaid_amount=None))
    assert reply.status == 200, reply.body
    assert reply.headers["cache-control"] == "no-store"
    assert reply.json() == {
        "results": [{"request_id": request_id, "result": "recorded", "is_default": False}],
        "counts": {"recorded": 1},
    }


def test_each_of_many_gets_its_answer_in_order_and_what_to_do_about_it(lender: Lender) -> None:
    first, second = scored(lender, 2)
    reply = say(
        lender,
        news(first, outcome="defaulted"),
        news(UNKNOWN),
        news(second, date=tomorrow_everywhere()),
        news(second, date="2025-01-01"),
        news(first, outcome="repaid"),
        news(first, outcome="defaulted"),
    ).json()
    results = reply["results"]
    assert [one["result"] for one in results] == [
        "recorded",
        "unknown_score",
        "in_the_future",
        "before_the_loan",
        "conflict",
        "unchanged",
    ]
    assert [one.get("is_default") for one in results] == [True, None, None, None, True, True]
    assert [one["result"] for one in results if "message" in one] == [
        "unknown_score",
        "in_the_future",
        "before_the_loan",
        "conflict",
    ]
    assert reply["counts"] == dict.fromkeys([one["result"] for one in results], 1)


def test_the_score_of_another_lender_or_mode_is_as_unknown_as_none(
    lender: Lender, installed: Installation
) -> None:
    live = Lender(installed, Book(lender.book.lender, Mode.LIVE))
    other = Lender(installed)
    ids = [*scored(live), *scored(other), UNKNOWN]
    results = say(lender, *map(news, ids)).json()["results"]
    assert [one.pop("request_id") for one in results] == ids
    assert results == [results[-1]] * 3
    assert kept(lender) == kept(other) == 0


def test_a_whole_number_is_a_number_and_a_batch_of_a_thousand_fits(lender: Lender) -> None:
    (request_id,) = scored(lender)
    told = news(
        request_id,
        outcome="restructured",
        disbursed_amount=123456789012.25,
        repaid_amount=0.0,
        corrects=False,
    )
    body = json.dumps({"outcomes": [told] * 1_000}, indent=2).encode()
    assert len(body) < BODY_MAX
    reply = lender.ask("POST", PATH, body)
    assert reply.json()["counts"] == {"recorded": 1, "unchanged": 999}


def test_without_the_scope_nothing_is_taken(installed: Installation) -> None:
    reader = Lender(installed, scopes=(Scope.READ, Scope.WRITE))
    reply = reader.ask("POST", PATH, news(UNKNOWN))
    assert (reply.status, reply.json()["code"]) == (403, "scope_missing")
    assert "outcomes:write" in reply.json()["detail"]


# ------------------------------------------------------------------------------------- refusals

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("request_id", {"request_id": 7}, "wrong_type"),
    ("request_id", {"request_id": "req_7"}, "out_of_range"),
    ("request_id", {"request_id": None}, "missing_field"),
    ("outcome", {"outcome": "paid"}, "out_of_range"),
    ("outcome", {"outcome": ["repaid"]}, "wrong_type"),
    ("date", {"date": "2026-02-30"}, "out_of_range"),
    ("date", {"date": "16.11.2026"}, "out_of_range"),
    ("date", {"date": "2026-11-16T10:00:00Z"}, "out_of_range"),
    ("date", {"date": "1999-12-31"}, "out_of_range"),
    ("date", {"date": "3000-01-01"}, "out_of_range"),
    ("date", {"date": 20261116}, "wrong_type"),
    ("disbursed_amount", {"disbursed_amount": -0.01}, "out_of_range"),
    ("disbursed_amount", {"disbursed_amount": 1e12 + 1}, "out_of_range"),
    ("disbursed_amount", {"disbursed_amount": 10**400}, "out_of_range"),
    ("repaid_amount", {"repaid_amount": "100"}, "wrong_type"),
    ("repaid_amount", {"repaid_amount": True}, "wrong_type"),
    ("corrects", {"corrects": "yes"}, "wrong_type"),
    ("corrects", {"corrects": None}, "wrong_type"),
    ("repayed_amount", {"repayed_amount": 1}, "unknown_field"),
]


@pytest.mark.parametrize(("field", "change", "code"), WRONG)
def test_what_breaks_a_rule_is_named_with_its_place_and_nothing_is_recorded(
    lender: Lender, field: str, change: dict[str, Any], code: str
) -> None:
    (request_id,) = scored(lender)
    wrong = news(request_id) | change
    assert faults(lender.ask("POST", PATH, wrong)) == [(f"/{field}", code)]
    reply = say(lender, news(request_id), news(UNKNOWN), wrong)
    assert faults(reply) == [(f"/outcomes/2/{field}", code)]
    assert kept(lender) == 0


def test_every_fault_is_told_at_once_and_no_value_of_it(lender: Lender) -> None:
    reply = say(
        lender,
        {"request_id": "Zq7marked", "outcome": "Zq7marked", "date": "Zq7marked"},
        {},
        news(UNKNOWN, corrects="Zq7marked"),
    )
    assert faults(reply) == [
        ("/outcomes/0/request_id", "out_of_range"),
        ("/outcomes/0/outcome", "out_of_range"),
        ("/outcomes/0/date", "out_of_range"),
        ("/outcomes/1/request_id", "missing_field"),
        ("/outcomes/1/outcome", "missing_field"),
        ("/outcomes/1/date", "missing_field"),
        ("/outcomes/2/corrects", "wrong_type"),
    ]
    assert b"Zq7marked" not in reply.body


def test_a_name_that_stands_twice_is_refused_wherever_it_stands(lender: Lender) -> None:
    one = json.dumps(news(UNKNOWN))
    twice = one[:-1] + ', "date": "2026-11-16"}'
    assert faults(lender.ask("POST", PATH, twice.encode())) == [("/date", "duplicate_field")]
    batch = f'{{"outcomes": [{one}, {twice}]}}'.encode()
    assert faults(lender.ask("POST", PATH, batch)) == [("/outcomes/1/date", "duplicate_field")]
    lists = f'{{"outcomes": [{one}], "outcomes": [{one}]}}'.encode()
    assert faults(lender.ask("POST", PATH, lists)) == [("/outcomes", "duplicate_field")]


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        ([], ("/outcomes", "out_of_range")),
        ({}, ("/outcomes", "wrong_type")),
        (None, ("/outcomes", "wrong_type")),
        ([news(UNKNOWN)] * 1_001, ("/outcomes", "out_of_range")),
        ([news(UNKNOWN), 7], ("/outcomes/1", "wrong_type")),
        ([[]], ("/outcomes/0", "wrong_type")),
    ],
)
def test_a_batch_is_a_list_of_one_to_a_thousand_objects(
    lender: Lender, told: object, fault: tuple[str, str]
) -> None:
    assert faults(lender.ask("POST", PATH, {"outcomes": told})) == [fault]


def test_beside_a_batch_stands_nothing(lender: Lender) -> None:
    reply = lender.ask("POST", PATH, {"outcomes": [news(UNKNOWN)], "date": today()})
    assert faults(reply) == [("/date", "unknown_field")]


def test_of_thousands_of_faults_a_hundred_are_told(lender: Lender) -> None:
    reply = say(lender, *[{}] * 1_000)
    assert len(faults(reply)) == 100
    assert "the first 100 are listed" in reply.json()["detail"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"outcomes": [',
        b'{"outcomes": [{"\\ud800": 1}]}',
        b'{"outcomes": [{"request_id": "\\ud800"}]}',
        b'{"outcomes": [{"repaid_amount": NaN}]}',
    ],
)
def test_what_is_no_document_is_said_to_be_none(lender: Lender, body: bytes) -> None:
    reply = lender.ask("POST", PATH, body)
    assert (reply.status, reply.json()["code"]) == (400, "malformed_json")


def test_a_body_that_is_too_large_is_refused(lender: Lender) -> None:
    reply = lender.ask("POST", PATH, b" " * (BODY_MAX + 1))
    assert (reply.status, reply.json()["code"]) == (413, "body_too_large")
    assert "512 KiB" in reply.json()["detail"]
    headers = {"content-type": "application/json"}
    pieces: list[bytes | None] = [b" " * BODY_MAX, b"{}", b""]
    received = lender.service.ask_in_pieces(PATH, pieces, headers)
    assert received is not None
    assert received.status == 413


def test_no_parameter_is_known(lender: Lender) -> None:
    reply = lender.ask("POST", f"{PATH}?dry_run=true", news(UNKNOWN))
    assert (reply.status, reply.json()["code"]) == (400, "invalid_parameter")
