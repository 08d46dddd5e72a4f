"""What is said of scores while these are deleted leaves nothing behind, and nobody in the way."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import insert, select, update

from alama.core.document import encode
from alama.core.monitoring.news import News, State
from alama.monitoring.challengers import Challengers, Progress, Shadow
from alama.monitoring.outcomes import Outcomes, OutcomeStore, Sent
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.days import day_of
from alama.protection import retention
from alama.scoring import schema
from alama.scoring.sequels import Answer
from alama.vault import schema as vault_schema
from tests.audited import verdict_on
from tests.challenged import MODEL, a_challenger
from tests.clocks import HandClock
from tests.entries import DEMO
from tests.protected import DAY_US, House
from tests.vaults import vault_of

SCORES = 60
GIVEN = ("sha256:decides", 600, "C", 0.1, "REVIEW")


@pytest.fixture
def house(database: Database) -> House:
    return House(database, HandClock())


def ids_in(house: House, name: str) -> set[str]:
    with house.database.reading() as connection:
        column = tables.METADATA.tables[name].c.request_id
        return set(connection.execute(select(column)).scalars())


def delete_all(house: House) -> int:
    """Delete what is older than a year."""
    return sum(house.retention.carry_out(house.retention.plan(DEMO, 365), "a test"))


def lie_backwards(house: House, request_ids: list[str]) -> None:
    """Have scores lie the other way round, as PostgreSQL puts what was changed."""
    table = schema.scores
    for one in reversed(request_ids):
        changed = update(table).where(table.c.request_id == one)
        with house.database.writing() as connection:
            connection.execute(changed.values(processing_ms=table.c.processing_ms))


def test_outcomes_that_come_while_their_scores_go_are_kept_with_them_or_not_at_all(
    house: House, elsewhere: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "DELETED_AT_ONCE", 7)
    scored = [house.score(f"A-{place % 9}") for place in range(SCORES)]
    lie_backwards(house, scored)
    happened_on = day_of(house.clock()) + 30
    house.clock.now_us += 3 * 365 * DAY_US
    young = [house.score("A-1") for _ in range(3)]
    other = House(elsewhere, house.clock)
    outcomes = Outcomes(OutcomeStore(elsewhere, other.log, vault_of(elsewhere)), house.clock)
    begin = threading.Barrier(2)

    def say() -> list[Answer]:
        begin.wait()
        found: list[Answer] = []
        for first in range(0, SCORES, 5):
            # Backwards within the batch: whoever locks as it is told to would wait for ever.
            some = [News(one, State.REPAID, happened_on) for one in scored[first : first + 5][::-1]]
            found += [result.answer for result in outcomes.record(DEMO, some, Sent())]
        return found

    with ThreadPoolExecutor(1) as pool:
        saying = pool.submit(say)
        begin.wait()
        assert delete_all(house) == SCORES
        answers = set(saying.result())
    assert answers <= {Answer.RECORDED, Answer.UNKNOWN_SCORE}
    assert ids_in(house, "outcomes") == set()
    assert ids_in(house, "scores") == {*young}
    assert verdict_on(house.database).findings == []


def test_what_a_challenger_says_to_a_score_that_is_gone_is_not_kept(house: House) -> None:
    old = house.score()
    challengers = Challengers(house.database, house.log)
    challenger = a_challenger()
    challengers.begin(challenger, encode(MODEL))
    house.clock.now_us += 3 * 365 * DAY_US
    young = house.score()
    # It has read both, and thinks.
    shadows = [Shadow(one, 512, "D", 0.25, "DECLINED", *GIVEN) for one in (old, young)]
    assert delete_all(house) == 1
    assert challengers.advance(challenger, Progress(young, shadows))
    assert ids_in(house, "shadow_scores") == {young}
    (there,) = challengers.of(DEMO)
    assert (there.reached, there.scored) == (young, 2)


def test_a_key_stays_while_a_note_is_under_it(house: House) -> None:
    old = house.score("A-1")
    key_id = house.scores.find(DEMO, old).row.applicant_key_id
    house.clock.now_us += 3 * 365 * DAY_US
    young = house.score()
    # Nobody who reviews writes such a row; it is not for retention to make it unreadable.
    table = tables.reviews
    nothing = {column.name: column.type.python_type() for column in table.columns}
    whose = {"lender": "demo", "mode": "test", "request_id": young, "applicant_key_id": key_id}
    with house.database.writing() as connection:
        connection.execute(insert(table), nothing | whose)
    assert delete_all(house) == 1
    with house.database.reading() as connection:
        left = connection.execute(select(vault_schema.applicant_keys.c.id)).scalars().all()
    assert left == [key_id]
