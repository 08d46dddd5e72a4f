"""The monitoring report, on sums that a test makes up."""

from __future__ import annotations

import pytest

from alama.core.lending import draft
from alama.core.monitoring.figures import Movement, RateVerdict
from alama.core.tally import Tally
from alama.lenders.records import UnknownModel
from alama.monitoring.challengers import Challenger
from alama.monitoring.records import DayTally, KnownRow, RateRow, ScoreCount
from alama.platform.book import Book, Mode
from alama.platform.days import first_day_of
from tests.entries import DEMO, NOON_US
from tests.reports import (
    LATER,
    MODEL,
    OTHER,
    TODAY,
    Kept,
    Registered,
    Sums,
    Tried,
    a_day,
    drifting_windows,
    monitoring,
    repaid,
    report,
    reviewed,
    scored,
)


def test_an_empty_book_has_a_report() -> None:
    found = report(Sums())
    assert found.volume.scores == 0
    assert len(found.volume.days) == 60
    assert found.stability == ()
    assert [one.code for one in found.findings] == ["no_scores"]


def test_a_book_in_which_nothing_answers_names_no_model() -> None:
    found = monitoring(Sums()).report(Book("demo", Mode.LIVE))
    assert found.model is None


def test_decisions_are_counted_by_day_over_all_models() -> None:
    other = DayTally(TODAY, OTHER, a_day(TODAY, 100).tally)
    found = report(Sums(tallies=[a_day(TODAY - 1), a_day(TODAY), other]))
    assert found.volume.scores == 1_100
    assert [one.scores for one in found.volume.days[-2:]] == [500, 600]
    assert sum(found.volume.decisions.values()) == 1_100
    assert found.volume.approval.low < 0.5 < found.volume.approval.high
    assert [(one.id, one.scores) for one in found.other_models] == [(OTHER, 100)]


def test_days_before_the_period_are_not_of_it() -> None:
    found = report(Sums(tallies=[a_day(TODAY - 60), a_day(TODAY - 59)]))
    assert found.volume.scores == 500


def test_the_model_that_answers_is_reported_on_where_it_gave_scores() -> None:
    found = report(scored(days=2))
    assert found.model is not None
    assert (found.model.id, found.model.answers) == (MODEL.id, True)
    assert found.model.hold_out is not None


def test_a_model_that_no_longer_answers_is_reported_on_where_the_new_one_gave_nothing() -> None:
    found = monitoring(scored(days=2), registered=Registered(OTHER)).report(DEMO)
    assert found.model is not None
    assert (found.model.id, found.model.answers) == (MODEL.id, False)


def test_a_model_that_never_answered_here_is_refused() -> None:
    with pytest.raises(UnknownModel) as caught:
        monitoring(scored(days=2)).report(DEMO, model_id=OTHER)
    assert OTHER not in str(caught.value)


def test_loans_count_once_they_have_been_due_as_long_as_makes_a_default() -> None:
    sums = repaid()
    report(sums)
    due_before = TODAY - MODEL.outcome.days_past_due + 1
    assert (DEMO, {MODEL.id: due_before}) in sums.asked
    assert (DEMO, MODEL.id, due_before) in sums.asked


def test_rates_stand_beside_what_was_predicted_by_tier_and_month() -> None:
    found = report(repaid()).rates
    assert [one.tier for one in found.tiers] == ["A", "B", "C", "D"]
    assert {one.rate.verdict for one in found.tiers} == {RateVerdict.AS_PREDICTED}
    worst = found.tiers[-1].rate
    assert (worst.count, worst.defaults, worst.realised) == (1_600, 320, 0.2)
    assert worst.low < 0.2 < worst.high
    assert found.overall.count == sum(one.rate.count for one in found.tiers) == 6_400
    counted = [one.rate.count for one in found.months]
    assert counted == [1_600, 1_600, 1_600, 1_600, 0, 0, 0]
    assert len(found.cells) == 16


def test_more_defaults_than_predicted_are_said_to_be_higher_and_fewer_lower() -> None:
    assert report(repaid(times=1.5)).rates.overall.verdict is RateVerdict.HIGHER
    assert report(repaid(times=0.5)).rates.overall.verdict is RateVerdict.LOWER


def test_of_few_loans_nothing_is_concluded() -> None:
    rows = [RateRow(MODEL.id, 202603, "A", 29, 20, 1.0, 0, 0.0, 0.0)]
    found = report(Sums(rate_rows=rows)).rates
    assert found.overall.verdict is RateVerdict.TOO_FEW


def test_a_month_is_young_while_its_last_loans_may_not_be_mature() -> None:
    months = {one.month: one.young for one in report(repaid()).rates.months}
    # Terms of 60 days, 30 days past due, and it is 15 November: July is over, September is not.
    assert months["2026-06"] is False
    assert months["2026-09"] is months["2026-11"] is True


