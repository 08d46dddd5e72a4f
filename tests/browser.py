"""A real browser for pages: Chromium without a window, and with nobody to call home to."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--allow-file-access-from-files",
    "--virtual-time-budget=10000",
)

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed here")


# A page itself runs no script; frames around it measure it and write down what they find.
FRAMES = """<!doctype html><html><body>{frames}<pre id="found">nothing</pre><script>
const found = page => {{
  const charts = [...page.querySelectorAll("svg.chart")];
  const drawings = charts.map(svg => svg.getBoundingClientRect());
  const labels = charts.map(
    svg => [...svg.querySelectorAll("text")].map(label => label.getBoundingClientRect()));
  const meet = (a, b) =>
    a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom;
  return {{
    title: page.title,
    overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    drawings: drawings.length,
    empty: drawings.filter(box => box.width < 40 || box.height < 20).length,
    colliding: labels.flatMap(
      boxes => boxes.flatMap((a, n) => boxes.slice(n + 1).filter(b => meet(a, b)))).length,
    outside: labels.flatMap((boxes, n) => boxes.filter(
      box => box.left < drawings[n].left - 8 || box.right > drawings[n].right + 8)).length,
    headings: page.querySelectorAll("h2").length,
    asked: page.defaultView.performance.getEntriesByType("resource").length,
  }};
}};
onload = () => {{
  const frames = [...document.querySelectorAll("iframe")];
  document.getElementById("found").textContent =
    JSON.stringify(frames.map(frame => found(frame.contentDocument)));
}};
</script></body></html>"""
FRAME = '<iframe src="{page}" width="{width}" height="900" style="border:0"></iframe>'


def measured(page: Path, *widths: int) -> list[tuple[int, dict[str, Any]]]:
    """What a page is like in windows of so many pixels each; it is a file in a folder of its own.

    All at once: to start the browser takes longer than to lay a page out.
    """
    frames = "".join(FRAME.format(page=page.name, width=width) for width in widths)
    around = page.with_name("frames.html")
    around.write_text(FRAMES.format(frames=frames), "utf-8")
    shown = chromium(page.parent, "--window-size=1400,1000", "--dump-dom", around.as_uri())
    found: list[dict[str, Any]] = json.loads(
        re.search(r'id="found">(\[.*?\])</pre>', shown).group(1)  # type: ignore[union-attr]
    )
    return list(zip(widths, found, strict=True))


def chromium(folder: Path, *arguments: str) -> str:
    """What the browser prints; its profile goes into the folder."""
    assert CHROMIUM is not None
    finished = subprocess.run(
        [CHROMIUM, *QUIET, f"--user-data-dir={folder / 'profile'}", *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return finished.stdout
