"""Columns are decided on as single applications are, and scored as they would be served."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from alama.core.application import Application
from alama.core.assess import assess
from alama.core.catalogue import Kind
from alama.core.kernel import Column, Words
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Law
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.core.product import PRODUCT
from alama.platform.files.packaged import builtin
from alama.training.history.loans import History
from alama.training.population.people import PopulationOptions
from alama.training.validation.figures import served_points
from alama.training.validation.support import Decided, Selection, decide_rows, select
from bench.pilot.loans import loan_table
from tests.pilots import policy_for, read_loans
from tests.recourse import random_booking

ROWS = 600


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    folder: Path = tmp_path_factory.mktemp("decided")
    return read_loans(folder, loan_table(PopulationOptions(ROWS, 9, prior_policy=True)))


def applications(columns: dict[str, Column]) -> list[Application]:
    def value(name: str, row: int) -> float | int | str | None:
        column = columns.get(name)
        if column is None:
            return None
        if isinstance(column, Words):
            code = int(column.codes[row])
            return None if code < 0 else column.vocabulary[code]
        number = float(column[row])
        if np.isnan(number):
            return None
        return int(number) if PRODUCT.field(name).kind is Kind.INTEGER else number

    return [
        Application(tuple(value(field.name, row) for field in PRODUCT.fields))
        for row in range(ROWS)
    ]


def with_booking(seed: int) -> Model:
    """Give the built-in model, as if it had learned from a history that booked whom it liked."""
    model, rng = builtin(), np.random.default_rng(seed)
    known = tuple(random_booking(rng, card) for card in model.cards)
    return msgspec.structs.replace(model, booking=known)


@pytest.mark.parametrize("model", [builtin(), with_booking(1), with_booking(2)])
def test_every_row_is_decided_as_if_it_were_asked_alone(history: History, model: Model) -> None:
    policy = policy_for(model)
    found = decide_rows(policy, history.applications, ROWS)
    points, _ = served_points(model, history.applications, ROWS, "KES")
    for row, application in enumerate(applications(dict(history.applications))):
        alone = assess(policy.model, policy, application)
        assert found.approved[row] == (alone.decision is Decision.APPROVED)
        assert found.review[row] == (alone.decision is Decision.REVIEW)
        assert found.seldom[row] == ("seldom_booked" in alone.rules)
        assert found.unaffordable[row] == ("unaffordable" in alone.rules)
        asked = policy.as_asked(application.values)
        if asked is application.values:
            assert points[row] == alone.points
    assert found.seldom.any() == bool(model.booking)
    assert not found.approved[found.seldom].any()


def test_what_a_score_alone_declines_goes_to_a_person_where_it_can_only_guess(
    history: History,
) -> None:
    model = with_booking(1)
    policy = policy_for(model)
    found = decide_rows(policy, history.applications, ROWS)
    plain = decide_rows(policy_for(builtin()), history.applications, ROWS)
    declined = ~plain.approved & ~plain.review
    assert (declined & found.seldom).any()
    assert np.count_nonzero(found.review & declined) > 0
    points, _ = served_points(model, history.applications, ROWS, "KES")
    selected = select(model, history.applications, history.booked, points, found)
    left = found.outside & ~found.approved & ~found.review
    assert selected.outside_declined == np.count_nonzero(left)
    assert selected.outside_to_review == np.mean(found.review[found.outside])


def test_a_forbidden_field_decides_nothing(history: History) -> None:
    asked = default_policy("KES")
    lawful = seal(msgspec.structs.replace(asked, law=Law(forbidden_fields=("region",))))
    ready = ReadyModel(builtin(), "KES")
    without = {name: column for name, column in history.applications.items() if name != "region"}
    forbidden = decide_rows(ReadyPolicy(lawful, ready), history.applications, ROWS)
    silent = decide_rows(ReadyPolicy(asked, ready), without, ROWS)
    assert np.array_equal(forbidden.approved, silent.approved)


def test_a_field_without_a_column_is_given_by_nobody(history: History) -> None:
    silent = {**history.applications, "region": Words(np.full(ROWS, -1, np.int32), ["x"])}
    absent = {name: column for name, column in history.applications.items() if name != "region"}
    one, _ = served_points(builtin(), silent, ROWS, "KES")
    other, _ = served_points(builtin(), absent, ROWS, "KES")
    assert np.array_equal(one, other)


def selection_of(history: History, columns: dict[str, Column]) -> Selection:
    model = builtin()
    points, _ = served_points(model, columns, ROWS, "KES")
    decided = decide_rows(policy_for(model), columns, ROWS)
    return select(model, columns, history.booked, points, decided)


def test_the_booked_differ_from_all_who_applied_as_the_earlier_policy_chose(
    history: History,
) -> None:
    found = selection_of(history, dict(history.applications))
    assert found.applications == ROWS
    assert found.booked == np.count_nonzero(history.booked)
    assert sum(found.applied_shares) == pytest.approx(1.0)
    assert sum(found.booked_shares) == pytest.approx(1.0)
    assert found.score_psi > 0.0
    medians = {field.field: field for field in found.fields}["balance_stability"]
    assert medians.booked_median is not None
    assert medians.applied_median is not None
    assert medians.booked_median > medians.applied_median


def test_what_is_unlike_everything_booked_is_outside_and_not_approved(history: History) -> None:
    column = history.applications["avg_inflow"]
    assert not isinstance(column, Words)
    columns = {**history.applications, "avg_inflow": np.where(history.booked, column, 1e9)}
    found = selection_of(history, columns)
    assert found.outside_not_booked == 1.0
    assert found.outside_booked < 0.05
    # Strange numbers still have a score, which declines a few.
    assert found.outside_approved == 0
    assert found.outside_to_review > 0.95
    assert found.outside_declined < 0.05 * ROWS


def test_a_selection_of_nobody_is_no_error(history: History) -> None:
    model = builtin()
    everyone = history.booked | True
    points, _ = served_points(model, history.applications, ROWS, "KES")
    decided = decide_rows(policy_for(model), history.applications, ROWS)
    found = select(model, history.applications, everyone, points, decided)
    assert found.booked_share == 1.0
    assert found.score_psi == 0.0
    assert found.outside_not_booked == 0.0


def test_of_the_seldom_booked_only_what_can_be_afforded_is_declined_by_a_score() -> None:
    seldom = np.array([True, True, True, False])
    declined = np.array([True, True, False, True])
    unaffordable = np.array([True, False, False, False])
    decided = Decided(
        approved=np.zeros(4, dtype=np.bool_),
        review=~declined,
        outside=seldom,
        seldom=seldom,
        unaffordable=unaffordable,
    )
    assert decided.seldom_declined_by_score.tolist() == [False, True, False, False]
