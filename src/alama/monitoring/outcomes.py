"""Outcomes: what a lender says became of its loans, judged and kept, one row a loan."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import select

from alama.memory.borrower import Borrower, KeptOutcome, after_outcome
from alama.memory.loans import BorrowerChanges
from alama.monitoring import schema
from alama.monitoring.sequels import outcomes_of
from alama.platform import days, event_bundles, ids
from alama.platform.acts import SHA256, Act, ActKind, ActLog, Detail, act_in_book
from alama.platform.database import tables
from alama.platform.database.books import in_book, of_book
from alama.platform.database.statements import insert_into
from alama.platform.days import day_of
from alama.platform.events import Event, EventKind, event
from alama.scoring import schema as scoring_schema
from alama.scoring.sequels import DEFAULTS, Answer, Outcome, Said
from alama.vault import schema as vault_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from alama.core.monitoring.news import News
    from alama.lenders.installation import Installation
    from alama.memory.loans import Change
    from alama.platform.book import Book
    from alama.platform.clock import Clock
    from alama.platform.database.database import Database
    from alama.vault.vault import Vault


_HOUR_US: Final = 3_600 * 1_000_000

FIRST_TO_WAKE_US: Final = 14 * _HOUR_US
LAST_TO_SLEEP_US: Final = 12 * _HOUR_US
"""How far clocks on earth are before and behind UTC: a day is judged by the kindest of them."""

_MARK_DIGITS: Final = 12

BATCH_MAX: Final = 1_000
"""News that are kept in one transaction: meanwhile SQLite lets nobody else write."""

REFUSALS: Final[Mapping[Answer, str]] = {
    Answer.CONFLICT: "Something else was said of this loan on the same date, or it was corrected "
    "since, and that stands. If it is wrong, send this again with corrects: true, and with "
    "defaulted_on if the loan was a default before: a correction replaces all that was said.",
    Answer.UNKNOWN_SCORE: "There is no score with this request_id. Check the id, and that a test "
    "key speaks of test scores and a live key of live ones.",
    Answer.IN_THE_FUTURE: "The date is in the future. Send what has happened, once it has.",
    Answer.BEFORE_THE_LOAN: "The date is before the application was scored. Check the date and the "
    "request_id.",
}
"""What is said to whoever sent news that changed nothing and should have."""


class Result(NamedTuple):
    """What became of one piece of news. `is_default`: None where nothing is known of the loan."""

    request_id: str
    answer: Answer
    is_default: bool | None

    @property
    def message(self) -> str | None:
        """What to do about it, where it was refused."""
        return REFUSALS.get(self.answer)


class Sent(NamedTuple):
    """How news came. `sha256` is that of the bytes they came in, in hexadecimal digits.

    None: they came in none. So is `key_id` where no key came with them, and `by` where the audit
    is to note who is logged in.
    """

    sha256: str | None = None
    key_id: str | None = None
    by: str | None = None


class Heard(NamedTuple):
    """When news came, and by which key; None: by a person at a command line."""

    at_us: int
    key_id: str | None


class Verdict(NamedTuple):
    """What becomes of a piece of news. `outcome` is what is known from now on, if anything is.

    `is_written`: it is not what was known before, and has to be kept. `is_announced`: others learn
    something by it.
    """

    answer: Answer
    outcome: Outcome | None
    is_written: bool = False
    is_announced: bool = False


# ------------------------------------------------------------------------------- judging


def judge(news: News, said: Said | None, known: Outcome | None, heard: Heard) -> Verdict:
    """Say what becomes of news about a loan.

    `said` is what its score said, None where the book has no such score; `known` is what was known
    of the loan before.
    """
    refused = _refused(news, said, heard.at_us)
    if refused is not None:
        return Verdict(refused, None)
    alone = _alone(news, heard)
    if known is None:
        return Verdict(Answer.RECORDED, alone, is_written=True, is_announced=True)
    return _corrected(alone, known) if news.corrects else _compared(alone, known)


def _refused(news: News, said: Said | None, now_us: int) -> Answer | None:
    if said is None:
        return Answer.UNKNOWN_SCORE
    if news.happened_on > day_of(now_us + FIRST_TO_WAKE_US):
        return Answer.IN_THE_FUTURE
    if _earliest(news.happened_on, news.defaulted_on) < day_of(said.score_us - LAST_TO_SLEEP_US):
        return Answer.BEFORE_THE_LOAN
    return None


def _alone(news: News, heard: Heard) -> Outcome:
    """Give what would be known if nothing else had ever been said."""
    day = news.happened_on
    is_default = news.state in DEFAULTS
    return Outcome(
        request_id=news.request_id,
        state=news.state,
        happened_on=day,
        defaulted_on=_earliest(day, news.defaulted_on) if is_default else news.defaulted_on,
        disbursed_amount=news.disbursed_amount,
        repaid_amount=news.repaid_amount,
        recorded_us=heard.at_us,
        key_id=heard.key_id,
        settled_on=day if news.corrects else None,
        corrections=_mark(news) if news.corrects else "",
    )


def _mark(news: News) -> str:
    """Give what a correction is known by when it comes again."""
    return hashlib.sha256(repr(tuple(news[1:])).encode()).hexdigest()[:_MARK_DIGITS]


def _corrected(right: Outcome, known: Outcome) -> Verdict:
    """Let what is right stand alone, unless it was said before: later news may stand by now.

    What was wrong may be sent again by somebody who does not know of the correction. It says
    nothing of a later day than what was known, by which it can be told from news.
    """
    if right.corrections in known.corrections.split():
        return Verdict(Answer.UNCHANGED if _says(right, known) else Answer.OLDER, known)
    now = right._replace(
        settled_on=max(right.happened_on, known.happened_on, known.settled_on or 0),
        corrections=f"{known.corrections} {right.corrections}".strip(),
    )
    return Verdict(Answer.CORRECTED, now, is_written=True, is_announced=_differs(now, known))


def _compared(alone: Outcome, known: Outcome) -> Verdict:
    is_settled = known.settled_on is not None and alone.happened_on <= known.settled_on
    if alone.happened_on == known.happened_on:
        return _of_one_day(alone, known, is_settled=is_settled)
    if is_settled:
        # What is later than the correction may be true, and is not dropped without a word.
        is_older = alone.happened_on < known.happened_on
        return Verdict(Answer.OLDER if is_older else Answer.CONFLICT, known)
    if alone.happened_on > known.happened_on:
        return _added(Answer.UPDATED, alone, alone, known)
    return _added(Answer.OLDER, known, alone, known)


def _of_one_day(alone: Outcome, known: Outcome, *, is_settled: bool) -> Verdict:
    whole = _joined(alone, known)
    if is_settled and (whole is None or alone.defaulted_on not in {None, known.defaulted_on}):
        return Verdict(Answer.CONFLICT, known)
    if whole is None:
        return _added(Answer.CONFLICT, known, alone, known)
    return _added(Answer.UPDATED, whole, alone, known)


def _added(answer: Answer, stands: Outcome, alone: Outcome, known: Outcome) -> Verdict:
    """Let something stand, as a default since the first day that news or what was known name."""
    if alone.defaulted_on is None:
        first = known.defaulted_on
    else:
        first = _earliest(alone.defaulted_on, known.defaulted_on)
    now = stands._replace(
        defaulted_on=first,
        recorded_us=alone.recorded_us,
        key_id=alone.key_id,
        settled_on=known.settled_on,
        corrections=known.corrections,
    )
    if _says(now, known):
        return Verdict(Answer.UNCHANGED if answer is Answer.UPDATED else answer, known)
    return Verdict(answer, now, is_written=True, is_announced=_differs(now, known))


def _joined(alone: Outcome, known: Outcome) -> Outcome | None:
    """Give what two pieces of news of one day say together; None where they contradict.

    One may leave out an amount that the other has.
    """
    pairs = (
        (alone.disbursed_amount, known.disbursed_amount),
        (alone.repaid_amount, known.repaid_amount),
    )
    contradict = any(None not in pair and pair[0] != pair[1] for pair in pairs)
    if alone.state is not known.state or contradict:
        return None
    disbursed, repaid = (new if old is None else old for new, old in pairs)
    return known._replace(disbursed_amount=disbursed, repaid_amount=repaid)


def _earliest(one: int, other: int | None) -> int:
    return one if other is None else min(one, other)


def _says(one: Outcome, other: Outcome) -> bool:
    """Say whether two say the same of a loan, whoever said it, and when."""
    return _statement(one) == _statement(other)


def _statement(outcome: Outcome) -> tuple[object, ...]:
    return (
        outcome.state,
        outcome.happened_on,
        outcome.defaulted_on,
        outcome.disbursed_amount,
        outcome.repaid_amount,
    )


def _differs(now: Outcome, known: Outcome) -> bool:
    """Say whether others would learn something: events have neither amounts nor first days."""
    after, before = ((one.state, one.happened_on, one.is_default) for one in (now, known))
    return after != before


# ------------------------------------------------------------------------------- keeping


_SAID: Final = [
    scoring_schema.scores.c[name]
    for name in (
        "request_id",
        "created_us",
        "recommended_term_days",
        "model_id",
        "score",
        "tier",
        "default_probability",
        "decision",
        "propensity",
        "product",
    )
]


class OutcomeStore:
    """The outcomes in a database; every batch is written to the log of acts."""

    def __init__(self, database: Database, log: ActLog, vault: Vault) -> None:
        self._database = database
        self._log = log
        self._memory = BorrowerChanges(database, vault)

    def record(
        self, book: Book, news: Sequence[News], sent: Sent, clock: Clock
    ) -> Sequence[Verdict]:
        """Judge news one after the other, and keep what comes of it, all of it or nothing.

        At most `BATCH_MAX`. No two that speak of the same loan are judged at once, whoever sent
        them; the clock is asked once it is their turn. What is new is announced where it is wanted,
        and the audit notes how many there were and who said so, unless nothing is written.
        """
        named = sorted({one.request_id for one in news})
        with self._database.writing() as connection:
            lent = _lent(connection, book, named)
            # Before the scores, as whoever deletes both does.
            of_borrowers = vault_schema.applicant_keys.c.id.in_(
                {one.key_id for one in lent.values()}
            )
            held = self._memory.hold(connection, of_borrowers) if lent else {}
            said = _said(connection, book, named)
            known = outcomes_of(connection, book, named)
            # Not before it is our turn: what we have waited for came before.
            heard = Heard(clock(), sent.key_id)
            verdicts: list[Verdict] = []
            for one in news:
                request_id = one.request_id
                verdict = judge(one, said.get(request_id), known.get(request_id), heard)
                if verdict.is_written and verdict.outcome is not None:
                    known[request_id] = verdict.outcome
                verdicts.append(verdict)
            written = {v.outcome.request_id for v in verdicts if v.is_written and v.outcome}
            if written:
                _write(connection, book, [(known[one], said[one]) for one in sorted(written)])
                changes = _remembered(lent, {one: known[one] for one in written}, said)
                self._memory.change(connection, book, held, changes, heard.at_us)
                _announce(connection, book, verdicts, said, heard)
                answers = [verdict.answer for verdict in verdicts]
                act = _recorded(book, answers, sent.sha256, sent.by)
                self._log.append(connection, act)
        return verdicts


def _said(connection: Connection, book: Book, request_ids: Sequence[str]) -> dict[str, Said]:
    """Give what some scores said, and let nobody else record news of them until the commit.

    In the order of their ids, so that no two wait for each other. Nor can they be deleted
    meanwhile, and leave what became of them behind.
    """
    table = scoring_schema.scores
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


class _Lent(NamedTuple):
    """Whose score it was, by the id of their key, and what could be lent on it."""

    key_id: str
    limit: float


def _lent(connection: Connection, book: Book, request_ids: Sequence[str]) -> dict[str, _Lent]:
    """Give this of those scores that name somebody."""
    table = scoring_schema.scores
    columns = (table.c.request_id, table.c.applicant_key_id, table.c.recommended_limit)
    query = select(*columns).where(
        in_book(table, book),
        table.c.request_id.in_(request_ids),
        table.c.applicant_key_id.is_not(None),
    )
    return {request_id: _Lent(*rest) for request_id, *rest in connection.execute(query)}


def _remembered(
    lent: Mapping[str, _Lent], known: Mapping[str, Outcome], said: Mapping[str, Said]
) -> dict[str, Change]:
    """Give how borrowers, by the ids of their keys, are remembered once outcomes are known."""
    theirs: dict[str, dict[str, KeptOutcome]] = {}
    for request_id, outcome in known.items():
        if request_id in lent:
            key_id, limit = lent[request_id]
            amount, score = outcome.disbursed_amount, said[request_id]
            theirs.setdefault(key_id, {})[request_id] = KeptOutcome(
                lent_on=day_of(score.score_us),
                due_on=score.due_day,
                amount=limit if amount is None else amount,
                state=outcome.state,
                happened_on=outcome.happened_on,
                repaid=outcome.repaid_amount,
            )
    return {key_id: _taking_in(outcomes) for key_id, outcomes in theirs.items()}


def _taking_in(outcomes: Mapping[str, KeptOutcome]) -> Change:
    def change(borrower: Borrower) -> Borrower:
        for request_id in sorted(outcomes):
            borrower = after_outcome(borrower, request_id, outcomes[request_id])
        return borrower

    return change


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
    """Announce each loan of which something new is known, where an endpoint wants it.

    As with scores: there are as many as loans, and mostly nobody does.
    """
    if not event_bundles.is_wanted(connection, book, EventKind.OUTCOME_RECORDED):
        return
    news = [one.outcome for one in verdicts if one.is_announced and one.outcome is not None]
    if not news:
        return
    # Ids of one moment sort by chance: in order, so that the events of one loan are.
    chances = sorted(os.urandom(ids.RANDOM_BYTES) for _ in news)
    events = [
        _event(book, outcome, said[outcome.request_id], heard.at_us, chance)
        for outcome, chance in zip(news, chances, strict=True)
    ]
    rows = [row._asdict() for row in event_bundles.bundles(events)]
    connection.execute(tables.bundles.insert(), rows)


def _event(book: Book, outcome: Outcome, said: Said, at_us: int, chance: bytes) -> Event:
    """Make the event of how a loan stands now; no amounts: they are not for others to know."""
    data = {
        "request_id": outcome.request_id,
        "outcome": outcome.state.value,
        "date": days.date_of(outcome.happened_on).isoformat(),
        "is_default": outcome.is_default,
        "tier": said.tier,
        "model": said.model_id,
    }
    return event(book, EventKind.OUTCOME_RECORDED, outcome.request_id, data, at_us, chance)


def _recorded(book: Book, answers: Iterable[Answer], sha256: str | None, by: str | None) -> Act:
    """Say how many pieces of news of one batch were answered how, and nothing of which.

    The hash is that of the bytes as they were sent: in a dispute a lender who kept them can show
    that it was these.
    """
    counted = Counter(answers)
    details: dict[str, Detail] = {
        answer.value: counted[answer] for answer in Answer if counted[answer]
    }
    if sha256 is not None:
        details[SHA256] = sha256
    return act_in_book(ActKind.OUTCOMES_RECORDED, book, None, details, by)


# ------------------------------------------------------------------------------- recording


class Outcomes:
    """What becomes of the loans of every book."""

    def __init__(self, store: OutcomeStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    @classmethod
    def at(cls, installed: Installation) -> Outcomes:
        """What became of the loans of an installation."""
        store = OutcomeStore(installed.database, installed.log, installed.vault)
        return cls(store, installed.clock)

    def record(self, book: Book, news: Sequence[News], sent: Sent) -> list[Result]:
        """Keep what news say of loans, and answer each, in their order.

        At most `BATCH_MAX`. To send the same again does no harm: nothing is counted twice.
        """
        assert len(news) <= BATCH_MAX
        verdicts = self._store.record(book, news, sent, self._clock)
        return [
            Result(
                one.request_id,
                verdict.answer,
                None if verdict.outcome is None else verdict.outcome.is_default,
            )
            for one, verdict in zip(news, verdicts, strict=True)
        ]
