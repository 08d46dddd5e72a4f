"""A policy laid out for a model: what must fit, and what it does not let an application say."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from alama.core.application import read
from alama.core.assess import assess
from alama.core.errors import InvalidApplication, InvalidPolicy
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, OwnRule, Policy
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.core.product import PRODUCT
from alama.platform.files.packaged import builtin
from tests.factories import a_model
from tests.policies import with_parts

MODEL = builtin()
READY = ReadyModel(MODEL)
POLICY = default_policy("KES")
TERMS = POLICY.terms_days
GOOD: dict[str, Any] = {
    "mm_months": 30,
    "avg_inflow": 20_000,
    "balance_stability": 0.7,
    "airtime_regularity": 0.7,
}
FULL = {**GOOD, "avg_outflow": 17_000, "avg_balance": 2_500, "counterparties": 18}


def model_without(*left_out: str) -> ReadyModel:
    names = [field.name for field in PRODUCT.model_fields if field.name not in left_out]
    return ReadyModel(a_model(catalogue=PRODUCT.only(names)))


def with_rule(when: str) -> Policy:
    rule = OwnRule("own", when, Decision.DECLINED)
    return seal(msgspec.structs.replace(POLICY, rules=(rule,)))


def outcome_of(model: Model, shortest: int | None, longest: int | None) -> ReadyModel:
    outcome = msgspec.structs.replace(
        model.outcome, shortest_term_days=shortest, longest_term_days=longest
    )
    return ReadyModel(msgspec.structs.replace(model, outcome=outcome))


@pytest.mark.parametrize(
    ("shortest", "longest", "offered"),
    [(31, 119, (60, 90)), (None, 60, (30, 60)), (120, None, (120, 180)), (None, None, TERMS)],
)
def test_a_term_that_the_model_never_saw_is_not_offered(
    shortest: int | None, longest: int | None, offered: tuple[int, ...]
) -> None:
    assert ReadyPolicy(POLICY, outcome_of(MODEL, shortest, longest)).terms_days == offered


def test_a_policy_without_any_term_the_model_knows_is_refused() -> None:
    with pytest.raises(InvalidPolicy, match="no term that the model has learned") as caught:
        ReadyPolicy(POLICY, outcome_of(MODEL, 7, 14))
    assert "7 to 14 days" in str(caught.value.hint)


def test_a_policy_in_another_currency_than_the_model_is_refused() -> None:
    with pytest.raises(InvalidPolicy, match="lends in KES, but the model is laid out for UGX"):
        ReadyPolicy(POLICY, ReadyModel(MODEL, "UGX"))
    with pytest.raises(InvalidPolicy, match="laid out for no currency"):
        ReadyPolicy(POLICY, ReadyModel(msgspec.structs.replace(MODEL, money=None)))


def test_a_policy_needs_the_inflow() -> None:
    names = [field.name for field in PRODUCT.model_fields if field.name != "avg_inflow"]
    with pytest.raises(InvalidPolicy, match="needs the field avg_inflow"):
        ReadyPolicy(POLICY, ReadyModel(a_model(catalogue=PRODUCT.only(names))))


def test_a_rule_on_a_field_that_the_model_has_not_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidPolicy, match="the rule own cannot be read for this model") as caught:
        ReadyPolicy(with_rule("region == 'nairobi'"), model_without("region"))
    assert caught.value.hint == "take the rule out, or a model that has the field"


def test_a_rule_on_the_term_bounds_loans_of_a_model_that_knows_no_amounts() -> None:
    model = model_without("requested_amount")
    ready = ReadyPolicy(with_rule("requested_term_days > 60"), model)
    assert [rule.bounds_loans for rule in ready.rules] == [True]
    said = assess(model, ready, read(model.catalogue, {**GOOD, "requested_term_days": 30}))
    assert said.offer.term_days <= 60


@pytest.mark.parametrize(
    ("when", "bounds"),
    [
        ("requested_amount > 2 * avg_inflow", True),
        ("requested_term_days > 60", True),
        ("requested_term_days == 60", True),
        ("requested_amount < 1_000", False),
        ("requested_amount == 1_000", False),
        ("mm_months < 3", False),
    ],
)
def test_a_rule_bounds_loans_where_it_objects_to_all_larger_ones(when: str, bounds: bool) -> None:  # noqa: FBT001  a column of the table
    (rule,) = ReadyPolicy(with_rule(when), READY).rules
    assert rule.bounds_loans is bounds


# ------------------------------------------------------------------------ forbidden fields

FORBIDDING = with_parts(POLICY, law={"forbidden_fields": ("region", "counterparties", "contacts")})


def test_an_application_with_a_forbidden_field_is_refused_by_the_names_it_used() -> None:
    ready = ReadyPolicy(FORBIDDING, READY)
    with pytest.raises(InvalidApplication) as caught:
        ready.refuse_forbidden(read(PRODUCT, {**FULL, "region": "nairobi"}))
    told = [(problem.pointer, problem.code) for problem in caught.value.problems]
    assert told == [("/region", "prohibited_field"), ("/counterparties", "prohibited_field")]


def test_an_application_without_a_forbidden_field_passes() -> None:
    ReadyPolicy(FORBIDDING, READY).refuse_forbidden(read(PRODUCT, {**GOOD, "avg_outflow": 9_000}))
    ReadyPolicy(POLICY, READY).refuse_forbidden(read(PRODUCT, {**FULL, "region": "nairobi"}))


# ------------------------------------------------------------------------ currencies


def test_the_same_person_gets_the_same_offer_in_another_currency() -> None:
    sent = {**FULL, "requested_amount": 6_000}
    money = ("avg_inflow", "avg_outflow", "avg_balance", "requested_amount")
    ugandan = ReadyModel(MODEL, "UGX")
    here = assess(READY, ReadyPolicy(POLICY, READY), read(PRODUCT, sent))
    there = assess(
        ugandan,
        ReadyPolicy(default_policy("UGX"), ugandan),
        read(PRODUCT, {name: v * 30 if name in money else v for name, v in sent.items()}),
    )
    assert (there.score, there.tier) == (here.score, here.tier)
    assert there.offer.term_days == here.offer.term_days
    # A step is 500 shillings here, and 333 of them there.
    assert abs(there.offer.limit / 30 - here.offer.limit) < 500
    assert there.offer.apr == pytest.approx(here.offer.apr, abs=0.5)
