"""The reply of section 2, the stored scores, and what happens to keys, over the wire."""

import json
import math
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import httpx
import pytest

from alama.lenders import keys
from alama.platform import clock
from alama.platform.book import Book, Mode
from tests.e2e.service import COMPACT, FULL, Service
from tests.interface import TEN_FIELDS
from tests.lending import open_live
from tests.ports import HOST


@pytest.mark.parametrize("body", [COMPACT, FULL], ids=["compact", "full"])
def test_the_reply_is_the_ten_fields_in_their_order(service: Service, body: dict[str, Any]) -> None:
    reply = service.score(body)
    said = reply.json()
    assert reply.headers["content-type"] == "application/json"
    assert list(said) == TEN_FIELDS
    assert said["request_id"] == reply.headers["request-id"]
    assert 300 <= said["score"] <= 850
    assert type(said["score"]) is type(said["processing_ms"]) is int
    assert said["processing_ms"] >= 1
    assert said["decision"] in {"APPROVED", "REVIEW", "DECLINED"}
    assert (said["recommended_limit"] == 0) == (said["decision"] == "DECLINED")


@pytest.mark.parametrize("body", [COMPACT, FULL], ids=["compact", "full"])
def test_base_and_contributions_add_up_to_the_score_before_rounding(
    service: Service, body: dict[str, Any]
) -> None:
    said = service.score(body, query="?expand=base_score,model,policy,offer").json()
    assert list(said) == [*TEN_FIELDS, "base_score", "model", "policy", "offer"]
    points = said["base_score"] + sum(shap["contribution"] for shap in said["shap_values"])
    odds = (1 - said["default_probability"]) / said["default_probability"]
    assert points == pytest.approx(660 + 40 * math.log2(odds / 19), abs=0.01)
    assert said["score"] == round(points)
    assert said["model"].startswith("sha256:")
    assert said["policy"].startswith("sha256:")


def test_four_fields_are_scored_by_the_compact_card_and_more_by_the_full_one(
    service: Service,
) -> None:
    for extra in (
        {},
        {"existing_repayments": 100.0},
        {"applicant_ref": "loan-1"},
        {"region": None},
    ):
        said = service.score(COMPACT | extra).json()
        assert {shap["feature"] for shap in said["shap_values"]} == set(COMPACT)
    said = service.score({**COMPACT, "counterparties": 12}).json()
    assert len(said["shap_values"]) == 17
    assert {"counterparties", *COMPACT} <= {shap["feature"] for shap in said["shap_values"]}


def test_a_prefix_changes_nothing(service: Service) -> None:
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/v1/score", {"json": FULL, "headers": service.credentials()}),
        ("POST", "/v1/score", {"json": {}, "headers": service.credentials()}),
        ("POST", "/v1/explain", {"json": FULL, "headers": service.credentials()}),
        ("GET", "/v1/scores?limit=2", {"headers": service.credentials()}),
        ("GET", "/v1/scores", {}),
        ("GET", "/v1/health", {}),
        ("GET", "/v1/nothing", {}),
        ("DELETE", "/v1/score", {}),
    ]
    for method, path, request in asked:
        plain = service.send(method, path, **request)
        prefixed = service.send(method, "/api" + path, **request)
        assert _comparable(plain) == _comparable(prefixed)


def test_what_is_for_operators_has_no_second_path(service: Service) -> None:
    for path in (
        "/api/livez",
        "/api/readyz",
        "/api/%6civez",
        "/api//livez",
        "/api/v1/../livez",
        "/api/v1/%2e%2e/readyz",
        "/api/api/livez",
        "//livez",
        "/v1/../livez",
        "/v1/%2e%2e/livez",
        "/livez/",
        "/livez%00",
        "/LIVEZ",
    ):
        with socket.create_connection((HOST, service.server.port), timeout=60) as caller:
            caller.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            assert caller.recv(100).startswith(b"HTTP/1.1 404"), path


def _comparable(reply: httpx.Response) -> tuple[object, ...]:
    """A reply without what no two replies share."""
    said = reply.json()
    for unique in ("request_id", "processing_ms", "data", "next_cursor"):
        said.pop(unique, None)
    headers = {
        name: value
        for name, value in reply.headers.items()
        if name not in {"date", "request-id", "ratelimit", "content-length"}
    }
    return reply.status_code, headers, said


def test_health_needs_no_key(service: Service) -> None:
    for path in ("/v1/health", "/readyz", "/livez"):
        reply = service.send("GET", path)
        assert (reply.status_code, reply.json()["status"]) == (200, "ok")
    assert {"status", "version", "model"} == set(service.send("GET", "/v1/health").json())


# ------------------------------------------------------------------------------------- reading


