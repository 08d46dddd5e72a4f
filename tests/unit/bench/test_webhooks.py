"""What the benchmark of webhooks counts, and how it tells it."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from alama.webhooks import courier
from bench.webhooks import __main__ as front
from bench.webhooks import kills, rows, subjects
from bench.webhooks.receiver import Taken

pytestmark = pytest.mark.long

SECRET = b"s" * 32
KILLED: dict[str, Any] = {
    "scores": 100,
    "kills": 2,
    "wanted": 1_300,
    "seconds": 12.4,
    "taken": 1_313,
    "different": 1_300,
    "forged": 0,
}
TWO_THREADS = """
import sys, threading
threading.Thread(target=sys.stdin.read).start()
print(flush=True)
"""


def measured(rates: Mapping[str, Sequence[float | None]]) -> dict[str, Any]:
    """What a quick run finds, with these rates."""
    return {
        "size": front.SIZES["quick"]._asdict(),
        "rates": rates,
        "deliveries": {name: [50.0, 60.0] for name in rows.PATHS},
        "deliveries_alone": 1_234.4,
        "killed": KILLED,
    }


def test_deliveries_that_come_again_and_those_that_are_forged_are_counted() -> None:
    taken = Taken()
    taken.verifiers["/good/1"] = Webhook(base64.b64encode(SECRET).decode())
    headers = courier.signature_headers("evt_1", b"{}", [SECRET], int(time.time()))
    taken.take("/good/1", headers, b"{}")
    taken.take("/good/1", headers, b'{"forged":1}')
    taken.take("/good/2", headers, b"{}")
    assert json.loads(taken.told()) == {"taken": 3, "different": 2, "forged": 1}


def test_what_came_though_the_worker_was_killed_is_told_in_a_sentence() -> None:
    told = kills.told(KILLED)
    assert "100 scores, each told to 20 endpoints, of which 7 refuse" in told
    assert "killed 2 times: 1,300 of 1,300 deliveries came to the 13 others" in told
    assert "1.00 % of them once more; the official verifier refused 0" in told


def test_each_lender_has_a_row_beside_the_one_that_tells_nobody() -> None:
    rates = {name: [100.0, 110.0] for name in rows.PATHS} | {rows.NOBODY: [200.0, 220.0]}
    shown = front.block(measured(rates))
    assert "| nobody | 210 |  |  |" in shown
    assert "| twenty endpoints | 105 | 0.50 x (0.50 to 0.50) | 55 |" in shown
    assert "While nobody scores, the worker sends 1,234 deliveries/s" in shown
    assert kills.told(KILLED) in shown


def test_a_row_is_compared_within_rounds_and_a_void_round_is_left_out() -> None:
    rates: dict[str, list[float | None]] = {name: [80.0, None, 300.0] for name in rows.PATHS}
    rates[rows.NOBODY] = [100.0, 300.0, 300.0]
    rates[rows.KILLED] = [None, None, None]
    shown = front.block(measured(rates))
    assert "| twenty endpoints | 190 | 0.89 x (0.72 to 1.11) | 55 |" in shown
    assert f"| {rows.KILLED} | void |  | 55 |" in shown
    assert f"void, for a score failed: 1 of those told to {rows.TWENTY}, 3 of" in shown


def test_what_was_not_measured_is_not_shown() -> None:
    assert front.block({}) == front.NOTHING


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_a_process_is_kept_to_cores_with_all_its_threads_and_let_go_again() -> None:
    mine = os.sched_getaffinity(0)
    command = [sys.executable, "-c", TWO_THREADS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        threads = [int(one.name) for one in Path(f"/proc/{process.pid}/task").iterdir()]
        for cores in ({min(mine)}, mine):
            subjects.keep_to(process.pid, cores)
            assert [os.sched_getaffinity(one) for one in threads] == [cores, cores]
        process.communicate()  # ends its input, and with that the process
