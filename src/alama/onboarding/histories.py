"""Loan histories: sealed part by part in a database, kept, written again and forgotten.

A file is sealed in parts, each kept in a transaction of its own: scores wait for every one of them
on SQLite, and a file may be long. Their keys are their own, wrapped by the lender's, and they are
bound to their history and their place in it: none opens as another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from sqlalchemy import delete, func, insert, literal, or_, select, update

from alama.lenders.records import UnknownLender, require_person
from alama.lenders.store import lock_lender
from alama.onboarding import acts, schema
from alama.onboarding.records import (
    HISTORIES_BYTES_MAX,
    HISTORY_PREFIX,
    JOB_PREFIX,
    PART_BYTES,
    FileFormat,
    HistoriesFull,
    HistoryForgotten,
    HistoryRecord,
    JobState,
    UnknownHistory,
)
from alama.platform import ids
from alama.platform.database import tables
from alama.platform.errors import StoreUnavailable, StoreUnfit
from alama.training.history.report import Enough
from alama.vault import envelope
from alama.vault.store import LenderKeys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select

    from alama.platform.acts import ActLog
    from alama.platform.clock import Clock
    from alama.platform.database.database import Database
    from alama.vault.envelope import OwnKey
    from alama.vault.ring import Ring
    from alama.vault.vault import Vault


ABANDONED_US: Final = 24 * 3_600 * 1_000_000
"""After so long, parts of which no history came are what a dead process has left."""

MOVED_AT_ONCE: Final = 16
"""Parts that are handed to another key in one transaction: 16 MiB."""

SWEPT_AT_ONCE: Final = 16
"""Parts that are erased in one transaction, while scores wait."""

MovePart = Callable[["Ring", str, bytes, bytes], bytes]
"""Given the new ring, the history's id, where a part stands and the part; gives what it becomes."""

_RECORD: Final = [schema.histories.c[name] for name in HistoryRecord.__struct_fields__]


class Read(msgspec.Struct, frozen=True):
    """What reading a file has shown, by the definition of default that it was read by.

    `report` is JSON and holds counts, never what a borrower said: it outlives the file.
    """

    file_format: FileFormat
    row_count: int
    days_past_due: int
    enough: Enough
    report: bytes


class Forgotten(NamedTuple):
    """What became of the file of a history; `is_news` is False where it was erased before.

    `journal_emptied` is False where SQLite's journal may still hold some of it, because somebody is
    reading from it.
    """

    is_news: bool
    journal_emptied: bool


