"""`alama db check` can fail: whatever is planted is named, on both databases."""

from __future__ import annotations

import os
import re
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import insert, text, update

from alama.app.cli import EXIT_MISTAKE, main
from alama.core.lending import draft
from alama.lenders import installation, schema
from alama.lenders import keys as lenders
from alama.lenders.store import Registry
from alama.platform import clock, settings
from alama.platform.database import database as databases
from alama.platform.database import migrate, tables
from alama.platform.database.sqlite_driver import pysqlite3
from alama.scoring import schema as scoring_schema
from alama.vault import schema as vault_schema
from tests.later_versions import Next, become_later, numbered
from tests.ports import free_port
from tests.vaults import MASTER_KEY

EXIT_WRONG, EXIT_UNTOLD = 1, 2
OK, UNTOLD, WRONG, UNCHECKED = "✓", "!", "✗", "–"  # noqa: RUF001  a dash


@pytest.fixture
def address(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An installation with a lender, whose audit has begun."""
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("ALAMA_DATABASE", database_url)
    monkeypatch.setenv("ALAMA_MASTER_KEY", MASTER_KEY)
    database = databases.connect(database_url)
    migrate.upgrade(database)
    database.close()
    installed = installation.open_installation(settings.read(os.environ))
    lenders.add_lender(installed.registry, clock.wall_us, "umoja", "Umoja", "KES")
    installed.vault.ring("umoja")
    installed.close()
    return database_url


def execute(address: str, *statements: str) -> None:
    database = databases.connect(address)
    with database.writing() as connection:
        for statement in statements:
            connection.execute(text(statement))
    database.close()


def marks(printed: str) -> dict[str, str]:
    """What was looked at, and how it stands; of several lines on one thing the last."""
    found = {}
    for line in printed.splitlines():
        match = re.match(r"([✓!✗–]) {2}(\S+(?: \S+)?) ", line)  # noqa: RUF001  a dash
        if match:
            found[match[2]] = match[1]
    return found


def test_everything_is_in_order_in_a_new_installation(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["db", "check"]) == 0
    found = marks(capsys.readouterr().out)
    assert set(found.values()) == {OK}
    wanted = [
        "schema",
        "files",
        "tables",
        "rows",
        "documents",
        "pepper",
        "master key",
        "vault keys",
        "audit",
    ]
    assert list(found) == wanted
    assert address


@pytest.mark.usefixtures("address")
@pytest.mark.alike
def test_a_quick_check_says_what_it_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["db", "check", "--quick"]) == 0
    found = marks(capsys.readouterr().out)
    assert found["audit"] == found["rows"] == UNCHECKED
    assert found["schema"] == found["tables"] == found["pepper"] == OK


@pytest.mark.parametrize("options", [[], ["--quick"]])
@pytest.mark.alike
def test_a_damaged_document_is_named_with_the_way_out(
    address: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    database = databases.connect(address)
    text_of = draft.default_text("KES")
    policy_id = draft.default_policy("KES").id
    Registry(database).keep_policy(policy_id, text_of, 1)
    assert main(["db", "check", *options]) == 0
    with database.writing() as connection:
        changed = text_of.replace(b"limit_max = 50_000", b"limit_max = 90_000")
        connection.execute(update(schema.policies).values(document=changed))
    database.close()
    capsys.readouterr()
    assert main(["db", "check", *options]) == EXIT_WRONG
    out = capsys.readouterr().out
    assert marks(out)["documents"] == WRONG
    assert marks(out)["audit"] == (UNCHECKED if options else WRONG)
    assert policy_id in "".join(out.split())
    assert "nothing is broken" not in out
    assert main(["audit", "verify"]) == EXIT_WRONG
    assert "are not those that the id names" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("options", [[], ["--quick"]])
@pytest.mark.alike
def test_an_old_schema_is_named_with_the_way_out(
    address: str,
    options: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    older = tables.HEAD
    become_later(monkeypatch, tmp_path, Next(numbered(1), older, "pass"))
    assert main(["db", "check", *options]) == EXIT_WRONG
    out = capsys.readouterr().out
    assert marks(out)["schema"] == WRONG
    assert "`alama db upgrade` brings it up to date" in out
    assert marks(out)["audit"] == UNCHECKED
    database = databases.connect(address)
    assert migrate.current(database) == older, "a check has changed what it looked at"
    database.close()


@pytest.mark.alike
def test_what_only_a_newer_version_knows_cannot_be_told(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(address, "UPDATE alembic_version SET version_num = '9999'")
    database = databases.connect(address)
    with database.writing() as connection:
        migrate.note_served(connection, tables.HEAD)
    database.close()
    assert main(["db", "check", "--quick"]) == EXIT_UNTOLD
    assert marks(capsys.readouterr().out)["tables"] == UNTOLD


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DROP TABLE pauses", "no table pauses"),
        ("DROP INDEX ix_audit_entries_created_us", "audit_entries: no index"),
        ("ALTER TABLE keys DROP COLUMN hint", "keys: no column hint"),
    ],
)
def test_what_the_schema_lacks_is_named(
    address: str, statement: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(address, statement)
    assert main(["db", "check", "--quick"]) == EXIT_WRONG
    out = capsys.readouterr().out
    assert marks(out)["tables"] == WRONG
    assert said in out


def test_tables_and_indexes_of_somebody_else_are_not_wrong(address: str) -> None:
    execute(
        address, "CREATE TABLE theirs (id INTEGER)", "CREATE INDEX ix_theirs ON keys (created_us)"
    )
    assert main(["db", "check"]) == 0


@pytest.mark.alike
def test_a_row_that_names_nothing_is_named(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"lender": "nobody", "mode": "test", "hour": 1, "writer": "w_1", "volume": 1.0}
    database = databases.connect(address)
    with database.writing() as connection:
        connection.execute(insert(scoring_schema.approvals), row | {"expected_loss": 0.0})
    database.close()
    for options in ([], ["--quick"]):
        assert main(["db", "check", *options]) == EXIT_WRONG
        out = capsys.readouterr().out
        said = "approvals: 1 belong to a lender that is not there; the first is w_1"
        assert said in " ".join(out.split())


@pytest.mark.alike
def test_another_pepper_and_another_master_key_are_named(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_PEPPER", "another pepper than that of before")
    monkeypatch.setenv("ALAMA_MASTER_KEY", "08" * 32)
    assert main(["db", "check"]) == EXIT_WRONG
    out = capsys.readouterr().out
    found = marks(out)
    assert found["pepper"] == found["master key"] == WRONG
    assert found["vault keys"] == found["audit"] == UNCHECKED
    assert out.count("see master key") == 2
    assert "vault_keys" not in out
    assert found["rows"] == OK
    assert address


@pytest.mark.alike
def test_a_lost_pepper_is_named_and_no_new_one_made(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pepper").unlink()
    assert main(["db", "check"]) == EXIT_WRONG
    assert marks(capsys.readouterr().out)["pepper"] == WRONG
    assert not (tmp_path / "pepper").exists()
    assert address


@pytest.mark.alike
def test_a_key_of_the_vault_that_does_not_open_is_named(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = vault_schema.vault_keys
    database = databases.connect(address)
    with database.writing() as connection:
        of_umoja = (keys.c.lender == "umoja") & (keys.c.purpose == "find")
        connection.execute(update(keys).where(of_umoja).values(wrapped=b"damaged"))
    database.close()
    assert main(["db", "check"]) == EXIT_WRONG
    out = capsys.readouterr().out
    assert marks(out)["vault keys"] == WRONG
    assert "1 does not open, vk_" in out


@pytest.mark.alike
def test_a_changed_entry_of_the_audit_is_named(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(address, "UPDATE lenders SET currency = 'UGX' WHERE id = 'umoja'")
    assert main(["db", "check"]) == EXIT_WRONG
    out = capsys.readouterr().out
    assert marks(out)["audit"] == WRONG
    assert "`alama audit verify` lists them" in out


def test_what_breaks_a_foreign_key_or_was_never_validated_is_named(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if address.startswith("sqlite"):
        database = databases.connect(address)
        connection = database.engine.raw_connection()
        connection.cursor().execute("PRAGMA foreign_keys=OFF")
        connection.cursor().execute("INSERT INTO pauses VALUES ('nobody', 'test', 1, 'why')")
        connection.close()
        database.close()
        said = "pauses: row 1 names a row of lenders that is not there"
    else:
        execute(
            address,
            "ALTER TABLE keys ADD CONSTRAINT theirs FOREIGN KEY (lender) "
            "REFERENCES lenders (id) NOT VALID",
        )
        said = "keys: constraint theirs was never validated"
    assert main(["db", "check"]) == EXIT_WRONG
    out = capsys.readouterr().out
    assert marks(out)["files"] == WRONG
    assert said in out


def test_a_database_that_is_not_there_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path / "home"))
    for command in (["check"], ["backup", str(tmp_path / "file")]):
        assert main(["db", *command]) == EXIT_MISTAKE
        assert "there is no installation at" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


class TestSqlite:
    @pytest.fixture
    def database_url(self, tmp_path: Path) -> str:
        return f"sqlite:///{tmp_path / 'alama.db'}"

    def test_a_damaged_page_is_named(
        self, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = tmp_path / "alama.db"
        database = databases.connect(address)
        assert database.empty_journal()
        with database.reading() as connection:
            page = connection.execute(
                text("SELECT rootpage FROM sqlite_schema WHERE name = 'audit_entries'")
            ).scalar_one()
            size = connection.execute(text("PRAGMA page_size")).scalar_one()
        database.close()
        with file.open("r+b") as damaged:
            damaged.seek((page - 1) * size)
            damaged.write(b"\xff" * 64)
        assert main(["db", "check"]) == EXIT_WRONG
        out = capsys.readouterr().out
        assert marks(out)["files"] == marks(out)["audit"] == WRONG
        assert "malformed" in out

    def test_a_file_that_is_no_database_any_more_is_named(
        self, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert address
        with (tmp_path / "alama.db").open("r+b") as damaged:
            damaged.write(b"\xff" * 4096)
        assert main(["db", "check"]) == EXIT_WRONG
        assert "file is not a database" in capsys.readouterr().out


def test_a_server_that_is_not_there_is_told_once_and_nothing_else_accused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("ALAMA_DATABASE", f"postgresql://nobody:s3cret@127.0.0.1:{free_port()}/none")
    assert main(["db", "check"]) == EXIT_UNTOLD
    out, err = capsys.readouterr()
    found = marks(out)
    assert found.pop("database") == UNTOLD
    assert "nothing is broken" not in out
    assert len(found) == 9
    assert set(found.values()) == {UNCHECKED}
    assert out.count("see database") == len(found)
    assert " ".join(out.split()).count("Connection refused") == 1
    assert "see that the database runs and that ALAMA_DATABASE is right" in out
    assert "s3cret" not in out + err


@pytest.mark.parametrize("as_found", [b"", b"of another journal"])
def test_a_file_that_looking_would_change_is_left_alone(
    as_found: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    file = tmp_path / "alama.db"
    file.write_bytes(b"")
    if as_found:
        with closing(pysqlite3.connect(file)) as connection:
            connection.execute("CREATE TABLE some (value)")
    before = file.read_bytes()
    assert main(["db", "check"]) == EXIT_UNTOLD
    assert file.read_bytes() == before
