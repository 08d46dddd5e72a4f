"""What an officer noted, as it is sealed: behind a salt, for the audit is to prove it.

The audit keeps a digest of the reason and the note under that salt. Once nobody can open the note,
nobody can hold a guess at either against the digest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from alama.core.digest import SALT_BYTES, digest
from alama.service.records import damaged
from alama.service.vault import envelope
from alama.service.vault.vault import Locked

if TYPE_CHECKING:
    from alama.service.book import Book
    from alama.service.outcomes.records import Review, StoredReview
    from alama.service.records import ApplicantKey
    from alama.service.vault.vault import Vault


class Noted(NamedTuple):
    """A note in clear, and its salt."""

    salt: bytes
    text: str

    @property
    def packed(self) -> bytes:
        """Both as one text, to be sealed."""
        return self.salt + self.text.encode()

    def digest(self, reason: str) -> str:
        """Give what the audit knows the reason and the note by."""
        return digest(self.salt, (reason,), self.text.encode()).hex()


def unpack(packed: bytes) -> Noted:
    """Read again what was packed; `ValueError` if it is none."""
    if len(packed) < SALT_BYTES:
        raise ValueError
    return Noted(packed[:SALT_BYTES], packed[SALT_BYTES:].decode())


def open_note(vault: Vault, stored: StoredReview) -> Review:
    """Read what an officer decided, with their own words; `Erased`, or `StoreUnfit`."""
    book, review, sealed, seal_key_id, applicant_key = stored
    noted = open_noted(vault, book, review.request_id, sealed, seal_key_id, applicant_key)
    return review._replace(note=noted.text)


def open_noted(
    vault: Vault,
    book: Book,
    request_id: str,
    sealed: bytes,
    seal_key_id: str | None,
    applicant_key: ApplicantKey | None,
) -> Noted:
    """Read the words of an officer on a score; errors as in `open_note`."""
    locked = Locked(book, request_id, envelope.REVIEW, sealed)
    packed = vault.opened(locked, seal_key_id, applicant_key)
    try:
        return unpack(packed)
    except ValueError:
        raise damaged(request_id) from None
