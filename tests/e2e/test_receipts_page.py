"""The walk of docs/receipts.md, and its verification in thirty lines, as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from alama.core import receipts
from tests.databases import sqlite_url
from tests.e2e.walks import Walk
from tests.receipts import a_receipt
from tests.server import Server

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "receipts.md").read_text("utf-8")
UNSTABLE = (
    (re.compile(r"req_[0-9a-f]{28}"), "REQUEST"),
    (re.compile(r"entry \d+ of [0-9a-f]{16}"), "ENTRY"),
    (re.compile(r"^(key      )?[0-9a-f]{64}$"), "KEY"),
    (re.compile(r"vk_[0-9a-f]+"), "KEY ID"),
)
(SCRIPT,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_walk_from_a_score_to_its_proof_goes_as_the_page_says(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with Server(sqlite_url(home), home) as server:
        Walk(PAGE, UNSTABLE).go(tmp_path, server.environment, server.url)


def verified_without_alama(document: bytes, folder: Path) -> bool:
    (folder / "receipt.json").write_bytes(document)
    done = subprocess.run(
        [sys.executable, "-I", "-c", SCRIPT],
        cwd=folder,
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 or "InvalidSignature" in done.stderr, done.stderr
    return done.returncode == 0


def test_thirty_lines_that_know_nothing_of_alama_come_to_the_same_result(tmp_path: Path) -> None:
    assert "alama." not in SCRIPT
    document = receipts.encode(a_receipt(leaves=7))
    assert verified_without_alama(document, tmp_path)
    for old, new in (
        (b'"decision": "REVIEW"', b'"decision": "DECLINED"'),
        (b"18500,", b"18600,"),
        (b'"number": 1', b'"number": 2'),
        (b'"side": "right"', b'"side": "left"'),
    ):
        forged = document.replace(old, new, 1)
        assert forged != document
        assert not verified_without_alama(forged, tmp_path)
