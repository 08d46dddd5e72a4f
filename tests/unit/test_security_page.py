"""The threat model names the tests that show what it says: they are there, and no claim is bare."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
PATHS = sorted(set(re.findall(r"`([\w./-]+/[\w./-]+)`", PAGE)))


def threats() -> list[list[str]]:
    """The rows of every table that has a column of tests."""
    found = []
    tables = re.findall(r"^\| threat \|.*\n\|[-| ]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    for table in tables:
        found += [
            [cell.strip() for cell in row.strip("| ").split(" | ")] for row in table.splitlines()
        ]
    return found


def test_every_file_that_the_page_names_is_there() -> None:
    named = [path for path in PATHS if path.startswith(("tests/", "deploy/", "requirements/"))]
    assert len(named) > 30
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_every_test_that_the_page_names_holds_tests() -> None:
    tests = [path for path in PATHS if path.startswith("tests/")]
    assert [path for path in tests if "def test_" not in (ROOT / path).read_text("utf-8")] == []


def test_whatever_stands_against_a_threat_is_shown_by_a_test() -> None:
    assert len(threats()) > 30
    bare = [
        threat
        for threat, against, *rest in threats()
        if not against.startswith("nothing") and "tests/" not in "".join(rest)
    ]
    assert bare == []


def test_where_nothing_stands_against_a_threat_it_is_said_what_to_do() -> None:
    alone = [row for row in threats() if row[1].startswith("nothing")]
    assert alone
    assert [row[0] for row in alone if len(row[-1]) < 20] == []
