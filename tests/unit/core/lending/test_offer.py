"""From a score to a decision and an offer, on the built-in model and the default policy."""

import math
from typing import Any

import msgspec
import pytest

from alama.core.application import read
from alama.core.assess import Assessment, assess
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Fees, Policy, Rule, Tier
from alama.core.lending.policy_check import seal
from alama.core.lending.pricing import Tariff
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from alama.platform.files.packaged import builtin
from tests.policies import with_parts

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
    return seal(msgspec.structs.replace(POLICY, **changes))


def due_monthly(said: Assessment) -> float:
    """Give the largest payment of a month."""
    offer = said.offer
    tariff = Tariff.of(POLICY, offer.term_days)
    laid_out = tariff.schedule(offer.default_probability, offer.limit)
    return max(payment.amount for payment in laid_out.payments)


# ------------------------------------------------------------------------ the limit


def test_the_limit_is_the_largest_step_whose_payments_fit() -> None:
    said = said_of(GOOD)
    room = 0.35 * 20_000 - 0.05 * 20_000
    assert (said.tier, said.decision, said.rules) == ("B", Decision.APPROVED, ())
    assert due_monthly(said) <= room
    one_more = msgspec.structs.replace(said.offer, limit=said.offer.limit + 500)
    assert due_monthly(msgspec.structs.replace(said, offer=one_more)) > room


def test_what_is_due_elsewhere_lowers_the_limit() -> None:
    free, bound = said_of(GOOD), said_of({**GOOD, "existing_repayments": 3_000})
    assert bound.score == free.score
    assert (bound.offer.limit, bound.offer.term_days) == (free.offer.limit, 90)
    assert free.offer.term_days == 60
    at_60_days = policy_with_term(60)
    most = said_of({**GOOD, "existing_repayments": 3_000}, at_60_days).offer.limit
    assert most < free.offer.limit
    assert due_monthly(bound) <= 0.35 * 20_000 - 3_000


def test_the_limit_keeps_the_cap_of_the_tier() -> None:
    said = said_of({**GOOD, "avg_inflow": 500_000})
    assert said.card == "compact"
    assert said.offer.limit == {t.name: t.limit_max for t in POLICY.tiers}[said.tier]


def test_asking_for_little_buys_no_limit_that_would_be_declined_outright() -> None:
    # The score of somebody who asks for 500 is far above that of the same person asking for 3,000.
    uncapped = with_parts(POLICY, caps={"apr_max": 500.0})
    sent = {**FULL, "mm_months": 8, "balance_stability": 0.25, "airtime_regularity": 0.3}
    little = said_of({**sent, "requested_amount": 500, "requested_term_days": 30}, uncapped)
    limit, days = little.offer.limit, little.offer.term_days
    outright = said_of({**sent, "requested_amount": limit, "requested_term_days": days}, uncapped)
    assert little.score - outright.score > 20
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
    assert 0 < said.offer.apr <= POLICY.caps.apr_max


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


# ------------------------------------------------------------------------ existing repayments


def test_where_it_is_not_said_a_share_of_the_inflow_is_taken_to_be_repaid_elsewhere() -> None:
    assert said_of(GOOD).offer == said_of({**GOOD, "existing_repayments": 1_000}).offer
    owing = with_parts(policy_with_term(60), affordability={"existing_repayments_share": 0.2})
    said = said_of({**GOOD, "existing_repayments": 4_000}, policy_with_term(60))
    assert said_of(GOOD, owing).offer == said.offer
    assert said_of(GOOD, owing).offer.limit < said_of(GOOD).offer.limit


def test_who_says_that_nothing_is_repaid_elsewhere_is_believed() -> None:
    free = with_parts(POLICY, affordability={"existing_repayments_share": 0.0})
    nothing = said_of({**GOOD, "existing_repayments": 0})
    assert nothing.offer == said_of(GOOD, free).offer
    assert nothing.offer.limit > said_of(GOOD).offer.limit


# ------------------------------------------------------------------------ fees

ADDED = with_parts(POLICY, repayment={"fees": Fees.ADDED})


