"""Alama by itself: how soon it answers, what its worker holds, what a stored score takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bench.serve import postgres, wrk
from bench.serve.subjects import ALAMA, POSTGRES, alama, alama_on_postgres, home, postgres_address

if TYPE_CHECKING:
    from pathlib import Path

    from bench.progress import Bar
    from bench.serve.ground import Ground
    from bench.serve.options import Size
    from bench.serve.server import Server

NAME: Final = "alama, alone"
_CONNECTIONS: Final = 16
_STEP_S: Final = 1


def seconds(size: Size) -> float:
    """Expect how long it takes."""
    return 4 + 2 * size.starts + size.memory_requests[-1] / 3_000 + 10


def measure(ground: Ground, size: Size, names: tuple[str, ...], bar: Bar) -> dict[str, Any]:
    """Start it, fill it, and weigh what it left behind."""
    figures: dict[str, Any] = {}
    if ALAMA in names:
        figures |= _on_a_file(ground, size, bar)
    if POSTGRES in names:
        bar.at("what a score takes in PostgreSQL")
        figures["postgres"] = _on_postgres(ground, size.memory_requests[0])
        bar.advance(10)
    return figures


def _on_a_file(ground: Ground, size: Size, bar: Bar) -> dict[str, Any]:
    bar.at("first start of Alama")
    with alama(ground, NAME) as server:
        first_start_s = server.start_s
    bar.advance(4)
    starts = []
    for number in range(size.starts):
        bar.at(f"start {number + 1} of {size.starts}")
        with alama(ground, NAME) as server:
            starts.append(round(server.start_s, 3))
        bar.advance(2)
    bar.at("memory and storage of Alama")
    empty_bytes = _folder_bytes(home(ground, NAME))
    with alama(ground, NAME) as server:
        requests, memory = [0], [server.memory_mb()]
        for count in size.memory_requests:
            requests.append(requests[-1] + _answered(ground, server, count - requests[-1]))
            memory.append(server.memory_mb())
            bar.advance((requests[-1] - requests[-2]) / 3_000)
    stored_bytes = _folder_bytes(home(ground, NAME)) - empty_bytes
    return {
        "first_start_s": round(first_start_s, 3),
        "start_s": starts,
        "requests": requests,
        "memory_mb": memory,
        "sqlite_bytes_per_score": round(stored_bytes / requests[-1]),
    }


def _on_postgres(ground: Ground, count: int) -> dict[str, Any]:
    with alama_on_postgres(ground) as server:
        address = postgres_address(ground)
        before = postgres.size_bytes(address)
        answered = _answered(ground, server, count)
        grown = postgres.size_bytes(address) - before
        return {**postgres.about(address), "bytes_per_score": round(grown / answered)}


def _answered(ground: Ground, server: Server, count: int) -> int:
    """Let it answer at least so many requests; wrk counts time, so in steps."""
    answered = 0
    while answered < count:
        run = wrk.run(ground, server, _CONNECTIONS, _STEP_S)
        if run.rate is None:
            raise server.failed(f"gave errors: {run.errors_by_kind}")
        answered += run.requests
    return answered


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
