"""Events: written in the transaction of what they speak of, and chosen by their kinds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import literal_column

from alama.service import ids
from alama.service.webhooks.events import Event, EventKind, event, moment
from alama.storage import bundles, schema
from alama.storage.webhook_tables import COMMON_KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from alama.service.book import Book
    from alama.service.policies import Deployment

BROUGHT: Final = "builtin"
"""What an event calls a model or a policy that comes with the package."""

COLUMNS: Final = [schema.events.c[name] for name in Event._fields]


def announce(
    connection: Connection,
    book: Book,
    kind: EventKind,
    subject_id: str,
    data: dict[str, Any],
    at_us: int,
) -> None:
    """Write down what has just happened, in the transaction of it."""
    happened = event(book, kind, subject_id, data, at_us, os.urandom(ids.RANDOM_BYTES))
    bundles.keep(connection, happened)


def announce_deployment(
    connection: Connection, book: Book, kind: EventKind, deployment: Deployment
) -> None:
    """Say what answers in a book from now on; None stands for what the package brings."""
    model_id, policy_id, signed = deployment
    subject_id = model_id if kind is EventKind.MODEL_ACTIVATED else policy_id
    data = {"model": model_id, "policy": policy_id, "activated_at": moment(signed.at_us)}
    announce(connection, book, kind, subject_id or BROUGHT, data, signed.at_us)


def retained(query: Select[Any]) -> Select[Any]:
    """Have the selected events stay until the commit: nobody forgets them meanwhile."""
    return query.with_for_update(read=True, key_share=True)


def of_kinds(kinds: Sequence[str]) -> list[ColumnElement[bool]]:
    """Choose events by their kinds; the rare ones have an index of ids of their own."""
    kind = schema.events.c.kind
    chosen = kind == kinds[0] if len(kinds) == 1 else kind.in_(kinds)
    if any(common in kinds for common in COMMON_KINDS):
        return [chosen]
    return [chosen, *(kind != literal_column(f"'{common}'") for common in COMMON_KINDS)]
