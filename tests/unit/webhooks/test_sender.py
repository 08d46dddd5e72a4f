"""Whatever a receiver does, it costs one slot for a while, and the result says what it was."""

from __future__ import annotations

import asyncio
import gzip
import threading
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.platform.addresses import DEVELOPMENT
from alama.webhooks import courier
from alama.webhooks import sender as names
from alama.webhooks.records import DeliveryResult, SendError
from alama.webhooks.sender import KEPT_BYTES_MAX, READ_BYTES_MAX, Sender
from tests.ports import HOST, free_port
from tests.tries import tries
from tests.unit.webhooks.raw_receivers import (
    OK,
    OK_AND_CLOSE,
    Answer,
    Receiver,
    Trap,
    breaking_off_after,
    dripping,
    receiving,
    resetting,
)

NOW_US = 1_763_200_000_000_000
BODY = b'{"type":"webhook.test"}'
HEADERS = courier.signature_headers("evt_1", BODY, [b"secret"], NOW_US // 1_000_000)
NAME = "receiver.example"
LENDER = "demo"
TIMEOUT_S = 60.0  # far from the second that a body has, also where the machine is busy
MIB = 1024 * 1024

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"


@asynccontextmanager
async def sender(
    timeout_s: float = TIMEOUT_S, lookup: names.Lookup = lambda _: [HOST]
) -> AsyncIterator[Sender]:
    made = Sender(DEVELOPMENT, lambda: NOW_US, lookup, timeout_s)
    try:
        yield made
    finally:
        await made.close()


async def sent(answer: Answer | bytes, timeout_s: float = TIMEOUT_S) -> DeliveryResult:
    async with receiving(answer) as receiver, sender(timeout_s) as sending:
        return await sending.send(receiver.url(), HEADERS, BODY, LENDER)


def result_of(answer: Answer | bytes, timeout_s: float = TIMEOUT_S) -> DeliveryResult:
    return asyncio.run(sent(answer, timeout_s))


def with_length(body: bytes, head: bytes = HEAD) -> bytes:
    return head + b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(body) + body


def test_an_event_arrives_as_it_was_signed_and_the_answer_is_told() -> None:
    async def scenario() -> tuple[DeliveryResult, bytes]:
        async with receiving(OK) as receiver, sender() as sending:
            result = await sending.send(f"{receiver.url()}/%7Ea?b=%20c", HEADERS, BODY, LENDER)
            return result, receiver.requests[0]

    result, request = asyncio.run(scenario())
    assert result == DeliveryResult(200, None, "ok", result.took_ms)
    head, _, body = request.partition(b"\r\n\r\n")
    assert body == BODY
    first, *lines = head.decode().split("\r\n")
    assert first == "POST /hooks/%7Ea?b=%20c HTTP/1.1"
    headers = dict(line.lower().split(": ", 1) for line in lines)
    assert {name: headers[name] for name in HEADERS} == {
        name: value.lower() for name, value in HEADERS.items()
    }
    assert set(headers) - set(HEADERS) == {"host", "accept", "accept-encoding", "content-length"}
    assert headers["accept-encoding"] == "identity"


def test_connections_are_used_again_and_cookies_are_not() -> None:
    async def scenario() -> Receiver:
        crumb = b"HTTP/1.1 204 No Content\r\nset-cookie: a=b; Path=/\r\n\r\n"
        async with receiving(crumb) as receiver, sender() as sending:
            for _ in range(3):
                assert (await sending.send(receiver.url(), HEADERS, BODY, LENDER)).status == 204
            return receiver

    receiver = asyncio.run(scenario())
    assert receiver.connections == 1
    assert len(receiver.requests) == 3
    assert not any(b"cookie" in request.lower() for request in receiver.requests)


def test_many_slow_receivers_are_waited_for_at_the_same_time() -> None:
    async def scenario() -> None:
        came, all_have_come = count(1), asyncio.Event()

        async def slow(writer: asyncio.StreamWriter) -> None:
            if next(came) == 150:
                all_have_come.set()
            await all_have_come.wait()
            writer.write(OK_AND_CLOSE)
            writer.close()

        async with receiving(slow) as receiver, sender() as sending:
            results = await asyncio.gather(
                *(sending.send(receiver.url(), HEADERS, BODY, LENDER) for _ in range(150))
            )
        assert {result.status for result in results} == {200}

    asyncio.run(scenario())


@pytest.mark.parametrize("status", [200, 201, 299, 304, 400, 404, 410, 429, 500, 503, 599])
def test_every_status_is_told_as_it_came(status: int) -> None:
    result = result_of(f"HTTP/1.1 {status} So\r\nconnection: close\r\n\r\n".encode())
    assert (result.status, result.error) == (status, None)


@pytest.mark.parametrize(
    ("header", "asked_s"),
    [
        (b"120", 120),
        (b"0", 0),
        (b"999999999999", 86_400),
        (b"Sat, 15 Nov 2025 09:51:40 GMT", 300),
        (b"soon", None),
        (b"", None),
    ],
)
def test_what_a_receiver_asks_for_is_told_in_seconds(header: bytes, asked_s: int | None) -> None:
    busy = b"HTTP/1.1 503 Busy\r\nconnection: close\r\ncontent-length: 0\r\nretry-after: "
    assert result_of(busy + header + b"\r\n\r\n").retry_after_s == asked_s


# ------------------------------------------------------------------------- answers without an end


def test_of_a_huge_answer_the_beginning_is_kept_and_little_is_read() -> None:
    written = 0

    async def huge(writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(HEAD + b"content-length: %d\r\n\r\n" % (1024 * MIB))
        while True:
            writer.write(b"a" * 65_536)
            await writer.drain()
            written += 65_536

    result = result_of(huge)
    assert result == DeliveryResult(200, None, "a" * KEPT_BYTES_MAX, result.took_ms)
    assert written < 20 * MIB  # what the buffers of two systems hold


def test_a_status_counts_though_its_body_never_ends() -> None:
    endless = (
        dripping(CHUNKED, b"1\r\na\r\n", 0.05),
        dripping(CHUNKED, b"", 0.05),
        dripping(HEAD + b"content-length: 9\r\n\r\n", b"", 0.05),
        dripping(HEAD + b"\r\n", b"a", 0.05),
    )

    async def scenario() -> list[DeliveryResult]:
        return await asyncio.gather(*(sent(answer) for answer in endless))

    for told in asyncio.run(scenario()):
        assert (told.status, told.error) == (200, None)
        assert told.took_ms < 0.8 * TIMEOUT_S * 1_000
        assert set(told.text) <= {"a"}


@pytest.mark.parametrize(
    "never",
    [
        pytest.param(dripping(b"", b"", 0.02), id="silence"),
        pytest.param(dripping(b"", b"H", 5), id="a letter now and then"),
        pytest.param(dripping(HEAD, b"x: y\r\n", 0.02), id="one header more"),
        pytest.param(dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.001), id="go on, go on"),
    ],
)
def test_an_answer_that_does_not_come_is_not_waited_for(never: Answer) -> None:
    result = result_of(never, timeout_s=0.3)
    assert result == DeliveryResult(None, SendError.TIMEOUT, "", result.took_ms)
    assert 290 <= result.took_ms < 0.8 * TIMEOUT_S * 1_000


def test_the_timeout_is_for_head_and_body_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "BODY_TIMEOUT_S", TIMEOUT_S)
    result = result_of(dripping(CHUNKED, b"1\r\na\r\n", 0.02), timeout_s=0.3)
    assert result.took_ms < 0.8 * TIMEOUT_S * 1_000


