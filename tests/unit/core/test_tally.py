from typing import Any

import msgspec
import pytest

from alama.core import tally
from alama.core.application import read
from alama.core.asked import assumed
from alama.core.assess import Assessment, assess
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from alama.core.tally import CardTally, Tally, seen
from alama.platform.files.packaged import builtin

READY = ReadyModel(builtin(), "KES")
POLICY = ReadyPolicy(default_policy("KES"), READY)
CORE: dict[str, Any] = {
    "mm_months": 24,
    "avg_inflow": 18_500.0,
    "balance_stability": 0.7,
    "airtime_regularity": 0.8,
}


def said_of(**more: object) -> Assessment:
    return assess(READY, POLICY, read(PRODUCT, {**CORE, **more}))


def test_an_assessment_tells_the_band_of_each_feature_in_the_order_of_its_card() -> None:
    said = said_of(region="a place nobody has heard of")
    card = READY.scorecards[-1].card
    features = {feature.field: feature for feature in card.features}
    slots = dict(zip(features, said.slots, strict=True))
    assert slots["avg_balance"] == 0
    assert slots["region"] == len(features["region"].main) - 1  # any other word
    cuts, slot = features["mm_months"].cuts, slots["mm_months"]
    assert cuts[slot - 2] <= 24 < cuts[slot - 1]


def test_the_bands_of_the_loan_are_those_of_the_loan_that_was_scored() -> None:
    said = said_of(region="nairobi")
    fields = READY.scorecards[-1].fields
    assert (
        said.slots[fields.index("requested_amount")] != 0
    )  # the standard loan, where none is asked


@pytest.mark.parametrize(
    ("loan", "missing"),
    [
        ({}, ["requested_amount", "requested_term_days"]),
        ({"requested_amount": 4_000.0}, ["requested_term_days"]),
        ({"requested_term_days": 30}, ["requested_amount"]),
        ({"requested_amount": 4_000.0, "requested_term_days": 30}, []),
    ],
)
def test_a_loan_that_nobody_named_is_counted_as_missing_though_a_standard_one_was_scored(
    loan: dict[str, Any], missing: list[str]
) -> None:
    application = read(PRODUCT, {**CORE, "region": "nairobi", **loan})
    said = assess(READY, POLICY, application)
    counted = seen(said, assumed(POLICY, application, said.card)).slots
    fields = READY.scorecards[-1].fields
    loan_fields = ("requested_amount", "requested_term_days")
    assert [name for name in loan_fields if counted[fields.index(name)] == 0] == missing
    others = [at for at, name in enumerate(fields) if name not in missing]
    assert [counted[at] for at in others] == [said.slots[at] for at in others]


def test_of_a_card_that_reads_no_loan_nothing_is_assumed() -> None:
    assert not assumed(POLICY, read(PRODUCT, CORE), said_of().card)


def test_a_score_on_an_edge_is_counted_with_those_above_it() -> None:
    said = said_of()
    total = Tally()
    for score in (300, 304, 305, 850):
        total.add(seen(msgspec.structs.replace(said, score=score)))
    assert [(at, n) for at, n in enumerate(total.steps) if n] == [(0, 2), (1, 1), (110, 1)]


def test_edges_of_the_reference_and_cut_offs_of_the_default_policy_fall_between_steps() -> None:
    edges = [edge for reference in builtin().references for edge in reference.score_edges]
    cut_offs = [tier.score_min for tier in default_policy("KES").tiers]
    assert all((at - 300) % tally.SCORE_STEP == 0 for at in [*edges, *cut_offs] if at)


def test_a_record_that_does_not_tell_its_bands_cannot_be_counted() -> None:
    with pytest.raises(AssertionError):
        seen(msgspec.structs.replace(said_of(), slots=()))


def test_tallies_of_cards_with_different_features_do_not_add_up() -> None:
    one, other = CardTally(), CardTally()
    one.add(seen(said_of()))
    other.add(seen(said_of(region="nairobi")))
    with pytest.raises(ValueError, match="zip"):
        one.merge(other)
