"""What answers in a book, written and read within a transaction that does other things too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert, select, update

from alama.service.policies import Deployment, Signed
from alama.storage import schema
from alama.storage.event_rows import announce_deployment
from alama.storage.upserts import insert_new

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Table

    from alama.service.book import Book
    from alama.service.webhooks.events import EventKind


def lock_lender(connection: Connection, lender: str) -> bool:
    """Let one at a time deploy for a lender; False where there is no such lender.

    A policy that is deployed at the moment when a model is must not bring back the model before it.
    """
    whose = schema.lenders.c.id
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


def of_book(book: Book) -> dict[str, object]:
    """Give the columns that say whose a row is."""
    return {"lender": book.lender, "mode": book.mode.value}


def in_book(table: Table, book: Book) -> ColumnElement[bool]:
    """Choose the rows of a book."""
    return (table.c.lender == book.lender) & (table.c.mode == book.mode.value)
