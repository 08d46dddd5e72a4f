"""What arrives though the worker is killed again and again, and many receivers are bad."""

from __future__ import annotations

import http.client
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Final

from bench.serve.server import HOST
from bench.webhooks.subjects import BAD, good, receiving, telling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.progress import Bar
    from bench.serve.ground import Ground
    from bench.serve.server import Server

GOOD: Final = 13
CONNECTIONS: Final = 4
LEASE_S: Final = 60
"""After which what a killed worker held is due again."""
AGAIN_S: Final = 5
"""In which it is sent once more."""


def measure(here: Ground, scores: int, kills: int, expected_s: int, bar: Bar) -> dict[str, Any]:
    """Score so often, and kill the worker so often meanwhile; tell what came of it."""
    bar.start("a worker that is killed again and again", expected_s)
    step_s = (expected_s - LEASE_S) / (2 * kills)
    bodies = here.bodies.read_text("utf-8").splitlines()
    each = scores // kills
    with (
        receiving(here, "receivers of the killed") as receivers,
        telling(here, "killed", (*good(GOOD), *BAD), receivers) as subject,
    ):
        receivers.verify(subject.secrets)
        began_s = time.perf_counter()
        for number in range(1, kills + 1):
            bar.at(f"worker {number} of {kills}, to be killed")
            subject.worker.start()
            enough = receivers.counts()["different"] + each * GOOD // 3
            with ThreadPoolExecutor(CONNECTIONS) as pool:
                asked = [
                    pool.submit(_score, subject.server, list(islice(cycle(bodies), share)))
                    for share in (len(range(one, each, CONNECTIONS)) for one in range(CONNECTIONS))
                ]
                receivers.wait_for("different", enough)
                subject.worker.kill()
                for one in asked:
                    one.result()
            bar.advance(step_s)
        subject.worker.start()
        all_due_s = time.monotonic() + LEASE_S
        wanted = each * kills * GOOD
        bar.at(f"the last worker, with what {kills} have left")
        receivers.wait_for("different", wanted)
        seconds = time.perf_counter() - began_s
        bar.advance(step_s * kills)
        bar.at("what comes once more")
        time.sleep(max(all_due_s + AGAIN_S - time.monotonic(), 0))
        counts = receivers.counts()
        bar.advance(LEASE_S)
    return {"scores": each * kills, "kills": kills, "wanted": wanted, "seconds": seconds, **counts}


def _score(server: Server, bodies: Sequence[str]) -> None:
    connection = http.client.HTTPConnection(HOST, server.port, timeout=30)
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    for body in bodies:
        connection.request("POST", "/v1/score", body, headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise server.failed(f"answered {answer.status}")
    connection.close()


def told(found: dict[str, Any]) -> str:
    """Say in a sentence what came of it."""
    share = (found["taken"] - found["different"]) / found["wanted"]
    return (
        f"{found['scores']:,} scores, each told to {GOOD + len(BAD)} endpoints, of which "
        f"{len(BAD)} refuse, fail, stall, crawl or hang up, by a worker that was killed "
        f"{found['kills']} times: {found['different']:,} of {found['wanted']:,} deliveries came to "
        f"the {GOOD} others, {100 * share:.2f} % of them once more; the official verifier refused "
        f"{found['forged']}. All in {found['seconds']:.0f} s."
    )
