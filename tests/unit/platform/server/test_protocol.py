"""What callers may take before they have shown a key: bytes, time, connections."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from alama.platform.server.connections import Limits
from alama.platform.server.protocol import Replies
from tests.unit.platform.server.raw_http import (
    PATIENT,
    QUICK,
    Spoken,
    fields,
    rest,
    spoken,
    statuses,
)

POST = b"POST /v1/score HTTP/1.1\r\nHost: x\r\n"
GET = b"GET /v1/health HTTP/1.1\r\nHost: x\r\n"
CLOSE = b"Connection: close\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n"


@pytest.fixture(scope="module")
def patient() -> Iterator[Spoken]:
    with spoken(PATIENT) as served:
        yield served


@pytest.fixture(scope="module")
def quick() -> Iterator[Spoken]:
    with spoken(QUICK) as served:
        yield served


def require_problem(said: bytes, status: int, code: str) -> dict[str, object]:
    """The last reply is a problem like any other, and the last that there is."""
    assert statuses(said)[-1] == status, said[:2_000]
    told = fields(said)
    assert told["content-type"] == "application/problem+json"
    assert told["connection"] == "close"
    problem: dict[str, object] = json.loads(said.rpartition(b"\r\n\r\n")[2])
    assert problem["code"] == code
    assert problem["request_id"] == told["request-id"]
    return problem


def sent_until_refused(caller: socket.socket, part: bytes, pause_s: float) -> int:
    """Send for as long as the other side takes it, and give how many bytes that were."""
    sent = 0
    try:
        while sent < 200_000_000:
            sent += caller.send(part)
            time.sleep(pause_s)
    except OSError:
        pass
    return sent


# ------------------------------------------------------------------------------------- headers


REFUSED = {
    "two keys": GET + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
    "two keys, one after an offer": GET + OFFER + b"Authorization: a\r\nauthorization: b\r\n\r\n",
    "no host": b"GET /v1/health HTTP/1.1\r\n\r\n",
    "two hosts": GET + b"Host: x\r\n\r\n",
    "two types": POST + b"Content-Type: a/b\r\nContent-Type: c/d\r\nContent-Length: 0\r\n\r\n",
    "two encodings": POST + b"Content-Encoding: gzip\r\nContent-Encoding: identity\r\n\r\n",
    "two lengths": POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "a list of lengths": POST + b"Content-Length: 1, 1\r\n\r\na",
    "a length and chunks": POST + CHUNKED + b"Content-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "chunks and a length": POST + b"Content-Length: 3\r\n" + CHUNKED + b"\r\n",
    "an encoding after chunks": POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n",
    "a folded header": GET + b"A: b\r\n c\r\n\r\n",
    "a space before a colon": GET + b"A : b\r\n\r\n",
    "a NUL": GET + b"A: b\0c\r\n\r\n",
    "a bare CR": GET + b"A: b\rc\r\n\r\n",
    "a bare LF": GET + b"A: b\nC: d\r\n\r\n",
    "lines that end in LF": b"GET / HTTP/1.1\nHost: x\n\n",
    "a method in lower case": b"get / HTTP/1.1\r\nHost: x\r\n\r\n",
    "no name": GET + b": x\r\n\r\n",
    "no path": b"GET http://x HTTP/1.1\r\nHost: x\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "HTTP/1.0 with Connection: Upgrade": b"GET /a HTTP/1.0\r\nConnection: Upgrade\r\n\r\n",
    "HTTP/1.0 with two of it": b"GET /a HTTP/1.0\r\nConnection: upgrade\r\n"
    b"Connection: keep-alive\r\n\r\n",
    "HTTP/1.0 with an offer": b"GET /a HTTP/1.0\r\n" + OFFER + b"\r\n",
    "HTTP/1.0 with an offer and a body": b"POST /a HTTP/1.0\r\n"
    + OFFER
    + b"Content-Length: 3\r\n\r\nabc",
    "a bad chunk": POST + CHUNKED + b"\r\nZZ\r\n",
}


@pytest.mark.parametrize("sent", REFUSED.values(), ids=REFUSED)
def test_what_could_be_read_in_two_ways_is_refused_and_the_connection_closed(
    patient: Spoken, sent: bytes
) -> None:
    said = patient.say(sent)
    assert len(statuses(said)) == 1
    require_problem(said, 400, "malformed_http")


def test_a_refusal_names_the_header_and_the_path_and_is_noted(patient: Spoken) -> None:
    said = patient.say(POST + b"Authorization: Bearer s3cret\r\nAuthorization: x\r\n\r\n")
    problem = require_problem(said, 400, "malformed_http")
    assert problem["detail"] == "The header authorization came more than once."
    assert problem["instance"] == "/v1/score"
    exchange = patient.noted.exchanges[-1]
    assert (exchange.status, exchange.code) == (400, "malformed_http")
    assert (exchange.route, exchange.method) == ("unknown", "OTHER")


ANSWERED = {
    "HTTP/1.0 without a host": b"GET /a HTTP/1.0\r\n\r\n",
    "an offer and a close": b"GET /a HTTP/1.1\r\nHost: x\r\n"
    b"Connection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n",
    "the whole address": b"GET http://y/a HTTP/1.1\r\nHost: x\r\n" + CLOSE + b"\r\n",
    "an asterisk": b"OPTIONS * HTTP/1.1\r\nHost: x\r\n" + CLOSE + b"\r\n",
    "headers that may come twice": GET + CLOSE + b"Accept: a\r\nAccept: b\r\n\r\n",
}


@pytest.mark.parametrize("sent", ANSWERED.values(), ids=ANSWERED)
def test_what_is_unusual_is_answered_and_closed(patient: Spoken, sent: bytes) -> None:
    assert statuses(patient.say(sent)) == [200]


@pytest.mark.parametrize("packets", [1, 2, 3])
def test_headers_after_the_body_are_refused_in_however_many_packets(
    patient: Spoken, packets: int
) -> None:
    parts = [
        POST + CHUNKED + b"\r\n3\r\nabc\r\n",
        b"0\r\n",
        b"Authorization: Bearer a\r\nExpect: 100-continue\r\n\r\n",
    ]
    sent = [b"".join(parts[: 4 - packets]), *parts[4 - packets :]]
    said = patient.say(*sent)
    assert statuses(said) == [400]
    assert b"malformed_http" in said


def test_a_caller_who_waits_to_be_asked_for_the_body_is_asked(patient: Spoken) -> None:
    with patient.connect() as caller:
        caller.sendall(POST + CLOSE + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        assert caller.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        caller.sendall(b"abc")
        assert rest(caller).endswith(b"|abc")


@pytest.mark.parametrize(
    ("bad", "status"),
    [
        (b"get /\r\n\r\n", 400),
        (GET + b"Host: y\r\n\r\n", 400),
        (POST + CHUNKED + b"\r\nZZ\r\n", 400),
        (GET + b"A: " + b"a" * 40_000 + b"\r\n\r\n", 431),
    ],
    ids=["no HTTP", "two hosts", "a bad chunk", "too large"],
)
def test_a_bad_request_behind_good_ones_is_answered_in_its_turn(
    patient: Spoken, bad: bytes, status: int
) -> None:
    slow = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
    said = patient.say(slow + GET + b"\r\n" + bad + GET + b"\r\n")
    assert statuses(said) == [200, 200, status]


def test_requests_that_are_sent_ahead_have_a_bound(patient: Spoken) -> None:
    slow = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
    said = patient.say(slow + (GET + b"\r\n") * 500)
    assert statuses(said) == [200] * (1 + PATIENT.ahead) + [400]


# ------------------------------------------------------------------------------------- bytes


@pytest.mark.parametrize("packet", [1_000, 30_000, 1_000_000])
def test_a_head_has_32_kib_and_not_a_byte_more(patient: Spoken, packet: int) -> None:
    most, said = Limits().head_bytes, b""
    assert most == 32 * 1024
    for over, status in ((0, 200), (1, 431)):
        start = GET + CLOSE + b"A: "
        head = start + b"a" * (most - len(start) - 4 + over) + b"\r\n\r\n"
        assert len(head) == most + over
        said = patient.say(*(head[n : n + packet] for n in range(0, len(head), packet)))
        assert statuses(said) == [status]
    require_problem(said, 431, "head_too_large")
    assert "size" in patient.noted.reasons


@pytest.mark.parametrize(
    "between",
    [b"3;" + b"e" * 40_000, b"0\r\n" + b"T: t\r\n" * 8_000, b"\r\n" * 20_000],
    ids=["extensions", "trailers", "empty lines"],
)
def test_what_stands_beside_a_body_has_the_same_bound(patient: Spoken, between: bytes) -> None:
    before = b"" if between.startswith(b"\r\n") else POST + CHUNKED + b"\r\n"
    said = patient.say(before + between)
    assert statuses(said) in ([431], [400])  # empty lines are no chunk


@pytest.mark.parametrize("packets", [1, 3])
def test_a_head_has_at_most_a_hundred_headers(patient: Spoken, packets: int) -> None:
    lines = [b"A: a\r\n" * 34] * 3
    parts = [GET + lines[0], lines[1], lines[2] + b"\r\n"]
    said = patient.say(*(parts if packets > 1 else [b"".join(parts)]))
    assert statuses(said) == [431]


@pytest.mark.parametrize("coding", [b"gzip, chunked", b"chunked, chunked", b"identity"])
def test_a_body_is_plain_or_in_plain_chunks(patient: Spoken, coding: bytes) -> None:
    said = patient.say(POST + b"Transfer-Encoding: " + coding + b"\r\n\r\n0\r\n\r\n")
    assert statuses(said) == [400]


def test_chunks_are_not_for_http_1_0(patient: Spoken) -> None:
    said = patient.say(POST.replace(b"1.1", b"1.0") + CHUNKED + b"\r\n0\r\n\r\n")
    assert statuses(said) == [400]


def test_a_head_without_end_is_read_no_further(patient: Spoken) -> None:
    with patient.connect() as caller:
        caller.sendall(GET)
        assert sent_until_refused(caller, b"A: " + b"a" * 60_000 + b"\r\n", 0.0) < 20_000_000


def test_a_large_body_passes(patient: Spoken) -> None:
    body = bytes(range(256)) * 4_000
    with patient.connect() as caller:
        caller.sendall(POST + CLOSE + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert rest(caller).endswith(b"|" + body)
        assert len(body) > 1_000_000


# ------------------------------------------------------------------------------------- time


def test_a_head_that_does_not_end_is_ended(quick: Spoken) -> None:
    require_problem(quick.say(GET + b"A:"), 408, "request_timeout")
    assert "head" in quick.noted.reasons


def test_a_head_gains_no_time_by_coming_slowly(quick: Spoken) -> None:
    with quick.connect() as caller:
        began_s = time.monotonic()
        caller.sendall(GET)
        said = b""
        caller.settimeout(0.05)
        while not said:
            assert time.monotonic() - began_s < 60
            try:
                caller.sendall(b"A: b\r\n")
                said = caller.recv(65_536)
            except TimeoutError:
                continue
    assert statuses(said) == [408]


def test_a_connection_that_says_nothing_is_closed_without_a_word(quick: Spoken) -> None:
    assert quick.say() == b""


def test_a_second_head_has_its_time_too(quick: Spoken) -> None:
    assert statuses(quick.say(GET + b"\r\n", GET)) == [200, 408]


def test_empty_lines_between_requests_gain_no_time() -> None:
    with spoken(QUICK, keep_alive_s=1) as served, served.connect() as caller:
        caller.sendall(GET + b"\r\n")
        assert statuses(caller.recv(65_536)) == [200]
        deadline_s = time.monotonic() + 60
        caller.settimeout(0.1)
        is_open = True
        while is_open:
            assert time.monotonic() < deadline_s
            with suppress(TimeoutError):
                try:
                    caller.sendall(b"\r\n")
                    is_open = caller.recv(1) != b""
                except ConnectionError:
                    is_open = False


def test_a_connection_rests_once_the_body_of_an_answered_request_has_come() -> None:
    with spoken(QUICK, keep_alive_s=1) as served, served.connect() as caller:
        caller.sendall(b"POST /unread HTTP/1.1\r\nHost: x\r\n" + CHUNKED + b"\r\n1\r\na\r\n")
        assert statuses(caller.recv(65_536)) == [200]
        caller.sendall(b"0\r\n\r\n")
        assert rest(caller) == b""


def test_a_body_that_does_not_come_is_ended(quick: Spoken) -> None:
    said = quick.say(POST + b"Content-Length: 3\r\n\r\na")
    problem = require_problem(said, 408, "request_timeout")
    assert problem["instance"] == "/v1/score"
    assert "body" in quick.noted.reasons


def test_a_body_that_comes_steadily_has_the_time_it_takes() -> None:
    with (
        spoken(QUICK._replace(body_s=0.3, body_bytes_s=1_000)) as served,
        served.connect() as caller,
    ):
        caller.sendall(POST + CLOSE + b"Content-Length: 10000\r\n\r\n" + b"a" * 1_000)
        for _ in range(9):
            time.sleep(0.1)
            caller.sendall(b"a" * 1_000)
        assert statuses(rest(caller)) == [200]


def test_the_rest_of_a_body_that_was_answered_gains_no_time(quick: Spoken) -> None:
    with quick.connect() as caller:
        caller.sendall(b"POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n")
        assert sent_until_refused(caller, b"a" * 1_000, 0.01) < 2_000_000


def test_a_caller_that_does_not_read_is_dropped(quick: Spoken) -> None:
    with socket.socket() as caller:
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        caller.settimeout(60)
        caller.connect(("127.0.0.1", quick.port))
        caller.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        deadline_s = time.monotonic() + 60
        while "reply" not in quick.noted.reasons:
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        assert len(rest(caller)) < 20_000_000


def test_a_request_takes_as_long_as_it_takes(quick: Spoken) -> None:
    slow = b"GET /slow HTTP/1.1\r\nHost: x\r\n" + CLOSE + b"\r\n"
    assert statuses(quick.say(slow)) == [200]


# ------------------------------------------------------------------------------------- replies


class Pieces:
    """A transport that remembers what was written to it, piece by piece."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes) -> None:
        assert not self.is_closed
        self.written.append(data)

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ([b"head", b"body"], [b"headbody"]),
        ([b"head", b"", b"more"], [b"head", b"more"]),
        ([b"head"], [b"head"]),  # to HEAD
        ([b"HTTP/1.1 100 Continue\r\n\r\n", b"head", b"a", b"b"], None),
    ],
)
def test_a_head_goes_with_the_first_of_its_body(
    said: list[bytes], written: list[bytes] | None
) -> None:
    pieces = Pieces()
    replies = Replies(pieces)  # type: ignore[arg-type]
    for _ in range(2):
        pieces.written.clear()
        for part in said:
            replies.write(part)
        replies.end()
        assert pieces.written == (written or [said[0], b"heada", b"b"])
    replies.write(b"broken off")
    replies.close()
    assert pieces.written[-1] == b"broken off"
    assert replies.is_closing()
    replies.write(b"to somebody who has left")
    replies.end()
    assert pieces.written[-1] == b"broken off"


def test_whoever_asks_for_a_head_alone_gets_it_before_what_it_asks_next(patient: Spoken) -> None:
    head = b"HEAD" + GET.removeprefix(b"GET") + b"\r\n"
    said = patient.say(head + GET + b"\r\n" + GET + CLOSE + b"\r\n")
    assert statuses(said) == [200, 200, 200]
