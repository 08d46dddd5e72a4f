"""The monitoring report in a real browser, in the states that a reader may meet."""

from pathlib import Path

import pytest

from alama.monitoring.page import monitoring_page
from tests.browser import measured, needs_chromium
from tests.reports import states

pytestmark = [pytest.mark.long, needs_chromium, pytest.mark.xdist_group("monitoring-in-browser")]


@pytest.mark.parametrize(("state", "drawings"), [("empty", 0), ("troubled", 8)])
def test_every_drawing_is_drawn_and_nothing_runs_out_of_the_page(
    tmp_path: Path, state: str, drawings: int
) -> None:
    page = tmp_path / "monitoring.html"
    page.write_text(monitoring_page(states()[state]), "utf-8")
    for width, found in measured(page, 390, 1280):
        assert "Monitoring of demo" in found["title"]
        assert found["drawings"] >= drawings
        assert found["empty"] == 0, width
        assert found["overflow"] <= 0, width
        assert found["asked"] == 0, "the page must not ask for anything beside itself"
