"""The terms of lenders in a database; see `alama.service.onboarding.ports.Pilots`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import select, update

from alama.service.audit import pilot_acts
from alama.service.errors import UnknownLender
from alama.service.onboarding.ports import whatever_was_before
from alama.service.onboarding.records import Pilot
from alama.storage import schema
from alama.storage.deploying import lock_lender
from alama.storage.upserts import insert_new

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from alama.service.onboarding.ports import JudgeTerms
    from alama.storage.acts import ActLog
    from alama.storage.database import Database


class SqlPilots:
    """Terms are replaced, and the audit remembers those before."""

    def __init__(self, database: Database, log: ActLog) -> None:
        """Use an open database; what is agreed is written to the log of acts."""
        self._database = database
        self._log = log

    def set(
        self, pilot: Pilot, judge: JudgeTerms = whatever_was_before, reason: str | None = None
    ) -> None:
        table = schema.onboarding.pilots
        agreed = msgspec.structs.asdict(pilot)
        del agreed["shadow_us"]  # which no terms begin or end
        with self._database.writing() as connection:
            if not lock_lender(connection, pilot.lender):
                raise UnknownLender(pilot.lender)
            judge(pilot_of(connection, pilot.lender))
            if not insert_new(connection, table, agreed):
                connection.execute(
                    update(table).where(table.c.lender == pilot.lender).values(agreed)
                )
            self._log.append(connection, pilot_acts.pilot_set(pilot, reason))

    def find(self, lender: str) -> Pilot | None:
        with self._database.reading() as connection:
            return pilot_of(connection, lender)

    def begin_shadow(self, lender: str, at_us: int, by: str) -> None:
        table = schema.onboarding.pilots
        first_time = (table.c.lender == lender) & table.c.shadow_us.is_(None)
        with self._database.writing() as connection:
            if connection.execute(update(table).where(first_time).values(shadow_us=at_us)).rowcount:
                self._log.append(connection, pilot_acts.shadow_begun(lender, at_us, by))


def pilot_of(connection: Connection, lender: str) -> Pilot | None:
    """Read the terms of a lender, if it has any."""
    table = schema.onboarding.pilots
    row = connection.execute(select(table).where(table.c.lender == lender)).first()
    return None if row is None else Pilot(**row._mapping)  # noqa: SLF001  public in spite of it
