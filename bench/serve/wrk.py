"""wrk as the closed-loop client: as many requests as a number of connections can carry."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bench.serve.ground import Ground
    from bench.serve.server import Server

SCRIPT: Final = Path(__file__).with_name("post.lua")
_TIMEOUT_S: Final = 10
_MARK: Final = "result "
_KINDS: Final = ("status", "connect", "read", "write", "timeout")


@dataclass(frozen=True, slots=True)
class Run:
    """Answers, seconds, and what went wrong; a run with a single error is void."""

    requests: int
    seconds: float
    errors_by_kind: dict[str, int]

    @property
    def errors(self) -> int:
        """Count them all."""
        return sum(self.errors_by_kind.values())

    @property
    def rate(self) -> float | None:
        """Give answers a second, None for a void run."""
        return self.requests / self.seconds if self.requests and not self.errors else None


def run(
    ground: Ground, server: Server, connections: int, seconds: int, script: Path = SCRIPT
) -> Run:
    """Load one server with one thread of wrk."""
    command = [
        *("wrk", "--threads", "1", "--connections", str(connections)),
        *("--duration", f"{seconds}s", "--timeout", f"{_TIMEOUT_S}s", "--script", str(script)),
        *(server.url, "--", str(server.bodies), server.key),
    ]
    answer = subprocess.run(
        ground.for_client(command), check=True, capture_output=True, text=True
    ).stdout
    return read(answer)


def read(output: str) -> Run:
    """Read what the script told at the end."""
    told = next(line for line in output.splitlines() if line.startswith(_MARK))
    figures: dict[str, int] = json.loads(told.removeprefix(_MARK))
    errors = {kind: figures[kind] for kind in _KINDS if figures[kind]}
    return Run(figures["requests"], figures["microseconds"] / 1e6, errors)
