"""Payments add up, and rates are those of regulators' worked examples and of another library."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import brentq

from alama.core.lending.cash_flow import AprKind, Periods, Terms, internal_rate
from alama.core.lending.policy import Caps, Decision, Fees, Kind, Pricing, Repayment
from alama.core.lending.pricing import Tariff
from alama.core.units import Apr, Money, Probability

PROBABILITIES = st.integers(0, 1_000_000).map(lambda k: Probability(k / 1e6))
AMOUNTS = st.integers(100, 1_000_000)
REPAYMENTS = st.builds(
    Repayment,
    kind=st.sampled_from(Kind),
    every_days=st.sampled_from([7, 14, 30]),
    fees=st.sampled_from(Fees),
    saving=st.sampled_from([0.0, 0.5, 1.0]),
    payment_share_max=st.sampled_from([None, 0.3]),
    fee_tax=st.sampled_from([0.0, 0.2]),
    capped_apr=st.sampled_from(AprKind),
    shown_apr=st.sampled_from(AprKind),
)
PRICINGS = st.builds(
    Pricing,
    loss_given_default=st.floats(0.0, 0.95),
    cost_per_loan=st.floats(0.0, 50.0).map(Money),
    cost_share=st.floats(0.0, 0.05),
    funding=st.floats(0.1, 30.0).map(Apr),
    margin=st.floats(0.0, 30.0).map(Apr),
    fee_per_loan=st.sampled_from([0.0, 0.5]).map(Money),
    fee_share=st.sampled_from([0.0, 0.005]),
)
CAPS = st.builds(
    Caps,
    apr_max=st.floats(60.0, 300.0).map(Apr),
    below_break_even=st.just(Decision.REVIEW),
    charges_max=st.sampled_from([None, 0.3, 1.0]),
)
CHEAP = Pricing(0.0, Money(0.0), 0.0, Apr(0.1), Apr(0.0), fee_per_loan=Money(0.5))
TIGHT = Caps(Apr(60.0), Decision.REVIEW)


@st.composite
def tariffs(draw: st.DrawFn) -> tuple[Tariff, Repayment, Caps, int]:
    repayment, caps = draw(REPAYMENTS), draw(CAPS)
    term_days = repayment.every_days * draw(st.integers(1, 12))
    units = draw(st.sampled_from([1, 100]))
    return Tariff(draw(PRICINGS), caps, term_days, repayment, units), repayment, caps, units


# ------------------------------------------------------------------------ rates


def test_the_worked_examples_of_regulators_come_out_to_their_decimals() -> None:
    # Regulation Z (US), appendix J, (c)(1)(i): 5,000 for 24 monthly payments of 230.
    assert round(12 * 100 * internal_rate(5_000, [230] * 24), 2) == 9.69
    # The same, (c)(5)(i): 1,000 for one payment of 1,080 after 255 days.
    assert Periods(255, None).aprs(Terms(1_000, 1_000, 0, 0, 1_080)).nominal == 11.45
    # Directive 98/7/EC, annex: 1,000 for 1,200 after a year and a half, without and with 50 kept
    # back; and for 600 after each of two years.
    halves = [0.0, 0.0, 1_200.0]
    assert round(100 * ((1 + internal_rate(1_000, halves)) ** 2 - 1), 2) == 12.92
    assert round(100 * ((1 + internal_rate(950, halves)) ** 2 - 1), 2) == 16.85
    assert round(100 * internal_rate(1_000, [600, 600]), 2) == 13.07
    # Reserve Bank of India, Key Facts Statement, annex B: 20,000 less 400 for 24 months at 15 %.
    assert round(12 * 100 * internal_rate(19_600, [23_274 / 24] * 24), 2) == 17.07


def _beyond(rate: float, paid: Sequence[float], received: float) -> float:
    """Give what payments are worth beyond what was received."""
    return float(sum(one * (1.0 + rate) ** -k for k, one in enumerate(paid, start=1))) - received


def test_rates_agree_with_another_solver_on_ten_thousand_schedules() -> None:
    rng = np.random.default_rng(7)
    for _ in range(10_000):
        count = int(rng.integers(1, 60))
        payments = rng.uniform(0.0, 100.0, count).tolist()
        payments[-1] += 1.0
        received = sum(payments) * rng.uniform(0.2, 1.0)
        worth = partial(_beyond, paid=payments, received=received)
        assert internal_rate(received, payments) == pytest.approx(
            brentq(worth, -1e-9, 1e3, xtol=1e-15, rtol=1e-15), rel=1e-9, abs=1e-12
        )


@given(st.integers(1, 24), st.sampled_from([7, 14, 30]), st.floats(1.0, 400.0))
def test_what_is_paid_in_all_at_a_rate_has_that_rate(count: int, days: int, apr: float) -> None:
    periods = Periods(count * days, days)
    for kind in AprKind:
        total = round(periods.total_share(kind, apr) * 10**9)
        rates = periods.aprs(Terms(10**9, 10**9, 0, 0, total))
        assert rates.by(kind) == pytest.approx(apr, abs=0.011)


# ------------------------------------------------------------------------ schedules


@given(tariffs(), PROBABILITIES, AMOUNTS)
def test_payments_add_up_to_the_smallest_unit(
    drawn: tuple[Tariff, Repayment, Caps, int], probability: Probability, amount: int
) -> None:
    tariff, repayment, _, units = drawn
    said = tariff.schedule(probability, amount)

    def whole(money: float) -> int:
        assert money * units == pytest.approx(round(money * units), abs=1e-6)
        return round(money * units)

    sums = {
        name: sum(whole(getattr(one, name)) for one in said.payments)
        for name in ("amount", "principal", "interest", "fee")
    }
    assert sums["amount"] == whole(said.total)
    assert sums["interest"] == whole(said.interest)
    assert sums["principal"] + sums["fee"] + sums["interest"] == sums["amount"]
    assert whole(said.received) + whole(said.fee) + whole(said.interest) == whole(said.total)
    assert sums["fee"] == (0 if repayment.fees is Fees.DEDUCTED else whole(said.fee))
    assert sums["principal"] == amount * units
    assert all(min(msgspec.structs.astuple(one)) >= 0.0 for one in said.payments)
    assert {one.amount for one in said.payments[:-1]} <= {said.payments[0].amount}
    assert [one.day for one in said.payments][-1] == tariff.term_days
    assert 0.0 <= said.tax <= said.fee


@given(tariffs(), PROBABILITIES, AMOUNTS)
def test_no_price_breaks_a_cap_by_its_own_definition(
    drawn: tuple[Tariff, Repayment, Caps, int], probability: Probability, amount: int
) -> None:
    tariff, repayment, caps, units = drawn
    if repayment.fees is Fees.DEDUCTED and units == 1:
        return  # a whole unit of a small loan's fee may be more than a policy would let pass
    said = tariff.schedule(probability, amount)
    quote = tariff.quote(probability, amount)
    assert quote.aprs is not None
    assert quote.aprs.by(repayment.capped_apr) <= caps.apr_max
    if caps.charges_max is not None:
        assert said.total - said.received <= caps.charges_max * amount + 1e-6
    assert quote.apr == quote.aprs.by(repayment.shown_apr)


@given(tariffs(), PROBABILITIES, AMOUNTS)
def test_the_parts_of_a_price_are_the_price(
    drawn: tuple[Tariff, Repayment, Caps, int], probability: Probability, amount: int
) -> None:
    quote = drawn[0].quote(probability, amount)
    assert sum(msgspec.structs.astuple(quote.price)) == pytest.approx(quote.apr, abs=1e-9)


@given(tariffs(), PROBABILITIES, st.floats(10.0, 1e6), st.integers(1, 500))
@example(  # of so little that the fee kept back is more than the cap leaves: 5 are due for 5
    (
        Tariff(CHEAP, TIGHT, 7, Repayment(fees=Fees.DEDUCTED, saving=0.0), 1),
        Repayment(fees=Fees.DEDUCTED, saving=0.0),
        TIGHT,
        1,
    ),
    Probability(0.0),
    16.0,
    1,
)
def test_no_payment_is_beyond_the_room_of_its_days_nor_too_large_a_share(
    drawn: tuple[Tariff, Repayment, Caps, int], probability: Probability, inflow: float, step: int
) -> None:
    tariff, repayment, _, _ = drawn
    room = 0.3 * inflow
    amount = tariff.largest(probability, tariff.room(room, inflow), 1_000 * step, step)
    if amount <= 0:
        return
    payments = [one.amount for one in tariff.schedule(probability, amount).payments]
    if repayment.kind is Kind.INSTALMENTS:
        within = room * repayment.every_days / 30
    else:
        months = max(tariff.term_days, 30) / 30
        within = room * (1.0 + repayment.saving * (months - 1.0))
    assert max(payments) <= within * (1.0 + 1e-9)
    if repayment.payment_share_max is not None:
        assert max(payments) <= repayment.payment_share_max * inflow * (1.0 + 1e-9)


@given(tariffs(), st.tuples(PROBABILITIES, PROBABILITIES), AMOUNTS, st.floats(10.0, 1e5))
def test_more_risk_never_costs_less_nor_carries_more(
    drawn: tuple[Tariff, Repayment, Caps, int],
    risks: tuple[Probability, Probability],
    amount: int,
    room: float,
) -> None:
    tariff, (low, high) = drawn[0], sorted(risks)
    assert tariff.quote(low, amount).apr <= tariff.quote(high, amount).apr
    assert tariff.due_monthly(low, amount) <= tariff.due_monthly(high, amount)
    assert tariff.due_monthly(low, amount) <= tariff.due_monthly(low, amount + 1)
    assert tariff.amount_min(low) <= tariff.amount_min(high) * (1.0 + 1e-9)
    assert tariff.largest(low, room, 10**6, 10) >= tariff.largest(high, room, 10**6, 10)
    assert tariff.amount_max(room) * (1.0 + 1e-9) >= min(tariff.largest(low, room, 10**6, 1), 10**6)


def test_half_as_much_is_owed_so_funding_and_loss_cost_half_as_much() -> None:
    pricing = Pricing(0.5, Money(0.0), 0.0, Apr(12.0), Apr(0.0))
    caps = Caps(Apr(1_000.0), Decision.REVIEW)
    bullet = Tariff(pricing, caps, 360, Repayment())
    monthly = Tariff(pricing, caps, 360, Repayment(kind=Kind.INSTALMENTS))
    assert bullet.schedule(Probability(0.0), 10_000).interest == 1_183.56
    # 13 of 24 months' worth on average.
    assert monthly.schedule(Probability(0.0), 10_000).interest == 641.09
    risky = Probability(0.1)
    once, often = bullet.quote(risky, 10_000), monthly.quote(risky, 10_000)
    assert once.expected_loss == pytest.approx(0.05 * 11_183.56 / 0.95, abs=0.02)
    assert often.expected_loss == pytest.approx(
        0.05 * 13 / 24 * 10_641.09 / (1 - 0.05 * 13 / 24), abs=0.02
    )


def test_a_fee_that_is_deducted_makes_the_same_charges_dearer() -> None:
    pricing = Pricing(0.5, Money(0.0), 0.0, Apr(12.0), Apr(6.0), Money(0.0), 0.03)
    caps = Caps(Apr(1_000.0), Decision.REVIEW)
    added = Tariff(pricing, caps, 90, Repayment(fees=Fees.ADDED, fee_tax=0.2))
    deducted = Tariff(pricing, caps, 90, Repayment(fees=Fees.DEDUCTED, fee_tax=0.2))
    low = Probability(0.02)
    with_fee, without = added.schedule(low, 1_000), deducted.schedule(low, 1_000)
    assert (with_fee.received, with_fee.fee, with_fee.tax) == (1_000.0, 36.0, 6.0)
    assert (without.received, without.fee, without.tax) == (964.0, 36.0, 6.0)
    assert with_fee.payments[0].fee == 36.0
    assert without.payments[0].fee == 0.0
    assert deducted.quote(low, 1_000).apr > added.quote(low, 1_000).apr
