from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from alama.core.kernel import Column, Words
from alama.training.history import leaks
from alama.training.history.leaks import Books
from tests.loans import read, warning_about, write_csv

ROWS = 6_000
FRESH = 1_500


def table(seed: int = 1, rows: int = ROWS) -> tuple[dict[str, Column], NDArray[np.int8]]:
    """Make three fields that tell of the risk, one that does not, and the outcomes."""
    random = np.random.default_rng(seed)
    income, balance, age = random.normal(size=(3, rows))
    balance = 0.5 * income + balance
    odds = -1.5 - 0.6 * income - 0.5 * balance - 0.3 * age
    bad = (random.random(rows) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int8)
    job = Words((random.integers(0, 3, rows)).astype(np.int32), ("farmer", "trader", "driver"))
    return {"income": income, "balance": balance, "age": age, "job": job}, bad


def books(columns: dict[str, Column], bad: NDArray[np.int8], fresh: int = FRESH) -> Books:
    known = np.arange(len(bad)) >= fresh
    return Books(columns, known, bad[known])


def changed(column: Any, bad: NDArray[np.int8], by: float, fresh: int = FRESH) -> Any:
    """Lower a field where a loan defaulted, as far as the outcome is known."""
    return column - by * bad * (np.arange(len(bad)) >= fresh)


@pytest.mark.parametrize("seed", range(5))
def test_fields_known_in_time_are_not_doubted(seed: int) -> None:
    columns, bad = table(seed)

    assert not leaks.judge(books(columns, bad)).doubts


@pytest.mark.parametrize("name", ["income", "balance", "age"])
def test_a_field_changed_after_the_default_is_doubted_and_its_neighbours_are_not(name: str) -> None:
    columns, bad = table()

    judged = leaks.judge(books({**columns, name: changed(columns[name], bad, 0.6)}, bad))

    assert judged.doubts == {name: leaks.FRESH}
    assert name not in judged.borne_out


def test_two_changed_fields_are_both_doubted() -> None:
    columns, bad = table(rows=20_000)
    both = {name: changed(columns[name], bad, 0.8, 5_000) for name in ("income", "age")}

    assert set(leaks.judge(books(columns | both, bad, 5_000)).doubts) == {"income", "age"}


def test_a_field_of_any_strength_passes_where_fresh_rows_have_it_too() -> None:
    columns, bad = table()
    strong = changed(columns["income"], bad, 3.0, fresh=0)

    judged = leaks.judge(books({**columns, "income": strong}, bad))

    assert "income" not in judged.doubts
    assert "income" in judged.borne_out


def test_safer_applicants_make_no_field_look_like_a_leak() -> None:
    random = np.random.default_rng(4)
    fields = random.normal(size=(8, 12_000))
    risk = 0.35 * fields.sum(axis=0)
    bad = (random.random(12_000) < 1.0 / (1.0 + np.exp(1.5 - risk))).astype(np.int8)
    fresh = random.random(12_000) < 1.0 / (1.0 + np.exp(1.4 + 0.12 * risk))
    columns: dict[str, Column] = {f"field {place}": field for place, field in enumerate(fields)}

    measured = leaks.gone(Books(columns, ~fresh, bad[~fresh]))

    assert max(lost.common for lost in measured.values()) > 0.1
    assert not any(lost.doubted for lost in measured.values())


def test_too_few_fresh_rows_say_nothing() -> None:
    columns, bad = table()
    columns["income"] = changed(columns["income"], bad, 0.6, fresh=60)

    judged = leaks.judge(books(columns, bad, fresh=60))

    assert not judged.doubts
    assert not judged.borne_out


@given(st.floats(-3.0, 3.0), st.floats(0.01, 100.0), st.booleans())
def test_units_and_zero_of_a_field_do_not_matter(shift: float, scale: float, down: bool) -> None:  # noqa: FBT001 - drawn
    columns, bad = table(rows=2_000)
    leaky = changed(columns["income"], bad, 0.6, fresh=500)
    other = (shift + scale * leaky) * (-1.0 if down else 1.0)

    first, second = (
        leaks.gone(books({**columns, "income": column}, bad, fresh=500))["income"]
        for column in (leaky, other)
    )

    assert second.share == pytest.approx(first.share, abs=0.1)


def test_all_power_that_is_gone_is_a_share_of_about_one() -> None:
    columns, bad = table(rows=20_000)
    noise = np.random.default_rng(3).normal(size=20_000)

    lost = leaks.gone(books({**columns, "note": changed(noise, bad, 1.0, fresh=5_000)}, bad, 5_000))

    assert lost["note"].share == pytest.approx(1.0, abs=0.2)
    assert lost["income"].share == pytest.approx(0.0, abs=0.2)


