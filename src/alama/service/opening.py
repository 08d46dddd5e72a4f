"""Scores and replies, read again from what the vault has sealed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.service.records import unpack
from alama.service.vault import envelope
from alama.service.vault.vault import Locked

if TYPE_CHECKING:
    from alama.service.book import Book
    from alama.service.records import Earlier, Sealed, StoredScore
    from alama.service.vault.vault import Vault


def open_score(vault: Vault, stored: StoredScore) -> Sealed:
    """Read what was kept of a score; `Erased`, or `StoreUnfit` where it is damaged."""
    return unpack(open_packed(vault, stored), stored.row.request_id)


def open_packed(vault: Vault, stored: StoredScore) -> bytes:
    """Give the same as it was packed, to the byte: that is what its digest covers."""
    row = stored.row
    locked = Locked(row.book, row.request_id, envelope.RECORD, row.sealed)
    return vault.opened(locked, row.seal_key_id, stored.applicant)


def open_reply(vault: Vault, book: Book, earlier: Earlier) -> bytes:
    """Read the reply that was given under an idempotency key; errors as in `open_score`."""
    locked = Locked(book, earlier.request_id, envelope.REPLY, earlier.reply)
    return vault.opened(locked, earlier.seal_key_id, earlier.applicant)
