"""The chain of one process: an entry for each commit of scores, in the transaction of the commit.

Where a commit has failed nobody knows whether it stands, and whether its entry does. So the process
leaves that chain as it is and begins another. No chain has a hole, whatever is killed and when.
"""

from __future__ import annotations

import secrets
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from alama.core import chain
from alama.core.chain import Link
from alama.service.audit import acts
from alama.storage import schema
from alama.storage.inserts import Inserts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy.engine.interfaces import DBAPICursor

    from alama.core.chain import Head, Signer
    from alama.service.records import SealedEntry
    from alama.storage.acts import ActLog
    from alama.storage.database import Database

_WRITER_BYTES: Final = 8


class ScoreChain:
    """What one process adds to the audit. Any thread may use it, one at a time does."""

    def __init__(self, database: Database, log: ActLog, signer: Callable[[], Signer]) -> None:
        """Begin a chain; it is written of in `main` with its first entry, and not before."""
        self._database = database
        self._log = log
        self._signer = signer
        self._rows = Inserts(schema.audit_entries.name, Link._fields, database.parameter_mark)
        self._lock = threading.Lock()
        self._head = _begin()
        self._next: Head | None = None

    @property
    def head(self) -> Head:
        """The last entry that is known to stand."""
        return self._head

    @contextmanager
    def extending(self) -> Iterator[None]:
        """Hold the chain for one transaction: it grows if that is committed."""
        with self._lock:
            try:
                yield
            except BaseException:
                self._settle(_begin())
                raise
            self._settle(self._next)

    def _settle(self, head: Head | None) -> None:
        """Go on with another head; with the same where nothing was added: Busy, or rows clash."""
        if self._next is not None and head is not None:
            self._head = head
        self._next = None

    def add(self, cursor: DBAPICursor, entries: Sequence[SealedEntry]) -> None:
        """Name the scores of a commit: the last thing that its transaction does."""
        if not entries:
            return
        latest_us = max([entry.score.created_us for entry in entries])
        named = [
            (score.lender, score.mode, score.request_id, score.applicant_key_id, digest)
            for score, _, digest, *_ in entries
        ]
        link = chain.follow_with_scores(self._head, latest_us, named, self._signer())
        self._next = link.head
        self._rows.run(cursor, [link])
        if link.number == 1:
            self._log.append_driving(cursor, acts.chain_opened(link.head))

    def close(self) -> None:
        """Note in `main` where the chain ends, so that a cut at its end is found for ever."""
        with self._lock:
            if self._head.number:
                with self._database.writing() as connection:
                    self._log.append(connection, acts.chain_closed(self._head))
                self._head = _begin()


def _begin() -> Head:
    return chain.start(secrets.token_hex(_WRITER_BYTES))
