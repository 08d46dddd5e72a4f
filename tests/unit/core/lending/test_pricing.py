"""What a loan costs, against the arithmetic done by hand."""

import math
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.lending.policy import Caps, Decision, Pricing
from alama.core.lending.pricing import Tariff
from alama.core.units import Apr, Money, Probability

PRICING = Pricing(
    loss_given_default=0.5,
    cost_per_loan=Money(20.0),
    cost_share=0.01,
    funding=Apr(12.0),
    margin=Apr(6.0),
)
CAPS = Caps(apr_max=Apr(150.0), below_break_even=Decision.REVIEW)
QUARTER = Tariff(PRICING, CAPS, 73)  # a fifth of a year

PROBABILITIES = st.integers(0, 1_000_000).map(lambda k: Probability(k / 1e6))
TERMS = st.integers(1, 3650)
AMOUNTS = st.integers(1, 10_000_000)


def capped_at(apr_max: float, charges_max: float | None = None) -> Caps:
    return Caps(Apr(apr_max), Decision.REVIEW, charges_max)


def with_fee(per_loan: float, share: float) -> Pricing:
    return msgspec.structs.replace(PRICING, fee_per_loan=Money(per_loan), fee_share=share)


def test_a_loan_earns_its_margin_after_losses_funding_and_costs() -> None:
    # Lent 1000 for a fifth of a year: 36 for funding and margin, 30 for running it, and 2 % of
    # what is due never comes back.
    due = (1000 + 36 + 30) / 0.98
    assert QUARTER.apr(Probability(0.04), 1000) == pytest.approx((due / 1000 - 1) * 500, abs=0.01)
    assert QUARTER.due_monthly(Probability(0.04), 1000) == pytest.approx(due * 30 / 73)


def test_the_parts_of_the_price_are_named() -> None:
    price = QUARTER.quote(Probability(0.04), 1000).price
    assert (price.running_cost, price.funding, price.margin) == (15.0, 12.0, 6.0)
    assert price.expected_loss == pytest.approx(0.02 * (1066 / 0.98) / 1000 * 500, abs=0.01)


def test_a_price_at_the_cap_takes_it_from_the_margin() -> None:
    capped = Tariff(PRICING, capped_at(40.0), 73)
    apr = capped.apr(Probability(0.04), 1000)
    price = capped.quote(Probability(0.04), 1000).price
    assert apr == 40.0
    assert price.expected_loss == pytest.approx(0.02 * 1.08 * 500)
    assert price.margin == pytest.approx(40.0 - 10.8 - 15.0 - 12.0)


def test_a_loan_of_less_than_a_month_falls_due_within_it_as_a_whole() -> None:
    week = Tariff(PRICING, CAPS, 7)
    assert week.due_monthly(Probability(0.0), 1000) > 1000
    assert week.months == 1.0


@given(PROBABILITIES, AMOUNTS, TERMS)
def test_the_parts_add_up_to_the_price_which_keeps_the_cap(
    probability: Probability, amount: int, term_days: int
) -> None:
    tariff = Tariff(PRICING, CAPS, term_days)
    apr = tariff.apr(probability, amount)
    price = tariff.quote(probability, amount).price
    assert 0.0 < apr <= CAPS.apr_max
    assert sum(msgspec.structs.astuple(price)) == pytest.approx(apr, abs=1e-9)


@given(PROBABILITIES, AMOUNTS, TERMS)
def test_what_is_shown_never_costs_more_than_what_was_found_affordable(
    probability: Probability, amount: int, term_days: int
) -> None:
    tariff = Tariff(PRICING, CAPS, term_days)
    apr = tariff.apr(probability, amount)
    shown = amount * (1.0 + apr / 100.0 * term_days / 365) * 30 / max(term_days, 30)
    found = tariff.due_monthly(probability, amount)
    assert shown <= found * (1.0 + 1e-12)
    assert shown == pytest.approx(found, rel=0.01 / 100 * term_days / 365 + 1e-12)


@given(st.tuples(PROBABILITIES, PROBABILITIES), AMOUNTS, TERMS)
def test_more_risk_never_costs_less(
    risks: tuple[Probability, Probability], amount: int, term_days: int
) -> None:
    tariff = Tariff(PRICING, CAPS, term_days)
    low, high = sorted(risks)
    assert tariff.apr(low, amount) <= tariff.apr(high, amount)
    assert tariff.due_monthly(low, amount) <= tariff.due_monthly(high, amount)


@given(PROBABILITIES, st.tuples(AMOUNTS, AMOUNTS), TERMS)
def test_more_money_never_means_smaller_payments_nor_a_higher_price(
    probability: Probability, amounts: tuple[int, int], term_days: int
) -> None:
    tariff = Tariff(PRICING, CAPS, term_days)
    small, large = sorted(amounts)
    assert tariff.due_monthly(probability, small) <= tariff.due_monthly(probability, large)
    assert tariff.apr(probability, small) >= tariff.apr(probability, large)


