from __future__ import annotations

from dataclasses import replace

import pytest

from alama.core.application import Application, Value, read
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.recourse.answer import Sought
from alama.core.recourse.find import find_recourse
from alama.core.recourse.ready import ReadyRecourse
from alama.platform.files.packaged import builtin
from bench.explain import figures, page
from bench.explain.figures import Asked, Spent
from bench.explain.judge import Breach, Judge, Judged
from bench.explain.options import SIZES, parse

pytestmark = pytest.mark.long

DECLINED = {
    "mm_months": 10,
    "avg_inflow": 8_466.9,
    "avg_outflow": 8_783.93,
    "avg_balance": 587.54,
    "balance_stability": 0.502,
    "counterparties": 10,
    "tx_frequency": 16.6,
    "weekend_activity": 0.22,
    "airtime_avg": 273.14,
    "airtime_freq": 6.2,
    "airtime_regularity": 0.634,
    "device_type": "basic_phone",
    "device_age_months": 120,
    "requested_amount": 12_000.0,
    "requested_term_days": 60,
    "loan_purpose": "asset",
    "region": "Turkana",
}
SPENT = Spent(theirs_s=0.2, ours_s=0.002)
GOOD = Judged(changes=2, breaches=frozenset(), approved=True, plausible=True, cost=200_000)


@pytest.fixture(scope="module")
def ready() -> ReadyRecourse:
    model = ReadyModel(builtin(), "KES")
    return ReadyRecourse(ReadyPolicy(default_policy("KES"), model))


@pytest.fixture
def application(ready: ReadyRecourse) -> Application:
    return read(ready.policy.model.catalogue, DECLINED)


@pytest.fixture
def judge(ready: ReadyRecourse, application: Application) -> Judge:
    return Judge(ready, application)


def after(ready: ReadyRecourse, application: Application, **changes: Value) -> tuple[Value, ...]:
    values = list(application.values)
    for name, value in changes.items():
        values[ready.policy.model.catalogue.position[name]] = value
    return tuple(values)


def test_our_own_answer_works_and_costs_what_we_say(
    ready: ReadyRecourse, application: Application, judge: Judge
) -> None:
    way = find_recourse(ready, application, Sought(), lambda: False).counterfactuals[0]
    told = after(ready, application, **{change.field: change.after for change in way.changes})
    judged = judge.judge(told)
    assert judged.approved
    assert judged.plausible
    assert not judged.breaches
    assert judged.changes == len(way.changes)
    assert judged.cost == round(way.cost * 1_000_000)
    assert judge.rounded(told) == told


@pytest.mark.parametrize(
    ("changes", "breach"),
    [
        ({"device_age_months": 60}, Breach.IMMUTABLE),
        ({"region": "Nairobi"}, Breach.IMMUTABLE),
        ({"avg_balance": 500.0}, Breach.DIRECTION),
        ({"requested_amount": 13_000.0}, Breach.DIRECTION),
        ({"avg_balance": 5_000.0}, Breach.RANGE),
        ({"counterparties": 12.5}, Breach.RANGE),
        ({"balance_stability": 1.5}, Breach.RANGE),
    ],
)
def test_a_change_that_nobody_can_make_is_told_by_its_kind(
    ready: ReadyRecourse,
    application: Application,
    judge: Judge,
    changes: dict[str, Value],
    breach: Breach,
) -> None:
    judged = judge.judge(after(ready, application, **changes))
    assert judged.breaches == {breach}
    assert judged.cost is None
    assert judge.rounded(after(ready, application, **changes)) is None


