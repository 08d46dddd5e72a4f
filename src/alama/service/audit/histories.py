"""Whether each loan history is the file that was handed in: opened part by part, and hashed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from alama.service.audit.findings import Finding, Trouble
from alama.service.vault import envelope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.service.audit.lender_keys import LenderKeys
    from alama.service.audit.trail import Trail
    from alama.service.audit.verify import Watch
    from alama.service.vault.vault import Vault


class HistoryFile(NamedTuple):
    """A file that is kept; `digest` is the hash that the act and its row have of it."""

    id: str
    lender: str
    digest: str
    part_count: int


def check_histories(
    trail: Trail, vault: Vault, lender_keys: LenderKeys, watch: Watch
) -> Iterator[Finding]:
    """Hash every file against its digest, with one part in memory at a time."""
    files = trail.history_files()
    with watch("loan histories", len(files)) as done:
        for file in files:
            fault = _fault(file, trail, vault, lender_keys)
            # One that was forgotten meanwhile has no parts any more.
            if fault is not None and file in trail.history_files():
                yield Finding(Trouble.HISTORY, file.id, fault)
            done(1)


def _fault(file: HistoryFile, trail: Trail, vault: Vault, lender_keys: LenderKeys) -> str | None:
    seen = hashlib.sha256()
    for number in range(1, file.part_count + 1):
        part = trail.history_part(file.id, number)
        if part is None:
            return f"part {number} is gone"
        key_id, sealed = part
        if not lender_keys.has(file.lender, key_id):
            return None  # which is told of the key
        where = envelope.place_in_history(file.lender, file.id, number)
        try:
            seen.update(envelope.open_alone(vault.lender_key(file.lender, key_id), sealed, where))
        except envelope.NotOpened:
            return f"part {number} does not open"
    return None if f"sha256:{seen.hexdigest()}" == file.digest else "it has another hash"
