"""What a core carries: one process on one core, two on two, and the ceiling in the same rounds."""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bench.serve import latency, machine, wrk
from bench.serve.figures import middle, order
from bench.serve.options import Size as ServeSize
from bench.serve.subjects import SUBJECTS
from bench.sizing import stage as stages
from bench.sizing.stage import DATABASES, POSTGRESQL

if TYPE_CHECKING:
    from pathlib import Path

    from bench.progress import Bar
    from bench.serve.ground import Ground
    from bench.serve.server import Server
    from bench.sizing.options import Size
    from bench.sizing.stage import Stage

CEILING: Final = "ceiling"
ANONYMOUS: Final = "anonymous"
NAMED: Final = "a new applicant each time"
BODIES: Final = (ANONYMOUS, NAMED)
CONNECTIONS: Final = 16
START_S: Final = 6
WARM_UP_S: Final = 1

QUICK_MS: Final = 50.0
"""What 99 answers of 100 stay within where a load is called one with quick answers. The alert
AlamaSlow has the same bound, for 95 of 100."""
SHARES: Final = (0.5, 0.25, 0.1)
"""Of what was carried: tried one after the other, until answers are quick."""
_REQUESTS_MIN: Final = 600
"""So many tell a p99."""


def row(database: str, processes: int, bodies: str) -> str:
    """Name a row: which database, how many processes, who is scored."""
    return f"{database}, {processes}, {bodies}"


def seconds(size: Size) -> float:
    """Expect how long it takes."""
    rows = 1 + 2 * len(DATABASES) * len(BODIES)
    turns = size.rounds * (size.seconds + 0.3) + WARM_UP_S
    return 5 * START_S + rows * (turns + size.latency_seconds + 0.5)


def measure(here: Ground, size: Size, bar: Bar) -> dict[str, Any]:
    """Give the rates of each row by round, the waits at a part of that, memory and sessions."""
    bar.start("what a core carries", seconds(size))
    with ExitStack() as stack:
        ceiling = stack.enter_context(SUBJECTS[CEILING].opened(here))
        servers = {CEILING: ceiling}
        around: dict[str, Any] = {}
        for database in DATABASES:
            bar.at(f"starting on {database}")
            stage = stack.enter_context(stages.opened(here, database, "sized"))
            single = {row(database, 1, who): _asked(stage.server, here, who) for who in BODIES}
            _warm_up(here, single, bar)
            around[database] = {"memory_mb": stages.memory_mb(stage.server), **_sessions(stage)}
            pair = stack.enter_context(stages.doubled(stage))
            double = {row(database, 2, who): _asked(pair, here, who) for who in BODIES}
            _warm_up(here, double, bar)
            around[database]["memory_2_mb"] = stages.memory_mb(pair)
            around[database] |= {f"{name}_2": n for name, n in _sessions(stage).items()}
            servers |= {**single, **double}
            bar.advance(2 * START_S)
        found = _in_turn(here, servers, size, bar)
        waits = {
            name: _waits(here, (name, server), found["rates"][name], size, bar)
            for name, server in servers.items()
        }
        found["busy_shares"].append(machine.busy_share())
    return {**found, "latency": waits, "around": around}


def _waits(
    here: Ground, named: tuple[str, Server], rates: list[float | None], size: Size, bar: Bar
) -> list[dict[str, Any]]:
    """Give the waits at half of what was carried, and at less where those are too long."""
    name, server = named
    carried = middle(rates)
    tried: list[dict[str, Any]] = []
    for share in SHARES:
        if carried is None or (tried and is_quick(tried[-1])):
            break
        duration_s = max(size.latency_seconds, math.ceil(_REQUESTS_MIN / (share * carried)))
        once = ServeSize(0, 0, 1, duration_s, 0, ())
        throughput = {name: {"rates": {"all": rates}}}
        waited = latency.measure(here, {name: server}, throughput, once, bar, share)[name]
        tried.append({"share": share, **waited})
    return tried


def is_quick(waited: dict[str, Any]) -> bool:
    """Say whether answers stay quick at a load: none fails, and 99 of 100 are within the time."""
    p99_ms: float = waited["ms"].get("p99", math.inf)
    return not waited["errors"] and p99_ms <= QUICK_MS


def _asked(server: Server, here: Ground, who: str) -> Server:
    bodies: Path = here.bodies if who == ANONYMOUS else here.applicants
    return replace(server, bodies=bodies)


def _sessions(stage: Stage) -> dict[str, int]:
    if stage.database != POSTGRESQL:
        return {}
    with stages.installed(stage) as installation:
        return {"sessions": stages.sessions(installation.database)}


def _warm_up(here: Ground, servers: dict[str, Server], bar: Bar) -> None:
    for name, server in servers.items():
        bar.at(f"warming up: {name}")
        run = wrk.run(here, server, CONNECTIONS, WARM_UP_S)
        if run.rate is None:
            raise server.failed(f"gave errors while it warmed up: {run.errors_by_kind}")
        bar.advance(WARM_UP_S)


def _in_turn(here: Ground, servers: dict[str, Server], size: Size, bar: Bar) -> dict[str, Any]:
    rates: dict[str, list[float | None]] = {name: [] for name in servers}
    busy = [machine.busy_share()]
    for number in range(size.rounds):
        for name in order(tuple(servers), number):
            bar.at(f"round {number + 1} of {size.rounds}: {name}")
            rate = wrk.run(here, servers[name], CONNECTIONS, size.seconds).rate
            rates[name].append(None if rate is None else round(rate, 1))
            bar.advance(size.seconds + 0.3)
    return {"rates": rates, "busy_shares": busy}