def test_a_connection_that_nobody_takes_is_not_waited_for() -> None:
    async def scenario(port: int) -> DeliveryResult:
        async with sender(timeout_s=0.2) as sending:
            return await sending.send(f"http://{HOST}:{port}/", HEADERS, BODY, LENDER)

    with Trap(HOST) as trap:
        assert asyncio.run(scenario(trap.port)).error == "timeout"


def test_a_name_server_that_does_not_answer_holds_up_nobody_else() -> None:
    answers = threading.Event()

    def lookup(name: str) -> list[str]:
        if name != NAME:
            answers.wait(60)
        return [HOST]

    async def scenario() -> None:
        async with receiving(OK_AND_CLOSE) as receiver, sender(lookup=lookup) as sending:
            stuck = [
                asyncio.create_task(
                    sending.send(receiver.url(f"slow{i}.example"), HEADERS, BODY, LENDER)
                )
                for i in range(names.OF_LENDER_MAX)
            ]
            await asyncio.sleep(0.01)
            # Neither another lender nor the threads that the database is asked on.
            assert (await sending.send(receiver.url(NAME), HEADERS, BODY, "other")).status == 200
            one_more = await sending.send(receiver.url(NAME), HEADERS, BODY, LENDER)
            assert one_more.error is SendError.NAMES_BUSY
            assert await asyncio.wait_for(asyncio.to_thread(lambda: 1), 60) == 1
            assert not any(task.done() for task in stuck)
            answers.set()
            assert {(await task).status for task in stuck} == {200}

    asyncio.run(scenario())


