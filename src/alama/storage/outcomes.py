"""What became of loans, in a database: judged and written in the transaction that tells of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select

from alama.service import days, ids
from alama.service.audit.outcome_acts import outcomes_recorded
from alama.service.outcomes import judging
from alama.service.outcomes.judging import Heard
from alama.service.outcomes.records import Outcome, Said
from alama.service.webhooks.events import EventKind, event
from alama.storage import bundles, schema
from alama.storage.deploying import in_book, of_book
from alama.storage.sequels import outcomes_of
from alama.storage.upserts import insert_into

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from alama.service.book import Book
    from alama.service.outcomes.judging import Verdict
    from alama.service.outcomes.recording import Sent
    from alama.service.outcomes.records import News
    from alama.service.ports import Clock
    from alama.service.webhooks.events import Event
    from alama.storage.acts import ActLog
    from alama.storage.database import Database

_SAID: Final = [
    schema.scores.c[name]
    for name in (
        "request_id",
        "created_us",
        "recommended_term_days",
        "model_id",
        "score",
        "tier",
        "default_probability",
        "decision",
    )
]


class SqlOutcomes:
    """The outcomes in a database; see `alama.service.outcomes.ports.OutcomeStore`."""

    def __init__(self, database: Database, log: ActLog) -> None:
        """Use an open database; every batch is written down."""
        self._database = database
        self._log = log

    def record(
        self, book: Book, news: Sequence[News], sent: Sent, clock: Clock
    ) -> Sequence[Verdict]:
        named = sorted({one.request_id for one in news})
        with self._database.writing() as connection:
            said = _said(connection, book, named)
            known = outcomes_of(connection, book, named)
            # Not before it is our turn: what we have waited for came before.
            heard = Heard(clock(), sent.key_id)
            verdicts: list[Verdict] = []
            for one in news:
                request_id = one.request_id
                verdict = judging.judge(one, said.get(request_id), known.get(request_id), heard)
                if verdict.is_written and verdict.outcome is not None:
                    known[request_id] = verdict.outcome
                verdicts.append(verdict)
            written = {v.outcome.request_id for v in verdicts if v.is_written and v.outcome}
            if written:
                _write(connection, book, [(known[one], said[one]) for one in sorted(written)])
                _announce(connection, book, verdicts, said, heard)
                answers = [verdict.answer for verdict in verdicts]
                act = outcomes_recorded(book, answers, sent.sha256, sent.by)
                self._log.append(connection, act)
        return verdicts


def _said(connection: Connection, book: Book, request_ids: Sequence[str]) -> dict[str, Said]:
    """Give what some scores said, and let nobody else record news of them until the commit.

    In the order of their ids, so that no two wait for each other. Nor can they be deleted
    meanwhile, and leave what became of them behind.
    """
    table = schema.scores
    query = (
        select(*_SAID)
        .where(in_book(table, book), table.c.request_id.in_(request_ids))
        .order_by(table.c.request_id)
        .with_for_update(key_share=True)
    )
    return {
        request_id: Said(
            created_us,
            days.month_of(days.day_of(created_us)),
            days.day_of(created_us) + term_days,
            *rest,
        )
        for request_id, created_us, term_days, *rest in connection.execute(query)
    }


def _write(connection: Connection, book: Book, outcomes: Sequence[tuple[Outcome, Said]]) -> None:
    """Keep what is known of loans, in the place of what was."""
    table = schema.outcomes
    whose = of_book(book)
    rows: list[dict[str, Any]] = [
        {**whose, **outcome._asdict(), "state": outcome.state.value, **said._asdict()}
        for outcome, said in outcomes
    ]
    statement = insert_into(connection, table)
    replaced = {name: statement.excluded[name] for name in Outcome._fields}
    connection.execute(
        statement.on_conflict_do_update(index_elements=[*table.primary_key], set_=replaced), rows
    )


def _announce(
    connection: Connection,
    book: Book,
    verdicts: Sequence[Verdict],
    said: Mapping[str, Said],
    heard: Heard,
) -> None:
    """Tell of each loan of which something new is known, where somebody wants to hear of it.

    As with scores: there are as many as loans, and mostly nobody does.
    """
    if not _is_wanted(connection, book):
        return
    news = [one.outcome for one in verdicts if one.is_told and one.outcome is not None]
    if not news:
        return
    # Ids of one moment sort by chance: in order, so that the events of one loan are.
    chances = sorted(os.urandom(ids.RANDOM_BYTES) for _ in news)
    told = [
        _event(book, outcome, said[outcome.request_id], heard.at_us, chance)
        for outcome, chance in zip(news, chances, strict=True)
    ]
    rows = [row._asdict() for row in bundles.bundles(told)]
    connection.execute(schema.bundles.insert(), rows)


def _is_wanted(connection: Connection, book: Book) -> bool:
    table = schema.webhook_endpoints
    wanted = connection.execute(select(table.c.kinds).where(in_book(table, book))).scalars()
    return any(not kinds or EventKind.OUTCOME_RECORDED in kinds.split() for kinds in wanted)


def _event(book: Book, outcome: Outcome, said: Said, at_us: int, chance: bytes) -> Event:
    """Tell how a loan stands now. What was lent and came back is not for others to know."""
    data = {
        "request_id": outcome.request_id,
        "outcome": outcome.state.value,
        "date": days.date_of(outcome.happened_on).isoformat(),
        "is_default": outcome.is_default,
        "tier": said.tier,
        "model": said.model_id,
    }
    return event(book, EventKind.OUTCOME_RECORDED, outcome.request_id, data, at_us, chance)
