from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
