"""Long replies are packed for whoever takes it, and bodies unpacked no further than is wanted."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator

import pytest

from alama.platform.http.compression import LONG_BYTES, NotGzip, unpacked
from alama.platform.http.endpoint import Endpoint
from alama.platform.http.exchange import JSON, VARIES, Call, Reply
from alama.platform.http.negotiation import takes_gzip
from tests.entries import NOON_US
from tests.exchanges import Notes, Received, ask

LONG = b'{"data":"' + b"scores " * LONG_BYTES + b'"}'


def given(body: bytes, accept_encoding: str | None, *headers: tuple[bytes, bytes]) -> Received:
    async def handler(_: Call) -> Reply:
        return Reply(200, [JSON, *headers], body)

    endpoint = Endpoint("/v1/scores", {"GET": handler}, lambda: NOON_US, Notes())
    sent = {} if accept_encoding is None else {"accept-encoding": accept_encoding}
    received = asyncio.run(ask(endpoint, headers=sent))
    assert received is not None
    assert received.headers["content-length"] == str(len(received.body))
    return received


# ------------------------------------------------------------------------------------- replies


def test_a_long_reply_is_packed_for_whoever_takes_it() -> None:
    received = given(LONG, "gzip, deflate, br")
    assert received.headers["content-encoding"] == "gzip"
    assert len(received.body) < len(LONG) / 10
    assert gzip.decompress(received.body) == LONG


@pytest.mark.parametrize("body", [LONG[:LONG_BYTES], LONG * 20], ids=["short", "on a thread"])
def test_it_is_packed_whatever_its_length_beyond_that(body: bytes) -> None:
    assert gzip.decompress(given(body, "gzip").body) == body


def test_a_short_reply_is_sent_as_it_is() -> None:
    received = given(LONG[: LONG_BYTES - 1], "gzip")
    assert received.body == LONG[: LONG_BYTES - 1]
    assert not {"content-encoding", "vary"} & received.headers.keys()


@pytest.mark.parametrize("accept_encoding", [None, "br", "gzip;q=0", "identity"])
def test_a_long_reply_is_sent_as_it_is_to_everybody_else(accept_encoding: str | None) -> None:
    received = given(LONG, accept_encoding)
    assert received.body == LONG
    assert "content-encoding" not in received.headers


@pytest.mark.parametrize("accept_encoding", [None, "gzip"])
def test_a_long_reply_says_what_it_depends_on(accept_encoding: str | None) -> None:
    assert given(LONG, accept_encoding).headers["vary"] == "accept-encoding"
    assert given(LONG, accept_encoding, VARIES).headers["vary"] == "accept, accept-encoding"


def test_a_packed_reply_has_other_bytes_than_its_etag_names() -> None:
    etag = (b"etag", b'"abc"')
    assert given(LONG, None, etag).headers["etag"] == '"abc"'
    assert given(LONG, "gzip", etag).headers["etag"] == 'W/"abc"'


def test_what_is_packed_already_is_left_alone() -> None:
    packed = zlib.compress(bytes(range(256)) * 1_000, 0, 31)
    assert given(packed, "gzip", (b"content-encoding", b"gzip")).body == packed


@pytest.mark.parametrize(
    ("accept_encoding", "takes"),
    [
        ("gzip", True),
        ("GZIP;q=0.5", True),
        ("x-gzip", True),
        ("*", True),
        ("br;q=1.0, gzip;q=0.8, *;q=0.1", True),
        ("identity;q=0.5, gzip", True),
        ("", False),
        ("gzip;q=0", False),
        ("*;q=0", False),
        ("gzip;q=0, *", False),
        ("identity, gzip;q=0.5", False),
        ("deflate, br", False),
        ("gzip;q=x", False),
    ],
)
def test_the_weights_say_who_takes_it(accept_encoding: str, takes: bool) -> None:  # noqa: FBT001
    assert takes_gzip(accept_encoding.encode()) is takes


# ------------------------------------------------------------------------------------- bodies


def unpack(*pieces: bytes) -> list[bytes]:
    async def come() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def all_of_it() -> list[bytes]:
        return [piece async for piece in unpacked(come())]

    return asyncio.run(all_of_it())


@pytest.mark.parametrize("length", [0, 1, 1_000, 300_000])
def test_what_was_packed_comes_out_in_whatever_pieces_it_comes(length: int) -> None:
    plain = (b"one, two, three; " * length)[:length]
    packed = gzip.compress(plain)
    assert b"".join(unpack(packed)) == plain
    assert b"".join(unpack(*(packed[at : at + 1] for at in range(len(packed))))) == plain
    assert b"".join(unpack(packed[:5], b"", packed[5:] + packed)) == plain * 2


def test_little_is_unpacked_at_once() -> None:
    assert max(map(len, unpack(gzip.compress(bytes(10 << 20))))) <= 64 * 1024


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"{}",
        gzip.compress(b"{}")[:-1],
        gzip.compress(b"{}")[:10],
        gzip.compress(b"{}") + b"more",
        gzip.compress(b"{}")[:-8] + bytes(8),
        zlib.compress(b"{}"),
    ],
    ids=["nothing", "plain", "cut", "head", "more", "wrong sum", "zlib"],
)
def test_what_is_not_whole_is_refused(sent: bytes) -> None:
    with pytest.raises(NotGzip):
        unpack(sent)
