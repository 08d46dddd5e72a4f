"""The validation report in a real browser: drawn, within the page, asking nobody for more."""

import json
import re
from pathlib import Path

import pytest

from alama.training.validation.report import render
from alama.training.validation.validate import validate
from tests.browser import chromium, needs_chromium
from tests.factories import a_dataset, a_model

# The page itself runs no script; a frame around it measures it and writes down what it finds.
FRAME = """<!doctype html><html><body><iframe src="report.html" width="{width}" height="900"
style="border:0"></iframe><pre id="found">nothing</pre><script>
onload = () => {{
  const page = document.querySelector("iframe").contentDocument;
  const drawings = [...page.querySelectorAll("svg")].map(svg => svg.getBoundingClientRect());
  document.getElementById("found").textContent = JSON.stringify({{
    title: page.title,
    overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    drawings: drawings.length,
    empty: drawings.filter(box => box.width < 40 || box.height < 20).length,
    headings: page.querySelectorAll("h2").length,
    asked: page.defaultView.performance.getEntriesByType("resource").length,
  }});
}};
</script></body></html>"""

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("page")
    model = a_model(seed=2)
    validation = validate(
        model, a_dataset(model, seed=1), a_dataset(model, seed=2), (), seed=0, draws=20
    )
    (place / "report.html").write_text(render(model, validation, ()), "utf-8")
    return place


@pytest.mark.parametrize("width", [390, 820, 1280])
def test_every_drawing_is_drawn_and_nothing_runs_out_of_the_page(folder: Path, width: int) -> None:
    frame = folder / f"frame-{width}.html"
    frame.write_text(FRAME.format(width=width), "utf-8")
    shown = chromium(folder, "--window-size=1400,1000", "--dump-dom", frame.as_uri())
    found = json.loads(re.search(r'id="found">(\{.*?\})</pre>', shown).group(1))  # type: ignore[union-attr]
    assert "test model" in found["title"]
    assert found["drawings"] > 20
    assert found["empty"] == 0
    assert found["headings"] >= 8
    assert found["overflow"] <= 0
    assert found["asked"] == 0, "the page must not ask for anything beside itself"


def test_it_prints(folder: Path) -> None:
    paper = folder / "report.pdf"
    page = (folder / "report.html").as_uri()
    chromium(folder, f"--print-to-pdf={paper}", "--no-pdf-header-footer", page)
    assert paper.read_bytes().count(b"/Type /Page\n") + paper.read_bytes().count(b"/Type/Page") > 3
