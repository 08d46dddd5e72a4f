"""Where requests to others can leave from: see also the contract `one-way-out`, pyproject.toml."""

from __future__ import annotations

import ast
from pathlib import Path

import alama

SOURCE = Path(alama.__file__).parent

SENDERS = {"http.client", "urllib.request"}
"""Of the standard library; the contract knows modules by their first name, which others need."""

ALLOWED = {"app/remote/client.py", "operations/doctor/check_proxy.py"}
"""The doctor asks the address that whoever started it has typed, and the service beside it;
`alama remote` the one that whoever types it has logged in at."""


def imported(text: str) -> set[str]:
    """Every module that a source names in an import, and what it takes from it."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_every_way_to_import_a_sender_is_seen() -> None:
    for text in (
        "import http.client",
        "import http.client as h",
        "from http.client import HTTPConnection",
        "def f():\n    from http import client",
    ):
        assert SENDERS & imported(text), text
    assert not SENDERS & imported("from http import HTTPStatus\nfrom urllib.parse import quote")


def test_only_what_a_person_points_somewhere_can_send_by_the_standard_library() -> None:
    sources = {path: path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    assert len(sources) > 100
    named = [path for path, text in sources.items() if "http" in text or "urllib" in text]
    senders = {path for path in named if SENDERS & imported(sources[path])}
    assert {path.relative_to(SOURCE).as_posix() for path in senders} == ALLOWED
