"""How large the house is, and how its rooms hang together: `make size`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import grimp
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT: Final = Path(__file__).parent.parent
PACKAGE: Final = "alama"
SHARED: Final = frozenset({"core", "platform", "training", "batch", "app"})
"""The rooms that are no capability: every other room may stand on them."""
GENERATED: Final = "generated"
"""The folder of pages whose tables programs write."""
LARGEST: Final = 10
SDK_CODE: Final = frozenset({".py", ".ts", ".mts", ".js", ".mjs", ".java"})
NOT_WRITTEN: Final = frozenset({"build", "dist", "node_modules", "target"})
"""Folders of an SDK that hold what others wrote, or what was built."""
TRACED: Final = ("pending", "approvers")
"""A field of a reply on webhooks, and one of the terms that many steps of an onboarding ask for."""


class Size(NamedTuple):
    """Python files and the lines in them."""

    files: int
    lines: int


def size_of(folder: Path) -> Size:
    lines = [length(path) for path in folder.rglob("*.py")]
    return Size(len(lines), sum(lines))


def sdks(folder: Path) -> dict[str, int]:
    """The lines of each SDK, in whatever language, without what was built or fetched."""
    found: Counter[str] = Counter()
    for path in folder.rglob("*"):
        place = path.relative_to(folder).parts
        if path.suffix in SDK_CODE and NOT_WRITTEN.isdisjoint(place):
            found[place[0]] += length(path)
    return dict(sorted(found.items()))


def length(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def rooms(package: Path) -> dict[str, Size]:
    """The folders of a package with Python in them, the largest first."""
    sizes = {path.name: size_of(path) for path in package.iterdir() if path.is_dir()}
    found = [(name, size) for name, size in sizes.items() if size.files]
    return dict(sorted(found, key=lambda room: -room[1].lines))


def largest(folder: Path) -> list[tuple[int, Path]]:
    files = ((length(path), path) for path in folder.rglob("*.py"))
    return sorted(files, key=lambda file: (-file[0], file[1]))[:LARGEST]


def naming(folder: Path, word: str) -> int:
    """How many files name a field: so many does a change of it touch at most."""
    whole = re.compile(rf"\b{word}\b")
    return sum(bool(whole.search(path.read_text("utf-8"))) for path in folder.rglob("*.py"))


def words(pages: Iterable[Path]) -> int:
    return sum(len(page.read_text("utf-8").split()) for page in pages)


def graph_of(package: str) -> grimp.ImportGraph:
    """Who imports whom, where only types are imported too."""
    return grimp.build_graph(package, cache_dir=None)


def circles(graph: grimp.ImportGraph) -> list[list[str]]:
    """Modules that import each other, directly or through others; the largest circle first."""
    found = {
        frozenset(
            {module} | graph.find_upstream_modules(module) & graph.find_downstream_modules(module)
        )
        for module in graph.modules
    }
    in_order = [sorted(circle) for circle in found if len(circle) > 1]
    return sorted(in_order, key=lambda circle: (-len(circle), circle))


def edges(graph: grimp.ImportGraph) -> Counter[tuple[str, str]]:
    """How many imports lead from one capability to another."""
    inside = {module for module in graph.modules if graph.find_children(module)}
    found: Counter[tuple[str, str]] = Counter()
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            ends = (capability(importer, inside), capability(imported, inside))
            if all(ends) and ends[0] != ends[1]:
                found[ends] += 1
    return found


def capability(module: str, packages: set[str]) -> str:
    """The capability that a module belongs to; empty: none."""
    room = ".".join(module.split(".")[:2])
    name = room.partition(".")[2]
    return name if room in packages and name not in SHARED else ""


def cases() -> tuple[int, int]:
    """How many cases pytest finds, and how many of them are long."""
    asked = [sys.executable, "-m", "pytest", "-n", "0", "--collect-only", "-q", "-m", "long"]
    answer = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603  our own
    counted = re.search(r"(\d+)/(\d+) tests collected", answer.stdout)
    assert counted, answer.stdout[-1000:]
    return int(counted[2]), int(counted[1])


def main() -> None:
    source = ROOT / "src" / PACKAGE
    code, tests = size_of(ROOT / "src"), size_of(ROOT / "tests")
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "sdk").glob("*/README.md"),
    ]
    written = [page for page in pages if page.parent.name != GENERATED]
    graph = graph_of(PACKAGE)
    between = edges(graph)
    in_circles = circles(graph)
    all_cases, long_cases = cases()

    show(
        "The whole",
        ("source files", f"{code.files:,}"),
        ("source lines", f"{code.lines:,}"),
        ("test files", f"{tests.files:,}"),
        ("test lines", f"{tests.lines:,}"),
        *((f"lines of sdk/{name}", f"{lines:,}") for name, lines in sdks(ROOT / "sdk").items()),
        ("test cases", f"{all_cases:,}", f"{long_cases:,} of them long"),
        ("words of docs", f"{words(written):,}"),
        ("words of generated pages", f"{words(set(pages) - set(written)):,}"),
        ("import circles", f"{len(in_circles)}"),
        ("edges between capabilities", f"{len(between)}", f"{between.total():,} imports"),
        *((f"files that name the field {word}", f"{naming(source, word)}") for word in TRACED),
    )
    show(
        "Rooms: files, lines, share of all lines",
        *(
            (name, f"{size.files:,}", f"{size.lines:,}", f"{size.lines / code.lines:.0%}")
            for name, size in rooms(source).items()
        ),
    )
    show(
        "Edges between capabilities: imports",
        *((f"{one} -> {other}", f"{count:,}") for (one, other), count in between.most_common()),
    )
    show(
        "Import circles: modules",
        *((" ".join(circle).replace(f"{PACKAGE}.", ""), f"{len(circle)}") for circle in in_circles),
    )
    show(
        "The largest files: lines",
        *((str(path.relative_to(source)), f"{lines:,}") for lines, path in largest(source)),
    )


def show(title: str, *rows: tuple[str, ...]) -> None:
    """A title, and below it names on the left with their figures on the right."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column()
    for _ in range(max(map(len, rows), default=1) - 1):
        table.add_column(justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console(width=None if sys.stdout.isatty() else 100)
    console.print(title, style="bold", highlight=False)
    console.print(table if rows else "none", "")


if __name__ == "__main__":
    main()
