"""A probe shows whether an event would arrive, goes where an event may go, and sends nothing."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from alama.platform import addresses
from alama.platform.addresses import DEVELOPMENT, Reach
from alama.webhooks.records import SendError
from alama.webhooks.sender import probe
from tests.certificates import Authority
from tests.ports import HOST, free_port
from tests.unit.webhooks.raw_receivers import OK_AND_CLOSE, Trap, receiving

NAME = "receiver.example"
REACH = Reach(addresses.LOOPBACK)


def here(_: str) -> list[str]:
    return [HOST]


def test_a_receiver_whose_certificate_is_trusted_is_reached_and_hears_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))

    async def scenario() -> None:
        async with receiving(OK_AND_CLOSE, tls=authority.server(NAME)) as receiver:
            assert await probe(receiver.url(NAME, "https"), REACH, here) is None
            assert receiver.requests == []

    asyncio.run(scenario())


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with receiving(OK_AND_CLOSE, tls=Authority(tmp_path).server(NAME)) as receiver:
            found = await probe(receiver.url(NAME, "https"), REACH, here)
            assert found is SendError.TLS_FAILED
            assert receiver.requests == []

    asyncio.run(scenario())


def test_in_development_a_receiver_without_tls_is_reached() -> None:
    async def scenario() -> None:
        async with receiving(OK_AND_CLOSE) as receiver:
            assert await probe(receiver.url(), DEVELOPMENT) is None
            assert receiver.requests == []

    asyncio.run(scenario())


def test_no_socket_is_made_for_an_address_that_is_not_allowed() -> None:
    with Trap() as trap:
        url = f"https://{NAME}:{trap.port}/in"
        assert asyncio.run(probe(url, Reach(), here)) is SendError.ADDRESS_FORBIDDEN
        literal = f"https://{HOST}:{trap.port}/in"
        assert asyncio.run(probe(literal, Reach(), here)) is SendError.URL_REFUSED
        assert trap.connections() == 0


def test_a_name_that_nobody_knows_and_a_port_that_is_closed_are_told_apart() -> None:
    def unknown(_: str) -> list[str]:
        raise OSError("no such name")

    url = f"https://{NAME}:{free_port()}/in"
    assert asyncio.run(probe(url, REACH, unknown)) is SendError.NAME_NOT_RESOLVED
    assert asyncio.run(probe(url, REACH, here)) is SendError.CONNECTION_FAILED


def test_the_next_address_of_a_name_is_tried() -> None:
    async def scenario() -> None:
        async with receiving(OK_AND_CLOSE) as receiver:
            found = await probe(
                receiver.url(NAME), DEVELOPMENT, lambda _: ["127.0.0.2", "192.0.2.1", HOST]
            )
            assert found is None

    asyncio.run(scenario())


def test_who_never_shakes_hands_is_left_in_time() -> None:
    with Trap() as trap:
        began_s = time.monotonic()
        url = f"https://{NAME}:{trap.port}/in"
        assert asyncio.run(probe(url, REACH, here, timeout_s=0.2)) is SendError.TIMEOUT
        assert time.monotonic() - began_s < 60
