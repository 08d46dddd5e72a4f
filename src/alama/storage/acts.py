"""The log of administrative acts: entries of the chain `main`, in the transactions of the deeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core import chain
from alama.core.chain import MAIN, Head, Link
from alama.service.audit import acts
from alama.service.clock import TOLERANCE_US
from alama.storage import schema
from alama.storage.inserts import Inserts

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection
    from sqlalchemy.engine.interfaces import DBAPICursor

    from alama.core.chain import Signer
    from alama.service.audit.acts import Act
    from alama.service.ports import Clock
    from alama.storage.database import Database

_LOCK: Final = 0x616C616D61  # any number that nobody else locks: "alama"

# Whoever writes a SQLite file has it to themselves already.
_WAIT_FOR_OTHERS: Final = f"SELECT pg_advisory_xact_lock({_LOCK})"
_HEAD: Final = (
    f"SELECT writer, number, hash, created_us FROM {schema.audit_entries.name} "  # noqa: S608  our own names
    f"WHERE writer = '{MAIN}' ORDER BY number DESC LIMIT 1"
)


class ActLog:
    """Appends to the chain that all processes share.

    Its entries are numbered without a gap, so one transaction at a time may append: let it be the
    last that a transaction does, for the next one waits until it is over.
    """

    def __init__(
        self, database: Database, signer: Callable[[], Signer], clock: Clock, by: str
    ) -> None:
        """Know whose key signs now, and who acts where an act does not say."""
        self._embedded = database.embedded
        self._rows = Inserts(schema.audit_entries.name, Link._fields, database.parameter_mark)
        self._signer = signer
        self._clock = clock
        self._by = by

    def append(self, connection: Connection, act: Act) -> None:
        """Write an act down; it stands if and only if the transaction is committed."""
        self.append_driving(connection.connection.cursor(), act)

    def append_driving(self, cursor: DBAPICursor, act: Act) -> None:
        """Do as `append` does, with a cursor of the driver."""
        if not self._embedded:
            cursor.execute(_WAIT_FOR_OTHERS)
        cursor.execute(_HEAD)
        last = cursor.fetchone()
        head, at_us = chain.start(MAIN), self._clock()
        if last is not None:
            head = Head._make(last[:-1])
            # No entry is older than the one before it, if clocks are about right.
            if at_us < last[-1] <= at_us + TOLERANCE_US:
                at_us = last[-1]
        body = acts.encode(act if act.by else acts.said_by(act, self._by))
        link = chain.follow(head, at_us, act.kind.value, body, self._signer())
        self._rows.run(cursor, [link])
