"""What several fields mend together, and where a loan is found as one of them moves."""

from collections.abc import Mapping
from typing import Any

import pytest

from alama.core.application import read
from alama.core.assess import assess
from alama.core.lending.policy import Decision
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.recourse.answer import ScoreAtLeast, Sought, Status
from alama.core.recourse.find import find_recourse
from alama.core.recourse.ready import ReadyRecourse
from tests.policies import with_parts
from tests.unit.core.recourse.advised import (
    GOOD,
    MODEL,
    POLICY,
    POOR,
    advice,
    by_rule,
    find,
    sent_again,
)


@pytest.mark.parametrize(
    ("sent", "cost_max"),
    [
        (
            {
                "mm_months": 64,
                "avg_inflow": 14_000,
                "avg_outflow": 41_700,
                "avg_balance": 1_448,
                "balance_stability": 0.58,
                "counterparties": 10,
                "airtime_regularity": 0.55,
                "requested_amount": 2_000,
                "requested_term_days": 60,
            },
            0.53,
        ),
        (
            {
                "mm_months": 36,
                "avg_inflow": 16_700,
                "avg_outflow": 38_630,
                "avg_balance": 1_825,
                "balance_stability": 0.57,
                "counterparties": 25,
                "airtime_regularity": 0.84,
                "requested_amount": 2_000,
                "requested_term_days": 60,
            },
            0.29,
        ),
    ],
)
def test_what_neither_of_two_fields_can_mend_alone_both_can(
    sent: Mapping[str, Any], cost_max: float
) -> None:
    # Spending may be one and a half times the inflow; it is more than twice as much.
    (one,) = find(sent, count=1).counterfactuals
    assert {"avg_inflow", "avg_outflow"} <= set(advice(one))
    assert one.cost <= cost_max
    sent_again(sent, one)


def test_a_rule_on_two_fields_is_met_by_some_of_both_where_neither_is_enough() -> None:
    ready = by_rule("avg_outflow > 0.5 * avg_inflow")
    told = find(GOOD, ready, count=1)
    (one,) = told.counterfactuals
    assert {"avg_inflow", "avg_outflow"} <= set(advice(one))
    sent_again(GOOD, one, ready)


def test_a_rule_on_four_fields_is_decided_in_time() -> None:
    ready = by_rule("avg_outflow + requested_amount * 30 / requested_term_days > 0.7 * avg_inflow")
    looks = iter(range(2_000))
    application = read(MODEL.catalogue, GOOD)
    told = find_recourse(ready, application, Sought(), lambda: next(looks, None) is None)
    assert told.optimal
    assert told.status is Status.FOUND
    for one in told.counterfactuals:
        sent_again(GOOD, one, ready)


def test_an_inflow_grows_until_a_loan_pays_for_itself() -> None:
    policy = with_parts(
        POLICY,
        caps={"apr_max": 30.0, "below_break_even": Decision.DECLINED},
        pricing={"cost_per_loan": 60.0},
    )
    ready = ReadyRecourse(ReadyPolicy(policy, MODEL))
    sent = {**GOOD, "existing_repayments": 8_200}
    said = assess(MODEL, ready.policy, read(MODEL.catalogue, sent))
    assert said.rules == ("below_break_even",), "a smaller loan could be repaid, but loses money"
    (one,) = find(sent, ready, locked=set(sent) - {"avg_inflow"}, count=1).counterfactuals
    assert advice(one) == {"avg_inflow": 24_500.0}
    sent_again(sent, one, ready)
    less = read(MODEL.catalogue, {**sent, "avg_inflow": 24_450.0})
    assert assess(MODEL, ready.policy, less).rules == ("below_break_even",)


def test_shares_move_in_whole_hundredths() -> None:
    sent = {**POOR, "airtime_regularity": 0.0, "balance_stability": 0.004}
    for score in range(560, 700, 20):
        for one in find(sent, goal=ScoreAtLeast(score), count=5).counterfactuals:
            for name in {"airtime_regularity", "balance_stability"} & set(advice(one)):
                assert advice(one)[name] == round(advice(one)[name], 2)
