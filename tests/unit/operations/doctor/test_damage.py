"""The doctor on a SQLite file that is not as Alama leaves it: told, and left as it is."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from alama.core import document
from alama.core.lending import draft
from alama.lenders import keys
from alama.operations.doctor.patient import said
from alama.platform.book import Book, Mode
from alama.platform.database import database as databases
from alama.platform.database.sqlite_driver import pysqlite3
from alama.platform.files.packaged import builtin
from alama.scoring.directory import Directory
from alama.scoring.store import Scores
from tests.clocks import HandClock
from tests.factories import a_model
from tests.unit.operations.patients import BROKEN, LOOK, OK, UNCHECKED, looked_at, opened, run_sql

NOW_US = 1_800_000_000_000_000
PHONE = "0712345678"


def switched(home: Path) -> Path:
    """The file, after a program that likes another journal."""
    file = home / "alama.db"
    with closing(pysqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    return file


def test_a_file_that_another_program_has_switched_is_told_and_not_switched_back(
    home: Path,
) -> None:
    file = switched(home)
    before = file.read_bytes()
    found = looked_at(home)
    assert found["database.durable"].mark is LOOK
    assert "alama db check" in str(found["database.durable"].todo)
    assert found["database.reachable"].mark is UNCHECKED
    assert found["database.schema"].mark is UNCHECKED
    assert found["secrets.pepper"].mark is UNCHECKED
    assert file.read_bytes() == before
    assert sorted(one.name for one in home.iterdir()) == ["alama.db", "master-key", "pepper"]


def test_an_empty_file_is_told_and_stays_empty(tmp_path: Path) -> None:
    file = tmp_path / "alama.db"
    file.touch(0o600)
    found = looked_at(tmp_path)
    assert found["database.reachable"].mark is BROKEN
    assert found["database.reachable"].seen == f"{file} is empty"
    assert found["database.writable"].mark is UNCHECKED
    assert found["database.durable"].mark is UNCHECKED
    assert [(one.name, one.stat().st_size) for one in tmp_path.iterdir()] == [("alama.db", 0)]


def test_of_a_database_without_tables_nothing_is_said_that_was_not_tried(tmp_path: Path) -> None:
    with closing(databases.connect(f"sqlite:///{tmp_path}/alama.db")) as database:
        run_sql(database, "CREATE TABLE something (else_ INTEGER)")
    found = looked_at(tmp_path)
    assert found["database.schema"].mark is BROKEN
    assert found["database.writable"].mark is UNCHECKED


@pytest.mark.parametrize(
    "harm", [f"scopes = '{PHONE}'", f"mode = '{PHONE}'", f"created_us = '{PHONE}x'"]
)
def test_a_damaged_row_is_told_by_its_kind_and_hides_nothing(home: Path, harm: str) -> None:
    with opened(home) as installed:
        keys.issue(installed.registry, HandClock(NOW_US), installed.pepper, Book("demo", Mode.TEST))
        run_sql(installed.database, "PRAGMA ignore_check_constraints = ON")
        run_sql(installed.database, f"UPDATE keys SET {harm}")  # noqa: S608  ours
    found = looked_at(home)
    wrong = [one for one in found.values() if one.mark is BROKEN]
    assert len(wrong) == 1
    assert wrong[0].check in {"secrets.expiring", "secrets.unused"}
    assert "cannot be told" in wrong[0].seen
    assert "alama db check" in str(wrong[0].todo)
    assert PHONE not in str(found)
    assert found["model.books"].mark is OK


# -------------------------------------------------------------------------------- documents

BOOK = Book("demo", Mode.TEST)
DAMAGES = [b"\0", document.encode(a_model(name="another"))]


@pytest.mark.parametrize("damage", DAMAGES, ids=range(len(DAMAGES)))
def test_a_model_in_force_that_is_not_what_its_id_says_is_broken(home: Path, damage: bytes) -> None:
    model = a_model()
    with opened(home) as installed:
        installed.registry.keep_model(model.id, document.encode(model), NOW_US)
        installed.registry.deploy(BOOK, model.id, None, NOW_US)
    assert looked_at(home)["model.books"].mark is OK
    with opened(home) as installed:
        installed.registry.keep_model(model.id, damage, NOW_US)
    one = looked_at(home)["model.books"]
    assert one.mark is BROKEN
    assert model.id in one.seen
    assert "demo (test)" in one.seen
    assert "restore it from a backup" in str(one.todo)


@pytest.mark.parametrize("kind", ["model", "policy"])
def test_a_damaged_copy_of_what_the_package_brings_is_broken_until_the_next_start(
    home: Path, kind: str
) -> None:
    with opened(home) as installed:
        if kind == "model":
            installed.registry.keep_model(builtin().id, b"\0", NOW_US)
        else:
            policy_id = draft.default_policy("KES").id
            installed.registry.keep_policy(policy_id, draft.default_text("UGX"), NOW_US)
    one = looked_at(home)["model.books"]
    assert one.mark is BROKEN
    assert f"the stored {kind}" in one.seen
    assert "start the service again" in str(one.todo)
    with opened(home) as installed:
        directory = Directory(
            installed.registry,
            Scores.at(installed),
            HandClock(NOW_US),
            lambda: NOW_US,
            installed.pepper,
            builtin,
            installed.vault,
        )
        assert directory.warm() == []
    assert looked_at(home)["model.books"].mark is OK


def test_an_error_of_the_system_without_a_file_is_told_without_one() -> None:
    assert said(OSError(28, "No space left on device")) == "No space left on device"
    assert said(OSError(28, "No space left on device", "/x")) == "/x: No space left on device"
    assert said(TimeoutError()) == "TimeoutError"
    assert PHONE not in said(ValueError(PHONE))


# -------------------------------------------------------------------------------- modes of files


@pytest.fixture
def everybodys(home: Path) -> Iterator[Path]:
    """The home folder where everybody can go."""
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        yield Path(shutil.copytree(home, folder / "home"))
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["pepper", "master-key", "alama.db"])
def test_a_file_that_everyone_can_read_is_broken(everybodys: Path, name: str) -> None:
    everybodys.chmod(0o755)
    file = everybodys / name
    file.chmod(0o644)
    one = looked_at(everybodys)["secrets.files"]
    assert one.seen == f"everyone on this machine can read {file}"
    assert (one.mark, one.todo) == (BROKEN, f"`chmod 600 {file}`")


def test_below_a_closed_folder_nobody_else_reads_and_a_secret_is_refused_all_the_same(
    everybodys: Path,
) -> None:
    everybodys.chmod(0o700)
    (everybodys / "alama.db").chmod(0o644)
    assert looked_at(everybodys)["secrets.files"].mark is OK
    (everybodys / "pepper").chmod(0o644)
    one = looked_at(everybodys)["secrets.files"]
    assert one.mark is BROKEN
    assert "everyone on this machine" not in one.seen
    assert "refused" in one.seen


@pytest.mark.parametrize("name", ["pepper", "master-key", "old-key", "address"])
def test_one_open_file_is_told_once(home: Path, name: str) -> None:
    more = {}
    if name == "old-key":
        (home / name).write_text("07" * 32)
        more = {"ALAMA_MASTER_KEY_OLD_FILE": str(home / name)}
    if name == "address":
        (home / name).write_text(f"sqlite:///{home}/alama.db")
        more = {"ALAMA_DATABASE_FILE": str(home / name)}
    (home / name).chmod(0o644)
    found = looked_at(home, **more)
    assert [one.check for one in found.values() if one.mark is BROKEN] == ["secrets.files"]
