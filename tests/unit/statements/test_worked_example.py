"""The example on paper in docs/statements.md, figure by figure."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from alama.statements.deriving import Asked, found_in
from alama.statements.examples import SAMPLE
from alama.statements.published import FIELDS

PAGE = (Path(__file__).parents[3] / "docs" / "statements.md").read_text("utf-8")


def test_the_example_on_paper_comes_out_as_it_says() -> None:
    found = found_in(
        Asked(files=[SAMPLE], as_of=date(2026, 11, 2), utc_offset_s=3 * 3600, weekend=(5, 6))
    )
    told = {name: found.fields[name] for name in list(found.fields)[:11]}
    stability = told.pop("balance_stability")
    assert told == {
        "mm_months": 2,
        "avg_inflow": 6000.0,
        "avg_outflow": 3325.0,
        "avg_balance": 4544.1,
        "counterparties": 3,
        "tx_frequency": 4.0,
        "weekend_activity": 0.25,
        "airtime_avg": 100.0,
        "airtime_freq": 1.5,
        "airtime_regularity": 0.75,
    }
    ends = [6000] * 4 + [3100] * 10 + [3000] * 5 + [983] * 10 + [933] + [6933] * 19 + [5400] * 10
    ends += [5350] * 2
    mean = sum(ends) / 61
    sd = (sum((end - mean) ** 2 for end in ends) / 61) ** 0.5
    assert stability == pytest.approx(1 / (1 + sd / mean), abs=1e-9)
    assert found.missing == dict.fromkeys(("inflow_trend", "inflow_regularity"), "too_few_months")
    assert found.fields["salary_share"] == found.fields["largest_payer_share"] == 1.0
    assert not found.doubtful


def test_the_page_has_the_formula_of_every_field() -> None:
    for field in FIELDS:
        assert f"| `{field.name}` | {field.unit} |" in PAGE
        assert field.formula in PAGE
