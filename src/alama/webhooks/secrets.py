"""The secrets that sign for an endpoint: made, shown once, and wrapped where they are kept."""

from __future__ import annotations

import base64
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from alama.platform.errors import StoreUnfit
from alama.vault import envelope
from alama.webhooks.records import Endpoint, Secrets

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from alama.vault.ring import Ring
    from alama.vault.vault import Vault


PREFIX: Final = "whsec_"
SECRET_BYTES: Final = 32


def new() -> bytes:
    """Make a secret."""
    return os.urandom(SECRET_BYTES)


def shown(secret: bytes) -> str:
    """Give a secret as whoever verifies is to know it, in the words of Standard Webhooks."""
    return PREFIX + base64.b64encode(secret).decode()


def where(endpoint_id: str, lender: str, mode: str) -> bytes:
    """Name where the wrapped secrets of an endpoint stand."""
    return f"{endpoint_id}|{lender}|{mode}|webhook".encode()


def wrapped(secret: bytes, ring: Ring, endpoint_id: str, mode: str) -> Secrets:
    """Wrap a secret that is to sign for an endpoint by what its lender seals with now."""
    return Secrets(ring.seal_key_id, ring.wrap(secret, where(endpoint_id, ring.lender, mode)))


def following(
    endpoint: Endpoint, new: Secrets, lender_key: Callable[[str], AESGCM], now_us: int
) -> Secrets:
    """Let new secrets sign for an endpoint, and one before go on: the older one that signs now.

    So a rotation that is repeated, because its secret was lost or somebody was impatient, does not
    cut off the receivers, who have the older. One that is damaged does not go on. `lender_key`
    gives a key of the lender by its id.
    """
    before, place = endpoint.secrets, _place(endpoint)
    old_key, key = lender_key(before.lender_key_id), lender_key(new.lender_key_id)
    oldest_first = [(before.current, new.previous_until_us)]
    if before.previous is not None and signs_too(before, now_us):
        oldest_first.insert(0, (before.previous, before.previous_until_us))
    for wrapped, until_us in oldest_first:
        with suppress(envelope.NotOpened):
            secret = envelope.open_sealed(old_key, wrapped, place)
            going_on = envelope.seal(key, secret, place)
            return new._replace(previous=going_on, previous_until_us=until_us)
    return new._replace(previous_until_us=None)


def signs_too(secrets: Secrets, now_us: int) -> bool:
    """Say whether the secret before the current one signs now."""
    return secrets.previous_until_us is not None and now_us < secrets.previous_until_us


def rewrapped(endpoint: Endpoint, secrets: Secrets, old: AESGCM, ring: Ring) -> Secrets:
    """Hand secrets of an endpoint over from one key of its lender to the one that stands.

    One from before that is damaged is left behind; `StoreUnfit` where the current one is.
    """
    place = _place(endpoint)
    current = ring.wrap(_opened(old, secrets.current, endpoint), place)
    moved = secrets._replace(lender_key_id=ring.seal_key_id, current=current)
    if secrets.previous is None:
        return moved
    try:
        previous = envelope.open_sealed(old, secrets.previous, place)
    except envelope.NotOpened:
        return moved._replace(previous=None, previous_until_us=None)
    return moved._replace(previous=ring.wrap(previous, place))


def of_endpoint(vault: Vault, endpoint: Endpoint, now_us: int) -> list[bytes]:
    """Give what signs for a webhook endpoint at a time, the current secret first."""
    lender_key = vault.lender_key(endpoint.book.lender, endpoint.secrets.lender_key_id)
    return signing(endpoint, lender_key, now_us)


def signing(endpoint: Endpoint, lender_key: AESGCM, now_us: int) -> list[bytes]:
    """Give the secrets that sign now, the current one first; `StoreUnfit` where it is damaged.

    One from before that is damaged is left out: the receivers that know the current one go on.
    """
    signs = [_opened(lender_key, endpoint.secrets.current, endpoint)]
    previous = endpoint.secrets.previous
    if previous is not None and signs_too(endpoint.secrets, now_us):
        with suppress(envelope.NotOpened):
            signs.append(envelope.open_sealed(lender_key, previous, _place(endpoint)))
    return signs


def _place(endpoint: Endpoint) -> bytes:
    return where(endpoint.id, endpoint.book.lender, endpoint.book.mode.value)


def _opened(key: AESGCM, wrapped: bytes, endpoint: Endpoint) -> bytes:
    try:
        return envelope.open_sealed(key, wrapped, _place(endpoint))
    except envelope.NotOpened:
        book = f"{endpoint.book.lender} --mode {endpoint.book.mode.value}"
        raise StoreUnfit(
            f"the secret of {endpoint.id} is damaged",
            hint=f"`alama webhooks rotate {book} {endpoint.id}` makes a new one for its receiver",
        ) from None
