"""Nothing connects to where it should not: proved by sockets that listen there and hear nobody."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Sequence
from ipaddress import ip_network
from itertools import cycle
from pathlib import Path

import aiohttp
import pytest
from yarl import URL

from alama.platform import addresses
from alama.platform.addresses import DEVELOPMENT, Reach
from alama.webhooks import sender as guard
from alama.webhooks import sender as names
from alama.webhooks.records import DeliveryResult, SendError
from alama.webhooks.sender import Sender
from tests.unit.webhooks.raw_receivers import OK_AND_CLOSE, Trap, receiving

TIMEOUT_S = 60.0
NOW_US = 1_763_200_000_000_000

PUBLIC = "127.0.0.2"
"""Stands for a public address: the tests allow it alone, and so need no network."""
STRICT = Reach((), DEVELOPMENT.schemes)
REACH = Reach((ip_network(PUBLIC),), DEVELOPMENT.schemes)

LITERALS = [
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",  # noqa: S104 - the point is that it reaches this machine
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "0177.1",
    "127.1",
    "127.0.1",
    "127.0.0.1.",
    "0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "[fe80::1%25lo]",
    "[::1%25lo]",
    "localhost",
]
NAMES_OF_HERE = ["LOCALHOST.", "hooks.localhost"]
"""By the rules. Whether they resolve at all is up to the system, and may take a name server."""


@pytest.fixture
def trap() -> Iterator[Trap]:
    with Trap() as trap:
        yield trap


def lookup(*answers: Sequence[str]) -> names.Lookup:
    """Answer the first question with the first of these, and so on, round and round."""
    following = cycle(answers)
    return lambda _: next(following)


async def sent(url: str, reach: Reach, by: names.Lookup = names.system_lookup) -> DeliveryResult:
    sender = Sender(reach, lambda: NOW_US, by, TIMEOUT_S)
    try:
        return await sender.send(url, {}, b"{}", "demo")
    finally:
        await sender.close()


@pytest.mark.parametrize("host", LITERALS + NAMES_OF_HERE)
def test_no_spelling_of_an_address_leads_here(trap: Trap, host: str) -> None:
    result = asyncio.run(sent(f"http://{host}:{trap.port}/", STRICT))
    assert result.status is None
    assert result.error == "url_refused"
    assert trap.connections() == 0


@pytest.mark.parametrize("host", LITERALS)
def test_the_guard_alone_refuses_what_slips_past_the_rules_for_urls(trap: Trap, host: str) -> None:
    async def ask() -> None:
        resolver = names.Names(names.system_lookup)
        connector = aiohttp.TCPConnector(
            resolver=resolver, use_dns_cache=False, socket_factory=guard.sockets(())
        )
        timeout = aiohttp.ClientTimeout(TIMEOUT_S)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            with pytest.raises((aiohttp.ClientConnectorError, ValueError)) as refused:
                await session.get(URL(f"http://{host}:{trap.port}/", encoded=True))
        await resolver.close()
        assert not isinstance(refused.value, TimeoutError)

    asyncio.run(ask())
    assert trap.connections() == 0


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["::1%lo"],
        ["0.0.0.0"],  # noqa: S104 - as above
        ["127.0.0.1", "::1", "127.0.0.1", "127.0.0.1"],
        ["10.0.0.1", "169.254.169.254", "fd00:ec2::254", "168.63.129.16"],
        ["localhost"],  # a resolver that gives a name would have the system resolve it
        ["127.1"],
    ],
)
def test_no_name_leads_here(trap: Trap, answers: list[str]) -> None:
    url = f"http://receiver.example:{trap.port}/"
    result = asyncio.run(sent(url, STRICT, lookup(answers)))
    assert result == DeliveryResult(None, SendError.ADDRESS_FORBIDDEN, "", result.took_ms)
    assert trap.connections() == 0


def test_the_trap_hears_who_is_allowed() -> None:
    # So that a trap that hears nobody proves something.
    with Trap() as trap:

        async def attempt() -> DeliveryResult:
            reach = Reach(addresses.LOOPBACK, DEVELOPMENT.schemes)
            sender = Sender(reach, lambda: NOW_US, lookup(["127.0.0.1"]), timeout_s=1.0)
            try:
                return await sender.send(f"http://receiver.example:{trap.port}/", {}, b"{}", "demo")
            finally:
                await sender.close()

        assert asyncio.run(attempt()).error == "timeout"
        assert trap.connections() == 1


def test_a_name_that_changes_its_mind_reaches_only_what_is_allowed() -> None:
    async def scenario() -> list[str | int | None]:
        async with receiving(OK_AND_CLOSE, host=PUBLIC) as receiver:
            with Trap("127.0.0.1", receiver.port) as trap:
                sender = Sender(
                    REACH, lambda: NOW_US, lookup([PUBLIC], ["127.0.0.1"], [PUBLIC], ["::1"])
                )
                url = receiver.url("receiver.example")
                results = [await sender.send(url, {}, b"{}", "demo") for _ in range(8)]
                await sender.close()
                assert trap.connections() == 0
                assert receiver.connections == 4
        return [result.status or result.error for result in results]

    assert asyncio.run(scenario()) == [200, "address_forbidden"] * 4


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1", PUBLIC],
        [PUBLIC, "127.0.0.1"],
        ["::1", "127.0.0.1", PUBLIC],
        ["::ffff:127.0.0.1", "127.0.0.1", "::1", PUBLIC],
    ],
)
def test_of_several_addresses_only_those_allowed_are_tried(answers: list[str]) -> None:
    async def scenario() -> None:
        async with receiving(OK_AND_CLOSE, host=PUBLIC) as receiver:
            with Trap("127.0.0.1", receiver.port) as trap:
                url = receiver.url("receiver.example")
                assert (await sent(url, REACH, lookup(answers))).status == 200
                assert trap.connections() == 0

    asyncio.run(scenario())


def test_a_name_with_hundreds_of_addresses_is_no_scanner() -> None:
    asked: list[str] = []

    def forged(wanted: aiohttp.AddrInfoType) -> socket.socket:
        asked.append(wanted[4][0])
        raise guard.AddressForbidden

    async def ask() -> None:
        resolver = names.Names(lambda _: [f"203.0.113.{number}" for number in range(200)])
        connector = aiohttp.TCPConnector(
            resolver=resolver, use_dns_cache=False, socket_factory=forged
        )
        async with aiohttp.ClientSession(connector=connector) as session:
            with pytest.raises(aiohttp.ClientConnectorError):
                await session.get("http://receiver.example/")
        await resolver.close()

    asyncio.run(ask())
    assert len(set(asked)) == names.ADDRESSES_MAX


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer_and_not_followed(trap: Trap, status: int) -> None:
    answer = (
        f"HTTP/1.1 {status} Elsewhere\r\nlocation: http://127.0.0.1:{trap.port}/\r\n"
        "connection: close\r\ncontent-length: 0\r\n\r\n"
    )

    async def scenario() -> DeliveryResult:
        # Allowed here, so that nothing but the redirect itself is what stops it.
        async with receiving(answer.encode()) as receiver:
            return await sent(receiver.url(), DEVELOPMENT)

    assert asyncio.run(scenario()).status == status
    assert trap.connections() == 0


def test_proxies_and_passwords_of_the_environment_are_not_used(
    trap: Trap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "ws_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{trap.port}")
        monkeypatch.setenv(name.upper(), f"http://127.0.0.1:{trap.port}")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    netrc = tmp_path / "netrc"
    netrc.write_text("default login alama password s3cret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))

    async def scenario() -> bytes:
        async with receiving(OK_AND_CLOSE) as receiver:
            assert (await sent(receiver.url(), DEVELOPMENT)).status == 200
            return receiver.requests[0].lower()

    assert b"authorization" not in asyncio.run(scenario())
    assert trap.connections() == 0


def test_plain_http_is_refused_where_it_has_become_forbidden() -> None:
    async def scenario() -> None:
        async with receiving(OK_AND_CLOSE) as receiver:
            result = await sent(receiver.url(), Reach(addresses.LOOPBACK))
            assert (result.error, receiver.connections) == ("url_refused", 0)

    asyncio.run(scenario())
