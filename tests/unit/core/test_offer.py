"""From a score to a decision and an offer, on the built-in model and the default policy."""

from typing import Any

import msgspec
import pytest

from alama.core import policy as policies
from alama.core.application import read
from alama.core.assess import Assessment, assess
from alama.core.errors import InvalidPolicy
from alama.core.model import Model, ReadyModel
from alama.core.offer import ReadyPolicy
from alama.core.policy import Decision, Policy, Rule, Tier, default_policy
from alama.core.product import PRODUCT
from alama.files.models import builtin
from tests.factories import a_model

MODEL = builtin()
READY = ReadyModel(MODEL)
POLICY = default_policy("KES")
TERMS = POLICY.terms_days

# Somebody of tier B by the compact card, whose probability no amount and no term changes.
GOOD: dict[str, Any] = {
    "mm_months": 30,
    "avg_inflow": 20_000,
    "balance_stability": 0.7,
    "airtime_regularity": 0.7,
}
FULL = {**GOOD, "avg_outflow": 17_000, "avg_balance": 2_500, "counterparties": 18}
POOR = {**GOOD, "mm_months": 1, "balance_stability": 0.05, "airtime_regularity": 0.05}


def said_of(sent: dict[str, Any], policy: Policy = POLICY) -> Assessment:
    return assess(READY, ReadyPolicy(policy, READY), read(PRODUCT, sent))


def policy_with(**changes: Any) -> Policy:
    return policies.seal(msgspec.structs.replace(POLICY, **changes))


def due_monthly(said: Assessment) -> float:
    offer = said.offer
    return offer.limit * (1 + offer.apr / 100 * offer.term_days / 365) * 30 / offer.term_days


# ------------------------------------------------------------------------ the limit


def test_the_limit_is_the_largest_step_whose_payments_fit() -> None:
    said = said_of(GOOD)
    room = 0.35 * 20_000
    assert (said.tier, said.decision, said.rules) == ("B", Decision.APPROVED, ())
    assert due_monthly(said) <= room
    one_more = msgspec.structs.replace(said.offer, limit=said.offer.limit + 500)
    assert due_monthly(msgspec.structs.replace(said, offer=one_more)) > room


def test_what_is_due_elsewhere_lowers_the_limit() -> None:
    free, bound = said_of(GOOD), said_of({**GOOD, "existing_repayments": 3_000})
    assert bound.score == free.score
    assert bound.offer.limit < free.offer.limit
    assert due_monthly(bound) <= 0.35 * 20_000 - 3_000


def test_the_limit_keeps_the_cap_of_the_tier() -> None:
    said = said_of({**GOOD, "avg_inflow": 10_000_000})
    assert said.card == "compact"
    assert said.offer.limit == {t.name: t.limit_max for t in POLICY.tiers}[said.tier]


def test_asking_for_little_buys_no_limit_that_would_be_declined_outright() -> None:
    # The score of somebody who asks for 500 is far above that of the same person asking for 9,000.
    sent = {**FULL, "mm_months": 4, "balance_stability": 0.25, "airtime_regularity": 0.3}
    little = said_of({**sent, "requested_amount": 500, "requested_term_days": 30})
    limit, days = little.offer.limit, little.offer.term_days
    outright = said_of({**sent, "requested_amount": limit, "requested_term_days": days})
    assert little.score - outright.score > 30
    assert outright.decision is not Decision.DECLINED
    assert outright.offer.limit >= limit


# ------------------------------------------------------------------------ the term


@pytest.mark.parametrize(
    ("asked", "given"), [(30, 30), (90, 90), (7, 30), (45, 60), (180, 180), (400, 180)]
)
def test_the_term_asked_for_is_kept_or_the_next_longer_one_offered(asked: int, given: int) -> None:
    said = said_of({**FULL, "requested_amount": 2_000, "requested_term_days": asked})
    assert said.offer.term_days == given


def test_an_amount_too_large_for_the_term_gets_the_shortest_longer_one_that_carries_it() -> None:
    loans = {
        days: said_of(FULL | {"requested_amount": 14_000}, policy_with_term(days)) for days in TERMS
    }
    assert loans[30].offer.limit < 14_000
    shortest = min(days for days, said in loans.items() if said.offer.limit >= 14_000)
    said = said_of({**FULL, "requested_amount": 14_000, "requested_term_days": 30})
    assert (said.offer.term_days, said.offer.limit) == (shortest, loans[shortest].offer.limit)


