"""The report of a simulated policy in a real browser, as the validation report is looked at."""

from pathlib import Path

import pytest

from alama.policies.page import policy_page
from tests.browser import chromium, measured, needs_chromium
from tests.simulations import a_simulation

# One worker makes the page that the tests here share, once.
pytestmark = [pytest.mark.long, needs_chromium, pytest.mark.xdist_group("simulation-in-browser")]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    shown = policy_page(a_simulation(count=1_000), "those in loans.parquet", "2026-11-15")
    path.write_text(shown, "utf-8")
    return path


def test_every_drawing_is_drawn_and_nothing_runs_out_of_the_page(page: Path) -> None:
    for width, found in measured(page, 390, 820, 1280):
        assert found["title"] == "Simulation of wider"
        assert found["drawings"] == 8
        assert found["empty"] == 0, width
        assert found["headings"] >= 10
        assert found["overflow"] <= 0, width
        assert found["asked"] == 0, "the page must not ask for anything beside itself"


def test_it_prints(page: Path) -> None:
    paper = page.with_name("page.pdf")
    chromium(page.parent, f"--print-to-pdf={paper}", "--no-pdf-header-footer", page.as_uri())
    assert paper.read_bytes().count(b"/Type /Page\n") + paper.read_bytes().count(b"/Type/Page") > 2
