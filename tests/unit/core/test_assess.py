from typing import Any

import msgspec
import pytest

from alama.core import calibration
from alama.core.application import read
from alama.core.assess import Assessment, assess, explain_score
from alama.core.model import ReadyModel
from alama.core.offer import ReadyPolicy
from alama.core.policy import Decision, default_policy
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
    said = explain_score(READY, read(PRODUCT, {**CORE, "region": "alpha", "avg_balance": 300.0}))
    sizes = [abs(c.points) for c in said.contributions]
    assert sizes == sorted(sizes, reverse=True)
    assert said.base + sum(c.points for c in said.contributions) == said.points


def test_score_and_probability_are_those_of_the_points() -> None:
    said = explain_score(READY, read(PRODUCT, CORE))
    assert said.score == calibration.shown_score(said.points)
    assert said.default_probability == calibration.shown_probability(said.points)


def test_each_feature_of_the_card_is_explained_under_the_name_the_caller_used() -> None:
    said = explain_score(READY, read(PRODUCT, CORE))
    assert said.card == "compact"
    assert {c.feature for c in said.contributions} == set(CORE)
    full = explain_score(READY, read(PRODUCT, {**CORE, "region": "alpha"}))
    assert len(full.contributions) == 17
    assert {"monthly_inflow", "region", "avg_balance"} <= {c.feature for c in full.contributions}


def test_a_contribution_carries_the_value_it_explains() -> None:
    said = explain_score(READY, read(PRODUCT, CORE))
    values = {c.feature: c.value for c in said.contributions}
    assert values["mobile_money_months"] == 24


def test_an_assessment_is_the_explained_score_and_what_the_policy_makes_of_it() -> None:
    application = read(PRODUCT, {**CORE, "region": "alpha", "requested_amount": 4_000})
    said = assess(READY, ReadyPolicy(default_policy("KES"), READY), application)
    alone = explain_score(READY, application)
    assert {
        name: getattr(said, name) for name in alone.__struct_fields__
    } == msgspec.structs.asdict(alone)
    assert (said.tier, said.decision) == ("E", Decision.DECLINED)
    assert said.offer.limit == 0


def test_an_assessment_can_be_written_down_and_read_back() -> None:
    said = assess(READY, ReadyPolicy(default_policy("KES"), READY), read(PRODUCT, CORE))
    assert msgspec.json.decode(msgspec.json.encode(said), type=Assessment) == said


def test_a_policy_laid_out_for_another_model_is_a_defect_of_the_caller() -> None:
    other = ReadyPolicy(default_policy("KES"), ReadyModel(a_model(seed=2)))
    with pytest.raises(AssertionError):
        assess(READY, other, read(PRODUCT, CORE))
