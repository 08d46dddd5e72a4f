"""The keys of one lender, ready to be used: no wait, no look-up."""

from __future__ import annotations

import hmac
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alama.service.vault import envelope

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from alama.service.vault.envelope import OwnKey


def subject(find_key: bytes, mode: str, applicant_ref: str) -> bytes:
    """Give what an applicant is found by under a lender's find key.

    Letters with marks can be written in two ways that look alike (NFC and NFD): they are one
    reference.
    """
    same = unicodedata.normalize("NFC", applicant_ref)
    return hmac.digest(find_key, f"{mode}|{same}".encode(), "sha256")


@dataclass(frozen=True, slots=True, repr=False)
class Ring:
    """What seals for a lender now, and what its applicants are found by."""

    lender: str
    seal_key_id: str
    seal_key: AESGCM
    find_key: bytes

    def __repr__(self) -> str:
        """Show no key: a repr ends up in logs."""
        return f"Ring({self.lender!r}, {self.seal_key_id!r})"

    def subject(self, mode: str, applicant_ref: str) -> bytes:
        """Give what an applicant is found by, 32 bytes: in test mode another than in live mode."""
        return subject(self.find_key, mode, applicant_ref)

    def fingerprint(self, digest: bytes) -> bytes:
        """Give what a digest is kept as: nobody else can confirm a guess of what it is of."""
        return hmac.digest(self.find_key, b"digest|" + digest, "sha256")

    def own_key(self, where: bytes) -> OwnKey:
        """Make a key for what names no applicant: the texts of the score that stands there."""
        return envelope.own_key(self.seal_key, where)

    def wrap(self, key: bytes, where: bytes) -> bytes:
        """Wrap the data key of an applicant, or a secret of a webhook endpoint."""
        return envelope.seal(self.seal_key, key, where)
