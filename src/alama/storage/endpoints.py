"""Webhook endpoints in a database, and the rows that they are.

Whoever touches deliveries of an endpoint in a way that depends on what it is locks its row first,
and several of them in the order of their ids: a delivery is made of no endpoint that is disabled
or removed at that moment, and no two wait for each other.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import delete, func, insert, select, update

from alama.service.audit import endpoint_acts
from alama.service.errors import TooManyEndpoints, UnknownEndpoint, UnknownLender
from alama.service.webhooks import secrets as webhook_secrets
from alama.service.webhooks.reasons import DisabledReason
from alama.service.webhooks.records import (
    ENDPOINTS_MAX,
    Attempt,
    Endpoint,
    Listed,
    Secrets,
    book_of,
)
from alama.storage import schema
from alama.storage.lender_keys import LenderKeys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select

    from alama.service.book import Book
    from alama.service.vault.vault import Vault
    from alama.service.webhooks.records import Change
    from alama.storage.acts import ActLog
    from alama.storage.database import Database

ENDPOINTS: Final = select(schema.webhook_endpoints)
ENABLED: Final = schema.webhook_endpoints.c.disabled_us.is_(None)

_ATTEMPT: Final = [schema.webhook_attempts.c[name] for name in Attempt._fields]


class SqlEndpoints:
    """The endpoints in a database; see `alama.service.webhooks.ports.EndpointStore`."""

    def __init__(self, database: Database, log: ActLog, vault: Vault) -> None:
        """Use an open database; the vault knows which key of a lender stands."""
        self._database = database
        self._log = log
        self._vault = vault
        self._lender_keys = LenderKeys(database, vault)

    def add(self, endpoint: Endpoint, by: str | None = None) -> None:
        table, lenders = schema.webhook_endpoints, schema.lenders
        lender = select(lenders.c.id).where(lenders.c.id == endpoint.book.lender)
        count = select(func.count()).select_from(table).where(_in(endpoint.book))
        with self._database.writing() as connection:
            # Two that are added at once are not both the last that there is room for.
            if connection.execute(lender.with_for_update()).first() is None:
                raise UnknownLender(endpoint.book.lender)
            if connection.execute(count).scalar_one() >= ENDPOINTS_MAX:
                raise TooManyEndpoints(ENDPOINTS_MAX)
            secrets = self._under_standing_key(connection, endpoint, endpoint.secrets)
            connection.execute(insert(table), _row(endpoint) | _kept(secrets))
            self._log.append(connection, endpoint_acts.endpoint_added(endpoint, by))

    def of(self, book: Book) -> Sequence[Endpoint]:
        query = ENDPOINTS.where(_in(book)).order_by(schema.webhook_endpoints.c.id)
        with self._database.reading() as connection:
            return [endpoint_of(row) for row in connection.execute(query)]

    def find(self, book: Book, endpoint_id: str) -> Endpoint:
        with self._database.reading() as connection:
            return _found(connection, one_of(book, endpoint_id))

    def change(
        self, book: Book, endpoint_id: str, change: Change, now_us: int, by: str | None = None
    ) -> Endpoint:
        with self._database.writing() as connection:
            endpoint = _found(connection, locked(one_of(book, endpoint_id)))
            values = _changed(endpoint, change, now_us)
            if values:
                _update(connection, endpoint_id, values)
                endpoint = _found(connection, one_of(book, endpoint_id))
                self._log.append(connection, endpoint_acts.endpoint_changed(endpoint, by))
            if endpoint.disabled_us is not None:
                end_resend(connection, endpoint_id)
        return endpoint

    def remove(self, book: Book, endpoint_id: str, by: str | None = None) -> None:
        table = schema.webhook_endpoints
        with self._database.writing() as connection:
            endpoint = _found(connection, locked(one_of(book, endpoint_id)))
            connection.execute(delete(table).where(table.c.id == endpoint_id))
            end_resend(connection, endpoint_id)
            self._log.append(connection, endpoint_acts.endpoint_removed(endpoint, by))

    def replace_secrets(
        self, book: Book, endpoint_id: str, secrets: Secrets, now_us: int, by: str | None = None
    ) -> Endpoint:
        with self._database.writing() as connection:
            endpoint = _found(connection, locked(one_of(book, endpoint_id)))
            new = self._under_standing_key(connection, endpoint, secrets)
            if new.previous_until_us is not None:
                keys = partial(self._vault.lender_key, book.lender)
                new = webhook_secrets.following(endpoint, new, keys, now_us)
            write_secrets(connection, endpoint_id, new)
            endpoint = _found(connection, one_of(book, endpoint_id))
            self._log.append(connection, endpoint_acts.endpoint_secret_rotated(endpoint, by))
        return endpoint

    def attempts(
        self, book: Book, endpoint_id: str, before: str | None, limit: int
    ) -> Sequence[Attempt]:
        table = schema.webhook_attempts
        query = (
            select(*_ATTEMPT)
            .where(
                table.c.lender == book.lender,
                table.c.mode == book.mode.value,
                table.c.endpoint_id == endpoint_id,
            )
            .order_by(table.c.id.desc())
            .limit(limit)
        )
        if before is not None:
            query = query.where(table.c.id < before)
        with self._database.reading() as connection:
            _found(connection, one_of(book, endpoint_id))
            return [Attempt._make(row) for row in connection.execute(query)]

    def _under_standing_key(
        self, connection: Connection, endpoint: Endpoint, secrets: Secrets
    ) -> Secrets:
        """Give secrets as they are under the lender's key that stands until the commit."""
        cursor = connection.connection.cursor()
        if not self._lender_keys.retired(cursor, {secrets.lender_key_id}):
            return secrets
        lender = endpoint.book.lender
        ring = self._lender_keys.ring(cursor, lender)
        old = self._vault.lender_key(lender, secrets.lender_key_id)
        return webhook_secrets.rewrapped(endpoint, secrets, old, ring)


