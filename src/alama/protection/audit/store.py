"""The audit, read: its chains, and scores beside the entries that name them."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from sqlalchemy import and_, func, select, text

from alama.core.chain import MAIN, SCORES, Head, Link
from alama.lenders import schema as lenders_schema
from alama.onboarding import schema as onboarding_schema
from alama.onboarding.acts import doubts, judgement
from alama.platform import acts, ids
from alama.platform.acts import Act, ActKind
from alama.platform.database import tables
from alama.protection.applicants import same_applicant
from alama.protection.audit import expected
from alama.protection.audit.records import (
    DocumentKind,
    HistoryFile,
    ReviewColumns,
    ReviewRow,
    StoredDocument,
)
from alama.protection.schema import legal_holds
from alama.scoring import schema
from alama.scoring.records import StoredScore
from alama.scoring.store import stored_score, whole_scores
from alama.vault import schema as vault_schema
from alama.vault.keys import VaultKey
from alama.vault.ring import ApplicantKey, ApplicantKeyRow
from alama.vault.store import COLUMNS
from alama.webhooks.endpoint_store import whereabouts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Column, Connection, Row, RowMapping, Select, Table

    from alama.platform.book import Book
    from alama.platform.database.database import Database
    from alama.protection.audit.expected import Columns, Thing


SPAN: Final = 64
"""Commits between two boundaries: 32,000 scores at most, most often a few hundred."""

PAGE: Final = 256
"""Entries that are fetched at a time, of some 40 kB each where commits are large."""

_AT_ONCE: Final = 500

_NO_NUMBER: Final = 2**63 - 1

_TABLE: Final = tables.audit_entries

_LINK: Final = [_TABLE.c[name] for name in Link._fields]

_DOCUMENTS: Final[dict[DocumentKind, Column[Any]]] = {
    DocumentKind.MODEL: lenders_schema.models.c.id,
    DocumentKind.POLICY: lenders_schema.policies.c.id,
    DocumentKind.FIELDS: lenders_schema.field_activations.c.fields_id,
    DocumentKind.CANDIDATE: onboarding_schema.candidates.c.model_id,
}
"""Where documents are, each by the column that has the id of its content."""

_BY_CHAIN: Final = (_TABLE.c.writer, _TABLE.c.number)


class Trail:
    """The audit in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def writers(self) -> Sequence[str]:
        """The chains there are, `main` among them if it has an entry."""
        with self._reading() as connection:
            return list(connection.execute(select(_TABLE.c.writer).distinct()).scalars())

    def entries(self) -> int:
        """How many entries there are in all chains."""
        with self._reading() as connection:
            return connection.execute(select(func.count()).select_from(_TABLE)).scalar_one()

    def links(self, writer: str, after: int, limit: int) -> Sequence[Link]:
        """Entries of a chain, from just after a number on."""
        query = _chain(writer).where(_TABLE.c.number > after).order_by(_TABLE.c.number)
        with self._reading() as connection:
            return _links(connection, query.limit(limit))

    def newest(self, writer: str, before: int | None, limit: int) -> Sequence[Link]:
        """Entries of a chain, newest first, from just before a number on."""
        query = _chain(writer).order_by(_TABLE.c.number.desc()).limit(limit)
        if before is not None:
            query = query.where(_TABLE.c.number < before)
        with self._reading() as connection:
            return _links(connection, query)

    def heads(self) -> Sequence[Head]:
        """The last entry of each chain, `main` first, then the one that was written last."""
        last = select(_TABLE.c.writer, func.max(_TABLE.c.number).label("number"))
        ends = last.group_by(_TABLE.c.writer).subquery()
        same = (_TABLE.c.writer == ends.c.writer) & (_TABLE.c.number == ends.c.number)
        order = (_TABLE.c.writer != MAIN, _TABLE.c.created_us.desc())
        query = select(*_BY_CHAIN, _TABLE.c.hash).join(ends, same).order_by(*order)
        with self._reading() as connection:
            return [Head._make(row) for row in connection.execute(query)]

    def boundary(self, after_us: int) -> int | None:
        """A time some commits later than this one; None: there are fewer than that to come."""
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
        """How many documents there are that are named by their content."""
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
        """The loan histories whose files are kept."""
        table = onboarding_schema.histories
        query = select(table.c.id, table.c.lender, table.c.digest, table.c.part_count)
        query = query.where(table.c.forgotten_us.is_(None)).order_by(table.c.id)
        with self._reading() as connection:
            return [_history_file(HistoryFile._make(row)) for row in connection.execute(query)]

    def history_part(self, history_id: str, number: int) -> tuple[str, bytes] | None:
        """Which key of its lender a part is sealed under, and the part; None: it is not there."""
        table = onboarding_schema.history_parts
        query = select(table.c.seal_key_id, table.c.sealed)
        chosen = (table.c.history_id == history_id) & (table.c.number == number)
        with self._reading() as connection:
            row = connection.execute(query.where(chosen)).first()
        return None if row is None else (str(row.seal_key_id), _binary(row.sealed) or b"")

    @contextmanager
    def moment(self) -> Iterator[Moment]:
        """Give one state of the database; SQLite shows no other within a transaction."""
        with self._reading() as connection:
            if not self._database.embedded:
                connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            yield Moment(connection)

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


