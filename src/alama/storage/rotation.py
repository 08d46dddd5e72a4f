"""Keys handed over to others: what `alama vault rotate` does to the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, bindparam, func, insert, select, update

from alama.service.errors import UnknownApplicant
from alama.service.vault.applicant import ApplicantKeyRow
from alama.service.vault.keys import Purpose, VaultKey
from alama.storage import schema
from alama.storage.endpoints import ENDPOINTS, endpoint_of, locked, write_secrets
from alama.storage.histories import MovePart, count_parts_under, move_parts
from alama.storage.lender_keys import LenderKeys
from alama.storage.sealed_texts import AT_ONCE, EVERY, Resealed, change_all, changed
from alama.storage.vault import COLUMNS, DESTROYED, MASTER_FACT, one_at_a_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Table

    from alama.service.audit.acts import Act
    from alama.service.book import Book
    from alama.service.vault.ring import Ring
    from alama.service.vault.rotation import ChangeText, SealedText
    from alama.service.vault.vault import Vault
    from alama.service.webhooks.records import Endpoint, Secrets
    from alama.storage.acts import ActLog
    from alama.storage.database import Database
    from alama.storage.sealed_texts import Change

_APPLICANT: Final = [schema.applicant_keys.c[name] for name in ApplicantKeyRow._fields]


class SqlRotation:
    """Rotations in a database; see `alama.service.vault.rotation.RotationStore`."""

    def __init__(self, database: Database, log: ActLog, vault: Vault) -> None:
        """Use an open database; every rotation is written down in the log of acts."""
        self._database = database
        self._log = log
        self._lender_keys = LenderKeys(database, vault)

    # -------------------------------------------------------------------------------- vault keys

    def everything(self) -> Sequence[VaultKey]:
        query = select(*COLUMNS).order_by(schema.vault_keys.c.id)
        with self._database.reading() as connection:
            return [VaultKey._make(row) for row in connection.execute(query)]

    def rewrap_keys(
        self, master_id: str, rewrap: Callable[[VaultKey], VaultKey], act: Callable[[int], Act]
    ) -> int:
        table, facts = schema.vault_keys, schema.facts
        others = (
            select(*COLUMNS)
            .where(table.c.master_id != master_id, table.c.wrapped != DESTROYED)
            .order_by(table.c.id)
        )
        with self._database.writing() as connection:
            one_at_a_time(connection, None)  # nobody makes one under the old master key meanwhile
            rows = connection.execute(others.with_for_update()).all()
            if not rows:
                return 0
            for key in map(rewrap, map(VaultKey._make, rows)):
                values = {"wrapped": key.wrapped, "master_id": key.master_id}
                connection.execute(update(table).where(table.c.id == key.id).values(values))
            named = update(facts).where(facts.c.name == MASTER_FACT)
            connection.execute(named.values(value=master_id))
            self._log.append(connection, act(len(rows)))
        return len(rows)

    def replace_key(self, new: VaultKey, retires: str, act: Act) -> bool:
        table = schema.vault_keys
        standing = update(table).where(table.c.id == retires, table.c.retired_us.is_(None))
        # A key that signs has nothing to hand over.
        emptied = {"wrapped": DESTROYED} if new.purpose == Purpose.SIGN else {}
        with self._database.writing() as connection:
            if one_at_a_time(connection, new.lender) not in {None, new.master_id}:
                return False
            if not connection.execute(
                standing.values(retired_us=new.created_us, **emptied)
            ).rowcount:
                return False
            connection.execute(insert(table), new._asdict())
            self._log.append(connection, act)
        return True

    def destroy_key(self, key_id: str) -> None:
        table = schema.vault_keys
        chosen = update(table).where(table.c.id == key_id, table.c.retired_us.is_not(None))
        with self._database.writing() as connection:
            connection.execute(chosen.values(wrapped=DESTROYED))

    # -------------------------------------------------------------------------------- a lender's

    def count_applicants(self) -> int:
        table = schema.applicant_keys
        count = select(func.count()).select_from(table).where(table.c.wrapped.is_not(None))
        with self._database.reading() as connection:
            return connection.execute(count).scalar_one()

    def count_endpoints(self) -> int:
        count = select(func.count()).select_from(schema.webhook_endpoints)
        with self._database.reading() as connection:
            return connection.execute(count).scalar_one()

    def count_under(self, lender: str, key_id: str) -> int:
        places = (
            (schema.applicant_keys, _wrapped_by(key_id)),
            (schema.webhook_endpoints, _signed_for_under(lender, key_id)),
            *((column.table, _under(column.table, lender, key_id)) for column in EVERY),
        )
        counts = [select(func.count()).select_from(table).where(where) for table, where in places]
        with self._database.reading() as connection:
            found = sum(connection.execute(count).scalar_one() for count in counts)
            return found + count_parts_under(connection, lender, key_id)

    def move_applicants(
        self, lender: str, key_id: str, change: Callable[[Ring, ApplicantKeyRow], ApplicantKeyRow]
    ) -> Iterator[int]:
        table = schema.applicant_keys
        query = select(*_APPLICANT).where(_wrapped_by(key_id)).order_by(table.c.id).limit(AT_ONCE)
        after = ""
        while True:
            with self._database.writing() as connection:
                ring = self._ring(connection, lender)
                found = connection.execute(query.where(table.c.id > after)).all()
                moved = [change(ring, ApplicantKeyRow._make(row)) for row in found]
                _rewrite(connection, moved, _wrapped_by(key_id))
            if not moved:
                return
            after = moved[-1].id
            yield len(moved)

    def move_secrets(
        self, lender: str, key_id: str, change: Callable[[Ring, Endpoint], Secrets]
    ) -> Iterator[int]:
        query = locked(ENDPOINTS.where(_signed_for_under(lender, key_id))).limit(AT_ONCE)
        while True:
            with self._database.writing() as connection:
                # Whoever replaces a secret locks the endpoint first, and then asks for the key.
                endpoints = [endpoint_of(row) for row in connection.execute(query)]
                ring = self._ring(connection, lender)
                for endpoint in endpoints:
                    write_secrets(connection, endpoint.id, change(ring, endpoint))
            if not endpoints:
                return
            yield len(endpoints)

    def move_texts(
        self, lender: str, key_id: str, change: Callable[[Ring, SealedText], bytes]
    ) -> Iterator[int]:
        def moving(connection: Connection, texts: Sequence[SealedText]) -> Sequence[Resealed]:
            ring = self._ring(connection, lender)
            return [Resealed(change(ring, text), ring.seal_key_id, None) for text in texts]

        for column in EVERY:
            chosen = _under(column.table, lender, key_id)
            yield from changed(self._database, column, chosen, moving)

    def move_histories(self, lender: str, key_id: str, change: MovePart) -> Iterator[int]:
        while True:
            with self._database.writing() as connection:
                ring = self._ring(connection, lender)
                moved = move_parts(connection, lender, key_id, ring, change)
            if not moved:
                return
            yield moved

    # -------------------------------------------------------------------------- an applicant's

    def reseal(
        self,
        book: Book,
        subject: bytes,
        renew: Callable[[Ring, ApplicantKeyRow], tuple[ApplicantKeyRow, ChangeText]],
        act: Callable[[ApplicantKeyRow, ApplicantKeyRow, int], Act],
    ) -> int:
        table = schema.applicant_keys
        whose = select(*_APPLICANT).where(
            table.c.lender == book.lender,
            table.c.mode == book.mode.value,
            table.c.subject == subject,
        )
        with self._database.writing() as connection:
            ring = self._ring(connection, book.lender)
            # Whoever seals for the applicant at this moment is waited for, or waits.
            row = connection.execute(whose.with_for_update()).first()
            if row is None:
                raise UnknownApplicant(book)
            old = ApplicantKeyRow._make(row)
            renewed, change = renew(ring, old)
            _rewrite(connection, [renewed], table.c.wrapped.is_not(None))
            count = sum(
                change_all(
                    connection,
                    column,
                    column.table.c.applicant_key_id == renewed.id,
                    _one_by_one(change, renewed.id),
                )
                for column in EVERY
            )
            self._log.append(connection, act(old, renewed, count))
        return count

    def _ring(self, connection: Connection, lender: str) -> Ring:
        """Give the ring of a lender, whose key stands until the commit.

        Were it retired meanwhile, what is put under it would be lost when it is destroyed.
        """
        return self._lender_keys.ring(connection.connection.cursor(), lender)


def _one_by_one(change: ChangeText, applicant_key_id: str) -> Change:
    def change_each(_: Connection, texts: Sequence[SealedText]) -> Sequence[Resealed]:
        return [Resealed(change(text), None, applicant_key_id) for text in texts]

    return change_each


def _rewrite(
    connection: Connection, rows: Sequence[ApplicantKeyRow], still: ColumnElement[bool]
) -> None:
    """Write wrapped keys, but not where the applicant was erased meanwhile: it stays erased."""
    table = schema.applicant_keys
    move = (
        update(table)
        .where(table.c.id == bindparam("was_id"), still)
        .values(wrapped=bindparam("now_wrapped"), lender_key_id=bindparam("now_under"))
    )
    values: list[dict[str, Any]] = [
        {"was_id": row.id, "now_wrapped": row.wrapped, "now_under": row.lender_key_id}
        for row in rows
    ]
    if values:
        connection.execute(move, values)


def _wrapped_by(key_id: str) -> ColumnElement[bool]:
    table = schema.applicant_keys
    return and_(table.c.lender_key_id == key_id, table.c.wrapped.is_not(None))


def _signed_for_under(lender: str, key_id: str) -> ColumnElement[bool]:
    table = schema.webhook_endpoints
    return and_(table.c.lender == lender, table.c.lender_key_id == key_id)


def _under(table: Table, lender: str, key_id: str) -> ColumnElement[bool]:
    return and_(table.c.lender == lender, table.c.seal_key_id == key_id)
