"""Every request of the collections for Bruno and Postman, as its file has it, at the service."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from alama.platform.book import USUAL_SCOPES, Scope
from tests.databases import sqlite_url
from tests.e2e.conftest import MARK
from tests.e2e.service import Service
from tests.e2e.walks import Walk
from tests.server import DEMO, Server
from tools import api_calls

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "collections"
SCOPES = (*USUAL_SCOPES, Scope.APPLICANTS_READ, Scope.APPLICANTS_WRITE)
BLOCK = re.compile(r"^([a-z:-]+) \{\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
VARIABLE = re.compile(r"\{\{(\w+)\}\}")
KEPT = re.compile(r'(?:setVar|collectionVariables\.set)\("(\w+)", (.*)\);')


class Sent(NamedTuple):
    """A request as a file has it, before variables are filled in."""

    name: str
    method: str
    url: str
    headers: dict[str, str]
    body: str | None
    status: int
    script: str


def of_bruno() -> Iterator[Sent]:
    for file in sorted((FOLDER / "bruno").glob("[0-9]*.bru")):
        blocks = dict(BLOCK.findall(file.read_text("utf-8")))
        (method,) = blocks.keys() & {"get", "post"}
        status = re.search(r"res\.status: eq (\d+)", blocks["assert"])
        assert status is not None
        told = _pairs(blocks[method])
        if "params:query" in blocks:
            assert _pairs(blocks["params:query"]) == dict(
                httpx.URL(told["url"].replace("{{base_url}}", "http://a")).params
            )
        yield Sent(
            _pairs(blocks["meta"])["name"],
            method.upper(),
            told["url"],
            _pairs(blocks.get("headers", "")),
            blocks.get("body:json"),
            int(status[1]),
            blocks.get("script:post-response", ""),
        )


def _pairs(block: str) -> dict[str, str]:
    lines = (line.strip().partition(": ") for line in block.splitlines())
    return {name: value for name, _, value in lines}


def of_postman() -> Iterator[Sent]:
    collection = json.loads((FOLDER / "alama.postman_collection.json").read_bytes())
    for item in collection["item"]:
        request = item["request"]
        url = request["url"]
        asked = "&".join(f"{one['key']}={one['value']}" for one in url["query"])
        assert url["raw"] == "/".join([*url["host"], *url["path"]]) + (asked and f"?{asked}")
        (event,) = item["event"]
        script = "\n".join(event["script"]["exec"])
        status = re.search(r"status\((\d+)\)", script)
        assert status is not None
        yield Sent(
            item["name"],
            request["method"],
            url["raw"],
            {one["key"]: one["value"] for one in request["header"]},
            request.get("body", {}).get("raw"),
            int(status[1]),
            script,
        )


def test_the_files_are_those_that_the_tool_writes() -> None:
    written = {
        str(file.relative_to(FOLDER)): file.read_text("utf-8")
        for file in FOLDER.rglob("*")
        if file.is_file()
    }
    assert written == api_calls.files(), "run `python -m tools.api_calls`"


@pytest.mark.parametrize("read", [of_bruno, of_postman], ids=["bruno", "postman"])
def test_every_request_of_a_collection_gets_what_it_expects(service: Service, read: Any) -> None:
    requests = list(read())
    assert [one.name for one in requests] == [call.name for call in api_calls.CALLS]
    variables = {"base_url": service.server.url, "key": service.key(DEMO, SCOPES)}

    def filled(text: str) -> str:
        return VARIABLE.sub(lambda found: variables[found[1]], text)

    with httpx.Client(trust_env=False, timeout=120.0) as client:
        for one in requests:
            headers = httpx.Headers({"authorization": filled("Bearer {{key}}")} | one.headers)
            if one.body is not None:  # Bruno says so by itself
                headers["content-type"] = "application/json"
            body = None if one.body is None else filled(one.body)
            received = client.request(one.method, filled(one.url), headers=headers, content=body)
            assert received.status_code == one.status, f"{one.name}: {received.text}"
            assert MARK not in received.text
            for name, value in KEPT.findall(one.script):
                variables[name] = _valued(value, received)


def _valued(script: str, received: httpx.Response) -> str:
    """What the line of a script would keep."""
    if script.startswith("new Date()"):
        return datetime.now(UTC).date().isoformat()
    assert script in {"res.body.request_id", "pm.response.json().request_id"}
    request_id: str = received.json()["request_id"]
    return request_id


@pytest.mark.long
def test_the_walk_through_the_sandbox_goes_as_the_page_says(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with Server(sqlite_url(home), home) as server:
        walk = Walk((ROOT / "docs" / "sandbox.md").read_text("utf-8"))
        assert len(walk.steps) == 3
        walk.go(tmp_path, server.environment, server.url)
