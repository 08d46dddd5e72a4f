"""The first acts of an audit: what stood before there was one.

A database of an earlier version has lenders, keys and scores that no act speaks of. They are noted
once, before anything else is, so that nothing can be passed off as one of them later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import exists, select

from alama.core.chain import MAIN
from alama.service import ids
from alama.service.audit import acts
from alama.service.audit.earlier import NO_EARLIER, earlier
from alama.service.book import Book, Mode
from alama.service.vault.keys import Purpose
from alama.storage import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from alama.service.audit.acts import Act
    from alama.service.audit.earlier import Earlier
    from alama.storage.acts import ActLog
    from alama.storage.database import Database
    from alama.storage.registry import SqlRegistry

_BY: Final = "before the audit"
_AT_ONCE: Final = 10_000


def begin_audit(database: Database, registry: SqlRegistry, log: ActLog) -> None:
    """Note what there is, where no act was ever written and there is something to note.

    An audit that was emptied does not begin anew: its lenders have keys in the vault by then, and
    those an audit came before.
    """
    with database.reading() as connection:
        if not _is_to_begin(connection):
            return
    standing = list(_standing(registry))
    with database.writing() as connection:
        log.wait_for_others(connection)
        if _is_to_begin(connection):
            for act in (acts.audit_begun(_earlier(connection)), *standing):
                log.append(connection, act)


def _is_to_begin(connection: Connection) -> bool:
    entries, keys = schema.audit_entries, schema.vault_keys
    begun = exists().where(entries.c.writer == MAIN)
    sealed = exists().where(keys.c.purpose == Purpose.SEAL.value)
    any_lender = exists(select(schema.lenders.c.id))
    return bool(connection.execute(select(~begun & ~sealed & any_lender)).scalar())


def _earlier(connection: Connection) -> dict[Book, Earlier]:
    lenders = connection.execute(select(schema.lenders.c.id)).scalars().all()
    books = [Book(lender, mode) for lender in sorted(lenders) for mode in Mode]
    found = {book: earlier(_ids(connection, book)) for book in books}
    return {book: scores for book, scores in found.items() if scores != NO_EARLIER}


def _ids(connection: Connection, book: Book) -> Iterator[bytes]:
    table = schema.scores
    query = (
        select(table.c.request_id)
        .where(table.c.lender == book.lender, table.c.mode == book.mode.value)
        .order_by(table.c.request_id)
    )
    rows = connection.execution_options(yield_per=_AT_ONCE).execute(query)
    # What is no id of ours was not given by us: it is not let in, and a verification tells of it.
    return (ids.raw(one) for one in rows.scalars() if ids.is_request_id(one))


def _standing(registry: SqlRegistry) -> Iterator[Act]:
    """Give an act for each thing that stands, as if it were done now."""
    for lender in registry.lenders():
        yield acts.said_by(acts.lender_added(lender), _BY)
        for book in (Book(lender.id, mode) for mode in Mode):
            for deployment in registry.deployments(book):
                act = acts.deployed(book, deployment)
                yield act if act.by else acts.said_by(act, _BY)
            pause = registry.pause_of(book)
            if pause is not None:
                yield acts.said_by(acts.paused(book, pause), _BY)
    for key in registry.keys():  # noqa: SIM118  no dictionary
        yield acts.said_by(acts.key_issued(key), _BY)
        if key.revoked_us is not None:
            yield acts.said_by(acts.key_revoked(key), _BY)
