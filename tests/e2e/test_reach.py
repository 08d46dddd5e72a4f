"""What docs/keys.md and docs/data-protection.md do over HTTP, typed as it stands there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest

from tests.databases import sqlite_url
from tests.e2e.service import COMPACT
from tests.e2e.walks import Walk
from tests.server import Server

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"(?:^    .*\n)+", re.MULTILINE)
UNSTABLE = (
    (re.compile(r"apk_[0-9a-f]{28}"), "APPLICANT"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "MOMENT"),
)


def over_http(page: str) -> str:
    """The blocks of a page that speak to the service."""
    blocks = BLOCK.findall((DOCS / page).read_text("utf-8"))
    return "then\n".join(block for block in blocks if "curl" in block)


@pytest.mark.long
def test_the_pages_do_over_http_what_they_say(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with Server(sqlite_url(home), home) as server:
        key = server.key()
        named = COMPACT | {"applicant_ref": "customer-7f3a"}
        credentials = {"authorization": f"Bearer {key}"}
        scored = httpx.post(f"{server.url}/v1/score", json=named, headers=credentials)
        assert scored.status_code == 200
        for page, steps in (("data-protection.md", 2), ("keys.md", 1)):
            walk = Walk(over_http(page), UNSTABLE)
            assert len(walk.steps) == steps
            walk.go(tmp_path, server.environment, server.url)
        gone = httpx.get(
            f"{server.url}/v1/scores/{scored.json()['request_id']}", headers=credentials
        )
        assert (gone.status_code, json.loads(gone.content)["code"]) == (410, "erased")
