"""What a report says in words: only what stands out, the most urgent first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from alama.core.monitoring.figures import (
    COUNT_MIN,
    Loss,
    MonitoringReport,
    RateVerdict,
    TierRate,
    Urgency,
)
from alama.core.monitoring.findings import findings
from alama.core.monitoring.rates import Loans, proportion, rate, together, verdict, wilson
from tests.reports import repaid, report, reviewed, scored, states


def codes(found: MonitoringReport) -> list[str]:
    return [one.code for one in findings(found)]


@pytest.fixture(scope="module")
def healthy() -> MonitoringReport:
    return states()["healthy"]


def test_where_nothing_stands_out_that_is_said_first(healthy: MonitoringReport) -> None:
    first = findings(healthy)[0]
    assert (first.code, first.urgency) == ("all_well", Urgency.NOTE)
    assert "9.2% of 6,400 mature loans" in first.says


def test_the_most_urgent_comes_first() -> None:
    told = [one.urgency for one in states()["troubled"].findings]
    assert told == sorted(told, key=list(Urgency).index)
    assert told[0] is Urgency.ACT


def test_every_finding_says_what_to_do() -> None:
    for found in states().values():
        for one in found.findings:
            assert one.says.endswith(".")
            assert one.advice.endswith(".")


def test_more_defaults_than_predicted_are_urgent_and_fewer_are_not() -> None:
    assert codes(report(reviewed(repaid(times=1.5))))[0] == "defaults_higher"
    lower = findings(report(reviewed(repaid(times=0.5))))[0]
    assert (lower.code, lower.urgency) == ("defaults_lower", Urgency.WATCH)


@pytest.mark.parametrize(("defaults", "urgency"), [(11_000, Urgency.ACT), (10_850, Urgency.WATCH)])
def test_more_defaults_are_urgent_from_a_tenth_of_the_odds_on(
    healthy: MonitoringReport, defaults: int, urgency: Urgency
) -> None:
    # Of so many loans a small difference is no chance either: 10.0 % was predicted.
    many = replace(healthy.rates, overall=rate(Loans(100_000, defaults, 10_000.0)))
    [found] = [
        one for one in findings(replace(healthy, rates=many)) if one.code == "defaults_higher"
    ]
    assert found.urgency is urgency


def test_drift_is_told_of_the_last_window_by_its_days() -> None:
    first = states()["troubled"].findings[0]
    assert first.says == (
        "On the card full, avg_inflow (PSI 0.41) has drifted: in the last window, "
        "5 to 14 November, it was over the limit, as in the one before it."
    )


def test_recalibrating_is_advised_after_a_look_at_what_drifted() -> None:
    advice = {
        state: one.advice
        for state, found in (
            ("steady", report(reviewed(repaid(times=1.5)))),
            ("drifted", states()["troubled"]),
        )
        for one in findings(found)
        if one.code == "defaults_higher"
    }
    assert advice["steady"].startswith("Recalibrating moves the level")
    assert advice["drifted"].startswith("See first what has drifted")
    assert "Then recalibrating moves the level" in advice["drifted"]


def test_only_where_enough_is_compared_applicants_are_said_to_be_as_in_training(
    healthy: MonitoringReport,
) -> None:
    (card,) = healthy.stability
    few = replace(healthy, stability=(replace(card, compared=999),))
    fewer = replace(healthy, stability=(replace(card, compared=0, scores=999),))
    said = [findings(one)[0].says for one in (healthy, few, fewer)]
    assert "Applicants look as in training, and loans" in said[0]
    assert "Scores are as in training, though too few a day" in said[1]
    assert "There are too few scores to compare" in said[2]


def test_a_tier_alone_is_named_where_the_whole_is_as_predicted(healthy: MonitoringReport) -> None:
    worse = TierRate("B", rate(Loans(1_600, 140, 80.0)))
    tiers = (healthy.rates.tiers[0], worse, *healthy.rates.tiers[2:])
    found = findings(replace(healthy, rates=replace(healthy.rates, tiers=tiers)))
    (said,) = [one for one in found if one.code == "tier_higher"]
    assert "tier B (8.8% against 5.0%)" in said.says


def test_one_tier_of_many_just_outside_its_interval_is_chance(healthy: MonitoringReport) -> None:
    count, defaults = 1_600, 100
    just_below = wilson(defaults, count).low * count - 0.5
    odd = TierRate("B", rate(Loans(count, defaults, just_below)))
    assert odd.rate.verdict is RateVerdict.HIGHER
    tiers = (healthy.rates.tiers[0], odd, *healthy.rates.tiers[2:])
    assert "tier_higher" not in codes(replace(healthy, rates=replace(healthy.rates, tiers=tiers)))


def test_a_score_that_hardly_ranks_is_urgent(healthy: MonitoringReport) -> None:
    flat = replace(healthy, ranking=replace(healthy.ranking, auc=0.55, low=0.52, high=0.58))
    assert codes(flat)[0] == "ranks_hardly"


def with_loss(
    report: MonitoringReport, share: float, low: float | None, assumed: float | None = 0.6
) -> MonitoringReport:
    high = None if low is None else 2 * share - low
    loss = Loss(500, 1_000.0, 1_000.0 * (1 - share), share, low, high, assumed)
    return replace(report, outcomes=replace(report.outcomes, loss=loss))


def test_losses_above_those_assumed_are_said_with_what_to_do(healthy: MonitoringReport) -> None:
    found = with_loss(healthy, 0.658, 0.63)
    one = findings(found)[0]
    assert (one.code, one.urgency) == ("losses_higher", Urgency.WATCH)
    assert "65.8% of what was paid out on 500 defaults (63.0% to 68.6%)" in one.says
    assert "60.0% of what is due. Prices are too low" in one.says
    assert "`loss_given_default` under `[pricing]`" in one.advice
    assert "all_well" not in codes(found)
    assert findings(with_loss(healthy, 0.67, 0.63))[0].urgency is Urgency.ACT


@pytest.mark.parametrize(
    ("share", "low", "assumed"),
    [(0.658, 0.59, 0.6), (0.658, 0.6, 0.6), (0.9, None, 0.6), (0.9, 0.8, None), (0.3, 0.2, 0.6)],
)
def test_losses_that_chance_explains_or_that_look_smaller_are_not_said(
    healthy: MonitoringReport, share: float, low: float | None, assumed: float | None
) -> None:
    assert codes(with_loss(healthy, share, low, assumed))[0] == "all_well"


def test_that_few_outcomes_are_known_is_said(healthy: MonitoringReport) -> None:
    outcomes = replace(healthy.outcomes, expected=proportion(700, 1_000))
    assert "few_known" in codes(replace(healthy, outcomes=outcomes))


def test_many_overrides_are_said(healthy: MonitoringReport) -> None:
    often = replace(healthy.reviews, to_declined=healthy.volume.scores // 10)
    assert "many_overrides" in codes(replace(healthy, reviews=often))


def test_reviews_that_wait_are_said_and_a_handful_are_not(healthy: MonitoringReport) -> None:
    sums = scored()
    sums.waits = 536
    (waits,) = [one for one in findings(report(sums)) if one.code == "reviews_wait"]
    assert waits.says.startswith("536 scores ")
    assert "`GET /v1/scores?waiting=true`" in waits.advice
    assert "`POST /v1/scores/{request_id}/review`" in waits.advice
    assert healthy.reviews.waiting == 5
    assert "reviews_wait" not in codes(healthy)


# ------------------------------------------------------------------------------- figures


@given(
    st.integers(COUNT_MIN, 10_000).flatmap(
        lambda count: st.tuples(st.just(count), st.integers(0, count), st.floats(0.0, float(count)))
    )
)
def test_a_verdict_says_where_the_prediction_lies(counted: tuple[int, int, float]) -> None:
    loans = Loans(*counted)
    found = rate(loans)
    assert found.realised is not None
    assert found.predicted is not None
    assert found.low <= found.realised <= found.high
    inside = found.low <= found.predicted <= found.high
    assert (found.verdict is RateVerdict.AS_PREDICTED) == inside
    # A level that allows for more chance never concludes more.
    if inside:
        assert verdict(loans, 0.999) is RateVerdict.AS_PREDICTED


def test_loans_together_are_their_sums() -> None:
    assert together([Loans(2, 1, 0.5), Loans(), Loans(3, 0, 0.25)]) == Loans(5, 1, 0.75)


def test_a_share_of_nothing_is_none() -> None:
    nothing = proportion(0, 0)
    assert (nothing.share, nothing.low, nothing.high) == (None, 0.0, 1.0)
