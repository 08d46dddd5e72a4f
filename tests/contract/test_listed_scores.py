"""Scores that are listed by what is wanted of them: what every store gives, and what it reads."""

from __future__ import annotations

import itertools
import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, text

from alama.core.lending.policy import Decision
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.database.database import Database
from alama.scoring import schema
from alama.scoring.records import ScoreRow, Wanted
from alama.vault import schema as vault_schema
from tests.clocks import HandClock
from tests.databases import sqlite_url
from tests.entries import DEMO, LIVE, NOON_US, UMOJA, a_request_id, an_entry
from tests.protected import House
from tests.stores import insert_scores, lenders_in, plan_of_page, scores_in

SECOND_US = 1_000_000
TIERS = ("A", "B", "C", "D", "E")


def made_up(count: int = 120) -> list[ScoreRow]:
    """Scores of three books, one a second, of every tier and decision."""
    kinds = itertools.cycle(itertools.product(TIERS, Decision))
    rows = []
    for number, (tier, decision) in zip(range(count), kinds, strict=False):
        at_us = NOON_US + number * SECOND_US
        for book in (DEMO, LIVE, UMOJA):
            row = an_entry(book, at_us=at_us, decision=decision).score
            rows.append(row._replace(tier=tier, sealed=b"sealed"))
    return rows


def test_a_score_is_listed_where_all_that_is_wanted_holds(database: Database) -> None:
    lenders_in(database, "demo", "umoja")
    rows, scores = made_up(), scores_in(database)
    insert_scores(database, *rows)
    moments = (None, NOON_US + 7 * SECOND_US, NOON_US + 90 * SECOND_US)
    asked = itertools.product(moments, moments, (None, *Decision), (None, "A", "E", "F"))
    for from_us, to_us, decision, tier in asked:
        wanted = Wanted(from_us, to_us, decision, tier)
        expected = [
            row.request_id
            for row in reversed(rows)
            if row.book == DEMO
            and (from_us is None or row.created_us >= from_us)
            and (to_us is None or row.created_us < to_us)
            and decision in (None, row.decision)
            and tier in (None, row.tier)
        ]
        gathered: list[str] = []
        while page := scores.page(DEMO, gathered[-1] if gathered else None, 7, wanted):
            gathered += [row.request_id for row in page]
        assert gathered == expected, wanted


def test_what_waits_is_listed_by_tier_and_time_too(database: Database) -> None:
    lenders_in(database, "demo", "umoja")
    rows = made_up(30)
    insert_scores(database, *rows)
    wanted = Wanted(from_us=NOON_US + 3 * SECOND_US, tier="B", waiting=True)
    expected = [
        row.request_id
        for row in reversed(rows)
        if row.book == DEMO and row.tier == "B" and row.decision == "REVIEW"
    ]
    found = scores_in(database).page(DEMO, None, 100, wanted)
    assert [row.request_id for row in found] == expected
    assert expected


def test_the_scores_of_an_applicant_are_those_of_one_book_until_they_are_erased(
    database: Database,
) -> None:
    house = House(database, HandClock())
    first, _, second = (house.score(who) for who in ("A-1", "A-2", "A-1"))
    house.score("A-1", LIVE)
    ring = house.vault.ring("demo")

    def listed(reference: str, **wanted: Any) -> list[str]:
        subject = ring.subject("test", reference)
        found = house.scores.page(DEMO, None, 100, Wanted(subject=subject, **wanted))
        return [row.request_id for row in found]

    assert listed("A-1") == [second, first]
    assert listed("A-1", decision=Decision.DECLINED) == []
    tier = house.scores.find(DEMO, first).row.tier
    assert listed("A-1", tier=tier) == [second, first]
    assert listed("A-3") == []
    house.applicants.erase(DEMO, "A-1")
    assert listed("A-1") == []
    assert len(listed("A-2")) == 1


# ------------------------------------------------------------------------------------- plans

SUBJECT = b"s" * 32
KEY_ID = "apk_1"


