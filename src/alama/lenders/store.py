"""Lenders, keys, models, policies and what answers in each book, in a database."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from alama.lenders import acts, schema
from alama.lenders.records import (
    Deployment,
    FieldActivation,
    Key,
    Lender,
    Pause,
    Signed,
    UnknownKey,
    UnknownLender,
)
from alama.platform.book import Book, Mode, Scope
from alama.platform.database import tables
from alama.platform.database.books import in_book, of_book
from alama.platform.database.database import Clash, Database
from alama.platform.database.statements import insert_into, insert_new
from alama.platform.errors import InvalidName, StoreUnavailable, StoreUnfit
from alama.platform.event_bundles import announce
from alama.platform.events import EventKind, moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Row, Table

    from alama.platform.acts import Act, ActLog


BROUGHT: Final = "builtin"
"""What an event calls a model or a policy that comes with the package."""


def announce_deployment(
    connection: Connection, book: Book, kind: EventKind, deployment: Deployment
) -> None:
    """Say what answers in a book from now on; None stands for what the package brings."""
    model_id, policy_id, signed = deployment
    subject_id = model_id if kind is EventKind.MODEL_ACTIVATED else policy_id
    data = {"model": model_id, "policy": policy_id, "activated_at": moment(signed.at_us)}
    announce(connection, book, kind, subject_id or BROUGHT, data, signed.at_us)


def lock_lender(connection: Connection, lender: str) -> bool:
    """Let one at a time deploy for a lender; False where there is no such lender.

    A policy that is deployed at the moment when a model is must not bring back the model before it.
    """
    whose = tables.lenders.c.id
    query = select(whose).where(whose == lender).with_for_update()
    return connection.execute(query).first() is not None


def deployments(connection: Connection, book: Book) -> Sequence[Deployment]:
    """Give all that ever answered in a book, oldest first."""
    table = schema.deployments
    query = select(table).where(in_book(table, book)).order_by(table.c.id)
    return [
        Deployment(row.model_id, row.policy_id, Signed(row.created_us, row.signed_by, row.note))
        for row in connection.execute(query)
    ]


def deployed(connection: Connection, book: Book) -> tuple[str | None, str | None] | None:
    """Give the model and the policy that answer in a book; None: nothing was ever deployed."""
    table = schema.deployments
    query = (
        select(table.c.model_id, table.c.policy_id)
        .where(in_book(table, book))
        .order_by(table.c.id.desc())
        .limit(1)
    )
    row = connection.execute(query).first()
    return None if row is None else (row.model_id, row.policy_id)


def deploy(connection: Connection, book: Book, kind: EventKind, deployment: Deployment) -> None:
    """Set what answers in a book, and announce it; the act is for who deploys to note."""
    signed = deployment.signed
    row = {
        "model_id": deployment.model_id,
        "policy_id": deployment.policy_id,
        "created_us": signed.at_us,
        "signed_by": signed.by,
        "note": signed.note,
    }
    connection.execute(insert(schema.deployments), of_book(book) | row)
    announce_deployment(connection, book, kind, deployment)


def keep_document(
    connection: Connection, table: Table, document_id: str, document: bytes, created_us: int
) -> None:
    """Keep a model or a policy; the newest writing of it stands."""
    row = {"id": document_id, "document": document, "created_us": created_us}
    insert_new(connection, table, row)
    # The same content in other words, or what was there is damaged.
    newest = update(table).where(table.c.id == document_id).values(document=document)
    connection.execute(newest)


_PULSE: Final = "pulse"

REFUSAL_STANDS_S: Final = 1.0
"""How long scores that could not be kept speak for the database: about as long as a health report.

