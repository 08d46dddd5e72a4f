"""Answers that were given under idempotency keys, looked up in the transaction of the next ones.

Straight on the driver, as all of the hot path is.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.service.records import ApplicantKey, Earlier
from alama.storage import schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.engine.interfaces import DBAPICursor

    from alama.service.records import IdempotencyRow

Identity = tuple[str, str, str, bytes]
"""Lender, mode, operation and digest of the key: the primary key of the table."""


class _Found(NamedTuple):
    lender: str
    mode: str
    operation: str
    key_digest: bytes
    request_digest: bytes
    request_id: str
    reply: bytes
    seal_key_id: str | None
    applicant_key_id: str | None
    lender_key_id: str | None
    wrapped: bytes | None
    erased_us: int | None

    @property
    def earlier(self) -> Earlier:
        key = None
        if self.applicant_key_id is not None:  # a row that is not there opens nothing
            key = ApplicantKey(
                self.applicant_key_id, self.lender_key_id or "", self.wrapped, self.erased_us
            )
        return Earlier(self.request_digest, self.request_id, self.reply, self.seal_key_id, key)


_IDENTITY: Final = _Found._fields[:4]
_OF_KEY: Final = 3
"""Columns at the end that are of the applicant's key."""


class EarlierAnswers:
    """The statements for one driver."""

    def __init__(self, mark: str) -> None:
        """Write their parts; `mark` stands for a parameter in the driver's language."""
        table = schema.idempotency.name
        keys = schema.applicant_keys.name
        own = [f"{table}.{column}" for column in _Found._fields[:-_OF_KEY]]
        columns = ", ".join([*own, *_Found._fields[-_OF_KEY:]])
        named = ", ".join(f"{table}.{column}" for column in _IDENTITY)
        self._one = f"({', '.join([mark] * len(_IDENTITY))})"
        self._select = (
            f"SELECT {columns} FROM {table} LEFT JOIN {keys} "  # noqa: S608  our own names
            f"ON {keys}.id = {table}.applicant_key_id WHERE ({named}) IN "
        )

    def find(
        self, cursor: DBAPICursor, keyed: Sequence[IdempotencyRow]
    ) -> Mapping[Identity, Earlier]:
        """Find the answers given before, however long ago: only upkeep ends a key."""
        identities = [identity(row) for row in keyed]
        values = ", ".join([self._one] * len(identities))
        cursor.execute(
            f"{self._select} (VALUES {values})", tuple(itertools.chain.from_iterable(identities))
        )
        found = [_Found._make(row) for row in cursor.fetchall()]
        return {identity(row): row.earlier for row in found}


def identity(row: IdempotencyRow | _Found) -> Identity:
    """Give what tells one idempotency key from every other."""
    return (row.lender, row.mode, row.operation, row.key_digest)