# ------------------------------------------------------------------------------ marks


def outcomes(rows: int = 4_000) -> NDArray[np.int8]:
    return (np.random.default_rng(5).random(rows) < 0.1).astype(np.int8)


def amounts(rows: int = 4_000) -> NDArray[np.float64]:
    return np.random.default_rng(6).integers(5, 200, rows).astype(np.float64) * 100.0


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (lambda x, some: np.where(some, 0.0, x), leaks.VALUE),
        (lambda x, some: np.where(some, np.nan, x), leaks.MISSING),
        (lambda x, some: np.where(some, np.round(0.83 * x), x), leaks.GRID),
        (lambda x, _: x, None),
    ],
    ids=["one value", "missing", "computed", "clean"],
)
def test_without_fresh_rows_marks_of_a_later_hand_are_named(told: Any, why: str | None) -> None:
    bad, amount = outcomes(), amounts()
    some = (bad == 1) & (np.arange(len(bad)) % 3 > 0)

    assert leaks.marks(told(amount, some), bad) == why
    judged = leaks.judge(Books({"a": told(amount, some)}, np.ones(4_000, dtype=np.bool_), bad))
    assert judged.doubts.get("a") == why


def test_a_word_that_only_defaulted_loans_have_is_a_mark() -> None:
    bad = outcomes()
    codes = np.where((bad == 1) & (np.arange(4_000) % 2 == 0), 2, np.arange(4_000) % 2)
    column = Words(codes.astype(np.int32), ("paid", "open", "sold"))

    assert leaks.marks(column, bad) == leaks.VALUE


@given(st.integers(0, 2**32 - 1), st.integers(1, 2_000), st.sampled_from([0.05, 0.2, 0.5]))
def test_numbers_that_have_nothing_to_do_with_the_outcome_bear_no_mark(
    seed: int, distinct: int, rate: float
) -> None:
    random = np.random.default_rng(seed)
    bad = (random.random(2_000) < rate).astype(np.int8)

    assert leaks.marks(random.integers(0, distinct, 2_000).astype(np.float64), bad) is None


def test_power_that_grows_with_the_age_of_the_loan_is_named() -> None:
    bad = outcomes(12_000)
    days = np.datetime64("2024-01-01") + np.arange(12_000) // 20
    noise = np.random.default_rng(7).normal(size=12_000)
    age = np.linspace(1.0, 0.0, 12_000)

    assert leaks.marks(noise - 2.0 * age * bad, bad, days) == leaks.AGED
    assert leaks.marks(noise - bad, bad, days) is None


def test_a_known_field_beyond_its_range_is_put_to_a_person() -> None:
    bad = outcomes(12_000)
    strong = np.random.default_rng(8).normal(size=12_000) - 1.2 * bad
    known = np.ones(12_000, dtype=np.bool_)

    judged = leaks.judge(Books({"avg_balance": strong}, known, bad, usual=leaks.USUAL_AUC))

    why = judged.unusual["avg_balance"]
    assert why.startswith("it tells the outcome better than this field does")
    assert "0.66" in why
    assert not judged.doubts
    assert not leaks.judge(Books({"avg_balance": strong}, known, bad)).unusual


# ------------------------------------------------------------------------------ alama train


@pytest.mark.parametrize("by", [0.0, 0.8])
def test_training_holds_rows_without_an_outcome_against_the_others(
    tmp_path: Path, by: float
) -> None:
    columns, bad = table()
    written: dict[str, Any] = {
        "default": [None if row < FRESH else int(one) for row, one in enumerate(bad)],
        "income": changed(columns["income"], bad, by).tolist(),
        "balance": columns["balance"].tolist(),  # type: ignore[union-attr]
        "job": [("farmer", "trader", "Driver")[code] for code in columns["job"].codes],  # type: ignore[union-attr]
    }
    written["job"][0], written["balance"][1] = "only here", None

    loaded = read(write_csv(tmp_path, written))

    assert len(loaded.dataset) == ROWS - FRESH
    if by:
        assert leaks.FRESH in warning_about(loaded, "LEAK? income")
    assert any("LEAK?" in warning for warning in loaded.warnings) == bool(by)
    job = loaded.dataset.columns["job"]
    assert isinstance(job, Words)
    assert sorted(job.vocabulary) == ["driver", "farmer", "trader"]
