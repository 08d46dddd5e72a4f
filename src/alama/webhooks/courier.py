"""The courier: signs an event for its endpoint and has it sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from alama.core.errors import AlamaError
from alama.service.errors import StoreUnavailable
from alama.service.webhooks import secrets
from alama.service.webhooks.reasons import SendError
from alama.webhooks import signing
from alama.webhooks.sender import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.service.clock import Time
    from alama.service.vault.vault import Vault
    from alama.service.webhooks.records import Due, Endpoint

_SECOND_US: Final = 1_000_000


class Sender(Protocol):
    """What posts, as `alama.webhooks.sender.Sender` does."""

    async def send(
        self, url: str, headers: Mapping[str, str], body: bytes, lender: str
    ) -> Outcome: ...


class Ready(NamedTuple):
    """A claimed delivery and what signs for it, in the open; nothing where the vault opens none."""

    due: Due
    secrets: Sequence[bytes]

    def __repr__(self) -> str:
        return f"Ready({self.due!r})"  # whatever is written somewhere, secrets are not


class Courier:
    """Delivers, one attempt at a time."""

    def __init__(self, sender: Sender, vault: Vault, clock: Time) -> None:
        """Take what sends, what opens secrets, and the time."""
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

    async def deliver(self, ready: Ready) -> Outcome:
        """Try once; what goes wrong on the way is an outcome too."""
        endpoint, event = ready.due.endpoint, ready.due.event
        if not ready.secrets:
            return Outcome(None, SendError.SECRET_UNREADABLE, "", 0)
        at_s = self._clock() // _SECOND_US
        headers = signing.headers(event.id, event.payload, ready.secrets, at_s)
        lender = endpoint.book.lender
        return await self._sender.send(endpoint.url, headers, event.payload, lender)

    def _secrets(self, endpoint: Endpoint) -> Sequence[bytes]:
        try:
            return secrets.of_endpoint(self._vault, endpoint, self._clock.trusted())
        except StoreUnavailable:
            raise
        except AlamaError:
            return ()
