"""Crashes of a SQLite database: any statement of any connection can be made to fail."""

from __future__ import annotations

from typing import Any

from sqlalchemy import event

from alama.platform.database.database import Database


class Faults:
    """Watches every connection of a database that has made none yet."""

    def __init__(self, database: Database) -> None:
        self._connections: list[Any] = []
        self._left: int | None = None
        self.struck = False
        for engine in (database.engine, database._hot):
            event.listen(engine, "connect", self._connected)

    def strike(self, statement: int) -> None:
        """Let so many statements pass, and have the next one fail in its middle; once."""
        self.struck, self._left = False, statement
        for connection in self._connections:
            self._watch(connection)

    def cease(self) -> None:
        """Let everything pass."""
        self._left = None

    def _connected(self, connection: Any, _: object) -> None:
        self._connections.append(connection)
        if self._left is not None:
            self._watch(connection)

    def _watch(self, connection: Any) -> None:
        connection.set_trace_callback(self._statement_begins)
        connection.set_progress_handler(self._fails_now, 1)

    def _statement_begins(self, _: str) -> None:
        if self._left is not None:
            self._left -= 1

    def _fails_now(self) -> bool:
        if self._left is None or self._left >= 0:
            return False
        self.struck, self._left = True, None
        return True
