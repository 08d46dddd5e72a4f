"""The front door: `python -m bench.monitoring [quick|full]`; full writes the benchmarks page.

Whether drift is told of and nothing else is, whether the intervals of realised default rates cover
the truth, and how long the report of a large book takes. Exits with 1 where a full run does not
keep what is promised.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from bench import page
from bench.environment import ROOT, SCRATCH, machine
from bench.monitoring import coverage, drift, size
from bench.monitoring.size import PROMISED_MB, PROMISED_S, Size
from bench.progress import Bar
from bench.store import as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.page import Document

PAGE: Final = ROOT / "docs" / "generated" / "benchmarks.md"
RESULTS: Final = ROOT / "bench" / "results" / "monitoring.json"
NOTHING: Final = "*Not measured yet: `make bench-monitoring SIZE=full`.*"

DETECTED_MIN: Final = 0.95
ALARMS_MAX: Final = 1.0 / 200.0
COVERED: Final = (0.93, 0.97)
NAMES: Final = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


class Runs(NamedTuple):
    """How much is drawn and stored, and about how long that takes."""

    drifted: int
    calm: int
    coverage: int
    stored: Size
    databases: tuple[str, ...]
    drift_s: int
    coverage_s: int
    size_s: int


SIZES: Final = {
    "quick": Runs(5, 10, 40, Size(50_000, 10_000, 2_000), ("sqlite",), 20, 10, 20),
    "full": Runs(
        100, 200, 200, Size(1_000_000, 200_000, 5_000), ("sqlite", "postgresql"), 240, 30, 480
    ),
}


def main() -> int:
    """Measure, print, and keep what a full run found."""
    parser = argparse.ArgumentParser(prog="python -m bench.monitoring", description=__doc__)
    parser.add_argument("size", nargs="?", choices=tuple(SIZES), default="quick")
    name = parser.parse_args().size
    document = _measure(SIZES[name])
    print(block(document))
    full = name == "full"
    results, written = (
        (RESULTS, PAGE) if full else (SCRATCH / "monitoring.json", SCRATCH / "benchmarks.md")
    )
    results.write_text(as_text(document), "utf-8")
    text = page.filled(PAGE.read_text("utf-8"), {"monitoring": block}, document)
    written.write_text(text, "utf-8")
    missed = list(broken(document))
    for words in missed:
        print(f"not as promised: {words}", file=sys.stderr)
    return 1 if full and missed else 0


def _measure(runs: Runs) -> Document:
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with Bar() as bar:
        return {
            "machine": machine(["numpy", "sqlalchemy"]),
            "drift": drift.measure(runs.drifted, runs.calm, _watch(bar, "Drift", runs.drift_s)),
            "coverage": coverage.measure(runs.coverage, _watch(bar, "Intervals", runs.coverage_s)),
            "report": size.measure(
                runs.stored, runs.databases, _watch(bar, "Reports", runs.size_s)
            ),
        }


def _watch(bar: Bar, title: str, seconds: float) -> Callable[[float, str], None]:
    """Begin a bar, and give what moves it by the share that is done."""
    bar.start(title, seconds)
    done = 0.0

    def watch(share: float, doing: str) -> None:
        nonlocal done
        bar.at(doing)
        bar.advance(seconds * (share - done))
        done = share

    return watch


def broken(document: Document) -> Iterator[str]:
    """Say what was promised and does not hold."""
    drifted, calm = document["drift"]["drifted"], document["drift"]["calm"]
    if drifted["detected"] < DETECTED_MIN * drifted["runs"]:
        yield f"drift was told of in {drifted['detected']} of {drifted['runs']} runs"
    if calm["alarms"] > max(1.0, ALARMS_MAX * calm["runs"]):
        yield f"{calm['alarms']} alarms in {calm['runs']} runs without drift"
    covered = document["coverage"]
    if not COVERED[0] <= covered["share"] <= COVERED[1]:
        yield f"intervals cover the truth in {covered['share']:.1%}"
    if not covered["stored"]["same"]:
        yield "the report of a stored book is not what its loans give"
    for name, found in document["report"].items():
        if found["seconds"] > PROMISED_S or found["peak_mb"] > PROMISED_MB:
            yield f"the report on {name} took {found['seconds']} s and {found['peak_mb']} MB"


def block(document: Document) -> str:
    """Give what docs/generated/benchmarks.md shows."""
    if not document.get("drift"):
        return NOTHING
    drifted, calm = document["drift"]["drifted"], document["drift"]["calm"]
    covered, stored = document["coverage"], document["coverage"]["stored"]
    rows = [
        [
            "drift told of within two windows",
            f"{drifted['detected']} of {drifted['runs']} runs",
            "95 of 100",
        ],
        [
            "alarms where nothing drifts",
            f"{calm['alarms']} in {calm['runs']} runs of {calm['windows'] // calm['runs']} windows",
            "1 in 200",
        ],
        [
            "95 % intervals that hold the true rate",
            f"{covered['share']:.1%} of {covered['intervals']:,}",
            "93 to 97 %",
        ],
    ]
    for name, found in document["report"].items():
        what = f"{found['scores']:,} scores, {found['outcomes']:,} outcomes, {NAMES[name]}"
        taken = f"{found['seconds']:.1f} s, {found['peak_mb']:.0f} MB"
        rows.append([f"`alama monitor`: {what}", taken, "10 s, 500 MB"])
    tiers = ", ".join(f"{tier} {share:.1%}" for tier, share in covered["tiers"].items())
    same = "are" if stored["same"] else "are NOT"
    made = next(iter(document["report"].values()))["made"]
    return (
        f"{page.table(['', 'measured', 'promised'], rows)}\n\n"
        f"Intervals by tier: {tiers}, in {covered['runs']} runs of {covered['people']:,} "
        f"applications. In one run more through the database the figures of {stored['loans']:,} "
        f"mature loans {same} those that the same loans give by hand. Of the stored scores "
        f"{made:,} were given by the code that serves; the others are copies of their rows."
    )


if __name__ == "__main__":
    sys.exit(main())
