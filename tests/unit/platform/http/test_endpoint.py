"""Every request gets an id, an answer and one note, whatever its handler does."""

import asyncio
import re

import pytest

from alama.platform.errors import StoreUnavailable
from alama.platform.http.endpoint import Endpoint
from alama.platform.http.exchange import BODY_MAX, JSON, Call, Reply
from tests.entries import NOON_US
from tests.exchanges import Notes, Received, ask

MARK = "Zq7MARKED"


async def greet(call: Call) -> Reply:
    return Reply(200, [JSON], call.arrival.request_id.encode())


async def measure(call: Call) -> Reply:
    body = await call.body()
    return Reply(200, [JSON], b"too large" if body is None else str(len(body)).encode())


async def fail(_: Call) -> Reply:
    raise StoreUnavailable("the database is away")


async def break_down(_: Call) -> Reply:
    raise ValueError(MARK)


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def endpoint(notes: Notes) -> Endpoint:
    handlers = {"GET": greet, "POST": measure, "PUT": fail, "DELETE": break_down}
    return Endpoint("/v1/{thing}", handlers, lambda: NOON_US, notes)


def answer(
    endpoint: Endpoint, method: str, *body: bytes, headers: dict[str, str] | None = None
) -> Received:
    target = f"/v1/{MARK}?{MARK}"
    received = asyncio.run(ask(endpoint, method, target, headers, body or [b""]))
    assert received is not None
    return received


def test_every_reply_names_its_request_and_is_what_it_says_it_is(endpoint: Endpoint) -> None:
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
        received = answer(endpoint, method)
        assert re.fullmatch(r"req_[0-9a-f]{28}", received.headers["request-id"])
        assert received.headers["content-length"] == str(len(received.body))
        assert received.headers["x-content-type-options"] == "nosniff"


def test_no_two_requests_of_one_moment_share_an_id(endpoint: Endpoint) -> None:
    assert len({answer(endpoint, "GET").headers["request-id"] for _ in range(100)}) == 100


def test_a_handler_knows_the_id_that_the_reply_will_carry(endpoint: Endpoint) -> None:
    received = answer(endpoint, "GET")
    assert received.body.decode() == received.headers["request-id"]


@pytest.mark.parametrize(
    "named",
    [
        "1",
        "order-7",
        "7f9c2ba4-e88f-4d27-a1c5-0b6a3c1d5e42",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "Root=1-67891233-abcdef012345678912345678",
        "aGVsbG8+/w==",
        "a" * 128,
    ],
)
def test_an_id_of_the_caller_is_told_in_problems_and_notes_and_sent_back(
    endpoint: Endpoint, notes: Notes, named: str
) -> None:
    for method in ("GET", "PUT", "DELETE"):
        received = answer(endpoint, method, headers={"X-Request-Id": named})
        own = received.headers["request-id"]
        assert received.headers["x-request-id"] == named
        assert re.fullmatch(r"req_[0-9a-f]{28}", own)
        told = own if method == "GET" else received.json()["request_id"]
        assert told == (own if method == "GET" else named)
        assert (notes.exchanges[-1].request_id, notes.exchanges[-1].own_request_id) == (named, own)


def test_the_id_that_names_a_score_is_never_that_of_the_caller(endpoint: Endpoint) -> None:
    received = answer(endpoint, "GET", headers={"X-Request-Id": "order-7"})
    assert received.body.decode() == received.headers["request-id"]


@pytest.mark.parametrize(
    "named",
    [
        "",
        " ",
        "a" * 129,
        "two words",
        'a"b',
        "a\\b",
        "a{b",
        "caf\xe9",
        "a\x1b[2J",
        "a\x00",
        "mutua@example.com",
        "+254 700 000 000",
        "254700000000",
        "0700-000-000",
        "req_065bfeda25e0005d1f0a9c3b7e42",
        "alama_test_H2mZq8Tn0bXw4RyKc7VdL1eGf9JsPaM3kQzU",
    ],
)
def test_what_no_log_should_hold_is_passed_over(
    endpoint: Endpoint, notes: Notes, named: str
) -> None:
    received = answer(endpoint, "PUT", headers={"X-Request-Id": named})
    assert "x-request-id" not in received.headers
    assert received.json()["request_id"] == received.headers["request-id"]
    (note,) = notes.exchanges
    assert note.request_id == note.own_request_id == received.headers["request-id"]


