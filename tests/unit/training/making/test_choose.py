"""What is chosen for a card: by the rows given alone, never worse in order than the floor."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.training import portable
from alama.training.making.choose import (
    PAIR_COUNTS,
    Choice,
    Said,
    by_what_they_carry,
    choose,
    with_pairs,
)
from alama.training.making.draft import shares_of
from alama.training.validation.metrics import auc, log_loss
from tests.tries import tries
from tests.unit.training.making.test_draft import margins_of, random_draft, random_rows, recut

SEEDS = st.integers(0, 10_000)
GAIN = 0.5


def random_said(seed: int, rows: int = 120) -> tuple[Said, np.ndarray]:
    """Drafts that know the truth a little, not at all, or the wrong way round."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(-0.5, 1.0, rows)
    labels = (rng.random(rows) < portable.logistic(truth)).astype(np.int8)
    labels[:2] = 0, 1

    def line() -> np.ndarray:
        noise = rng.normal(size=rows)
        knows, errs = float(rng.choice([-0.5, 0.0, 0.3, 1.0])), float(rng.choice([0.1, 1.0, 4.0]))
        return np.asarray(knows * truth + errs * noise)

    smooth = np.stack([line() for _ in range(3)])
    boosted = np.stack([line() for _ in range(4)])
    return Said(line(), smooth, boosted), labels


def loss_of(choice: Choice, said: Said, labels: np.ndarray) -> float:
    return log_loss(labels, portable.logistic(choice.margins(said)))


@given(SEEDS)
def test_what_is_chosen_never_ranks_worse_than_the_floor(seed: int) -> None:
    said, labels = random_said(seed)
    chosen = choose(said, labels, GAIN)
    assert auc(labels, chosen.margins(said)) >= auc(labels, said.floor)


def test_where_nothing_but_the_floor_ranks_at_all_it_is_the_card() -> None:
    rng = np.random.default_rng(0)
    labels = (np.arange(400) % 4 == 0).astype(np.int8)
    wrong = -3.0 * (labels - 0.25) + rng.normal(size=400)
    said = Said(np.where(labels, 1.0, -1.0), np.stack([wrong]), np.stack([wrong, wrong]))
    chosen = choose(said, labels, GAIN)
    assert auc(labels, chosen.margins(said)) == 1.0
    assert chosen.floor > 0.0
    assert chosen.smooth == chosen.boosted == 0.0


@given(SEEDS)
def test_no_part_counts_less_than_nothing(seed: int) -> None:
    said, labels = random_said(seed)
    chosen = choose(said, labels, GAIN)
    assert min(chosen.floor, chosen.smooth, chosen.boosted) >= 0.0


@given(SEEDS)
def test_parts_that_all_point_the_wrong_way_leave_the_default_rate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = (rng.random(200) < 0.2).astype(np.int8)
    labels[:2] = 0, 1
    wrong = [5.0 - 4.0 * labels + rng.normal(size=200) for _ in range(3)]
    chosen = choose(Said(wrong[0], np.stack([wrong[1]]), np.stack([wrong[2]])), labels, GAIN)
    assert chosen.floor == chosen.smooth == chosen.boosted == 0.0
    assert portable.logistic(np.array([chosen.base]))[0] == pytest.approx(labels.mean(), abs=1e-3)


@given(SEEDS, st.sampled_from([5.0, 20.0, 80.0]), st.sampled_from([0.0, 0.01, 0.1]))
def test_drafts_that_are_sure_of_nearly_every_row_are_weighed_too(
    seed: int, sure: float, wrong: float
) -> None:
    rng = np.random.default_rng(seed)
    labels = (rng.random(300) < 0.2).astype(np.int8)
    labels[:2] = 0, 1
    told = np.where(rng.random(300) < wrong, 1 - labels, labels)
    smooth, boosted = (sure * (told - 0.5) + rng.normal(size=300) for _ in range(2))
    said = Said(-labels.astype(np.float64), np.stack([smooth]), np.stack([boosted]))
    chosen = choose(said, labels, GAIN)
    assert chosen.smooth + chosen.boosted > 0.0
    even = Choice(0, 0, smooth=0.5, boosted=0.5, floor=0.0, base=0.0)
    assert loss_of(chosen, said, labels) <= loss_of(even, said, labels) + 1e-3
    assert abs(chosen.base) <= sure


@given(SEEDS, st.sampled_from([0.0, 0.1, 0.5, 2.0, 50.0]))
@tries(60)
def test_pairs_are_taken_only_where_they_save_what_they_must(seed: int, gain: float) -> None:
    said, labels = random_said(seed)
    # No order is worse than this floor's, so that it holds none back.
    said = replace(said, floor=-labels.astype(np.float64))
    chosen = choose(said, labels, gain)
    priced = []
    for place, count in enumerate(PAIR_COUNTS[: len(said.boosted)]):
        alone = replace(said, boosted=said.boosted[place : place + 1])
        loss = loss_of(choose(alone, labels, gain), alone, labels)
        priced.append(loss * len(labels) + gain * count)
    assert priced[chosen.pairs] <= min(priced) + 1e-6 * len(labels)


