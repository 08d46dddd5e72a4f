"""How the files of a lender are read: what somebody has said of them, kept for the next file.

A mapping holds names of columns and answers, and no value of a row. Each that is kept is a version.
Of loans and outcomes the last one counts, unless it was removed; statements come from many banks,
so of these each one counts that was not removed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from sqlalchemy import insert, select, update

from alama.lenders import acts, schema
from alama.lenders.records import NoMapping, UnknownLender, require_person
from alama.lenders.store import lock_lender
from alama.platform.errors import StoreUnfit

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row, Select

    from alama.lenders.installation import Installation
    from alama.platform.acts import ActLog
    from alama.platform.clock import Clock
    from alama.platform.database.database import Database


class Files(StrEnum):
    """The kinds of files that are read as they come."""

    HISTORIES = "histories"
    OUTCOMES = "outcomes"
    STATEMENTS = "statements"


M = TypeVar("M", bound=msgspec.Struct)


class KeptMapping(msgspec.Struct, Generic[M], frozen=True):
    """A version of how files are read, and who has kept it."""

    lender: str
    files: Files
    version: int
    mapping: M
    kept_us: int
    kept_by: str
    removed_us: int | None = None


class Mappings(Generic[M]):
    """Mappings in a database, each a `document`."""

    def __init__(self, database: Database, log: ActLog, clock: Clock, document: type[M]) -> None:
        self._database = database
        self._log = log
        self._clock = clock
        self._document = document

    @classmethod
    def at(cls, installed: Installation, document: type[M]) -> Mappings[M]:
        return cls(installed.database, installed.log, installed.clock, document)

    def find(self, lender: str, files: Files) -> KeptMapping[M] | None:
        """Give what counts now; None where nothing was kept, or the last was removed."""
        with self._database.reading() as connection:
            newest = self._newest(connection, lender, files)
        return None if newest is None or newest.removed_us is not None else newest

    def each(self, lender: str, files: Files) -> list[KeptMapping[M]]:
        """Give every version that was not removed, the oldest first."""
        with self._database.reading() as connection:
            return self._each(connection, lender, files)

    def keep(self, lender: str, files: Files, mapping: M, by: str) -> KeptMapping[M]:
        """Let a mapping count from now on; one that counts already stays. `UnknownLender`."""
        by = require_person(by)
        table = schema.file_mappings
        with self._database.writing() as connection:
            if not lock_lender(connection, lender):
                raise UnknownLender(lender)
            before = self._newest(connection, lender, files)
            if before is not None and before.removed_us is None and before.mapping == mapping:
                return before
            version = 1 if before is None else before.version + 1
            kept = KeptMapping(lender, files, version, mapping, self._clock(), by)
            row = msgspec.structs.asdict(kept)
            row["document"] = msgspec.json.encode(row.pop("mapping")).decode()
            connection.execute(insert(table), row | {"files": files.value})
            self._log.append(connection, acts.mapping_kept(lender, files.value, version, by))
        return kept

    def remove(self, lender: str, files: Files, by: str) -> KeptMapping[M]:
        """Have files read as they come again; what was kept can still be seen. `NoMapping`."""
        by, now_us = require_person(by), self._clock()
        table = schema.file_mappings
        with self._database.writing() as connection:
            if not lock_lender(connection, lender):
                raise UnknownLender(lender)
            found = self._newest(connection, lender, files)
            if files is Files.STATEMENTS:
                each = self._each(connection, lender, files)
                found = each[-1] if each else None
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

    def _newest(self, connection: Connection, lender: str, files: Files) -> KeptMapping[M] | None:
        table = schema.file_mappings
        query = _versions(lender, files).order_by(table.c.version.desc()).limit(1)
        row = connection.execute(query).first()
        return None if row is None else self._kept(row)

    def _each(self, connection: Connection, lender: str, files: Files) -> list[KeptMapping[M]]:
        table = schema.file_mappings
        query = _versions(lender, files).where(table.c.removed_us.is_(None))
        rows = connection.execute(query.order_by(table.c.version))
        return [self._kept(row) for row in rows]

    def _kept(self, row: Row[Any]) -> KeptMapping[M]:
        fields = dict(row._mapping)  # noqa: SLF001  public in spite of it
        document = fields.pop("document")
        try:
            mapping = msgspec.json.decode(document, type=self._document)
        except msgspec.DecodeError:
            raise StoreUnfit(
                f"how {fields['files']} of {fields['lender']} are read is damaged in the database",
                hint="map the file anew",
            ) from None
        return KeptMapping(**fields | {"files": Files(fields["files"]), "mapping": mapping})


def _versions(lender: str, files: Files) -> Select[Any]:
    table = schema.file_mappings
    return select(table).where(table.c.lender == lender, table.c.files == files.value)
