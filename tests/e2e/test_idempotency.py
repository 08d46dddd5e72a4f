"""A retry is safe: one key, one score, the same bytes, in whichever process it arrives."""

import json
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import count, islice

import httpx
import pytest

from alama.platform.book import Book, Mode
from alama.scoring.records import IDEMPOTENCY_KEPT_US
from alama.scoring.store import Scores
from tests.e2e.service import COMPACT, Service
from tests.e2e.test_errors import require_problem
from tests.lending import open_live

_numbers = count()


@pytest.fixture
def book(service: Service) -> Book:
    """A book without scores."""
    book = Book(f"retries-{next(_numbers)}", Mode.TEST)
    service.lender(book.lender)
    return book


@pytest.fixture
def key(service: Service, book: Book) -> str:
    return service.key(book)


def stored(service: Service, key: str) -> list[str]:
    page = service.get("/v1/scores?limit=100", key=key).json()
    return [line["request_id"] for line in page["data"]]


def replayed(reply: httpx.Response) -> bool:
    assert reply.status_code == 200, reply.text
    return "idempotent-replayed" in reply.headers


def test_a_retry_gets_the_same_bytes_and_stores_nothing(service: Service, key: str) -> None:
    first = service.score(key=key, idempotency_key="order-1")
    assert not replayed(first)
    for _ in range(4):
        retry = service.anywhere(key=key, idempotency_key="order-1")
        assert replayed(retry)
        assert retry.content == first.content
        assert retry.headers["request-id"] != first.headers["request-id"]
    assert stored(service, key) == [first.json()["request_id"]]


def test_the_prefix_is_the_same_operation(service: Service, key: str) -> None:
    first = service.score(key=key, idempotency_key="order-1")
    retry = service.send(
        "POST",
        "/api/v1/score",
        content=first.request.content,
        headers=service.credentials(key)
        | {"Content-Type": "application/json", "Idempotency-Key": "order-1"},
    )
    assert replayed(retry)
    assert retry.content == first.content


def test_without_a_key_each_request_is_a_score(service: Service, key: str) -> None:
    given = [service.score(key=key).json()["request_id"] for _ in range(2)]
    assert stored(service, key) == given[::-1]


@pytest.mark.parametrize(
    ("body", "query"),
    [
        ({**COMPACT, "mobile_money_months": 25}, ""),
        ({**COMPACT, "region": "Nyeri"}, ""),
        (COMPACT, "?expand=model"),
    ],
    ids=["another value", "another field", "another query"],
)
def test_another_request_under_the_key_is_refused(
    service: Service, key: str, body: dict[str, object], query: str
) -> None:
    service.score(key=key, idempotency_key="order-1")
    reply = service.score(body, query=query, key=key, idempotency_key="order-1")
    require_problem(reply, 422, "idempotency_key_reused")
    assert len(stored(service, key)) == 1


@pytest.mark.parametrize(
    ("body", "query"),
    [
        (json.dumps(dict(reversed(COMPACT.items()))), "?expand=model,offer"),
        (json.dumps(COMPACT, indent=4), "?expand=model,offer"),
        (json.dumps({**COMPACT, "mobile_money_months": 24.0}), "?expand=model,offer"),
        (json.dumps({**COMPACT, "monthly_inflow": 18_500}), "?expand=model,offer"),
        (json.dumps({**COMPACT, "region": None}), "?expand=model,offer"),
        ("\ufeff" + json.dumps(COMPACT), "?expand=model,offer"),
        (json.dumps(COMPACT), "?expand=offer&language=en&expand=model"),
        (json.dumps(dict(reversed(COMPACT.items()))), "?expand=offer,model"),
    ],
    ids=[
        *("another order", "other space", "24.0", "18500", "a null", "a mark"),
        *("another query", "another order of both"),
    ],
)
def test_a_retry_in_other_bytes_that_say_the_same_is_the_same_request(
    service: Service, key: str, body: str, query: str
) -> None:
    first = service.score(query="?expand=model,offer", key=key, idempotency_key="order-1")
    for _ in range(3):
        retry = service.anywhere(body.encode(), query=query, key=key, idempotency_key="order-1")
        assert replayed(retry)
        assert retry.content == first.content
    assert stored(service, key) == [first.json()["request_id"]]


