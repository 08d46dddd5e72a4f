"""The measurement itself, run inside the peers' environment."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from bench.engine import batch, page, quality, rows, samples, samples_page, training
from bench.engine.hashes import engine_hash
from bench.engine.options import parse
from bench.environment import ROOT, SCRATCH, machine
from bench.progress import Bar
from bench.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.engine.options import Options

PAGE: Final = ROOT / "docs" / "generated" / "benchmarks.md"
RESULTS: Final = ROOT / "bench" / "results" / "engine.json"
PARTS: Final[dict[str, Callable[[Options, Store, Bar], None]]] = {
    "rows": rows.measure,
    "batch": batch.measure,
    "quality": quality.measure,
    "samples": samples.measure,
    "training": training.measure,
}
_VERSIONS: Final = ("lightgbm", "xgboost-cpu", "shap", "optbinning", "interpret-core", "numpy")


def main() -> int:
    """Measure the parts asked for, and write the page after each."""
    engine_hash()
    options = parse(sys.argv[1:])
    store = Store(SCRATCH / "quick.json" if options.quick else RESULTS)
    written = SCRATCH / "benchmarks.md" if options.quick else PAGE
    if options.quick:
        store.document = {}
    elif options.fresh:
        _forget(options, store)
    store.document["machine"] = {"here": machine(_VERSIONS)}
    with Bar() as bar:
        for part in options.parts:
            PARTS[part](options, store, bar)
            store.save()
            _write(written, store)
    print(f"written: {written.relative_to(ROOT)} and {store.path.relative_to(ROOT)}")
    return 0


def _write(written: Path, store: Store) -> None:
    written.write_text(page.filled(PAGE.read_text("utf-8"), store.document), "utf-8")
    if measured := samples_page.lines(store.document):
        written.with_name(samples_page.PLOT).write_text(samples_page.plot(measured), "utf-8")


def _forget(options: Options, store: Store) -> None:
    for part in options.parts:
        if part in {"rows", "batch"}:
            store.forget("speed", [part])
        elif part in {"quality", "samples"}:
            store.forget(part, [f"{name}/" for name in options.names])
        else:
            store.forget(part)


if __name__ == "__main__":
    sys.exit(main())