@given(PROBABILITIES, st.floats(1.0, 1e9), TERMS)
def test_no_loan_above_the_bound_can_be_repaid(
    probability: Probability, room: float, term_days: int
) -> None:
    tariff = Tariff(PRICING, CAPS, term_days)
    beyond = tariff.amount_max(room) * (1.0 + 1e-12)
    assert tariff.due_monthly(probability, beyond) > room


@given(PROBABILITIES, st.floats(-1e3, 1e6), st.integers(1, 5_000), st.integers(1, 1000), TERMS)
def test_the_largest_amount_is_the_last_step_whose_payments_fit(
    probability: Probability, room: float, step: int, steps: int, term_days: int
) -> None:
    tariff = Tariff(PRICING, CAPS, term_days)
    cap = steps * step
    amount = tariff.largest(probability, room, cap, step)
    assert amount % step == 0
    assert amount <= cap
    if amount > 0:
        assert tariff.due_monthly(probability, amount) <= room
    if amount < cap:
        assert tariff.due_monthly(probability, max(amount, 0) + step) > room


@given(PROBABILITIES, st.integers(1, 5_000), st.integers(1, 1000), TERMS)
def test_payments_that_fit_to_the_last_bit_are_found(
    probability: Probability, step: int, steps: int, term_days: int
) -> None:
    tariff = Tariff(PRICING, CAPS, term_days)
    amount = steps * step
    room = tariff.due_monthly(probability, amount)
    assert tariff.largest(probability, room, amount + step, step) == amount
    short = math.nextafter(room, 0.0)
    assert tariff.largest(probability, short, amount + step, step) == amount - step


# ------------------------------------------------------------------------ fees

FEES = st.tuples(st.sampled_from([0.0, 15.0, 300.0]), st.sampled_from([0.0, 0.02, 0.3]))


def test_a_fee_is_a_part_of_the_price_and_interest_is_the_rest() -> None:
    priced, plain = Tariff(with_fee(10.0, 0.01), CAPS, 73), QUARTER
    apr = priced.apr(Probability(0.04), 1000)
    assert apr == plain.apr(Probability(0.04), 1000)
    assert priced.quote(Probability(0.04), 1000).fee == 20.0
    assert plain.quote(Probability(0.04), 1000).fee == 0.0
    interest = 1000 * apr / 100 / 5 - 20.0
    assert interest == pytest.approx(1066 / 0.98 - 1000 - 20.0, abs=0.03)


def test_a_fee_above_the_price_is_the_price_and_the_margin_has_the_rest() -> None:
    # 200 on 1000 for a fifth of a year: 100 % a year, where losses and costs and margin ask for 44.
    dear = Tariff(with_fee(100.0, 0.1), CAPS, 73)
    apr = dear.apr(Probability(0.04), 1000)
    price = dear.quote(Probability(0.04), 1000).price
    assert apr == pytest.approx(100.0, abs=0.01)
    assert dear.quote(Probability(0.04), 1000).fee == pytest.approx(200.0, abs=0.02)
    assert price.margin == pytest.approx(100.0 - 15.0 - 12.0 - 0.02 * 1.2 * 500, abs=0.02)


def test_a_fee_is_never_more_than_the_cap_lets_the_price_be() -> None:
    capped = Tariff(with_fee(100.0, 0.1), capped_at(40.0), 73)
    apr = capped.apr(Probability(0.04), 1000)
    assert apr == 40.0
    assert capped.quote(Probability(0.04), 1000).fee == 80.0


@given(PROBABILITIES, AMOUNTS, TERMS, FEES)
def test_the_price_is_never_below_the_fee_unless_a_cap_cuts_both(
    probability: Probability, amount: int, term_days: int, fees: tuple[float, float]
) -> None:
    tariff = Tariff(with_fee(*fees), CAPS, term_days)
    apr = tariff.apr(probability, amount)
    asked = fees[0] + amount * fees[1]
    charges = amount * apr / 100 * term_days / 365
    fee = tariff.quote(probability, amount).fee
    assert 0.0 <= fee <= charges * (1.0 + 1e-12)
    if apr < CAPS.apr_max:
        # What is rounded down is two decimals of the rate and the cents.
        assert fee >= asked - amount * 0.0001 * term_days / 365 - 0.02
    assert tariff.due_monthly(probability, amount) >= charges / tariff.months


