"""The validation report in a real browser: drawn, within the page, asking nobody for more."""

from pathlib import Path

import pytest

from alama.training.validation.peers import beside_peers
from alama.training.validation.report import render
from alama.training.validation.unseen import Unseen
from alama.training.validation.validate import validate
from tests.browser import chromium, measured, needs_chromium
from tests.factories import a_dataset, a_model

# One worker makes the page that the tests here share, once.
pytestmark = [pytest.mark.long, needs_chromium, pytest.mark.xdist_group("report-in-browser")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("page")
    model = a_model(seed=2)
    unseen = Unseen.set_apart(model, a_dataset(model, seed=1), a_dataset(model, seed=2))
    alone = validate(unseen, (), seed=0, draws=20)
    validation = beside_peers(alone, unseen, seed=0, draws=20)
    (place / "report.html").write_text(render(model, validation, ()), "utf-8")
    return place


def test_every_drawing_is_drawn_and_nothing_runs_out_of_the_page(folder: Path) -> None:
    for width, found in measured(folder / "report.html", 390, 820, 1280):
        assert "test model" in found["title"]
        assert found["drawings"] > 20
        assert found["empty"] == 0, width
        assert found["headings"] >= 8
        assert found["overflow"] <= 0, width
        assert found["asked"] == 0, "the page must not ask for anything beside itself"


def test_it_prints(folder: Path) -> None:
    paper = folder / "report.pdf"
    page = (folder / "report.html").as_uri()
    chromium(folder, f"--print-to-pdf={paper}", "--no-pdf-header-footer", page)
    assert paper.read_bytes().count(b"/Type /Page\n") + paper.read_bytes().count(b"/Type/Page") > 3
