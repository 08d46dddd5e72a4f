"""What defaults cost, with the interval in which the true share lies 95 times in 100."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.monitoring.figures import COUNT_MIN, Loss
from alama.core.monitoring.rates import Amounts, lost

amount = st.floats(1.0, 1e7)
loans = st.lists(st.tuples(amount, amount), min_size=1, max_size=100)


def of(pairs: Sequence[tuple[float, float]]) -> Loss:
    """What was lost on loans of which this was paid out and that came back."""
    return lost(
        Amounts(
            len(pairs),
            sum(paid for paid, _ in pairs),
            sum(back for _, back in pairs),
            sum(paid * paid for paid, _ in pairs),
            sum(back * back for _, back in pairs),
            sum(paid * back for paid, back in pairs),
        )
    )


def test_of_nothing_nothing_is_said() -> None:
    assert of([]) == Loss(0, 0.0, 0.0, None, None, None, None)


@given(loans)
def test_an_interval_holds_the_share_and_is_told_of_enough_defaults(
    pairs: list[tuple[float, float]],
) -> None:
    found = of(pairs)
    assert found.share is not None
    assert (found.low is None) == (found.high is None) == (len(pairs) < COUNT_MIN)
    if found.low is not None and found.high is not None:
        assert found.low <= found.share <= found.high


@given(loans, st.floats(0.01, 100.0))
def test_the_currency_makes_no_difference(pairs: list[tuple[float, float]], rate: float) -> None:
    found, other = of(pairs), of([(paid * rate, back * rate) for paid, back in pairs])
    assert other.share == pytest.approx(found.share)
    if found.low is not None:
        assert other.low == pytest.approx(found.low, abs=1e-4)


def test_loans_that_all_lost_alike_leave_no_doubt() -> None:
    found = of([(200.0, 80.0)] * 50)
    assert [found.low, found.high] == pytest.approx([0.6, 0.6])


def test_no_bound_of_the_share_is_below_nothing_or_above_all() -> None:
    nearly_all, nearly_none = [(100.0, 0.0)] * 29 + [(100.0, 90.0)], [(100.0, 100.0)] * 29
    assert of(nearly_all).high == 1.0
    assert of([*nearly_none, (100.0, 10.0)]).low == 0.0
    more_than_paid_out = of([(100.0, 110.0)] * 29 + [(100.0, 100.0)])
    assert more_than_paid_out.low == more_than_paid_out.share
    assert more_than_paid_out.share is not None
    assert more_than_paid_out.share < 0.0


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    held, tried = 0, 1_000
    for _ in range(tried):
        paid = random.lognormal(9.0, 0.6, 120)
        back = paid * random.beta(0.6, 0.9, 120)  # most lose nearly all or nearly nothing
        found = of(list(zip(paid.tolist(), back.tolist(), strict=True)))
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.6 <= found.high
    assert 0.92 < held / tried < 0.97
