"""What stands in the tables that acts of administration write; see `service.audit.standing`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import select

from alama.service.audit import standing as things
from alama.service.audit.endpoint_acts import whereabouts
from alama.service.audit.pilot_acts import doubts, judgement
from alama.storage import schema
from alama.storage.applicants import same_applicant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Table

    from alama.service.audit.standing import Columns, Thing

_PACKS_AT_ONCE: Final = 10


def standing(connection: Connection) -> dict[Thing, Columns]:
    """Give all that acts speak of, from lenders to signatures, each with its columns."""
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
    for row in _rows(connection, schema.onboarding.pilots):
        found[things.pilot_of(row["lender"])] = row
    found |= {(things.HISTORY, str(row["id"])): row for row in _histories(connection)}
    found |= {(things.CANDIDATE, str(row["id"])): row for row in _candidates(connection)}
    for row in _rows(connection, schema.onboarding.signatures):
        found[things.signature_of(row["candidate_id"], row["number"])] = row
    return found


def _rows(connection: Connection, table: Table) -> Iterator[Columns]:
    query = select(table).order_by(*table.primary_key.columns)
    yield from (dict(row) for row in connection.execute(query).mappings())


def _histories(connection: Connection) -> Iterator[Columns]:
    """Give loan histories, each with a hash in the place of its report."""
    query = select(schema.onboarding.histories).execution_options(yield_per=_PACKS_AT_ONCE)
    for found in connection.execute(query).mappings():
        row = dict(found)
        yield row | doubts(row.pop("report"))


def _candidates(connection: Connection) -> Iterator[Columns]:
    """Give candidates, each with hashes in the place of what is long.

    The document is left out: its content hash is the id of the model, which is looked at.
    """
    table = schema.onboarding.candidates
    query = select(*(column for column in table.c if column.name != "document"))
    rows = connection.execute(query.execution_options(yield_per=_PACKS_AT_ONCE))
    for found in rows.mappings():
        row = dict(found)
        yield row | judgement(row.pop("gates"), row.pop("pack"), row.pop("page"))


def _holds(connection: Connection) -> Iterator[Columns]:
    """Give holds, each with the key of whom it stands on."""
    holds, keys = schema.legal_holds, schema.applicant_keys
    query = select(holds, keys.c.id.label("key_id")).outerjoin(keys, same_applicant())
    yield from (dict(row) for row in connection.execute(query).mappings())
