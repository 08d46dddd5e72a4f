"""A receiver is spoken to only if it proves to be the host that was named."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from alama.platform import addresses
from alama.platform.addresses import Reach
from alama.webhooks.records import DeliveryResult
from alama.webhooks.sender import Sender
from tests.certificates import Authority
from tests.ports import HOST
from tests.unit.webhooks.raw_receivers import OK_AND_CLOSE, Receiver, receiving

NAME = "receiver.example"
BODY = b"{}"
REACH = Reach(addresses.LOOPBACK)


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """An authority that the system trusts, for as long as the test runs."""
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    return authority


async def sent(receiver: Receiver, timeout_s: float = 60.0) -> DeliveryResult:
    sending = Sender(REACH, lambda: 0, lambda _: [HOST], timeout_s)
    try:
        return await sending.send(receiver.url(NAME, "https"), {}, BODY, "demo")
    finally:
        await sending.close()


def test_a_certificate_that_the_system_trusts_is_taken(authority: Authority) -> None:
    async def scenario() -> None:
        async with receiving(OK_AND_CLOSE, tls=authority.server(NAME)) as receiver:
            assert (await sent(receiver)).status == 200
            assert receiver.requests[0].endswith(BODY)

    asyncio.run(scenario())


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        tls = Authority(tmp_path).server(NAME)
        async with receiving(OK_AND_CLOSE, tls=tls) as receiver:
            assert (await sent(receiver)).error == "tls_failed"
            assert receiver.requests == []

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("host", "lasts"),
    [
        pytest.param("another.example", timedelta(days=1), id="of another host"),
        pytest.param(NAME, timedelta(days=-1), id="expired"),
    ],
)
def test_a_certificate_that_does_not_fit_is_refused(
    authority: Authority, host: str, lasts: timedelta
) -> None:
    async def scenario() -> None:
        async with receiving(OK_AND_CLOSE, tls=authority.server(host, lasts)) as receiver:
            assert (await sent(receiver)).error == "tls_failed"
            assert receiver.requests == []

    asyncio.run(scenario())


def test_a_receiver_without_tls_hears_nothing_in_clear() -> None:
    async def scenario() -> None:
        async with receiving(OK_AND_CLOSE) as receiver:
            result = await sent(receiver, timeout_s=0.3)
            assert result.status is None
            assert receiver.requests == []

    asyncio.run(scenario())
