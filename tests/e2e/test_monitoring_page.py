"""The commands of docs/monitoring.md, as they stand there but for how many people apply.

Of the two books that the page fills, the one in which more happens.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.databases import sqlite_url
from tests.e2e.walks import Walk
from tests.server import Server

pytestmark = pytest.mark.long

PAGE = (Path(__file__).parents[2] / "docs" / "monitoring.md").read_text("utf-8")

# Half a minute with as many as the page has. Drift takes them all: `bench.monitoring` shows it.
HEALTHY = (
    "    alama outcomes simulate demo\n    alama monitor demo --mode test --html healthy.html\n"
)
FEWER = {
    HEALTHY: "",
    "--people 20000 --drift --worse 1.7": "--people 600 --drift --worse 4",
}


def test_the_commands_of_the_page_show_a_book_that_is_alive(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    page = PAGE
    for said, instead in FEWER.items():
        assert said in page
        page = page.replace(said, instead)
    with Server(sqlite_url(home), home) as server:
        Walk(page).go(tmp_path, server.environment, server.url)
    # The first look was at an empty book, the last at the simulated one.
    assert json.loads((tmp_path / "figures.json").read_bytes())["volume"]["scores"] == 0
    drifted = (tmp_path / "drifted.html").read_text("utf-8")
    assert "More loans default than was predicted" in drifted
