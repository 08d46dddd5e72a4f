"""The measurement itself, run inside DiCE's environment."""

from __future__ import annotations

import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import alama
from alama.core.recourse.ready import ReadyRecourse
from bench.environment import DICE, ROOT, SCRATCH, lock_hash, machine
from bench.explain import asking, contributions, page, recourse
from bench.explain.ground import prepare
from bench.explain.options import parse
from bench.progress import Bar
from bench.store import as_text, code_hash

if TYPE_CHECKING:
    from bench.explain.options import Options
    from bench.page import Document

PAGE: Final = ROOT / "docs" / "generated" / "benchmarks.md"
RESULTS: Final = ROOT / "bench" / "results" / "explain.json"
_VERSIONS: Final = ("dice-ml", "shap", "lightgbm", "pandas", "numpy")


def main() -> int:
    """Measure, print the tables, keep the results and write the page."""
    warnings.simplefilter("ignore")  # shap and pandas speak of versions to come
    options = parse(sys.argv[1:])
    print("laying the ground: people and forests (a minute or two the first time)")
    ground = prepare(options.size.applications)
    ready = ReadyRecourse(ground.policy)
    document: Document = {
        "machine": machine(_VERSIONS),
        "by": code_hash(Path(alama.__file__).parent.rglob("*.py"), lock_hash(DICE)),
        "size": asdict(options.size),
        "about": ground.about,
    }
    with Bar() as bar:
        bar.start("recourse and contributions", asking.seconds(options.size))
        bar.at("Alama by itself")
        document["recourse"] = recourse.measure(ground, ready)
        document["dice"] = asking.measure(ground, ready, options.size, bar)
        bar.at("contributions")
        document["contributions"] = contributions.measure(ground, options.size.rows)
    _keep(document, options)
    return 0


def _keep(document: Document, options: Options) -> None:
    results = RESULTS if options.kept else SCRATCH / "explain.json"
    written = PAGE if options.kept else SCRATCH / "benchmarks.md"
    for block in page.BLOCKS.values():
        print(f"\n{block(document)}")
    results.write_text(as_text(document), "utf-8")
    written.write_text(page.filled(PAGE.read_text("utf-8"), document), "utf-8")
    print(f"\nwritten: {written.relative_to(ROOT)} and {results.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
