"""How the sizing benchmark tells what it has found."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bench import page as pages
from bench.environment import ROOT
from bench.serve.machine import now
from bench.serve.server import Server
from bench.sizing import __main__ as front
from bench.sizing import page, speed, stage, storage
from bench.sizing.options import SIZES
from bench.sizing.stage import DATABASES, POSTGRESQL, SQLITE, Weight

pytestmark = pytest.mark.long


def half(scores: int, rows: int, indexes: int = 0, journal: int = 0) -> dict[str, int]:
    return {"scores": scores, **Weight(rows, indexes, 0, journal)._asdict()}


def waited(share: float, p99: float, errors: int = 0) -> dict[str, Any]:
    return {
        "share": share,
        "rate": share * 2_000,
        "errors": errors,
        "ms": {"p50": 1.25, "p99": p99},
    }


def measured() -> dict[str, Any]:
    rows = [speed.row(one, n, who) for one in DATABASES for n in (1, 2) for who in speed.BODIES]
    rates: dict[str, list[float | None]] = {name: [1_000.0, 3_000.0] for name in rows}
    rates[speed.CEILING] = [4_000.0, 6_000.0]
    even = {"halves": [half(100, 100_000, 50_000, 300_000), half(100, 102_000, 50_000, 300_000)]}
    kinds = dict.fromkeys(storage.KINDS, even)
    kinds[storage.KEYED] = {"halves": [half(100, 180_000), half(100, 220_000)]}
    kinds[storage.TOLD] = {"halves": [half(10, 25_000)]}
    stored = {"kinds": kinds, "database_bytes": 1_000, "backup_bytes": None}
    return {
        "name": "quick",
        "size": SIZES["quick"]._asdict(),
        "machine": {
            "cores": 2,
            "architecture": "arm",
            "memory_gb": 4,
            "python": "3.13.1",
            "sync_ms": 0.5,
        },
        "speed": {
            "rates": rates,
            "busy_shares": [0.02, 0.25],
            "latency": {
                **{name: [waited(0.5, 9.0)] for name in rows[:-1]},
                rows[-1]: [waited(0.5, 80.0), waited(0.25, 60.0), waited(0.1, 20.0)],
                speed.CEILING: [waited(0.5, 2.0)],
            },
            "around": {
                SQLITE: {"memory_mb": [80.0], "memory_2_mb": [70.0, 70.0, 20.0]},
                POSTGRESQL: {
                    "memory_mb": [90.0],
                    "memory_2_mb": [],
                    "sessions": 3,
                    "sessions_2": 10,
                },
            },
        },
        "storage": {SQLITE: stored, POSTGRESQL: {**stored, "backup_bytes": 250}},
    }


def test_a_rate_is_held_against_the_ceiling_of_its_own_round() -> None:
    shown = page.carried(measured())
    assert (
        f"| SQLite | 1 | {speed.ANONYMOUS} | 2,000 | 0.38 x | 1.2 ms | 9.0 ms | 1,000 scores/s |"
        in shown
    )
    slow = f"| PostgreSQL | 2 | {speed.NAMED} | 2,000 | 0.38 x | 1.2 ms | 80.0 ms | 200 scores/s |"
    assert slow in shown


def test_the_page_says_that_half_load_is_quick_only_where_it_was() -> None:
    document = measured()
    assert "not quick in 1 of 8 rows" in page.carried(document)
    document["speed"]["latency"][speed.row(POSTGRESQL, 2, speed.NAMED)] = [waited(0.5, 49.0)]
    assert "at half load answers were quick in every row" in page.carried(document)


def test_a_load_at_which_requests_fail_or_no_p99_is_known_is_not_quick() -> None:
    assert not speed.is_quick(waited(0.5, 9.0, errors=1))
    assert not speed.is_quick({**waited(0.5, 9.0), "ms": {"p50": 1.0}})
    assert page.quick([waited(0.5, 80.0)]) is None


def test_a_machine_is_planned_for_quick_answers_or_not_at_all() -> None:
    document = measured()
    row = speed.row(SQLITE, 1, speed.NAMED)
    document["speed"]["latency"][row] = [waited(0.5, 80.0), {**waited(0.25, 20.0), "rate": 20.0}]
    shown = page.example(document)
    assert "| SQLite | 20 scores/s | 2 |" in shown
    assert "speed does not decide" not in shown
    document["speed"]["latency"][row] = [waited(0.5, 80.0)]
    assert "| SQLite | unknown | unknown |" in page.example(document)


def test_quick_is_what_the_alert_calls_so() -> None:
    alerts = (ROOT / "deploy" / "observability" / "alerts.yaml").read_text("utf-8")
    assert f'route="/v1/score"}}[5m]))) > {speed.QUICK_MS / 1000}\n' in alerts
    assert f"longer than {speed.QUICK_MS:.0f} ms" in front.PAGE.read_text("utf-8")


def test_the_page_is_that_of_the_results_which_are_of_a_full_run() -> None:
    document = json.loads(front.RESULTS.read_text("utf-8")) if front.RESULTS.exists() else {}
    assert document.get("name", "full") == "full"
    text = front.PAGE.read_text("utf-8")
    assert pages.filled(text, page.BLOCKS, document) == text, "run `make bench-sizing SIZE=full`"


def test_bytes_are_of_one_score_and_of_a_million() -> None:
    shown = page.stored(measured())
    assert f"| PostgreSQL | {storage.NAMED} | 1,510 | 500 | 3,000 | 1.51 GB | 1.01 x |" in shown
    assert f"| SQLite | {storage.TOLD} | 2,500 |  |  | 2.50 GB |  |" in shown
    assert "on PostgreSQL took 0.25 of the size" in shown
    assert "on SQLite" not in shown


def test_what_does_not_grow_by_the_score_is_named() -> None:
    told = page.uneven(measured())
    assert told == [
        f"{storage.KEYED} on {database}: the second half took 1.22 x of the first"
        for database in DATABASES
    ]


def test_memory_and_sessions_are_told_where_they_are_known() -> None:
    shown = page.around(measured())
    assert "| SQLite | 80 MB | 70 + 70 + 20 MB |  |  |" in shown
    assert "| PostgreSQL | 90 MB | unknown | 3 | 7 |" in shown


def test_the_example_keeps_keys_for_three_days_and_events_for_thirty() -> None:
    shown = page.example(measured())
    assert "32 a second" in shown
    # 2 million a month: a tenth of them keep a key of 490 bytes more, all keep events of 990 more.
    assert "speed does not decide" in shown
    assert "| SQLite | 1,000 scores/s | 1 | 36 GB | 254 GB | 2.1 GB |" in shown


def test_a_quick_run_says_that_it_was_one() -> None:
    document = measured()
    assert "quick run" in page.machine(document)
    assert "2% and 25% of the machine, which makes" in page.machine(document)
    assert "quick run" not in page.machine({**document, "name": "full"})


def test_what_was_not_measured_is_not_shown() -> None:
    assert {block({}) for block in page.BLOCKS.values()} == {page.NOTHING}


def test_the_page_has_a_place_for_every_table() -> None:
    text = front.PAGE.read_text("utf-8")
    filled = pages.filled(text, dict.fromkeys(page.BLOCKS, lambda _: "HERE"), {})
    assert filled.count("HERE") == len(page.BLOCKS)


def test_growth_is_what_was_added() -> None:
    assert Weight(5, 4, 3, 2).since(Weight(1, 1, 1, 1)) == Weight(4, 3, 2, 1)
    assert Weight(5, 4, 3, 2).total == 12


def test_the_memory_of_a_process_is_found(tmp_path: Path) -> None:
    server = Server("this", 0, "", tmp_path, os.getpid(), 0.0, tmp_path)
    found = stage.memory_mb(server)
    assert now() is None or max(found) > 10
