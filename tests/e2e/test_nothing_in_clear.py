"""What applicants send is nowhere in clear: not in the database, not in its journal, not in a log.

Nor is what officers note of them.

A value is marked so that it can stand nowhere by chance, and every file is searched for it as
`strings` would, in each form in which it could have been written.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from alama.scoring.api import EXPANSIONS
from tests.databases import Postgres, sqlite_url
from tests.e2e.service import COMPACT
from tests.server import Server, ServerFailed

REFERENCE = "Kmarked-reference-81"
WORDS = {"region": "Kmarkedville", "loan_purpose": "kmarked-purpose"}
NUMBERS = {"monthly_inflow": 48_151.623, "avg_balance": 15_162.342, "requested_amount": 9_108.4815}
SENT = COMPACT | WORDS | NUMBERS
IDEMPOTENCY_KEY = "Kmarked-order-7"
NOTE = "Kmarked-note-9"
EVERYTHING = f"?expand={','.join(EXPANSIONS)}"


def marks() -> Iterator[bytes]:
    """Every form in which a marked value could be written down."""
    for word in (REFERENCE, IDEMPOTENCY_KEY, NOTE, *WORDS.values(), "kmarkedville"):
        for encoding in ("utf-8", "utf-16-le"):
            yield word.encode(encoding)
        yield word.encode().hex().encode()
    yield b'"recommended_limit":'  # of replies that are kept to be given again
    for number in NUMBERS.values():
        yield str(number).encode()
        yield struct.pack(">d", number)
        yield struct.pack("<d", number)


def found_in(text: bytes) -> list[bytes]:
    return [mark for mark in marks() if mark in text]


def ask(server: Server, key: str, body: dict[str, object], **headers: str) -> httpx.Response:
    return httpx.post(
        f"{server.url}/v1/score{EVERYTHING}",
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json", **headers},
        content=json.dumps(body).encode(),
        trust_env=False,
        timeout=60,
    )


def review(server: Server, key: str, request_id: str) -> httpx.Response:
    said = {"decision": "DECLINED", "reason": "other", "name": "W. Mutua", "note": NOTE}
    headers = {"Authorization": f"Bearer {key}"}
    path = f"{server.url}/v1/scores/{request_id}/review"
    return httpx.post(path, headers=headers, json=said, trust_env=False, timeout=60)


def read(server: Server, key: str, request_id: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.get(
        f"{server.url}/v1/scores/{request_id}", headers=headers, trust_env=False, timeout=60
    )


def score_all_ways(server: Server) -> list[str]:
    """Score with and without a reference and an idempotency key, and what is refused."""
    key = server.key()
    named: dict[str, object] = SENT | {"applicant_ref": REFERENCE}
    once = {"Idempotency-Key": IDEMPOTENCY_KEY}
    replies = [
        ask(server, key, SENT),
        ask(server, key, named),
        ask(server, key, SENT, **once),
        ask(server, key, named, **{"Idempotency-Key": f"{IDEMPOTENCY_KEY}-b"}),
    ]
    assert [reply.status_code for reply in replies] == [200] * 4
    request_ids = [str(reply.json()["request_id"]) for reply in replies]
    for request_id in request_ids:  # so the marks are there to be found
        assert review(server, key, request_id).status_code == 201
        record = read(server, key, request_id)
        assert NOTE.encode() in found_in(record.content)
        assert len(found_in(record.content)) >= len(WORDS) + len(NUMBERS)
    again = ask(server, key, SENT, **once)
    assert again.content == replies[2].content
    assert ask(server, key, named | {"region": "Kmarkedville\n\x00"}).status_code == 422
    assert ask(server, key, SENT | {"kmarked-purpose": 1}).status_code == 422
    return request_ids


def assert_nothing_in(files: Iterator[Path]) -> None:
    looked = 0
    for path in files:
        looked += 1
        assert found_in(path.read_bytes()) == [], path
    assert looked >= 2


def test_no_file_of_sqlite_and_no_line_of_the_log_holds_what_was_sent(tmp_path: Path) -> None:
    folder = tmp_path / "database"
    folder.mkdir()
    with Server(sqlite_url(folder), tmp_path / "home", ALAMA_LOG="json") as server:
        scores = score_all_ways(server)
        assert (folder / "alama.db-wal").stat().st_size > 0
        assert_nothing_in(folder.iterdir())
        server.kill()  # its journal stays as it is
        assert_nothing_in(folder.iterdir())
        server.start()
        for request_id in scores:
            assert "identical" in server.alama("scores", "replay", request_id)
        server.stop()
        log = server.output().encode()
        assert log.count(b"\n") > 5
        assert found_in(log) == []
    assert_nothing_in(path for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.long
def test_no_file_of_postgresql_holds_what_was_sent(postgres: Postgres, tmp_path: Path) -> None:
    with postgres.fresh() as url:
        with Server(url, tmp_path, 2, ALAMA_LOG="json") as server:
            score_all_ways(server)
            server.stop()
            assert found_in(server.output().encode()) == []
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
        data = postgres.data
        assert_nothing_in(path for path in data.rglob("*") if path.is_file())
        assert found_in(postgres.log().encode()) == []


@pytest.mark.long
def test_without_the_master_key_nothing_is_served_and_it_is_said_what_to_do(
    tmp_path: Path,
) -> None:
    master_key = tmp_path / "master-key"
    with Server(sqlite_url(tmp_path), tmp_path, ALAMA_MASTER_KEY="") as server:
        (request_id, *_) = score_all_ways(server)
        server.stop()
        kept = master_key.read_bytes()
        master_key.unlink()
        with pytest.raises(ServerFailed, match="wrapped under the master key") as failed:
            server.start()
        assert "ALAMA_MASTER_KEY_FILE" in str(failed.value)
        assert not master_key.exists()
        server.kill()
        with pytest.raises(ServerFailed, match="wrapped under the master key"):
            server.alama("scores", "show", request_id)
        master_key.write_bytes(kept)
        master_key.chmod(0o600)
        server.start()
        assert "identical" in server.alama("scores", "replay", request_id)
