"""The guide as people have it: built, served by the real service, walked link by link, searched."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import httpx
import pytest

import alama
from tests.browser import needs_chromium
from tests.databases import sqlite_url
from tests.server import Server
from tests.tab import tab

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-guide" / "bin" / "python"

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("guide")]


def build(root: Path, into: Path) -> subprocess.CompletedProcess[str]:
    """`python -m tools.guide`, of the pages of a checkout."""
    assert PYTHON.exists(), "not installed: `make .venv-guide/.installed`"
    command = [str(PYTHON), "-m", "tools.guide", str(into)]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as it lies in the package."""
    into = tmp_path_factory.mktemp("site") / "alama" / "guide"
    into.parent.mkdir()
    done = build(ROOT, into)
    assert done.returncode == 0, done.stdout + done.stderr
    return into


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the guide is made of, in another place."""
    root = tmp_path_factory.mktemp("checkout")
    for folder in ("docs", "deploy", "tools"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("secrets"))
    pages = ("*.md", "sdk/*/README.md", "recipes/*.*", "recipes/*/*.*", "tests/recipes/*.py")
    single = {path: path.relative_to(ROOT) for page in pages for path in ROOT.glob(page)}
    for path, place in {**single, Path(str(alama.__file__)): Path("src/alama/__init__.py")}.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, root / place)
    return root


@pytest.fixture(scope="module")
def server(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The service, of a package that is ours but for its guide."""
    for part in Path(str(alama.__file__)).parent.iterdir():
        if part.name not in {"guide", "__pycache__"}:
            (site.parent / part.name).symlink_to(part)
    home = tmp_path_factory.mktemp("home")
    path = os.pathsep.join([str(site.parents[1]), os.environ.get("PYTHONPATH", "")])
    with Server(sqlite_url(home), home, PYTHONPATH=path) as running:
        yield running


class Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value for name, value in attrs if value is not None}
        self.anchors.add(said.get("id", ""))
        if tag == "a" and "href" in said:
            self.links.add(said["href"])
        loads = {said.get("src"), said.get("action"), said["href"] if tag == "link" else None}
        self.loaded |= {place for place in loads if place is not None}


def test_every_link_of_every_page_leads_somewhere(server: Server, site: Path) -> None:
    start = f"{server.url}/docs/guide/"
    seen: dict[str, Page] = {}
    wanted: dict[str, str] = {start: "the front"}
    unseen = [start]
    with httpx.Client(trust_env=False) as client:
        while unseen:
            url = unseen.pop()
            reply = client.get(url)
            assert reply.status_code == httpx.codes.OK, f"{url}, from {wanted[url]}"
            page = Page(reply.text if reply.headers["content-type"].startswith("text/html") else "")
            seen[url] = page
            if not url.startswith(start):
                continue  # the reference, which is no page of the guide
            for place in page.loaded:
                assert urljoin(url, place).startswith((start, "data:")), f"{url} loads {place}"
            for place in page.links | page.loaded:
                there = urldefrag(urljoin(url, place)).url
                if there.startswith(server.url) and there not in wanted:
                    wanted[there] = url
                    unseen.append(there)
    lost = [
        f"{url}: {link}"
        for url, page in seen.items()
        for link in page.links
        if urljoin(url, link).startswith(start)
        and (to := urldefrag(urljoin(url, link))).fragment
        and to.fragment not in seen[to.url].anchors
    ]
    assert lost == []
    built = {f"{start}{path.relative_to(site).as_posix()}" for path in site.rglob("*.html")}
    assert built <= seen.keys()
    assert f"{server.url}/docs" in seen


def test_every_page_that_a_person_reads_is_in_the_site(site: Path) -> None:
    places = ("*.md", "docs/**/*.md", "sdk/*/README.md", "recipes/README.md", "recipes/*/README.md")
    sources = [path for place in places for path in ROOT.glob(place)]
    headings = [re.search(r"^# (.+)$", path.read_text("utf-8"), re.MULTILINE) for path in sources]
    pages = "\n".join(path.read_text("utf-8") for path in site.rglob("*.html"))
    shown = re.findall(r"<h1>(.+?)<a class", re.sub(r"</?(?:code|span)[^>]*>", "", pages))
    written = {heading[1].replace("`", "") for heading in headings if heading}
    assert len(written) == len(sources)
    assert written - {unescape(heading) for heading in shown} == set()


def test_the_same_pages_give_the_same_bytes_and_a_lost_anchor_fails(
    site: Path, copied: Path, tmp_path: Path
) -> None:
    done = build(copied, tmp_path / "guide")
    assert (done.stderr, done.returncode) == ("", 0)
    assert contents(tmp_path / "guide") == contents(site)
    page = copied / "docs" / "versions.md"
    page.write_text(page.read_text("utf-8") + "\n[lost](errors.md#no-such-heading)\n", "utf-8")
    done = build(copied, tmp_path / "guide")
    assert done.returncode != 0
    assert "versions.md" in done.stderr
    assert "no-such-heading" in done.stderr
    assert contents(tmp_path / "guide") == contents(site), "what was built before stays"
    page.write_text(page.read_text("utf-8") + "\n[lost](no-such-page.md)\n", "utf-8")
    done = build(copied, tmp_path / "guide")
    assert done.stderr == "docs/versions.md: no-such-page.md is no page and no file\n"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@needs_chromium
def test_in_a_browser_search_finds_the_page_and_nobody_else_is_asked(
    server: Server, tmp_path: Path
) -> None:
    start = f"{server.url}/docs/guide/"
    with tab(tmp_path) as browser:
        browser.look(1280, 900)
        browser.open(f"{start}index.html")
        browser.click(".sidebar-search")
        browser.type("webhook signature")
        browser.until("document.querySelectorAll('#search-results li a').length > 1")
        found = browser.run(
            "[...document.querySelectorAll('#search-results li a')].map(link => link.pathname)"
        )
        assert {Path(path).stem for path in found[:2]} == {"webhooks", "receiving-webhooks"}
        browser.click("#search-results li a")
        browser.until("document.querySelector('h1')?.textContent.includes('ebhooks')")
        assert browser.run("location.pathname") == found[0]
        for width, dark in ((320, True), (320, False), (1280, True)):
            browser.look(width, 800, dark=dark)
            for name in ("index", "policy", "generated/codes", "operating/index"):
                browser.open(f"{start}{name}.html")
                page = "document.documentElement"
                assert browser.run(f"{page}.scrollWidth - {page}.clientWidth") <= 0, (name, width)
                background = browser.run("getComputedStyle(document.body).backgroundColor")
                assert (background != "rgb(255, 255, 255)") is dark, "the style applies"
        assert browser.complaints == []
        asked = [url for url in browser.asked if not url.startswith("data:")]
        assert [url for url in asked if not url.startswith(start)] == []
        assert len(asked) > 20
