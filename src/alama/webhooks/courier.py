"""The courier: signs an event for its endpoint and has it sent."""

from __future__ import annotations

import base64
import hmac
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from alama import __version__
from alama.core.errors import AlamaError
from alama.platform.errors import StoreUnavailable
from alama.webhooks import secrets
from alama.webhooks.records import DeliveryResult, Due, Endpoint, SendError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.platform.clock import Time
    from alama.vault.vault import Vault


_ALWAYS: Final = {"content-type": "application/json", "user-agent": f"Alama/{__version__}"}


def signature_headers(
    event_id: str, body: bytes, secrets: Sequence[bytes], at_s: int
) -> dict[str, str]:
    """Give every header of an attempt that begins at a second since 1970, UTC.

    Each secret signs: while one follows another, a receiver may know either.
    """
    assert secrets, "what is not signed is not sent"
    signed = b"%s.%d.%s" % (event_id.encode(), at_s, body)
    return {
        **_ALWAYS,
        "webhook-id": event_id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": " ".join(_signature(secret, signed) for secret in secrets),
    }


def _signature(secret: bytes, signed: bytes) -> str:
    return "v1," + base64.b64encode(hmac.digest(secret, signed, "sha256")).decode()


_SECOND_US: Final = 1_000_000


class Transport(Protocol):
    """What posts, as `alama.webhooks.sender.Sender` does."""

    async def send(
        self, url: str, headers: Mapping[str, str], body: bytes, lender: str
    ) -> DeliveryResult: ...


class Ready(NamedTuple):
    """A claimed delivery and what signs for it, in the open; nothing where the vault opens none."""

    due: Due
    secrets: Sequence[bytes]

    def __repr__(self) -> str:
        return f"Ready({self.due!r})"  # whatever is written somewhere, secrets are not


class Courier:
    """Delivers, one attempt at a time."""

    def __init__(self, sender: Transport, vault: Vault, clock: Time) -> None:
        self._sender = sender
        self._vault = vault
        self._clock = clock

    def prepare(self, claimed: Sequence[Due]) -> Sequence[Ready]:
        """Give each with what signs for it now; may ask the database: `StoreUnavailable`.

        Not in the event loop: everybody's deliveries would wait.
        """
        endpoints = {due.endpoint.id: due.endpoint for due in claimed}
        secrets = {name: self._secrets(endpoint) for name, endpoint in endpoints.items()}
        return [Ready(due, secrets[due.endpoint.id]) for due in claimed]

    async def deliver(self, ready: Ready) -> DeliveryResult:
        """Try once; what goes wrong on the way is a result too."""
        endpoint, event = ready.due.endpoint, ready.due.event
        if not ready.secrets:
            return DeliveryResult(None, SendError.SECRET_UNREADABLE, "", 0)
        at_s = self._clock() // _SECOND_US
        headers = signature_headers(event.id, event.payload, ready.secrets, at_s)
        lender = endpoint.book.lender
        return await self._sender.send(endpoint.url, headers, event.payload, lender)

    def _secrets(self, endpoint: Endpoint) -> Sequence[bytes]:
        try:
            return secrets.of_endpoint(self._vault, endpoint, self._clock.trusted())
        except StoreUnavailable:
            raise
        except AlamaError:
            return ()