# ------------------------------------------------------------------------------- rows


def endpoint_of(row: Row[Any]) -> Endpoint:
    """Read an endpoint from its row."""
    return Endpoint(
        id=row.id,
        book=book_of(row.lender, row.mode),
        url=row.url,
        kinds=tuple(row.kinds.split()),
        description=row.description,
        created_us=row.created_us,
        secrets=Secrets(row.lender_key_id, row.secret, row.previous_secret, row.previous_until_us),
        failing_since_us=row.failing_since_us,
        disabled_us=row.disabled_us,
        disabled_reason=row.disabled_reason,
        generation=row.generation,
    )


def listed(rows: Iterable[Row[Any]]) -> Listed:
    """Read endpoints, each by itself: one row that is damaged costs no other its events."""
    known: list[Endpoint] = []
    unreadable: set[str] = set()
    for row in rows:
        try:
            known.append(endpoint_of(row))
        except ValueError:
            unreadable.add(row.id)
    return Listed(known, frozenset(unreadable))


def _row(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "id": endpoint.id,
        "lender": endpoint.book.lender,
        "mode": endpoint.book.mode.value,
        "url": endpoint.url,
        "kinds": " ".join(endpoint.kinds),
        "description": endpoint.description,
        "created_us": endpoint.created_us,
    }


def _kept(secrets: Secrets) -> dict[str, Any]:
    return {
        "lender_key_id": secrets.lender_key_id,
        "secret": secrets.current,
        "previous_secret": secrets.previous,
        "previous_until_us": secrets.previous_until_us,
    }


def _changed(endpoint: Endpoint, change: Change, now_us: int) -> dict[str, Any]:
    """Give the columns that a change makes others than they are."""
    values: dict[str, Any] = {}
    if change.url not in {None, endpoint.url}:
        values |= {"url": change.url, "failing_since_us": None}  # that was another receiver
    if change.kinds is not None and change.kinds != endpoint.kinds:
        values["kinds"] = " ".join(change.kinds)
    if change.description not in {None, endpoint.description}:
        values["description"] = change.description
    if change.enabled is True and endpoint.disabled_us is not None:
        values |= {"disabled_us": None, "disabled_reason": None, "failing_since_us": None}
        # What has waited since before is not sent now: it may be much, and is put away later.
        values["generation"] = endpoint.generation + 1
    if change.enabled is False and endpoint.disabled_us is None:
        values |= {"disabled_us": now_us, "disabled_reason": DisabledReason.REQUESTED.value}
    return values


def _in(book: Book) -> ColumnElement[bool]:
    table = schema.webhook_endpoints
    return (table.c.lender == book.lender) & (table.c.mode == book.mode.value)


def one_of(book: Book, endpoint_id: str) -> Select[Any]:
    """Select one endpoint of a book."""
    return ENDPOINTS.where(_in(book), schema.webhook_endpoints.c.id == endpoint_id)


def locked(query: Select[Any]) -> Select[Any]:
    """Let nobody else change the selected endpoints, or make deliveries to them, until the commit.

    In the order of their ids, so that no two wait for each other.
    """
    return query.order_by(schema.webhook_endpoints.c.id).with_for_update(key_share=True)


def held(query: Select[Any]) -> Select[Any]:
    """Have the selected endpoints stay as they are until the commit; others may hold them too."""
    return query.order_by(schema.webhook_endpoints.c.id).with_for_update(read=True)


def _found(connection: Connection, query: Select[Any]) -> Endpoint:
    row = connection.execute(query).first()
    if row is None:
        raise UnknownEndpoint
    return endpoint_of(row)


def write_secrets(connection: Connection, endpoint_id: str, secrets: Secrets) -> None:
    """Have others stand in the place of an endpoint's secrets."""
    _update(connection, endpoint_id, _kept(secrets))


def _update(connection: Connection, endpoint_id: str, values: Mapping[str, Any]) -> None:
    table = schema.webhook_endpoints
    connection.execute(update(table).where(table.c.id == endpoint_id).values(**values))


def end_resend(connection: Connection, endpoint_id: str) -> None:
    """Have an endpoint wish no more to be sent anything again."""
    table = schema.webhook_resends
    connection.execute(delete(table).where(table.c.endpoint_id == endpoint_id))
