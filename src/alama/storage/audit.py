"""The audit, read: its chains, and scores beside the entries that name them."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select, text

from alama.core.chain import MAIN, SCORES, Head, Link
from alama.service import ids
from alama.service.audit.documents import DocumentKind, StoredDocument
from alama.service.audit.histories import HistoryFile
from alama.service.records import ApplicantKey, StoredScore
from alama.service.vault.applicant import ApplicantKeyRow
from alama.service.vault.keys import VaultKey
from alama.storage import schema
from alama.storage.review_rows import review_rows
from alama.storage.scores import stored_score, whole_scores
from alama.storage.standing import standing
from alama.storage.vault import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Column, Connection, Row, Select

    from alama.service.audit.reviews import ReviewRow
    from alama.service.audit.standing import Columns, Thing
    from alama.service.book import Book
    from alama.storage.database import Database

SPAN: Final = 64
"""Commits between two boundaries: 32,000 scores at most, most often a few hundred."""

_AT_ONCE: Final = 500
_NO_NUMBER: Final = 2**63 - 1
_TABLE: Final = schema.audit_entries
_LINK: Final = [_TABLE.c[name] for name in Link._fields]
_DOCUMENTS: Final[dict[DocumentKind, Column[Any]]] = {
    DocumentKind.MODEL: schema.models.c.id,
    DocumentKind.POLICY: schema.policies.c.id,
    DocumentKind.CANDIDATE: schema.onboarding.candidates.c.model_id,
}
"""Where documents are, each by the column that has the id of its content."""

_BY_CHAIN: Final = (_TABLE.c.writer, _TABLE.c.number)


class SqlTrail:
    """The audit in a database; see `alama.service.audit.trail.Trail`."""

    def __init__(self, database: Database) -> None:
        """Use an open database."""
        self._database = database

    def writers(self) -> Sequence[str]:
        with self._reading() as connection:
            return list(connection.execute(select(_TABLE.c.writer).distinct()).scalars())

    def entries(self) -> int:
        with self._reading() as connection:
            return connection.execute(select(func.count()).select_from(_TABLE)).scalar_one()

    def links(self, writer: str, after: int, limit: int) -> Sequence[Link]:
        query = _chain(writer).where(_TABLE.c.number > after).order_by(_TABLE.c.number)
        with self._reading() as connection:
            return _links(connection, query.limit(limit))

    def newest(self, writer: str, before: int | None, limit: int) -> Sequence[Link]:
        query = _chain(writer).order_by(_TABLE.c.number.desc()).limit(limit)
        if before is not None:
            query = query.where(_TABLE.c.number < before)
        with self._reading() as connection:
            return _links(connection, query)

    def heads(self) -> Sequence[Head]:
        last = select(_TABLE.c.writer, func.max(_TABLE.c.number).label("number"))
        ends = last.group_by(_TABLE.c.writer).subquery()
        same = (_TABLE.c.writer == ends.c.writer) & (_TABLE.c.number == ends.c.number)
        order = (_TABLE.c.writer != MAIN, _TABLE.c.created_us.desc())
        query = select(*_BY_CHAIN, _TABLE.c.hash).join(ends, same).order_by(*order)
        with self._reading() as connection:
            return [Head._make(row) for row in connection.execute(query)]

    def boundary(self, after_us: int) -> int | None:
        table = _TABLE
        query = (
            select(table.c.created_us)
            .where(table.c.created_us > after_us, table.c.kind == SCORES)
            .order_by(table.c.created_us)
            .offset(SPAN - 1)
            .limit(1)
        )
        with self._reading() as connection:
            found: int | None = connection.execute(query).scalar()
        return found

    def document_count(self) -> int:
        with self._reading() as connection:
            queries = (select(func.count()).select_from(one.table) for one in _DOCUMENTS.values())
            return sum(connection.execute(query).scalar_one() for query in queries)

    def documents(self) -> Iterator[StoredDocument]:
        """Read each in a transaction of its own: one at a time is in memory, and none is held.

        By its place, for an id that is damaged may not be the one that is read.
        """
        for kind, id_column in _DOCUMENTS.items():
            table = id_column.table
            columns = (table.c.id, id_column, table.c.document)
            query = select(*columns).order_by(table.c.id).limit(1)
            for place in count():
                with self._reading() as connection:
                    row = connection.execute(query.offset(place)).first()
                if row is None:
                    break
                name, document_id, document = row
                yield StoredDocument(kind, str(name), str(document_id), _binary(document) or b"")

    def history_files(self) -> Sequence[HistoryFile]:
        table = schema.onboarding.histories
        query = select(table.c.id, table.c.lender, table.c.digest, table.c.part_count)
        query = query.where(table.c.forgotten_us.is_(None)).order_by(table.c.id)
        with self._reading() as connection:
            return [_history_file(HistoryFile._make(row)) for row in connection.execute(query)]

    def history_part(self, history_id: str, number: int) -> tuple[str, bytes] | None:
        table = schema.onboarding.history_parts
        query = select(table.c.seal_key_id, table.c.sealed)
        chosen = (table.c.history_id == history_id) & (table.c.number == number)
        with self._reading() as connection:
            row = connection.execute(query.where(chosen)).first()
        return None if row is None else (str(row.seal_key_id), _binary(row.sealed) or b"")

    @contextmanager
    def moment(self) -> Iterator[SqlMoment]:
        """Give one state of the database; SQLite shows no other within a transaction."""
        with self._reading() as connection:
            if not self._database.embedded:
                connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            yield SqlMoment(connection)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Give a connection that reads damaged text too: a flipped bit may be no Unicode.

        What stands for it is no character of ours, so it is found as any other change is.
        """
        with self._database.reading() as connection:
            if not self._database.embedded:
                yield connection
                return
            driver: Any = connection.connection.driver_connection
            strict, driver.text_factory = driver.text_factory, _leniently
            try:
                yield connection
            finally:
                driver.text_factory = strict


