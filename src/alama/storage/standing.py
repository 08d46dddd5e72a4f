"""What stands in the tables that acts of administration write; see `service.audit.standing`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from alama.service.audit import standing as things
from alama.service.audit.endpoint_acts import whereabouts
from alama.storage import schema
from alama.storage.applicants import same_applicant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Table

    from alama.service.audit.standing import Columns, Thing


def standing(connection: Connection) -> dict[Thing, Columns]:
    """Give every lender, key, deployment, pause, hold and webhook endpoint with its columns."""
    found: dict[Thing, Columns] = {}
    for row in _rows(connection, schema.lenders):
        found[things.LENDER, str(row["id"])] = row
    for row in _rows(connection, schema.keys):
        digest = row["digest"]
        row["digest"] = digest.hex() if isinstance(digest, bytes) else digest
        found[things.KEY, str(row["id"])] = row
    places: dict[tuple[object, object], int] = {}
    for row in _rows(connection, schema.deployments):
        book = (row["lender"], row["mode"])
        places[book] = places.get(book, 0) + 1
        found[things.deployment_of(*book, places[book])] = row
    for row in _rows(connection, schema.pauses):
        found[things.pause_of(row["lender"], row["mode"])] = row
    for row in _holds(connection):
        found[things.HELD, str(row["id"])] = row
    for row in _rows(connection, schema.webhook_endpoints):
        found[things.ENDPOINT, str(row["id"])] = row | whereabouts(str(row["url"]))
    return found


def _rows(connection: Connection, table: Table) -> Iterator[Columns]:
    query = select(table).order_by(*table.primary_key.columns)
    yield from (dict(row) for row in connection.execute(query).mappings())


def _holds(connection: Connection) -> Iterator[Columns]:
    """Give holds, each with the key of whom it stands on."""
    holds, keys = schema.legal_holds, schema.applicant_keys
    query = select(holds, keys.c.id.label("key_id")).outerjoin(keys, same_applicant())
    yield from (dict(row) for row in connection.execute(query).mappings())
