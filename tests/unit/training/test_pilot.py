"""A lender's history becomes a candidate; each fault is stopped by the gate made for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree as ET

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from alama.core import kernel, model
from alama.core.errors import TrainingProblem
from alama.core.product import PRODUCT
from alama.core.tables import Card
from alama.training.history.loans import History, Options
from alama.training.history.report import Standing, Suspect
from alama.training.pilot import Candidate, PilotOrder, split_history, train_pilot
from alama.training.population.people import PopulationOptions
from alama.training.validation import pack as packs
from alama.training.validation.figures import served_points
from alama.training.validation.gates import Gate
from alama.training.validation.pack_page import pack_page
from alama.training.validation.stability import LATELY_DAYS
from alama.training.validation.tiers import Light
from bench.pilot.loans import loan_table
from tests.coarse import coarse_training
from tests.patterned import QUICK, unwatched
from tests.pilots import SEED, TERMS, TODAY, blocked, judged_again, lean, policy_for, read_loans

POPULATION = PopulationOptions(rows=8_000, seed=3)
ORDER = PilotOrder(
    name="pilot",
    currency="KES",
    days_past_due=30,
    seed=SEED,
    jobs=1,
    recipe=QUICK,
)
DOUBLE_THE_ODDS_POINTS = 40.0

# One worker trains once for all of them.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("pilot")]


@pytest.fixture(scope="module", autouse=True)
def coarse() -> Iterator[None]:
    """No test here is about how finely a model is made."""
    with coarse_training():
        yield


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    return read_loans(tmp_path_factory.mktemp("pilot"), loan_table(POPULATION))


@pytest.fixture(scope="module")
def shares() -> list[float]:
    """What a progress bar heard while the candidate was made."""
    return []


@pytest.fixture(scope="module")
def candidate(history: History, shares: list[float]) -> Candidate:
    def watch(_stage: str, share: float, _note: str) -> None:
        shares.append(share)

    fine = replace(ORDER, recipe=replace(QUICK, folds=4))  # enough to pass every gate
    return train_pilot(history, fine, watch, None, policy_for)


def test_a_sound_history_passes_every_gate(candidate: Candidate) -> None:
    assert candidate.pack.passed, candidate.pack.blocked_by
    asked = [gate for gate in Gate if gate is not Gate.REFIT]  # which is of a refit alone
    assert [gate.name for gate in candidate.pack.gates] == asked


def test_the_candidate_is_a_sound_model_of_the_products_fields(candidate: Candidate) -> None:
    assert model.decode(model.encode(candidate.model)) == candidate.model
    assert candidate.model.catalogue == PRODUCT, "live requests are read by the product's fields"
    assert [card.name for card in candidate.model.cards] == ["compact", "full"]
    assert set(candidate.model.lineage.metrics) == {"compact", "full", "as served"}
    assert candidate.pack.model_id == candidate.model.id


def test_a_history_that_booked_everyone_leaves_no_trace_of_booking(candidate: Candidate) -> None:
    assert candidate.model.booking == ()
    assert b'"booking"' not in model.encode(candidate.model)
    assert candidate.pack.support is None


def test_region_and_joined_attributes_are_no_inputs(candidate: Candidate) -> None:
    read = {feature.field for card in candidate.model.cards for feature in card.features}
    assert not read & {"region", "gender"}
    compared = {one.name: one for one in candidate.pack.fairness}
    assert set(compared) == {"region", "device_type", "gender"}
    assert not compared["gender"].is_input
    assert compared["device_type"].is_input


def test_the_pack_survives_json_and_its_page_stands_alone(candidate: Candidate) -> None:
    again = msgspec.json.decode(packs.encode(candidate.pack), type=packs.Pack)
    assert again == candidate.pack
    page = pack_page(again, candidate.model)
    assert "Every gate is passed" in page
    assert "<script" not in page
    assert "http://" not in page
    ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314 our own page


def test_the_level_of_the_whole_part_has_an_interval_a_test_and_a_light(
    candidate: Candidate,
) -> None:
    overall, served = candidate.pack.overall, candidate.pack.validation.served
    assert (overall.predicted, overall.observed) == (served.predicted_rate, served.default_rate)
    assert overall.loans == sum(tier.loans for tier in candidate.pack.tiers)
    assert overall.interval.low < overall.predicted < overall.interval.high
    assert overall.light is Light.GREEN
    assert "all of the out-of-time part" in pack_page(candidate.pack, candidate.model)


def test_nobody_who_judges_the_model_was_met_by_it(history: History) -> None:
    parts = split_history(history, SEED)
    facts, days = parts.facts, history.loans.dates
    assert days is not None
    early = days.astype("M8[D]") < np.datetime64(facts.out_of_time_from)
    assert not np.isin(history.borrowers[parts.judging], history.borrowers[early]).any()
    assert facts.returned.loans > 0, "some borrowers came back"
    assert facts.learning_loans == np.count_nonzero(early), "every earlier loan teaches"
    assert facts.learning_loans + facts.returned.loans + len(parts.judging) == len(history.loans)
    report = history.report
    assert (report.learning_loans, report.learning_defaults, report.out_of_time_loans) == (
        facts.learning_loans,
        facts.learning_defaults,
        facts.out_of_time_loans,
    )


def test_a_lender_to_whom_only_those_return_who_repaid_trains_on_its_true_rate_and_passes(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    table = only_payers_return(lean(loan_table(POPULATION)))
    history = read_loans(tmp_path_factory.mktemp("back"), table)
    assert history.loans.dates is not None
    parts = split_history(history, SEED)
    early = history.loans.dates.astype("M8[D]") < np.datetime64(parts.facts.out_of_time_from)
    learning = parts.split.learning
    assert learning.defaults / len(learning) == history.loans.labels[early].mean()
    assert parts.facts.returned.loans > 500, "many came back"
    small = replace(ORDER, recipe=replace(ORDER.recipe, pairs=0))
    found = train_pilot(history, small, unwatched, None, policy_for)
    assert found.pack.passed, found.pack.blocked_by
    back = found.pack.split.returned
    assert back.predicted_rate == pytest.approx(back.defaults / back.loans, abs=0.03)
    assert "no independent evidence" in pack_page(found.pack, found.model)


def only_payers_return(table: pa.Table) -> pa.Table:
    """Give every third loan of the later half to somebody who has repaid one before."""
    days = table.column("applied_on").to_numpy().astype("M8[D]")
    repaid = table.column("largest_days_past_due").to_numpy() < TERMS.days_past_due
    order = np.argsort(days, kind="stable")
    half = len(order) // 2
    payers = [row for row in order[:half] if repaid[row]]
    people = np.array([f"p{row}" for row in range(len(order))])
    again = order[half::3]
    people[again] = people[payers[: len(again)]]
    return table.set_column(
        table.column_names.index("borrower_id"), "borrower_id", [pa.array(people)]
    )


def test_the_order_of_the_rows_changes_neither_part(history: History) -> None:
    backwards = np.arange(len(history.loans))[::-1]
    turned = replace(
        history,
        loans=history.loans.take(backwards),
        borrowers=history.borrowers[backwards],
        places=history.places[backwards],
    )
    one, other = split_history(history, SEED), split_history(turned, SEED)
    assert one.split.learning.fingerprint() == other.split.learning.fingerprint()
    assert one.holdout.fingerprint() == other.holdout.fingerprint()
    assert one.split.fingerprint == other.split.fingerprint


def test_progress_rises_to_one(candidate: Candidate, shares: list[float]) -> None:
    assert candidate.pack.passed
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


# ----------------------------------------------------------------------------------- the faults


def test_shuffled_labels_are_blocked_by_discrimination(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    history = read_loans(tmp_path_factory.mktemp("shuffled"), lean(loan_table(POPULATION)))
    labels = np.random.default_rng(1).permutation(history.loans.labels)
    shuffled = replace(history, loans=replace(history.loans, labels=labels))
    small = replace(ORDER, recipe=replace(ORDER.recipe, pairs=0))
    found = train_pilot(shuffled, small, unwatched, None, policy_for)
    assert Gate.DISCRIMINATION in blocked(found.pack)
    assert "cannot be signed" in pack_page(found.pack, found.model)


def test_doubled_odds_are_blocked_by_the_level(history: History, candidate: Candidate) -> None:
    cards = tuple(
        msgspec.structs.replace(card, base=card.base - DOUBLE_THE_ODDS_POINTS)
        for card in candidate.model.cards
    )
    doubled = model.seal(msgspec.structs.replace(candidate.model, cards=cards))
    pack = judged_again(history, doubled)
    assert blocked(pack) == {Gate.LEVEL}
    assert "good applicants would be turned away" in pack.blocked_by[0].words


def test_stretched_odds_are_blocked_by_the_slope(history: History, candidate: Candidate) -> None:
    def stretched(card: Card) -> Card:
        features = tuple(
            msgspec.structs.replace(f, main=tuple(2.0 * points for points in f.main))
            for f in card.features
        )
        return msgspec.structs.replace(card, features=features)

    cards = tuple(stretched(card) for card in candidate.model.cards)
    pack = judged_again(history, model.seal(msgspec.structs.replace(candidate.model, cards=cards)))
    assert Gate.SLOPE in blocked(pack)


def test_a_leaking_column_that_is_kept_is_blocked(history: History, candidate: Candidate) -> None:
    suspect = Suspect("avg_balance", 0.98, "tells the outcome by itself", Standing.KEPT)
    report = msgspec.structs.replace(history.report, suspects=(suspect,))
    pack = judged_again(replace(history, report=report), candidate.model)
    assert blocked(pack) == {Gate.LEAKAGE}
    assert "avg_balance" in pack.blocked_by[0].words


def test_a_doubted_column_that_is_kept_is_asked_about_and_blocks_nothing(
    history: History, candidate: Candidate
) -> None:
    suspect = Suspect("avg_balance", 0.78, "it may have been changed", Standing.KEPT, doubt=True)
    report = msgspec.structs.replace(history.report, suspects=(suspect,))
    pack = judged_again(replace(history, report=report), candidate.model)
    assert Gate.LEAKAGE not in blocked(pack)
    assert pack.questions[0].startswith("avg_balance was kept as an input on somebody's word")


def test_a_last_quarter_that_shifted_is_blocked_by_stability(
    history: History, candidate: Candidate
) -> None:
    days = history.applied_on.astype("datetime64[D]")
    late = days >= days.max() - LATELY_DAYS
    columns = dict(history.applications)
    for name in ("avg_inflow", "balance_stability"):
        column = columns[name]
        assert not isinstance(column, kernel.Words)
        columns[name] = np.where(late, 0.35 * column, column)
    pack = judged_again(replace(history, applications=columns), candidate.model)
    assert Gate.STABILITY in blocked(pack)
    assert pack.recent_psi is not None
    assert pack.recent_psi > 2.0 * pack.score_psi, "the quarters before it water the whole down"
    assert "last three months" in pack_page(pack, candidate.model)


def test_tiers_out_of_order_are_blocked(history: History, candidate: Candidate) -> None:
    points, _ = served_points(candidate.model, history.loans.columns, len(history.loans))
    best = points >= candidate.pack.tiers[0].score_min
    labels = np.where(best, 1 - history.loans.labels, history.loans.labels).astype(np.int8)
    turned = replace(history, loans=replace(history.loans, labels=labels))
    assert Gate.TIERS in blocked(judged_again(turned, candidate.model))


def test_too_little_evidence_is_blocked(
    candidate: Candidate, tmp_path_factory: pytest.TempPathFactory
) -> None:
    few = read_loans(tmp_path_factory.mktemp("few"), loan_table(POPULATION).slice(0, 1_500))
    pack = judged_again(few, candidate.model)
    assert Gate.EVIDENCE in blocked(pack)
    evidence = pack.gates[0]
    assert "more in all" in evidence.words


def test_a_history_without_a_known_outcome_says_what_to_do(history: History) -> None:
    report = msgspec.structs.replace(history.report, out_of_time_from=None)
    with pytest.raises(TrainingProblem) as problem:
        split_history(replace(history, report=report), SEED)
    assert "shadow key" in str(problem.value.hint)


# -------------------------------------------------------------------------- region and selection


def test_what_the_region_buys_and_whom_the_policy_never_booked_are_shown(
    tmp_path_factory: pytest.TempPathFactory, candidate: Candidate
) -> None:
    table = lean(loan_table(PopulationOptions(rows=9_000, seed=5, prior_policy=True)))
    asked = Options(region=True, groups=("gender",), today=TODAY)
    history = read_loans(tmp_path_factory.mktemp("prior"), table, asked)
    small = replace(ORDER, recipe=replace(ORDER.recipe, pairs=0, learning_rate=0.3))
    found = train_pilot(history, small, unwatched, candidate.model, policy_for)
    pack = found.pack
    assert pack.region is not None
    assert pack.region.comparison.other.name == "without region"
    assert pack.current is not None
    assert pack.current.other.model_id == candidate.model.id
    assert 0.4 < pack.selection.booked_share < 0.8
    assert pack.selection.predicted_not_booked > pack.selection.predicted_booked
    first_day = np.datetime64(pack.split.out_of_time_from)
    applied = np.count_nonzero(history.applied_on.astype("datetime64[D]") >= first_day)
    for one in pack.fairness:
        asking = sum(group.applications for group in one.groups)
        assert asking == applied, f"{one.name}: those who were turned away count as well"
    assert pack.selection.outside_approved == 0, "nobody unlike the booked is approved unseen"
    assert pack.selection.outside_to_review > 0.9
    chosen_by = {field.field for field in pack.selection.fields[:5]}
    assert {"mm_months", "balance_stability"} <= chosen_by, "what the earlier policy looked at"
    page = pack_page(pack, found.model)
    assert "What the region buys" in page
    assert "were booked" in page