Longer, and a service from which all traffic was taken would not see that there is room again.
"""


class Registry:
    """Lenders, their keys and documents. Every method may raise `StoreUnavailable`."""

    def __init__(self, database: Database, log: ActLog | None = None) -> None:
        """Use an open database; whoever changes anything needs the log of acts."""
        self._database = database
        self._log = log

    def _note(self, connection: Connection, act: Act) -> None:
        assert self._log is not None, "a registry without a log of acts is for reading"
        self._log.append(connection, act)

    # -------------------------------------------------------------------------------- lenders

    def add_lender(self, lender: Lender) -> None:
        """Add one; `InvalidName` if the id is taken."""
        try:
            with self._database.writing() as connection:
                connection.execute(
                    insert(tables.lenders),
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
        """All of them, oldest first."""
        table = tables.lenders
        with self._database.reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.created_us, table.c.id))
            return [Lender(**row._mapping) for row in rows]  # noqa: SLF001  public in spite of it

    def lender(self, lender_id: str) -> Lender:
        """One of them, or `UnknownLender`."""
        table = tables.lenders
        with self._database.reading() as connection:
            row = connection.execute(select(table).where(table.c.id == lender_id)).first()
        if row is None:
            raise UnknownLender(lender_id)
        return Lender(**row._mapping)  # noqa: SLF001  public in spite of it

    # -------------------------------------------------------------------------------- keys

    def add_key(self, key: Key) -> None:
        """Keep a new key; `UnknownLender` if it is nobody's, `InvalidName` if it is taken."""
        with self._adding(key) as connection:
            connection.execute(insert(tables.keys), _row(key))
            self._note(connection, acts.key_issued(key))

    def replace_key(self, old_id: str, expires_us: int, new: Key, by: str | None = None) -> None:
        """Keep a new key and let an old one expire at a time, both or neither.

        `UnknownKey` if the old one is not there or was revoked.
        """
        table = tables.keys
        still_good = (table.c.id == old_id) & table.c.revoked_us.is_(None)
        end = update(table).where(still_good).values(expires_us=expires_us)
        with self._adding(new) as connection:
            if connection.execute(end).rowcount == 0:
                raise UnknownKey(old_id)
            connection.execute(insert(table), _row(new))
            self._note(connection, acts.key_rotated(new, old_id, expires_us, by))

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
        """Keys of one lender or of all, oldest first."""
        table = tables.keys
        query = select(table).order_by(table.c.created_us, table.c.id)
        if lender_id is not None:
            query = query.where(table.c.lender == lender_id)
        with self._database.reading() as connection:
            return [_key(row) for row in connection.execute(query)]

    def key(self, key_id: str) -> Key:
        """One of them, or `UnknownKey`."""
        with self._database.reading() as connection:
            row = connection.execute(select(tables.keys).where(tables.keys.c.id == key_id)).first()
        if row is None:
            raise UnknownKey(key_id)
        return _key(row)

    def key_of(self, digest: bytes) -> Key | None:
        """The key with this keyed hash, whatever has become of it since."""
        query = select(tables.keys).where(tables.keys.c.digest == digest)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else _key(row)

    def revoke_key(self, key_id: str, revoked_us: int) -> None:
        """Revoke a key; the first time stands."""
        table = tables.keys
        first_time = (table.c.id == key_id) & table.c.revoked_us.is_(None)
        query = select(table).where(table.c.id == key_id)
        with self._database.writing() as connection:
            end = update(table).where(first_time).values(revoked_us=revoked_us)
            if connection.execute(end).rowcount:
                revoked = _key(connection.execute(query).one())
                self._note(connection, acts.key_revoked(revoked))

    def note_key_use(self, last_used_us: Mapping[str, int]) -> None:
        """Note when keys were last used; a later use that was noted before stands."""
        table = tables.keys
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
        """Keep an artefact for as long as a score may name it; the newest writing of it stands."""
        self._keep(schema.models, model_id, document, created_us)

    def model(self, model_id: str) -> bytes:
        """The artefact with this id, or `StoreUnfit`."""
        return self._document(schema.models, model_id)

    def keep_policy(self, policy_id: str, document: bytes, created_us: int) -> None:
        """Keep a policy, as `keep_model` does."""
        self._keep(schema.policies, policy_id, document, created_us)

    def policy(self, policy_id: str) -> bytes:
        """The policy with this id, or `StoreUnfit`."""
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
        """Set what answers in a book; None stands for what comes with the package.

        `UnknownLender` or `StoreUnfit` if the lender, the model or the policy is not there.
        """
        deployment = Deployment(model_id, policy_id, Signed(at_us))
        with self._deploying(book, model_id, policy_id) as connection:
            deploy(connection, book, EventKind.MODEL_ACTIVATED, deployment)
            self._note(connection, acts.deployed(book, deployment))

    def deploy_policy(self, book: Book, policy_id: str | None, signed: Signed) -> None:
        """Set the policy of a book and leave its model as it is; errors as in `deploy`."""
        with self._deploying(book, None, policy_id) as connection:
            model_id, _ = deployed(connection, book) or (None, None)
            deployment = Deployment(model_id, policy_id, signed)
            deploy(connection, book, EventKind.POLICY_ACTIVATED, deployment)
            self._note(connection, acts.policy_deployed(book, deployment))

    @contextmanager
    def _deploying(
        self, book: Book, model_id: str | None, policy_id: str | None
    ) -> Iterator[Connection]:
        """Give a connection to deploy with, one at a time, or say what is missing."""
        try:
            with self._database.writing() as connection:
                lock_lender(connection, book.lender)
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
        """All that ever answered in a book, oldest first."""
        with self._database.reading() as connection:
            return deployments(connection, book)

    def deployed(self, book: Book) -> tuple[str | None, str | None] | None:
        """What answers in a book: model and policy id; None if nothing was ever deployed."""
        with self._database.reading() as connection:
            return deployed(connection, book)

    def in_shadow(self, book: Book) -> bool:
        """Whether a live book is answered though the lender has no model of its own yet."""
        table = tables.pilots
        since = select(table.c.shadow_us).where(table.c.lender == book.lender)
        if book.mode is not Mode.LIVE:
            return False
        with self._database.reading() as connection:
            return connection.execute(since).scalar() is not None

    # -------------------------------------------------------------------------------- own fields

    def activate_fields(self, lender: str, fields_id: str, document: bytes, signed: Signed) -> None:
        """Let a lender send these fields from now on; `UnknownLender`."""
        row = {
            "lender": lender,
            "fields_id": fields_id,
            "document": document,
            "created_us": signed.at_us,
            "signed_by": signed.by,
            "note": signed.note,
        }
        activation = FieldActivation(fields_id, signed)
        with self._database.writing() as connection:
            if not lock_lender(connection, lender):
                raise UnknownLender(lender)
            connection.execute(insert(schema.field_activations), row)
            self._note(connection, acts.fields_activated(lender, activation))

    def fields_in_force(self, lender: str) -> str | None:
        """Give the id of the own fields of a lender; None: it never declared any."""
        table = schema.field_activations
        query = select(table.c.fields_id).where(table.c.lender == lender)
        with self._database.reading() as connection:
            found = connection.execute(query.order_by(table.c.id.desc()).limit(1)).scalar()
        return None if found is None else str(found)

    def fields(self, lender: str, fields_id: str) -> bytes:
        """Give the text of fields that were ever in force for a lender, or raise `StoreUnfit`."""
        table = schema.field_activations
        wanted = (table.c.lender == lender) & (table.c.fields_id == fields_id)
        query = select(table.c.document).where(wanted).order_by(table.c.id.desc()).limit(1)
        with self._database.reading() as connection:
            document: object = connection.execute(query).scalar()
        if document is None:
            raise StoreUnfit(f"the database does not hold the fields {fields_id} of {lender}")
        # SQLite takes text in any column. Its hash is another, which whoever reads it sees.
        return document if isinstance(document, bytes) else str(document).encode()

    def field_activations(self, lender: str) -> Sequence[FieldActivation]:
        """Give all that was ever in force for a lender, oldest first."""
        table = schema.field_activations
        query = select(table).where(table.c.lender == lender).order_by(table.c.id)
        with self._database.reading() as connection:
            return [
                FieldActivation(row.fields_id, Signed(row.created_us, row.signed_by, row.note))
                for row in connection.execute(query)
            ]

    # -------------------------------------------------------------------------------- pauses

    def pause(self, book: Book, pause: Pause) -> None:
        """Leave every decision of a book to a person; the first pause stands."""
        row = of_book(book) | {"paused_us": pause.since_us, "reason": pause.reason}
        try:
            with self._database.writing() as connection:
                if insert_new(connection, schema.pauses, row):
                    self._note(connection, acts.paused(book, pause))
        except Clash:
            raise UnknownLender(book.lender) from None

    def resume(self, book: Book) -> Pause | None:
        """End the pause of a book, and give the one that was; None if there was none."""
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

    # -------------------------------------------------------------------------------- facts

    def fact(self, name: str) -> str | None:
        """Give a fact, if it was ever settled."""
        query = select(tables.facts.c.value).where(tables.facts.c.name == name)
        with self._database.reading() as connection:
            found: str | None = connection.execute(query).scalar()
        return found

    def settle_fact(self, name: str, value: str) -> str:
        """Write a fact down unless it stands already, and give the one that stands."""
        found = self.fact(name)
        if found is not None:
            return found
        table = tables.facts
        query = select(table.c.value).where(table.c.name == name)
        with self._database.writing() as connection:
            insert_new(connection, table, {"name": name, "value": value})
            return str(connection.execute(query).scalar_one())

    # -------------------------------------------------------------------------------- pulse

    def ping(self) -> None:
        """Read what every request needs: a database that was emptied still answers `SELECT 1`."""
        with self._database.reading() as connection:
            connection.execute(select(tables.keys).limit(1))

    def write_something(self) -> None:
        """Write something, durably; what it is does not matter, if it is not what stands there.

        Where scores were refused a moment ago it is not tried: what is left of a full disk may hold
        these few bytes, and would not hold a score.
        """
        self._database.require_no_refusal(within_s=REFUSAL_STANDS_S)
        beat = {"name": _PULSE, "value": secrets.token_hex(4)}
        with self._database.writing() as connection:
            insert = insert_into(connection, tables.facts)
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
