"""The stories of borrowers, over HTTP, told to two servers that share a database.

Each server has one process, so that a test knows which of the two it asks: half of what is told
goes to the one, half to the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count, cycle
from typing import Any, NamedTuple

import httpx
import pytest

from alama.platform.book import USUAL_SCOPES, Book, Mode, Scope
from tests.databases import Postgres, sqlite_url
from tests.e2e.service import COMPACT, Service

AT_ONCE = 64
RICH: dict[str, Any] = COMPACT | {
    "monthly_inflow": 90_000.0,
    "mobile_money_months": 60,
    "requested_amount": 20_000,
}
POOR: dict[str, Any] = COMPACT | {"monthly_inflow": 4_000.0, "existing_repayments": 1_150}
SCOPES = (*USUAL_SCOPES, Scope.LOANS_WRITE, Scope.APPLICANTS_WRITE)
_numbers = count()


class Said(NamedTuple):
    """What is told of an application."""

    request_id: str
    decision: str
    limit: float
    rules: tuple[str, ...]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(kind, marks=[pytest.mark.xdist_group(f"borrowers-{kind}"), *lane])
        for kind, lane in [("sqlite", [pytest.mark.long]), ("postgresql", [])]
    ],
)
def services(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Service, Service]]:
    """Two servers on a database."""
    home = tmp_path_factory.mktemp("borrowers")
    with ExitStack() as stack:
        url = sqlite_url(home)
        if request.param == "postgresql":
            postgres: Postgres = request.getfixturevalue("postgres")
            url = stack.enter_context(postgres.fresh())
        here, there = (Service(url, home, 1, None, ALAMA_RATE_LIMIT="100000") for _ in range(2))
        yield stack.enter_context(here.running()), stack.enter_context(there.running())


class Lender:
    """A lender of its own under the draft policy, whose borrowers ask each server in turn."""

    def __init__(self, services: tuple[Service, Service]) -> None:
        book = Book(f"lender-{next(_numbers)}", Mode.TEST)
        services[0].lender(book.lender)
        headers = services[0].credentials(services[0].key(book, SCOPES))
        urls = [one.server.url for one in services]
        self._clients = [
            httpx.Client(base_url=url, headers=headers, trust_env=False) for url in urls
        ]
        self._turns = cycle(self._clients)

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send to the server whose turn it is, under an idempotency key of its own."""
        headers = {"Idempotency-Key": f"once-{next(_numbers)}"}
        reply = next(self._turns).post(path, json=body, headers=headers)
        assert reply.status_code == 200, reply.text
        said: dict[str, Any] = reply.json()
        return said

    def ask(self, body: dict[str, Any], **more: object) -> Said:
        said = self.post("/v1/score?expand=offer", body | {"applicant_ref": "cust-1"} | more)
        rules = tuple(said["offer"]["rules"])
        return Said(said["request_id"], said["decision"], said["recommended_limit"], rules)

    def all_at_once(self, body: dict[str, Any]) -> list[Said]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(self.ask, [body] * AT_ONCE))

    def tell(self, **event: object) -> str:
        told = {"applicant_ref": "cust-1", "loan": "L-1"} | event
        result: str = self.post("/v1/loans", told)["results"][0]["result"]
        return result


@pytest.fixture
def lender(services: tuple[Service, Service]) -> Iterator[Lender]:
    lender = Lender(services)
    yield lender
    lender.close()


def test_five_loans_in_a_row_are_one(lender: Lender) -> None:
    first, *others = [lender.ask(RICH) for _ in range(5)]
    assert first[1:] == ("APPROVED", 20_000, ())
    assert {one.decision for one in others} == {"DECLINED"}
    assert all("ladder" in one.rules for one in others)


def test_whoever_asks_for_less_and_less_is_seen_by_a_person(lender: Lender) -> None:
    amounts = (15_000, 9_000, 6_000, 3_000)
    given = [lender.ask(POOR, requested_amount=amount) for amount in amounts]
    assert [one.decision for one in given] == ["DECLINED", "DECLINED", "DECLINED", "REVIEW"]
    assert given[-1].rules == ("asked_often",)
    stranger = lender.ask(POOR, requested_amount=amounts[-1], applicant_ref="cust-2")
    assert stranger.decision == "APPROVED"


def test_sixty_four_at_once_are_approved_once(lender: Lender) -> None:
    given = lender.all_at_once(RICH)
    assert len({one.request_id for one in given}) == AT_ONCE
    approved = Counter(one.limit for one in given if one.decision == "APPROVED")
    assert approved == {20_000: 1}
    assert sum("asked_often" in one.rules for one in given) == AT_ONCE - 3


def test_who_pays_back_borrows_more_and_is_forgotten_when_erased(lender: Lender) -> None:
    approved = lender.ask(RICH)
    day = "2026-01-05"
    told = [lender.tell(kind="disbursed", date=day, amount=20_000) for _ in range(2)]
    assert told == ["recorded", "unchanged"]
    assert "ladder" in lender.ask(RICH).rules
    assert lender.tell(kind="closed", date=day) == "recorded"
    assert (
        lender.tell(
            loan="L-2",
            kind="closed",
            date=day,
            closed_as="cancelled",
            request_id=approved.request_id,
        )
        == "recorded"
    )
    again = lender.ask(RICH, requested_amount=40_000)
    assert (again.decision, again.limit > 20_000) == ("APPROVED", True)
    assert lender.post("/v1/applicants/erase", {"applicant_ref": "cust-1"})["erased"]
    given = [lender.ask(RICH, requested_amount=40_000) for _ in range(2)]
    assert [one.decision for one in given] != ["APPROVED"] * 2
    assert all("asked_often" not in one.rules for one in given)
