"""What a risk officer decides is what every process does, within the second that was promised."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from alama.core.lending import draft
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, OwnRule, Policy
from alama.core.lending.policy_check import seal
from alama.lenders.records import Signed
from alama.platform import clock
from alama.platform.book import Book, Mode
from alama.platform.files.packaged import builtin
from alama.policies import policies
from tests.databases import Postgres, sqlite_url
from tests.e2e.service import COMPACT, FULL, Service
from tests.policies import with_parts

PROMISED_S = 1.0
ASKED = 16
"""By so many connections that no worker is missed, but once in thousands of runs."""

DEFAULT = default_policy("KES")
_numbers = count()


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(kind, marks=[pytest.mark.xdist_group(f"policies-{kind}"), *lane])
        for kind, lane in [("sqlite", [pytest.mark.long]), ("postgresql", [])]
    ],
)
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """Two workers on a database."""
    home = tmp_path_factory.mktemp("policies")
    with ExitStack() as stack:
        url = sqlite_url(home)
        if request.param == "postgresql":
            postgres: Postgres = request.getfixturevalue("postgres")
            url = stack.enter_context(postgres.fresh())
        yield stack.enter_context(Service(url, home, 2, None).running())


class Officer:
    """A lender of its own, so that no test meets what another has left."""

    def __init__(self, service: Service) -> None:
        self.book = Book(f"lender-{next(_numbers)}", Mode.TEST)
        self._service = service
        service.lender(self.book.lender)
        self._key = service.key(self.book)

    def activate(self, policy: Policy) -> None:
        text, signed = draft.write(policy).encode(), Signed(clock.wall_us())
        policies.activate(self._service.installed.registry, self.book, text, signed, builtin)

    def command(self, *arguments: str) -> None:
        self._service.server.alama(*arguments, "--mode", self.book.mode)

    def ask(self, body: dict[str, Any] = COMPACT) -> dict[str, Any]:
        """Score by any worker, and see the policy and the offer behind it."""
        reply = self._service.anywhere(body, query="?expand=policy,offer", key=self._key)
        assert reply.status_code == 200, reply.text
        said: dict[str, Any] = reply.json()
        return said

    def ask_all(self) -> list[dict[str, Any]]:
        return [self.ask() for _ in range(ASKED)]

    def all_a_second_later(self) -> list[dict[str, Any]]:
        """What the workers say as soon as they have to know."""
        time.sleep(PROMISED_S)
        return self.ask_all()

    def refused(self, body: dict[str, Any]) -> dict[str, Any]:
        reply = self._service.anywhere(body, key=self._key)
        assert reply.status_code == 422
        problem: dict[str, Any] = reply.json()
        return problem


@pytest.fixture
def officer(service: Service) -> Officer:
    return Officer(service)


def policies_named(replies: list[dict[str, Any]]) -> set[str]:
    return {reply["policy"] for reply in replies}


def verdicts(replies: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    return {(reply["decision"], *reply["offer"]["rules"]) for reply in replies}


@pytest.mark.long
def test_every_worker_answers_by_a_new_policy_within_a_second_and_by_the_old_one_again(
    officer: Officer, tmp_path: Path
) -> None:
    *lending, declining = DEFAULT.tiers
    in_review = [replace(tier, decision=Decision.REVIEW) for tier in lending]
    cautious = seal(replace(DEFAULT, name="cautious", tiers=(*in_review, declining)))
    file = tmp_path / "cautious.toml"
    file.write_text(draft.write(cautious), "utf-8")
    lender = ("--lender", officer.book.lender)

    before = officer.ask_all()
    assert policies_named(before) == {DEFAULT.id}
    assert verdicts(before) == {("APPROVED",)}

    officer.command("policy", "activate", str(file), *lender)
    after = officer.all_a_second_later()
    assert policies_named(after) == {cautious.id}
    assert verdicts(after) == {("REVIEW", "tier_in_review")}

    officer.command("policy", "activate", "default", *lender)
    assert policies_named(officer.all_a_second_later()) == {DEFAULT.id}


def test_a_pause_leaves_every_decision_to_a_person_within_a_second_until_it_ends(
    officer: Officer, service: Service
) -> None:
    (free,) = verdicts(officer.ask_all())
    assert free == ("APPROVED",)
    limit = officer.ask()["recommended_limit"]
    officer.command("lenders", "pause", officer.book.lender, "--reason", "payments are down")
    held = officer.all_a_second_later()
    assert verdicts(held) == {("REVIEW", "paused")}
    assert {reply["recommended_limit"] for reply in held} == {limit}
    service.installed.registry.resume(officer.book)
    assert verdicts(officer.all_a_second_later()) == {("APPROVED",)}


def test_the_bound_of_a_day_holds_in_every_worker_whichever_has_reached_it(
    officer: Officer,
) -> None:
    officer.activate(with_parts(DEFAULT, daily={"volume_max": 1.0}))
    assert verdicts([officer.ask()]) == {("APPROVED",)}
    assert verdicts(officer.all_a_second_later()) == {("REVIEW", "daily_volume")}


def test_a_rule_of_ones_own_decides_and_is_named(officer: Officer) -> None:
    rule = OwnRule("no_smartphones", "device_type == 'smartphone'", Decision.DECLINED)
    officer.activate(seal(replace(DEFAULT, rules=(rule,))))
    said = officer.ask(FULL)
    assert (said["decision"], said["recommended_limit"]) == ("DECLINED", 0)
    assert "no_smartphones" in said["offer"]["rules"]
    assert "no_smartphones" not in officer.ask(FULL | {"device_type": "tablet"})["offer"]["rules"]
    assert officer.ask()["offer"]["rules"] == []


def test_a_field_that_the_policy_forbids_is_refused_by_its_name(officer: Officer) -> None:
    officer.activate(with_parts(DEFAULT, law={"forbidden_fields": ("region", "avg_balance")}))
    problem = officer.refused(FULL | {"avg_balance": None})
    (error,) = problem["errors"]
    assert (error["pointer"], error["code"]) == ("/region", "prohibited_field")
    assert "Nyeri" not in str(problem)
    officer.ask(FULL | {"avg_balance": None, "region": None})
