from typing import Any

from alama.core import calibration
from alama.core.application import read
from alama.core.assess import assess
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from tests.factories import a_model

READY = ReadyModel(a_model(seed=1))
CORE: dict[str, Any] = {
    "mobile_money_months": 24,
    "monthly_inflow": 18_500.0,
    "stability_score": 0.7,
    "airtime_regularity": 0.8,
}


def test_contributions_come_largest_first_and_sum_to_the_points() -> None:
    said = assess(READY, read(PRODUCT, {**CORE, "region": "alpha", "avg_balance": 300.0}))
    sizes = [abs(c.points) for c in said.contributions]
    assert sizes == sorted(sizes, reverse=True)
    assert said.base + sum(c.points for c in said.contributions) == said.points


def test_score_and_probability_are_those_of_the_points() -> None:
    said = assess(READY, read(PRODUCT, CORE))
    assert said.score == calibration.shown_score(said.points)
    assert said.default_probability == calibration.shown_probability(said.points)


def test_each_feature_of_the_card_is_explained_under_the_name_the_caller_used() -> None:
    said = assess(READY, read(PRODUCT, CORE))
    assert said.card == "compact"
    assert {c.feature for c in said.contributions} == set(CORE)
    full = assess(READY, read(PRODUCT, {**CORE, "region": "alpha"}))
    assert len(full.contributions) == 17
    assert {"monthly_inflow", "region", "avg_balance"} <= {c.feature for c in full.contributions}


def test_a_contribution_carries_the_value_it_explains() -> None:
    said = assess(READY, read(PRODUCT, CORE))
    values = {c.feature: c.value for c in said.contributions}
    assert values["mobile_money_months"] == 24
