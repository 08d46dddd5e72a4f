"""What a loan costs, against the arithmetic done by hand."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.policy import Pricing
from alama.core.pricing import Tariff
from alama.core.units import Apr, Money, Probability

PRICING = Pricing(
    loss_given_default=0.5,
    cost_per_loan=Money(20.0),
    cost_share=0.01,
    funding=Apr(12.0),
    margin=Apr(6.0),
    apr_max=Apr(150.0),
)
QUARTER = Tariff(PRICING, 73)  # a fifth of a year

PROBABILITIES = st.integers(0, 1_000_000).map(lambda k: Probability(k / 1e6))
TERMS = st.integers(1, 3650)
AMOUNTS = st.integers(1, 10_000_000)


def test_a_loan_earns_its_margin_after_losses_funding_and_costs() -> None:
    # Lent 1000 for a fifth of a year: 36 for funding and margin, 30 for running it, and 2 % of
    # what is due never comes back.
    due = (1000 + 36 + 30) / 0.98
    assert QUARTER.apr(Probability(0.04), 1000) == pytest.approx((due / 1000 - 1) * 500, abs=0.01)
    assert QUARTER.due_monthly(Probability(0.04), 1000) == pytest.approx(due * 30 / 73)


def test_the_parts_of_the_price_are_named() -> None:
    apr = QUARTER.apr(Probability(0.04), 1000)
    price = QUARTER.price(Probability(0.04), 1000, apr)
    assert (price.running_cost, price.funding, price.margin) == (15.0, 12.0, 6.0)
    assert price.expected_loss == pytest.approx(0.02 * (1066 / 0.98) / 1000 * 500, abs=0.01)


def test_a_price_at_the_cap_takes_it_from_the_margin() -> None:
    capped = Tariff(msgspec.structs.replace(PRICING, apr_max=Apr(40.0)), 73)
    apr = capped.apr(Probability(0.04), 1000)
    price = capped.price(Probability(0.04), 1000, apr)
    assert apr == 40.0
    assert price.expected_loss == pytest.approx(0.02 * 1.08 * 500)
    assert price.margin == pytest.approx(40.0 - 10.8 - 15.0 - 12.0)


def test_a_loan_of_less_than_a_month_falls_due_within_it_as_a_whole() -> None:
    week = Tariff(PRICING, 7)
    assert week.due_monthly(Probability(0.0), 1000) > 1000
    assert week.months == 1.0


@given(PROBABILITIES, AMOUNTS, TERMS)
def test_the_parts_add_up_to_the_price_which_keeps_the_cap(
    probability: Probability, amount: int, term_days: int
) -> None:
    tariff = Tariff(PRICING, term_days)
    apr = tariff.apr(probability, amount)
    price = tariff.price(probability, amount, apr)
    assert 0.0 < apr <= PRICING.apr_max
    assert sum(msgspec.structs.astuple(price)) == pytest.approx(apr, abs=1e-9)


@given(PROBABILITIES, AMOUNTS, TERMS)
def test_what_is_shown_never_costs_more_than_what_was_found_affordable(
    probability: Probability, amount: int, term_days: int
) -> None:
    tariff = Tariff(PRICING, term_days)
    apr = tariff.apr(probability, amount)
    shown = amount * (1.0 + apr / 100.0 * term_days / 365) * 30 / max(term_days, 30)
    found = tariff.due_monthly(probability, amount)
    assert shown <= found * (1.0 + 1e-12)
    assert shown == pytest.approx(found, rel=0.01 / 100 * term_days / 365 + 1e-12)


@given(st.tuples(PROBABILITIES, PROBABILITIES), AMOUNTS, TERMS)
def test_more_risk_never_costs_less(
    risks: tuple[Probability, Probability], amount: int, term_days: int
) -> None:
    tariff = Tariff(PRICING, term_days)
    low, high = sorted(risks)
    assert tariff.apr(low, amount) <= tariff.apr(high, amount)
    assert tariff.due_monthly(low, amount) <= tariff.due_monthly(high, amount)


@given(PROBABILITIES, st.tuples(AMOUNTS, AMOUNTS), TERMS)
def test_more_money_never_means_smaller_payments_nor_a_higher_price(
    probability: Probability, amounts: tuple[int, int], term_days: int
) -> None:
    tariff = Tariff(PRICING, term_days)
    small, large = sorted(amounts)
    assert tariff.due_monthly(probability, small) <= tariff.due_monthly(probability, large)
    assert tariff.apr(probability, small) >= tariff.apr(probability, large)


@given(PROBABILITIES, st.floats(1.0, 1e9), TERMS)
def test_no_loan_above_the_bound_can_be_repaid(
    probability: Probability, room: float, term_days: int
) -> None:
    tariff = Tariff(PRICING, term_days)
    beyond = tariff.amount_max(room) * (1.0 + 1e-12)
    assert tariff.due_monthly(probability, beyond) > room


@given(PROBABILITIES, st.floats(-1e3, 1e6), st.integers(1, 5_000), st.integers(1, 1000), TERMS)
def test_the_largest_amount_is_the_last_step_whose_payments_fit(
    probability: Probability, room: float, step: int, steps: int, term_days: int
) -> None:
    tariff = Tariff(PRICING, term_days)
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
    tariff = Tariff(PRICING, term_days)
    amount = steps * step
    room = tariff.due_monthly(probability, amount)
    assert tariff.largest(probability, room, amount + step, step) == amount
    short = math.nextafter(room, 0.0)
    assert tariff.largest(probability, short, amount + step, step) == amount - step
