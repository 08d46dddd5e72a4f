"""Which keys of lenders stand, asked in the transaction that seals something under them.

Whoever retires such a key hands over what is under it, once, and then destroys it. What came later
would never open again, so nothing is committed under a key that is retired at that moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPICursor

    from alama.service.vault.ring import Ring
    from alama.service.vault.vault import Vault
    from alama.storage.database import Database


class LenderKeys:
    """The statement for one database."""

    def __init__(self, database: Database, vault: Vault) -> None:
        """Write its parts; on PostgreSQL whoever retires a key waits for those who use it."""
        self._vault = vault
        self._mark = database.parameter_mark
        self._hold = "" if database.embedded else " FOR SHARE"

    def retired(self, cursor: DBAPICursor, used: set[str]) -> set[str]:
        """Give those of the keys that do not stand any more; the others do until the commit."""
        if not used:
            return used
        marks = ", ".join([self._mark] * len(used))
        cursor.execute(
            # In one order: two who take the same keys in different ones wait for each other.
            "SELECT id FROM vault_keys WHERE retired_us IS NULL "  # noqa: S608  our own names
            f"AND id IN ({marks}) ORDER BY id{self._hold}",
            tuple(sorted(used)),
        )
        return used.difference(row[0] for row in cursor.fetchall())

    def ring(self, cursor: DBAPICursor, lender: str) -> Ring:
        """Give the ring of a lender, which stands until the commit."""
        ring = self._vault.ring(lender)
        while self.retired(cursor, {ring.seal_key_id}):
            ring = self._vault.ring(lender)
        return ring
