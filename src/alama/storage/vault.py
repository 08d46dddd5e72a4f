"""The keys of lenders and of the installation, wrapped, in a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import LargeBinary, cast, insert, or_, select

from alama.service.vault.keys import Purpose, VaultKey
from alama.storage import schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

    from alama.storage.database import Database

MASTER_FACT: Final = "master"
"""The fact that names the master key of a database."""

DESTROYED: Final = b""
"""What is left of a wrapped key that opens nothing any more."""

_OWN_MASTER: Final = select(schema.facts.c.value).where(schema.facts.c.name == MASTER_FACT)


def _column(name: str) -> ColumnElement[Any]:
    """Give a column as it is read. SQLite takes text for bytes; the cast gives it as bytes.

    They open nothing then, and whoever needs the key is told which one is damaged.
    """
    column = schema.vault_keys.c[name]
    is_binary = isinstance(column.type, LargeBinary)
    return cast(column, LargeBinary).label(name) if is_binary else column


COLUMNS: Final = [_column(name) for name in VaultKey._fields]


class SqlVaultKeys:
    """The keys in a database; see `alama.service.ports.VaultKeys`."""

    def __init__(self, database: Database) -> None:
        """Use an open database."""
        self._database = database

    def of(self, lender: str | None) -> Sequence[VaultKey]:
        with self._database.reading() as connection:
            return _standing(connection, lender)

    def master_id(self) -> str | None:
        with self._database.reading() as connection:
            return connection.execute(_OWN_MASTER).scalar()

    def settle(self, lender: str | None, keys: Sequence[VaultKey]) -> Sequence[VaultKey] | None:
        with self._database.writing() as connection:
            own = one_at_a_time(connection, lender)
            if own is not None and any(key.master_id != own for key in keys):
                return None
            there = {key.purpose for key in _standing(connection, lender) if not key.retired_us}
            new = [key for key in keys if key.purpose not in there]
            if new:
                connection.execute(insert(schema.vault_keys), [key._asdict() for key in new])
            return _standing(connection, lender)

    def signing(self) -> Sequence[VaultKey]:
        table = schema.vault_keys
        query = select(*COLUMNS).where(table.c.purpose == Purpose.SIGN.value).order_by(table.c.id)
        with self._database.reading() as connection:
            return [VaultKey._make(row) for row in connection.execute(query)]


def _standing(connection: Connection, lender: str | None) -> Sequence[VaultKey]:
    table = schema.vault_keys
    whose = or_(table.c.lender.is_(None), table.c.lender == lender)
    query = select(*COLUMNS).where(whose, table.c.wrapped != DESTROYED).order_by(table.c.id)
    return [VaultKey._make(row) for row in connection.execute(query)]


def one_at_a_time(connection: Connection, lender: str | None) -> str | None:
    """Wait for others who make or replace keys, and give the master key of the database.

    Two find keys of a lender would find nobody, and a key that is made under a master key while all
    others are brought under another would be left behind. SQLite has one writer at a time anyway.
    """
    master_id: str | None = connection.execute(_OWN_MASTER.with_for_update()).scalar()
    if lender is not None:
        whose = schema.lenders.c.id
        connection.execute(select(whose).where(whose == lender).with_for_update())
    return master_id
