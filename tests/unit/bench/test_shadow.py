"""How the benchmark of challengers tells what it has found."""

from __future__ import annotations

from typing import Any

import pytest

from bench.shadow import __main__ as front
from bench.shadow import rows

pytestmark = pytest.mark.long


def measured() -> dict[str, Any]:
    rates = {
        rows.NOBODY: [100.0, 200.0],
        rows.CHALLENGER: [98.0, 196.0],
        rows.CROWDED: [90.0, None],
    }
    answers = {name: [50.0, 70.0] for name in rows.ROWS}
    return {
        "size": front.SIZES["quick"]._asdict(),
        "databases": {rows.SQLITE: {"rates": rates, "answers": answers}},
    }


def test_each_row_is_held_against_the_lender_without_a_challenger_within_its_rounds() -> None:
    shown = front.block(measured())
    assert "| SQLite | nobody | 150 |  |  |" in shown
    assert "| SQLite | a challenger | 147 | 0.98 x (0.98 to 0.98) | 60 |" in shown
    assert f"| SQLite | {rows.CROWDED} | 90 |  | 60 |" in shown
    assert "3 rounds of 2 s." in shown


def test_what_was_not_measured_is_not_shown() -> None:
    assert front.block({}) == front.NOTHING


def test_the_promise_is_of_a_worker_that_may_use_any_core() -> None:
    document = measured()
    assert list(front.broken(document)) == []
    rates = document["databases"][rows.SQLITE]["rates"]
    rates[rows.CHALLENGER] = [94.0, 188.0]
    [words] = front.broken(document)
    assert words == "on SQLite a challenger leaves 0.940 of the throughput"


def test_where_every_round_is_void_nothing_is_promised() -> None:
    document = measured()
    document["databases"][rows.SQLITE]["rates"][rows.CHALLENGER] = [None, None]
    [words] = front.broken(document)
    assert "no round" in words