def many() -> list[dict[str, object]]:
    """A book whose scores are mostly approved, in tier B, and of others than one applicant."""
    chance = random.Random(1)  # noqa: S311  no secret
    row = an_entry().score
    return [
        row._replace(
            request_id=a_request_id(NOON_US + number),
            created_us=NOON_US + number,
            decision=chance.choices(list(Decision), (97, 2, 1))[0].value,
            tier=chance.choices(TIERS, (1, 95, 2, 1, 1))[0],
            applicant_key_id=KEY_ID if number % 500 == 0 else f"apk_{number}",
        )._asdict()
        for number in range(4_000)
    ]


@pytest.mark.parametrize("known", ["nothing", "analyzed"])
@pytest.mark.parametrize("page", ["first", "later"])
@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (Wanted(decision=Decision.DECLINED), "ix_scores_lender_mode_decision_request_id"),
        (Wanted(tier="D"), "ix_scores_lender_mode_tier_decision_request_id"),
        (
            Wanted(tier="B", decision=Decision.DECLINED),
            "ix_scores_lender_mode_tier_decision_request_id",
        ),
        (Wanted(tier="B", waiting=True), "ix_scores_lender_mode_tier_decision_request_id"),
        (Wanted(subject=SUBJECT), "ix_scores_applicant_key_id_request_id"),
        (
            Wanted(subject=SUBJECT, tier="B", waiting=True),
            "ix_scores_applicant_key_id_request_id",
        ),
        (
            Wanted(from_us=NOON_US, subject=SUBJECT, decision=Decision.APPROVED),
            "ix_scores_applicant_key_id_request_id",
        ),
        (
            Wanted(subject=SUBJECT, tier="B", decision=Decision.APPROVED),
            "ix_scores_applicant_key_id_request_id",
        ),
    ],
    ids=["decision", "tier", "both", "waiting", "applicant", "theirs", "since", "all"],
)
def test_what_is_wanted_is_found_without_reading_the_scores_between(
    database: Database, tmp_path: Path, wanted: Wanted, index: str, page: str, known: str
) -> None:
    if known == "nothing" and database.embedded:  # another test may have analyzed the shared one
        with closing(databases.connect(sqlite_url(tmp_path))) as new:
            migrate.upgrade(new)
            require_index(new, wanted, index, page)
    else:
        require_index(database, wanted, index, page, "ANALYZE")


def require_index(
    database: Database, wanted: Wanted, index: str, page: str, *statements: str
) -> None:
    rows = many()
    key = {"id": KEY_ID, "lender": "demo", "mode": "test", "subject": SUBJECT}
    with database.writing() as connection:
        connection.execute(insert(schema.scores), rows)
        connection.execute(
            insert(vault_schema.applicant_keys),
            key | {"wrapped": b"", "lender_key_id": "vk_1", "created_us": NOON_US},
        )
        for statement in statements:
            connection.execute(text(statement))
    before = None if page == "first" else str(rows[2_000]["request_id"])
    plan = plan_of_page(database, before, wanted)
    read = [line for line in plan.splitlines() if "SEARCH scores" in line or " on scores" in line]
    assert read
    assert all(index in line for line in read), plan
    for whole in ("SCAN scores", "Seq Scan on scores", "PRIMARY KEY (lender"):
        assert whole not in plan


def test_scores_of_a_time_are_found_by_their_ids(database: Database) -> None:
    rows = many()
    with database.writing() as connection:
        connection.execute(insert(schema.scores), rows)
        connection.execute(text("ANALYZE scores"))
    wanted = Wanted(from_us=NOON_US + 100, to_us=NOON_US + 200)
    plan = plan_of_page(database, None, wanted)
    bounds = ("request_id>? AND request_id<?", "pk_scores")
    assert any(one in plan for one in bounds), plan
    for whole in ("SCAN scores", "Seq Scan on scores", "Sort", "TEMP B-TREE"):
        assert whole not in plan
