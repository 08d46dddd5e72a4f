"""Caps of the portfolio and lists, in two processes that share a database."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from typing import Any

import httpx
import pytest
from msgspec import UNSET
from msgspec.structs import replace

from alama.core.lending import draft
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import (
    Daily,
    Decision,
    Exploration,
    Per,
    Policy,
    PortfolioCap,
    Product,
)
from alama.core.lending.policy_check import seal
from alama.core.units import Money
from alama.lenders.records import Signed
from alama.platform import clock
from alama.platform.book import USUAL_SCOPES, Book, Mode, Scope
from alama.platform.files.packaged import builtin
from alama.policies import policies
from tests.databases import Postgres, sqlite_url
from tests.e2e.service import COMPACT, FULL, Service

PROMISED_S = 1.0
ASKED = 16
"""By so many connections that no worker is missed, but once in thousands of runs."""

# Without what speaks of earlier applications: here the same person asks again and again.
DEFAULT = seal(replace(default_policy("KES"), borrower=UNSET, exposure=UNSET, ladder=UNSET))
SCOPES = (*USUAL_SCOPES, Scope.LISTS_READ, Scope.LISTS_WRITE)
REF = "customer-7f3a"
# Below the cut-off, and nothing else is against it.
POOR: dict[str, Any] = COMPACT | {"mobile_money_months": 9, "stability_score": 0.35}
_numbers = count()


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(kind, marks=[pytest.mark.xdist_group(f"portfolio-{kind}"), *lane])
        for kind, lane in [("sqlite", [pytest.mark.long]), ("postgresql", [])]
    ],
)
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """Two workers on a database."""
    home = tmp_path_factory.mktemp("portfolio")
    with ExitStack() as stack:
        url = sqlite_url(home)
        if request.param == "postgresql":
            postgres: Postgres = request.getfixturevalue("postgres")
            url = stack.enter_context(postgres.fresh())
        service = Service(url, home, 2, None, ALAMA_RATE_LIMIT="100000")
        yield stack.enter_context(service.running())


class Lender:
    """A lender of its own, so that no test meets what another has left."""

    def __init__(self, service: Service) -> None:
        self.book = Book(f"lender-{next(_numbers)}", Mode.TEST)
        self.service = service
        service.lender(self.book.lender)
        self.key = service.key(self.book, SCOPES)
        self.activate(DEFAULT)

    def activate(self, policy: Policy) -> None:
        text, signed = draft.write(policy).encode(), Signed(clock.wall_us())
        policies.activate(self.service.installed.registry, self.book, text, signed, builtin)

    def ask(self, body: dict[str, Any] = COMPACT) -> tuple[str, ...]:
        """Score by any worker: the decision, and what decided against it."""
        reply = self.service.anywhere(body, query="?expand=offer", key=self.key)
        assert reply.status_code == 200, reply.text
        said = reply.json()
        return (said["decision"], *said["offer"]["rules"])

    def all_a_second_later(self, body: dict[str, Any] = COMPACT) -> set[tuple[str, ...]]:
        """What the workers say as soon as they have to know."""
        time.sleep(PROMISED_S)
        return {self.ask(body) for _ in range(ASKED)}

    def lists(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = self.service.credentials(self.key)
        reply = self.service.send("POST", f"/v1/lists/{path}", json=body, headers=headers)
        assert reply.status_code == 200, reply.text
        said: dict[str, Any] = reply.json()
        return said


@pytest.fixture
def lender(service: Service) -> Lender:
    return Lender(service)


def test_a_cap_holds_in_every_worker_whichever_has_filled_it(lender: Lender) -> None:
    cap = PortfolioCap("nyeri", Per.MONTH, 1, regions=("Nyeri",), decision=Decision.DECLINED)
    lender.activate(seal(replace(DEFAULT, portfolio=(cap,))))
    assert lender.ask(FULL) == ("APPROVED",)
    assert lender.all_a_second_later(FULL) == {("DECLINED", "nyeri")}
    assert lender.all_a_second_later(FULL | {"region": "nairobi"}) == {("APPROVED",)}


def test_a_cap_on_a_product_holds_in_every_worker_and_leaves_the_others_be(lender: Lender) -> None:
    cap = PortfolioCap("weekly_loans", Per.DAY, 1, products=("weekly",))
    products = (Product("weekly"), Product("usual", default=True))
    lender.activate(seal(replace(DEFAULT, portfolio=(cap,), products=products)))
    time.sleep(PROMISED_S)
    weekly = FULL | {"product": "weekly"}
    assert lender.ask(weekly) == ("APPROVED",)
    assert lender.all_a_second_later(weekly) == {("REVIEW", "weekly_loans")}
    assert lender.all_a_second_later(FULL) == {("APPROVED",)}


def test_who_is_listed_is_decided_so_by_every_worker_within_a_second(lender: Lender) -> None:
    named = COMPACT | {"applicant_ref": REF}
    entry = {"applicant_ref": REF, "list": "block", "reason": "fraud", "name": "W. Mutua"}
    assert lender.ask(named) == ("APPROVED",)
    assert lender.lists("entries", {"entries": [entry]})["counts"] == {"added": 1}
    assert lender.all_a_second_later(named) == {("DECLINED", "blocked")}
    assert lender.ask(COMPACT | {"applicant_ref": "somebody-else"}) == ("APPROVED",)
    found = lender.lists("find", {"applicant_ref": REF})["entry"]
    assert (found["list"], found["reason"]) == ("block", "fraud")
    watched = entry | {"list": "watch", "until": "2099-12-31"}
    assert lender.lists("entries", {"entries": [watched]})["counts"] == {"changed": 1}
    assert lender.all_a_second_later(named) == {("REVIEW", "watched")}
    assert lender.lists("remove", {"applicant_ref": REF, "name": "W. Mutua"}) == {"removed": True}
    assert lender.all_a_second_later(named) == {("APPROVED",)}
    assert lender.lists("find", {"applicant_ref": REF}) == {"entry": None}


def test_a_lot_approves_as_many_as_a_day_may_have_and_the_same_applicant_always(
    lender: Lender,
) -> None:
    (usual,) = {lender.ask(POOR | {"applicant_ref": f"ref-{n}"}) for n in range(3)}
    assert usual in {("REVIEW", "tier_in_review"), ("DECLINED", "tier_below_cutoff")}
    lot = Exploration(0.5, 300, 2_000, 1_000)
    lender.activate(seal(replace(DEFAULT, exploration=lot)))
    time.sleep(PROMISED_S)
    named = [POOR | {"applicant_ref": f"ref-{n}"} for n in range(24)]
    first, again = ([lender.ask(body) for body in named] for _ in range(2))
    assert first == again
    assert set(first) == {usual, ("APPROVED", usual[1], "explored")}
    lender.activate(seal(replace(DEFAULT, exploration=replace(lot, daily_max=1))))
    assert lender.all_a_second_later(named[0]) == {usual}


ROOM = 150
AT_ONCE = 64
EACH = 6


def raced(lender: Lender, body: dict[str, Any]) -> list[dict[str, Any]]:
    """Ask by many connections at once, of any worker: what was said each time."""
    url, headers = lender.service.server.url, lender.service.credentials(lender.key)

    def ask(_: int) -> list[dict[str, Any]]:
        with httpx.Client(base_url=url, trust_env=False, headers=headers, timeout=60.0) as client:
            replies = [client.post("/v1/score?expand=offer", json=body) for _ in range(EACH)]
        assert {reply.status_code for reply in replies} == {200}
        return [reply.json() for reply in replies]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [one for said in pool.map(ask, range(AT_ONCE)) for one in said]


def approved(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in said if one["decision"] == "APPROVED"]


def test_caps_are_not_exceeded_by_a_single_loan_whoever_asks_at_once(lender: Lender) -> None:
    number = PortfolioCap("new_loans", Per.DAY, ROOM)
    lender.activate(seal(replace(DEFAULT, portfolio=(number,))))
    time.sleep(PROMISED_S)
    said = raced(lender, COMPACT)
    assert len(approved(said)) == ROOM
    others = [one for one in said if one["decision"] != "APPROVED"]
    assert {(one["decision"], *one["offer"]["rules"]) for one in others} == {
        ("REVIEW", "new_loans")
    }
    volume = int(approved(said)[0]["recommended_limit"] * (ROOM + 50.5))
    money = PortfolioCap("money", Per.MONTH, volume_max=Money(volume), decision=Decision.DECLINED)
    lender.activate(seal(replace(DEFAULT, portfolio=(money,))))
    time.sleep(PROMISED_S)
    assert len(approved(raced(lender, COMPACT))) == 50


def test_bounds_of_a_day_are_exceeded_by_the_loan_that_reaches_them_alone(lender: Lender) -> None:
    one = approved([lender.service.anywhere(COMPACT, key=lender.key).json()])[0]
    volume = Money(one["recommended_limit"] * (ROOM - 0.5))
    lender.activate(seal(replace(DEFAULT, daily=Daily(volume_max=volume))))
    time.sleep(PROMISED_S)
    assert len(approved(raced(lender, COMPACT))) == ROOM - 1


def test_no_lot_more_falls_in_a_day_than_may(lender: Lender) -> None:
    lot = Exploration(0.5, 300, 2_000, 20)
    lender.activate(seal(replace(DEFAULT, exploration=lot)))
    time.sleep(PROMISED_S)
    assert len(approved(raced(lender, POOR))) == 20
