"""Time in a database: its own clock, and the last time that a process was sure of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import func, select, text, tuple_, update

from alama.core.chain import MAIN
from alama.platform import acts
from alama.platform.clock import TOLERANCE_US, Seen
from alama.platform.database import tables
from alama.platform.database.statements import insert_new
from alama.platform.errors import StoreUnfit

if TYPE_CHECKING:
    from alama.platform.acts import ActLog
    from alama.platform.database.database import Database

FACT: Final = "clock"

SERVER_NOW: Final = text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")


class SqlSeen:
    """See `alama.platform.clock.SeenStore`. It is a fact: how often accepted, the time, a leap."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def server_us(self) -> int:
        """Give the time of a PostgreSQL server, microseconds since 1970, UTC."""
        with self._database.reading() as connection:
            return int(connection.execute(SERVER_NOW).scalar_one())

    def seen(self) -> Seen | None:
        query = select(tables.facts.c.value).where(tables.facts.c.name == FACT)
        with self._database.reading() as connection:
            found = connection.execute(query).scalar()
        return None if found is None else _read(found)

    def latest_us(self, source_us: int) -> int | None:
        signed_us = self.signed_us()
        until_us = source_us + TOLERANCE_US
        if signed_us is not None and signed_us > until_us:
            return signed_us
        entries, used_us = tables.audit_entries, tables.keys.c.last_used_us
        last = select(entries.c.writer, func.max(entries.c.number)).group_by(entries.c.writer)
        is_last = tuple_(entries.c.writer, entries.c.number).in_(last)
        ended = select(func.max(entries.c.created_us))
        with self._database.reading() as connection:
            found = (
                connection.execute(ended.where(is_last, entries.c.created_us <= until_us)).scalar(),
                connection.execute(select(func.max(used_us)).where(used_us <= until_us)).scalar(),
            )
        return max((int(at_us) for at_us in found if at_us is not None), default=None)

    def signed_us(self) -> int | None:
        """Give the time of the newest act of the audit, by its number."""
        table = tables.audit_entries
        newest = select(table.c.created_us).where(table.c.writer == MAIN)
        with self._database.reading() as connection:
            found = connection.execute(newest.order_by(table.c.number.desc()).limit(1)).scalar()
        return None if found is None else int(found)

    def keep(self, before: Seen | None, seen: Seen) -> None:
        table = tables.facts
        with self._database.writing() as connection:
            if before is None:
                insert_new(connection, table, {"name": FACT, "value": _written(seen)})
                return
            same = (table.c.name == FACT) & (table.c.value == _written(before))
            connection.execute(update(table).where(same).values(value=_written(seen)))

    def accept(self, log: ActLog, before_us: int, at_us: int, by: str | None) -> None:
        """Write down that a person says that it is this time, and what it was held for before."""
        table = tables.facts
        query = select(table.c.value).where(table.c.name == FACT)
        with self._database.writing() as connection:
            insert_new(connection, table, {"name": FACT, "value": _written(Seen(at_us))})
            found = connection.execute(query.with_for_update()).scalar_one()
            value = _written(Seen(at_us, _read(found).accepted + 1))
            connection.execute(update(table).where(table.c.name == FACT).values(value=value))
            log.append(connection, acts.clock_accepted(before_us, at_us, by))


def _written(seen: Seen) -> str:
    leap = f" {seen.leap_us}" if seen.leap_us else ""
    return f"{seen.accepted} {seen.at_us}{leap}"


def _read(value: str) -> Seen:
    try:
        accepted, at_us, *leap_us = map(int, value.split(" "))
        return Seen(at_us, accepted, *leap_us)
    except (ValueError, TypeError):
        raise StoreUnfit(
            "the fact `clock` of this database is damaged",
            hint="delete its row from the table facts, and look at the time with `alama clock`",
        ) from None
