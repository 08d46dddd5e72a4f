from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from alama.core.kernel import Words
from alama.training.history import columns as quality
from tests.loans import (
    ROWS,
    Columns,
    noise,
    outcomes,
    read,
    warning_about,
    write_csv,
)


def leak(kind: str) -> list[Any]:
    rng = np.random.default_rng(3)
    label = np.array(outcomes())
    match kind:
        case "number":
            return list((rng.random(ROWS) + label).tolist())
        case "reversed":
            return list((rng.random(ROWS) - label).tolist())
        case "missing":
            return [
                float(x) if bad else None for x, bad in zip(rng.random(ROWS), label, strict=True)
            ]
        case "code":
            return [2 if bad else (1, 3)[row % 4 == 0] for row, bad in enumerate(label)]
        case _:
            words = ("paid", "closed")
            return ["lost" if bad else words[row % 4 == 0] for row, bad in enumerate(label)]


@pytest.mark.parametrize("kind", ["number", "reversed", "missing", "code", "word"])
def test_a_column_that_knows_the_outcome_is_called_a_leak(tmp_path: Path, kind: str) -> None:
    columns: Columns = {"default": outcomes(), "income": noise(), "later": leak(kind)}

    loaded = read(write_csv(tmp_path, columns))

    assert "--exclude later" in warning_about(loaded, "LEAK?")
    assert not any("LEAK?" in w for w in read(tmp_path / "loans.csv", exclude=["later"]).warnings)


# ------------------------------------------------------------------------------ giveaways


def labels(rows: int = 4_000, bad_every: int = 10) -> NDArray[np.int8]:
    return (np.random.default_rng(5).random(rows) < 1.0 / bad_every).astype(np.int8)


@pytest.mark.parametrize(
    "told",
    [
        lambda bad, noise: noise - bad,
        lambda bad, noise: np.where(bad == 1, np.where(noise < 0.5, -1.0, 2.0), noise),
        lambda bad, noise: np.where(bad == 1, 7.0, np.floor(14.0 * noise) * 2.0),
        lambda bad, noise: np.where(bad == 1, noise, np.nan),
    ],
    ids=["in order", "at both ends", "one value", "only where bad"],
)
def test_numbers_that_tell_the_outcome_in_any_shape_give_it_away(told: Any) -> None:
    bad = labels()
    found = quality.giveaway(told(bad, np.random.default_rng(6).random(len(bad))), bad)
    assert found is not None
    assert found.auc >= quality.GIVEAWAY_AUC


def test_a_column_that_is_given_where_loans_were_repaid_says_so() -> None:
    bad = labels()
    found = quality.giveaway(np.where(bad == 1, np.nan, 3.0), bad)
    assert found == quality.Giveaway(1.0, "it is given mostly where the loan was repaid")


@pytest.mark.parametrize("words", [2, 50, 400, 4_000])
def test_many_words_that_mean_nothing_give_nothing_away(words: int) -> None:
    bad = labels(bad_every=50)
    codes = np.random.default_rng(7).integers(0, words, len(bad)).astype(np.int32)
    column = Words(codes, tuple(str(word) for word in range(words)))
    assert quality.giveaway(column, bad) is None


def test_a_strong_but_honest_field_gives_nothing_away() -> None:
    bad = labels()
    strong = np.random.default_rng(8).normal(size=len(bad)) + 1.2 * bad
    assert quality.giveaway(strong, bad) is None


def test_a_handful_of_outcomes_can_be_told_apart_by_chance() -> None:
    bad = np.array([1] * 10 + [0] * 300, dtype=np.int8)
    assert quality.giveaway(bad.astype(np.float64), bad) is None
