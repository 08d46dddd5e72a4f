"""The tables are the trainer's machine, to the last digit, wherever a value may fall."""

import numpy as np
import pytest

from alama.core.kernel import Words
from alama.training.dataset import Dataset
from alama.training.making.fit import Draft, Fitted, compile_terms, fit, left_out_margins, matrix_of
from tests.patterned import QUICK, patterned, unwatched

# One worker makes what the tests here share, once.
pytestmark = pytest.mark.xdist_group("compile")


@pytest.fixture(scope="module")
def made() -> tuple[Dataset, Fitted, Draft, list[Draft]]:
    data = patterned()
    fitted = fit(data, np.arange(len(data)), QUICK, watch=unwatched)
    averaged, bags = compile_terms(fitted)
    return data, fitted, averaged, bags


def difference(data: Dataset, fitted: Fitted, draft: Draft) -> float:
    own = draft.margins(draft.slots(data.columns))
    theirs = fitted.machine.decision_function(matrix_of(data, fitted.word_axes))
    return float(np.max(np.abs(own - theirs)))


def test_tables_equal_the_trainers_margin_on_every_training_row(
    made: tuple[Dataset, Fitted, Draft, list[Draft]],
) -> None:
    data, fitted, draft, _ = made
    assert draft.pairs
    assert difference(data, fitted, draft) < 1e-9


def test_tables_equal_it_on_the_cuts_beside_them_beyond_all_and_where_nothing_is_given(
    made: tuple[Dataset, Fitted, Draft, list[Draft]],
) -> None:
    data, fitted, draft, _ = made
    rng = np.random.default_rng(1)
    columns = dict(data.columns)
    for axis in draft.axes:
        if axis.cuts is not None:
            beside = np.concatenate(
                [
                    axis.cuts,
                    np.nextafter(axis.cuts, np.inf),
                    np.nextafter(axis.cuts, -np.inf),
                    [0.0, 1e12, np.nan],
                ]
            )
            columns[axis.field] = rng.choice(beside, len(data))
    codes = rng.integers(-1, 5, len(data)).astype(np.int32)
    columns["device"] = Words(codes, ["smart", "BASIC", "tablet", "feature", "never seen"])
    edge = Dataset(data.catalogue, columns, data.labels)
    assert difference(edge, fitted, draft) < 1e-9


def test_every_row_is_judged_by_a_bag_that_never_saw_it(
    made: tuple[Dataset, Fitted, Draft, list[Draft]],
) -> None:
    data, fitted, draft, bags = made
    slots = draft.slots(data.columns)
    unseen = left_out_margins(bags, slots, fitted.left_out)
    for fold in range(QUICK.folds):
        rows = np.flatnonzero(fitted.left_out[:, 0] == fold)
        assert len(rows) == pytest.approx(len(data) / QUICK.folds, abs=2)
        own = bags[fold].margins([slot[rows] for slot in slots])
        assert np.array_equal(unseen[rows], own)


def test_the_machine_is_the_mean_of_its_bags(
    made: tuple[Dataset, Fitted, Draft, list[Draft]],
) -> None:
    data, _, draft, bags = made
    slots = draft.slots(data.columns)
    mean = np.mean([bag.margins(slots) for bag in bags], axis=0)
    assert np.max(np.abs(mean - draft.margins(slots))) < 0.05  # bags weigh by their rows
