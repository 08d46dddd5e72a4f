"""The audit of a running service: it verifies meanwhile, and says how each process ended."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from alama.core.chain import MAIN
from alama.platform import acts
from alama.platform.acts import ActKind
from alama.platform.database import database as databases
from alama.protection.audit.store import Trail
from tests.reliability.client import Client, application
from tests.server import Server

WORKERS = 2
SCORES = 12


@pytest.mark.parametrize(
    "database_url",
    ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)],
    indirect=True,
)
def test_a_service_that_runs_and_one_that_was_stopped_verify(
    database_url: str, tmp_path: Path
) -> None:
    with Server(database_url, tmp_path, WORKERS) as server:
        key = server.key()
        with Client(server.url, key) as client:
            for number in range(SCORES):
                client.reconnect()
                assert client.score(application(f"A-{number}")).status == 200
        assert f"{SCORES} are what was given" in verified(server)
        opened = Counter(kinds(database_url))[ActKind.CHAIN_OPENED]
        assert 1 <= opened <= WORKERS
        server.stop()
        assert Counter(kinds(database_url))[ActKind.CHAIN_CLOSED] == opened
        assert f"{SCORES} are what was given" in verified(server)


def verified(server: Server) -> str:
    """What `alama audit verify` says where everything is in order."""
    code, printed, said = server.typed("audit", "verify")
    assert code == 0, printed + said
    return printed


def kinds(database_url: str) -> list[ActKind]:
    database = databases.connect(database_url)
    try:
        return [acts.decode(link.body).kind for link in Trail(database).links(MAIN, 0, 1_000)]
    finally:
        database.close()