class Moment:
    """One state of a database."""

    def __init__(self, connection: Connection) -> None:
        """Use a connection whose transaction sees one state."""
        self._connection = connection

    def acts_after(self, number: int) -> Sequence[Link]:
        """Entries of `main` after a number."""
        query = _chain(MAIN).where(_TABLE.c.number > number).order_by(_TABLE.c.number)
        return _links(self._connection, query)

    def commits(self, from_us: int, until_us: int | None) -> Sequence[Link]:
        """Entries of scores whose time is in a span; None stands for the end of all."""
        query = select(*_LINK).where(_TABLE.c.kind == SCORES, _TABLE.c.created_us >= from_us)
        if until_us is not None:
            query = query.where(_TABLE.c.created_us < until_us)
        return _links(self._connection, query)

    def scores(self, book: Book, from_us: int, until_us: int | None) -> Iterator[StoredScore]:
        """Scores of a book whose ids are of a span; the first has all that are no ids, too."""
        table = schema.scores
        span = [table.c.lender == book.lender, table.c.mode == book.mode.value]
        if until_us is not None:
            span.append(table.c.request_id < ids.first_of(until_us))
        if from_us:
            span.append(table.c.request_id >= ids.first_of(from_us))
        query = whole_scores().where(*span).order_by(table.c.request_id)
        return (_readable(stored_score(row)) for row in self._each(query))

    def rows(self) -> dict[Thing, Columns]:
        """All that acts speak of, from lenders to signatures, with the columns that they set."""
        return stored_rows(self._connection)

    def reviews(self) -> Iterator[ReviewRow]:
        """All reviews, each beside its score and the key of its applicant."""
        return review_rows(self._connection, _AT_ONCE)

    def vault_keys(self) -> Sequence[VaultKey]:
        """All keys of lenders and of the installation, destroyed ones included, oldest first."""
        query = select(*COLUMNS).order_by(vault_schema.vault_keys.c.id)
        return [_vault_key(VaultKey._make(row)) for row in self._connection.execute(query)]

    def applicant_keys(self) -> Iterator[ApplicantKeyRow]:
        """All keys of applicants, erased ones included."""
        table = vault_schema.applicant_keys
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


_REVIEWS, _SCORES, _KEYS = tables.reviews, schema.scores, vault_schema.applicant_keys
_PLACE: Final = tuple(_REVIEWS.primary_key.columns)
_COPIES: Final = {
    "score_us": "created_us",
    "model_id": "model_id",
    "score": "score",
    "tier": "tier",
    "default_probability": "default_probability",
    "given_decision": "decision",
}
"""Columns of a review that repeat one of its score, and which."""

_NAMES: Final = ("request_id", "applicant_key_id")
_OF_SCORE: Final = "of_score_"


def review_rows(connection: Connection, at_once: int) -> Iterator[ReviewRow]:
    """Give all reviews, some at a time, in the order of their keys."""
    rows = connection.execute(_query().execution_options(yield_per=at_once))
    return map(_review_row, rows.mappings())


def _query() -> Select[Any]:
    same = and_(*(_SCORES.c[column.name] == column for column in _PLACE))
    beside = _REVIEWS.outerjoin(_SCORES, same).outerjoin(
        _KEYS, _KEYS.c.id == _REVIEWS.c.applicant_key_id
    )
    return (
        select(
            *_REVIEWS.c,
            *(_SCORES.c[name].label(_OF_SCORE + name) for name in _COPIES.values()),
            *(_SCORES.c[name].label(_OF_SCORE + name) for name in _NAMES),
            _KEYS.c.id.label("found_key_id"),
            _KEYS.c.lender_key_id,
            _KEYS.c.wrapped,
            _KEYS.c.erased_us,
        )
        .select_from(beside)
        .order_by(*_PLACE)
    )


def _review_row(found: RowMapping) -> ReviewRow:
    key_id, note = found["applicant_key_id"], found["note"]
    applicant = None
    if key_id is not None:
        wrapped, erased_us = found["wrapped"], found["erased_us"]
        whole = wrapped if isinstance(wrapped, bytes) else None
        applicant = ApplicantKey(str(key_id), str(found["lender_key_id"]), whole, erased_us)
    return ReviewRow(
        str(found["lender"]),
        str(found["mode"]),
        str(found["request_id"]),
        ReviewColumns._make(found[name] for name in ReviewColumns._fields),
        str(found["reason"]),
        () if found[f"{_OF_SCORE}request_id"] is None else tuple(_strange(found)),
        note if isinstance(note, bytes) else b"",
        None if found["seal_key_id"] is None else str(found["seal_key_id"]),
        applicant,
    )


