"""What a process may take of its machine, where it does what could take all of it.

For processes of their own, such as those of jobs and of PDFs: imports nothing that takes long.
"""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path
from typing import Final

_BLAME: Final = Path("/proc/self/oom_score_adj")

_MUCH: Final = 500


def lower(what: int, most: int) -> None:
    """Set a limit of this process and of those it starts; never above what it has already."""
    _, hard = resource.getrlimit(what)
    lowest = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(ValueError, OSError):  # where the system knows no such limit, it has none
        resource.setrlimit(what, (lowest, lowest))


def leave_no_picture() -> None:
    """Have no memory of this process written to the disk when it breaks."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def blame_first(score: Path = _BLAME) -> None:
    """Have this process ended before scoring is, where memory ends all the same. Linux alone."""
    with suppress(OSError, ValueError):
        if int(score.read_text("ascii")) < _MUCH:  # an operator may have said more
            score.write_text(str(_MUCH), "ascii")
