from __future__ import annotations

import numpy as np
import pytest

from alama.core.kernel import Words
from alama.training.history import columns as quality
from bench.onboarding.leaks import KINDS, STRENGTHS, found, page, planted, plot


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_leak_lifts_the_field_by_what_was_asked_and_leaves_repaid_loans_alone(
    kind: str,
) -> None:
    random = np.random.default_rng(1)
    bad = (random.random(4_000) < 0.2).astype(np.int8)
    income = (100.0 * random.random(4_000) - 5.0 * bad).round(1)

    leaky = planted(income, bad, kind, 0.1, seed=2)

    assert leaky is not None
    assert not isinstance(leaky, Words)
    lifted = quality.area_alone(leaky, bad) - quality.area_alone(income, bad)
    assert lifted == pytest.approx(0.1, abs=0.01)
    assert np.array_equal(leaky[bad == 0], income[bad == 0])


def test_the_page_counts_every_field_of_every_table_alike() -> None:
    rows = [
        {"kind": "scaled", "strength": strength, "passed": 5, "fresh": True, "marked": False}
        for strength in STRENGTHS
    ]
    leaks = [{**row, "many": 3} for row in rows] + [{**r, "fresh": False, "many": 3} for r in rows]
    honest = [{"passed": 0, "fresh": False, "marked": False, "many": 500}]
    document = {
        name: {"leaks": leaks, "honest": honest, "safer": honest} for name in ("german", "taiwan")
    }

    assert found(document, 0.1, "fresh") == 0.5
    assert "| **with fresh rows** | 50.0 % |" in page(document)
    assert plot(document).startswith("<svg")
