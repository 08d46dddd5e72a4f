"""The walk of docs/explaining.md: every command works, and says what the page shows."""

from __future__ import annotations

import os
from pathlib import Path

from alama.core.recourse.answer import Hindrance
from tests.e2e.walks import Walk

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explaining.md").read_text("utf-8")
ON_A_DESK, _, _ = PAGE.partition("## Over HTTP")


def test_the_walk_on_a_desk_goes_as_the_page_says(tmp_path: Path) -> None:
    walk = Walk(ON_A_DESK)
    assert len(walk.steps) == 5
    walk.go(tmp_path, os.environ)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.startswith('<!DOCTYPE html>\n<html lang="sw">')


def test_the_page_tells_what_each_obstacle_means() -> None:
    for hindrance in Hindrance:
        assert f"\n| `{hindrance.value}` | " in ON_A_DESK
