"""What `main` knows of the chains of scores: how far each has come.

Without it nobody would miss the last entries of a chain, or a chain as a whole. What was written
within the ten minutes before the last note, by a process that was killed, is known to nobody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import func, select

from alama.core.chain import MAIN, Head
from alama.platform import acts
from alama.platform.acts import ActKind, ActLog
from alama.platform.database import tables

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from alama.platform.clock import Clock
    from alama.platform.database.database import Database
    from alama.scoring.store import ScoreChain


EVERY_US: Final = 600 * 1_000_000
"""How often chains that have grown are noted, by whichever process comes first."""

_LOOK_BACK_US: Final = 6 * EVERY_US
"""Before the last note: an entry has the time of its scores, and may be committed later."""

_TABLE: Final = tables.audit_entries


class ChainCheckpoint:
    """Bears witness in `main` to the chains of all processes."""

    def __init__(self, database: Database, log: ActLog, own: ScoreChain, clock: Clock) -> None:
        self._database = database
        self._log = log
        self._own = own
        self._clock = clock

    def note_heads(self) -> None:
        """Note how far the chains have come that have grown since the last note."""
        with self._database.reading() as connection:
            noted_us, known = _last_note(connection)
            # Half the time: processes look at times of their own, and one of them is enough.
            if noted_us is not None and self._clock() - noted_us < EVERY_US // 2:
                return
            heads = _heads_since(connection, (noted_us or 0) - _LOOK_BACK_US)
        own = self._own.head
        if own.number:
            heads[own.writer] = max(own, heads.get(own.writer, own))
        grown = [head for head in heads.values() if head not in known]
        if grown:
            with self._database.writing() as connection:
                self._log.append(connection, acts.heads_noted(grown))

    def close_chain(self) -> None:
        """Note where the chain of this process ends."""
        self._own.close()


def _last_note(connection: Connection) -> tuple[int | None, set[Head]]:
    query = (
        select(_TABLE.c.created_us, _TABLE.c.body)
        .where(_TABLE.c.writer == MAIN, _TABLE.c.kind == ActKind.HEADS_NOTED.value)
        .order_by(_TABLE.c.number.desc())
        .limit(1)
    )
    row = connection.execute(query).first()
    if row is None:
        return None, set()
    return row.created_us, set(acts.heads_in(acts.decode(row.body)))


def _heads_since(connection: Connection, since_us: int) -> dict[str, Head]:
    last = (
        select(_TABLE.c.writer, func.max(_TABLE.c.number).label("number"))
        .where(_TABLE.c.created_us >= since_us, _TABLE.c.writer != MAIN)
        .group_by(_TABLE.c.writer)
        .subquery()
    )
    same = (_TABLE.c.writer == last.c.writer) & (_TABLE.c.number == last.c.number)
    query = select(_TABLE.c.writer, _TABLE.c.number, _TABLE.c.hash).join(last, same)
    return {row.writer: Head._make(row) for row in connection.execute(query)}
