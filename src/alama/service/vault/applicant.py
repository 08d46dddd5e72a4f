"""The data key of one applicant: made, unwrapped, and where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from alama.service import ids
from alama.service.chance import Chance

if TYPE_CHECKING:
    from alama.service.vault.ring import Ring

PREFIX: Final = "apk_"

_chance: Final = Chance(ids.RANDOM_BYTES)


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


def where(key_id: str, lender: str, mode: str) -> bytes:
    """Name where the wrapped key stands."""
    return f"{key_id}|{lender}|{mode}".encode()


def make(ring: Ring, mode: str, subject: bytes, data_key: bytes, now_us: int) -> ApplicantKeyRow:
    """Make the row of a new key, wrapped by what the lender seals with now."""
    key_id = ids.sortable(PREFIX, now_us, _chance.draw())
    wrapped = ring.wrap(data_key, where(key_id, ring.lender, mode))
    return ApplicantKeyRow(
        key_id, ring.lender, mode, subject, wrapped, ring.seal_key_id, now_us, None
    )
