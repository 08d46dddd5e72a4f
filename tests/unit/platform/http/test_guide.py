"""The guide as it is served: a few files here, in place of the site that `make guide` makes."""

import asyncio
import base64
import hashlib
import json
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from alama.platform.http import endpoint, guide
from tests.exchanges import Silent

SCRIPT, STYLE = "document.body.dataset.theme = 'auto'", "body { color: black }"
PAGE = f"""<!doctype html><html><head><style>{STYLE}</style><script src="_static/a.js"></script>
</head><body><script>{SCRIPT}</script><p>Read me</p></body></html>"""
FILES = {
    "index.html": PAGE,
    "operating/index.html": "<h1>Operating</h1>",
    "_static/a.js": "'use strict';",
    "_static/a.css": "p { margin: 0 }",
    "_images/a.svg": "<svg><style>text { fill: red }</style></svg>",
    "_downloads/1/Containerfile": "FROM base",
    "_downloads/2/dashboard.json": "{}",
}


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the guide, with something in it."""
    folder = tmp_path / "alama" / "guide"
    for name, written in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(written, "utf-8")
    (folder.parent / "secret.txt").write_text("not for you", "utf-8")
    monkeypatch.setattr(guide, "FOLDER", folder)
    return folder


def ask(*paths: str, method: str = "GET", **headers: str) -> list[httpx.Response]:
    application = endpoint.application([], lambda: 0, Silent())

    async def exchange() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=application)
        async with httpx.AsyncClient(transport=transport, base_url="http://alama") as client:
            return [await client.request(method, path, headers=headers) for path in paths]

    return asyncio.run(exchange())


def hash_of(inline: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}'"


@pytest.mark.usefixtures("built")
def test_the_front_leads_into_the_folder_below_any_prefix() -> None:
    for reply in ask("/docs/guide", "/api/docs/guide"):
        assert (reply.status_code, reply.headers["location"]) == (302, "guide/")
    for reply in ask("/docs/guide/", "/docs/guide/index.html", "/api/docs/guide/"):
        assert (reply.status_code, reply.text) == (200, PAGE)
    (inner,) = ask("/docs/guide/operating/")
    assert inner.text == FILES["operating/index.html"]


@pytest.mark.usefixtures("built")
def test_each_file_is_said_to_be_what_it_is() -> None:
    types = {
        "index.html": "text/html; charset=utf-8",
        "_static/a.js": "text/javascript; charset=utf-8",
        "_static/a.css": "text/css; charset=utf-8",
        "_images/a.svg": "image/svg+xml",
        "_downloads/1/Containerfile": "text/plain; charset=utf-8",
        "_downloads/2/dashboard.json": "application/json",
    }
    for name, reply in zip(types, ask(*(f"/docs/guide/{name}" for name in types)), strict=True):
        assert reply.text == FILES[name]
        assert reply.headers["content-type"] == types[name]
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"


@pytest.mark.usefixtures("built")
def test_a_page_may_run_what_it_came_with_and_load_nothing_from_elsewhere() -> None:
    page, picture = ask("/docs/guide/", "/docs/guide/_images/a.svg")
    assert page.headers["content-security-policy"] == (
        f"default-src 'none'; script-src 'self' {hash_of(SCRIPT)}; "
        f"style-src 'self' {hash_of(STYLE)}; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    assert hash_of("text { fill: red }") in picture.headers["content-security-policy"]


@pytest.mark.usefixtures("built")
def test_a_file_is_sent_once_and_then_asked_about() -> None:
    packed, again = ask("/docs/guide/", "/docs/guide/")
    assert packed.headers["content-encoding"] == "gzip"
    assert (packed.headers["cache-control"], packed.headers["etag"]) == (
        "no-cache",
        again.headers["etag"],
    )
    (known,) = ask("/docs/guide/", **{"If-None-Match": packed.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")
    (head,) = ask("/docs/guide/", method="HEAD")
    assert head.headers["content-length"] == packed.headers["content-length"]
    (other,) = ask("/docs/guide/", method="POST")
    assert (other.status_code, other.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "%2e%2e/secret.txt",
        "..%2fsecret.txt",
        "operating/../../secret.txt",
        "operating/%2e%2e/index.html",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "index.html%00",
        "operating",
        "no-such-page.html",
    ],
)
@pytest.mark.usefixtures("built")
def test_what_is_no_file_of_the_guide_is_not_found(path: str) -> None:
    told: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        raise AssertionError

    async def send(message: MutableMapping[str, Any]) -> None:
        told.append(message)

    # As a server hands it on; a client would resolve the dots before it asks.
    scope = {"type": "http", "method": "GET", "path": unquote(f"/docs/guide/{path}")}

    async def exchange() -> None:
        application = endpoint.application([], lambda: 0, Silent())
        await application(scope | {"query_string": b"", "headers": []}, receive, send)

    asyncio.run(exchange())
    start, body = told
    assert start["status"] == httpx.codes.NOT_FOUND
    assert json.loads(body["body"])["code"] == "not_found"


def test_where_it_was_not_built_a_page_says_how_until_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guide, "FOLDER", tmp_path / "guide")
    for reply in ask("/docs/guide", "/docs/guide/", "/docs/guide/errors.html"):
        assert reply.status_code == httpx.codes.NOT_FOUND
        assert reply.headers["content-type"] == "text/html; charset=utf-8"
        assert reply.headers["content-security-policy"].startswith("default-src 'none'; style-src")
        assert "make guide" in reply.text
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "index.html").write_text(PAGE, "utf-8")
    assert [reply.status_code for reply in ask("/docs/guide", "/docs/guide/")] == [302, 200]


def test_a_page_that_has_gone_is_not_found_and_a_damaged_one_is_given_as_it_is(built: Path) -> None:
    application = endpoint.application([], lambda: 0, Silent())
    (built / "index.html").write_bytes(b"<p>\xff</p>")

    async def exchange() -> tuple[int, int, int]:
        transport = httpx.ASGITransport(app=application)
        async with httpx.AsyncClient(transport=transport, base_url="http://alama") as client:
            first = await client.get("/docs/guide/")
            (built / "_static" / "a.js").unlink()
            gone = await client.get("/docs/guide/_static/a.js")
            other = await client.get("/docs/guide/operating/")
        return first.status_code, gone.status_code, other.status_code

    assert asyncio.run(exchange()) == (200, 404, 200)
