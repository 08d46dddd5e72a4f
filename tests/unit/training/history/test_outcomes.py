from datetime import date

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from alama.training.history import split

DAYS = st.dates(date(2015, 1, 1), date(2035, 1, 1)).map(lambda day: np.datetime64(day, "D"))
K = st.integers(1, 365)


def mature(due: np.datetime64, observed: np.datetime64, k: int) -> bool:
    return bool(split.mature(np.array([due]), np.array([observed]), k)[0])


def defaulted(late: float, k: int, *, restructured: bool = False) -> bool:
    return bool(split.defaulted(np.array([late]), np.array([restructured]), k)[0])


@given(due=DAYS, k=K, more=st.integers(0, 4_000))
def test_a_loan_is_mature_from_its_due_date_and_k_days_on(
    due: np.datetime64, k: int, more: int
) -> None:
    last = due + np.timedelta64(k, "D")

    assert mature(due, last + np.timedelta64(more, "D"), k)
    assert not mature(due, last - np.timedelta64(more + 1, "D"), k)


@given(due=DAYS, observed=DAYS, k=K)
def test_what_is_mature_stays_so_when_it_is_observed_later_or_k_is_smaller(
    due: np.datetime64, observed: np.datetime64, k: int
) -> None:
    if mature(due, observed, k):
        assert mature(due, observed + np.timedelta64(1, "D"), k)
        assert mature(due, observed, k - 1)


@given(day=DAYS, k=K)
def test_a_loan_without_a_due_date_or_an_observation_is_not_mature(
    day: np.datetime64, k: int
) -> None:
    assert not mature(np.datetime64("NaT", "D"), day, k)
    assert not mature(day, np.datetime64("NaT", "D"), k)


@given(late=st.integers(0, 5_000), k=K)
def test_a_loan_defaults_where_it_was_ever_k_days_past_due(late: int, k: int) -> None:
    assert defaulted(late, k) == (late >= k)


@given(late=st.one_of(st.integers(0, 5_000), st.just(np.nan)), k=K)
def test_a_distressed_restructuring_is_a_default_however_few_the_days(late: float, k: int) -> None:
    assert defaulted(late, k, restructured=True)
