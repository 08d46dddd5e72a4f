"""The figures of `make size` on a house of five files, and what the real house promises of them."""

from __future__ import annotations

import re
from pathlib import Path

import grimp
import pytest

from tools.size import (
    ROOT,
    Size,
    circles,
    edges,
    graph_of,
    largest,
    naming,
    rooms,
    sdks,
    size_of,
    words,
)

FILES = {
    "__init__.py": "",
    "app.py": "from tiny_house.lending import offers\n",
    "core/__init__.py": "",
    "core/money.py": "CENTS = 100\nUNIT = 1\nZERO = 0\n",
    "lending/__init__.py": "",
    "lending/offers.py": (
        "from typing import TYPE_CHECKING\n"
        "from tiny_house.core.money import CENTS\n"
        "from tiny_house.letters import stamps\n"
        "if TYPE_CHECKING:\n"
        "    from tiny_house.letters.inbox import Inbox\n"
    ),
    "letters/__init__.py": "",
    "letters/stamps.py": "",
    "letters/inbox.py": "import tiny_house.lending.offers\nclass Inbox: ...\n",
}


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "tiny_house"
    for name, text in FILES.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return package


@pytest.fixture
def graph(house: Path) -> grimp.ImportGraph:
    return graph_of(house.name)


def test_files_and_lines_are_counted_by_room(house: Path) -> None:
    assert size_of(house) == Size(files=9, lines=11)
    assert rooms(house) == {"lending": Size(2, 5), "core": Size(2, 3), "letters": Size(3, 2)}
    assert [(lines, path.name) for lines, path in largest(house)][:2] == [
        (5, "offers.py"),
        (3, "money.py"),
    ]


def test_sdks_are_counted_by_what_was_written_in_any_language(tmp_path: Path) -> None:
    for name in ("python/a.py", "java/src/B.java", "java/target/C.java", "ts/node_modules/d/e.ts"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one\ntwo\n")
    (tmp_path / "python" / "README.md").write_text("words\n")
    assert sdks(tmp_path) == {"java": 2, "python": 2}


def test_files_that_name_a_field_are_counted_by_whole_words(house: Path) -> None:
    assert naming(house, "offers") == 2
    assert naming(house, "offer") == 0


def test_a_circle_is_found_where_only_types_are_imported(graph: grimp.ImportGraph) -> None:
    assert circles(graph) == [["tiny_house.lending.offers", "tiny_house.letters.inbox"]]


def test_without_one_of_its_imports_there_is_no_circle(graph: grimp.ImportGraph) -> None:
    graph.remove_import(importer="tiny_house.letters.inbox", imported="tiny_house.lending.offers")
    assert circles(graph) == []


def test_edges_lead_between_capabilities_and_not_to_what_all_share(
    graph: grimp.ImportGraph,
) -> None:
    assert edges(graph) == {("lending", "letters"): 2, ("letters", "lending"): 1}


def test_words_of_pages_are_counted(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Two words\n\nand three more\n")
    assert words([page]) == 6


def test_no_module_of_the_house_is_in_a_circle() -> None:
    assert circles(graph_of("alama")) == []


def test_capabilities_import_each_other_as_decision_2_says_and_no_otherwise() -> None:
    assert set(edges(graph_of("alama"))) == argued_edges()


def argued_edges() -> set[tuple[str, str]]:
    """Who imports whom, by the table of decision 2."""
    page = ROOT / "docs" / "decisions" / "0002-rooms-by-capability.md"
    table = page.read_text("utf-8").partition("| imported | by | for |\n")[2].partition("\n\n")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines()[1:]]
    assert all(reason.strip() for _, _, reason in rows)
    argued = [
        (importer, imported.strip(" `"))
        for imported, importers, _ in rows
        for importer in re.findall(r"`(\w+)`", importers)
    ]
    assert len(argued) == len(set(argued)), "an edge is argued for twice"
    return set(argued)
