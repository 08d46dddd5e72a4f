"""Where measurements run: the peers' environments, a copy of the sources, the threads."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT: Final = Path(__file__).parents[1]
SCRATCH: Final = ROOT / "build" / "bench"
"""Populations, models and the results of quick runs: git leaves `build` alone."""

ONE_THREAD: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
"""What a measuring process is told, and a user is not."""


@dataclass(frozen=True, slots=True)
class Peers:
    """An environment of peers, and the lock that it is installed from."""

    folder: Path
    lock: Path


PEERS: Final = Peers(ROOT / ".venv-peers", ROOT / "requirements" / "peers.txt")
DICE: Final = Peers(ROOT / ".venv-dice", ROOT / "requirements" / "dice.txt")


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
    return {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": search}


def machine(packages: Iterable[str]) -> dict[str, object]:
    """Say what kind of machine this is, not which, and the versions of these packages."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": cores(),
        "architecture": platform.machine(),
        "memory_gb": round(pages / 2**30),
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in packages},
    }


def peers_python(peers: Peers = PEERS) -> Path:
    """Give the Python of an environment of peers, made anew when its lock has changed."""
    folder, lock = peers.folder, peers.lock
    python, stamp = folder / "bin" / "python", folder / "installed"
    wanted = f"{sys.version_info.major}.{sys.version_info.minor} {lock_hash(peers)}\n"
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"setting up {folder.name} as locked in requirements/{lock.name}, a few minutes")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    # It lies in the tree and is nobody's source.
    (folder / ".gitignore").write_text("*\n")
    install = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    # A lock names all that is needed, and may leave out what a peer asks for and does without.
    locked = ["--no-deps", "--require-hashes", "--requirement", str(lock)]
    subprocess.run([*install, *locked], check=True)
    stamp.write_text(wanted)
    return python


def lock_hash(peers: Peers = PEERS) -> str:
    """Name a set of peers."""
    return hashlib.sha256(peers.lock.read_bytes()).hexdigest()[:12]
