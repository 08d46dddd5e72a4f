"""What to measure: the command line of `python -m bench.serve`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bench.serve.subjects import EARLIER, SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Sequence

CONNECTIONS: Final = (16, 64)
FOREST_ROWS: Final = 100_000
UNPROTECTED: Final = "d7785c7"


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything; `seconds` are of one run of one subject."""

    rounds: int
    seconds: int
    latency_rounds: int
    latency_seconds: int
    starts: int
    memory_requests: tuple[int, ...]


SIZES: Final = {
    "quick": Size(2, 2, 1, 4, 3, (20_000, 40_000)),
    "full": Size(5, 4, 2, 10, 5, (20_000, 40_000, 60_000, 80_000, 100_000)),
}


@dataclass(frozen=True, slots=True)
class Options:
    """A run that is quick, or leaves somebody out, keeps its results in `build/bench`."""

    size: Size
    names: tuple[str, ...]
    earlier: str | None
    kept: bool


def parse(arguments: Sequence[str]) -> Options:
    """Read the command line, or leave with a message."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.serve",
        description="Measure the service beside its peers and write docs/generated/benchmarks.md.",
        epilog="quick, and a run with --only, writes into build/bench alone.",
    )
    parser.add_argument("size", nargs="?", choices=tuple(SIZES), default="quick")
    parser.add_argument(
        "--only", action="append", choices=tuple(SUBJECTS), help="this subject (may be repeated)"
    )
    parser.add_argument(
        "--earlier",
        metavar="REVISION",
        default=UNPROTECTED,
        help="measure Alama as it was then beside it; none: do not (default: %(default)s, "
        "the last that neither sealed nor kept an audit)",
    )
    given = parser.parse_args(arguments)
    earlier = None if given.earlier == "none" else given.earlier
    wanted = given.only or [name for name in SUBJECTS if name != EARLIER or earlier]
    if EARLIER in wanted and earlier is None:
        parser.error(f"--only {EARLIER!r} needs --earlier REVISION")
    return Options(
        size=SIZES[given.size],
        names=tuple(name for name in SUBJECTS if name in wanted),
        earlier=earlier if EARLIER in wanted else None,
        kept=given.size == "full" and given.only is None,
    )
