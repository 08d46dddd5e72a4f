"""The courier: what leaves is signed, and what cannot be signed does not leave."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Mapping, Sequence

import msgspec
import pytest
from standardwebhooks import Webhook

from alama.platform.errors import StoreUnavailable
from alama.vault.keys import VaultKey
from alama.vault.vault import Vault
from alama.webhooks.courier import Courier
from alama.webhooks.records import DeliveryResult, Due, SendError
from tests.clocks import HandClock
from tests.outboxes import OK
from tests.vaults import MASTERS, KeysInMemory, a_vault
from tests.webhooked import SECRET, an_endpoint, an_event


def now_us() -> int:
    return time.time_ns() // 1_000


class Posted:
    """A sender that keeps what it is given."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Mapping[str, str], bytes, str]] = []

    async def send(
        self, url: str, headers: Mapping[str, str], body: bytes, lender: str
    ) -> DeliveryResult:
        self.sent.append((url, headers, body, lender))
        return OK


def test_an_event_is_sent_as_it_was_written_and_signed_with_the_secret_of_its_endpoint() -> None:
    vault, posted = a_vault(), Posted()
    courier = Courier(posted, vault, HandClock(now_us()))
    due = Due(an_endpoint(vault), an_event(), 0)
    (ready,) = courier.prepare([due])
    assert asyncio.run(courier.deliver(ready)) is OK
    ((url, headers, body, lender),) = posted.sent
    assert (url, lender) == (due.endpoint.url, "demo")
    assert body == due.event.payload
    assert headers["webhook-id"] == due.event.id
    Webhook(base64.b64encode(SECRET).decode()).verify(body, dict(headers))


def test_what_cannot_be_signed_is_not_sent() -> None:
    vault, posted = a_vault(), Posted()
    courier = Courier(posted, vault, HandClock(now_us()))
    good = an_endpoint(vault)
    damaged = good.secrets._replace(current=bytes(len(good.secrets.current)))
    bad = msgspec.structs.replace(an_endpoint(vault), secrets=damaged)
    whole, broken = courier.prepare([Due(good, an_event(), 0), Due(bad, an_event(), 0)])
    assert asyncio.run(courier.deliver(broken)).error is SendError.SECRET_UNREADABLE
    assert posted.sent == []
    assert asyncio.run(courier.deliver(whole)) is OK


def test_while_the_database_is_away_nobody_is_said_to_have_no_secret() -> None:
    class KeysAway(KeysInMemory):
        def of(self, lender: str | None) -> Sequence[VaultKey]:
            raise StoreUnavailable(f"no keys of {lender}")

    courier = Courier(Posted(), Vault(KeysAway(), MASTERS, now_us), HandClock())
    with pytest.raises(StoreUnavailable):
        courier.prepare([Due(an_endpoint(a_vault()), an_event(), 0)])


def test_what_signs_travels_with_the_claim_and_is_not_shown() -> None:
    vault = a_vault()
    ready = Courier(Posted(), vault, HandClock(now_us())).prepare(
        [Due(an_endpoint(vault), an_event(), 0)]
    )
    assert [list(one.secrets) for one in ready] == [[SECRET]]
    assert repr(SECRET) not in repr(ready)
