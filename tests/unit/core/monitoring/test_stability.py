"""The stability index, and how large it gets by chance."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from alama.core.monitoring.drift import (
    ALPHA,
    PSI_MIN,
    bands_in_use,
    chi_squared_above,
    limit,
    psi,
    rows_behind,
)
from alama.platform.files.packaged import builtin
from tests.tries import tries

COUNTS = st.lists(st.integers(0, 5_000), min_size=2, max_size=30)


@st.composite
def counts_and_shares(draw: st.DrawFn) -> tuple[list[int], list[float]]:
    """Counts, and shares of as many bands, some of which may be empty."""
    counts = draw(COUNTS)
    trained = draw(st.lists(st.integers(0, 100), min_size=len(counts), max_size=len(counts)))
    trained[0] += not sum(trained)
    return counts, [share / sum(trained) for share in trained]


@tries(50)
@given(counts_and_shares())
def test_the_index_is_finite_and_not_below_nought(given_: tuple[list[int], list[float]]) -> None:
    found = psi(*given_)
    assert math.isfinite(found)
    assert found >= 0.0


@tries(50)
@given(COUNTS)
def test_counts_as_expected_give_nought(counts: list[int]) -> None:
    total = sum(counts) or 1
    assert psi(counts, [count / total for count in counts]) == pytest.approx(0.0, abs=1e-12)


def test_nothing_counted_gives_nought() -> None:
    assert psi([], [0.5, 0.5]) == psi([0, 0], [0.5, 0.5]) == 0.0


def test_the_index_of_many_scores_is_what_the_books_say() -> None:
    observed, expected = [0.2, 0.3, 0.5], [0.3, 0.3, 0.4]
    by_hand = (0.2 - 0.3) * math.log(0.2 / 0.3) + (0.5 - 0.4) * math.log(0.5 / 0.4)
    counts = [round(share * 1_000_000) for share in observed]
    assert psi(counts, expected) == pytest.approx(by_hand, rel=1e-4)


def test_the_window_and_training_may_change_places() -> None:
    assert psi([100, 900], [0.5, 0.5]) == pytest.approx(psi([500, 500], [0.1, 0.9]))


def test_a_band_that_nobody_is_in_changes_little_and_is_no_degree_of_freedom() -> None:
    with_it, without = psi([300, 700, 0], [0.4, 0.6, 0.0]), psi([300, 700], [0.4, 0.6])
    assert with_it == pytest.approx(without, rel=1e-3)
    assert bands_in_use([0.4, 0.6, 0.0]) == bands_in_use([0.4, 0.6]) == 2


def test_counts_may_leave_out_empty_bands_at_the_end() -> None:
    assert psi([300, 700], [0.3, 0.6, 0.1]) == psi([300, 700, 0], [0.3, 0.6, 0.1])


def test_a_band_that_training_never_met_is_drift_once_a_tenth_are_in_it() -> None:
    assert psi([900, 100], [1.0, 0.0]) > limit(bands_in_use([1.0, 0.0]), 1_000, 10_000, 1)


def test_the_quantile_is_near_that_of_scipy(subtests: pytest.Subtests) -> None:
    for chance in [0.01, 0.001, 0.01 / 40]:
        for freedom in [1, 2, 3, 5, 10, 22, 50]:
            with subtests.test(chance=chance, freedom=freedom):
                above = chi_squared_above(chance, freedom) / chi2.isf(chance, freedom) - 1.0
                assert -0.01 < above < (0.065 if freedom < 8 else 0.013)


def test_the_limit_falls_with_the_size_of_the_window_down_to_what_matters() -> None:
    limits = [limit(23, count, 10_000, 30) for count in (100, 200, 400, 100_000)]
    assert limits == sorted(limits, reverse=True)
    assert limits[-1] == PSI_MIN
    assert limits[0] > 0.4


def test_the_limit_is_higher_for_few_rows_of_training_and_for_many_figures() -> None:
    assert limit(10, 100, 100, 10) > limit(10, 100, 10_000, 10) > limit(10, 100, 10_000, 1)


def test_one_band_cannot_move_and_still_has_a_limit() -> None:
    assert limit(1, 1_000, 1_000, 5) == PSI_MIN


def test_by_chance_a_small_window_is_over_its_limit_no_more_often_than_is_said() -> None:
    rng = np.random.default_rng(5)
    truth = np.array([0.3, 0.2, 0.15, 0.1, 0.1, 0.08, 0.05, 0.02])
    windows, count, reference = 4_000, 150, 400
    over = 0
    highest = limit(len(truth), count, reference, 1)
    assert highest > PSI_MIN
    trained = rng.multinomial(reference, truth, size=windows) / reference
    for counts, shares in zip(rng.multinomial(count, truth, size=windows), trained, strict=True):
        over += psi(counts.tolist(), shares.tolist()) > highest
    assert over / windows < 1.6 * ALPHA


def test_shares_tell_of_how_many_rows_they_are() -> None:
    counts = [[17, 983, 1_340], [1_170, 1_170], [2_339, 1, 0]]
    shares = [count / 2_340 for row in counts for count in row]
    assert rows_behind(shares, 320_000) == 2_340
    assert rows_behind(shares, 2_340) == 2_340


def test_shares_that_were_not_counted_are_taken_as_those_of_all_rows() -> None:
    assert rows_behind([0.1234567890123, 0.8765432109877], 5_000) == 5_000
    assert rows_behind([0.25, 0.75], 5_000) == 5_000
    assert rows_behind([], 5_000) == 5_000


def test_the_cards_of_the_package_say_how_many_rows_they_serve() -> None:
    model = builtin()
    found = [
        rows_behind((s for f in card.features for s in f.shares), model.lineage.rows)
        for card in model.cards
    ]
    assert found[0] == model.lineage.rows
    assert 0.9 * model.lineage.rows < found[1] < model.lineage.rows