def test_an_amount_too_large_for_every_term_gets_the_largest_limit() -> None:
    limits = {days: said_of(FULL, policy_with_term(days)).offer.limit for days in TERMS}
    said = said_of({**FULL, "requested_amount": 25_000, "requested_term_days": 30})
    assert 0 < said.offer.limit <= max(limits.values())
    assert said.offer.term_days > 30


def test_without_an_amount_the_standard_loan_is_carried() -> None:
    said = said_of(GOOD)
    assert said.offer.limit >= POLICY.standard_loan.amount
    assert said_of(GOOD, policy_with_term(30)).offer.limit < POLICY.standard_loan.amount
    assert said.offer.term_days == 60


def policy_with_term(days: int) -> Policy:
    standard = msgspec.structs.replace(POLICY.standard_loan, term_days=days)
    return policy_with(terms_days=(days,), standard_loan=standard)


# ------------------------------------------------------------------------ the probability


def test_a_compact_request_is_priced_at_its_own_probability() -> None:
    said = said_of(GOOD)
    assert said.card == "compact"
    assert said.offer.default_probability == said.default_probability


def test_an_offer_names_the_currency_of_its_policy() -> None:
    ready = ReadyModel(MODEL, "UGX")
    said = assess(ready, ReadyPolicy(default_policy("UGX"), ready), read(PRODUCT, GOOD))
    assert said.offer.currency == "UGX"
    assert said_of(GOOD).offer.currency == "KES"


def test_an_offer_is_priced_as_the_loan_that_it_is() -> None:
    said = said_of({**FULL, "requested_amount": 3_000, "requested_term_days": 60})
    outright = {"requested_amount": said.offer.limit, "requested_term_days": said.offer.term_days}
    asked = said_of({**FULL, **outright})
    assert said.offer.limit > 3_000
    assert said.offer.default_probability == asked.default_probability > said.default_probability
    assert said.offer.apr == asked.offer.apr


# ------------------------------------------------------------------------ no offer


def test_a_low_tier_declines_and_says_what_would_have_applied() -> None:
    said = said_of({**POOR, "requested_term_days": 60})
    assert (said.tier, said.decision, said.rules) == (
        "E",
        Decision.DECLINED,
        (Rule.TIER_BELOW_CUTOFF,),
    )
    assert said.offer.limit == 0
    assert said.offer.term_days in TERMS
    assert 0 < said.offer.apr <= POLICY.pricing.apr_max


def test_a_middling_tier_is_reviewed_with_an_offer_to_confirm() -> None:
    said = said_of({**GOOD, "mm_months": 12, "balance_stability": 0.4, "airtime_regularity": 0.4})
    assert (said.tier, said.decision, said.rules) == ("D", Decision.REVIEW, (Rule.TIER_IN_REVIEW,))
    assert said.offer.limit > 0


@pytest.mark.parametrize("sent", [{"existing_repayments": 7_000}, {"avg_inflow": 0}])
def test_who_cannot_repay_one_step_is_declined_for_that(sent: dict[str, Any]) -> None:
    generous = tuple(msgspec.structs.replace(t, decision=Decision.APPROVED) for t in POLICY.tiers)
    said = said_of({**GOOD, **sent}, policy_with(tiers=generous))
    assert (said.decision, said.rules) == (Decision.DECLINED, (Rule.UNAFFORDABLE,))
    assert (said.offer.limit, said.offer.term_days) == (0, 30)


def test_who_would_be_declined_whichever_loan_is_offered_is_declined_for_that() -> None:
    score = said_of(FULL).score
    two = (
        Tier("pass", score, Decision.APPROVED, 1.0, 40_000),
        Tier("fail", 300, Decision.DECLINED, 1.0, 40_000),
    )
    said = said_of({**FULL, "avg_inflow": 20_000}, policy_with(tiers=two, limit_step=40_000))
    assert said.tier == "pass"
    assert (said.decision, said.rules) == (Decision.DECLINED, (Rule.OFFER_BELOW_CUTOFF,))
    assert said.offer.limit == 0


# ------------------------------------------------------------------------ policy and model


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


def test_the_same_person_gets_the_same_offer_in_another_currency() -> None:
    sent = {**FULL, "requested_amount": 6_000}
    money = ("avg_inflow", "avg_outflow", "avg_balance", "requested_amount")
    ugandan = ReadyModel(MODEL, "UGX")
    here = said_of(sent)
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
