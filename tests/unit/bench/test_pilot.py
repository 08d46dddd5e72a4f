"""The limits of the known truth: what is missed is named, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.pilot.__main__ import (
    AUC_SHORT_MAX,
    EVERYONE,
    GAP_MAX,
    INSIDE,
    Compared,
    Gaps,
    limits_missed,
)

pytestmark = pytest.mark.long

NEAR = Gaps(mean=0.002, banded=0.005, auc_short=0.01)
FAR = Gaps(mean=0.05, banded=0.05, auc_short=0.07)
SOUND = Compared(
    {EVERYONE: NEAR, INSIDE: NEAR}, everyone_booked=True, approved_unseen=0, declined_by_score=0
)
BOOKED = replace(SOUND, parts={EVERYONE: FAR, INSIDE: NEAR}, everyone_booked=False)


def test_what_is_near_the_truth_misses_nothing() -> None:
    assert list(limits_missed(SOUND)) == []
    assert list(limits_missed(BOOKED)) == [], "those whom nobody lent to are not asked of a model"


@pytest.mark.parametrize(
    ("gaps", "words"),
    [
        (replace(NEAR, mean=1.01 * GAP_MAX), "the mean prediction"),
        (replace(NEAR, banded=1.01 * GAP_MAX), "the gap over the bands"),
        (replace(NEAR, auc_short=1.01 * AUC_SHORT_MAX), "the AUC"),
    ],
)
def test_each_limit_is_named_where_it_is_missed(gaps: Gaps, words: str) -> None:
    [missed] = limits_missed(replace(SOUND, parts={EVERYONE: gaps, INSIDE: NEAR}))
    assert missed.startswith(words)


def test_of_a_booked_history_those_inside_have_to_be_nearer_to_the_truth_than_all() -> None:
    [missed] = limits_missed(replace(BOOKED, parts={EVERYONE: FAR, INSIDE: FAR}))
    assert missed.startswith("inside booked support")


def test_whoever_is_approved_unseen_is_counted() -> None:
    [missed] = limits_missed(replace(BOOKED, approved_unseen=3))
    assert missed == "3 outside booked support are approved without a person"


def test_whoever_was_seldom_booked_and_is_declined_by_a_score_is_counted() -> None:
    [missed] = limits_missed(replace(BOOKED, declined_by_score=2))
    assert missed == "2 whose like were seldom booked are declined by a score that can only guess"
