"""The master key: 32 bytes that stand in no database, under which all other keys are wrapped."""

from __future__ import annotations

import hashlib
import re
from typing import Final, NamedTuple

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from alama.service.errors import MasterKeyMissing

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