def test_a_single_long_loan_does_not_keep_a_month_young() -> None:
    sums = repaid()
    sums.term_days = {30: 990, 365: 10}
    assert not report(sums).rates.months[0].young


def test_what_is_not_known_is_not_taken_to_be_good() -> None:
    sums = repaid()
    sums.known_rows = sums.known_rows[:2]
    expected = report(sums).outcomes.expected
    assert (expected.count, expected.of) == (1_600, 6_800)


def test_months_of_which_scores_were_deleted_are_not_expected_to_be_known() -> None:
    sums = repaid()
    sums.known_rows = sums.known_rows[-2:]
    sums.tallies = [a_day(first_day_of(202606), 100), *sums.tallies]
    sums.oldest = first_day_of(202606) + 4
    found = report(sums)
    partial = [one.month for one in found.rates.months if one.partial]
    assert partial == ["2026-06"]
    assert found.outcomes.expected.of == 0
    sums.oldest = first_day_of(202606)
    kept = report(sums)
    assert not any(one.partial for one in kept.rates.months)
    assert (kept.outcomes.expected.count, kept.outcomes.expected.of) == (1_600, 1_750)


def test_a_book_whose_scores_are_all_gone_expects_nothing() -> None:
    sums = repaid()
    sums.oldest = None
    found = report(sums)
    assert found.outcomes.expected.of == found.reviews.left == 0
    assert found.volume.scores == 30_000


def test_what_was_deleted_is_not_among_what_was_left_to_an_officer() -> None:
    sums = scored()
    sums.oldest = TODAY - 9
    assert report(sums).reviews.left == 9 * 125


def test_what_waits_is_of_the_whole_book_whatever_the_period() -> None:
    sums = reviewed(repaid())
    sums.waits = 536
    assert {report(sums, days=days).reviews.waiting for days in (1, 60, 730)} == {536}


def test_the_loss_stands_beside_the_one_that_prices_are_made_with() -> None:
    loss = report(repaid()).outcomes.loss
    assert loss.assumed == draft.default_policy("KES").pricing.loss_given_default
    assert loss.low is not None
    assert loss.high is not None
    assert loss.low < 0.6 < loss.high


def test_the_auc_waits_for_thirty_of_each() -> None:
    few = Sums(scores=[ScoreCount(600, 100, 29, 10.0), ScoreCount(700, 100, 0, 5.0)])
    found = report(few).ranking
    assert (found.auc, found.goods, found.bads) == (None, 171, 29)
    enough = Sums(scores=[ScoreCount(600, 100, 30, 10.0), ScoreCount(700, 100, 0, 5.0)])
    found = report(enough).ranking
    assert found.auc is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.auc < found.high


def test_losses_are_of_defaults_with_both_amounts() -> None:
    loss = report(repaid()).outcomes.loss
    assert (loss.defaults, loss.disbursed, loss.repaid) == (80, 16_000.0, 6_400.0)
    assert loss.share == pytest.approx(0.6)


def test_reviews_have_an_end_and_overrides_go_both_ways() -> None:
    found = report(reviewed(repaid())).reviews
    assert (found.left, found.decided, found.waiting) == (7_500, 7_495, 5)
    assert (found.approved, found.declined, found.confirmed) == (4_700, 2_795, 4)
    assert (found.to_approved, found.to_declined) == (30, 12)
    assert found.reasons[0].reason == "income_verified"
    assert found.reviewed.count == 800
    assert found.overridden.verdict is RateVerdict.AS_PREDICTED


def test_loans_of_other_models_are_not_of_this_one() -> None:
    sums = scored(days=2)
    sums.known_rows = [KnownRow(OTHER, 202603, "APPROVED", "repaid", 7, 0)]
    assert report(sums).outcomes.known == 0


def test_a_new_model_does_not_hide_what_is_known_of_the_one_before() -> None:
    sums = repaid()
    sums.tallies = [one._replace(model_id=LATER.id) for one in sums.tallies]
    found = monitoring(sums, registered=Registered(LATER.id)).report(DEMO)
    assert found.model is not None
    assert (found.model.id, found.model.answers) == (LATER.id, True)
    [before] = found.other_models
    assert (before.id, before.scores, before.loans.count) == (MODEL.id, 0, 6_400)
    assert before.loans.verdict is RateVerdict.AS_PREDICTED
    [said] = [one for one in found.findings if one.code == "other_model"]
    assert "6,400 mature loans are of an earlier model, and default as it predicted" in said.says
    assert f"`GET /v1/monitoring?model={MODEL.id}`" in said.advice