# ------------------------------------------------------------------------- answers that are none


@cache
def bomb() -> bytes:
    return gzip.compress(bytes(50 * MIB))


@pytest.mark.parametrize("encoding", [b"gzip", b"deflate", b"br", b"gzip, gzip", b"wrong"])
def test_nothing_is_unpacked(encoding: bytes) -> None:
    answer = with_length(bomb(), HEAD + b"content-encoding: " + encoding + b"\r\n")
    tracemalloc.start()
    result = result_of(answer)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result == DeliveryResult(200, None, "", result.took_ms)
    assert peak < 10 * MIB


@pytest.mark.parametrize(
    "end",
    [
        resetting,
        pytest.param(breaking_off_after(b""), id="closing"),
        pytest.param(breaking_off_after(HEAD), id="closing within the head"),
    ],
)
def test_a_connection_that_ends_before_the_answer_is_lost(end: Answer) -> None:
    assert result_of(end).error == "connection_lost"


def test_a_status_counts_though_the_connection_ends_before_the_body() -> None:
    torn = HEAD + b"connection: close\r\ncontent-length: 9\r\n\r\nbut"
    assert result_of(torn)[:3] == (200, None, "but")


@pytest.mark.parametrize(
    "answer",
    [
        b"220 mail.example ESMTP\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"a" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 100_000 + b"\r\n",
    ],
)
def test_what_is_no_http_is_a_malformed_answer(answer: bytes) -> None:
    assert result_of(breaking_off_after(answer)).error == "malformed_answer"


@tries(25)  # each is a connection
@given(
    st.lists(
        st.one_of(
            st.sampled_from([b"HTTP/1.1 ", b"200", b" OK", b"\r\n", b"\n", b": ", b"\r\n\r\n"]),
            st.sampled_from([b"transfer-encoding: chunked\r\n", b"content-length: 5\r\n"]),
            st.sampled_from([b"5\r\nhello\r\n", b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"\x00"]),
            st.binary(max_size=8),
        ),
        max_size=12,
    ).map(b"".join)
)
def test_no_answer_whatever_breaks_the_sender(answer: bytes) -> None:
    result = result_of(breaking_off_after(answer))
    assert (result.status is None) != (result.error is None)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("håndtert".encode(), "håndtert"),
        (b"one\ntwo\tthree", "one\ntwo\tthree"),
        (b"nul \x00 bell \x07 clear \x1b[2J", "nul ? bell ? clear ?[2J"),
        (b"no \xff utf-8", "no  utf-8"),
        (b"a" + "é".encode() * 4_000, "a" + "é" * 2_047),
    ],
)
def test_what_is_kept_of_an_answer_can_be_stored_and_shown(said: bytes, kept: str) -> None:
    result = result_of(with_length(said))
    assert result.text == kept
    assert len(kept.encode()) <= KEPT_BYTES_MAX < READ_BYTES_MAX


# --------------------------------------------------------------------------------- no connection


def test_a_closed_port_and_an_unknown_name_are_told_apart() -> None:
    def unknown(name: str) -> list[str]:
        raise OSError(f"no {name}")

    async def scenario(lookup: names.Lookup) -> DeliveryResult:
        async with sender(lookup=lookup) as sending:
            return await sending.send(f"http://{NAME}:{free_port()}/", HEADERS, BODY, LENDER)

    assert asyncio.run(scenario(lambda _: [HOST])).error == "connection_failed"
    assert asyncio.run(scenario(unknown)).error == "name_not_resolved"
    assert asyncio.run(scenario(lambda _: [])).error == "name_not_resolved"