def test_an_answer_is_moved_on_to_values_that_a_person_can_act_on(
    ready: ReadyRecourse, application: Application, judge: Judge
) -> None:
    odd = after(
        ready,
        application,
        avg_balance=1_137.21,
        requested_amount=3_409.0,
        requested_term_days=41,
        counterparties=12,
    )
    real = after(
        ready,
        application,
        avg_balance=1_150.0,
        requested_amount=float(3_409 // ready.policy.limit_step * ready.policy.limit_step),
        requested_term_days=max(d for d in ready.policy.terms_days if d <= 41),
        counterparties=12,
    )
    assert judge.rounded(odd) == real
    nearer, further = judge.judge(odd).cost, judge.judge(real).cost
    assert nearer is not None
    assert further is not None
    assert nearer <= further


def test_what_cannot_be_moved_on_to_a_real_value_has_none(
    ready: ReadyRecourse, application: Application, judge: Judge
) -> None:
    beyond = after(ready, application, requested_term_days=max(ready.policy.terms_days) + 1)
    assert not judge.judge(beyond).breaches
    assert judge.rounded(beyond) is None


def test_the_cheapest_answers_of_our_kind_are_compared() -> None:
    found = figures.compared(
        [
            Asked(SPENT, answers=[GOOD, replace(GOOD, cost=150_000)], ours_cost=100_000),
            Asked(SPENT, answers=[GOOD], real=[replace(GOOD, cost=220_000)], ours_cost=210_000),
            Asked(SPENT, answers=[GOOD], real=[GOOD], ours_cost=210_000),
            Asked(SPENT, answers=[GOOD], ours_cost=None),
        ]
    )
    assert found["applications"] == 4
    assert found["cost_ratio"] == 0.95
    assert found["cheaper"] == 2
    assert found["cheaper_by_at_most"] == 0.01
    assert found["cheaper_real"] == 1
    assert found["ours_none"] == 1


@pytest.mark.parametrize(
    "other",
    [
        replace(GOOD, approved=False),
        replace(GOOD, plausible=False),
        replace(GOOD, breaches=frozenset({Breach.RANGE}), cost=None),
    ],
)
def test_an_answer_that_does_not_work_is_no_cheaper_one(other: Judged) -> None:
    found = figures.compared([Asked(SPENT, answers=[other], ours_cost=300_000)])
    assert found["applications"] == found["cheaper"] == found["wider"] == 0


def test_wider_answers_are_told_apart() -> None:
    wide = replace(GOOD, changes=4)
    found = figures.compared(
        [
            Asked(SPENT, answers=[wide], ours_cost=None),
            Asked(SPENT, answers=[wide], ours_cost=300_000),
            Asked(SPENT, answers=[wide], ours_cost=100_000),
            Asked(SPENT, answers=[wide, GOOD], ours_cost=100_000),
        ]
    )
    assert (found["wider"], found["wider_none"], found["wider_cheaper"]) == (3, 1, 1)


def test_what_was_given_up_counts_with_the_time_it_took() -> None:
    late = Asked(Spent(9.0, 0.002), late=True)
    told = figures.summary([late, Asked(SPENT, own_valid=[True], answers=[GOOD]), late])
    assert told["late"] == 2
    assert told["answered"] == 1
    assert told["ms"][0] == 9_000.0
    assert told["ratio"] == 4_500.0


def test_every_block_says_that_it_was_not_measured_yet() -> None:
    text = "".join(f"<!-- measured: {name} -->\n<!-- end -->\n" for name in page.BLOCKS)
    assert page.filled(text, {}).count(page.NOTHING) == len(page.BLOCKS)


def test_the_page_tells_what_was_asked_and_leaves_out_what_cannot_be_compared() -> None:
    asked = Asked(SPENT, own_valid=[True], answers=[GOOD], real=[GOOD], ours_cost=100_000)
    document = {
        "dice": {
            "the forest, our limits, random": figures.summary([asked]),
            "the forest, our limits, kdtree": figures.summary([Asked(SPENT)]),
        }
    }
    written = page.BLOCKS["explain, dice"](document)
    assert "| the forest, our limits, random | 1 | 200 | 200 | 100 x | 1 of 1 | 0 | 2 |" in written
    cheapest = page.BLOCKS["explain, cheapest"](document)
    assert "| the forest, our limits, random | 1 | 2 x | 0 |  | 0 | 0 | 0 | 0 | 0 |" in cheapest
    assert "kdtree" not in cheapest


def test_a_quick_run_keeps_nothing() -> None:
    assert not parse([]).kept
    assert parse(["full"]).kept
    assert parse(["full"]).size == SIZES["full"]
