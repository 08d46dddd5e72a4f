"""A person decides on a score over the wire, and the walk of docs/reviews.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from alama.platform.book import Book, Mode, Scope
from alama.protection.applicants import Applicants
from tests.databases import sqlite_url
from tests.e2e.conftest import MARK
from tests.e2e.service import COMPACT, Service
from tests.e2e.walks import Walk
from tests.server import Server

PAGE = (Path(__file__).parents[2] / "docs" / "reviews.md").read_text("utf-8")
UNSTABLE = ((re.compile(r"req_[0-9a-f]{28}"), "REQUEST"),)
LIVE = Book("demo", Mode.LIVE)
SAID = {
    "decision": "DECLINED",
    "reason": "fraud_suspected",
    "name": "W. Mutua",
    "note": f"{MARK}: two shops under one name",
}


@pytest.mark.long
def test_the_walk_goes_as_the_page_says(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with Server(sqlite_url(home), home) as server:
        Walk(PAGE, UNSTABLE).go(tmp_path, server.environment, server.url)


def review(service: Service, request_id: str, said: dict[str, Any], key: str) -> httpx.Response:
    path = f"/v1/scores/{request_id}/review"
    return service.send("POST", path, json=said, headers=service.credentials(key))


def test_a_review_stands_beside_its_score_and_in_an_event(service: Service) -> None:
    key = service.key()
    request_id = service.score(COMPACT | {"applicant_ref": "reviewed-1"}).json()["request_id"]
    assert service.get(f"/v1/scores/{request_id}").json()["review"] is None
    kept = review(service, request_id, SAID, key)
    assert kept.status_code == 201
    told = kept.json()
    assert {name: told[name] for name in SAID} == SAID
    assert (told["given_decision"], told["overrides"]) == ("APPROVED", True)
    record = service.get(f"/v1/scores/{request_id}").json()
    assert (record["review"], record["outcome"]) == (told, None)
    again = review(service, request_id, SAID, key)
    assert (again.status_code, again.json()) == (200, told)
    other = review(service, request_id, SAID | {"decision": "APPROVED"}, key)
    assert (other.status_code, other.json()["code"]) == (409, "already_reviewed")
    events = service.get("/v1/events?kind=score.reviewed").json()["data"]
    (event,) = [one for one in events if one["subject"] == request_id]
    assert event["payload"]["data"]["overrides"] is True
    assert MARK not in str(event)
    Applicants.at(service.installed).erase(Book("demo", Mode.TEST), "reviewed-1")
    gone = review(service, request_id, SAID, key)
    assert (gone.status_code, gone.json()["code"]) == (410, "erased")
    assert gone.json()["remains"]["request_id"] == request_id
    assert MARK not in gone.text


def test_only_a_key_of_the_book_with_the_scope_may_review(service: Service) -> None:
    request_id = service.score().json()["request_id"]
    reader = service.key(scopes=(Scope.READ, Scope.WRITE))
    refused = review(service, request_id, SAID, reader)
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_missing")
    elsewhere = review(service, request_id, SAID, service.key(LIVE))
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (404, "unknown_score")
    assert service.get(f"/v1/scores/{request_id}").json()["review"] is None
