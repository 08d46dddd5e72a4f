"""The front door: `python -m bench.sizing [quick|full]`, into docs/generated/sizing.md when full.

First what a core carries: one process on one core and two on two, on SQLite and on PostgreSQL,
beside a service that does nothing, in the same rounds. Then what a score takes: thousands of each
kind are stored, and the database is weighed before, half way and after.
"""

from __future__ import annotations

import argparse
import signal
import sys
from typing import TYPE_CHECKING, Final

from bench import page as pages
from bench.environment import ROOT, SCRATCH, machine
from bench.progress import Bar
from bench.serve import ground
from bench.serve.ground import NotMeasurable
from bench.serve.machine import sync_ms
from bench.serve.server import ServerFailed
from bench.sizing import page, speed, storage
from bench.sizing.options import SIZES
from bench.store import as_text

if TYPE_CHECKING:
    from bench.page import Document

PAGE: Final = ROOT / "docs" / "generated" / "sizing.md"
RESULTS: Final = ROOT / "bench" / "results" / "sizing.json"


def main() -> int:
    """Measure, print, and keep what a full run found."""
    parser = argparse.ArgumentParser(prog="python -m bench.sizing", description=__doc__)
    parser.add_argument("size", nargs="?", choices=tuple(SIZES), default="quick")
    name = parser.parse_args().size
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        document = _measure(name)
    except (NotMeasurable, ServerFailed) as error:
        print(error, file=sys.stderr)
        return 1
    for block in page.BLOCKS.values():
        print(f"{block(document)}\n")
    for words in page.uneven(document):
        print(f"not by the score: {words}", file=sys.stderr)
    results, written = (
        (RESULTS, PAGE) if name == "full" else (SCRATCH / "sizing.json", SCRATCH / "sizing.md")
    )
    results.write_text(as_text(document), "utf-8")
    written.write_text(pages.filled(PAGE.read_text("utf-8"), page.BLOCKS, document), "utf-8")
    print(f"written: {written.relative_to(ROOT)} and {results.relative_to(ROOT)}")
    return 0


def _measure(name: str) -> Document:
    size = SIZES[name]
    with ground.opened() as here, Bar() as bar:
        return {
            "name": name,
            "size": size._asdict(),
            "machine": {**machine(()), "sync_ms": sync_ms(here.folder)},
            "speed": speed.measure(here, size, bar),
            "storage": storage.measure(here, size, bar),
        }


if __name__ == "__main__":
    sys.exit(main())
