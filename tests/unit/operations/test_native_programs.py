"""PostgreSQL's own programs: found, fit, and told no secret by their arguments."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from alama.operations import postgresql_backup
from alama.operations.postgresql_backup import native_dump, native_restore
from alama.platform.database.database import parse_address

URL = parse_address("postgresql://alama:s3cret@db.internal:5433/loans?sslmode=verify-full")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of the PATH, and no package of the system."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgresql_backup, "_FOLDERS", ((str(tmp_path), "packages/*/bin"),))
    return tmp_path


def put(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o755)
    return path


def version(major: int) -> str:
    return f"echo 'pg_dump (PostgreSQL) {major}.1 (Debian {major}.1-1)'"


def test_the_one_of_the_servers_version_comes_before_newer_ones(folder: Path) -> None:
    put(folder, "pg_dump", version(18))
    for major in (15, 16, 17):
        put(folder / "packages" / str(major) / "bin", "pg_dump", version(major))
    assert postgresql_backup.find("pg_dump", 16, "").path.parent.parent.name == "16"


def test_of_newer_ones_the_oldest_is_taken(folder: Path) -> None:
    put(folder, "pg_dump", version(18))
    older = put(folder / "packages" / "17" / "bin", "pg_dump", version(17))
    assert postgresql_backup.find("pg_dump", 16, "") == (older, 17)


def test_one_of_a_package_comes_before_what_may_only_choose_one(folder: Path) -> None:
    put(folder, "pg_dump", version(16))
    itself = put(folder / "packages" / "16" / "bin", "pg_dump", version(16))
    assert postgresql_backup.find("pg_dump", 16, "") == (itself, 16)


def test_what_cannot_restore_into_an_older_server_is_not_taken_for_it(folder: Path) -> None:
    put(folder, "pg_restore", version(18))
    with pytest.raises(
        postgresql_backup.ProgramProblem, match="from 17 on it does not restore"
    ) as it:
        postgresql_backup.find("pg_restore", 15, native_restore(URL, Path("file")))
    assert it.value.hint is not None
    assert "postgresql-client-15" in it.value.hint
    older = put(folder / "packages" / "16" / "bin", "pg_restore", version(16))
    assert postgresql_backup.find("pg_restore", 15, "") == (older, 16)
    assert postgresql_backup.find("pg_restore", 17, "") == (folder / "pg_restore", 18)


def test_the_one_on_the_path_is_taken_if_it_is_new_enough(folder: Path) -> None:
    path = put(folder, "pg_dump", version(18))
    assert postgresql_backup.find("pg_dump", 17, "") == (path, 18)


def test_one_that_is_too_old_gives_way_to_one_of_a_package(folder: Path) -> None:
    put(folder, "pg_dump", version(15))
    newer = put(folder / "packages" / "18" / "bin", "pg_dump", version(18))
    assert postgresql_backup.find("pg_dump", 18, "") == (newer, 18)


def test_where_all_are_too_old_the_package_and_the_command_are_named(folder: Path) -> None:
    put(folder, "pg_dump", version(15))
    with pytest.raises(
        postgresql_backup.ProgramProblem, match="is of PostgreSQL 15, and the server"
    ) as it:
        postgresql_backup.find("pg_dump", 18, native_dump(URL, Path("file")))
    assert it.value.hint is not None
    assert "postgresql-client-18" in it.value.hint
    assert "--host=db.internal --port=5433 --username=alama --dbname=loans" in it.value.hint
    assert "s3cret" not in it.value.hint


def test_where_there_is_none_it_is_said_that_it_is_not_installed() -> None:
    with pytest.raises(
        postgresql_backup.ProgramProblem, match=r"pg_restore.* is not installed here"
    ):
        postgresql_backup.find("pg_restore", 18, native_restore(URL, Path("file")))


def test_a_program_connects_by_its_environment_and_gets_none_of_our_settings(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALAMA_PEPPER", "a secret")
    path = put(folder, "pg_dump", 'echo "$PGPASSWORD $PGHOST $PGPORT $PGSSLMODE $ALAMA_PEPPER"')
    said = postgresql_backup.run(
        postgresql_backup.Program(path, 18), ["-v"], postgresql_backup.environment(URL)
    )
    assert said == "s3cret db.internal 5433 verify-full \n"


def test_what_a_program_says_of_rows_is_not_repeated(folder: Path) -> None:
    script = "echo 'pg_restore: error: it broke' >&2; echo 'DETAIL: Key (id)=(7)' >&2; exit 1"
    path = put(folder, "pg_restore", script)
    with pytest.raises(postgresql_backup.ProgramProblem) as it:
        postgresql_backup.run(postgresql_backup.Program(path, 18), [], {})
    assert str(it.value) == "pg_restore has failed: it broke"


def test_a_program_that_was_killed_is_told_as_that(folder: Path) -> None:
    path = put(folder, "pg_dump", "kill -9 $$")
    with pytest.raises(
        postgresql_backup.ProgramProblem, match="pg_dump was ended before it was done"
    ):
        postgresql_backup.run(postgresql_backup.Program(path, 18), [], {})


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            'COPY failed for table "scores": ERROR:  invalid input syntax for type integer: "0712"',
            'COPY failed for table "scores": ERROR:  invalid input syntax for type integer',
        ),
        (
            'ERROR:  invalid input syntax for type json: "{"a": "b"}"',
            "ERROR:  invalid input syntax for type json",
        ),
        ('ERROR:  value "0712" is out of range', "ERROR:  value"),
        (
            'ERROR:  unrecognized configuration parameter "transaction_timeout"',
            'ERROR:  unrecognized configuration parameter "transaction_timeout"',
        ),
        (
            'connection to server at "::1", port 1 failed: FATAL:  no user "a"',
            'connection to server at "::1", port 1 failed: FATAL:  no user "a"',
        ),
    ],
)
def test_a_value_that_a_program_quotes_is_not_repeated(folder: Path, said: str, told: str) -> None:
    path = put(folder, "pg_restore", f"echo 'pg_restore: error: {said}' >&2; exit 1")
    with pytest.raises(postgresql_backup.ProgramProblem) as it:
        postgresql_backup.run(postgresql_backup.Program(path, 18), [], {})
    assert str(it.value) == f"pg_restore has failed: {told}"


def test_what_a_program_cannot_be_told_in_secret_is_refused_and_not_left_out() -> None:
    url = parse_address("postgresql://alama@db.internal/loans?sslpassword=s3cret&keepalives=1")
    with pytest.raises(
        postgresql_backup.ProgramProblem, match="ALAMA_DATABASE has sslpassword,"
    ) as it:
        postgresql_backup.environment(url)
    assert "s3cret" not in f"{it.value} {it.value.hint}"


def test_a_program_does_not_outlive_what_ends_us(folder: Path) -> None:
    path = put(folder, "pg_dump", f"echo $$ >{folder}/pid; exec /bin/sleep 600")

    def interrupt() -> None:
        if (folder / "pid").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        postgresql_backup.run(postgresql_backup.Program(path, 18), [], {}, interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int((folder / "pid").read_text()), 0)


def test_a_program_is_not_run_in_a_folder_that_its_user_may_not_enter(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(folder, "pg_restore", 'pwd; echo "$1"')
    (folder / "closed").mkdir()
    monkeypatch.chdir(folder / "closed")
    here = folder / "closed"
    shown = postgresql_backup.run(postgresql_backup.Program(path, 18), [Path("file")], {})
    assert shown.split() == [str(here), str(here / "file")]
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may enter all of them
    shown = postgresql_backup.run(postgresql_backup.Program(path, 18), [Path("file")], {})
    assert shown.split() == ["/", str(here / "file")]


def test_what_a_program_says_of_its_folder_is_not_what_is_wrong(folder: Path) -> None:
    away = 'could not change directory to "/root": Permission denied'
    script = f"echo '{away}' >&2; echo 'Error: no cluster' >&2; exit 1"
    path = put(folder, "pg_dump", script)
    with pytest.raises(postgresql_backup.ProgramProblem) as it:
        postgresql_backup.run(postgresql_backup.Program(path, 18), [], {})
    assert str(it.value) == "pg_dump has failed: Error: no cluster"
