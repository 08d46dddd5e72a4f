from dataclasses import replace

import numpy as np

from alama.training.making.fit import shares_of
from alama.training.making.masking import pairs_that_carry, with_pairs
from tests.unit.training.making.test_draft import random_draft


def test_the_pairs_that_carry_something_are_kept_in_their_order() -> None:
    draft = random_draft(3)
    weak = replace(draft.pairs[0], table=draft.pairs[0].table * 0.01)
    draft = replace(draft, pairs=(weak, *draft.pairs, weak))
    rng = np.random.default_rng(0)
    slots = [rng.integers(0, axis.count, 500).astype(np.int16) for axis in draft.axes]
    pure = draft.purified(shares_of(slots, draft.axes))
    assert pairs_that_carry(pure, slots, np.full(500, 0.2), 1e-3) == [1, 2]
    assert pairs_that_carry(pure, slots, np.full(500, 0.2), 0.0) == [0, 1, 2, 3]


def test_a_pair_that_says_only_what_its_mains_say_carries_nothing() -> None:
    draft = random_draft(3)
    flat = draft.pairs[0]
    additive = np.arange(3.0)[:, None] * 10.0 + np.arange(3.0)[None, :] * 7.0
    draft = replace(draft, pairs=(replace(flat, table=additive), draft.pairs[1]))
    rng = np.random.default_rng(0)
    slots = [rng.integers(0, axis.count, 500).astype(np.int16) for axis in draft.axes]
    pure = draft.purified(shares_of(slots, draft.axes))
    assert pairs_that_carry(pure, slots, np.full(500, 0.2), 1e-6) == [1]


def test_leaving_pairs_out_leaves_the_rest_as_it_was() -> None:
    draft = random_draft(0)
    cut = with_pairs(draft, [1])
    assert cut.pairs == (draft.pairs[1],)
    assert cut.mains is draft.mains
