"""The reference page in a real browser: within every screen, its script alive, self-contained."""

import html
import json
import re
from pathlib import Path

import pytest

from alama.app import openapi
from alama.platform.http.reference import Reference
from tests.browser import chromium, needs_chromium
from tests.databases import sqlite_url
from tests.server import Server

WIDTHS = (360, 390, 820, 1280)
FRAME = '<iframe src="reference.html" width="{width}" height="900" style="border:0"></iframe>'
# Frames around the page measure it and write down what they find.
FRAMES = """<!doctype html><html><body>{frames}<pre id="found">nothing</pre><script>
const found = async frame => {{
  const page = frame.contentDocument;
  const wide = [...page.querySelectorAll("main *")].filter(element =>
    !element.closest("pre") && element.getBoundingClientRect().right > Number(frame.width) + 1);
  let copied = "";
  const clipboard = {{ writeText: async (text) => {{ copied = text; }} }};
  Object.defineProperty(frame.contentWindow.navigator, "clipboard", {{ value: clipboard }});
  const button = page.querySelector("figure.code button");
  button.click();
  await new Promise(done => setTimeout(done, 200));
  return {{
    width: Number(frame.width),
    title: page.title,
    overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    wide: wide.map(element => element.outerHTML.slice(0, 80)),
    blocks: page.querySelectorAll("figure.code").length,
    buttons: page.querySelectorAll("figure.code button").length,
    said: button.textContent,
    copied,
    asked: frame.contentWindow.performance.getEntriesByType("resource").length,
  }};
}};
onload = async () => {{
  const all = await Promise.all([...document.querySelectorAll("iframe")].map(found));
  document.getElementById("found").textContent = JSON.stringify(all);
}};
</script></body></html>"""

pytestmark = [pytest.mark.long, needs_chromium]


def test_nothing_runs_out_of_the_page_and_every_block_can_be_copied(tmp_path: Path) -> None:
    page = Reference(openapi.document()).html
    (tmp_path / "reference.html").write_text(page, "utf-8")
    around = tmp_path / "frames.html"
    frames = "".join(FRAME.format(width=width) for width in WIDTHS)
    around.write_text(FRAMES.format(frames=frames), "utf-8")
    shown = chromium(tmp_path, "--window-size=1400,1000", "--dump-dom", around.as_uri())
    written = re.search(r'id="found">(\[.*?\])</pre>', shown)
    assert written is not None, shown[-2000:]
    measured = json.loads(html.unescape(written[1]))
    assert [found["width"] for found in measured] == list(WIDTHS)
    for found in measured:
        assert found["title"] == "Alama API reference"
        assert found["overflow"] <= 0, found["width"]
        assert found["wide"] == [], found["width"]
        assert found["buttons"] == found["blocks"] > 10
        assert found["said"] == "Copied"
        assert found["copied"] == "export KEY=$(alama keys issue --lender demo --mode test)"
        assert found["asked"] == 0, "the page must not ask for anything beside itself"


def test_under_its_own_security_policy_the_script_runs_and_the_style_applies(
    tmp_path: Path,
) -> None:
    with Server(sqlite_url(tmp_path), tmp_path) as server:
        shown = chromium(tmp_path, "--dump-dom", f"{server.url}/docs")
        asked = set(re.findall(r'"route":"([^"]+)"', server.output()))
    assert shown.count(f'<span class="origin">{server.url}</span>') > 5
    assert shown.count('<button type="button">Copy</button>') > 10
    assert asked <= {"/docs", "/v1/health"}
