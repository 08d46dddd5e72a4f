"""The walk of docs/changing-a-policy.md: every command works, and says what the page shows."""

from __future__ import annotations

from pathlib import Path

from tests.databases import sqlite_url
from tests.server import Server
from tests.walk import outputs, require_shown, steps

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "changing-a-policy.md").read_text("utf-8")


def test_the_walk_through_a_change_goes_as_the_page_says(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with Server(sqlite_url(home), home, workers=2) as server:
        walk = steps(PAGE.replace("http://127.0.0.1:8000", server.url))
        said = outputs([command for command, _ in walk], tmp_path, server.environment)
    assert len(said) == len(walk) > 10
    for (_, shown), printed in zip(walk, said, strict=True):
        require_shown(shown, printed)
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!DOCTYPE html>")
