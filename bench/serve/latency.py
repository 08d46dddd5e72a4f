"""Latency at half of what each subject can carry, from the time that a request was due."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from bench.environment import ROOT
from bench.serve.figures import order, quantiles_ms, top_rate
from bench.serve.openloop import Heard, Load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.progress import Bar
    from bench.serve.ground import Ground
    from bench.serve.options import Size
    from bench.serve.server import Server

SHARE: Final = 0.5
CONNECTIONS: Final = 64


def seconds(size: Size, subjects: int) -> float:
    """Expect how long it takes."""
    return subjects * size.latency_rounds * (size.latency_seconds + 0.5)


def measure(
    ground: Ground,
    servers: Mapping[str, Server],
    throughput: Mapping[str, Mapping[str, Any]],
    size: Size,
    bar: Bar,
    share: float = SHARE,
) -> dict[str, dict[str, Any]]:
    """Give for every subject the quantiles over all its rounds, and the p99 of each."""
    rates = {name: top_rate(throughput[name]["rates"]) for name in servers}
    heard: dict[str, list[Heard]] = {name: [] for name in servers}
    for number in range(size.latency_rounds):
        for name in order(tuple(servers), number):
            top = rates[name]
            if top is not None:
                rate = share * top
                bar.at(f"latency at {rate:,.0f} requests a second: {name}")
                heard[name].append(_heard(ground, servers[name], rate, size.latency_seconds))
            bar.advance(size.latency_seconds + 0.5)
    return {
        name: _summary(runs, share * top)
        for name, runs in heard.items()
        if runs and (top := rates[name]) is not None
    }


def _heard(ground: Ground, server: Server, rate: float, seconds: int) -> Heard:
    load = Load(
        port=server.port,
        rate=rate,
        seconds=seconds,
        connections=CONNECTIONS,
        bodies=str(server.bodies),
        key=server.key,
    )
    command = [ground.python, "-m", "bench.serve.openloop", json.dumps(asdict(load))]
    answer = subprocess.run(
        ground.for_client(command),
        cwd=ROOT,
        env=ground.variables,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Heard.from_json(answer.stdout)


def _summary(runs: list[Heard], rate: float) -> dict[str, Any]:
    everything = [latency for run in runs for latency in run.latencies_us]
    return {
        "rate": round(rate, 1),
        "requests": len(everything),
        "errors": sum(run.errors for run in runs),
        "ms": quantiles_ms(everything),
        "p99_ms_by_round": [quantiles_ms(run.latencies_us).get("p99") for run in runs],
        "client_late_ms": quantiles_ms([late for run in runs for late in run.late_us]),
    }