def test_whole_money_is_written_alike_wherever_it_is_read(service: Service) -> None:
    given = service.score(FULL)
    request_id = given.json()["request_id"]
    stored = service.get(f"/v1/scores/{request_id}")
    page = service.get("/v1/scores?limit=100")
    (listed,) = [line for line in page.json()["data"] if line["request_id"] == request_id]
    written = json.dumps(given.json()["recommended_limit"])
    assert written.isdigit()
    assert f'"recommended_limit":{written},' in stored.text
    assert json.dumps(listed["recommended_limit"]) == written


def test_a_person_who_opens_the_root_is_led_to_the_reference(service: Service) -> None:
    for prefix in ("", "/api"):
        reply = service.send("GET", f"{prefix}/")
        assert (reply.status_code, reply.headers["location"]) == (302, "docs")
        page = service.send("GET", str(reply.next_request.url))  # type: ignore[union-attr]
        assert page.headers["content-type"] == "text/html; charset=utf-8"


def test_a_stored_score_is_the_reply_that_was_given(service: Service) -> None:
    body = json.dumps(FULL, indent=3).encode()
    reply = service.score(body, query="?expand=base_score,model,policy,offer").json()
    stored = service.get(f"/v1/scores/{reply['request_id']}")
    record = stored.json()
    assert {name: record[name] for name in reply} == reply
    assert record["application"] == FULL
    assert body in stored.content
    assert record["mode"] == "test"
    assert record["key_id"].startswith("key_")


def _pages(service: Service, key: str, limit: int) -> Iterator[list[str]]:
    cursor = ""
    while True:
        page = service.get(f"/v1/scores?limit={limit}{cursor}", key=key).json()
        yield [line["request_id"] for line in page["data"]]
        if page["next_cursor"] is None:
            return
        cursor = f"&cursor={page['next_cursor']}"


def a_new_book(service: Service, name: str) -> Book:
    book = Book(f"{name}-{time.time_ns()}", Mode.TEST)
    service.lender(book.lender)
    return book


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_pages_are_all_scores_once_newest_first_also_while_others_are_written(
    service: Service, limit: int
) -> None:
    key = service.key(a_new_book(service, "pages"))
    given = [service.score(key=key).json()["request_id"] for _ in range(7)]
    seen: list[str] = []
    for page in _pages(service, key, limit):
        assert len(page) <= limit
        seen += page
        service.score(key=key)
    assert seen == given[::-1]


# ------------------------------------------------------------------------------------- keys


class Changed(NamedTuple):
    """Keys that worked in every worker until something happened to them, a second ago."""

    revoked: str
    rotated: str
    replaced: str
    ended: str
    live: str


@pytest.fixture(scope="module")
def changed(service: Service) -> Changed:
    registry, pepper = service.installed.registry, service.installed.pepper
    book = a_new_book(service, "changed")
    live_book = Book(book.lender, Mode.LIVE)
    (revoked, revoked_key), (rotated, rotated_key), (ended, ended_key), (live, _) = [
        service.issue(of) for of in (book, book, book, live_book)
    ]
    for key in (revoked, rotated, ended):
        assert service.statuses(key) == {200}
    refused = service.score(key=live)
    assert (refused.status_code, refused.json()["code"]) == (403, "onboarding_incomplete")
    assert "no model has been trained" in refused.json()["detail"]
    assert service.get("/v1/scores", key=live).json() == {"data": [], "next_cursor": None}

    keys.revoke(registry, clock.wall_us, revoked_key.id)
    replaced, _ = keys.rotate(
        registry, service.installed.clock, pepper, rotated_key.id, keys.Successor(1)
    )
    keys.rotate(registry, service.installed.clock, pepper, ended_key.id, keys.Successor(0))
    open_live(registry, live_book)
    time.sleep(1.05)
    return Changed(revoked, rotated, replaced, ended, live)


def test_a_revoked_key_is_refused_by_every_worker_within_a_second(
    service: Service, changed: Changed
) -> None:
    assert service.statuses(changed.revoked) == {401}


def test_a_rotated_key_and_its_successor_both_work_for_the_overlap(
    service: Service, changed: Changed
) -> None:
    assert service.statuses(changed.rotated) == {200}
    assert service.statuses(changed.replaced) == {200}


def test_a_key_that_has_ended_is_refused_by_every_worker_within_a_second(
    service: Service, changed: Changed
) -> None:
    assert service.statuses(changed.ended) == {403}


def test_a_live_key_scores_once_its_book_has_a_model(service: Service, changed: Changed) -> None:
    scored = service.score(key=changed.live).json()
    record = service.get(f"/v1/scores/{scored['request_id']}", key=changed.live).json()
    assert record["mode"] == "live"


def test_many_callers_at_once_each_get_their_own_score(service: Service) -> None:
    key = service.key(a_new_book(service, "many"))

    def ask(number: int) -> tuple[int, str]:
        body = {**COMPACT, "mobile_money_months": number}
        return number, service.anywhere(body, key=key).json()["request_id"]

    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(ask, range(40)))
    for number, request_id in given:
        record = service.get(f"/v1/scores/{request_id}", key=key).json()
        assert record["application"]["mobile_money_months"] == number