class SqlMoment:
    """One state of a database; see `alama.service.audit.trail.Moment`."""

    def __init__(self, connection: Connection) -> None:
        """Use a connection whose transaction sees one state."""
        self._connection = connection

    def acts_after(self, number: int) -> Sequence[Link]:
        query = _chain(MAIN).where(_TABLE.c.number > number).order_by(_TABLE.c.number)
        return _links(self._connection, query)

    def commits(self, from_us: int, until_us: int | None) -> Sequence[Link]:
        query = select(*_LINK).where(_TABLE.c.kind == SCORES, _TABLE.c.created_us >= from_us)
        if until_us is not None:
            query = query.where(_TABLE.c.created_us < until_us)
        return _links(self._connection, query)

    def scores(self, book: Book, from_us: int, until_us: int | None) -> Iterator[StoredScore]:
        table = schema.scores
        span = [table.c.lender == book.lender, table.c.mode == book.mode.value]
        if until_us is not None:
            span.append(table.c.request_id < ids.first_of(until_us))
        if from_us:
            span.append(table.c.request_id >= ids.first_of(from_us))
        query = whole_scores().where(*span).order_by(table.c.request_id)
        return (_readable(stored_score(row)) for row in self._each(query))

    def standing(self) -> dict[Thing, Columns]:
        return standing(self._connection)

    def reviews(self) -> Iterator[ReviewRow]:
        return review_rows(self._connection, _AT_ONCE)

    def vault_keys(self) -> Sequence[VaultKey]:
        query = select(*COLUMNS).order_by(schema.vault_keys.c.id)
        return [_vault_key(VaultKey._make(row)) for row in self._connection.execute(query)]

    def applicant_keys(self) -> Iterator[ApplicantKeyRow]:
        table = schema.applicant_keys
        query = select(*(table.c[name] for name in ApplicantKeyRow._fields)).order_by(table.c.id)
        return (_applicant_key(ApplicantKeyRow._make(row)) for row in self._each(query))

    def _each(self, query: Select[Any]) -> Iterable[Row[Any]]:
        """Read some rows at a time in one query: no id, which may be damaged, is asked for."""
        return self._connection.execute(query.execution_options(yield_per=_AT_ONCE))


def _chain(writer: str) -> Select[Any]:
    return select(*_LINK).where(_TABLE.c.writer == writer)


def _links(connection: Connection, query: Select[Any]) -> list[Link]:
    return [_link(Link._make(row)) for row in connection.execute(query)]


def _link(link: Link) -> Link:
    """Give an entry with the types that it should have: SQLite takes any value in any column.

    What has another type was not written by us, and is found as any other change is.
    """
    return Link(
        str(link.writer),
        _whole(link.number),
        _whole(link.created_us),
        str(link.kind),
        _binary(link.body) or b"",
        _binary(link.previous_hash) or b"",
        _binary(link.hash) or b"",
        str(link.signer),
        _binary(link.signature) or b"",
    )


def _readable(stored: StoredScore) -> StoredScore:
    """Do the same with what of a score is looked at, and not only digested."""
    row, key = stored
    if key is not None:
        key = ApplicantKey(
            str(key.id),
            str(key.lender_key_id),
            _binary(key.wrapped),
            None if key.erased_us is None else _whole(key.erased_us),
            _binary(key.subject),
        )
    row = row._replace(
        request_id=str(row.request_id),
        created_us=_whole(row.created_us),
        seal_key_id=_name(row.seal_key_id),
        sealed=_binary(row.sealed) or b"",
        applicant_key_id=_name(row.applicant_key_id),
    )
    return StoredScore(row, key)


def _applicant_key(key: ApplicantKeyRow) -> ApplicantKeyRow:
    """Do the same with the key of an applicant."""
    return ApplicantKeyRow(
        str(key.id),
        str(key.lender),
        str(key.mode),
        _binary(key.subject),
        _binary(key.wrapped),
        str(key.lender_key_id),
        _whole(key.created_us),
        None if key.erased_us is None else _whole(key.erased_us),
    )


def _vault_key(key: VaultKey) -> VaultKey:
    """Do the same with a key of a lender or of the installation."""
    return VaultKey(
        str(key.id),
        _name(key.lender),
        str(key.purpose),
        key.wrapped,
        str(key.master_id),
        key.public,
        _whole(key.created_us),
        None if key.retired_us is None else _whole(key.retired_us),
    )


def _history_file(file: HistoryFile) -> HistoryFile:
    """Do the same with a loan history."""
    return HistoryFile(str(file.id), str(file.lender), str(file.digest), _whole(file.part_count))


def _name(value: object) -> str | None:
    return None if value is None else str(value)


def _binary(value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return str(value).encode("utf-8", "surrogatepass")


def _whole(value: object) -> int:
    return value if isinstance(value, int) else _NO_NUMBER


def _leniently(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
