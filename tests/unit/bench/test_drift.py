"""The measurement of drift, in small: what it says of a few streams."""

import pytest

from alama.core.application import read
from alama.core.asked import assumed
from alama.core.assess import assess
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from alama.core.tally import Tally, seen
from alama.platform.files.packaged import builtin
from alama.training.population.people import PopulationOptions, batches
from bench.monitoring.drift import CALM_WINDOWS, People, measure

pytestmark = pytest.mark.long


def test_what_is_measured_is_counted_as_the_service_counts_it() -> None:
    model = ReadyModel(builtin(), "KES")
    policy = ReadyPolicy(default_policy("KES"), model)
    by_service = Tally()
    [batch] = batches(PopulationOptions(250, 12))
    for row in batch.to_pylist():
        said = {field: row[field] for field in PRODUCT.position if row.get(field) is not None}
        application = read(PRODUCT, said)
        assessed = assess(model, policy, application)
        by_service.add(seen(assessed, assumed(policy, application, assessed.card)))
    found = People(model.model, 12).tally(250, None)
    assert set(found.cards) == set(by_service.cards) == {"compact", "full"}
    for name, card in by_service.cards.items():
        assert (found.cards[name].bands, found.cards[name].steps) == (card.bands, card.steps)


def test_planted_drift_is_told_of_within_two_windows_and_calm_streams_are_silent() -> None:
    shares: list[float] = []
    found = measure(3, 5, lambda share, _: shares.append(share))
    drifted, calm = found["drifted"], found["calm"]
    assert (drifted["runs"], drifted["detected"], drifted["told_too_soon"]) == (3, 3, 0)
    assert drifted["windows_until_told"] == {"2": 3}
    assert drifted["names"]["avg_inflow"] == 3
    assert (calm["runs"], calm["alarms"], calm["windows"]) == (5, 0, 5 * CALM_WINDOWS)
    assert 1_000 * calm["windows"] < calm["scores"] < 1_600 * calm["windows"]
    assert shares[-1] == 1.0
