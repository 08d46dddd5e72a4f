"""Approval by group: four-fifths ratios, and whether a group repays as it is told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.kernel import Words
from alama.training.validation.fairness import (
    GROUP_ROWS_MIN,
    GROUPS_MAX,
    NOT_GIVEN,
    OTHER,
    Approvals,
    Attribute,
    Repayments,
    attribute,
    four_fifths,
)
from alama.training.validation.tiers import Light

GROUPS = st.lists(
    st.integers(0, 2_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1,
    max_size=8,
)


@given(GROUPS)
def test_ratios_lie_between_0_and_1_and_the_highest_is_1(groups: list[tuple[int, int]]) -> None:
    approved, applications = (list(column) for column in zip(*groups, strict=True))
    ratios = four_fifths(approved, applications)
    compared = [ratio for ratio in ratios if ratio is not None]
    assert all(0.0 <= ratio <= 1.0 for ratio in compared)
    assert not compared or max(compared) == 1.0
    for ratio, count in zip(ratios, applications, strict=True):
        assert ratio is None or count >= GROUP_ROWS_MIN


@given(GROUPS, st.integers(2, 5))
def test_ratios_do_not_change_when_everybody_comes_several_times(
    groups: list[tuple[int, int]], times: int
) -> None:
    large = [(yes + 0, count) for yes, count in groups if count >= GROUP_ROWS_MIN] or [(50, 100)]
    approved, applications = (list(column) for column in zip(*large, strict=True))
    more = four_fifths([times * a for a in approved], [times * a for a in applications])
    assert more == pytest.approx(four_fifths(approved, applications))


def a_comparison(rows: int = 4_000) -> Attribute:
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, rows).astype(np.int32)
    approved = rng.random(rows) < np.array([0.8, 0.4])[codes]
    labels = (rng.random(rows) < np.array([0.1, 0.3])[codes]).astype(np.int8)
    words = Words(codes, ["North ", "south"])
    return attribute(
        "region",
        Approvals(words, approved),
        Repayments(words, labels, np.full(rows, 0.1)),
        is_input=True,
    )


def test_a_group_that_is_approved_half_as_often_is_named() -> None:
    found = a_comparison()
    assert found.below_four_fifths == ("south",)
    assert found.lowest is not None
    assert found.lowest.name == "south"
    assert found.lowest.ratio == pytest.approx(0.5, abs=0.05)


def test_a_group_that_defaults_three_times_as_often_as_predicted_is_red() -> None:
    lights = {group.name: group.light for group in a_comparison().groups}
    assert lights == {"north": Light.GREEN, "south": Light.RED}


def approvals_of(column: Words) -> Attribute:
    """Compare by a column of applications of which nobody was lent to."""
    nobody = Words(column.codes[:0], column.vocabulary)
    return attribute(
        "region",
        Approvals(column, np.ones(len(column.codes), dtype=np.bool_)),
        Repayments(nobody, np.zeros(0, np.int8), np.zeros(0)),
        is_input=False,
    )


def test_words_are_folded_rare_ones_gathered_and_silence_named() -> None:
    words = [f"Place {n}" for n in range(20)] + ["PLACE 0"]
    codes = np.repeat(np.arange(-1, 21, dtype=np.int32), GROUP_ROWS_MIN)
    found = approvals_of(Words(codes, words))
    names = [group.name for group in found.groups]
    assert len(names) == GROUPS_MAX + 2
    assert names[0] == "place 0", "both spellings of it"
    assert names[-2:] == [OTHER, NOT_GIVEN]
    assert sum(group.applications for group in found.groups) == len(codes)
    assert {group.light for group in found.groups} == {Light.DARK}


def test_a_word_that_may_name_a_single_person_is_never_told() -> None:
    few = GROUP_ROWS_MIN - 1
    codes = np.repeat(np.arange(3, dtype=np.int32), (1, few, GROUP_ROWS_MIN))
    found = approvals_of(Words(codes, ["Jane Wanjiru", "few", "many"]))
    assert [(group.name, group.applications) for group in found.groups] == [
        ("many", GROUP_ROWS_MIN),
        (OTHER, GROUP_ROWS_MIN),
    ]


def test_where_no_group_is_large_enough_none_is_compared() -> None:
    found = approvals_of(Words(np.zeros(GROUP_ROWS_MIN - 1, np.int32), ["few"]))
    assert [group.name for group in found.groups] == [OTHER]
    assert found.lowest is None
