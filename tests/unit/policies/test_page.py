from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import msgspec
import pytest

from alama.core.application import Application
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, OwnRule, Tier
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.lending.simulation import Case, Figures, Simulation, simulate
from alama.core.units import Apr
from alama.policies import page as policies_page
from alama.policies.page import headline, policy_page
from tests.simulations import a_simulation, a_wider_policy, some_cases, the_model

HOSTILE = '<script>alert("&")</script>'
SPACE = "\N{NARROW NO-BREAK SPACE}"


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    return a_simulation()


@pytest.fixture(scope="module")
def page(simulation: Simulation) -> str:
    return policy_page(simulation, "those in loans.parquet", "2026-11-15")


def parse(page: str) -> None:
    """Fail where the page is no well-formed XML."""
    ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314  our own page


def test_the_page_is_well_formed_and_asks_for_nothing(page: str) -> None:
    parse(page)
    assert "<script" not in page
    assert not re.search(r"(?:src|href)=\"(?!#)", page)


def test_every_entry_of_the_contents_has_its_section(page: str) -> None:
    linked = re.findall(r'href="#(\w+)"', page)
    assert linked == re.findall(r'<section id="(\w+)"', page)
    assert {"glance", "moves", "tiers", "scores", "groups", "prices", "rules"} <= set(linked)


def test_the_headline_gives_both_approval_rates(simulation: Simulation, page: str) -> None:
    old, new = (
        f"{100 * portfolio.total.approved / 400:.1f}{SPACE}%"
        for portfolio in (simulation.old, simulation.new)
    )
    assert headline(simulation) == f"The new policy would approve {new} instead of {old}"
    assert f"<h1>{headline(simulation)}</h1>" in page
    assert "On 400 applications, those in loans.parquet, the limits approved" in page


def test_equal_policies_are_said_to_decide_alike() -> None:
    policy = default_policy("KES")
    found = a_simulation(policy, policy, count=50)
    assert "would decide alike" in headline(found)
    shown = policy_page(found, "those in loans.parquet", "2026-11-15")
    assert "Nothing: the two policies say the same." in shown
    assert "No application changes its decision" in shown
    assert "Who keeps the decision keeps the limit, the term and the price." in shown


def test_other_prices_alone_are_said_in_the_headline_and_listed() -> None:
    policy = default_policy("KES")
    pricing = msgspec.structs.replace(policy.pricing, margin=12.0)
    dearer = seal(msgspec.structs.replace(policy, id="", pricing=pricing))
    found = a_simulation(policy, dearer, count=100)
    assert not found.switches
    assert re.search(r"would decide alike, .* with other offers: .*\d+ dearer", headline(found))
    shown = policy_page(found, "those in loans.parquet", "2026-11-15")
    for switch in found.reoffered:
        assert f">{switch.reference}</th>" in shown


def test_a_price_that_rises_with_shorter_terms_is_explained(simulation: Simulation) -> None:
    stance = simulation.switches[0].new
    portfolios = []
    for term_days, apr in ((90, 50.0), (60, 60.0)):
        total = Figures()
        approved = stance._replace(decision=Decision.APPROVED, limit=1_000)
        total.add(approved._replace(term_days=term_days, apr=Apr(apr)))
        portfolios.append(replace(simulation.old, total=total))
    said = "The average price {} with {} terms"
    for (old, new), words in (
        (portfolios, ("rises", "shorter")),
        (portfolios[::-1], ("falls", "longer")),
    ):
        shown = policy_page(replace(simulation, old=old, new=new), "some", "2026-11-15")
        assert said.format(*words) in shown


def test_the_page_says_of_which_day_it_is(page: str) -> None:
    assert "Policy simulation, 2026-11-15</p>" in page
    assert "<footer>Alama simulation of 2026-11-15.</footer>" in page


def test_paper_has_the_own_rules_and_does_not_promise_what_is_folded(
    simulation: Simulation, page: str
) -> None:
    open_part = re.sub(r"<details>.*?</details>", "", page, flags=re.DOTALL)
    assert "Younger than four months." in open_part
    count = len(simulation.switches)
    assert f'<span class="paper"> The first 25 of {count} are listed; ' in page


def test_an_equal_rate_of_other_people_is_not_called_alike(simulation: Simulation) -> None:
    found = replace(simulation, new=simulation.old)
    count = len(simulation.switches)
    assert headline(found).endswith(f"as before, and decide {count} applications otherwise")


def test_each_application_that_changes_decision_is_listed(
    simulation: Simulation, page: str
) -> None:
    for switch in simulation.switches:
        assert f">{switch.reference}</th>" in page
    assert 'class="screen"' not in page, "nothing is left out"


def test_a_list_that_is_cut_says_so(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policies_page, "SWITCHES_MAX", 30)
    shown = policy_page(simulation, "those in loans.parquet", "2026-11-15")
    count = len(simulation.switches)
    assert f"The first 30 of {count} are listed; <code>--switched FILE.csv</code> writes" in shown
    assert f">{simulation.switches[30].reference}</th>" not in shown


def test_nothing_that_a_lender_or_an_applicant_wrote_becomes_markup() -> None:
    rules = (OwnRule("young", f"region != '{HOSTILE}'", Decision.REVIEW, HOSTILE),)
    new = a_wider_policy(name=HOSTILE, version=HOSTILE, rules=rules)
    model = the_model()
    place = model.catalogue.position["region"]
    cases = []
    for case in some_cases(40):
        values = list(case.application.values)
        values[place] = HOSTILE
        cases.append(Case(HOSTILE, Application(tuple(values))))
    old = ReadyPolicy(default_policy("KES"), model)
    found = simulate(model, old, ReadyPolicy(new, model), [*cases, *some_cases(5)])
    shown = policy_page(found, HOSTILE, HOSTILE)
    assert "<script" not in shown
    parse(shown)


def test_a_policy_that_approves_nobody_can_be_shown() -> None:
    policy = default_policy("KES")
    closed = tuple(msgspec.structs.replace(t, decision=Decision.DECLINED) for t in policy.tiers)
    shut = seal(msgspec.structs.replace(policy, id="", name="shut", tiers=closed))
    for old, new in ((policy, shut), (shut, policy), (shut, shut)):
        shown = policy_page(
            a_simulation(old, new, count=40), "those in loans.parquet", "2026-11-15"
        )
        parse(shown)


def test_tiers_of_other_names_stand_beside_each_other() -> None:
    policy = default_policy("KES")
    one = Tier("only", 300, Decision.REVIEW, 0.3, 10_000)
    flat = seal(msgspec.structs.replace(policy, id="", tiers=(one,)))
    shown = policy_page(
        a_simulation(policy, flat, count=60), "those in loans.parquet", "2026-11-15"
    )
    assert "tier only" in shown
    assert "nobody" in shown


def test_one_application_is_enough() -> None:
    shown = policy_page(a_simulation(count=1), "that of A-0", "2026-11-15")
    assert "On 1 application," in shown
    parse(shown)
