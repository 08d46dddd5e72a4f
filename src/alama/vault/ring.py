"""The keys of one lender, ready to be used, and the data keys of its applicants."""

from __future__ import annotations

import hmac
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.platform import ids
from alama.platform.ids import RandomPool
from alama.vault import envelope

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from alama.vault.envelope import OwnKey


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

    def draw(self, what: bytes) -> float:
        """Draw a lot from 0 to below 1: always the same for the same, and known to nobody else."""
        drawn = hmac.digest(self.find_key, b"lot|" + what, "sha256")
        return int.from_bytes(drawn[:6]) / 2.0**48

    def evidence(self, payload: bytes) -> bytes:
        """Give the seal under figures that were derived for the lender, 32 bytes."""
        return hmac.digest(self.find_key, b"evidence|" + payload, "sha256")

    def own_key(self, where: bytes) -> OwnKey:
        """Make a key for what names no applicant: the texts of the score that stands there."""
        return envelope.own_key(self.seal_key, where)

    def wrap(self, key: bytes, where: bytes) -> bytes:
        """Wrap the data key of an applicant, or a secret of a webhook endpoint."""
        return envelope.seal(self.seal_key, key, where)


APPLICANT_KEY_PREFIX: Final = "apk_"

_chance: Final = RandomPool(ids.RANDOM_BYTES)


class ApplicantKeyRow(NamedTuple):
    """The key of an applicant as it is stored, in the order of the columns.

    Erased: `subject` and `wrapped` are None, and neither the key nor whom it was for is known any
    more. The row stays, so that a score of it can say so.
    """

    id: str
    lender: str
    mode: str
    subject: bytes | None
    wrapped: bytes | None
    lender_key_id: str
    created_us: int
    erased_us: int | None


def applicant_key_place(key_id: str, lender: str, mode: str) -> bytes:
    return f"{key_id}|{lender}|{mode}".encode()


def new_applicant_key(
    ring: Ring, mode: str, subject: bytes, data_key: bytes, now_us: int
) -> ApplicantKeyRow:
    """Make the row of a new key, wrapped by what the lender seals with now."""
    key_id = ids.sortable(APPLICANT_KEY_PREFIX, now_us, _chance.draw())
    wrapped = ring.wrap(data_key, applicant_key_place(key_id, ring.lender, mode))
    return ApplicantKeyRow(
        key_id, ring.lender, mode, subject, wrapped, ring.seal_key_id, now_us, None
    )


class ApplicantKey(NamedTuple):
    """The data key of an applicant, wrapped by a key of the lender; erased: it is no more.

    `subject` is what the applicant is found by, where somebody has read it.
    """

    id: str
    lender_key_id: str
    wrapped: bytes | None
    erased_us: int | None
    subject: bytes | None = None
