"""A server that is older than the newest programs at hand: backed up and restored by its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.operations import postgresql_backup
from alama.platform.database import database as databases
from alama.platform.database import migrate, tables
from tests.databases import Postgres
from tests.native import path_with_programs, programs
from tests.vaults import MASTER_KEY

pytestmark = pytest.mark.long


class Older(Postgres):
    """PostgreSQL 16: the last that has no `transaction_timeout`."""

    release = "pginstall"


@pytest.fixture(scope="module")
def older() -> Iterator[Postgres]:
    with Older() as server:
        yield server


@pytest.fixture
def backup(older: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where to; the programs of 18 are on the PATH, and no others at hand."""
    monkeypatch.setattr(postgresql_backup, "_FOLDERS", ((str(tmp_path), "packages/*/bin"),))
    monkeypatch.setenv("PATH", path_with_programs())
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("ALAMA_MASTER_KEY", MASTER_KEY)
    with older.fresh() as address:
        monkeypatch.setenv("ALAMA_DATABASE", address)
        database = databases.connect(address)
        migrate.upgrade(database)
        database.close()
        yield tmp_path / "today.backup"


def test_the_servers_own_programs_are_taken_though_newer_ones_are_on_the_path(
    older: Postgres,
    backup: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    package = tmp_path / "packages" / "16"
    package.mkdir(parents=True)
    (package / "bin").symlink_to(programs("pginstall"))
    assert main(["db", "backup", str(backup)]) == 0
    assert "warning" not in capsys.readouterr().err
    with older.fresh() as empty:
        monkeypatch.setenv("ALAMA_DATABASE", empty)
        assert main(["db", "restore", str(backup)]) == 0
        database = databases.connect(empty)
        assert migrate.current(database) == tables.HEAD
        database.close()


def test_where_only_newer_ones_are_at_hand_the_backup_warns_and_a_restore_is_refused(
    older: Postgres,
    backup: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["db", "backup", str(backup)]) == 0
    err = capsys.readouterr().err
    assert "warning: pg_dump here is of PostgreSQL 18" in err
    assert "postgresql-client-16" in err
    with older.fresh() as empty:
        monkeypatch.setenv("ALAMA_DATABASE", empty)
        assert main(["db", "restore", str(backup)]) == EXIT_MISTAKE
        err = capsys.readouterr().err
        assert "from 17 on it does not restore into a server before: this one is a 16" in err
        assert "postgresql-client-16" in err