def test_head_is_answered_as_get(endpoint: Endpoint) -> None:
    assert answer(endpoint, "HEAD").status == 200


def test_a_method_that_is_not_known_is_told_which_are(endpoint: Endpoint, notes: Notes) -> None:
    received = answer(endpoint, "PATCH")
    assert received.status == 405
    assert received.headers["allow"] == "GET, POST, PUT, DELETE, HEAD"
    assert received.json()["code"] == "method_not_allowed"
    assert notes.exchanges[0].method == "OTHER"


def test_an_error_of_ours_is_a_problem_and_no_defect(endpoint: Endpoint, notes: Notes) -> None:
    received = answer(endpoint, "PUT")
    assert (received.status, received.json()["code"]) == (503, "unavailable")
    assert notes.defects == []


def test_an_outage_is_told_to_whoever_watches(endpoint: Endpoint, notes: Notes) -> None:
    answer(endpoint, "PUT")
    answer(endpoint, "DELETE")
    assert [str(error) for error in notes.outages] == ["the database is away"]


def test_a_note_carries_the_code_of_the_problem(endpoint: Endpoint, notes: Notes) -> None:
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        answer(endpoint, method)
    codes = [note.code for note in notes.exchanges]
    assert codes == [None, "unavailable", "internal_error", "method_not_allowed"]
    assert {(note.lender, note.key_id) for note in notes.exchanges} == {(None, None)}


def test_a_method_that_is_refused_is_told_where_else_to_go(notes: Notes) -> None:
    endpoint = Endpoint("/v1/score", {"POST": measure}, lambda: NOON_US, notes, "it is over there")
    assert answer(endpoint, "GET").json()["detail"] == "This path knows POST. It is over there."


def test_a_defect_is_noted_and_told_without_its_words(endpoint: Endpoint, notes: Notes) -> None:
    received = answer(endpoint, "DELETE")
    assert (received.status, received.json()["code"]) == (500, "internal_error")
    assert received.json()["request_id"] == received.headers["request-id"]
    assert MARK not in str({**received.json(), "instance": None})
    assert [str(defect) for defect in notes.defects] == [MARK]
    assert notes.exchanges[0].status == 500


def test_each_request_is_noted_once_and_nothing_of_the_caller_is_in_the_note(
    endpoint: Endpoint, notes: Notes
) -> None:
    received = answer(endpoint, "POST", MARK.encode())
    (note,) = notes.exchanges
    assert (note.request_id, note.route) == (received.headers["request-id"], "/v1/{thing}")
    assert (note.method, note.status) == ("POST", 200)
    assert note.seconds > 0
    assert MARK not in repr(note)


@pytest.mark.parametrize("body", [[None], [b"half", None]], ids=["at once", "halfway"])
def test_a_caller_who_leaves_gets_no_answer_and_no_note(
    endpoint: Endpoint, notes: Notes, body: list[bytes | None]
) -> None:
    assert asyncio.run(ask(endpoint, "POST", body=body)) is None
    assert notes.exchanges == []


def test_a_body_in_parts_is_put_together(endpoint: Endpoint) -> None:
    assert answer(endpoint, "POST", b"a" * 10, b"", b"b" * 20).body == b"30"


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([b"a" * BODY_MAX], str(BODY_MAX).encode()),
        ([b"a" * (BODY_MAX + 1)], b"too large"),
        ([b"a" * 60_000, b"a" * 60_000, b"never read"], b"too large"),
    ],
)
def test_a_body_is_read_up_to_its_limit(
    endpoint: Endpoint, parts: list[bytes], said: bytes
) -> None:
    assert answer(endpoint, "POST", *parts).body == said
