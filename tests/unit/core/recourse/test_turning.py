"""Where a policy changes its mind as one field moves."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from alama.core import calibration
from alama.core.application import Value, read
from alama.core.lending.draft import default_policy
from alama.core.lending.offer import owed_monthly, room_monthly
from alama.core.lending.policy import Decision, OwnRule, Policy
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from alama.core.recourse import turning
from alama.core.recourse.values import Edge, above, below
from alama.core.units import Points
from tests.factories import a_model

MODEL = ReadyModel(a_model())
CORE = {"mm_months": 12, "avg_inflow": 10_000, "balance_stability": 0.5, "airtime_regularity": 0.5}
VALUES = read(PRODUCT, {**CORE, "avg_outflow": 16_000, "existing_repayments": 1_000}).values


def turns(*rules: str) -> turning.Turns:
    own = tuple(OwnRule(f"rule_{n}", rule, Decision.REVIEW) for n, rule in enumerate(rules))
    return turning.Turns(ReadyPolicy(policy(rules=own), MODEL))


def policy(**changes: Any) -> Policy:
    return seal(msgspec.structs.replace(default_policy("KES"), **changes))


def relative(found: turning.Turns, name: str, *ends: float) -> list[Edge]:
    return list(found.relative(VALUES, name, PRODUCT.position[name], ends))


@pytest.mark.parametrize(
    "rule",
    [
        "mm_months < 6",
        "6 > mobile_money_months",
        "not (mm_months >= 6)",
        "avg_inflow < 5 or (region == 'nairobi' and mm_months == 6)",
        "mm_months in [6]",
    ],
)
def test_a_number_that_a_field_is_compared_with_is_an_edge_on_both_sides(rule: str) -> None:
    assert turns(rule).constants("mm_months") == [below(6), above(6)]


def test_a_field_that_no_rule_reads_has_no_edges() -> None:
    found = turns("mm_months < 6", "avg_outflow / avg_inflow > 1.3")
    assert found.constants("counterparties") == ()
    assert relative(found, "counterparties", 0.0, 1e6) == []


def test_a_comparison_of_fields_turns_where_it_does_as_the_others_stand() -> None:
    found = turns("avg_outflow / avg_inflow > 1.25")
    assert found.constants("avg_inflow") == ()
    assert relative(found, "avg_inflow", 15_000.0) == [below(12_800.0)]
    assert relative(found, "avg_outflow", 8_000.0) == [above(12_500.0)]
    assert relative(found, "avg_inflow", 12_000.0) == [], "it does not turn before the end"


def test_a_turn_is_found_where_nothing_bounds_the_change() -> None:
    (edge,) = relative(turns("avg_outflow > 2 * avg_inflow"), "avg_outflow", float("inf"))
    assert edge == (math.nextafter(20_000.0, math.inf), 0.0)


def test_the_fields_of_each_rule_are_known_by_their_own_names() -> None:
    found = turns("monthly_inflow < 5", "region == 'x' and mm_months < 3")
    assert found.fields_read == (frozenset({"avg_inflow"}), frozenset({"region", "mm_months"}))


# ------------------------------------------------------------------------------- money


def ready(values: Sequence[Value] = VALUES) -> tuple[ReadyPolicy, Sequence[Value]]:
    return ReadyPolicy(default_policy("KES"), MODEL), values


def test_an_inflow_edge_just_carries_the_smallest_loan_in_its_tier() -> None:
    lender, values = ready()
    points = Points(620.0)
    edges = [edge for edge, _ in turning.inflow_edges(lender, values, points)]
    assert len(edges) == 6, "at the foot of each approved tier, and at the points of today"
    place = lender.inflow_place
    for inflow, tier in zip(edges[1::2], turning.approving(lender), strict=True):
        row = [*values[:place], inflow, *values[place + 1 :]]
        room = room_monthly(tier, inflow, owed_monthly(lender, row, inflow))
        due = min(
            t.due_monthly(calibration.shown_probability(points), lender.limit_step)
            for t in lender.tariffs
        )
        assert room == pytest.approx(due)
        assert turning.carries_a_loan(lender, room, inflow)
        assert not turning.carries_a_loan(lender, room * 0.7, inflow)


def test_what_is_due_elsewhere_may_take_what_the_smallest_loan_leaves() -> None:
    lender, values = ready()
    best = turning.approving(lender)[0]
    most, _ = next(turning.existing_edges(lender, values, Points(620.0)))
    assert 0.9 * best.inflow_share * 10_000 < most < best.inflow_share * 10_000


def test_spending_turns_at_the_ratio_of_the_policy() -> None:
    lender, values = ready()
    outflow = PRODUCT.position["avg_outflow"]
    assert list(turning.spending_edges(lender, values, outflow, outflow)) == [above(15_000.0)]
    (edge,) = turning.spending_edges(lender, values, lender.inflow_place, outflow)
    assert edge[0] == pytest.approx(16_000 / 1.5)
    assert 1.5 * edge[0] >= 16_000
    assert not list(turning.spending_edges(lender, values, 0, outflow))
    silent = read(PRODUCT, CORE).values
    assert not list(turning.spending_edges(lender, silent, lender.inflow_place, outflow))