def test_keys_of_one_book_share_their_retries(service: Service, book: Book, key: str) -> None:
    first = service.score(key=key, idempotency_key="order-1")
    retry = service.score(key=service.key(book), idempotency_key="order-1")
    assert replayed(retry)
    assert retry.content == first.content


def test_another_lender_or_mode_or_key_is_another_request(
    service: Service, book: Book, key: str
) -> None:
    live, other = Book(book.lender, Mode.LIVE), Book(f"{book.lender}-too", Mode.TEST)
    open_live(service.installed.registry, live)
    service.lender(other.lender)
    replies = [
        service.score(key=key, idempotency_key="order-1"),
        service.score(key=key, idempotency_key="order-2"),
        service.score(key=key, idempotency_key="ORDER-1"),
        service.score(key=service.key(live), idempotency_key="order-1"),
        service.score(key=service.key(other), idempotency_key="order-1"),
    ]
    assert not any(replayed(reply) for reply in replies)
    assert len({reply.json()["request_id"] for reply in replies}) == len(replies)


def test_a_refused_request_leaves_its_key_free(service: Service, key: str) -> None:
    refused = service.score({**COMPACT, "region": 1}, key=key, idempotency_key="order-1")
    require_problem(refused, 422, "invalid_application")
    assert not replayed(service.score(key=key, idempotency_key="order-1"))


def test_a_key_is_free_again_after_72_hours(service: Service, book: Book, key: str) -> None:
    first = service.score(key=key, idempotency_key="order-1")
    _age(service, book, IDEMPOTENCY_KEPT_US - 60 * 1_000_000)
    _forget(service)
    assert replayed(service.score(key=key, idempotency_key="order-1"))
    _age(service, book, 61 * 1_000_000)
    _forget(service)
    second = service.score({**COMPACT, "region": "Nyeri"}, key=key, idempotency_key="order-1")
    assert not replayed(second)
    assert stored(service, key) == [second.json()["request_id"], first.json()["request_id"]]


def _forget(service: Service) -> None:
    """Do what upkeep does every ten minutes."""
    installed = service.installed
    Scores.at(installed).forget_idempotency(installed.clock.trusted() - IDEMPOTENCY_KEPT_US)


def _age(service: Service, book: Book, by_us: int) -> None:
    """Make what a book keeps under idempotency keys older than it is."""
    with service.installed.database.writing() as connection:
        connection.exec_driver_sql(
            f"UPDATE idempotency SET created_us = created_us - {by_us}"  # noqa: S608  a number
            f" WHERE lender = '{book.lender}'"
        )


def test_one_key_sent_many_times_at_once_is_scored_once(service: Service, key: str) -> None:
    """Whoever arrives while the first is in flight, in whichever process, gets its answer."""
    scores = 20
    bodies = [json.dumps(COMPACT).encode(), json.dumps(dict(reversed(COMPACT.items()))).encode()]
    with ThreadPoolExecutor(8) as pool:
        for score in range(scores):
            order = f"order-{score}"
            replies = list(
                pool.map(
                    lambda one: service.anywhere(bodies[one % 2], key=key, idempotency_key=order),  # noqa: B023  used at once
                    range(16),
                )
            )
            assert {reply.status_code for reply in replies} == {200}
            assert len({reply.content for reply in replies}) == 1
            assert sum(not replayed(reply) for reply in replies) == 1
    assert len(stored(service, key)) == scores


def test_who_waits_for_an_answer_that_takes_long_is_told_after_a_second_to_come_again(
    service: Service, key: str
) -> None:
    assert service.score(key=key).status_code == 200
    database = service.installed.database
    with ThreadPoolExecutor(8) as pool:
        with database.writing() as connection:  # on SQLite nobody else can
            if not database.embedded:
                connection.exec_driver_sql("LOCK TABLE idempotency IN EXCLUSIVE MODE")
            began_s = time.monotonic()
            asked = [
                pool.submit(service.anywhere, key=key, idempotency_key="order-1") for _ in range(8)
            ]
            told = list(islice(as_completed(asked), 6))  # each of two processes has a first
            assert time.monotonic() - began_s >= 1.0
        for one in told:
            require_problem(one.result(), 409, "idempotency_in_flight")
        replies = [one.result() for one in asked if one not in told]
    answered = {reply.content for reply in replies if reply.status_code == 200}
    assert len(answered) == 1
    assert service.score(key=key, idempotency_key="order-1").content in answered
