from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.training.making.fit import Axis, Draft, DraftPair, shares_of
from alama.training.portable import totals_by


def random_draft(seed: int) -> Draft:
    """Three axes, two pairs with bands of their own."""
    rng = np.random.default_rng(seed)
    axes = (
        Axis("a", cuts=np.array([1.0, 2.0, 5.0])),
        Axis("b", cuts=np.array([0.5])),
        Axis("c", groups=(("x",), ("y", "z"))),
    )
    rows = np.array([0, 1, 1, 2, 2])
    return Draft(
        axes,
        float(rng.normal()),
        tuple(rng.normal(size=axis.count) for axis in axes),
        (
            DraftPair(0, 1, rows, np.arange(3), rng.normal(size=(3, 3))),
            DraftPair(0, 2, np.arange(5), np.array([0, 1, 2, 1]), rng.normal(size=(5, 3))),
        ),
    )


@given(st.integers(0, 10_000))
def test_purification_leaves_every_margin_as_it_was(seed: int) -> None:
    draft = random_draft(seed)
    rng = np.random.default_rng(seed)
    slots = [rng.integers(0, axis.count, 200).astype(np.int16) for axis in draft.axes]
    pure = draft.purified(shares_of(slots, draft.axes))
    assert np.max(np.abs(pure.margins(slots) - draft.margins(slots))) < 1e-12


@given(st.integers(0, 10_000))
def test_purified_tables_average_to_zero_along_every_line(seed: int) -> None:
    draft = random_draft(seed)
    rng = np.random.default_rng(seed)
    shares = [rng.dirichlet(np.ones(axis.count)) for axis in draft.axes]
    pure = draft.purified(shares)
    for main, share in zip(pure.mains, shares, strict=True):
        assert abs(float(main @ share)) < 1e-12
    for pair in pure.pairs:
        rows = totals_by(pair.rows, shares[pair.first], pair.table.shape[0])
        columns = totals_by(pair.columns, shares[pair.second], pair.table.shape[1])
        assert np.max(np.abs(pair.table @ columns)) < 1e-12
        assert np.max(np.abs(rows @ pair.table)) < 1e-12


def test_a_value_on_a_cut_goes_right_and_nothing_goes_to_slot_zero() -> None:
    axis = Axis("a", cuts=np.array([1.0, 2.0]))
    assert axis.slots(np.array([0.5, 1.0, 1.5, 2.0, 9.0, np.nan])).tolist() == [1, 2, 2, 3, 3, 0]


def test_shares_are_those_of_the_rows() -> None:
    axes = (Axis("a", cuts=np.array([1.0])),)
    (shares,) = shares_of([np.array([0, 1, 1, 2], dtype=np.int16)], axes)
    assert shares.tolist() == [0.25, 0.5, 0.25]


def test_margins_add_base_mains_and_pairs() -> None:
    draft = random_draft(0)
    bare = replace(draft, pairs=())
    slots = [np.array([2], dtype=np.int16), np.array([1], dtype=np.int16), np.array([3], np.int16)]
    expected = draft.base + draft.mains[0][2] + draft.mains[1][1] + draft.mains[2][3]
    assert bare.margins(slots)[0] == pytest.approx(expected)
    pairs = draft.pairs[0].table[1, 1] + draft.pairs[1].table[2, 1]
    assert draft.margins(slots)[0] == pytest.approx(expected + pairs)
