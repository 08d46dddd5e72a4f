"""How far each key is into its rate, for all processes: one row a key, by the database's own clock.

Hosts may disagree about the time, so none of them is asked for it. A row says when the bucket of
its key is full again; a process that let requests through moves it on by what they are worth.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import BigInteger, bindparam, cast, extract, func
from sqlalchemy.dialects import postgresql, sqlite

from alama.storage.schema import rates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection

    from alama.service.limits import Use
    from alama.service.ports import Clock
    from alama.storage.database import Database

OWED_US_MAX: Final = 60 * 1_000_000
"""A clock that is set back keeps no key waiting for longer than this."""

FORGOTTEN_US: Final = 3_600 * 1_000_000
AT_ONCE: Final = 100
"""Keys of one transaction: others who want the same wait for its end."""


class SqlRates:
    """The rates of keys, on SQLite and PostgreSQL."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Take an open database; the clock stands in for that of a file, which has none."""
        self._database = database
        self._clock = clock

    def exchange(self, uses: Sequence[Use]) -> Mapping[str, int]:
        """Add what one process let through; see `alama.service.rates.Rates`."""
        # In one order everywhere: two processes that each want what the other has would both wait.
        ordered = sorted(uses)
        owed_us: dict[str, int] = {}
        for start in range(0, len(ordered), AT_ONCE):
            with self._database.writing() as connection:
                for use in ordered[start : start + AT_ONCE]:
                    owed_us[use.key_id] = self._add(connection, use)
        return owed_us

    def forget(self) -> None:
        """Drop keys that have owed nothing for an hour."""
        long_full = rates.c.full_at_us < self._now - FORGOTTEN_US
        with self._database.writing() as connection:
            connection.execute(rates.delete().where(long_full), self._time())

    def _add(self, connection: Connection, use: Use) -> int:
        told = {
            "key_id": use.key_id,
            "cost_us": use.cost_us,
            "owed_us": use.owed_us,
            "floor_us": use.floor_us,
        }
        owed_us: int = connection.execute(self._adding, told | self._time()).scalar_one()
        return owed_us

    @cached_property
    def _adding(self) -> Any:  # noqa: ANN401  an insert of either dialect
        largest, least = (
            (func.max, func.min) if self._database.embedded else (func.greatest, func.least)
        )
        cost, owed, floor = (
            bindparam(name, type_=BigInteger) for name in ("cost_us", "owed_us", "floor_us")
        )
        # What a process knows to be owed counts where nothing else is known: the row of a new key,
        # or of any key after PostgreSQL has crashed.
        added = largest(rates.c.full_at_us + cost, self._now + floor)
        dialect = sqlite if self._database.embedded else postgresql
        return (
            dialect.insert(rates)
            .values(key_id=bindparam("key_id"), full_at_us=self._now + owed)
            .on_conflict_do_update(
                index_elements=[rates.c.key_id],
                set_={"full_at_us": least(added, self._now + OWED_US_MAX)},
            )
            .returning(rates.c.full_at_us - self._now)
        )

    @cached_property
    def _now(self) -> ColumnElement[int]:
        """The time in SQL; not that of the transaction, which may have waited since it began."""
        if self._database.embedded:
            return bindparam("now_us", type_=BigInteger)
        return cast(extract("epoch", func.clock_timestamp()) * 1_000_000, BigInteger)

    def _time(self) -> dict[str, int]:
        return {"now_us": self._clock()} if self._database.embedded else {}