class Histories:
    """Histories in a database."""

    def __init__(self, database: Database, log: ActLog, vault: Vault) -> None:
        self._database = database
        self._log = log
        self._vault = vault
        self._lender_keys = LenderKeys(database, vault)

    # -------------------------------------------------------------------------------- keeping

    def keep(self, record: HistoryRecord, report: bytes, parts: Iterable[bytes]) -> None:
        """Seal a file part by part, and then let it be found; an earlier failure leaves nothing.

        `part_count` of the record is what it will be once all parts are kept. `UnknownLender`.
        """
        self._require_lender(record.lender)
        try:
            count = self._keep_parts(record, parts)
            self._keep_record(msgspec.structs.replace(record, part_count=count), report)
        except BaseException:
            # Which may come after the commit: what is kept by then stays.
            self.drop(record.lender, record.id)
            raise

    def _require_lender(self, lender: str) -> None:
        whose = tables.lenders.c.id
        with self._database.reading() as connection:
            if connection.execute(select(whose).where(whose == lender)).first() is None:
                raise UnknownLender(lender)

    def _keep_parts(self, record: HistoryRecord, parts: Iterable[bytes]) -> int:
        self._vault.ring(record.lender)  # the first call for a lender makes its keys, by itself
        number, key, under = 0, None, None
        for number, part in enumerate(parts, start=1):
            with self._database.writing() as connection:
                ring = self._lender_keys.ring(connection.connection.cursor(), record.lender)
                if key is None or under != ring.seal_key_id:
                    key, under = (
                        ring.own_key(envelope.place_in_history(record.lender, record.id, 0)),
                        ring.seal_key_id,
                    )
                row = _part_row(record.lender, record.id, number, under, key, part)
                connection.execute(insert(schema.history_parts), row)
        return number

    def _keep_record(self, record: HistoryRecord, report: bytes) -> None:
        table = schema.histories
        with self._database.writing() as connection:
            if _count_parts(connection, record) != record.part_count:
                raise StoreUnavailable("a part of the loan history was lost while it was kept")
            connection.execute(insert(table), _row(record) | {"report": report})
            self._log.append(connection, acts.history_kept(record, report))

    # -------------------------------------------------------------------------------- receiving

    def receive(self, lender: str, history_id: str, number: int, part: bytes) -> None:
        """Seal one part of a file that nobody has read yet; the first is number 1.

        What is received is found by nobody before it is settled. It goes after a day, unless the
        job that is to read it is open. `HistoriesFull` beyond `HISTORIES_BYTES_MAX` of the lender.
        """
        if number == 1:
            self._vault.ring(lender)  # as above
        with self._database.writing() as connection:
            ring = self._lender_keys.ring(connection.connection.cursor(), lender)
            if _bytes_of(connection, lender) + len(part) > HISTORIES_BYTES_MAX:
                raise HistoriesFull
            # Nobody keeps a key from one part to the next: each of these has one of its own.
            key = ring.own_key(envelope.place_in_history(lender, history_id, 0))
            row = _part_row(lender, history_id, number, ring.seal_key_id, key, part)
            connection.execute(insert(schema.history_parts), row)

    def received(self, record: HistoryRecord) -> Iterator[bytes]:
        """Give a file that was received, part by part; `StoreUnfit` where it is not whole."""
        return self._opened_parts(record)

    def settle(self, record: HistoryRecord, report: bytes) -> None:
        """Let a file be found that was received, and has been read; twice is as once."""
        try:
            self.find(record.lender, record.id)
        except UnknownHistory:
            self._keep_record(record, report)

    def drop(self, lender: str, history_id: str) -> None:
        """Erase a file that was received, unless it is settled or an open job is to read it."""
        chosen = _parts_of(lender, history_id) & _unwanted()
        with self._database.writing() as connection:
            connection.execute(delete(schema.history_parts).where(chosen))

    def sweep(self, now_us: int) -> bool:
        """Erase some of what was received in vain, of any lender; says whether some is left.

        Of those files no history came: the job that was to read them has failed, or there has been
        none for a day.
        """
        table = schema.history_parts
        query = select(table.c.history_id, table.c.number).where(_abandoned(now_us))
        with self._database.reading() as connection:
            found = connection.execute(query.limit(SWEPT_AT_ONCE)).all()
        if not found:
            return False
        with self._database.writing() as connection:
            for history_id, number in found:
                one = (table.c.history_id == history_id) & (table.c.number == number)
                connection.execute(delete(table).where(one))
        self._database.empty_journal()
        return len(found) == SWEPT_AT_ONCE

    # -------------------------------------------------------------------------------- reading

    def of(self, lender: str) -> Sequence[HistoryRecord]:
        """Those of a lender, newest first."""
        table = schema.histories
        query = select(*_RECORD).where(table.c.lender == lender).order_by(table.c.id.desc())
        with self._database.reading() as connection:
            return [_record(row) for row in connection.execute(query)]

    def find(self, lender: str, history_id: str) -> HistoryRecord:
        """One of them, or `UnknownHistory`."""
        with self._database.reading() as connection:
            return _found(connection, lender, history_id)

    def report(self, lender: str, history_id: str) -> bytes:
        """What was found out about it, as JSON, or `UnknownHistory`."""
        table = schema.histories
        query = select(table.c.report).where(_one(lender, history_id))
        with self._database.reading() as connection:
            report: bytes | None = connection.execute(query).scalar()
        if report is None:
            raise UnknownHistory
        return report

    def parts(self, lender: str, history_id: str) -> Iterator[bytes]:
        """The file again, part by part; `UnknownHistory`, `HistoryForgotten`, `StoreUnfit`."""
        record = self.find(lender, history_id)
        if record.forgotten_us is not None:
            raise HistoryForgotten
        return self._opened_parts(record)

    def _opened_parts(self, record: HistoryRecord) -> Iterator[bytes]:
        table = schema.history_parts
        one = select(table.c.seal_key_id, table.c.sealed)
        for number in range(1, record.part_count + 1):
            chosen = _parts_of(record.lender, record.id) & (table.c.number == number)
            with self._database.reading() as connection:
                row = connection.execute(one.where(chosen)).first()
            if row is None:
                raise _damaged(record.id)
            yield self._opened(record, number, row.seal_key_id, row.sealed)

    def _opened(self, record: HistoryRecord, number: int, seal_key_id: str, sealed: bytes) -> bytes:
        lender_key = self._vault.lender_key(record.lender, seal_key_id)
        where = envelope.place_in_history(record.lender, record.id, number)
        try:
            return envelope.open_alone(lender_key, sealed, where)
        except envelope.NotOpened:
            raise _damaged(record.id) from None

    # -------------------------------------------------------------------------------- forgetting

    def forget(self, lender: str, history_id: str, at_us: int, by: str) -> Forgotten:
        """Erase the file; asked again, it still empties the journal. `UnknownHistory`."""
        table, parts = schema.histories, schema.history_parts
        with self._database.writing() as connection:
            lock_lender(connection, lender)
            record = _found(connection, lender, history_id)
            is_news = record.forgotten_us is None
            if is_news:
                connection.execute(delete(parts).where(_parts_of(lender, history_id)))
                chosen = update(table).where(_one(lender, history_id))
                connection.execute(chosen.values(forgotten_us=at_us))
                self._log.append(connection, acts.history_forgotten(record, by))
        return Forgotten(is_news, self._database.empty_journal())


