"""Throughput: everybody in turn, a few seconds each, in rounds forth and back."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING, Any, Final

from bench.serve import machine, wrk
from bench.serve.figures import order
from bench.serve.options import CONNECTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.progress import Bar
    from bench.serve.ground import Ground
    from bench.serve.options import Size
    from bench.serve.server import Server

WARM_UP_S: Final = 1


def seconds(size: Size, subjects: int) -> float:
    """Expect how long it takes."""
    return subjects * (WARM_UP_S + size.rounds * len(CONNECTIONS) * size.seconds)


def measure(
    ground: Ground, servers: Mapping[str, Server], size: Size, bar: Bar
) -> dict[str, dict[str, Any]]:
    """Give for every subject the rate of each round and the errors of all."""
    found: dict[str, dict[str, Any]] = {
        name: {
            "rates": {str(count): [] for count in CONNECTIONS},
            "processor_us": [],
            "others_share": [],
            "errors": 0,
        }
        for name in servers
    }
    for name, server in servers.items():
        bar.at(f"warming up {name}")
        run = wrk.run(ground, server, CONNECTIONS[0], WARM_UP_S)
        if run.rate is None:
            raise server.failed(f"gave errors while it warmed up: {run.errors_by_kind}")
        bar.advance(WARM_UP_S)
    bar.at("waiting until the servers are at rest")
    machine.settle()  # else whoever is first has the others' start beside it, and loses by it
    for number in range(size.rounds):
        for connections in CONNECTIONS:
            for name in order(tuple(servers), number):
                bar.at(f"round {number + 1} of {size.rounds}, {connections} connections: {name}")
                _run(ground, servers[name], connections, size.seconds, found[name])
                bar.advance(size.seconds)
    return found


def _run(
    ground: Ground, server: Server, connections: int, duration_s: int, entry: dict[str, Any]
) -> None:
    """Add one run to what is known of a subject."""
    moment, before_s, client_s = machine.now(), server.processor_s(), _ended_children_s()
    run = wrk.run(ground, server, connections, duration_s)
    used = server.processor_s() - before_s
    ours_s = used + _ended_children_s() - client_s
    entry["others_share"].append(machine.share_of_others(moment, machine.now(), ours_s))
    valid = run.rate is not None
    entry["rates"][str(connections)].append(round(run.rate, 1) if run.rate is not None else None)
    entry["processor_us"].append(round(used / run.requests * 1e6, 1) if valid and used else None)
    entry["errors"] += run.errors


def _ended_children_s() -> float:
    """Give the processor time of the clients that have run so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
