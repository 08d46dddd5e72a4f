"""The running service does what its own OpenAPI document says, whatever it is sent."""

from __future__ import annotations

import json
import os
import re
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from alama.core import document as documents
from alama.core.application import CONTROLS, HIDDEN
from alama.core.product import PRODUCT
from alama.lenders import installation
from alama.onboarding import examples
from alama.onboarding.store import Stores
from alama.platform import settings
from alama.platform.book import Scope
from alama.platform.files.packaged import builtin
from tests.databases import sqlite_url
from tests.e2e.service import COMPACT
from tests.server import Server
from tests.tries import TIMES

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
SCHEMATHESIS = ROOT / ".venv-api" / "bin" / "schemathesis"
CONFIG = Path(__file__).with_name("schemathesis.toml")
HOOKS = Path(__file__).with_name("schemathesis_hooks.py")
RUN_S_MAX = 300 * TIMES  # takes some forty seconds


def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    assert SCHEMATHESIS.exists(), "not installed: `make .venv-api/.installed`"
    # As many requests as it likes: the limit has tests of its own.
    with Server(sqlite_url(tmp_path), tmp_path, ALAMA_RATE_LIMIT="1000000") as server:
        onboard(server)
        found = fuzz(server, tmp_path)
        if found:
            server_says = f"The server (exit code {server.exit_code}):\n{server.output()[-4000:]}"
            pytest.fail(f"{found}\n{server_says}", pytrace=False)
        assert (
            httpx.get(f"{server.url}/v1/health", trust_env=False, timeout=60).status_code
            == httpx.codes.OK
        )


def a_key(server: Server) -> str:
    """A key that may do everything."""
    scopes = [part for scope in Scope for part in ("--scope", scope)]
    issued = server.alama("keys", "issue", "--lender", "demo", "--mode", "test", *scopes)
    return issued.strip()


def an_endpoint(server: Server, key: str) -> str:
    """The id of a webhook endpoint that nobody deletes."""
    answer = httpx.post(
        f"{server.url}/v1/webhook_endpoints",
        json={"url": "https://hooks.example.com/alama"},
        headers={"Authorization": f"Bearer {key}"},
        trust_env=False,
        timeout=60,
    )
    named: str = answer.raise_for_status().json()["id"]
    return named


def an_applicant(server: Server, key: str) -> str:
    """The reference of an applicant on whom something is held."""
    reference = "fuzzed-applicant"
    answer = httpx.post(
        f"{server.url}/v1/score",
        json=COMPACT | {"applicant_ref": reference},
        headers={"Authorization": f"Bearer {key}"},
        trust_env=False,
        timeout=60,
    )
    answer.raise_for_status()
    return reference


def onboard(server: Server) -> None:
    """Have all that the examples of onboarding name, which no request brings about by itself."""
    with closing(installation.open_installation(settings.read(server.environment))) as installed:
        stores, model = Stores.at(installed), builtin()
        stores.pilots.set(examples.PILOT)
        stores.histories.keep(examples.HISTORY, b"{}", [b"rows"])
        candidate = examples.candidate(model.id)
        stores.candidates.add(candidate, documents.encode(model), b"{}", b"<p>pack</p>")
        stores.jobs.add(examples.TRAINING)


def exactly(document: Any) -> Any:
    """The document with the rules that it has in words alone, since no generator prints them."""
    application = document["components"]["schemas"]["Application"]
    application["allOf"] = [
        either_spelling(application["properties"], field.name, str(field.other_spelling))
        for field in PRODUCT.fields
        if field.required and field.other_spelling
    ]
    return visible_alone(document)


def either_spelling(properties: Any, first: str, second: str) -> Any:
    """One or the other, so that the two cannot contradict each other."""
    return {
        "anyOf": [
            {
                "required": [sent],
                "properties": {
                    sent: {"type": properties[sent]["type"][0]},
                    other: {"type": "null"},
                },
            }
            for sent, other in ((first, second), (second, first))
        ]
    }


def visible_alone(part: Any) -> Any:
    """The same with patterns that name all that is hidden, and not what a byte can name alone."""
    if isinstance(part, list):
        return [visible_alone(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    return {
        name: inner.replace(CONTROLS, HIDDEN)
        if name == "pattern" and isinstance(inner, str)
        else visible_alone(inner)
        for name, inner in part.items()
    }


def fuzz(server: Server, folder: Path) -> str:
    """The report of Schemathesis where it has found something, else nothing."""
    report, config = folder / "report.txt", folder / "schemathesis.toml"
    document = folder / "openapi.json"
    served = httpx.get(f"{server.url}/openapi.json", trust_env=False, timeout=60).json()
    document.write_text(json.dumps(exactly(served)), "utf-8")
    config.write_text(
        re.sub(
            r"(?<=max-examples = )\d+",
            lambda number: str(round(TIMES * int(number[0]))),
            CONFIG.read_text("utf-8"),
        ),
        "utf-8",
    )
    key = a_key(server)
    with report.open("wb") as output:
        try:
            run = subprocess.run(
                [SCHEMATHESIS, "--config-file", config, "run", document, "--url", server.url],
                env=os.environ
                | {
                    "FUZZ_KEY": key,
                    "FUZZ_ENDPOINT": an_endpoint(server, key),
                    "FUZZ_APPLICANT": an_applicant(server, key),
                    "SCHEMATHESIS_HOOKS": str(HOOKS),
                },
                cwd=folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=RUN_S_MAX,
            )
        except subprocess.TimeoutExpired:
            return f"{report.read_text('utf-8')}\nNot finished after {RUN_S_MAX} s."
    return report.read_text("utf-8") if run.returncode != 0 else ""
