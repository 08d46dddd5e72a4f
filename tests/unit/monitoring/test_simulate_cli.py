"""A test book filled with months of people who do not exist."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest
from sqlalchemy import func, select

from alama.app.cli import main
from alama.lenders import installation
from alama.lenders.installation import Installation
from alama.lenders.records import Pause
from alama.monitoring import outcomes_cli
from alama.monitoring import schema as monitoring_schema
from alama.monitoring.records import SIMULATED_KEY_ID
from alama.platform import clock, settings
from alama.platform.addresses import Reach
from alama.platform.book import Book, Mode
from alama.platform.database import tables
from alama.platform.events import EventKind
from alama.scoring import replay, schema
from alama.scoring.store import Scores
from alama.webhooks.endpoints import Endpoints, NewEndpoint

DAY_US = 86_400 * 1_000_000
DEMO = Book("demo", Mode.TEST)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")


def simulate(*more: str) -> int:
    parser = argparse.ArgumentParser()
    outcomes_cli._register_simulate(parser.add_subparsers())
    args = parser.parse_args(["simulate", "demo", *more])
    code: int = args.run(args)
    return code


def opened() -> Installation:
    return installation.open_installation(settings.read(os.environ))


def test_the_book_has_months_of_scores_and_what_became_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert simulate("--people", "200", "--months", "6") == 0
    said = capsys.readouterr()
    assert "demo, test mode: 200 scores of the past 6 months" in said.out
    assert "alama monitor demo --mode test" in said.err
    table, loans, now_us = schema.scores, monitoring_schema.outcomes, clock.wall_us()
    installed = opened()
    with installed.database.reading() as connection:
        count, first_us, last_us = connection.execute(
            select(func.count(), func.min(table.c.created_us), func.max(table.c.created_us))
        ).one()
        modes = connection.execute(select(table.c.mode, table.c.key_id).distinct()).all()
        reviewed = set(connection.execute(select(tables.reviews.c.given_decision)).scalars())
        known = connection.execute(
            select(loans.c.happened_on, loans.c.score_us, loans.c.decision)
        ).all()
    days = Scores.at(installed).tally(DEMO, first_us // DAY_US, last_us // DAY_US)
    installed.close()
    assert count == 200
    assert last_us < now_us
    assert 165 < (last_us - first_us) / DAY_US < 184
    assert modes == [("test", SIMULATED_KEY_ID)]
    assert reviewed == {"REVIEW"}
    assert sum(one.count for one in days.values()) == 200
    assert len(known) > 40
    assert {decision for *_, decision in known} <= {"APPROVED", "REVIEW"}
    assert all(score_us // DAY_US < day <= now_us // DAY_US for day, score_us, _ in known)


def test_its_scores_are_audited_sealed_and_replayed_like_any() -> None:
    assert simulate("--people", "40", "--months", "2", "--drift", "--worse", "2") == 0
    assert main(["audit", "verify"]) == 0
    installed = opened()
    for stored in Scores.at(installed).applications(DEMO, None, 5):
        assert stored.row.seal_key_id is not None
        record = replay.recall(installed.registry, installed.vault, stored)
        assert replay.replay(record) == ()
    installed.close()


def test_run_again_it_adds_as_many_again() -> None:
    simulate("--people", "20")
    simulate("--people", "20")
    installed = opened()
    assert len(Scores.at(installed).page(DEMO, None, 100)) == 40
    installed.close()


def test_nobody_is_told_of_its_scores() -> None:
    assert simulate("--people", "1", "--months", "6") == 0
    installed = opened()
    Endpoints.at(installed, Reach()).add(DEMO, NewEndpoint("https://example.com"))
    assert simulate("--people", "50", "--months", "6") == 0
    table = tables.bundles
    told = select(func.count()).where(table.c.kind == EventKind.SCORE_CREATED.value)
    with installed.database.reading() as connection:
        assert connection.execute(told).scalar_one() == 0
    installed.close()


def test_a_pause_of_today_is_none_of_the_past() -> None:
    installed = opened()
    installed.registry.pause(DEMO, Pause(clock.wall_us(), "a try"))
    installed.close()
    simulate("--people", "60")
    installed = opened()
    decisions = {one.decision for one in Scores.at(installed).page(DEMO, None, 60)}
    installed.close()
    assert "APPROVED" in decisions


@pytest.mark.parametrize(
    "wrong",
    [
        ("--people", "0"),
        ("--people", "many"),
        ("--people", "2_000_000"),
        ("--months", "99"),
        ("--worse", "0"),
        ("--worse", "much"),
        ("--worse", "nan"),
        ("--mode", "live"),
    ],
)
def test_what_makes_no_book_is_refused(wrong: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as refused:
        simulate(*wrong)
    assert refused.value.code == 2
