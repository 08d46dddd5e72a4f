"""News of loans to be recorded, and what a database then holds of them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from alama.core.monitoring.news import News, State
from alama.monitoring import schema
from alama.monitoring.outcomes import Outcomes, OutcomeStore, Result, Sent
from alama.platform.acts import Act, ActKind, decode
from alama.platform.book import Book
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.days import DAY_US, day_of
from alama.platform.event_bundles import COLUMNS, Bundle, unfolded
from alama.platform.events import Event, EventKind
from alama.scoring.sequels import Answer
from tests.entries import DEMO, NOON_US, an_entry
from tests.stores import acts_in, scores_in
from tests.vaults import vault_of

TODAY = day_of(NOON_US)
NOW_US = NOON_US + 100 * DAY_US
SENT = Sent("5f" * 32)


def outcomes_in(database: Database, now_us: int = NOW_US) -> Outcomes:
    return Outcomes(OutcomeStore(database, acts_in(database), vault_of(database)), lambda: now_us)


def scored(database: Database, count: int = 1, book: Book = DEMO) -> list[str]:
    entries = [an_entry(book) for _ in range(count)]
    scores_in(database).commit(entries)
    return [entry.score.request_id for entry in entries]


def repaid(request_id: str, after_days: int = 30, **more: Any) -> News:
    return News(request_id, State.REPAID, TODAY + after_days, **more)


def defaulted(request_id: str, after_days: int = 90, **more: Any) -> News:
    return News(request_id, State.DEFAULTED, TODAY + after_days, **more)


def answers(results: list[Result]) -> list[Answer]:
    return [one.answer for one in results]


def rows(database: Database) -> list[dict[str, Any]]:
    table = schema.outcomes
    with database.reading() as connection:
        found = connection.execute(select(table).order_by(table.c.request_id))
        return [dict(row._mapping) for row in found]


def acts(database: Database) -> list[Act]:
    table = tables.audit_entries
    query = select(table.c.body).where(table.c.kind == ActKind.OUTCOMES_RECORDED.value)
    with database.reading() as connection:
        found = connection.execute(query.order_by(table.c.number)).scalars()
        return [decode(body) for body in found]


def events(database: Database) -> list[Event]:
    with database.reading() as connection:
        found = connection.execute(select(*COLUMNS).order_by(tables.bundles.c.id)).all()
    told = [event for row in found for event in unfolded(Bundle._make(row))]
    return [event for event in told if event.kind == EventKind.OUTCOME_RECORDED.value]