def _strange(found: RowMapping) -> Iterator[str]:
    """Name the columns in which a review is not what its score is."""
    for name, of_score in _COPIES.items():
        if found[name] != found[_OF_SCORE + of_score]:
            yield name
    key_id, of_score = found["applicant_key_id"], found[f"{_OF_SCORE}applicant_key_id"]
    is_there = key_id is None or found["found_key_id"] is not None
    if not is_there or key_id != of_score:
        yield "applicant_key_id"
    if key_id is not None and found["seal_key_id"] is not None:
        yield "seal_key_id"


_PACKS_AT_ONCE: Final = 10


def stored_rows(connection: Connection) -> dict[Thing, Columns]:
    """Give all that acts speak of, from lenders to signatures, each with its columns."""
    found: dict[Thing, Columns] = {}
    for row in _rows(connection, tables.lenders):
        found[expected.LENDER, str(row["id"])] = row
    for row in _rows(connection, tables.keys):
        digest = row["digest"]
        row["digest"] = digest.hex() if isinstance(digest, bytes) else digest
        found[expected.KEY, str(row["id"])] = row
    found |= _put_in_force(connection)
    for row in _rows(connection, lenders_schema.pauses):
        found[expected.pause_of(row["lender"], row["mode"])] = row
    for row in _holds(connection):
        found[expected.HELD, str(row["id"])] = row
    for row in _rows(connection, schema.list_entries):
        found[expected.LISTED, str(row["applicant_key_id"])] = row
    for row in _rows(connection, tables.webhook_endpoints):
        found[expected.ENDPOINT, str(row["id"])] = row | whereabouts(str(row["url"]))
    for row in _rows(connection, tables.pilots):
        found[expected.terms_of(row["lender"])] = row
    found |= {(expected.HISTORY, str(row["id"])): row for row in _histories(connection)}
    found |= {(expected.CANDIDATE, str(row["id"])): row for row in _candidates(connection)}
    for row in _rows(connection, onboarding_schema.signatures):
        found[expected.signature_of(row["candidate_id"], row["number"])] = row
    return found


def _put_in_force(connection: Connection) -> dict[Thing, Columns]:
    """Give what was ever deployed or declared, each known by its place among its like."""
    found: dict[Thing, Columns] = {}
    places: Counter[tuple[object, ...]] = Counter()
    for row in _rows(connection, lenders_schema.deployments):
        book = (row["lender"], row["mode"])
        places[book] += 1
        found[expected.deployment_of(*book, places[book])] = row
    for row in _rows(connection, lenders_schema.field_activations):
        lender = row["lender"]
        places[(lender,)] += 1
        found[expected.fields_of(lender, places[(lender,)])] = row
    return found


def _rows(connection: Connection, table: Table) -> Iterator[Columns]:
    query = select(table).order_by(*table.primary_key.columns)
    yield from (dict(row) for row in connection.execute(query).mappings())


def _histories(connection: Connection) -> Iterator[Columns]:
    """Give loan histories, each with a hash in the place of its report."""
    query = select(onboarding_schema.histories).execution_options(yield_per=_PACKS_AT_ONCE)
    for found in connection.execute(query).mappings():
        row = dict(found)
        yield row | doubts(row.pop("report"))


def _candidates(connection: Connection) -> Iterator[Columns]:
    """Give candidates, each with hashes in the place of what is long.

    The document is left out: its content hash is the id of the model, which is looked at.
    """
    table = onboarding_schema.candidates
    query = select(*(column for column in table.c if column.name != "document"))
    rows = connection.execute(query.execution_options(yield_per=_PACKS_AT_ONCE))
    for found in rows.mappings():
        row = dict(found)
        yield row | judgement(row.pop("gates"), row.pop("pack"), row.pop("page"))


def _holds(connection: Connection) -> Iterator[Columns]:
    """Give holds, each with the key of whom it stands on."""
    holds, keys = legal_holds, vault_schema.applicant_keys
    query = select(holds, keys.c.id.label("key_id")).outerjoin(keys, same_applicant())
    yield from (dict(row) for row in connection.execute(query).mappings())


OF_CHAINS: Final = frozenset({ActKind.CHAIN_OPENED, ActKind.CHAIN_CLOSED, ActKind.HEADS_NOTED})
"""What the service writes by itself, all day long."""


class Done(NamedTuple):
    """An act, where it stands in `main`, and when it was written; None: it cannot be read."""

    number: int
    at_us: int
    kind: str
    act: Act | None


def newest_first(trail: Trail, before: int | None) -> Iterator[Done]:
    """Give what was done, from just before a number on."""
    while links := trail.newest(MAIN, before, PAGE):
        for link in links:
            try:
                act = acts.decode(link.body)
            except (msgspec.DecodeError, UnicodeDecodeError):  # damaged, or of a later version
                act = None
            yield Done(link.number, link.created_us, link.kind, act)
        lowest = min(link.number for link in links)
        if before is not None and lowest >= before:  # what is no number stands for the highest
            return
        before = lowest
