"""What is counted in the transaction of the scores themselves, by the hour and by the day."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from sqlalchemy import and_, delete, insert, select

from alama.core import tally as tallies
from alama.core.lending.circumstances import Segment
from alama.core.lending.policy import Decision
from alama.core.tally import Tally
from alama.platform.days import DAY_US
from alama.platform.errors import StoreUnfit
from alama.scoring import schema
from alama.scoring.holds import HOUR_US, Approved, Counts, Day, NoRoom, SoFar, first_hour

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection
    from sqlalchemy.engine.interfaces import DBAPICursor

    from alama.core.lending.policy import Policy
    from alama.platform.book import Book
    from alama.platform.database.database import Database
    from alama.scoring.records import SealedEntry


_APPROVED: Final = Decision.APPROVED.value


Part = tuple[str, str, int, Segment]
"""Lender, mode, hour since 1970 and part of the portfolio: in what an approval is counted."""


def part_of(entry: SealedEntry) -> tuple[Segment, Approved]:
    """Give which part of the portfolio an approval is counted in, and as what."""
    row = entry.score
    explored = row.propensity is not None
    one = Approved(1, row.recommended_limit, row.expected_loss, int(explored))
    return Segment(entry.region, row.tier, row.product), one


class Approvals:
    """What one process approved in each hour, in rows of its own: none waits for another's commit.

    Summing scores would take ever longer as a day goes on, and a bound is looked at every second.
    """

    def __init__(self, mark: str, writer: str) -> None:
        """Take a `writer` that names this process and no other."""
        self._writer = writer
        self._segments: dict[Segment, int] = {}
        names = _COLUMNS
        self._text = (
            f"INSERT INTO approvals ({', '.join(names)}) "  # noqa: S608  our own names
            f"VALUES ({', '.join([mark] * len(names))}) "
            "ON CONFLICT (lender, mode, hour, writer) DO UPDATE SET "
            + ", ".join(f"{name} = approvals.{name} + excluded.{name}" for name in Approved._fields)
        )

    def add(self, cursor: DBAPICursor, entries: Iterable[SealedEntry]) -> None:
        sums: dict[Part, Approved] = {}
        for entry in entries:
            row = entry.score
            if row.decision == _APPROVED:
                segment, one = part_of(entry)
                part = (row.lender, row.mode, row.created_us // HOUR_US, segment)
                sums[part] = sums.get(part, Approved()).plus(one)
        self.count(cursor, sums)

    def count(self, cursor: DBAPICursor, sums: Mapping[Part, Approved]) -> None:
        """Add to what was approved; what is negative is taken back."""
        for (lender, mode, hour, segment), approved in sums.items():
            # A row for each segment, and none that another process writes.
            number = self._segments.setdefault(segment, len(self._segments))
            writer = f"{self._writer}.{number}"
            cursor.execute(self._text, (lender, mode, hour, writer, *approved, *segment))


_COLUMNS: Final = ("lender", "mode", "hour", "writer", *Approved._fields, *Segment._fields)


class ApprovedHours:
    """Reads what was approved, by a cursor of the driver."""

    def __init__(self, mark: str) -> None:
        """Write the text once; `mark` stands for a parameter in the driver's language."""
        sums = ", ".join(f"sum({name})" for name in Approved._fields)
        segment = ", ".join(Segment._fields)
        self._text = (
            f"SELECT {segment}, {sums} FROM approvals "  # noqa: S608  our own names
            f"WHERE lender = {mark} AND mode = {mark} AND hour >= {mark} AND hour < {mark} "
            f"GROUP BY {segment}"
        )

    def between(self, cursor: DBAPICursor, book: Book, hour: int, until: int | None) -> Counts:
        """Give what was approved in a book from an hour on, and before another."""
        last = _LAST_HOUR if until is None else until
        cursor.execute(self._text, (book.lender, book.mode.value, hour, last))
        width = len(Segment._fields)
        return {
            Segment._make(row[:width]): Approved(int(row[width]), row[-3], row[-2], int(row[-1]))
            for row in cursor.fetchall()
        }


_LAST_HOUR: Final = 2**31 - 1


class Full(Exception):
    """Some approvals of a commit have no room, by request id: it may begin anew without them."""

    def __init__(self, refused: Mapping[str, NoRoom]) -> None:
        self.refused = refused


