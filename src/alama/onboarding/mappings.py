"""How the files of a lender are read: what somebody has said of them, kept for the next file.

A mapping holds names of columns and answers, and no value of a row. Each that is kept is a version;
the last one counts, unless it was removed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import insert, select, update

from alama.lenders.records import UnknownLender
from alama.lenders.store import lock_lender
from alama.onboarding import acts, schema
from alama.onboarding.records import NoMapping, require_person
from alama.platform.errors import StoreUnfit
from alama.platform.files.asis.inspection import Mapping

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from alama.lenders.installation import Installation
    from alama.platform.acts import ActLog
    from alama.platform.clock import Clock
    from alama.platform.database.database import Database


class Files(StrEnum):
    """The kinds of files that are read as they come."""

    HISTORIES = "histories"
    OUTCOMES = "outcomes"


class KeptMapping(msgspec.Struct, frozen=True):
    """A version of how files are read, and who has kept it."""

    lender: str
    files: Files
    version: int
    mapping: Mapping
    kept_us: int
    kept_by: str
    removed_us: int | None = None


class Mappings:
    """Mappings in a database."""

    def __init__(self, database: Database, log: ActLog, clock: Clock) -> None:
        self._database = database
        self._log = log
        self._clock = clock

    @classmethod
    def at(cls, installed: Installation) -> Mappings:
        return cls(installed.database, installed.log, installed.clock)

    def find(self, lender: str, files: Files) -> KeptMapping | None:
        """Give what counts now; None where nothing was kept, or the last was removed."""
        with self._database.reading() as connection:
            newest = _newest(connection, lender, files)
        return None if newest is None or newest.removed_us is not None else newest

    def said(self, lender: str, files: Files) -> Mapping:
        """Give what was said of such files: nothing, where nothing is kept."""
        found = self.find(lender, files)
        return Mapping() if found is None else found.mapping

    def keep(self, lender: str, files: Files, mapping: Mapping, by: str) -> KeptMapping:
        """Let a mapping count from now on; one that counts already stays. `UnknownLender`."""
        by = require_person(by)
        table = schema.file_mappings
        with self._database.writing() as connection:
            if not lock_lender(connection, lender):
                raise UnknownLender(lender)
            before = _newest(connection, lender, files)
            if before is not None and before.removed_us is None and before.mapping == mapping:
                return before
            version = 1 if before is None else before.version + 1
            kept = KeptMapping(lender, files, version, mapping, self._clock(), by)
            row = msgspec.structs.asdict(kept)
            row["document"] = msgspec.json.encode(row.pop("mapping")).decode()
            connection.execute(insert(table), row | {"files": files.value})
            self._log.append(connection, acts.mapping_kept(lender, files.value, version, by))
        return kept

    def remove(self, lender: str, files: Files, by: str) -> KeptMapping:
        """Have files read as they come again; what was kept can still be seen. `NoMapping`."""
        by, now_us = require_person(by), self._clock()
        table = schema.file_mappings
        with self._database.writing() as connection:
            if not lock_lender(connection, lender):
                raise UnknownLender(lender)
            found = _newest(connection, lender, files)
            if found is None or found.removed_us is not None:
                raise NoMapping
            chosen = (
                (table.c.lender == lender)
                & (table.c.files == files.value)
                & (table.c.version == found.version)
            )
            connection.execute(update(table).where(chosen).values(removed_us=now_us))
            self._log.append(
                connection, acts.mapping_removed(lender, files.value, found.version, by)
            )
        return msgspec.structs.replace(found, removed_us=now_us)


def _newest(connection: Connection, lender: str, files: Files) -> KeptMapping | None:
    table = schema.file_mappings
    query = (
        select(table)
        .where(table.c.lender == lender, table.c.files == files.value)
        .order_by(table.c.version.desc())
        .limit(1)
    )
    row = connection.execute(query).first()
    return None if row is None else _kept(row)


def _kept(row: Row[Any]) -> KeptMapping:
    fields = dict(row._mapping)  # noqa: SLF001  public in spite of it
    document = fields.pop("document")
    try:
        mapping = msgspec.json.decode(document, type=Mapping)
    except msgspec.DecodeError:
        raise StoreUnfit(
            f"how {fields['files']} of {fields['lender']} are read is damaged in the database",
            hint="map the file anew",
        ) from None
    return KeptMapping(**fields | {"files": Files(fields["files"]), "mapping": mapping})
