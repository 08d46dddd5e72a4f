"""The front door: `python -m bench.webhooks [quick|full]`, into docs/benchmarks.md when full.

Five services score in turn, round by round, each on one core: one that tells nobody, one with one
webhook endpoint, one with twenty, one with twenty of which seven are bad, its worker killed in each
round, and one with twenty whose worker has no other core than the service. The other workers run
where there is room, behind everything else, as `alama serve` has them. A worker stands still while
it is not its service's turn, so that what it has yet to send is at nobody else's cost. Then a sixth
is asked for scores while its worker is killed again and again, and what arrived is counted.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bench import page
from bench.environment import ROOT, SCRATCH
from bench.progress import Bar
from bench.serve import ground, wrk
from bench.serve.figures import middle, order, ratio
from bench.serve.ground import NotMeasurable
from bench.serve.server import ServerFailed
from bench.store import as_text
from bench.webhooks import kills
from bench.webhooks.subjects import BAD, good, receiving, telling

if TYPE_CHECKING:
    from bench.page import Document
    from bench.serve.ground import Ground
    from bench.webhooks.subjects import Receivers, Subject

PAGE: Final = ROOT / "docs" / "benchmarks.md"
RESULTS: Final = ROOT / "bench" / "results" / "webhooks.json"
NOBODY: Final = "nobody"
KILLED: Final = "twenty, seven of them bad, and the worker killed in each round"
CROWDED: Final = "twenty, and there is no other core for the worker"
PATHS: Final = {
    NOBODY: (),
    "one endpoint": good(1),
    "twenty endpoints": good(20),
    KILLED: (*good(kills.GOOD), *BAD),
    CROWDED: good(20),
}
CONNECTIONS: Final = 16
WARM_UP_S: Final = 1
START_S: Final = 6
"""About what a service takes to start."""
NOTHING: Final = "*Not measured yet: `make bench-webhooks SIZE=full`.*"


class Size(NamedTuple):
    """Rounds of so many seconds each, for how long deliveries alone are counted, and the kills."""

    rounds: int
    seconds: int
    delivering_s: int
    scores: int
    kills: int
    killing_s: int
    """About what the last two take."""


SIZES: Final = {
    "quick": Size(2, 2, 3, 400, 2, kills.LEASE_S + 15),
    "full": Size(7, 5, 15, 10_000, 20, 420),
}


def main() -> int:
    """Measure, print, and keep what a full run found."""
    parser = argparse.ArgumentParser(prog="python -m bench.webhooks", description=__doc__)
    parser.add_argument("size", nargs="?", choices=tuple(SIZES), default="quick")
    name = parser.parse_args().size
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        document = _measure(SIZES[name])
    except (NotMeasurable, ServerFailed) as error:
        print(error, file=sys.stderr)
        return 1
    print(block(document))
    results, written = (
        (RESULTS, PAGE)
        if name == "full"
        else (SCRATCH / "webhooks.json", SCRATCH / "benchmarks.md")
    )
    results.write_text(as_text(document), "utf-8")
    text = page.filled(PAGE.read_text("utf-8"), {"webhooks": block}, document)
    written.write_text(text, "utf-8")
    return 0


def _measure(size: Size) -> Document:
    with ground.without_peers() as here, Bar() as bar:
        in_turn_s = len(PATHS) * (size.rounds * size.seconds + START_S)
        bar.start("five services in turn", in_turn_s + 4 * size.delivering_s)
        found = _in_turn(here, size, bar)
        bar.start("a worker that is killed again and again", size.killing_s)
        killed = kills.measure(here, size.scores, size.kills, bar)
    return {"size": size._asdict(), **found, "killed": killed}


def _in_turn(here: Ground, size: Size, bar: Bar) -> dict[str, Any]:
    with ExitStack() as stack:
        receivers = stack.enter_context(receiving(here, "receivers"))
        subjects = {}
        for name, paths in PATHS.items():
            bar.at(f"starting: {name}")
            subject = stack.enter_context(telling(here, name, paths, receivers))
            if name == CROWDED:
                subject.worker.stay(here)
            subject.worker.start()
            if wrk.run(here, subject.server, CONNECTIONS, WARM_UP_S).rate is None:
                raise subject.server.failed("gave errors while it warmed up")
            subject.worker.rest()
            subjects[name] = subject
            bar.advance(START_S)
        rates = _rates(here, subjects, size, bar)
        sent = {}
        for name, paths in PATHS.items():
            if paths:
                bar.at(f"deliveries alone: {name}")
                sent[name] = _sent_alone(subjects[name], receivers, size.delivering_s)
                bar.advance(size.delivering_s)
    return {"rates": rates, "deliveries": sent}


def _rates(
    here: Ground, subjects: dict[str, Subject], size: Size, bar: Bar
) -> dict[str, list[float | None]]:
    rates: dict[str, list[float | None]] = {name: [] for name in subjects}
    for number in range(size.rounds):
        for name in order(tuple(subjects), number):
            bar.at(f"round {number + 1} of {size.rounds}: {name}")
            subjects[name].worker.work()
            rate = _rate(here, subjects[name], size.seconds, is_killed=name == KILLED)
            subjects[name].worker.rest()
            rates[name].append(None if rate is None else round(rate, 1))
            bar.advance(size.seconds)
    return rates


def _rate(here: Ground, subject: Subject, seconds: int, *, is_killed: bool) -> float | None:
    killer = threading.Timer(seconds / 2, subject.worker.replace)
    if is_killed:
        killer.start()
    rate = wrk.run(here, subject.server, CONNECTIONS, seconds).rate
    if is_killed:
        killer.join()
    return rate


def _sent_alone(subject: Subject, receivers: Receivers, seconds: int) -> float:
    """Give deliveries a second of what has gathered meanwhile, nobody scoring."""
    subject.worker.work()
    receivers.wait_for("taken", receivers.counts()["taken"] + 1)  # it may have only just begun
    before, began_s = receivers.counts()["taken"], time.perf_counter()
    time.sleep(seconds)
    rate = (receivers.counts()["taken"] - before) / (time.perf_counter() - began_s)
    subject.worker.rest()
    return round(rate, 1)


def block(document: Document) -> str:
    """Give what docs/benchmarks.md shows."""
    rates: dict[str, list[float | None]] = document.get("rates", {})
    if not rates:
        return NOTHING
    alone = rates[NOBODY]
    head = ["each score told to", f"scores/s at {CONNECTIONS}", "beside nobody", "deliveries/s"]
    rows = [
        [name, _figure(middle(found)), _times(ratio(found, alone)), _sent(document, name)]
        for name, found in rates.items()
    ]
    size: dict[str, Any] = document["size"]
    return (
        f"{page.table(head, rows)}\n\n{size['rounds']} rounds of {size['seconds']} s; deliveries "
        f"over {size['delivering_s']} s in which nobody scored.\n\n{kills.told(document['killed'])}"
    )


def _figure(value: float | None) -> str:
    return "void" if value is None else f"{value:,.0f}"


def _times(value: float | None) -> str:
    return "" if value is None else page.times(value)


def _sent(document: Document, name: str) -> str:
    sent = document["deliveries"].get(name)
    return "" if sent is None else f"{sent:,.0f}"


if __name__ == "__main__":
    sys.exit(main())
