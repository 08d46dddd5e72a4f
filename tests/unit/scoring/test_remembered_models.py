"""A model that has learned from the memory gets it from there alone, and replays without it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from alama.batch.sql import as_sql
from alama.core import document, memory
from alama.core.assess import Assessment
from alama.core.memory import with_memory
from alama.core.own_fields import NOTHING, reading
from alama.core.product import PRODUCT
from alama.lenders import installation, keys
from alama.lenders.installation import Installation
from alama.platform import settings
from alama.platform.book import Book, Mode
from alama.scoring.replay import open_score, recall, replay
from alama.scoring.store import Scores
from tests.factories import a_model
from tests.own_fields import the_three
from tests.served import BODY, Service

LIVE = Book("demo", Mode.LIVE)
MODEL = a_model(45, catalogue=with_memory(PRODUCT))
NAMED = json.loads(BODY) | {"applicant_ref": "cust-late"}


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Installation]:
    opened = installation.open_installation(settings.read({"ALAMA_HOME": str(tmp_path)}))
    opened.registry.keep_model(MODEL.id, document.encode(MODEL), opened.clock())
    opened.registry.deploy(LIVE, MODEL.id, None, opened.clock())
    yield opened
    opened.close()


@pytest.fixture
def service(installed: Installation) -> Service:
    key, _ = keys.issue(installed.registry, installed.clock, installed.pepper, LIVE)
    return Service(installed, key)


def tell(service: Service, *, days_ago: int, amount: int, term_days: int) -> None:
    lent = datetime.now(UTC).date() - timedelta(days=days_ago)
    due = lent + timedelta(days=term_days)
    event = {
        "applicant_ref": NAMED["applicant_ref"],
        "loan": "L-1",
        "kind": "disbursed",
        "date": str(lent),
        "amount": amount,
        "due_date": str(due),
    }
    reply = service.ask("/v1/loans", body=json.dumps(event).encode())
    assert reply.status in {200, 201}, reply.json()


def ask(service: Service, target: str = "/v1/score", **more: Any) -> dict[str, Any]:
    reply = service.ask(target, body=json.dumps(NAMED | more).encode())
    assert reply.status == 200, reply.json()
    return dict(reply.json())


def record(installed: Installation, said: dict[str, Any]) -> Assessment:
    stored = Scores.at(installed).find(LIVE, said["request_id"])
    return open_score(installed.vault, stored).assessment


def values(said: Assessment) -> dict[str, Any]:
    return {one.feature: one.value for one in said.contributions}


def test_the_memory_speaks_and_contributions_still_add_up(
    installed: Installation, service: Service
) -> None:
    tell(service, days_ago=50, amount=12_000, term_days=30)
    said = record(installed, ask(service))
    known = values(said)
    assert (known["open_loans"], known["open_balance"]) == (1, 12_000)
    assert (known["worst_days_past_due"], known["days_since_last_loan"]) == (20, 50)
    assert known.keys() >= memory.NAMES
    assert said.base + sum(one.points for one in said.contributions) == said.points


def test_of_nobody_nothing_is_known(installed: Installation, service: Service) -> None:
    known = values(record(installed, ask(service, applicant_ref=None)))
    assert {known.get(name) for name in memory.NAMES} == {None}


@pytest.mark.parametrize("name", sorted(memory.NAMES))
def test_no_request_can_say_it(service: Service, name: str) -> None:
    reply = service.ask("/v1/score", body=json.dumps(NAMED | {name: 1}).encode())
    assert reply.status == 422
    [error] = reply.json()["errors"]
    assert error["pointer"] == f"/{name}"
    assert "remembered" in error["detail"]


def test_a_score_replays_after_the_memory_has_moved_on(
    installed: Installation, service: Service
) -> None:
    given = ask(service)["request_id"]
    tell(service, days_ago=50, amount=12_000, term_days=30)
    later = ask(service)
    assert values(record(installed, later))["worst_days_past_due"] == 20
    for request_id in (given, later["request_id"]):
        stored = Scores.at(installed).find(LIVE, request_id)
        assert replay(recall(installed.registry, installed.vault, stored)) == ()


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "still owe on earlier loans"), ("sw", "mikopo ya awali"), ("fr", "prêts antérieurs")],
)
def test_reasons_name_it_and_no_advice_asks_to_change_it(
    service: Service, language: str, words: str
) -> None:
    tell(service, days_ago=50, amount=90_000, term_days=30)
    said = ask(service, f"/v1/explain?language={language}")
    texts = [one["text"] for one in said["reasons"] if one["feature"] == "open_balance"]
    assert texts
    assert words in texts[0]
    changed = {one["feature"] for way in said["counterfactuals"] for one in way["changes"]}
    assert not changed & memory.NAMES


def test_a_lender_declares_nothing_for_it_and_keeps_it_beside_own_fields() -> None:
    assert reading(MODEL, NOTHING) is MODEL
    both = reading(MODEL, the_three()).catalogue
    assert [field.name for field in both.fields][-13:] == [
        *("bureau_score", "earlier_loans", "branch"),
        *(field.name for field in memory.FIELDS),
    ]


def test_a_query_says_what_it_cannot_know() -> None:
    assert "does not know what Alama remembers of a borrower" in as_sql(MODEL, MODEL.cards)
    plain = msgspec.structs.replace(a_model(45))
    assert "remembers" not in as_sql(plain, plain.cards)
