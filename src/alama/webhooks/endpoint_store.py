"""Webhook endpoints in a database, and what was done to them as the log of acts has it.

Of an address only the host, and the rest as a hash: it may hold a secret of the receiver, and an
entry of the audit cannot be taken back.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from sqlalchemy import delete, func, insert, select, update

from alama.lenders.records import UnknownLender
from alama.platform.acts import ADDRESS, Act, ActKind, ActLog, Detail, act_in_book
from alama.platform.book import Book, Mode
from alama.platform.database import tables
from alama.platform.database.books import in_book
from alama.vault.store import LenderKeys
from alama.webhooks import schema
from alama.webhooks import secrets as webhook_secrets
from alama.webhooks.records import (
    ENDPOINTS_MAX,
    Attempt,
    Change,
    DisabledReason,
    Endpoint,
    Listed,
    Secrets,
    TooManyEndpoints,
    UnknownEndpoint,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection, Row, Select

    from alama.platform.database.database import Database
    from alama.vault.vault import Vault


ENDPOINTS: Final = select(tables.webhook_endpoints)
ENABLED: Final = tables.webhook_endpoints.c.disabled_us.is_(None)

_ATTEMPT: Final = [schema.webhook_attempts.c[name] for name in Attempt._fields]


class EndpointStore:
    """The endpoints in a database; the vault knows which key of a lender stands."""

    def __init__(self, database: Database, log: ActLog, vault: Vault) -> None:
        self._database = database
        self._log = log
        self._vault = vault
        self._lender_keys = LenderKeys(database, vault)

    def add(self, endpoint: Endpoint, by: str | None = None) -> None:
        """Add one; `TooManyEndpoints` if the book has its twenty, `UnknownLender`."""
        table, lenders = tables.webhook_endpoints, tables.lenders
        lender = select(lenders.c.id).where(lenders.c.id == endpoint.book.lender)
        count = select(func.count()).select_from(table).where(in_book(table, endpoint.book))
        with self._database.writing() as connection:
            # Two that are added at once are not both the last that there is room for.
            if connection.execute(lender.with_for_update()).first() is None:
                raise UnknownLender(endpoint.book.lender)
            if connection.execute(count).scalar_one() >= ENDPOINTS_MAX:
                raise TooManyEndpoints(ENDPOINTS_MAX)
            secrets = self._under_standing_key(connection, endpoint, endpoint.secrets)
            connection.execute(insert(table), _row(endpoint) | _kept(secrets))
            act = _act(ActKind.ENDPOINT_ADDED, endpoint, _terms(endpoint), by)
            self._log.append(connection, act)

    def of(self, book: Book) -> Sequence[Endpoint]:
        """Those of a book, oldest first."""
        query = _of(book).order_by(tables.webhook_endpoints.c.id)
        with self._database.reading() as connection:
            return [endpoint_of(row) for row in connection.execute(query)]

    def find(self, book: Book, endpoint_id: str) -> Endpoint:
        """One of them, or `UnknownEndpoint`."""
        with self._database.reading() as connection:
            return _found(connection, one_of(book, endpoint_id))

    def change(
        self, book: Book, endpoint_id: str, change: Change, now_us: int, by: str | None = None
    ) -> Endpoint:
        """Change one and give it as it is then; enabled again it is not failing; `UnknownEndpoint`.

        Disabled, what is on its way to it is given up: it does not come when it is enabled again.
        """
        with self._database.writing() as connection:
            endpoint = _found(connection, locked(one_of(book, endpoint_id)))
            values = _changed(endpoint, change, now_us)
            if values:
                _update(connection, endpoint_id, values)
                endpoint = _found(connection, one_of(book, endpoint_id))
                act = _act(ActKind.ENDPOINT_CHANGED, endpoint, _terms(endpoint), by)
                self._log.append(connection, act)
            if endpoint.disabled_us is not None:
                end_resend(connection, endpoint_id)
        return endpoint

    def remove(self, book: Book, endpoint_id: str, by: str | None = None) -> None:
        """Remove one, or `UnknownEndpoint`; nothing more is sent to it, and nothing can be asked.

        What is left of its deliveries and attempts goes when their events do.
        """
        table = tables.webhook_endpoints
        with self._database.writing() as connection:
            endpoint = _found(connection, locked(one_of(book, endpoint_id)))
            connection.execute(delete(table).where(table.c.id == endpoint_id))
            end_resend(connection, endpoint_id)
            act = _act(ActKind.ENDPOINT_REMOVED, endpoint, whereabouts(endpoint.url), by)
            self._log.append(connection, act)

    def replace_secrets(
        self, book: Book, endpoint_id: str, secrets: Secrets, now_us: int, by: str | None = None
    ) -> Endpoint:
        """Let another secret sign from now on, and give the endpoint, or `UnknownEndpoint`.

        With a `previous_until_us`, the one that signs at this moment goes on until then; which
        that is, the store sees: somebody else may have replaced it meanwhile. Where an older one
        signs too by now, that one goes on to the end it has, and the current one ends: receivers
        have the older.
        """
        with self._database.writing() as connection:
            endpoint = _found(connection, locked(one_of(book, endpoint_id)))
            new = self._under_standing_key(connection, endpoint, secrets)
            if new.previous_until_us is not None:
                keys = partial(self._vault.lender_key, book.lender)
                new = webhook_secrets.following(endpoint, new, keys, now_us)
            write_secrets(connection, endpoint_id, new)
            endpoint = _found(connection, one_of(book, endpoint_id))
            until: dict[str, Detail] = {"previous_until_us": endpoint.secrets.previous_until_us}
            act = _act(ActKind.ENDPOINT_SECRET_ROTATED, endpoint, until, by)
            self._log.append(connection, act)
        return endpoint

    def attempts(
        self, book: Book, endpoint_id: str, before: str | None, limit: int
    ) -> Sequence[Attempt]:
        """What was tried at an endpoint, newest first, from just before an id on."""
        table = schema.webhook_attempts
        query = (
            select(*_ATTEMPT)
            .where(in_book(table, book), table.c.endpoint_id == endpoint_id)
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
        book=Book(row.lender, Mode(row.mode)),
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


def _of(book: Book) -> Select[Any]:
    return ENDPOINTS.where(in_book(tables.webhook_endpoints, book))


def one_of(book: Book, endpoint_id: str) -> Select[Any]:
    """Select one endpoint of a book."""
    return _of(book).where(tables.webhook_endpoints.c.id == endpoint_id)


def locked(query: Select[Any]) -> Select[Any]:
    """Let nobody else change the selected endpoints, or make deliveries to them, until the commit.

    In the order of their ids, so that no two wait for each other.
    """
    return query.order_by(tables.webhook_endpoints.c.id).with_for_update(key_share=True)


def held(query: Select[Any]) -> Select[Any]:
    """Have the selected endpoints stay as they are until the commit; others may hold them too."""
    return query.order_by(tables.webhook_endpoints.c.id).with_for_update(read=True)


def _found(connection: Connection, query: Select[Any]) -> Endpoint:
    row = connection.execute(query).first()
    if row is None:
        raise UnknownEndpoint
    return endpoint_of(row)


def write_secrets(connection: Connection, endpoint_id: str, secrets: Secrets) -> None:
    """Have others stand in the place of an endpoint's secrets."""
    _update(connection, endpoint_id, _kept(secrets))