def test_a_model_that_once_answered_may_be_asked_for_though_nothing_is_left_of_it() -> None:
    asked = monitoring(scored(days=2), registered=Registered(None, OTHER))
    found = asked.report(DEMO, model_id=OTHER)
    assert (found.rates.overall.count, found.stability) == (0, ())


def test_a_challenger_that_runs_is_hinted_at_and_one_that_ended_is_not() -> None:
    running = Challenger(DEMO, OTHER, NOON_US, "W. Mutua", "a trial", "", scored=12)
    ended = running._replace(ended_us=NOON_US)
    found = monitoring(scored(days=2), tried=Tried(ended, running)).report(DEMO)
    assert found.challenger is not None
    assert (found.challenger.id, found.challenger.scored) == (OTHER, 12)
    assert "challenger" in [one.code for one in found.findings]
    assert monitoring(Sums(), tried=Tried(ended)).report(DEMO).challenger is None


def test_a_challenger_that_answers_itself_by_now_is_to_be_ended() -> None:
    running = Challenger(DEMO, MODEL.id, NOON_US, "W. Mutua", "a trial", "", scored=12)
    found = monitoring(Sums(), tried=Tried(running)).report(DEMO)
    [finding] = [one for one in found.findings if one.code == "challenger"]
    assert finding.says.startswith("The challenger answers in this book itself now")
    assert finding.advice == "End it."


# ------------------------------------------------------------------------------ stability


def test_applicants_as_in_training_are_steady() -> None:
    (card,) = report(scored()).stability
    assert (card.scores, card.compared) == (30_000, 30_000)
    assert {one.verdict for one in (card.score, *card.fields)} == {Movement.STEADY}
    assert sum(band.now for band in card.score.bands) == pytest.approx(1.0)


def test_a_field_that_moved_comes_first_with_its_bands() -> None:
    (card,) = report(scored(halved=0.66)).stability
    first = card.fields[0]
    assert (first.name, first.verdict) == ("avg_inflow", Movement.MOVED)
    assert first.psi > first.limit
    assert first.bands[-1].is_missing
    assert sum(band.now for band in first.bands) == pytest.approx(1.0)
    assert sum(band.training for band in first.bands) == pytest.approx(1.0)
    assert sum(bool(one.bands) for one in card.fields) == 4


def test_what_is_over_in_the_last_two_windows_has_drifted() -> None:
    found = report(scored(halved=0.66), drifting_windows())
    (card,) = found.stability
    assert card.fields[0].verdict is Movement.DRIFTED
    assert [one.over for one in card.windows] == [(), ("avg_inflow",), ("avg_inflow",)]
    assert found.findings[0].code == "drifted"


def test_windows_from_before_the_period_say_nothing_of_it() -> None:
    sums = Sums(tallies=[a_day(TODAY)])
    (card,) = monitoring(sums, drifting_windows()).report(DEMO, days=1).stability
    assert {one.verdict for one in card.fields} == {Movement.STEADY}


def test_one_window_over_its_limit_is_not_drift() -> None:
    *_, last = drifting_windows().windows(DEMO, MODEL.id, "full", 3)
    (card,) = report(scored(halved=0.66), Kept(last)).stability
    assert card.fields[0].verdict is Movement.MOVED


def test_a_day_of_few_shows_no_bands_whether_it_was_folded_already_or_not() -> None:
    parts = [a_day(TODAY - 1, 8), a_day(TODAY, 15), a_day(TODAY, 15)]
    folded = Tally()
    for part in parts[1:]:
        folded.merge(part.tally)
    few = a_day(TODAY - 1, 8)
    few.tally.drop_small()
    found = report(Sums(tallies=parts))
    assert found == report(Sums(tallies=[few, DayTally(TODAY, MODEL.id, folded)]))
    (card,) = found.stability
    assert (card.scores, card.compared) == (38, 30)


def test_parts_of_two_models_on_a_day_are_not_put_together() -> None:
    parts = [
        DayTally(TODAY, one, a_day(TODAY, 15).tally) for one in (MODEL.id, MODEL.id, OTHER, OTHER)
    ]
    found = report(Sums(tallies=parts))
    assert [card.compared for card in found.stability] == [30]
    assert found.volume.scores == 60


def test_a_window_has_its_own_limits() -> None:
    (card,) = report(scored(halved=0.66), drifting_windows()).stability
    assert card.windows[0].limit == {"score": 0.1, "avg_inflow": 0.1}


def test_a_card_whose_bands_were_dropped_is_told_without_them() -> None:
    day = a_day(TODAY, 10)
    day.tally.drop_small()
    (card,) = report(Sums(tallies=[day])).stability
    assert (card.scores, card.compared) == (10, 0)
    assert all(not one.bands for one in card.fields)
