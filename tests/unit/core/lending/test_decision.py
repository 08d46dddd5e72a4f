"""What speaks against an application: own rules, too much spent, data that carry no decision."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from alama.core import likeness as likenesses
from alama.core.application import read
from alama.core.assess import Assessment, assess
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import SEVERITY, Decision, OwnRule, Policy, Rule, Sufficiency
from alama.core.lending.policy_check import seal, unsteady
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.likeness import Branch, Distribution, Likeness, Limit
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from alama.core.tables import Card
from alama.platform.files.packaged import builtin
from tests.policies import with_parts

MODEL = builtin()
READY = ReadyModel(MODEL)
POLICY = default_policy("KES")
REVIEW, DECLINED = Decision.REVIEW, Decision.DECLINED

GOOD: dict[str, Any] = {
    "mm_months": 30,
    "avg_inflow": 20_000,
    "balance_stability": 0.7,
    "airtime_regularity": 0.7,
}
FULL = {**GOOD, "avg_outflow": 17_000, "avg_balance": 2_500, "counterparties": 18}


def said_of(sent: dict[str, Any], policy: Policy = POLICY) -> Assessment:
    return assess(READY, ReadyPolicy(policy, READY), read(PRODUCT, sent))


def ruled(when: str, decision: Decision) -> Policy:
    rules = (OwnRule("idle", "mm_months < 0", DECLINED), OwnRule("own", when, decision))
    return seal(msgspec.structs.replace(POLICY, rules=rules))


def asking(amount: float, days: int = 60) -> dict[str, Any]:
    return {**FULL, "requested_amount": amount, "requested_term_days": days}


# ------------------------------------------------------------------------ own rules


def test_a_knock_out_declines_and_is_named() -> None:
    said = said_of(GOOD, ruled("mm_months < 36", DECLINED))
    assert (said.decision, said.rules, said.offer.limit) == (DECLINED, ("own",), 0)


def test_a_refer_rule_is_named_and_leaves_the_offer_to_confirm() -> None:
    said = said_of(GOOD, ruled("mm_months < 36", REVIEW))
    assert (said.decision, said.rules) == (REVIEW, ("own",))
    assert said.offer == said_of(GOOD).offer


def test_a_rule_that_does_not_fire_changes_nothing() -> None:
    assert said_of(GOOD, ruled("mm_months < 30", DECLINED)) == said_of(GOOD)


def test_a_rule_on_a_field_that_was_not_sent_does_not_fire() -> None:
    assert said_of(GOOD, ruled("counterparties < 5", DECLINED)).rules == ()
    assert said_of(GOOD, ruled("counterparties is missing", DECLINED)).rules == ("own",)


def test_everything_that_objects_is_named_and_the_worst_decides() -> None:
    rules = (
        OwnRule("knock_out", "mm_months < 36", DECLINED),
        OwnRule("refer", "mm_months < 37", REVIEW),
    )
    policy = with_parts(
        seal(msgspec.structs.replace(POLICY, rules=rules)), affordability={"outflow_ratio_max": 0.5}
    )
    middling = {**FULL, "mm_months": 8, "balance_stability": 0.35, "airtime_regularity": 0.3}
    said = said_of(middling, policy)
    assert (said.tier, said.decision) == ("D", DECLINED)
    assert said.rules == ("knock_out", "refer", "tier_in_review", "outflow_above_inflow")


def test_a_refer_rule_on_the_amount_bounds_the_limit_of_those_who_asked_for_less() -> None:
    policy = ruled("requested_amount > 6_000", REVIEW)
    assert said_of(asking(3_000)).offer.limit > 6_000
    said = said_of(asking(3_000), policy)
    assert (said.decision, said.rules, said.offer.limit) == (Decision.APPROVED, (), 6_000)


def test_a_refer_rule_on_the_amount_does_not_bound_what_a_person_looks_at_anyway() -> None:
    said = said_of(asking(8_000), ruled("requested_amount > 6_000", REVIEW))
    assert (said.decision, said.rules) == (REVIEW, ("own",))
    assert said.offer == said_of(asking(8_000)).offer
    assert said.offer.limit > 6_000


def test_a_rule_that_declines_amounts_bounds_the_limit_of_everybody() -> None:
    policy = ruled("requested_amount > 6_000", DECLINED)
    assert said_of(asking(3_000), policy).offer.limit == 6_000
    beyond = said_of(asking(8_000), policy)
    assert (beyond.decision, beyond.rules, beyond.offer.limit) == (DECLINED, ("own",), 0)


def test_a_rule_that_declines_terms_bounds_the_term() -> None:
    policy = ruled("requested_term_days > 60", DECLINED)
    assert said_of(asking(12_000, 30)).offer.term_days > 60
    said = said_of(asking(12_000, 30), policy)
    assert said.decision is Decision.APPROVED
    assert said.offer.term_days <= 60


def test_a_rule_that_leaves_no_loan_at_all_is_named() -> None:
    # Nobody can be offered less than a step, and every step is too much for the rule.
    said = said_of(asking(300), ruled("requested_amount > 400", DECLINED))
    assert (said.decision, said.offer.limit) == (DECLINED, 0)
    assert said.rules == ("own",)
    referred = said_of(asking(300), ruled("requested_amount > 400", REVIEW))
    assert (referred.decision, referred.rules) == (REVIEW, ("own",))
    assert referred.offer == said_of(asking(300)).offer


def test_rules_see_the_standard_loan_where_nothing_is_asked_for() -> None:
    amount, days = POLICY.standard_loan.amount, POLICY.standard_loan.term_days
    when = f"requested_amount == {amount} and requested_term_days == {days}"
    assert said_of(GOOD, ruled(when, REVIEW)).rules == ("own",)


# ------------------------------------------------------------------------ spending


@pytest.mark.parametrize(("outflow", "doubted"), [(30_000, False), (30_000.01, True)])
def test_spending_beyond_its_share_of_the_inflow_is_left_to_a_person(
    outflow: float, *, doubted: bool
) -> None:
    said = said_of({**FULL, "avg_outflow": outflow})
    assert (Rule.OUTFLOW_ABOVE_INFLOW in said.rules) == doubted
    assert said.offer.limit > 0
    open_policy = with_parts(POLICY, affordability={"outflow_ratio_max": None})
    assert (
        Rule.OUTFLOW_ABOVE_INFLOW
        not in said_of({**FULL, "avg_outflow": outflow}, open_policy).rules
    )


def test_spending_that_was_not_said_is_not_doubted() -> None:
    policy = with_parts(POLICY, affordability={"outflow_ratio_max": 0.001})
    assert said_of(GOOD, policy).rules == ()


# ------------------------------------------------------------------------ sufficiency


@pytest.mark.parametrize(
    ("sent", "fields_min", "doubted"),
    [
        (GOOD, 4, False),
        (GOOD, 5, True),
        (FULL, 7, False),
        (FULL, 8, True),
        (asking(3_000), 8, True),
    ],
)
def test_too_few_fields_are_left_to_a_person_whatever_loan_is_asked_for(
    sent: dict[str, Any], fields_min: int, *, doubted: bool
) -> None:
    said = said_of(sent, with_parts(POLICY, sufficiency={"fields_min": fields_min}))
    assert (Rule.TOO_FEW_FIELDS in said.rules) == doubted
    assert said.decision is (REVIEW if doubted else Decision.APPROVED)
    assert said.offer == said_of(sent).offer


@pytest.mark.parametrize(("currency", "worth"), [("KES", 1), ("UGX", 30)])
@pytest.mark.parametrize(("beyond", "doubted"), [(2.99, False), (3.01, True)])
def test_a_number_far_beyond_training_is_left_to_a_person_in_every_currency(
    currency: str, worth: int, beyond: float, *, doubted: bool
) -> None:
    highest = next(f.highest for f in MODEL.cards[0].features if f.field == "avg_inflow")
    assert highest is not None
    model = ReadyModel(MODEL, currency)
    sent = {**GOOD, "avg_inflow": highest * beyond * worth}
    said = assess(model, ReadyPolicy(default_policy(currency), model), read(PRODUCT, sent))
    assert (Rule.VALUE_OUTSIDE_TRAINING in said.rules) == doubted


def test_a_number_far_below_training_is_left_to_a_person_unless_nobody_looks() -> None:
    lowest = next(f.lowest for f in MODEL.cards[0].features if f.field == "balance_stability")
    assert lowest is not None
    below = {**GOOD, "balance_stability": lowest / 3.1}
    assert Rule.VALUE_OUTSIDE_TRAINING in said_of(below).rules
    assert Rule.VALUE_OUTSIDE_TRAINING not in said_of({**GOOD, "balance_stability": lowest}).rules
    blind = with_parts(POLICY, sufficiency={"outside_times": None})
    assert Rule.VALUE_OUTSIDE_TRAINING not in said_of(below, blind).rules


def surprising(card: Card) -> Likeness:
    """Give a likeness to which only the last slot of the first feature is strange."""
    chances = (0.995, 0.005)
    surprises = tuple(round(-math.log(chance), 6) for chance in chances)
    expected, variance = likenesses.moments(chances, surprises)
    told = Distribution(surprises, round(expected, 6), round(variance, 6))
    dull = Distribution((0.0,), 0.0, 0.0)
    first, *rest = card.features
    slots = len(first.main)
    strange = Branch((0, *[1] * (slots - 2), 2), None, (told,))
    others = [Branch((0, *[1] * (len(f.main) - 1)), None, (dull,)) for f in rest]
    likeness = Likeness(card.name, (strange, *others), (Limit(0.01, 1.0), Limit(0.001, 50.0)))
    assert not list(likenesses.faults(likeness, card))
    return likeness


@pytest.mark.parametrize(
    ("months", "share", "doubted"),
    [(200, 0.01, True), (30, 0.01, False), (200, 0.001, False), (200, None, False)],
)
def test_an_application_unlike_training_is_left_to_a_person(
    months: int, share: float | None, *, doubted: bool
) -> None:
    alike = tuple(surprising(card) for card in MODEL.cards)
    model = ReadyModel(msgspec.structs.replace(MODEL, likeness=alike))
    policy = ReadyPolicy(with_parts(POLICY, sufficiency={"unlike_share": share}), model)
    for sent in (GOOD, FULL):
        said = assess(model, policy, read(PRODUCT, {**sent, "mm_months": months}))
        assert said.rules == (("unlike_training",) if doubted else ())
        assert said.decision is (REVIEW if doubted else Decision.APPROVED)


def test_a_model_that_knows_no_likeness_finds_nothing_strange() -> None:
    model = ReadyModel(msgspec.structs.replace(MODEL, likeness=()))
    policy = ReadyPolicy(with_parts(POLICY, sufficiency={"unlike_share": 0.01}), model)
    assert assess(model, policy, read(PRODUCT, {**GOOD, "mm_months": 200})).rules == ()


# ------------------------------------------------------------------------ better is never worse


def changed(**parts: Any) -> Policy:
    return seal(msgspec.structs.replace(POLICY, **parts))


def decisions_as_inflow_grows(policy: Policy) -> list[int]:
    assert not list(unsteady(policy))
    asked = {**GOOD, "avg_balance": 2_500, "counterparties": 18, "requested_amount": 50}
    return [
        SEVERITY[said_of({**asked, "avg_inflow": inflow}, policy).decision]
        for inflow in range(4_000, 40_000, 1_000)
    ]


def test_a_rule_that_declines_large_loans_is_not_met_by_those_who_are_referred() -> None:
    # No step is as small as what is asked for, so what is offered is what one rule refers.
    small = OwnRule("small", "requested_amount > 0.02 * avg_inflow", Decision.REVIEW)
    large = OwnRule("large", "requested_amount > 5000", Decision.DECLINED)
    found = decisions_as_inflow_grows(changed(rules=(small, large), sufficiency=Sufficiency()))
    assert found == sorted(found, reverse=True)


def test_a_loan_that_breaks_even_only_with_a_person_is_not_declined_for_its_price() -> None:
    dear = with_parts(
        changed(sufficiency=Sufficiency()),
        pricing={"cost_per_loan": 500.0},
        caps={"below_break_even": Decision.DECLINED},
    )
    refer = OwnRule("small", "requested_amount > 0.05 * avg_inflow", Decision.REVIEW)
    found = decisions_as_inflow_grows(seal(msgspec.structs.replace(dear, rules=(refer,))))
    assert found == sorted(found, reverse=True)
