"""Two policies on the same applications: as `assess` decides each, added up without loss."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.application import Application
from alama.core.assess import Assessment, assess
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Law, Policy, StandardLoan
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.lending.simulation import (
    GROUPS_MAX,
    NOT_GIVEN,
    OTHER,
    Case,
    Figures,
    Simulation,
    simulate,
)
from alama.core.units import Money
from tests.applications import random_application
from tests.policies import random_policy, random_products
from tests.simulations import a_simulation, a_wider_policy, some_cases, the_model
from tests.tries import tries

MODEL = the_model()
POSITION = MODEL.catalogue.position


def simulated(old: Policy, new: Policy, cases: list[Case]) -> Simulation:
    return simulate(MODEL, ReadyPolicy(old, MODEL), ReadyPolicy(new, MODEL), cases)


def with_values(application: Application, **given: object) -> Application:
    values = list(application.values)
    for name, value in given.items():
        values[POSITION[name]] = value  # type: ignore[call-overload]
    return Application(tuple(values))


def expect(figures: Figures, said: list[Assessment]) -> None:
    """The figures are those that assessing one by one would add up to."""
    approved = [one.offer for one in said if one.decision is Decision.APPROVED]
    volume = sum(offer.limit for offer in approved)
    assert figures.count == len(said)
    assert figures.approved == len(approved)
    assert figures.volume == volume
    assert figures.expected_loss == pytest.approx(sum(offer.expected_loss for offer in approved))
    if approved:
        weighed = sum(offer.limit * offer.apr for offer in approved)
        assert figures.apr_mean == pytest.approx(weighed / volume)
        assert figures.term_mean == pytest.approx(np.mean([offer.term_days for offer in approved]))
        assert figures.limit_mean == pytest.approx(volume / len(approved))
        assert figures.loss_share == pytest.approx(figures.expected_loss / volume)


def terms(said: Assessment) -> tuple[int, int, float]:
    return said.offer.limit, said.offer.term_days, said.offer.apr


def of_products(
    rng: np.random.Generator, policies: list[Policy], cases: list[Case]
) -> tuple[list[Policy], list[Case]]:
    """Give one or both of the policies products, and let cases ask for those, or for others."""
    old, new = policies
    old = random_products(rng, old) if rng.random() < 0.5 else old
    names = [None, "product_0", "product_1", "product_2", "gone"]
    asked = (
        msgspec.structs.replace(case.application, product=names[int(rng.integers(len(names)))])
        for case in cases
    )
    chosen = [case._replace(application=one) for case, one in zip(cases, asked, strict=True)]
    return [old, random_products(rng, new)], chosen


@given(st.integers(0, 2**32 - 1))
@tries(60)
def test_every_decision_limit_term_and_price_is_the_one_of_assess(seed: int) -> None:
    rng = np.random.default_rng(seed)
    policies = [random_policy(rng), random_policy(rng)]
    cases = [Case(str(n), random_application(rng, MODEL)) for n in range(12)]
    if seed % 3 == 1:
        policies, cases = of_products(np.random.default_rng([seed, 1]), policies, cases)
    old, new = (ReadyPolicy(policy, MODEL) for policy in policies)
    found = simulate(MODEL, old, new, cases)
    was = [assess(MODEL, old, case.application) for case in cases]
    would = [assess(MODEL, new, case.application) for case in cases]
    for portfolio, said in ((found.old, was), (found.new, would)):
        expect(portfolio.total, said)
        for tier, figures in portfolio.tiers.items():
            expect(figures, [one for one in said if one.tier == tier])
        assert portfolio.scores.total() == len(cases)
        assert sorted(portfolio.scores.elements()) == sorted(one.score for one in said)
        assert sorted(portfolio.rules.elements()) == sorted(r for one in said for r in one.rules)
        assert sorted(portfolio.aprs.elements()) == sorted(
            one.offer.apr for one in said if one.decision is Decision.APPROVED
        )
        products = Counter(one.product for one in said if one.product is not None)
        assert {name: one.count for name, one in portfolio.earned_by_product.items()} == products
    moved = [
        pair for pair in zip(cases, was, would, strict=True) if pair[1].decision != pair[2].decision
    ]
    offers = [
        case.reference
        for case, before, after in zip(cases, was, would, strict=True)
        if before.decision == after.decision != Decision.DECLINED and terms(before) != terms(after)
    ]
    assert [switch.reference for switch in found.reoffered] == offers
    assert len(found.switches) == len(moved)
    for switch, (case, before, after) in zip(found.switches, moved, strict=True):
        assert switch.reference == case.reference
        for stance, one in ((switch.old, before), (switch.new, after)):
            assert stance[:4] == (one.score, one.tier, one.decision, one.rules)
            assert stance.limit == one.offer.limit
            assert stance.term_days == one.offer.term_days
            assert stance.apr == one.offer.apr
            assert stance.expected_loss == one.offer.expected_loss


def test_the_moves_are_counted_from_every_decision_to_every_other() -> None:
    found = a_simulation()
    assert sum(found.moves.values()) == found.count == 400
    assert sum(n for (was, would), n in found.moves.items() if was is not would) == len(
        found.switches
    )
    for decision in Decision:
        assert found.old.total.decisions[decision] == sum(
            found.moves[decision, would] for would in Decision
        )
    assert len({(switch.old.decision, switch.new.decision) for switch in found.switches}) > 2


def test_equal_policies_change_nothing() -> None:
    policy = default_policy("KES")
    found = a_simulation(policy, policy)
    assert found.switches == found.reoffered == []
    assert found.old.total.volume == found.new.total.volume > 0


def test_the_standard_loan_of_each_policy_is_used_where_nothing_is_asked() -> None:
    policy = default_policy("KES")
    large = StandardLoan(Money(45_000.0), 180)
    other = seal(msgspec.structs.replace(policy, id="", standard_loan=large))
    case = some_cases(1)[0]
    silent = with_values(case.application, requested_amount=None, requested_term_days=None)
    found = simulated(policy, other, [Case("A", silent)])
    for portfolio in (found.old, found.new):
        said = assess(MODEL, ReadyPolicy(portfolio.policy, MODEL), silent)
        assert list(portfolio.scores) == [said.score]
    assert found.old.scores != found.new.scores


def test_a_field_that_a_policy_forbids_is_taken_as_not_sent() -> None:
    open_policy = default_policy("KES")
    names = ("region", "device_type", "counterparties")
    strict = seal(msgspec.structs.replace(open_policy, id="", law=Law(forbidden_fields=names)))
    cases = some_cases(60)
    found = simulated(open_policy, strict, cases)
    ready = ReadyPolicy(strict, MODEL)
    said = [
        assess(MODEL, ready, with_values(case.application, **dict.fromkeys(names)))
        for case in cases
    ]
    expect(found.new.total, said)
    assert found.old.scores != found.new.scores
    assert len(found.regions) > 1, "groups are told apart all the same"


def test_words_are_folded_and_the_rare_ones_put_together() -> None:
    application = some_cases(1)[0].application
    named = [f"Place {number}" for number in range(GROUPS_MAX + 3)]
    words = [*named, *named[:-3], " PLACE 1 ", "place 1", None, None]
    cases = [Case(str(n), with_values(application, region=word)) for n, word in enumerate(words)]
    found = simulated(default_policy("KES"), a_wider_policy(), cases)
    names = [group.name for group in found.regions]
    counts = {group.name: group.new.count for group in found.regions}
    assert names[0] == "place 1"
    assert names[-2:] == [OTHER, NOT_GIVEN]
    assert len(names) == GROUPS_MAX + 2
    assert counts["place 1"] == 4
    assert counts[OTHER] == 3
    assert counts[NOT_GIVEN] == 2
    assert sum(counts.values()) == len(words)


def test_the_groups_add_up_to_the_whole() -> None:
    found = a_simulation()
    for groups in (found.regions, found.devices):
        gathered = Figures()
        for group in groups:
            gathered.merge(group.new)
        assert gathered.decisions == found.new.total.decisions
        assert gathered.volume == found.new.total.volume
        assert gathered.apr_mean == pytest.approx(found.new.total.apr_mean)
        assert gathered.term_mean == found.new.total.term_mean


def test_where_nothing_is_lent_there_is_no_average() -> None:
    nothing = Figures()
    assert nothing.share(Decision.APPROVED) is None
    assert nothing.loss_share is None
    assert nothing.apr_mean is None
    assert nothing.limit_mean is None
    assert nothing.term_mean is None
