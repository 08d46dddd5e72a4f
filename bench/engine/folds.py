"""Repeated stratified cross-validation, and how sure a paired difference is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Fold:
    """One split: the rows to learn from and the rows to judge by."""

    name: str
    train: Rows
    test: Rows


def folds(labels: NDArray[np.int8], count: int, repeats: int) -> Iterator[Fold]:
    """Deal the rows into folds, each with its share of defaults, anew for each repeat."""
    for repeat in range(repeats):
        rng = np.random.default_rng([2024, repeat])
        of_row = np.empty(len(labels), dtype=np.intp)
        for outcome in (0, 1):
            members = np.flatnonzero(labels == outcome)
            of_row[members[rng.permutation(len(members))]] = np.arange(len(members)) % count
        for number in range(count):
            train, test = np.flatnonzero(of_row != number), np.flatnonzero(of_row == number)
            yield Fold(f"{repeat}.{number}", train, test)


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean paired difference over folds, with two standard errors.

    Training sets of different folds overlap, so the plain error of the mean is too small;
    `corrected` allows for that (Nadeau and Bengio, 2003).
    """

    mean: float
    plain: float
    corrected: float

    @property
    def significant(self) -> bool:
        """Say whether it is more than two corrected standard errors from zero."""
        return abs(self.mean) > 2.0 * self.corrected


def paired(ours: Sequence[float], theirs: Sequence[float], fold_count: int) -> Difference:
    """Compare two models on the same folds."""
    differences = np.subtract(ours, theirs)
    count = len(differences)
    if count < 2:
        return Difference(float(differences.mean()), math.nan, math.nan)
    variance = float(differences.var(ddof=1))
    tested_to_trained = 1.0 / (fold_count - 1)
    return Difference(
        mean=float(differences.mean()),
        plain=math.sqrt(variance / count),
        corrected=math.sqrt(variance * (1.0 / count + tested_to_trained)),
    )


def subsample(labels: NDArray[np.int8], rows: int) -> Rows:
    """Give a stratified sample of about so many rows, for quick runs."""
    rng = np.random.default_rng(2024)
    share = min(1.0, rows / len(labels))
    chosen = []
    for outcome in (0, 1):
        members = np.flatnonzero(labels == outcome)
        chosen.append(rng.permutation(members)[: max(30, round(share * len(members)))])
    return np.sort(np.concatenate(chosen))