def test_an_offer_says_how_much_of_its_price_is_a_fee() -> None:
    feed = with_parts(ADDED, pricing={"fee_share": 0.01, "fee_per_loan": 25.0})
    plain, said = said_of(GOOD, ADDED).offer, said_of(GOOD, feed).offer
    assert plain.fee == 0.0
    assert said.fee == said.limit * 0.01 + 25.0
    assert (said.limit, said.apr, said.price) == (plain.limit, plain.apr, plain.price)


def test_a_fee_that_is_the_whole_price_leaves_no_interest_and_a_smaller_limit() -> None:
    dear = with_parts(ADDED, pricing={"fee_share": 0.2})
    said = said_of(GOOD, dear).offer
    laid_out = Tariff.of(dear, said.term_days).schedule(said.default_probability, said.limit)
    assert said.fee == laid_out.fee == pytest.approx(laid_out.total - said.limit)
    assert laid_out.interest == 0.0
    assert said.apr > said_of(GOOD).offer.apr
    assert said.limit <= said_of(GOOD).offer.limit


def test_an_offer_says_what_it_is_expected_to_lose() -> None:
    offer = said_of(GOOD).offer
    laid_out = Tariff.of(POLICY, 60).schedule(offer.default_probability, offer.limit)
    # Either of two payments may be the first that is missed: three quarters of it all are owed.
    lost = offer.default_probability * 0.6 * 0.75 * laid_out.total
    assert offer.expected_loss == pytest.approx(lost, abs=0.01)


def test_in_duplum_bounds_what_is_charged_on_every_offer() -> None:
    bound = with_parts(POLICY, caps={"charges_max": 0.08})
    said = said_of({**FULL, "requested_term_days": 180}, bound).offer
    laid_out = Tariff.of(bound, 180).schedule(said.default_probability, said.limit)
    assert laid_out.total == pytest.approx(said.limit * 1.08)


# ------------------------------------------------------------------------ break-even

COSTLY = msgspec.structs.replace(
    with_parts(
        POLICY,
        caps={"apr_max": 60.0},
        pricing={"cost_per_loan": 200.0},
        standard_loan={"term_days": 90},
    ),
    terms_days=(90,),
    limit_step=100,
)


def costly_up_to(limit_max: int, below_break_even: Decision = Decision.REVIEW) -> Policy:
    tiers = tuple(msgspec.structs.replace(tier, limit_max=limit_max) for tier in COSTLY.tiers)
    policy = seal(msgspec.structs.replace(COSTLY, tiers=tiers))
    return with_parts(policy, caps={"below_break_even": below_break_even})


def least_earning(sent: dict[str, Any]) -> int:
    """Give the smallest whole step that pays for itself; the compact card knows no amounts."""
    tariff = Tariff.of(COSTLY, 90)
    return math.ceil(tariff.amount_min(said_of(sent).default_probability) / 100) * 100


def test_a_loan_is_offered_from_the_step_on_at_which_it_pays_for_itself() -> None:
    least = least_earning(GOOD)
    assert least > 500
    at = said_of(GOOD, costly_up_to(least))
    assert (at.decision, at.rules, at.offer.limit) == (Decision.APPROVED, (), least)
    assert at.offer.price.margin >= 0.0


def test_one_step_less_would_lose_and_is_left_to_a_person_with_the_smallest_loan() -> None:
    said = said_of(GOOD, costly_up_to(least_earning(GOOD) - 100))
    assert (said.decision, said.rules) == (Decision.REVIEW, (Rule.BELOW_BREAK_EVEN,))
    assert said.offer.limit == 100
    assert said.offer.price.margin < 0.0
    assert said.offer.apr == pytest.approx(60.0, abs=0.02)  # payments are of whole cents


def test_a_lender_may_rather_decline_what_would_lose() -> None:
    policy = costly_up_to(least_earning(GOOD) - 100, Decision.DECLINED)
    said = said_of(GOOD, policy)
    assert (said.decision, said.rules) == (Decision.DECLINED, (Rule.BELOW_BREAK_EVEN,))
    assert said.offer.limit == 0


def test_who_asks_for_too_little_to_earn_is_offered_more() -> None:
    said = said_of({**GOOD, "requested_amount": 1_000}, costly_up_to(20_000))
    assert said.decision is Decision.APPROVED
    assert said.offer.limit > 1_000
    assert said.offer.price.margin >= 0.0
