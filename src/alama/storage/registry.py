"""Lenders, keys, models, policies and what answers in each book."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, delete, func, insert, select, update

from alama.service.audit import acts
from alama.service.book import Mode
from alama.service.errors import (
    InvalidName,
    StoreUnavailable,
    StoreUnfit,
    UnknownKey,
    UnknownLender,
)
from alama.service.keys import Key, Scope
from alama.service.lenders import Lender
from alama.service.policies import Deployment, Pause, Signed
from alama.service.webhooks.events import EventKind
from alama.storage import deploying, schema
from alama.storage.database import Clash
from alama.storage.deploying import in_book, keep_document, of_book
from alama.storage.upserts import insert_into, insert_new

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Row, Table

    from alama.service.audit.acts import Act
    from alama.service.book import Book
    from alama.storage.acts import ActLog
    from alama.storage.database import Database


_PULSE: Final = "pulse"

REFUSAL_STANDS_S: Final = 1.0
"""How long scores that could not be kept speak for the database: about as long as a health report.

Longer, and a service from which all traffic was taken would not see that there is room again.
"""


class SqlRegistry:
    """The registry in a database; see `alama.service.ports.Registry`."""

    def __init__(self, database: Database, log: ActLog | None = None) -> None:
        """Use an open database; whoever changes anything needs the log of acts."""
        self._database = database
        self._log = log

    def _note(self, connection: Connection, act: Act) -> None:
        assert self._log is not None, "a registry without a log of acts is for reading"
        self._log.append(connection, act)

    # -------------------------------------------------------------------------------- lenders

    def add_lender(self, lender: Lender) -> None:
        try:
            with self._database.writing() as connection:
                connection.execute(
                    insert(schema.lenders),
                    {
                        "id": lender.id,
                        "name": lender.name,
                        "currency": lender.currency,
                        "created_us": lender.created_us,
                    },
                )
                self._note(connection, acts.lender_added(lender))
        except Clash:
            raise InvalidName(f"there is a lender {lender.id} already") from None

    def lenders(self) -> Sequence[Lender]:
        table = schema.lenders
        with self._database.reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.created_us, table.c.id))
            return [Lender(**row._mapping) for row in rows]  # noqa: SLF001  public in spite of it

    def lender(self, lender_id: str) -> Lender:
        table = schema.lenders
        with self._database.reading() as connection:
            row = connection.execute(select(table).where(table.c.id == lender_id)).first()
        if row is None:
            raise UnknownLender(lender_id)
        return Lender(**row._mapping)  # noqa: SLF001  public in spite of it

    # -------------------------------------------------------------------------------- keys

    def add_key(self, key: Key) -> None:
        with self._adding(key) as connection:
            connection.execute(insert(schema.keys), _row(key))
            self._note(connection, acts.key_issued(key))

    def replace_key(self, old_id: str, expires_us: int, new: Key) -> None:
        table = schema.keys
        still_good = (table.c.id == old_id) & table.c.revoked_us.is_(None)
        end = update(table).where(still_good).values(expires_us=expires_us)
        with self._adding(new) as connection:
            if connection.execute(end).rowcount == 0:
                raise UnknownKey(old_id)
            connection.execute(insert(table), _row(new))
            self._note(connection, acts.key_rotated(new, old_id, expires_us))

    @contextmanager
    def _adding(self, key: Key) -> Iterator[Connection]:
        """Give a connection to write a key with; say why where the schema does not let it in."""
        try:
            with self._database.writing() as connection:
                yield connection
        except Clash:
            self.lender(key.lender)
            raise InvalidName(f"there is a key {key.id} already, or one like it") from None

    def keys(self, lender_id: str | None = None) -> Sequence[Key]:
        table = schema.keys
        query = select(table).order_by(table.c.created_us, table.c.id)
        if lender_id is not None:
            query = query.where(table.c.lender == lender_id)
        with self._database.reading() as connection:
            return [_key(row) for row in connection.execute(query)]

    def key(self, key_id: str) -> Key:
        with self._database.reading() as connection:
            row = connection.execute(select(schema.keys).where(schema.keys.c.id == key_id)).first()
        if row is None:
            raise UnknownKey(key_id)
        return _key(row)

    def key_of(self, digest: bytes) -> Key | None:
        query = select(schema.keys).where(schema.keys.c.digest == digest)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else _key(row)

    def revoke_key(self, key_id: str, revoked_us: int) -> None:
        table = schema.keys
        first_time = (table.c.id == key_id) & table.c.revoked_us.is_(None)
        query = select(table).where(table.c.id == key_id)
        with self._database.writing() as connection:
            end = update(table).where(first_time).values(revoked_us=revoked_us)
            if connection.execute(end).rowcount:
                revoked = _key(connection.execute(query).one())
                self._note(connection, acts.key_revoked(revoked))

    def note_key_use(self, last_used_us: Mapping[str, int]) -> None:
        table = schema.keys
        # Another process may have seen a later use, and written it down before us.
        later = func.coalesce(table.c.last_used_us, -1) < bindparam("used_us")
        statement = (
            update(table)
            .where(table.c.id == bindparam("key_id"), later)
            .values(last_used_us=bindparam("used_us"))
        )
        uses = [{"key_id": key, "used_us": used} for key, used in sorted(last_used_us.items())]
        if uses:
            with self._database.writing() as connection:
                connection.execute(statement, uses)

    # -------------------------------------------------------------------------------- artefacts

    def keep_model(self, model_id: str, document: bytes, created_us: int) -> None:
        self._keep(schema.models, model_id, document, created_us)

    def model(self, model_id: str) -> bytes:
        return self._document(schema.models, model_id)

    def keep_policy(self, policy_id: str, document: bytes, created_us: int) -> None:
        self._keep(schema.policies, policy_id, document, created_us)

    def policy(self, policy_id: str) -> bytes:
        return self._document(schema.policies, policy_id)

    def _keep(self, table: Table, document_id: str, document: bytes, created_us: int) -> None:
        query = select(table.c.document).where(table.c.id == document_id)
        with self._database.reading() as connection:
            if connection.execute(query).scalar() == document:
                return
        with self._database.writing() as connection:
            keep_document(connection, table, document_id, document, created_us)

    def _document(self, table: Table, document_id: str) -> bytes:
        query = select(table.c.document).where(table.c.id == document_id)
        with self._database.reading() as connection:
            document: object = connection.execute(query).scalar()
        if document is None:
            raise StoreUnfit(f"the database does not hold {document_id} of {table.name}")
        # SQLite takes text in any column. Its hash is another, which whoever reads it sees.
        return document if isinstance(document, bytes) else str(document).encode()

    # -------------------------------------------------------------------------------- deployments

    def deploy(self, book: Book, model_id: str | None, policy_id: str | None, at_us: int) -> None:
        deployment = Deployment(model_id, policy_id, Signed(at_us))
        with self._deploying(book, model_id, policy_id) as connection:
            deploying.deploy(connection, book, EventKind.MODEL_ACTIVATED, deployment)
            self._note(connection, acts.deployed(book, deployment))

    def deploy_policy(self, book: Book, policy_id: str | None, signed: Signed) -> None:
        with self._deploying(book, None, policy_id) as connection:
            model_id, _ = deploying.deployed(connection, book) or (None, None)
            deployment = Deployment(model_id, policy_id, signed)
            deploying.deploy(connection, book, EventKind.POLICY_ACTIVATED, deployment)
            self._note(connection, acts.policy_deployed(book, deployment))

    @contextmanager
    def _deploying(
        self, book: Book, model_id: str | None, policy_id: str | None
    ) -> Iterator[Connection]:
        """Give a connection to deploy with, one at a time, or say what is missing."""
        try:
            with self._database.writing() as connection:
                deploying.lock_lender(connection, book.lender)
                yield connection
        except Clash as error:
            self._say_what_is_missing(book, model_id, policy_id)
            raise StoreUnavailable("the deployment could not be written") from error

    def _say_what_is_missing(self, book: Book, model_id: str | None, policy_id: str | None) -> None:
        """Look for what a deployment refers to: whoever does not find it says so."""
        self.lender(book.lender)
        for table, document_id in ((schema.models, model_id), (schema.policies, policy_id)):
            if document_id is not None:
                self._document(table, document_id)

    def deployments(self, book: Book) -> Sequence[Deployment]:
        with self._database.reading() as connection:
            return deploying.deployments(connection, book)

    def deployed(self, book: Book) -> tuple[str | None, str | None] | None:
        with self._database.reading() as connection:
            return deploying.deployed(connection, book)

    def in_shadow(self, book: Book) -> bool:
        table = schema.onboarding.pilots
        since = select(table.c.shadow_us).where(table.c.lender == book.lender)
        if book.mode is not Mode.LIVE:
            return False
        with self._database.reading() as connection:
            return connection.execute(since).scalar() is not None

    # -------------------------------------------------------------------------------- pauses

    def pause(self, book: Book, pause: Pause) -> None:
        row = of_book(book) | {"paused_us": pause.since_us, "reason": pause.reason}
        try:
            with self._database.writing() as connection:
                if insert_new(connection, schema.pauses, row):
                    self._note(connection, acts.paused(book, pause))
        except Clash:
            raise UnknownLender(book.lender) from None

    def resume(self, book: Book) -> Pause | None:
        table = schema.pauses
        # Read first: not every SQLite gives back what it deletes.
        with self._database.writing() as connection:
            found = connection.execute(select(table).where(in_book(table, book))).first()
            if found is None:
                return None
            connection.execute(delete(table).where(in_book(table, book)))
            ended = Pause(found.paused_us, found.reason)
            self._note(connection, acts.resumed(book, ended))
        return ended

    def pause_of(self, book: Book) -> Pause | None:
        table = schema.pauses
        with self._database.reading() as connection:
            found = connection.execute(select(table).where(in_book(table, book))).first()
        return None if found is None else Pause(found.paused_us, found.reason)

    def wants(self, book: Book, kind: EventKind) -> bool:
        table = schema.webhook_endpoints
        query = select(table.c.kinds).where(in_book(table, book))
        with self._database.reading() as connection:
            wanted = connection.execute(query).scalars().all()
        return any(not kinds or kind in kinds.split() for kinds in wanted)

    # -------------------------------------------------------------------------------- facts

    def fact(self, name: str) -> str | None:
        """Give a fact, if it was ever settled."""
        query = select(schema.facts.c.value).where(schema.facts.c.name == name)
        with self._database.reading() as connection:
            found: str | None = connection.execute(query).scalar()
        return found

    def settle_fact(self, name: str, value: str) -> str:
        """Write a fact down unless it stands already, and give the one that stands."""
        found = self.fact(name)
        if found is not None:
            return found
        table = schema.facts
        query = select(table.c.value).where(table.c.name == name)
        with self._database.writing() as connection:
            insert_new(connection, table, {"name": name, "value": value})
            return str(connection.execute(query).scalar_one())

    # -------------------------------------------------------------------------------- pulse

    def ping(self) -> None:
        """Read what every request needs: a database that was emptied still answers `SELECT 1`."""
        with self._database.reading() as connection:
            connection.execute(select(schema.keys).limit(1))

    def write_something(self) -> None:
        """Write something, durably; what it is does not matter, if it is not what stands there.

        Where scores were refused a moment ago it is not tried: what is left of a full disk may hold
        these few bytes, and would not hold a score.
        """
        self._database.require_no_refusal(within_s=REFUSAL_STANDS_S)
        beat = {"name": _PULSE, "value": secrets.token_hex(4)}
        with self._database.writing() as connection:
            insert = insert_into(connection, schema.facts)
            connection.execute(
                insert.on_conflict_do_update(
                    index_elements=["name"], set_={"value": insert.excluded.value}
                ),
                beat,
            )


def _row(key: Key) -> Mapping[str, Any]:
    return {
        "id": key.id,
        "lender": key.lender,
        "mode": key.mode.value,
        "digest": key.digest,
        "hint": key.hint,
        "scopes": " ".join(key.scopes),
        "created_us": key.created_us,
        "days": key.days,
        "expires_us": key.expires_us,
    }


def _key(row: Row[Any]) -> Key:
    return Key(
        id=row.id,
        lender=row.lender,
        mode=Mode(row.mode),
        digest=row.digest,
        hint=row.hint,
        scopes=tuple(Scope(scope) for scope in row.scopes.split()),
        created_us=row.created_us,
        days=row.days,
        expires_us=row.expires_us,
        revoked_us=row.revoked_us,
        last_used_us=row.last_used_us,
    )
