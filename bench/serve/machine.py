"""What kind of machine this is, not which: enough to judge the figures by."""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
import time
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bench.environment import cores

if TYPE_CHECKING:
    from bench.serve.ground import Ground

_OURS: Final = ("starlette", "uvicorn", "uvloop", "httptools", "msgspec", "sqlalchemy")
_PEERS: Final = ("fastapi", "pydantic", "lightgbm", "shap", "bentoml")
_SYNCS: Final = 200
_LOOK_S: Final = 2.0
_SETTLE_LOOKS: Final = 10
_SETTLED_SHARE: Final = 0.03
_STAT: Final = Path("/proc/stat")


def described(ground: Ground) -> dict[str, Any]:
    """Describe the machine and the versions on both sides."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": cores(),
        "pinned": ground.server_core is not None,
        "architecture": platform.machine(),
        "memory_gb": round(memory / 2**30),
        "python": platform.python_version(),
        "sync_ms": sync_ms(ground.folder),
        "versions": {name: metadata.version(name) for name in _OURS} | _peer_versions(ground),
    }


def busy_share() -> float | None:
    """Give the share of all cores that others keep busy before we begin; None where unknown."""
    before = now()
    time.sleep(_LOOK_S)
    return share_of_others(before, now(), ours_s=0.0)


def settle() -> None:
    """Wait until little is done any more, or for a while: what has answered may be starting yet."""
    for _ in range(_SETTLE_LOOKS):
        if (busy_share() or 0.0) < _SETTLED_SHARE:
            return


class Moment(NamedTuple):
    """Processor time over all cores since the machine started, in seconds."""

    busy_s: float
    total_s: float


def now() -> Moment | None:
    """Give this moment, None where it cannot be known."""
    if not _STAT.exists():
        return None
    counts = [int(count) for count in _STAT.read_text().split("\n", 1)[0].split()[1:9]]
    idle, ticks = counts[3] + counts[4], os.sysconf("SC_CLK_TCK")
    return Moment((sum(counts) - idle) / ticks, sum(counts) / ticks)


def share_of_others(before: Moment | None, after: Moment | None, ours_s: float) -> float | None:
    """Give the share of all cores that was busy with anything but `ours_s` seconds of ours."""
    if before is None or after is None or after.total_s <= before.total_s:
        return None
    others_s = after.busy_s - before.busy_s - ours_s
    return round(max(0.0, others_s / (after.total_s - before.total_s)), 3)


def sync_ms(folder: Path) -> float:
    """Give the median time to write a page to this disk for good: a floor of every commit."""
    taken = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(_SYNCS):
            file.write(bytes(4096))
            file.flush()
            started = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - started)
    return round(median(taken) * 1e3, 3)


def _peer_versions(ground: Ground) -> dict[str, str]:
    if str(ground.peers) == ground.python:
        return {}  # none of them is measured
    program = (
        "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    )
    command = [str(ground.peers), "-c", program, *_PEERS]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(zip(_PEERS, answer.split(), strict=True))