class Caps:
    """Lets approvals into a commit as far as the caps of their policies have room.

    All processes that approve in a book do so one after the other, where a policy bounds that: so
    each sees what the others have kept, and no cap is exceeded. SQLite has one writer at a time
    anyway.
    """

    def __init__(self, database: Database) -> None:
        mark = database.parameter_mark
        self._hours = ApprovedHours(mark)
        self._wait = None if database.embedded else f"SELECT pg_advisory_xact_lock({mark})"
        self._so_far = SoFar()

    def require_room(self, cursor: DBAPICursor, entries: Iterable[SealedEntry]) -> None:
        """Raise `Full` where something has no room; nobody else takes what has until the commit.

        Whoever writes rows that others may wait for has done so before.
        """
        bounded = [entry for entry in entries if entry.bounds is not None]
        sums: dict[Book, Counts] = {}
        asked: dict[_Asked, tuple[Policy, int]] = {}
        for entry in bounded:
            segment, one = part_of(entry)
            row, policy = entry.score, entry.bounds
            assert policy is not None
            of_book = sums.setdefault(row.book, {})
            of_book[segment] = of_book.get(segment, Approved()).plus(one)
            asked.setdefault(_asked(entry, policy), (policy, row.created_us))
        # In one order: two who wait for the same books in different ones wait for each other.
        for book in sorted(sums):
            self.wait(cursor, book)
        days = {one: self.day(cursor, one.book, *by) for one, by in asked.items()}
        if not all(day.has_room(sums[one.book]) for one, day in days.items()):
            _require_room(bounded, days)

    def wait(self, cursor: DBAPICursor, book: Book) -> None:
        """Wait until nobody else is about to approve in a book; nobody else does until the commit.

        Whoever holds the keys of applicants took them before.
        """
        if self._wait is not None:
            cursor.execute(self._wait, (_lock_of(book),))

    def day(self, cursor: DBAPICursor, book: Book, policy: Policy, at_us: int) -> Day:
        """Give what room there is under a policy; whoever approves by it has waited before."""
        day = Day()

        def read(book: Book, hour: int, until: int | None) -> Counts:
            return self._hours.between(cursor, book, hour, until)

        day.settle(policy, None, self._so_far.of(read, book, policy, at_us))
        return day


class _Asked(NamedTuple):
    """Whose caps are looked at: those of a policy, on the day that began at an hour."""

    book: Book
    policy_id: str
    began: int


def _asked(entry: SealedEntry, policy: Policy) -> _Asked:
    row = entry.score
    return _Asked(row.book, policy.id, first_hour(row.created_us, policy.daily.utc_offset_hours))


def _require_room(bounded: Iterable[SealedEntry], days: Mapping[_Asked, Day]) -> None:
    """Let in one after the other, and raise `Full` where one has no room."""
    refused: dict[str, NoRoom] = {}
    for entry in bounded:
        policy = entry.bounds
        assert policy is not None
        day = days[_asked(entry, policy)]
        segment, one = part_of(entry)
        if day.admits(segment, one):
            # By whichever policy, and on whichever day, it was let in: it counts.
            for other, theirs in days.items():
                if other.book == entry.score.book:
                    theirs.add(segment, one)
        else:
            refused[entry.score.request_id] = NoRoom(day)
    if refused:
        raise Full(refused)


def _lock_of(book: Book) -> int:
    """Give the number of a lock of PostgreSQL's: a session that meets another's only waits."""
    name = f"approvals {book.lender} {book.mode.value}".encode()
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "big", signed=True)


_DAYS_AT_HAND: Final = 2
"""At midnight scores of two days are on their way."""

FOLDED: Final = "all"
"""The writer of what was put together: no process has such a name."""

FOLDED_AT_ONCE: Final = 50
"""Pages in one transaction: meanwhile SQLite lets nobody else write."""

_Page = tuple[str, str, int, str]
"""Lender, mode, day and model."""


class _Counted(NamedTuple):
    """A tally as it will stand in a row of its own: its writer is this process, from here on."""

    writer: str
    tally: Tally


