from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import make_url, text

from alama import __version__
from alama.app.cli import EXIT_MISTAKE, main
from alama.platform.database import migrate, tables
from alama.platform.database.database import connect
from alama.platform.database.migrate import note_served
from tests.databases import Postgres
from tests.later_versions import Next, become_later, numbered
from tests.reliability.processes import wait_until

THIS, NEXT, AFTER_NEXT = tables.HEAD, numbered(1), numbered(2)
ADDS = Next(NEXT, THIS, 'op.add_column("facts", sa.Column("note", sa.Text()))')
TAKEN_AWAY = (
    f"{AFTER_NEXT} takes away what versions before schema {NEXT} use: "
    "while one is connected, the upgrade is refused."
)
TAKES_AWAY = Next(AFTER_NEXT, NEXT, 'op.drop_column("facts", "note")')


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def address(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ALAMA_DATABASE", database_url)
    return database_url


def stand_at(address: str, version: str, serves: str) -> None:
    database = connect(address)
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :v"), {"v": version})
        note_served(connection, serves)
    database.close()


def test_an_empty_database_is_prepared_and_the_next_step_named(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["db", "upgrade"]) == 0
    out, err = capsys.readouterr()
    assert out == f"The database was empty; now it stands at schema {tables.HEAD}.\n"
    assert err == "Next: alama lenders add ID --name NAME --currency CODE\n"
    database = connect(address)
    assert migrate.current(database) == tables.HEAD
    database.close()


@pytest.mark.usefixtures("address")
def test_a_second_upgrade_has_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    main(["db", "upgrade"])
    capsys.readouterr()
    assert main(["db", "upgrade"]) == 0
    out, err = capsys.readouterr()
    assert out == f"The database stands at schema {tables.HEAD} already: nothing to do.\n"
    assert err == ""


def test_a_database_of_a_newer_version_is_left_alone(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["db", "upgrade"])
    stand_at(address, "9999", serves="9999")
    assert main(["db", "upgrade"]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert f"stands at schema 9999, this version of Alama knows {tables.HEAD}" in err
    assert "hint: run the version of Alama that upgraded it, or a newer one" in err


@pytest.mark.parametrize("command", [["db", "upgrade"], ["db", "upgrade", "--plan"], ["serve"]])
def test_a_database_that_was_never_released_is_refused_with_the_way_out(
    address: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["db", "upgrade"])
    stand_at(address, "0007", serves="0007")
    assert main(command) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "stands at schema 0007, which was never released and cannot be upgraded" in err
    assert "hint: start anew: move it away, or set ALAMA_DATABASE or ALAMA_HOME" in err


def test_an_address_that_is_none_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_DATABASE", "mysql://me:s3cret@host/alama")
    assert main(["db", "upgrade"]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "ALAMA_DATABASE is not an address" in err
    assert "s3cret" not in err


# ----------------------------------------------------------------------- the plan


def plan_said(capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["db", "upgrade", "--plan"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_the_plan_of_an_empty_database_makes_nothing(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = plan_said(capsys)
    assert said == f"The database is empty; an upgrade makes it, at schema {tables.HEAD}.\n"
    with closing(connect(address)) as database:
        assert migrate.current(database) is None


@pytest.mark.usefixtures("address")
def test_the_plan_has_nothing_to_do_after_an_upgrade(capsys: pytest.CaptureFixture[str]) -> None:
    main(["db", "upgrade"])
    said = plan_said(capsys)
    assert said == f"The database stands at schema {tables.HEAD} already: nothing to do.\n"


def test_a_newer_schema_that_serves_this_version_is_nothing_to_do(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["db", "upgrade"])
    stand_at(address, "9999", serves=tables.HEAD)
    assert plan_said(capsys) == (
        f"The database stands at schema 9999, newer than the {tables.HEAD} of this version, which "
        "it still serves: nothing to do.\n"
    )
    assert main(["db", "upgrade"]) == 0


@pytest.mark.usefixtures("address")
def test_the_plan_says_that_the_running_version_can_go_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    main(["db", "upgrade"])
    become_later(monkeypatch, tmp_path, ADDS)
    assert plan_said(capsys) == (
        f"The database stands at schema {THIS}; an upgrade brings it to {NEXT}:\n"
        f"  {NEXT}  A step of a version to come.\n"
        f"The version that serves schema {THIS} can go on serving meanwhile.\n"
    )


def test_a_role_without_rights_is_told_whose_right_it_is(
    postgres: Postgres, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres.fresh() as url, closing(connect(url)) as owner:
        migrate.upgrade(owner)
        with owner.writing() as connection:
            connection.execute(text("CREATE ROLE stranger LOGIN PASSWORD 's'"))
        try:
            place = make_url(url).set(username="stranger", password="s")  # noqa: S106  its own
            monkeypatch.setenv("ALAMA_DATABASE", place.render_as_string(hide_password=False))
            assert main(["db", "upgrade"]) == EXIT_MISTAKE
            err = capsys.readouterr().err
            assert "permission denied for table alembic_version" in err
            assert "hint: an upgrade has to run as the role that owns the tables" in err
        finally:
            with owner.writing() as connection:
                connection.execute(text("DROP ROLE stranger"))


def test_the_plan_says_who_has_to_stop_first(
    postgres: Postgres,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    with postgres.fresh() as url, closing(connect(url)) as older:
        monkeypatch.setenv("ALAMA_DATABASE", url)
        migrate.upgrade(older)
        become_later(monkeypatch, tmp_path, ADDS, TAKES_AWAY)
        lines = plan_said(capsys).splitlines()
        assert lines[3:] == [
            TAKEN_AWAY,
            "Connected now:",
            f"  {__version__} with schema {THIS} from 127.0.0.1 (1 session)",
        ]
        older.close()
        wait_until(lambda: "None is connected" in plan_said(capsys), within_s=60, what="closed")
        assert main(["db", "upgrade"]) == 0


def test_the_plan_of_a_file_says_what_nobody_can_see(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    main(["db", "upgrade"])
    become_later(monkeypatch, tmp_path, ADDS, TAKES_AWAY)
    last = plan_said(capsys).splitlines()[-1]
    assert last == f"Stop everything first that is older than a version with schema {NEXT}."
