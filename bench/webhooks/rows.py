"""What telling others of each score costs scoring: one service, a lender for each row.

Two services that do the same differ by more than what is asked here, by where their memory and
their files happen to lie. So one of them does everything, and one worker sends for it. Two rounds
differ as much: so there are many short ones, and what is shown is their mean, with how far it can
be trusted.
"""

from __future__ import annotations

import math
import os
import threading
import time
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from alama.lenders import installation, keys
from alama.platform import clock, settings
from alama.platform.book import Book, Mode
from bench import page
from bench.serve import wrk
from bench.serve.figures import middle, order
from bench.serve.subjects import home
from bench.webhooks import kills
from bench.webhooks.subjects import BAD, KNOWN_S, added, good, receiving, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from alama.lenders.installation import Installation
    from bench.page import Document
    from bench.progress import Bar
    from bench.serve.ground import Ground
    from bench.serve.server import Server
    from bench.webhooks.subjects import Receivers, Worker

SERVICE: Final = "telling"
NOBODY: Final = "nobody"
TWENTY: Final = "twenty endpoints"
KILLED: Final = "twenty, seven of them bad, and the worker killed in each round"
CROWDED: Final = "twenty, and there is no other core for the worker"
PATHS: Final = {
    NOBODY: (),
    TWENTY: good(20),
    KILLED: (*good(kills.GOOD), *BAD),
    CROWDED: good(20),
}
CONNECTIONS: Final = 16
WARM_UP_S: Final = 1
START_S: Final = 6
"""About what a service takes to start."""
AROUND_S: Final = 0.3
"""About what a round takes beyond its seconds."""

_CERTAIN: Final = 1.96
"""Standard errors to either side of a mean between which the truth is in 95 of 100 cases."""


class Stage(NamedTuple):
    """Where the rows are measured; `installed` is the service's database, as commands open it."""

    here: Ground
    receivers: Receivers
    worker: Worker
    installed: Installation


def measure(here: Ground, rounds: int, seconds: int, delivering_s: int, bar: Bar) -> dict[str, Any]:
    """Measure each row in each round of so many seconds, and then how fast the worker sends."""
    around_s = START_S + len(PATHS) * (WARM_UP_S + KNOWN_S)
    in_turn_s = len(PATHS) * rounds * (seconds + AROUND_S)
    bar.start("one service, four lenders in turn", around_s + in_turn_s + delivering_s)
    variables = {"ALAMA_HOME": str(home(here, SERVICE))}
    with (
        receiving(here, "receivers") as receivers,
        serving(here, SERVICE) as (server, worker),
        closing(installation.open_installation(settings.read(variables))) as installed,
    ):
        stage = Stage(here, receivers, worker, installed)
        clients = _clients(server, installed)
        for name, client in clients.items():
            bar.at(f"warming up: {name}")
            added(client, PATHS[name], receivers)
            if wrk.run(here, client, CONNECTIONS, WARM_UP_S).rate is None:
                raise client.failed("gave errors while it warmed up")
        worker.start()
        receivers.wait_for("taken", 1)
        bar.advance(around_s)
        found = _in_turn(stage, clients, rounds, seconds, bar)
        bar.at("deliveries while nobody scores")
        arrived = _arrivals(receivers)
        time.sleep(delivering_s)
        alone = arrived()
        bar.advance(delivering_s)
    return {**found, "deliveries_alone": alone}


def _clients(server: Server, installed: Installation) -> dict[str, Server]:
    """Add a lender for each row; give the service by the row, with the key of its lender."""
    clients = {}
    for number, name in enumerate(PATHS, start=1):
        book = Book(f"row-{number}", Mode.TEST)
        keys.add_lender(installed.registry, clock.wall_us, book.lender, name, "KES")
        key, _ = keys.issue(installed.registry, installed.clock, installed.pepper, book)
        clients[name] = replace(server, key=key)
    return clients


