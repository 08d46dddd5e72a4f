"""What docs/keys.md and docs/data-protection.md do over HTTP, typed as it stands there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest

from alama.platform.book import Scope
from tests.databases import sqlite_url
from tests.e2e.conftest import MARK
from tests.e2e.service import COMPACT, Service
from tests.e2e.walks import Walk
from tests.server import DEMO, Server

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
        scored = httpx.post(f"{server.url}/v1/score", json=named, headers=credentials, timeout=60)
        assert scored.status_code == 200
        for page, steps in (("data-protection.md", 2), ("keys.md", 2)):
            walk = Walk(over_http(page), UNSTABLE)
            assert len(walk.steps) == steps
            walk.go(tmp_path, server.environment, server.url)
        gone = httpx.get(
            f"{server.url}/v1/scores/{scored.json()['request_id']}", headers=credentials, timeout=60
        )
        assert (gone.status_code, json.loads(gone.content)["code"]) == (410, "erased")


def test_no_log_has_the_reference_that_is_asked_for(service: Service) -> None:
    """The fixture looks for the mark in all that was logged when the service has stopped."""
    scopes = (Scope.WRITE, Scope.READ, Scope.APPLICANTS_READ, Scope.APPLICANTS_WRITE)
    headers = service.credentials(service.key(DEMO, scopes))
    named = {"applicant_ref": f"{MARK}-9"}
    scored = service.send("POST", "/v1/score", json=COMPACT | named, headers=headers)
    listed = service.send("GET", f"/v1/scores?applicant_ref={MARK}-9", headers=headers)
    assert [one["request_id"] for one in listed.json()["data"]] == [scored.json()["request_id"]]
    refused = service.send("GET", f"/v1/scores?applicant_ref={MARK}@a&from={MARK}", headers=headers)
    assert refused.status_code == 400
    exported = service.send("POST", "/v1/applicants/export", json=named, headers=headers)
    assert exported.json()["applicant_ref"] == f"{MARK}-9"
    erased = service.send("POST", "/v1/applicants/erase", json=named, headers=headers)
    assert erased.json()["scores"] == 1
