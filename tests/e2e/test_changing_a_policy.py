"""The walk of docs/changing-a-policy.md: every command works, and says what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.databases import sqlite_url
from tests.e2e.walks import Walk
from tests.server import Server

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "changing-a-policy.md").read_text("utf-8")


def test_the_walk_through_a_change_goes_as_the_page_says(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    walk = Walk(PAGE)
    assert len(walk.steps) > 10
    with Server(sqlite_url(home), home, workers=2) as server:
        walk.go(tmp_path, server.environment, server.url)
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!DOCTYPE html>")