def _in_turn(
    stage: Stage, clients: dict[str, Server], rounds: int, seconds: int, bar: Bar
) -> dict[str, dict[str, list[float | None]]]:
    rates: dict[str, list[float | None]] = {name: [] for name in clients}
    deliveries: dict[str, list[float | None]] = {name: [] for name in clients}
    for number in range(rounds):
        for name in order(tuple(clients), number):
            bar.at(f"round {number + 1} of {rounds}: {name}")
            with _worker_of(stage, name, seconds):
                arrived = _arrivals(stage.receivers)
                rate = wrk.run(stage.here, clients[name], CONNECTIONS, seconds).rate
                deliveries[name].append(arrived())
            rates[name].append(None if rate is None else round(rate, 1))
            bar.advance(seconds + AROUND_S)
    return {"rates": rates, "deliveries": deliveries}


def _arrivals(receivers: Receivers) -> Callable[[], float]:
    """Begin to count; give what tells the deliveries a second since."""
    before, began_s = receivers.counts()["taken"], time.perf_counter()

    def a_second() -> float:
        taken = receivers.counts()["taken"] - before
        return round(taken / (time.perf_counter() - began_s), 1)

    return a_second


# ------------------------------------------------------------------------------- a round


def _worker_of(stage: Stage, name: str, seconds: int) -> AbstractContextManager[None]:
    """Have the worker be for a round what the row says."""
    changed = {NOBODY: _at_rest, KILLED: _killed, CROWDED: _crowded}.get(name)
    return nullcontext() if changed is None else changed(stage, seconds)


@contextmanager
def _at_rest(stage: Stage, _seconds: int) -> Iterator[None]:
    # While nobody else can be writing: stopped in a transaction it would hold up all scores.
    with stage.installed.database.writing():
        stage.worker.rest()
    yield
    stage.worker.work()


@contextmanager
def _killed(stage: Stage, seconds: int) -> Iterator[None]:
    killer = threading.Timer(seconds / 2, stage.worker.replace)
    killer.start()
    try:
        yield
    finally:
        killer.cancel()  # where the round broke: nobody would end the worker that it starts
        killer.join()


@contextmanager
def _crowded(stage: Stage, _seconds: int) -> Iterator[None]:
    core = stage.here.server_core
    if core is None:  # there is one for all, or none can be chosen
        yield
        return
    stage.worker.keep_to({core})
    yield
    stage.worker.keep_to(os.sched_getaffinity(0))


# ------------------------------------------------------------------------------- in words


def shown(document: Document) -> str:
    """Give the table, and a sentence on how it was measured."""
    rates: dict[str, list[float | None]] = document["rates"]
    head = [
        *("each score told to", f"scores/s at {CONNECTIONS}", "beside nobody"),
        "deliveries/s meanwhile",
    ]
    rows = [
        [
            name,
            figure(middle(rates[name])),
            "" if name == NOBODY else beside(rates[name], rates[NOBODY]),
            figure(middle(document["deliveries"][name])) if paths else "",
        ]
        for name, paths in PATHS.items()
    ]
    size: dict[str, Any] = document["size"]
    return (
        f"{page.table(head, rows)}\n\n{size['rounds']} rounds of {size['seconds']} s"
        f"{_void(rates)}. While nobody scores, the worker sends "
        f"{document['deliveries_alone']:,.0f} deliveries/s, over {size['delivering_s']} s."
    )


def _void(rates: Mapping[str, Sequence[float | None]]) -> str:
    """Say in which rounds a score failed: they are not counted."""
    void = {name: sum(rate is None for rate in found) for name, found in rates.items()}
    told = [f"{count} of those told to {name}" for name, count in void.items() if count]
    return f"; void, for a score failed: {', '.join(told)}" if told else ""


def beside(ours: Sequence[float | None], nobody: Sequence[float | None]) -> str:
    """Give the mean of the ratios round by round, and between what it is in 95 of 100 cases."""
    pairs = zip(ours, nobody, strict=True)
    logs = [math.log(a / b) for a, b in pairs if a is not None and b is not None]
    if len(logs) < 2:
        return ""
    mean, reach = fmean(logs), _CERTAIN * stdev(logs) / math.sqrt(len(logs))
    low, high = math.exp(mean - reach), math.exp(mean + reach)
    return f"{math.exp(mean):.2f} x ({low:.2f} to {high:.2f})"


def figure(value: float | None) -> str:
    return "void" if value is None else f"{value:,.0f}"
