"""Outcomes over the wire: sent twice, out of order, too early, too late, of others, and many."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from alama.monitoring import schema
from alama.platform import clock
from alama.platform.book import Book, Mode
from alama.scoring.store import Scores
from tests.databases import sqlite_url
from tests.e2e.service import Service
from tests.e2e.walks import Walk
from tests.entries import a_request_id, an_entry
from tests.server import Server

PAGE = (Path(__file__).parents[2] / "docs" / "outcomes.md").read_text("utf-8")
DAY_US = 86_400 * 1_000_000
REQUEST = (re.compile(r"req_[0-9a-f]{28}"), "REQUEST")

_numbers = count()


class Lender:
    """A lender whose loans were given a hundred days ago, and a key of theirs."""

    def __init__(self, service: Service, mode: Mode = Mode.TEST) -> None:
        self.service = service
        self.book = Book(f"outcomes-{next(_numbers)}", mode)
        service.lender(self.book.lender)
        service.installed.vault.ring(self.book.lender)
        self.key = service.key(self.book)

    def loans(self, how_many: int, book: Book | None = None) -> list[str]:
        at_us = clock.wall_us() - 100 * DAY_US
        entries = [an_entry(book or self.book, at_us=at_us) for _ in range(how_many)]
        Scores.at(self.service.installed).commit(entries)
        return [entry.score.request_id for entry in entries]

    def say(self, *news: dict[str, Any]) -> list[dict[str, Any]]:
        reply = self.service.send(
            "POST",
            "/v1/outcomes",
            content=json.dumps({"outcomes": news}).encode(),
            headers=self.service.credentials(self.key) | {"Content-Type": "application/json"},
        )
        assert reply.status_code == 200, reply.text
        results: list[dict[str, Any]] = reply.json()["results"]
        return results

    def answers(self, *news: dict[str, Any]) -> list[str]:
        return [one["result"] for one in self.say(*news)]

    def rows(self) -> list[Any]:
        table = schema.outcomes
        query = select(table).where(table.c.lender == self.book.lender)
        with self.service.installed.database.reading() as connection:
            return list(connection.execute(query))


@pytest.fixture
def lender(service: Service) -> Lender:
    return Lender(service)


def said(request_id: str, outcome: str = "repaid", days_ago: int = 10, **more: Any) -> Any:
    day = datetime.now(UTC).date() - timedelta(days=days_ago)
    return {"request_id": request_id, "outcome": outcome, "date": day.isoformat()} | more


def test_each_mistake_gets_its_own_answer_and_nothing_is_counted_twice(lender: Lender) -> None:
    other = Lender(lender.service)
    one, two, three = lender.loans(3)
    (theirs,) = other.loans(1)
    (live,) = lender.loans(1, Book(lender.book.lender, Mode.LIVE))
    results = lender.say(
        said(one),
        said(one),
        said(one, "defaulted", days_ago=20),
        said(one, "written_off", days_ago=10),
        said(two, days_ago=-2),
        said(two, days_ago=102),
        said(theirs),
        said(live),
        said(a_request_id()),
        said(three, "defaulted", days_ago=5),
        said(three, days_ago=4, corrects=True),
    )
    assert [result["result"] for result in results] == [
        "recorded",
        "unchanged",
        "older",
        "conflict",
        "in_the_future",
        "before_the_loan",
        "unknown_score",
        "unknown_score",
        "unknown_score",
        "recorded",
        "corrected",
    ]
    unknown = [{**result, "request_id": ""} for result in results[6:9]]
    assert unknown == [unknown[0]] * 3
    assert {result["result"] for result in results if "message" in result} == {
        "conflict",
        "in_the_future",
        "before_the_loan",
        "unknown_score",
    }
    kept = {row.request_id: (row.state, row.defaulted_on is not None) for row in lender.rows()}
    assert kept == {one: ("repaid", True), three: ("repaid", False)}
    assert other.rows() == []


def test_a_thousand_go_in_at_once_and_the_same_thousand_again_change_nothing(
    lender: Lender,
) -> None:
    ids = lender.loans(1_000)
    news = [said(one, "defaulted" if at % 10 == 0 else "repaid") for at, one in enumerate(ids)]
    assert lender.answers(*news) == ["recorded"] * 1_000
    before = lender.rows()
    assert lender.answers(*reversed(news)) == ["unchanged"] * 1_000
    assert lender.rows() == before
    assert sum(row.defaulted_on is not None for row in before) == 100


def test_whatever_order_many_senders_send_in_the_same_is_left(lender: Lender) -> None:
    ids = lender.loans(40)
    batches = [
        [said(one, "defaulted", 30) for one in ids],
        [said(one, "repaid", 20, repaid_amount=100) for one in reversed(ids)],
        [said(one, "repaid", 25) for one in ids],
    ]
    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(lender.say, *batch) for batch in batches]:
            done.result()
    found = {(row.state, row.repaid_amount, row.defaulted_on is None) for row in lender.rows()}
    assert found == {("repaid", 100.0, False)}
    assert len(lender.rows()) == 40


@pytest.mark.long
def test_the_walk_goes_as_the_page_says(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with Server(sqlite_url(home), home) as server:
        Walk(PAGE, (REQUEST,)).go(tmp_path, server.environment, server.url)
