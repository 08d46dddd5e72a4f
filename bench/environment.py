"""Where measurements run: the peers' environment, a copy of the sources, the threads."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[1]
PEERS: Final = ROOT / ".venv-peers"
LOCK: Final = ROOT / "requirements" / "peers.txt"
SCRATCH: Final = ROOT / "build" / "bench"
"""Populations, models and the results of quick runs: git leaves `build` alone."""

_STAMP: Final = PEERS / "installed"
_ONE_THREAD: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def cores() -> int:
    """Count the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def snapshot() -> Iterator[Path]:
    """Copy the sources for the time of a run.

    A run takes an hour and its workers import as they start: an edit on the way would otherwise
    measure two engines as one.
    """
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="source-", dir=SCRATCH) as folder:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src", folder, ignore=ignored, dirs_exist_ok=True)
        yield Path(folder)


def settings(source: Path) -> dict[str, str]:
    """Give the variables of a measuring process: Alama from here, one thread a library."""
    search = os.pathsep.join([str(source), str(ROOT)])
    return {**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), "PYTHONPATH": search}


def peers_python() -> Path:
    """Give the Python of the peers' environment, made anew when the lock has changed."""
    python = PEERS / "bin" / "python"
    wanted = f"{sys.version_info.major}.{sys.version_info.minor} {lock_hash()}\n"
    if _STAMP.exists() and _STAMP.read_text() == wanted:
        return python
    print("setting up .venv-peers as locked in requirements/peers.txt, a few minutes")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(PEERS)], check=True)
    # It lies in the tree and is nobody's source.
    (PEERS / ".gitignore").write_text("*\n")
    install = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    subprocess.run([*install, "--require-hashes", "--requirement", str(LOCK)], check=True)
    _STAMP.write_text(wanted)
    return python


def lock_hash() -> str:
    """Name the set of peers."""
    return hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
