"""Keys of lenders and of the installation, wrapped under the master key."""

from __future__ import annotations

import hashlib
import os
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from alama.platform import ids
from alama.platform.errors import MasterKeyMissing, StoreUnfit
from alama.vault import envelope

if TYPE_CHECKING:
    from collections.abc import Sequence


_SHAPE: Final = re.compile(r"[0-9a-fA-F]{64}")
_LABEL: Final = b"alama master key\x00"
_ID_LENGTH: Final = 16


class Master(NamedTuple):
    """A master key, known by an id that does not give it away."""

    id: str
    cipher: AESGCM

    def __repr__(self) -> str:
        """Show the id alone: a repr ends up in logs."""
        return f"Master({self.id!r})"


class Masters(NamedTuple):
    """The master key, and the one before it while keys are handed over from that."""

    current: Master
    old: Master | None = None

    def named(self, master_id: str) -> Master:
        """Give the one with an id, or raise `MasterKeyMissing`."""
        for master in self:
            if master is not None and master.id == master_id:
                return master
        raise MasterKeyMissing(master_id, self.current.id)


def is_master(text: str) -> bool:
    """Say whether a text is a master key."""
    return _SHAPE.fullmatch(text) is not None


def master(text: str) -> Master:
    """Read a master key, which `is_master` has seen."""
    key = bytes.fromhex(text)
    return Master(hashlib.sha256(_LABEL + key).hexdigest()[:_ID_LENGTH], AESGCM(key))


PREFIX = "vk_"


class Purpose(StrEnum):
    """What a key is for."""

    SEAL = "seal"
    """Wraps the data keys of a lender's applicants and records, and its webhook secrets."""
    FIND = "find"
    """Turns a lender's applicant_ref into what applicants are found by."""
    SIGN = "sign"
    """Signs the audit of the installation."""


OF_LENDER = (Purpose.SEAL, Purpose.FIND)


class VaultKey(NamedTuple):
    """A key as it is stored, in the order of the columns. Times are microseconds since 1970, UTC.

    One without a lender is of the installation. `wrapped` is empty once it was destroyed; `public`
    is there where it signs; `retired_us` says since when it makes nothing new.
    """

    id: str
    lender: str | None
    purpose: str
    wrapped: bytes
    master_id: str
    public: bytes | None
    created_us: int
    retired_us: int | None


class SigningKey:
    """The key that signs for the installation (Ed25519)."""

    def __init__(self, key_id: str, key: Ed25519PrivateKey) -> None:
        self.id = key_id
        self._key = key

    @property
    def public(self) -> bytes:
        """The half that anybody may know, 32 bytes."""
        return self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """Give the signature, 64 bytes."""
        return self._key.sign(message)


def make(master: Master, lender: str | None, purpose: Purpose, now_us: int) -> VaultKey:
    """Make a new key and wrap it."""
    key_id = ids.sortable(PREFIX, now_us, os.urandom(ids.RANDOM_BYTES))
    key = envelope.new_key()
    wrapped = envelope.seal(master.cipher, key, _where(key_id, lender, purpose))
    public = _public(key) if purpose is Purpose.SIGN else None
    return VaultKey(key_id, lender, purpose.value, wrapped, master.id, public, now_us, None)


def unwrap(masters: Masters, key: VaultKey) -> bytes:
    """Give the key itself, or raise `StoreUnfit`."""
    master = masters.named(key.master_id)
    try:
        return envelope.open_sealed(
            master.cipher, key.wrapped, _where(key.id, key.lender, key.purpose)
        )
    except envelope.NotOpened:
        raise StoreUnfit(
            f"the key {key.id} in this database is damaged", hint="restore it from a backup"
        ) from None


def rewrap(masters: Masters, key: VaultKey) -> VaultKey:
    where = _where(key.id, key.lender, key.purpose)
    wrapped = envelope.seal(masters.current.cipher, unwrap(masters, key), where)
    return key._replace(wrapped=wrapped, master_id=masters.current.id)


def signing(masters: Masters, key: VaultKey) -> SigningKey:
    """Give a key of purpose `sign`, ready to sign."""
    return SigningKey(key.id, Ed25519PrivateKey.from_private_bytes(unwrap(masters, key)))


def public_half(masters: Masters, key: VaultKey) -> bytes | None:
    """Give the public half of a signing key as its private half has it; None where that is gone.

    Who can write into the database can put a public key there, but cannot wrap its private half.
    """
    try:
        return _public(unwrap(masters, key))
    except StoreUnfit:
        return None


def _public(key: bytes) -> bytes:
    public = Ed25519PrivateKey.from_private_bytes(key).public_key()
    return public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def _where(key_id: str, lender: str | None, purpose: str) -> bytes:
    return f"{key_id}|{lender or ''}|{purpose}".encode()


class VaultKeys(Protocol):
    """The keys of lenders and of the installation. Every method may raise `StoreUnavailable`."""

    def of(self, lender: str | None) -> Sequence[VaultKey]:
        """Those of the installation and of a lender, if one is named; not what was destroyed."""
        ...

    def master_id(self) -> str | None:
        """The master key that is the database's own, if that was ever settled."""
        ...

    def settle(self, lender: str | None, keys: Sequence[VaultKey]) -> Sequence[VaultKey] | None:
        """Keep first keys unless another process was quicker; give those that stand.

        None, and nothing is kept, where the database's own master key is not theirs by now.
        """
        ...

    def signing(self) -> Sequence[VaultKey]:
        """All keys that ever signed for the installation, oldest first; their `public` is kept."""
        ...