# ------------------------------------------------------------------------------- under other keys


def count_parts_under(connection: Connection, lender: str, key_id: str) -> int:
    """Count the parts whose key a key of the lender wraps."""
    table = schema.history_parts
    query = select(func.count()).select_from(table).where(_under(lender, key_id))
    return connection.execute(query).scalar_one()


def move_parts(
    connection: Connection, lender: str, key_id: str, ring: Ring, change: MovePart
) -> int:
    """Hand some parts over to the ring's key; how many they were, 0 when all are."""
    table = schema.history_parts
    query = (
        select(table.c.history_id, table.c.number, table.c.sealed)
        .where(_under(lender, key_id))
        .order_by(table.c.history_id, table.c.number)
        .limit(MOVED_AT_ONCE)
    )
    found = connection.execute(query).all()
    for history_id, number, sealed in found:
        moved = change(
            ring, history_id, envelope.place_in_history(lender, history_id, number), sealed
        )
        chosen = (table.c.history_id == history_id) & (table.c.number == number)
        values = {"sealed": moved, "seal_key_id": ring.seal_key_id}
        connection.execute(update(table).where(chosen).values(values))
    return len(found)


# ------------------------------------------------------------------------------- rows


def _part_row(
    lender: str, history_id: str, number: int, seal_key_id: str | None, key: OwnKey, part: bytes
) -> dict[str, Any]:
    return {
        "history_id": history_id,
        "number": number,
        "lender": lender,
        "seal_key_id": seal_key_id,
        "sealed": key.seal(part, envelope.place_in_history(lender, history_id, number)),
    }


def _bytes_of(connection: Connection, lender: str) -> int:
    """Count what lies sealed for a lender; neither database reads it for that."""
    table = schema.history_parts
    query = select(func.coalesce(func.sum(func.length(table.c.sealed)), 0))
    return int(connection.execute(query.where(table.c.lender == lender)).scalar_one())


def _count_parts(connection: Connection, record: HistoryRecord) -> int:
    table = schema.history_parts
    query = select(func.count()).select_from(table).where(_parts_of(record.lender, record.id))
    return connection.execute(query).scalar_one()


def _found(connection: Connection, lender: str, history_id: str) -> HistoryRecord:
    row = connection.execute(select(*_RECORD).where(_one(lender, history_id))).first()
    if row is None:
        raise UnknownHistory
    return _record(row)


def _row(record: HistoryRecord) -> dict[str, Any]:
    words = {"file_format": record.file_format.value, "enough": record.enough.value}
    return msgspec.structs.asdict(record) | words


def _record(row: Row[Any]) -> HistoryRecord:
    fields = dict(row._mapping)  # noqa: SLF001  public in spite of it
    fields |= {"file_format": FileFormat(row.file_format), "enough": Enough(row.enough)}
    return HistoryRecord(**fields)