@given(PROBABILITIES, st.floats(-1e3, 1e6), st.integers(1, 5_000), TERMS, FEES)
def test_with_fees_too_the_largest_amount_is_the_last_step_whose_payments_fit(
    probability: Probability, room: float, step: int, term_days: int, fees: tuple[float, float]
) -> None:
    tariff = Tariff(with_fee(*fees), CAPS, term_days)
    amount = tariff.largest(probability, room, 500 * step, step)
    if amount > 0:
        assert tariff.due_monthly(probability, amount) <= room
    if amount < 500 * step:
        assert tariff.due_monthly(probability, max(amount, 0) + step) > room


# ------------------------------------------------------------------------ caps


def test_in_duplum_all_charges_together_never_exceed_the_amount() -> None:
    decade = Tariff(PRICING, capped_at(150.0, charges_max=1.0), 3650)
    apr = decade.apr(Probability(0.9), 1000)
    assert apr == 10.0
    assert decade.due_monthly(Probability(0.9), 1000) * decade.months == pytest.approx(2000.0)


@given(PROBABILITIES, AMOUNTS, TERMS, st.floats(0.05, 2.0))
def test_charges_keep_their_share_of_the_amount_and_the_price_its_cap(
    probability: Probability, amount: int, term_days: int, charges_max: float
) -> None:
    tariff = Tariff(PRICING, capped_at(150.0, charges_max), term_days)
    apr = tariff.apr(probability, amount)
    assert apr <= 150.0
    assert apr / 100 * term_days / 365 <= charges_max * (1.0 + 1e-12)
    assert tariff.quote(probability, amount).fee <= charges_max * amount * (1.0 + 1e-12)


@pytest.mark.parametrize(("charges_max", "apr_max"), [(0.05, 25.0), (0.4, 150.0), (None, 150.0)])
def test_the_lower_of_both_caps_holds(charges_max: float | None, apr_max: float) -> None:
    tariff = Tariff(PRICING, capped_at(150.0, charges_max), 73)
    assert tariff.apr(Probability(0.9), 1000) == apr_max


# ------------------------------------------------------------------------ break-even


def margin_of(tariff: Tariff, probability: Probability, amount: int) -> float:
    return tariff.quote(probability, amount).price.margin


def test_a_loan_breaks_even_exactly_from_the_least_amount_on() -> None:
    # At 40 % for a fifth of a year 1.08 is due and 2 % of it lost; 1.034 is spent, and 20 a loan.
    capped = Tariff(PRICING, capped_at(40.0), 73)
    least = capped.amount_min(Probability(0.04))
    assert least == pytest.approx(20.0 / (0.98 * 1.08 - 1.034))
    assert margin_of(capped, Probability(0.04), math.floor(least)) < 0.0
    assert margin_of(capped, Probability(0.04), math.ceil(least)) >= 0.0


@given(PROBABILITIES, TERMS, st.floats(19.0, 200.0))
def test_one_unit_below_the_least_amount_loses_and_at_it_none_is_lost(
    probability: Probability, term_days: int, apr_max: float
) -> None:
    tariff = Tariff(PRICING, capped_at(apr_max), term_days)
    years = Fraction(term_days, 365)
    lost = Fraction(probability) * Fraction(PRICING.loss_given_default)
    kept = (1 - lost) * (1 + Fraction(apr_max) / 100 * years)
    left = kept - 1 - Fraction(PRICING.funding) / 100 * years - Fraction(PRICING.cost_share)
    least = tariff.amount_min(probability)
    if math.isinf(least):
        assert left < Fraction(1, 10**12)
        return
    hair = Fraction(1, 10**9)
    assert Fraction(least) * (1 - hair) * left < 20 < Fraction(least) * (1 + hair) * left


def test_where_nothing_is_left_at_the_cap_no_amount_breaks_even() -> None:
    tariff = Tariff(PRICING, capped_at(20.0), 73)
    assert tariff.amount_min(Probability(0.5)) == math.inf


def test_a_loan_that_costs_nothing_to_run_breaks_even_at_any_amount_or_at_none() -> None:
    free = msgspec.structs.replace(PRICING, cost_per_loan=Money(0.0))
    tariff = Tariff(free, capped_at(40.0), 73)
    assert tariff.amount_min(Probability(0.04)) == 0.0
    assert tariff.amount_min(Probability(1.0)) == math.inf


@given(st.tuples(PROBABILITIES, PROBABILITIES), TERMS)
def test_more_risk_never_breaks_even_sooner(
    risks: tuple[Probability, Probability], term_days: int
) -> None:
    tariff = Tariff(PRICING, capped_at(60.0), term_days)
    low, high = sorted(risks)
    assert tariff.amount_min(low) <= tariff.amount_min(high)


def test_what_a_loan_is_expected_to_lose_is_a_share_of_all_that_is_due() -> None:
    quote = QUARTER.quote(Probability(0.04), 1000)
    due = 1000 * (1.0 + quote.apr / 500)
    assert quote.expected_loss == pytest.approx(0.02 * due, abs=0.005)