class Tallies:
    """The counts of one process. It has rows of its own, so it neither reads nor waits for others.

    A tally is one value of one row, which is written whole: a statement for each book of a commit,
    however many bands and scores it has met.

    What it goes on counting is in memory as it was committed, or it is not in memory: where that is
    not certain, the row stays as it is and counting begins anew in another.
    """

    def __init__(self, mark: str) -> None:
        """Write the statement once; `mark` stands for a parameter in the driver's language."""
        columns = [column.name for column in schema.daily_counts.columns]
        key = ", ".join(column.name for column in schema.daily_counts.primary_key)
        self._text = (
            f"INSERT INTO daily_counts ({', '.join(columns)}) "  # noqa: S608  our own names
            f"VALUES ({', '.join([mark] * len(columns))}) "
            f"ON CONFLICT ({key}) DO UPDATE SET counts = excluded.counts"
        )
        self._counted: dict[_Page, _Counted] = {}
        self._uncertain: set[_Page] = set()
        self._latest_day = 0

    def add(self, cursor: DBAPICursor, entries: Iterable[SealedEntry]) -> None:
        """Count entries in the transaction of the cursor; `kept` says that it was committed."""
        self._forget_uncertain()
        before: _Page | None = None
        tally: Tally | None = None
        for entry in entries:
            if entry.seen is None:
                continue
            row = entry.score
            page = (row.lender, row.mode, row.created_us // DAY_US, row.model_id)
            if tally is None or page != before:  # most of a commit are of one page
                tally, before = self._open(page), page
            tally.add(entry.seen)
        for page in self._uncertain:
            writer, tally = self._counted[page]
            cursor.execute(self._text, (*page, writer, tallies.encode(tally)))

    def _open(self, page: _Page) -> Tally:
        self._uncertain.add(page)
        counted = self._counted.get(page)
        if counted is None:
            counted = self._counted[page] = _Counted(secrets.token_hex(8), Tally())
        return counted.tally

    def kept(self) -> None:
        """Note that what was added last is committed."""
        latest_day = max((day for _, _, day, _ in self._uncertain), default=0)
        self._uncertain.clear()
        if latest_day > self._latest_day:
            self._latest_day = latest_day
            self._forget_before(latest_day - _DAYS_AT_HAND + 1)

    def _forget_uncertain(self) -> None:
        for page in self._uncertain:
            del self._counted[page]
        self._uncertain.clear()

    def _forget_before(self, day: int) -> None:
        for page in [page for page in self._counted if page[2] < day]:
            del self._counted[page]


def tally_of_days(
    connection: Connection, book: Book, first_day: int, last_day: int
) -> Mapping[str, Tally]:
    """Sum what was counted in a book from a day to another, both included, for each model."""
    table = schema.daily_counts
    query = select(table.c.model_id, table.c.counts).where(
        table.c.lender == book.lender,
        table.c.mode == book.mode.value,
        table.c.day.between(first_day, last_day),
    )
    totals: dict[str, Tally] = {}
    for model_id, counts in connection.execute(query):
        totals.setdefault(model_id, Tally()).merge(decoded(counts))
    return totals


def fold_counts(database: Database, before_day: int) -> bool:
    """Put the rows of some pages before a day together, each into one; say if some are left.

    The bands of a day with one score are what one applicant said. So bands of few scores are
    dropped; what is left is nobody's data, and may be kept when the scores are not.
    """
    table = schema.daily_counts
    page = (table.c.lender, table.c.mode, table.c.day, table.c.model_id)
    query = (
        select(*page)
        .distinct()
        .where(table.c.day < before_day, table.c.writer != FOLDED)
        .order_by(*page)
        .limit(FOLDED_AT_ONCE)
    )
    with database.writing() as connection:
        pages = connection.execute(query).all()
        for lender, mode, day, model_id in pages:
            _fold(connection, (lender, mode, day, model_id))
    return len(pages) == FOLDED_AT_ONCE


def _fold(connection: Connection, page: _Page) -> None:
    table = schema.daily_counts
    names = ("lender", "mode", "day", "model_id")
    on_page = and_(*(table.c[name] == value for name, value in zip(names, page, strict=True)))
    rows = select(table.c.counts).where(on_page).order_by(table.c.writer).with_for_update()
    total = Tally()
    for counts in connection.execute(rows).scalars().all():
        total.merge(decoded(counts))
    if not total.cards:  # another process has just done it
        return
    total.drop_small()
    connection.execute(delete(table).where(on_page))
    values = dict(zip(names, page, strict=True))
    connection.execute(insert(table), values | {"writer": FOLDED, "counts": tallies.encode(total)})


def decoded(counts: bytes) -> Tally:
    """Read the counts of a row, or raise `StoreUnfit`."""
    try:
        return tallies.decode(counts)
    except msgspec.DecodeError as error:
        raise StoreUnfit(
            "the counts of a day are damaged", hint="restore the database from a backup"
        ) from error
