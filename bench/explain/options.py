"""What to measure: the command line of `python -m bench.explain`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


FOREST: Final = "the forest"
CARD: Final = "our card"
OURS: Final = "our limits"
DEFAULTS: Final = "its defaults"
METHODS: Final = ("random", "genetic", "kdtree")


class Way(NamedTuple):
    """A way to ask DiCE: which decision it is to turn, what it may change, by which method."""

    decision: str
    limits: str
    method: str

    @property
    def name(self) -> str:
        return ", ".join(self)


WAYS: Final = tuple(
    Way(decision, limits, method)
    for (decision, limits), method in product(
        ((FOREST, OURS), (FOREST, DEFAULTS), (CARD, OURS)), METHODS
    )
)


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything.

    `asked` is how many applications each method of DiCE is asked about, `cap_s` how many seconds
    of the processor it gets for one; `rows` are explained by contributions.
    """

    applications: int
    asked: Mapping[str, int]
    cap_s: float
    rows: int


SIZES: Final = {
    "quick": Size(60, {"random": 10, "genetic": 3, "kdtree": 5}, 4.0, 200),
    "full": Size(500, {"random": 100, "genetic": 12, "kdtree": 30}, 8.0, 2_000),
}


@dataclass(frozen=True, slots=True)
class Options:
    """A quick run keeps its results in `build/bench`."""

    size: Size
    kept: bool


def parse(arguments: Sequence[str]) -> Options:
    """Read the command line, or leave with a message."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.explain",
        description="Measure recourse and contributions beside their peers.",
        epilog="full writes docs/generated/benchmarks.md; quick writes into build/bench alone.",
    )
    parser.add_argument("size", nargs="?", choices=tuple(SIZES), default="quick")
    given = parser.parse_args(arguments)
    return Options(SIZES[given.size], kept=given.size == "full")
