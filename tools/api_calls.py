"""Writes deploy/collections: the same calls for Bruno and for Postman.

    .venv/bin/python -m tools.api_calls

A test holds the files to what is declared here, and sends every request of both.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

FOLDER: Final = Path(__file__).parents[1] / "deploy" / "collections"
BASE_URL: Final = "http://127.0.0.1:8000"

COMPACT: Final = {
    "mobile_money_months": 26,
    "monthly_inflow": 23800,
    "stability_score": 0.58,
    "airtime_regularity": 0.71,
}
TOLD: Final = (
    "Scores, explanations and what follows them, with the applicants of the sandbox. Set base_url "
    "and key: a test key with the scopes that docs/sandbox.md names."
)


class ApiCall(NamedTuple):
    """One request, what it is answered with, and whether its request_id is used by those after."""

    name: str
    method: str
    path: str
    body: dict[str, Any] | None = None
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    is_kept: bool = False


def _named(reference: str) -> dict[str, Any]:
    return COMPACT | {"applicant_ref": reference}


CALLS: Final = (
    ApiCall("Health", "GET", "/v1/health"),
    ApiCall("Score an application", "POST", "/v1/score", _named("customer-7f3a"), is_kept=True),
    ApiCall("Read the score", "GET", "/v1/scores/{{request_id}}"),
    ApiCall("Prove the score", "GET", "/v1/scores/{{request_id}}/receipt"),
    ApiCall(
        "Score once, however often it is sent",
        "POST",
        "/v1/score",
        COMPACT,
        headers=(("Idempotency-Key", "TOOL-order-1"),),
    ),
    ApiCall("List scores of a tier", "GET", "/v1/scores?tier=C&limit=5"),
    ApiCall(
        "List what was declined since a time",
        "GET",
        "/v1/scores?from=2026-01-01T00:00:00Z&decision=DECLINED",
    ),
    ApiCall("List scores of an applicant", "GET", "/v1/scores?applicant_ref=customer-7f3a"),
    ApiCall("Sandbox: approved", "POST", "/v1/score", _named("fixture-approved")),
    ApiCall(
        "Sandbox: declined, and why",
        "POST",
        "/v1/score?expand=offer,reasons",
        _named("fixture-declined"),
    ),
    ApiCall(
        "Sandbox: declined, and what would help",
        "POST",
        "/v1/explain?ways=2",
        _named("fixture-declined"),
    ),
    ApiCall("Sandbox: nothing would help", "POST", "/v1/explain", _named("fixture-no-recourse")),
    ApiCall("Sandbox: a slow answer", "POST", "/v1/score", _named("fixture-slow")),
    ApiCall("Sandbox: over the rate", "POST", "/v1/score", _named("fixture-429"), 429),
    ApiCall("Sandbox: unavailable", "POST", "/v1/score", _named("fixture-503"), 503),
    ApiCall(
        "Sandbox: left to a person", "POST", "/v1/score", _named("fixture-review"), is_kept=True
    ),
    ApiCall(
        "Review it",
        "POST",
        "/v1/scores/{{request_id}}/review",
        {"decision": "APPROVED", "reason": "income_verified", "name": "W. Mutua"},
        201,
    ),
    ApiCall(
        "Say what became of the loan",
        "POST",
        "/v1/outcomes",
        {
            "request_id": "{{request_id}}",
            "outcome": "repaid",
            "date": "{{today}}",
            "repaid_amount": 1000,
        },
    ),
    ApiCall("Monitor the book", "GET", "/v1/monitoring?days=30"),
    ApiCall("A body that breaks rules", "POST", "/v1/score", {"mm_months": "26"}, 422),
    ApiCall(
        "Give out what is held on an applicant",
        "POST",
        "/v1/applicants/export",
        {"applicant_ref": "customer-7f3a"},
    ),
    ApiCall(
        "Erase an applicant", "POST", "/v1/applicants/erase", {"applicant_ref": "customer-7f3a"}
    ),
)
"""In their order: later ones use what earlier ones have kept."""


def files() -> dict[str, str]:
    """Give every file by its path below the folder."""
    bruno = {
        f"bruno/{place:02} {call.name.replace(':', '')}.bru": _bruno(place, call)
        for place, call in enumerate(CALLS, start=1)
    }
    return {
        "alama.postman_collection.json": json.dumps(_postman(), indent=2) + "\n",
        "bruno/bruno.json": json.dumps(_BRUNO, indent=2) + "\n",
        "bruno/collection.bru": _BRUNO_COLLECTION,
        "bruno/environments/local.bru": _BRUNO_LOCAL,
        **bruno,
    }


# ------------------------------------------------------------------------------------- Bruno

_BRUNO: Final = {"version": "1", "name": "Alama", "type": "collection"}
_BRUNO_COLLECTION: Final = f"""\
auth {{
  mode: bearer
}}

