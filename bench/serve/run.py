"""The whole measurement on one page."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import alama
from bench.environment import ROOT, SCRATCH
from bench.progress import Bar
from bench.serve import alone, figures, ground, latency, machine, page, show, throughput
from bench.serve.options import FOREST_ROWS
from bench.serve.subjects import ALAMA, PEERS, POSTGRES, SUBJECTS
from bench.store import as_text, code_hash

if TYPE_CHECKING:
    from bench.page import Document
    from bench.serve.options import Options

PAGE: Final = ROOT / "docs" / "generated" / "benchmarks.md"
RESULTS: Final = ROOT / "bench" / "results" / "serve.json"
BUSY_MAX: Final = 0.1
"""Beyond this share of busy cores the figures are more of the others than of us."""


def measure(options: Options) -> None:
    """Measure, print the tables, keep the results and write the page."""
    print("laying the ground: sources, bodies, forests (a minute or two the first time)")
    rows = FOREST_ROWS if PEERS.intersection(options.names) else None
    with ground.opened(rows, options.earlier) as here, Bar() as bar:
        if (busy := machine.busy_share() or 0) > BUSY_MAX:
            bar.say(f"other work keeps {busy:.0%} of the machine busy: better wait for it")
        document: Document = {
            "machine": machine.described(here),
            "by": code_hash(Path(alama.__file__).parent.rglob("*.py")),
            "size": asdict(options.size),
            "earlier": options.earlier,
        }
        if {ALAMA, POSTGRES} & set(options.names):
            bar.start("Alama by itself", alone.seconds(options.size))
            document["alone"] = alone.measure(here, options.size, options.names, bar)
        document["subjects"] = _side_by_side(here, options, bar)
    show.tables(document)
    if (busy := figures.others_share(document) or 0) > BUSY_MAX:
        print(
            f"other work took {busy:.0%} of the machine meanwhile: measure again when it is quiet"
        )
    _keep(document, options)


def _side_by_side(here: ground.Ground, options: Options, bar: Bar) -> Document:
    """Let all servers run at once, idle but for the one whose turn it is."""
    size, names = options.size, options.names
    expected = throughput.seconds(size, len(names)) + latency.seconds(size, len(names))
    bar.start(f"{len(names)} servers side by side", expected + 6 * len(names))
    with ExitStack() as stack:
        servers = {}
        for name in names:
            bar.at(f"starting {name}")
            servers[name] = stack.enter_context(SUBJECTS[name].opened(here))
            bar.advance(6)
        found = throughput.measure(here, servers, size, bar)
        waits = latency.measure(here, servers, found, size, bar)
        bar.at("stopping the servers")
    return {
        name: {**entry, **({"latency": waits[name]} if name in waits else {})}
        for name, entry in found.items()
    }


def _keep(document: Document, options: Options) -> None:
    results = RESULTS if options.kept else SCRATCH / "serve.json"
    written = PAGE if options.kept else SCRATCH / "benchmarks.md"
    results.write_text(as_text(document), "utf-8")
    written.write_text(page.filled(PAGE.read_text("utf-8"), document), "utf-8")
    print(f"written: {written.relative_to(ROOT)} and {results.relative_to(ROOT)}")
