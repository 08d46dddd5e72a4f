"""The front door: `python -m bench.shadow [quick|full]`; full writes the benchmarks page.

One service scores on one core for two lenders in turn, round by round: one without a challenger,
and one with, whose scores a worker shows to a second model; then the same while the worker has no
other core than the service. Otherwise the worker runs where there is room, behind everything else,
as `alama serve` has it; in the rounds of the lender without a challenger it stands still. First on
SQLite, then on PostgreSQL.
"""

from __future__ import annotations

import argparse
import signal
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from bench import page
from bench.environment import ROOT, SCRATCH
from bench.progress import Bar
from bench.serve import ground
from bench.serve.ground import NotMeasurable
from bench.serve.server import ServerFailed
from bench.shadow import rows
from bench.store import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.page import Document

PAGE: Final = ROOT / "docs" / "generated" / "benchmarks.md"
RESULTS: Final = ROOT / "bench" / "results" / "shadow.json"
KEPT_MIN: Final = 0.95
"""Share of the throughput that a challenger leaves: what we promise."""
NOTHING: Final = "*Not measured yet: `make bench-shadow SIZE=full`.*"


class Size(NamedTuple):
    """Rounds of so many seconds each."""

    rounds: int
    seconds: int


SIZES: Final = {"quick": Size(3, 2), "full": Size(60, 2)}


def main() -> int:
    """Measure, print, and keep what a full run found."""
    parser = argparse.ArgumentParser(prog="python -m bench.shadow", description=__doc__)
    parser.add_argument("size", nargs="?", choices=tuple(SIZES), default="quick")
    name = parser.parse_args().size
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        document = _measure(SIZES[name])
    except (NotMeasurable, ServerFailed) as error:
        print(error, file=sys.stderr)
        return 1
    print(block(document))
    results, written = (
        (RESULTS, PAGE) if name == "full" else (SCRATCH / "shadow.json", SCRATCH / "benchmarks.md")
    )
    results.write_text(as_text(document), "utf-8")
    text = page.filled(PAGE.read_text("utf-8"), {"shadow": block}, document)
    written.write_text(text, "utf-8")
    missed = list(broken(document))
    for words in missed:
        print(f"not as promised: {words}", file=sys.stderr)
    return 1 if name == "full" and missed else 0


def _measure(size: Size) -> Document:
    with ground.opened() as here, Bar() as bar:
        found = rows.measure(here, size.rounds, size.seconds, bar)
    return {"size": size._asdict(), **found}


def broken(document: Document) -> Iterator[str]:
    """Say what was promised and does not hold: where the worker may use any core."""
    for database, found in document["databases"].items():
        rates = found["rates"]
        kept = rows.kept(rates[rows.CHALLENGER], rates[rows.NOBODY])
        if kept is None:
            yield f"on {database} no round with a challenger can be held against one without"
        elif kept < KEPT_MIN:
            yield f"on {database} a challenger leaves {kept:.3f} of the throughput"


def block(document: Document) -> str:
    """Give what docs/generated/benchmarks.md shows."""
    return rows.shown(document) if document.get("databases") else NOTHING


if __name__ == "__main__":
    sys.exit(main())
