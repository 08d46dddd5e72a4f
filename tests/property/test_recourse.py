"""Recourse is the cheapest there is, keeps what it promises, and moves nothing that must stay."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.application import Application, in_range, read
from alama.core.catalogue import Field, Kind, Use, Way
from alama.core.lending.draft import default_policy
from alama.core.lending.loan import AMOUNT, TERM
from alama.core.lending.policy import CounterOffers
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.recourse.additive import is_lever, reach
from alama.core.recourse.answer import (
    APPROVAL,
    Counterfactual,
    Hindrance,
    Obstacle,
    ScoreAtLeast,
    Status,
    is_met,
)
from alama.core.recourse.ready import ReadyRecourse
from alama.core.recourse.values import MILLIONTHS, change_costs, is_between
from alama.platform.files.packaged import builtin
from tests.recourse import Case, by_brute_force, draws, random_case
from tests.tries import tries

SEEDS = st.integers(0, 2**32 - 1)
CASES = SEEDS.map(random_case)
BUILTIN = ReadyRecourse(ReadyPolicy(default_policy("KES"), ReadyModel(builtin())))


def with_changes(case: Case, counterfactual: Counterfactual) -> Application:
    """Give the application as somebody would send it who did what they were told."""
    values = list(case.application.values)
    for change in counterfactual.changes:
        place = case.catalogue.position[change.field]
        assert values[place] == change.before
        values[place] = change.after
    return Application(tuple(values), case.application.spelled)


def changed_fields(
    case: Case, counterfactual: Counterfactual
) -> Iterator[tuple[Field, float, float]]:
    for change in counterfactual.changes:
        assert isinstance(change.before, int | float)
        assert isinstance(change.after, int | float)
        yield case.catalogue.field(change.field), change.before, change.after


@pytest.mark.long
def test_the_cases_meet_every_answer_and_nearly_every_hindrance() -> None:
    answers = [random_case(seed).find() for seed in range(420)]
    assert {answer.status for answer in answers} == set(Status)
    seen = {obstacle.hindrance for answer in answers for obstacle in answer.binding}
    # With few levers more than three changes seldom help; the tests of the built-in model do that.
    assert seen >= set(Hindrance) - {Hindrance.MORE_CHANGES, Hindrance.OUT_OF_TIME}
    sizes = [len(one.changes) for answer in answers for one in answer.counterfactuals]
    assert set(sizes) == {1, 2, 3}
    found = sum(answer.status is Status.FOUND for answer in answers)
    assert found > len(answers) / 8


@tries(600)
@given(CASES)
def test_the_answer_is_that_of_trying_everything(case: Case) -> None:
    assert_that_it_is_that_of_trying_everything(case)


@tries(200)
@given(CASES)
def test_so_it_is_where_another_loan_is_approved_in_place_of_the_one_asked_for(case: Case) -> None:
    policy = case.ready.policy
    approving = msgspec.structs.replace(policy.policy, counter_offers=CounterOffers.APPROVE)
    ready = ReadyRecourse(ReadyPolicy(seal(approving), policy.model))
    assert_that_it_is_that_of_trying_everything(replace(case, ready=ready, goal=APPROVAL))


def assert_that_it_is_that_of_trying_everything(case: Case) -> None:
    told = case.find()
    if told.status is Status.ALREADY_MET:
        assert is_met(case.goal, case.ready.policy.policy, case.assess(case.application))
        return
    best, moves = by_brute_force(case), case.moves()
    fields = case.catalogue.fields
    assert [
        (one.cost, [(change.field, change.after) for change in one.changes])
        for one in told.counterfactuals
    ] == [
        (
            trial.cost / MILLIONTHS,
            [
                (fields[moves.levers[moves.lever_of[move]].place].name, moves.values[move])
                for move in trial.moves
            ],
        )
        for trial in best
    ]
    assert told.status is (Status.FOUND if best else Status.NO_RECOURSE)
    assert bool(told.binding) is not bool(best), "what binds is said where there is no recourse"
    assert told.optimal


@tries(100)
@given(CASES)
def test_whoever_does_as_they_are_told_gets_what_was_promised(case: Case) -> None:
    for one in case.find().counterfactuals:
        sent = with_changes(case, one)
        assert case.assess(sent) == one.assessment
        assert is_met(case.goal, case.ready.policy.policy, one.assessment)
        assert case.strangeness(sent) <= case.strangeness_max
        assert one.assessment.card == case.assess(case.application).card


@tries(100)
@given(CASES)
def test_nothing_moves_that_must_stay_nor_further_than_it_can(case: Case) -> None:
    given_values = case.application.values
    for one in case.find().counterfactuals:
        assert 1 <= len(one.changes) <= 3
        for field, before, after in changed_fields(case, one):
            assert given_values[case.catalogue.position[field.name]] == before
            assert field.name not in case.locked
            assert field.change is not None
            assert field.use is not Use.REFERENCE
            assert in_range(field, after)
            assert before != after
            assert field.change.way is not (Way.UP if after < before else Way.DOWN)
            times, by = field.change.times_at_most, field.change.by_at_most
            assert times is None or before / times <= after <= before * times
            assert by is None or before - by <= after <= before + by
            assert one.within_days >= field.change.within_days


@tries(100)
@given(CASES)
def test_values_are_real(case: Case) -> None:
    policy = case.ready.policy
    for one in case.find().counterfactuals:
        for field, _, after in changed_fields(case, one):
            if field.name == TERM:
                assert after in policy.terms_days
            elif field.name == AMOUNT:
                assert after % policy.limit_step == 0.0
            assert isinstance(after, int if field.kind is Kind.INTEGER else float)
            assert len(f"{after:.15g}".replace(".", "").strip("0")) <= 9, "few figures"


@tries(100)
@given(CASES)
def test_every_change_is_needed(case: Case) -> None:
    for one in case.find().counterfactuals:
        for left_out in one.changes:
            kept = tuple(change for change in one.changes if change is not left_out)
            assert not case.works(
                with_changes(case, Counterfactual(kept, one.assessment, one.cost, 0))
            )


@tries(100)
@given(CASES)
def test_fewer_answers_are_the_first_of_more(case: Case) -> None:
    more = replace(case, count=5).find().counterfactuals
    assert replace(case, count=1).find().counterfactuals == more[:1]
    costs = [one.cost for one in more]
    assert costs == sorted(costs)
    fields = [{change.field for change in one.changes} for one in more]
    assert not any(earlier <= later for n, later in enumerate(fields) for earlier in fields[:n]), (
        "each has other fields than those before"
    )


@tries(100)
@given(CASES)
def test_to_lock_a_field_never_makes_it_cheaper(case: Case) -> None:
    free = replace(case, locked=frozenset()).find()
    for one in free.counterfactuals[:1]:
        locked = replace(case, locked=frozenset([one.changes[0].field])).find()
        assert all(other.cost >= one.cost for other in locked.counterfactuals)


@tries(100)
@given(CASES, st.integers(1, 40), st.integers(1, 40))
def test_a_higher_score_never_costs_less(case: Case, near: int, further: int) -> None:
    now = case.assess(case.application).score
    if now + near + further > 850:
        return
    low = replace(case, goal=ScoreAtLeast(now + near)).find()
    high = replace(case, goal=ScoreAtLeast(now + near + further)).find()
    assert low.counterfactuals or not high.counterfactuals
    if high.counterfactuals:
        assert low.counterfactuals[0].cost <= high.counterfactuals[0].cost


@tries(100)
@given(CASES, st.integers(0, 6))
def test_what_is_found_before_time_runs_out_works_and_is_not_called_the_best(
    case: Case, looks: int
) -> None:
    left = iter(range(looks))
    late = case.find_until(lambda: next(left, None) is None)
    for one in late.counterfactuals:
        assert case.works(with_changes(case, one))
    if late.optimal:
        assert late.counterfactuals == case.find().counterfactuals
    elif not late.counterfactuals:
        assert late.binding == (Obstacle(Hindrance.OUT_OF_TIME),)


@tries(100)
@given(CASES)
def test_every_band_that_can_be_reached_is_looked_at(case: Case) -> None:
    scorecard = case.ready.policy.model.scorecard_for(case.application)
    values = case.ready.policy.as_asked(case.application.values)
    moves = case.moves()
    levers = {lever.place: lever for lever in moves.levers}
    for n, place in enumerate(scorecard.places):
        field, value = case.catalogue.fields[place], case.application.values[place]
        if not is_lever(field) or value is None or field.name in {*case.locked, AMOUNT, TERM}:
            continue
        assert not isinstance(value, str)

        def slot(number: float, place: int = place, n: int = n) -> int:
            return scorecard.score([*values[:place], number, *values[place + 1 :]]).slots[n]

        looked_at = {slot(value)}
        if place in levers:
            looked_at |= {slot(float(new or 0)) for new in levers[place].values}
        low, high = case.ready.card(scorecard).kept_inside(place, value, *reach(field, value))
        within = [x / 2.0 for x in range(400)] if field.kind is Kind.NUMBER else range(200)
        assert {slot(x) for x in within if is_between(low, x, high)} <= looked_at


@tries(100)
@given(CASES)
def test_no_whole_number_in_reach_is_cheaper_than_those_looked_at(case: Case) -> None:
    told = replace(case, count=1).find()
    if told.status is Status.ALREADY_MET:
        return
    card = case.ready.card(case.ready.policy.model.scorecard_for(case.application))
    for place, field in enumerate(case.catalogue.fields):
        value = case.application.values[place]
        if (
            field.kind is not Kind.INTEGER
            or not is_lever(field)
            or field.name in {*case.locked, TERM}
        ):
            continue
        if value is None:
            continue
        assert not isinstance(value, str)
        assert field.change is not None
        low, high = card.kept_inside(place, value, *reach(field, value))
        values = list(case.application.values)
        for number in range(601):
            values[place] = number
            if is_between(low, number, high) and case.works(Application(tuple(values))):
                (cost,) = change_costs(card.ladder(place), field.change.effort, value, [number])
                assert told.counterfactuals
                assert told.counterfactuals[0].cost <= cost / MILLIONTHS


def assert_no_draw_is_better(case: Case, rng: np.random.Generator, count: int) -> None:
    """Draw changes by chance: none works where there is said to be none, and none is cheaper.

    Numbers that are looked at are rounded, so a draw may be cheaper by two steps of rounding in
    each of its fields.
    """
    told = replace(case, count=1).find()
    if told.status is Status.ALREADY_MET:
        return
    best = told.counterfactuals[0].cost if told.counterfactuals else math.inf
    for draw in draws(case, rng, count):
        if draw.cost_rounded < best:
            assert not case.works(draw.application), (draw, told)


@tries(120)
@given(CASES, SEEDS)
def test_no_change_that_chance_finds_is_better(case: Case, seed: int) -> None:
    assert_no_draw_is_better(case, np.random.default_rng(seed), 60)


@tries(40)
@given(SEEDS)
def test_no_change_that_chance_finds_is_better_for_those_who_spend_too_much(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inflow = round(float(rng.lognormal(9.6, 0.5)), -2)
    sent = {
        "mm_months": int(rng.integers(30, 80)),
        "avg_inflow": inflow,
        "avg_outflow": round(inflow * float(rng.uniform(1.9, 3.3)), -1),
        "avg_balance": round(float(rng.lognormal(8.0, 0.6))),
        "balance_stability": round(float(rng.uniform(0.5, 0.9)), 2),
        "counterparties": int(rng.integers(8, 25)),
        "airtime_regularity": round(float(rng.uniform(0.5, 0.9)), 2),
        "requested_amount": 2_000,
        "requested_term_days": 60,
    }
    application = read(BUILTIN.policy.model.catalogue, sent)
    case = Case(BUILTIN, application, APPROVAL, frozenset(), 1)
    assert_no_draw_is_better(case, rng, 100)


@pytest.mark.parametrize("seed", [200_162, 200_547, 200_595])
def test_a_loan_that_pays_for_itself_is_found_where_a_smaller_one_does_not(seed: int) -> None:
    assert random_case(seed).find().status is Status.FOUND
    assert_no_draw_is_better(random_case(seed), np.random.default_rng(seed), 500)


@pytest.mark.parametrize("seed", [200_002, 200_057, 200_161, 200_305, 200_674])
def test_whoever_has_the_points_is_told_a_rule_and_no_field(seed: int) -> None:
    told = random_case(seed).find()
    assert {obstacle.hindrance for obstacle in told.binding} == {Hindrance.RULE}


def test_a_case_can_be_had_again() -> None:
    assert random_case(7).find() == random_case(7).find()


@pytest.mark.parametrize("seed", range(3))
def test_a_reference_is_never_a_lever(seed: int) -> None:
    case = random_case(seed)
    places = {lever.place for lever in case.moves().levers}
    assert case.catalogue.position["applicant_ref"] not in places