def _one(lender: str, history_id: str) -> ColumnElement[bool]:
    table = schema.histories
    return (table.c.lender == lender) & (table.c.id == history_id)


def _parts_of(lender: str, history_id: str) -> ColumnElement[bool]:
    table = schema.history_parts
    return (table.c.lender == lender) & (table.c.history_id == history_id)


def _abandoned(now_us: int) -> ColumnElement[bool]:
    """Choose what was received in vain.

    Whoever read it could not use it, or a process has died before all parts were there.
    """
    history_id = schema.history_parts.c.history_id
    long_ago = ids.beginning(HISTORY_PREFIX, max(now_us - ABANDONED_US, 0))
    failed = _made_by(schema.jobs.c.state == JobState.FAILED.value)
    return or_(history_id < long_ago, history_id.in_(failed)) & _unwanted()


def _unwanted() -> ColumnElement[bool]:
    """Choose parts of which no history came, and which no open job is to read."""
    history_id = schema.history_parts.c.history_id
    kept = select(schema.histories.c.id)
    awaited = _made_by(schema.jobs.c.ended_us.is_(None))
    return history_id.not_in(kept) & history_id.not_in(awaited)


def _made_by(chosen: ColumnElement[bool]) -> Select[str]:
    """Give the ids of the histories that these jobs read."""
    digits = func.substr(schema.jobs.c.id, len(JOB_PREFIX) + 1)
    return select(literal(HISTORY_PREFIX) + digits).where(chosen)


def _under(lender: str, key_id: str) -> ColumnElement[bool]:
    table = schema.history_parts
    return (table.c.lender == lender) & (table.c.seal_key_id == key_id)


def _damaged(history_id: str) -> StoreUnfit:
    return StoreUnfit(
        f"the file of {history_id} is damaged", hint="restore it from a backup, or hand it in again"
    )


def keep_history(
    histories: Histories,
    clock: Clock,
    chance: bytes,
    lender: str,
    file: IO[bytes],
    read: Read,
    by: str,
) -> HistoryRecord:
    """Keep a file that was read and found sound, sealed under the lender's key.

    The file is read twice, from its beginning: for its hash, and to be sealed. `chance` is seven
    random bytes, `ids.RANDOM_BYTES`. A file of which nothing can be trained is kept all the same:
    its report says what is missing, and the step stays open. `UnknownLender`, `InvalidName`.
    """
    now_us = clock()
    record = HistoryRecord(
        id=ids.sortable(HISTORY_PREFIX, now_us, chance),
        lender=lender,
        digest=digest(file),
        file_format=read.file_format,
        row_count=read.row_count,
        part_count=0,
        days_past_due=read.days_past_due,
        enough=read.enough,
        created_us=now_us,
        kept_by=require_person(by),
    )
    histories.keep(record, read.report, _parts(file))
    return histories.find(lender, record.id)


def digest(file: IO[bytes]) -> str:
    """Give what a file is known by: `sha256:` and the hash of its bytes."""
    seen = hashlib.sha256()
    for part in _parts(file):
        seen.update(part)
    return f"sha256:{seen.hexdigest()}"


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while part := file.read(PART_BYTES):
        yield part


def write_history(
    histories: Histories, lender: str, history_id: str, into: IO[bytes]
) -> HistoryRecord:
    """Write the file of a history again, byte for byte: for whoever trains on it.

    `UnknownHistory`, `HistoryForgotten`; `StoreUnfit` where it is damaged, and then what was
    written is no use. Whoever calls removes what was written as soon as it was read.
    """
    record = histories.find(lender, history_id)
    seen = hashlib.sha256()
    for part in histories.parts(lender, history_id):
        seen.update(part)
        into.write(part)
    if f"sha256:{seen.hexdigest()}" != record.digest:
        raise StoreUnfit(
            f"the file of {record.id} is damaged",
            hint="restore it from a backup, or hand it in again",
        )
    into.flush()
    return record


def forget_history(
    histories: Histories, clock: Clock, lender: str, history_id: str, by: str
) -> Forgotten:
    """Erase the file of a history for good; said twice, it is erased once.

    Its report, and the models that were trained on it, stay: neither holds what a borrower said.
    `UnknownHistory`, `InvalidName`.
    """
    return histories.forget(lender, history_id, clock(), require_person(by))