def _update(connection: Connection, endpoint_id: str, values: Mapping[str, Any]) -> None:
    table = tables.webhook_endpoints
    connection.execute(update(table).where(table.c.id == endpoint_id).values(**values))


def end_resend(connection: Connection, endpoint_id: str) -> None:
    """Have an endpoint wish no more to be sent anything again."""
    table = schema.webhook_resends
    connection.execute(delete(table).where(table.c.endpoint_id == endpoint_id))


# ------------------------------------------------------------------------------- acts


_DIGITS: Final = 16

WORKER: Final = "the webhook worker"
"""Who disables endpoints, where no person does."""


def endpoint_disabled(endpoint: Endpoint) -> Act:
    details: dict[str, Detail] = {
        "reason": endpoint.disabled_reason,
        "failing_since_us": endpoint.failing_since_us,
        "disabled_us": endpoint.disabled_us,
    }
    return _act(ActKind.ENDPOINT_DISABLED, endpoint, details, WORKER)


def _act(kind: ActKind, endpoint: Endpoint, details: dict[str, Detail], by: str | None) -> Act:
    return act_in_book(kind, endpoint.book, endpoint.id, details, by)


def _terms(endpoint: Endpoint) -> dict[str, Detail]:
    return whereabouts(endpoint.url) | {
        "kinds": " ".join(endpoint.kinds),
        "disabled_us": endpoint.disabled_us,
    }


def whereabouts(url: str) -> dict[str, Detail]:
    """Say where an endpoint is, as far as the audit may; somebody may have put anything there."""
    digest = hashlib.sha256(url.encode()).hexdigest()[:_DIGITS]
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    return {"host": host, ADDRESS: digest}
