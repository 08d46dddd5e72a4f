from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.kernel import Column, Words
from alama.training.making.draft import Axis, Draft, DraftPair, finest, shares_of, weighed
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


SEEDS = st.integers(0, 10_000)
WORDS = ("x", "y", "z", "never met")


def random_rows(seed: int, count: int = 100) -> dict[str, Column]:
    """Values on cuts, beside them and beyond all; words that no axis names; gaps."""
    rng = np.random.default_rng(seed)
    values = [-9.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 99.0, np.nan]
    return {
        "a": rng.choice(values, count),
        "b": rng.choice(values, count),
        "c": Words(rng.integers(-1, len(WORDS), count).astype(np.int32), WORDS),
    }


def recut(draft: Draft, seed: int) -> Draft:
    """The draft on some more cuts, with mains of its own."""
    rng = np.random.default_rng(seed)
    axes = tuple(
        axis
        if axis.cuts is None
        else replace(axis, cuts=np.union1d(axis.cuts, rng.integers(-1, 9, rng.integers(0, 5))))
        for axis in draft.axes
    )
    there = draft.on(axes)
    mains = tuple(main + rng.normal(size=len(main)) for main in there.mains)
    return replace(there, base=float(rng.normal()), mains=mains)


def margins_of(draft: Draft, columns: dict[str, Column]) -> np.ndarray:
    return draft.margins(draft.slots(columns))


@given(SEEDS, st.lists(st.floats(-10.0, 10.0), max_size=6), st.lists(st.floats(-1, 1), max_size=6))
def test_a_draft_on_finer_axes_says_the_same_of_every_row(
    seed: int, of_a: list[float], of_b: list[float]
) -> None:
    draft = random_draft(seed)
    a, b, c = draft.axes
    assert a.cuts is not None
    assert b.cuts is not None
    finer = (
        Axis("a", cuts=np.union1d(a.cuts, of_a)),
        Axis("b", cuts=np.union1d(b.cuts, of_b)),
        c,
    )
    columns = random_rows(seed)
    there = draft.on(finer)
    assert there.axes == finer
    assert np.array_equal(margins_of(there, columns), margins_of(draft, columns))


@given(SEEDS, st.lists(st.sampled_from([0.0, 0.25, 1.0, -2.0]), min_size=1, max_size=4))
def test_weighed_drafts_say_the_weighted_sum_of_what_each_says(
    seed: int, weights: list[float]
) -> None:
    draft = random_draft(seed)
    rng = np.random.default_rng(seed)
    parts = []
    for number, weight in enumerate(weights):
        pairs = tuple(replace(p, table=rng.normal(size=p.table.shape)) for p in draft.pairs)
        # Each has some of the pairs, in its own order.
        some = rng.permutation(len(pairs))[: rng.integers(0, len(pairs) + 1)]
        own = replace(draft, pairs=tuple(pairs[place] for place in some))
        parts.append((weight, recut(own, seed + number)))
    columns = random_rows(seed)
    together = weighed(parts, 0.7)
    expected = 0.7 + sum(weight * margins_of(part, columns) for weight, part in parts)
    assert np.max(np.abs(margins_of(together, columns) - expected)) < 1e-12
    places = [(pair.first, pair.second) for pair in together.pairs]
    assert places == sorted(set(places)), "a pair stands in it once"


@given(SEEDS, st.integers(1, 4))
def test_the_finest_axes_hold_every_cut_and_no_other(seed: int, count: int) -> None:
    drafts = [recut(random_draft(seed), seed + number) for number in range(count)]
    for place, axis in enumerate(finest(drafts)):
        every = [draft.axes[place] for draft in drafts]
        assert axis.field == every[0].field
        assert axis.groups == every[0].groups
        if axis.cuts is not None:
            cuts = {float(cut) for one in every if one.cuts is not None for cut in one.cuts}
            assert axis.cuts.tolist() == sorted(cuts)


@given(SEEDS)
def test_a_draft_among_more_fields_says_the_same_and_the_others_add_nothing(seed: int) -> None:
    draft = random_draft(seed)
    new = (Axis("before", cuts=np.array([])), Axis("between", groups=(("x",),)))
    a, b, c = draft.axes
    bare = Axis("b", cuts=np.array([]))
    grown = draft.among((new[0], a, bare, new[1], c))
    assert grown.axes == (new[0], a, b, new[1], c)
    rng = np.random.default_rng(seed)
    more: dict[str, Column] = {
        **random_rows(seed),
        "before": rng.normal(size=100),
        "between": Words(rng.integers(-1, 2, 100).astype(np.int32), ("x", "never met")),
    }
    assert np.array_equal(margins_of(grown, more), margins_of(draft, more))
