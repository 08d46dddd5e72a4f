"""The keys of lenders, as a verification finds them: a missing one is told once, and none is made.

Without the key of a lender nothing can be said of what it wraps. That is no proof of anything.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from alama.service.audit.findings import Finding, Trouble
from alama.service.vault import ring
from alama.service.vault.keys import Purpose

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from alama.service.vault.keys import VaultKey
    from alama.service.vault.vault import Seen, Vault

_FIND = "find key"


class LenderKeys:
    """Knows which keys there are, and counts what would need those that are not."""

    def __init__(self, vault: Vault) -> None:
        """Look at each lender's keys when they are asked for."""
        self._vault = vault
        self._seen: dict[str, Seen] = {}
        self._missing: Counter[tuple[str, str]] = Counter()

    def has(self, lender: str, key_id: str) -> bool:
        """Say whether a key is there and whole; one that is not is counted."""
        found = self._opens(lender, key_id)
        if not found:
            self._missing[lender, key_id] += 1
        return found

    def look_at(self, rows: Iterable[VaultKey]) -> None:
        """Note those that are there and do not open, though nothing may need them yet."""
        for row in rows:
            if row.lender is None or not row.wrapped or self._opens(row.lender, row.id):
                continue
            name = _FIND if row.purpose == Purpose.FIND else row.id
            self._missing[row.lender, name] += 0

    def subject(self, lender: str, mode: str, applicant_ref: str) -> bytes | None:
        """Give what an applicant is found by; None where the key for that is missing."""
        find_key = self._at(lender).find_key
        if find_key is None:
            self._missing[lender, _FIND] += 1
            return None
        return ring.subject(find_key, mode, applicant_ref)

    def findings(self) -> Iterator[Finding]:
        """Name each key that was missed."""
        for (lender, key_id), count in sorted(self._missing.items()):
            what = f"{count:,} scores or applicants of {lender} need it"
            if count <= 1:
                what = f"{'one' if count else 'no'} score or applicant of {lender} needs it"
            yield Finding(Trouble.KEY, key_id, what)

    def _opens(self, lender: str, key_id: str) -> bool:
        if key_id in self._at(lender).key_ids:
            return True
        # It may be newer than our last look.
        self._seen.pop(lender)
        return key_id in self._at(lender).key_ids

    def _at(self, lender: str) -> Seen:
        if lender not in self._seen:
            self._seen[lender] = self._vault.seen(lender)
        return self._seen[lender]
