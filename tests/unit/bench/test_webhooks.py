"""What the benchmark of webhooks counts, and how it tells it."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

from standardwebhooks import Webhook

from alama.webhooks import signing
from bench.webhooks import __main__ as front
from bench.webhooks import kills
from bench.webhooks.receiver import Taken

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


def test_deliveries_that_come_again_and_those_that_are_forged_are_counted() -> None:
    taken = Taken()
    taken.verifiers["/good/1"] = Webhook(base64.b64encode(SECRET).decode())
    headers = signing.headers("evt_1", b"{}", [SECRET], int(time.time()))
    taken.take("/good/1", headers, b"{}")
    taken.take("/good/1", headers, b'{"forged":1}')
    taken.take("/good/2", headers, b"{}")
    assert json.loads(taken.told()) == {"taken": 3, "different": 2, "forged": 1}


def test_what_came_though_the_worker_was_killed_is_told_in_a_sentence() -> None:
    told = kills.told(KILLED)
    assert "100 scores, each told to 20 endpoints, of which 7 refuse" in told
    assert "killed 2 times: 1,300 of 1,300 deliveries came to the 13 others" in told
    assert "1.00 % of them once more; the official verifier refused 0" in told


def test_each_service_has_a_row_beside_the_one_that_tells_nobody() -> None:
    rates = {name: [100.0, 110.0] for name in front.PATHS} | {front.NOBODY: [200.0, 220.0]}
    size = front.SIZES["quick"]._asdict()
    sent = dict.fromkeys(list(front.PATHS)[1:], 50.0)
    shown = front.block({"rates": rates, "deliveries": sent, "killed": KILLED, "size": size})
    assert "| nobody | 210 | 1 x |  |" in shown
    assert "| twenty endpoints | 105 | 0.5 x | 50 |" in shown
    assert front.block({}) == front.NOTHING
