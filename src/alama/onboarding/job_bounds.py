"""What the process of a job may take: memory, and time.

Its limits hold for it and for each process that it starts. A file that would take more ends its
own job; nothing else on the machine has to make room for it.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Final

JOB_S_MAX: Final = 4 * 3_600.0
"""A training run on a million loans takes minutes; one that takes hours holds others up."""

MEMORY_BYTES_MIN: Final = 1 << 30
"""The training libraries and a history of fifty thousand loans take two thirds of it: 652 MB as
the limit counts, 438 MB of them in use."""

_GROUPS: Final = Path("/sys/fs/cgroup")
_OWN_GROUP: Final = Path("/proc/self/cgroup")
_BLAME: Final = Path("/proc/self/oom_score_adj")
_MUCH: Final = 500

_POOL: Final = "ARROW_DEFAULT_MEMORY_POOL"
_THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def bound_process(memory_bytes: int, cores: int) -> None:
    """Have this process refused memory beyond a limit, and leave no picture of it on the disk.

    Before Arrow and NumPy are loaded: the pool of the one claims a gigabyte that it does not use,
    the other a buffer for each core of the machine, and the limit counts both.
    """
    os.environ.setdefault(_POOL, "system")
    for name in _THREADS:
        os.environ.setdefault(name, str(cores))
    blame_first(_BLAME)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most != resource.RLIM_INFINITY:
        memory_bytes = min(memory_bytes, most)
    with suppress(ValueError, OSError):  # where the system knows no such limit, it has none
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, most))


def blame_first(score: Path) -> None:
    """Have this process ended before scoring is, where memory ends all the same. Linux alone."""
    with suppress(OSError, ValueError):
        if int(score.read_text("ascii")) < _MUCH:  # an operator may have said more
            score.write_text(str(_MUCH), "ascii")


def memory_for_a_job() -> int:
    """Give how many bytes a job may take: half of what its machine or container has."""
    return max(memory_there() // 2, MEMORY_BYTES_MIN)


def memory_there(groups: Path = _GROUPS, own_group: Path = _OWN_GROUP) -> int:
    """Give how many bytes of memory there are for this process and those beside it.

    A container shows its limit at the root of its groups, a unit of systemd in a group of its own.
    """
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    files = [groups / "memory.max", groups / "memory" / "memory.limit_in_bytes"]
    with suppress(OSError, UnicodeDecodeError):
        named = [line.rpartition(":")[2] for line in own_group.read_text("utf-8").splitlines()]
        files += [groups / name.lstrip("/") / "memory.max" for name in named]
    for path in files:
        with suppress(OSError, ValueError):  # not there, or the word "max"
            found.append(int(path.read_text("ascii")))
    return min(found)