auth:bearer {{
  token: {{{{key}}}}
}}

docs {{
  {TOLD}
}}
"""
_BRUNO_LOCAL: Final = f"""\
vars {{
  base_url: {BASE_URL}
}}
vars:secret [
  key
]
"""


def _bruno(place: int, call: ApiCall) -> str:
    blocks = [
        _block("meta", [f"name: {call.name}", "type: http", f"seq: {place}"]),
        _block(
            call.method.lower(),
            [
                f"url: {{{{base_url}}}}{call.path}",
                f"body: {'none' if call.body is None else 'json'}",
                "auth: inherit",
            ],
        ),
    ]
    asked = _query(call)
    if asked:
        blocks.append(_block("params:query", [f"{name}: {value}" for name, value in asked]))
    if call.headers:
        blocks.append(
            _block("headers", [f"{name}: {value}" for name, value in _headers(call, "bruno")])
        )
    if call.body is not None:
        blocks.append(_block("body:json", json.dumps(call.body, indent=2).splitlines()))
    blocks.append(_block("assert", [f"res.status: eq {call.status}"]))
    if call.is_kept:
        kept = [
            'bru.setVar("request_id", res.body.request_id);',
            'bru.setVar("today", new Date().toISOString().slice(0, 10));',
        ]
        blocks.append(_block("script:post-response", kept))
    return "\n".join(blocks)


def _block(name: str, lines: list[str]) -> str:
    inside = "".join(f"  {line}\n" for line in lines)
    return f"{name} {{\n{inside}}}\n"


def _headers(call: ApiCall, tool: str) -> list[tuple[str, str]]:
    """Give the headers; each tool writes a body in its own way, and so needs a key of its own."""
    return [(name, value.replace("TOOL", tool)) for name, value in call.headers]


def _query(call: ApiCall) -> list[tuple[str, str]]:
    return parse_qsl(call.path.partition("?")[2])


# ------------------------------------------------------------------------------------- Postman


def _postman() -> dict[str, Any]:
    return {
        "info": {
            "name": "Alama",
            "description": TOLD,
            "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
        },
        "auth": {
            "type": "bearer",
            "bearer": [{"key": "token", "value": "{{key}}", "type": "string"}],
        },
        "variable": [
            {"key": "base_url", "value": BASE_URL},
            {"key": "key", "value": ""},
            {"key": "request_id", "value": ""},
            {"key": "today", "value": ""},
        ],
        "item": [_postman_item(call) for call in CALLS],
    }


def _postman_item(call: ApiCall) -> dict[str, Any]:
    path, _, _ = call.path.partition("?")
    headers = _headers(call, "postman")
    request: dict[str, Any] = {
        "method": call.method,
        "header": [],
        "url": {
            "raw": f"{{{{base_url}}}}{call.path}",
            "host": ["{{base_url}}"],
            "path": path.strip("/").split("/"),
            "query": [{"key": name, "value": value} for name, value in _query(call)],
        },
    }
    if call.body is not None:
        headers.append(("Content-Type", "application/json"))
        request["body"] = {
            "mode": "raw",
            "raw": json.dumps(call.body, indent=2),
            "options": {"raw": {"language": "json"}},
        }
    request["header"] = [{"key": name, "value": value} for name, value in headers]
    script = [f'pm.test("answers {call.status}", () => pm.response.to.have.status({call.status}));']
    if call.is_kept:
        script += [
            'pm.collectionVariables.set("request_id", pm.response.json().request_id);',
            'pm.collectionVariables.set("today", new Date().toISOString().slice(0, 10));',
        ]
    event = {"listen": "test", "script": {"type": "text/javascript", "exec": script}}
    return {"name": call.name, "event": [event], "request": request}


def main() -> None:
    """Write the files."""
    for name, text in files().items():
        file = FOLDER / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
