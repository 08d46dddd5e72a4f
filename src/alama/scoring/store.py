"""The scores that were given: sealed, chained, counted and written in one commit."""

from __future__ import annotations

import itertools
import secrets
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import delete, func, select, tuple_, union_all

from alama.core import chain
from alama.core.chain import Head, Link, Signer
from alama.core.lending.policy import Decision
from alama.memory.store import UNMET, Borrowers, Known, Stand, sealed_row
from alama.platform import acts, ids
from alama.platform.database import tables
from alama.platform.database.books import in_book
from alama.platform.database.database import Clash, Database
from alama.platform.database.sqlite import BUSY_TIMEOUT_S, Busy
from alama.platform.database.statements import Inserts
from alama.platform.errors import MasterKeyMissing, StoreUnavailable, StoreUnfit
from alama.platform.event_bundles import Audience, Bundle, bundles
from alama.platform.events import Event, EventKind, ScoreGiven, score_created
from alama.scoring import schema
from alama.scoring.counts import (
    Approvals,
    ApprovedHours,
    Caps,
    Full,
    Tallies,
    fold_counts,
    tally_of_days,
)
from alama.scoring.lists import lists_of
from alama.scoring.records import (
    EVERY,
    NOBODY,
    Became,
    Earlier,
    Entry,
    Fate,
    IdempotencyRow,
    Question,
    ScoreRow,
    ScoreSummary,
    SealedEntry,
    StoredScore,
    UnknownScore,
    Wanted,
    evidence_used,
)
from alama.scoring.sequels import LEFT_OPEN
from alama.vault import schema as vault_schema
from alama.vault.envelope import RECORD, REPLY, OwnKey, place
from alama.vault.ring import ApplicantKey, Ring
from alama.vault.store import ApplicantKeys, DataKey, FirstMet, LenderKeys, Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, CompoundSelect, Row, Select
    from sqlalchemy.engine.interfaces import DBAPICursor

    from alama.core.tally import Tally
    from alama.lenders.installation import Installation
    from alama.memory.store import BorrowerRow
    from alama.platform.acts import ActLog
    from alama.platform.book import Book
    from alama.scoring.holds import Counts, NoRoom
    from alama.scoring.lists import Lists
    from alama.vault.vault import Vault


Identity = tuple[str, str, str, bytes]
"""Lender, mode, operation and digest of the key: the primary key of the table."""


class _Found(NamedTuple):
    lender: str
    mode: str
    operation: str
    key_digest: bytes
    request_digest: bytes
    request_id: str
    reply: bytes
    seal_key_id: str | None
    applicant_key_id: str | None
    lender_key_id: str | None
    wrapped: bytes | None
    erased_us: int | None

    @property
    def earlier(self) -> Earlier:
        key = None
        if self.applicant_key_id is not None:  # a row that is not there opens nothing
            key = ApplicantKey(
                self.applicant_key_id, self.lender_key_id or "", self.wrapped, self.erased_us
            )
        return Earlier(self.request_digest, self.request_id, self.reply, self.seal_key_id, key)


_IDENTITY: Final = _Found._fields[:4]
_OF_KEY: Final = 3
"""Columns at the end that are of the applicant's key."""


class EarlierAnswers:
    """The statements for one driver."""

    def __init__(self, mark: str) -> None:
        """Write their parts; `mark` stands for a parameter in the driver's language."""
        table = schema.idempotency.name
        keys = vault_schema.applicant_keys.name
        own = [f"{table}.{column}" for column in _Found._fields[:-_OF_KEY]]
        columns = ", ".join([*own, *_Found._fields[-_OF_KEY:]])
        named = ", ".join(f"{table}.{column}" for column in _IDENTITY)
        self._one = f"({', '.join([mark] * len(_IDENTITY))})"
        self._select = (
            f"SELECT {columns} FROM {table} LEFT JOIN {keys} "  # noqa: S608  our own names
            f"ON {keys}.id = {table}.applicant_key_id WHERE ({named}) IN "
        )

    def find(
        self, cursor: DBAPICursor, keyed: Sequence[IdempotencyRow]
    ) -> Mapping[Identity, Earlier]:
        """Find the answers given before, however long ago: only upkeep ends a key."""
        identities = [identity(row) for row in keyed]
        values = ", ".join([self._one] * len(identities))
        cursor.execute(
            f"{self._select} (VALUES {values})", tuple(itertools.chain.from_iterable(identities))
        )
        found = [_Found._make(row) for row in cursor.fetchall()]
        return {identity(row): row.earlier for row in found}


