"""The front door: `python -m bench.webhooks [quick|full]`; full writes the benchmarks page.

One service scores on one core for four lenders in turn, round by round: one that tells nobody, one
with twenty webhook endpoints, one with twenty of which seven are bad, the worker killed in each
round, and one with twenty while the worker has no other core than the service. Otherwise the worker
runs where there is room, behind everything else, as `alama serve` has it; in the rounds of the
lender that tells nobody it stands still. Then a second service is asked for scores while its worker
is killed again and again, and what arrived is counted.
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
from bench.store import as_text
from bench.webhooks import kills, rows

if TYPE_CHECKING:
    from bench.page import Document

PAGE: Final = ROOT / "docs" / "generated" / "benchmarks.md"
RESULTS: Final = ROOT / "bench" / "results" / "webhooks.json"
NOTHING: Final = "*Not measured yet: `make bench-webhooks SIZE=full`.*"


class Size(NamedTuple):
    """Rounds of so many seconds each, for how long deliveries alone are counted, and the kills."""

    rounds: int
    seconds: int
    delivering_s: int
    scores: int
    kills: int
    killing_s: int
    """About what the last two take."""


SIZES: Final = {
    "quick": Size(3, 2, 3, 400, 2, kills.LEASE_S + 15),
    "full": Size(60, 2, 15, 10_000, 20, 240),
}


def main() -> int:
    """Measure, print, and keep what a full run found."""
    parser = argparse.ArgumentParser(prog="python -m bench.webhooks", description=__doc__)
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
        (RESULTS, PAGE)
        if name == "full"
        else (SCRATCH / "webhooks.json", SCRATCH / "benchmarks.md")
    )
    results.write_text(as_text(document), "utf-8")
    text = page.filled(PAGE.read_text("utf-8"), {"webhooks": block}, document)
    written.write_text(text, "utf-8")
    return 0


def _measure(size: Size) -> Document:
    with ground.opened() as here, Bar() as bar:
        found = rows.measure(here, size.rounds, size.seconds, size.delivering_s, bar)
        killed = kills.measure(here, size.scores, size.kills, size.killing_s, bar)
    return {"size": size._asdict(), **found, "killed": killed}


def block(document: Document) -> str:
    """Give what docs/generated/benchmarks.md shows."""
    if not document.get("rates"):
        return NOTHING
    return f"{rows.shown(document)}\n\n{kills.told(document['killed'])}"


if __name__ == "__main__":
    sys.exit(main())