def test_a_pair_that_saves_nothing_is_left_out_even_where_it_is_free() -> None:
    said, labels = random_said(1)
    same = replace(said, boosted=np.stack([said.boosted[0]] * len(PAIR_COUNTS)))
    assert choose(same, labels, 0.0).pairs == 0


@given(SEEDS)
def test_the_calmest_of_equals_and_otherwise_the_least_loss_is_the_strength(seed: int) -> None:
    said, labels = random_said(seed)
    losses = [round(log_loss(labels, portable.logistic(line)), 7) for line in said.smooth]
    assert choose(said, labels, GAIN).strength == losses.index(min(losses))


@given(SEEDS)
def test_a_choice_for_some_rows_looks_at_no_other(seed: int) -> None:
    said, labels = random_said(seed)
    mine = np.random.default_rng(seed).random(len(labels)) < 0.7
    mine[:2] = True
    others = Said(
        np.where(mine, said.floor, 7.0),
        np.where(mine, said.smooth, -7.0),
        np.where(mine, said.boosted, 0.0),
    )
    turned = np.where(mine, labels, 1 - labels).astype(np.int8)
    once = choose(said.of(mine), labels[mine], GAIN)
    assert choose(others.of(mine), turned[mine], GAIN) == once


@given(SEEDS)
def test_the_draft_put_together_says_what_the_choice_was_judged_by(seed: int) -> None:
    rng = np.random.default_rng(seed)
    floor, smooth = (replace(recut(random_draft(seed), seed + n), pairs=()) for n in (1, 2))
    boosted = recut(random_draft(seed), seed + 3)
    columns = random_rows(seed)
    said = Said(
        margins_of(floor, columns),
        np.stack([margins_of(smooth, columns)]),
        np.stack([margins_of(with_pairs(boosted, count), columns) for count in PAIR_COUNTS]),
    )
    pairs = int(rng.integers(len(PAIR_COUNTS)))
    smooth_weight, boosted_weight, floor_weight = rng.choice([0.0, 0.3, 0.9], 3).tolist()
    choice = Choice(0, pairs, smooth_weight, boosted_weight, floor_weight, -0.2)
    for one in (choice, choice.towards_floor(0.4), choice.towards_floor(1.0)):
        own = margins_of(one.draft(floor, smooth, boosted), columns)
        assert np.max(np.abs(own - one.margins(said))) < 1e-12


def test_towards_the_floor_ends_at_the_floor_itself() -> None:
    said, _ = random_said(0)
    chosen = Choice(1, 2, 0.4, 0.7, 0.1, -0.3).towards_floor(1.0)
    assert np.array_equal(chosen.margins(said), said.floor)


def test_pairs_come_in_the_order_of_what_they_carry() -> None:
    draft = random_draft(3)
    weak = replace(draft.pairs[0], table=draft.pairs[0].table * 0.01)
    draft = replace(draft, pairs=(weak, *draft.pairs, weak))
    rng = np.random.default_rng(0)
    slots = [rng.integers(0, axis.count, 500).astype(np.int16) for axis in draft.axes]
    pure = draft.purified(shares_of(slots, draft.axes))
    ranked = by_what_they_carry(pure, slots, np.full(500, 0.2))
    effects = [pair.table.ravel()[pair.cells(slots)] for pair in ranked.pairs]
    carried = [float(effect @ effect) for effect in effects]
    assert carried == sorted(carried, reverse=True)
    assert [id(pair) for pair in ranked.pairs[2:]] == [id(pure.pairs[0]), id(pure.pairs[3])]
    assert np.allclose(ranked.margins(slots), pure.margins(slots), rtol=0.0, atol=1e-12)


def test_a_pair_that_says_only_what_its_mains_say_carries_nothing_and_comes_last() -> None:
    draft = random_draft(3)
    flat = draft.pairs[0]
    additive = np.arange(3.0)[:, None] * 10.0 + np.arange(3.0)[None, :] * 7.0
    draft = replace(draft, pairs=(replace(flat, table=additive), draft.pairs[1]))
    rng = np.random.default_rng(0)
    slots = [rng.integers(0, axis.count, 500).astype(np.int16) for axis in draft.axes]
    pure = draft.purified(shares_of(slots, draft.axes))
    ranked = by_what_they_carry(pure, slots, np.full(500, 0.2))
    assert [(pair.first, pair.second) for pair in ranked.pairs] == [(0, 2), (0, 1)]
    assert np.max(np.abs(ranked.pairs[1].table)) < 1e-12


def test_leaving_pairs_out_leaves_the_rest_as_it_was() -> None:
    draft = random_draft(0)
    cut = with_pairs(draft, 1)
    assert cut.pairs == (draft.pairs[0],)
    assert cut.mains is draft.mains
    assert with_pairs(draft, 9).pairs == draft.pairs