def identity(row: IdempotencyRow | _Found) -> Identity:
    """Give what tells one idempotency key from every other."""
    return (row.lender, row.mode, row.operation, row.key_digest)


class Batch(NamedTuple):
    """Entries that are sealed, in their order; those that cannot be, by request id, and why.

    `keys` are those of the applicants that they name.
    """

    sealed: Sequence[SealedEntry]
    unfit: Mapping[str, StoreUnfit]
    keys: Mapping[Subject, DataKey]


class Sealing:
    """Seals the entries of one database in their commit: no key can be gone by then."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._lender_keys = LenderKeys(database, vault)
        self._applicant_keys = ApplicantKeys(database, vault)

    def seal(self, cursor: DBAPICursor, entries: Sequence[Entry]) -> Batch:
        """Seal entries. A damaged key is the trouble of those who need it, and of nobody else.

        `Clash` where another process makes the key of the same applicant at this moment.
        """
        unfit: dict[str, StoreUnfit] = {}
        used = {entry.unsealed.ring.seal_key_id for entry in entries}
        retired = self._lender_keys.retired(cursor, used)
        if retired:
            entries = self._handed_over(cursor, entries, retired, unfit)
        wanted = {
            (entry.score.lender, entry.score.mode, subject): FirstMet(
                entry.unsealed.ring, entry.score.created_us
            )
            for entry in entries
            if (subject := entry.unsealed.subject) is not None
        }
        keys: Mapping[Subject, DataKey] = {}
        if wanted:
            keys, damaged = self._applicant_keys.find_or_make(cursor, wanted)
            if damaged:
                entries = _with_whole_keys(entries, damaged, unfit)
        return Batch([_sealed(entry, keys) for entry in entries], unfit, keys)

    def _handed_over(
        self,
        cursor: DBAPICursor,
        entries: Sequence[Entry],
        retired: set[str],
        unfit: dict[str, StoreUnfit],
    ) -> Sequence[Entry]:
        """Give the entries to be sealed by the keys of their lenders that stand now."""
        lenders = {
            entry.score.lender for entry in entries if entry.unsealed.ring.seal_key_id in retired
        }
        rings = {lender: self._ring(cursor, lender) for lender in sorted(lenders)}
        standing = []
        for entry in entries:
            unsealed = entry.unsealed
            stands = unsealed.ring.seal_key_id not in retired
            ring = unsealed.ring if stands else rings[entry.score.lender]
            if isinstance(ring, StoreUnfit):
                unfit[entry.score.request_id] = ring
            else:
                standing.append(entry._replace(unsealed=unsealed._replace(ring=ring)))
        return standing

    def _ring(self, cursor: DBAPICursor, lender: str) -> Ring | StoreUnfit:
        try:
            return self._lender_keys.ring(cursor, lender)
        except MasterKeyMissing:  # which is nothing of one lender
            raise
        except StoreUnfit as error:
            return error


def _with_whole_keys(
    entries: Sequence[Entry],
    damaged: Mapping[Subject, StoreUnfit],
    unfit: dict[str, StoreUnfit],
) -> Sequence[Entry]:
    """Give the entries whose applicants have no damaged key; note the others as unfit."""
    whole = []
    for entry in entries:
        score, subject = entry.score, entry.unsealed.subject
        error = None if subject is None else damaged.get((score.lender, score.mode, subject))
        if error is None:
            whole.append(entry)
        else:
            unfit[score.request_id] = error
    return whole


def _sealed(entry: Entry, keys: Mapping[Subject, DataKey]) -> SealedEntry:
    score, idempotency, digest, unsealed, seen, announced, region, asking, claim, bounds = entry
    lender, mode, request_id = score.lender, score.mode, score.request_id
    where = place(lender, mode, request_id, RECORD)
    key: DataKey | OwnKey
    if unsealed.subject is None:
        key, seal_key_id, applicant_key_id = (
            unsealed.ring.own_key(where),
            unsealed.ring.seal_key_id,
            None,
        )
    else:
        key = keys[lender, mode, unsealed.subject]
        seal_key_id, applicant_key_id = None, key.id
    # The rest is as it was: to replace three by their names takes three times as long.
    record = key.seal(unsealed.record, where)
    sealed = (seal_key_id, record, applicant_key_id)
    score = ScoreRow._make((*score.in_clear, *sealed, score.propensity, score.product))
    if idempotency is not None:
        assert unsealed.reply is not None
        idempotency = idempotency._replace(
            reply=key.seal(unsealed.reply, place(lender, mode, request_id, REPLY)),
            seal_key_id=seal_key_id,
            applicant_key_id=applicant_key_id,
        )
    if claim is not None:
        claim = claim._replace(
            reply=key.seal(b"", place(lender, mode, request_id, REPLY)),
            seal_key_id=seal_key_id,
            applicant_key_id=applicant_key_id,
        )
    row = now = None
    if asking is not None:
        assert isinstance(key, DataKey)  # nobody is remembered who is not named
        known, after, standing = asking
        # Of a key that was erased nothing goes over to the next.
        version = known.version + 1 if known.key_id in {key.id, None} else NEVER
        row = sealed_row(key, lender, mode, version, score.created_us, after)
        now = Known(key.id, version, after, standing)
    return SealedEntry(score, idempotency, digest, seen, announced, region, row, now, claim, bounds)


NEVER: Final = -1
"""A version that follows none."""


class Remembering:
    """Keeps how borrowers stand after their applications, in the commit of these."""

    def __init__(self, database: Database, keys: ApplicantKeys) -> None:
        self._borrowers = Borrowers(database)
        self._keys = keys

    def answer(
        self, cursor: DBAPICursor, questions: Sequence[Question]
    ) -> Sequence[Stand | StoreUnfit]:
        """Say how those stand who are asked about, whoever they are."""
        keys, damaged = self._keys.find(cursor, questions)
        known = self._borrowers.read(cursor, {key.id: key for key in keys.values()})
        found = [
            known[keys[one].id] if one in keys else damaged.get(one, UNMET) for one in questions
        ]
        return [Stand(kept=False, known=one) if isinstance(one, Known) else one for one in found]

    def keep(
        self, cursor: DBAPICursor, batch: Batch, refused: Collection[str]
    ) -> Mapping[str, Stand | StoreUnfit]:
        """Keep those that are not refused, and say how each stands, by request id.

        An entry whose borrower stands otherwise than it thinks is not to be kept.
        """
        rows: dict[str, BorrowerRow] = {}
        stands: dict[str, Stand | StoreUnfit] = {}
        asking = [
            entry
            for entry in batch.sealed
            if entry.borrower is not None and entry.score.request_id not in refused
        ]
        for entry in asking:
            row = entry.borrower
            if row is not None and row.version != NEVER:
                rows.setdefault(row.applicant_key_id, row)
        written = self._borrowers.write(cursor, list(rows.values()))
        late: dict[str, str] = {}
        for entry in asking:
            row, known = entry.borrower, entry.known
            assert row is not None
            assert known is not None
            key_id = row.applicant_key_id
            if key_id in written and rows[key_id] is row:
                stands[entry.score.request_id] = Stand(kept=True, known=known)
            else:
                late[entry.score.request_id] = key_id
        if late:
            wanted = set(late.values())
            keys = {key.id: key for key in batch.keys.values() if key.id in wanted}
            now = self._borrowers.read(cursor, keys)
            for request_id, key_id in late.items():
                found = now[key_id]
                stands[request_id] = (
                    Stand(kept=False, known=found) if isinstance(found, Known) else found
                )
        return stands


_WRITER_BYTES: Final = 8


class ScoreChain:
    """What one process adds to the audit. Any thread may use it, one at a time does.

    It has an entry for each commit of scores, in the transaction of the commit. Where a commit has
    failed nobody knows whether its entry stands: the process leaves that chain as it is and begins
    another. No chain has a hole, whatever is killed and when.
    """

    def __init__(self, database: Database, log: ActLog, signer: Callable[[], Signer]) -> None:
        """Begin a chain; it is written of in `main` with its first entry, and not before."""
        self._database = database
        self._log = log
        self._signer = signer
        self._rows = Inserts(tables.audit_entries.name, Link._fields, database.parameter_mark)
        self._lock = threading.Lock()
        self._head = _begin()
        self._next: Head | None = None

    @property
    def head(self) -> Head:
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


FORGOTTEN_AT_ONCE: Final = 1_000
"""Idempotency keys that are dropped in one transaction, which takes some 10 ms."""

_ATTEMPTS: Final = 3

_SUMMARY: Final = [schema.scores.c[name] for name in ScoreSummary._fields]
_ROW: Final = [schema.scores.c[name] for name in ScoreRow._fields]
_KEY: Final = [vault_schema.applicant_keys.c[name] for name in ApplicantKey._fields]


class Scores:
    """The scores that were given. Every method may raise `StoreUnavailable`."""

    def __init__(self, database: Database, vault: Vault, chain: ScoreChain) -> None:
        self._database = database
        self.chain = chain
        mark = database.parameter_mark
        self._score_rows = Inserts(schema.scores.name, ScoreRow._fields, mark)
        self._idempotency_rows = Inserts(schema.idempotency.name, IdempotencyRow._fields, mark)
        self._bundle_rows = Inserts(tables.bundles.name, Bundle._fields, mark)
        self._audience = Audience(EventKind.SCORE_CREATED, mark)
        self._earlier = EarlierAnswers(mark)
        self._approvals = Approvals(mark, writer=secrets.token_hex(8))
        self._hours = ApprovedHours(mark)
        self._caps = Caps(database)
        self._tallies = Tallies(mark)
        self._sealing = Sealing(database, vault)
        self._remembering = Remembering(database, ApplicantKeys(database, vault))

    @classmethod
    def at(cls, installed: Installation) -> Scores:
        """Those of an installation, with a chain of their own."""
        chain = ScoreChain(installed.database, installed.log, installed.vault.signer)
        return cls(installed.database, installed.vault, chain)

    # -------------------------------------------------------------------------------- reading

    def find(self, book: Book, request_id: str) -> StoredScore:
        """One score of a book, or `UnknownScore`."""
        table = schema.scores
        query = whole_scores().where(
            table.c.lender == book.lender,
            table.c.mode == book.mode.value,
            table.c.request_id == request_id,
        )
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        if row is None:
            raise UnknownScore
        return stored_score(row)

    def page(
        self, book: Book, before: str | None, limit: int, wanted: Wanted = EVERY
    ) -> Sequence[ScoreSummary]:
        """Scores of a book, newest first, from just before a request id on."""
        with self._database.reading() as connection:
            found = connection.execute(_page(book, before, limit, wanted))
            return [ScoreSummary._make(row) for row in found]

    def applications(self, book: Book, before: str | None, limit: int) -> Sequence[StoredScore]:
        """What was sent for the scores that `page` would give."""
        query = _newest_first(whole_scores(), book, before, limit)
        with self._database.reading() as connection:
            return [stored_score(row) for row in connection.execute(query)]

    def became(
        self, book: Book, request_ids: Sequence[str], due_before: int
    ) -> Mapping[str, Became]:
        """What became of the loans of some scores, of those that were due before a day."""
        loans = tables.outcomes
        query = select(*(loans.c[name] for name in Became._fields)).where(
            in_book(loans, book), loans.c.request_id.in_(request_ids), loans.c.due_day < due_before
        )
        with self._database.reading() as connection:
            return {row.request_id: Became._make(row) for row in connection.execute(query)}

    def approved(self, book: Book, since_hour: int, until_hour: int | None = None) -> Counts:
        """What was approved in each part of a book from an hour since 1970 on, before another."""
        with self._database.reading() as connection:
            cursor = connection.connection.cursor()
            return self._hours.between(cursor, book, since_hour, until_hour)

    def lists(self, book: Book, known: Lists) -> Lists:
        """The lists of a book: the same as are known where nobody has changed them since."""
        with self._database.reading() as connection:
            return lists_of(connection, book, known)

    def tally(self, book: Book, first_day: int, last_day: int) -> Mapping[str, Tally]:
        """What each model, by its id, met and gave in a book in these days since 1970, UTC.

        Both days are included. Scores that were deleted and applicants that were erased are still
        counted.
        """
        with self._database.reading() as connection:
            return tally_of_days(connection, book, first_day, last_day)

    # -------------------------------------------------------------------------------- writing

    def commit(self, entries: Sequence[Entry | Question]) -> Sequence[Fate]:
        """Keep all entries in one transaction, and answer the questions among them.

        Another process may be answering the same idempotency key at this moment. The database lets
        one of the two in; the other starts over, and then finds the answer of the first.
        """
        for _ in range(_ATTEMPTS):
            try:
                return self._commit_within(entries, BUSY_TIMEOUT_S)
            except Clash:
                continue
            except Busy:
                raise StoreUnavailable("another process keeps the database to itself") from None
        raise StoreUnavailable("another process keeps writing the same rows")

    def commit_now(self, entries: Sequence[Entry | Question]) -> Sequence[Fate] | None:
        """Keep all entries if that takes no more than the disk; None where it would be a wait."""
        if not self._database.embedded:
            return None
        try:
            return self._commit_within(entries, 0.0)
        except (Busy, Clash):
            return None

    def _commit_within(self, asked: Sequence[Entry | Question], timeout_s: float) -> Sequence[Fate]:
        """Keep what the caps have room for: without what has none it begins anew."""
        refused: dict[str, NoRoom] = {}
        while True:
            try:
                return self._commit_once(asked, timeout_s, refused)
            except Full as full:
                refused |= full.refused

    def _commit_once(
        self,
        asked: Sequence[Entry | Question],
        timeout_s: float,
        refused: Mapping[str, NoRoom],
    ) -> Sequence[Fate]:
        questions = [one for one in asked if isinstance(one, Question)]
        entries = [one for one in asked if isinstance(one, Entry)]
        answers: Iterator[Fate] = iter(())
        fates = answers
        with self.chain.extending(), self._database.driving(timeout_s) as cursor:
            if questions:
                answers = iter(self._remembering.answer(cursor, questions))
            if entries:
                fates = iter(self._keep(cursor, entries, refused))
        if entries:
            self._tallies.kept()
        return [next(answers if isinstance(one, Question) else fates) for one in asked]

    def _keep(
        self, cursor: DBAPICursor, entries: Sequence[Entry], refused: Mapping[str, NoRoom]
    ) -> Sequence[Fate]:
        keyed = [row for entry in entries for row in (entry.idempotency, entry.claim) if row]
        earlier = self._earlier.find(cursor, keyed) if keyed else {}
        fates = _fates(entries, earlier)
        asked = zip(entries, fates, strict=True)
        batch = self._sealing.seal(cursor, [entry for entry, found in asked if found is None])
        told: dict[str, Fate] = {**batch.unfit, **refused}
        told |= self._remembering.keep(cursor, batch, told)
        new = [entry for entry in batch.sealed if _is_kept(told, entry)]
        scores = [entry.score for entry in new]
        self._score_rows.run(cursor, scores)
        self._announce(cursor, [entry.score for entry in new if entry.announced])
        if keyed:
            rows = {
                identity(row): row
                for entry in new
                for row in (entry.idempotency, entry.claim)
                if row is not None and identity(row) not in earlier
            }
            # Two processes that take the same keys in different orders wait for each other.
            self._idempotency_rows.run(cursor, [rows[one] for one in sorted(rows)])
        # Last, after all that another process can clash with: what fails is counted anew.
        self._tallies.add(cursor, new)
        # From here until the commit nobody else approves in a book whose policy has caps.
        self._caps.require_room(cursor, new)
        self._approvals.add(cursor, new)
        self.chain.add(cursor, new)
        if told:
            named = [entry.score.request_id for entry in entries]
            return [fate or told.get(one) for one, fate in zip(named, fates, strict=True)]
        return fates

    def _announce(self, cursor: DBAPICursor, scores: Sequence[ScoreRow]) -> None:
        """Write down an event for each score that somebody wants to hear of.

        Who that is, the transaction of the scores sees: a process that remembered it would miss an
        endpoint that was added elsewhere a moment ago.
        """
        books = {(score.lender, score.mode) for score in scores}
        wanting = self._audience.of(cursor, books) if books else ()
        if wanting:
            told = [_event(score) for score in scores if (score.lender, score.mode) in wanting]
            self._bundle_rows.run(cursor, bundles(told))

    def fold_counts(self, before_day: int) -> bool:
        """Put the counts of some days before one together; say whether some are left."""
        return fold_counts(self._database, before_day)

    def forget_idempotency(self, before_us: int) -> bool:
        """Drop some idempotency keys that nobody will retry any more; say whether some are left.

        Not all at once: while they go, SQLite lets nobody else write, and a score would wait.
        """
        table = schema.idempotency
        key = tuple_(*table.primary_key.columns)
        some = (
            select(*table.primary_key.columns)
            .where(table.c.created_us < before_us)
            .order_by(table.c.created_us)
            .limit(FORGOTTEN_AT_ONCE)
        )
        with self._database.writing() as connection:
            gone = connection.execute(delete(table).where(key.in_(some)))
        return gone.rowcount == FORGOTTEN_AT_ONCE


def _fates(entries: Sequence[Entry], earlier: Mapping[Identity, Earlier]) -> list[Fate]:
    """Give what stands in the way of each entry: an earlier answer, or whose its evidence is."""
    holders = {one: found.request_digest for one, found in earlier.items()}
    fates: list[Fate] = []
    for entry in entries:
        fate: Fate = earlier.get(identity(entry.idempotency)) if entry.idempotency else None
        if fate is None and entry.claim is not None:
            one, who = identity(entry.claim), entry.claim.request_digest
            if one not in holders:
                holders[one] = who
            elif who == NOBODY or holders[one] != who:
                fate = evidence_used()
        fates.append(fate)
    return fates


def _is_kept(told: Mapping[str, Fate], entry: SealedEntry) -> bool:
    fate = told.get(entry.score.request_id)
    return fate is None or (isinstance(fate, Stand) and fate.kept)


def _event(score: ScoreRow) -> Event:
    given = ScoreGiven(
        score.mode,
        score.request_id,
        score.score,
        score.tier,
        score.decision,
        score.model_id,
        score.policy_id,
    )
    return score_created(score.lender, given, score.created_us)


def whole_scores() -> Select[Any]:
    """Select scores with the keys of their applicants."""
    scores, keys = schema.scores, vault_schema.applicant_keys
    named = scores.outerjoin(keys, keys.c.id == scores.c.applicant_key_id)
    return select(*_ROW, *_KEY).select_from(named)


def stored_score(row: Row[Any]) -> StoredScore:
    score, key = ScoreRow._make(row[: len(_ROW)]), row[len(_ROW) :]
    if score.applicant_key_id is None:
        return StoredScore(score, None)
    if key[0] is None:  # its row is not there: nothing opens the record
        return StoredScore(score, ApplicantKey(score.applicant_key_id, "", None, None))
    return StoredScore(score, ApplicantKey._make(key))


def _page(
    book: Book, before: str | None, limit: int, wanted: Wanted
) -> Select[Any] | CompoundSelect[Any]:
    """Select a page by an index that has its scores in their order, whatever is wanted.

    The index of tiers has the scores of each decision in order: those of a tier are the newest of
    what each decision has. Those of an applicant are few: no other index may be tried for them.
    """
    table = schema.scores
    query = select(*_SUMMARY).where(*_wanted(book, wanted))
    if wanted.subject is None:
        query = _newest_first(query, book, before, limit)
    else:
        lender, mode = (func.coalesce(column, "") for column in (table.c.lender, table.c.mode))
        query = query.where(lender == book.lender, mode == book.mode.value)
        query = _ordered(query, before, limit)
    decision, any_decision = table.c.decision, not (wanted.decision or wanted.waiting)
    if wanted.tier is None or wanted.subject is not None or not any_decision:
        return query
    newest = [query.where(decision == one.value).subquery() for one in Decision]
    together = union_all(*map(select, newest))
    return together.order_by(together.selected_columns.request_id.desc()).limit(limit)


def _wanted(book: Book, wanted: Wanted) -> list[ColumnElement[bool]]:
    table, keys = schema.scores, vault_schema.applicant_keys
    conditions = still_waiting() if wanted.waiting else []
    if wanted.from_us is not None:
        conditions.append(table.c.request_id >= ids.first_of(wanted.from_us))
    if wanted.to_us is not None:
        conditions.append(table.c.request_id < ids.first_of(wanted.to_us))
    if wanted.decision is not None:
        conditions.append(table.c.decision == wanted.decision.value)
    if wanted.tier is not None:
        conditions.append(table.c.tier == wanted.tier)
    if wanted.subject is not None:
        theirs = in_book(keys, book) & (keys.c.subject == wanted.subject)
        key_id = select(keys.c.id).where(theirs).scalar_subquery()
        conditions.append(table.c.applicant_key_id == key_id)
    return conditions


def _newest_first(query: Select[Any], book: Book, before: str | None, limit: int) -> Select[Any]:
    """Narrow a query to the scores of a book, from just before a request id on."""
    return _ordered(query.where(in_book(schema.scores, book)), before, limit)


def _ordered(query: Select[Any], before: str | None, limit: int) -> Select[Any]:
    table = schema.scores
    narrowed = query.order_by(table.c.request_id.desc()).limit(limit)
    return narrowed if before is None else narrowed.where(table.c.request_id < before)


def still_waiting() -> list[ColumnElement[bool]]:
    """Give what is true of scores on which a person has to decide yet, and can.

    Not of those of applicants that were erased. What else there is of a score is looked up for
    each: as a join, PostgreSQL may read all keys for a page.
    """
    scores, reviews, keys = schema.scores, tables.reviews, vault_schema.applicant_keys
    same = (reviews.c[column.name] == column for column in scores.primary_key.columns)
    reviewed_us = select(reviews.c.reviewed_us).where(*same).scalar_subquery()
    its_key = keys.c.id == scores.c.applicant_key_id
    erased_us = select(keys.c.erased_us).where(its_key).scalar_subquery()
    return [scores.c.decision == LEFT_OPEN, reviewed_us.is_(None), erased_us.is_(None)]
