"""What to measure: the command line of `python -m bench.engine`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.environment import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

TABLES: Final = ROOT.parent / "shared" / "data"
PARTS: Final = ("rows", "batch", "quality", "samples", "training")
TABLE_NAMES: Final = ("german", "hmeq", "taiwan", "gmsc")


@dataclass(frozen=True, slots=True)
class Options:
    """What to measure; `quick` proves that every part runs and keeps no result."""

    quick: bool
    parts: tuple[str, ...]
    tables: Path
    names: tuple[str, ...]
    fresh: bool


def parse(arguments: Sequence[str]) -> Options:
    """Read the command line, or leave with a message."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.engine",
        description="Measure the engine beside its peers and write docs/generated/benchmarks.md.",
        epilog="An interrupted run goes on where it stopped. quick writes into build/bench alone.",
    )
    parser.add_argument("size", nargs="?", choices=("quick", "full"), default="quick")
    parser.add_argument("--part", action="append", choices=PARTS, help="this part alone")
    parser.add_argument(
        "--table",
        action="append",
        choices=TABLE_NAMES,
        help="quality and samples of this table alone",
    )
    parser.add_argument(
        "--tables", type=Path, default=TABLES, metavar="DIR", help="folder of the real tables"
    )
    parser.add_argument("--fresh", action="store_true", help="forget earlier results first")
    given = parser.parse_args(arguments)
    return Options(
        quick=given.size == "quick",
        parts=tuple(part for part in PARTS if part in (given.part or PARTS)),
        tables=given.tables.resolve(),
        names=tuple(name for name in TABLE_NAMES if name in (given.table or TABLE_NAMES)),
        fresh=given.fresh,
    )
