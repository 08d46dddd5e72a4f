"""The doctor on this machine: each fault that is planted is found, with what to do about it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from alama.core.errors import InvalidModel
from alama.lenders import keys
from alama.lenders import records as lenders_records
from alama.lenders.keys import US_PER_DAY
from alama.operations import diagnosis
from alama.operations.doctor import check_clock, check_disk, check_model, check_secrets
from alama.operations.doctor.findings import CHECKS, GROUPS, size
from alama.platform.book import Book, Mode, Scope
from alama.platform.database import database, migrate, tables
from alama.platform.files.packaged import builtin, sample_application
from alama.platform.settings import Settings
from alama.protection.rotation import Rotation
from tests.clocks import HandClock
from tests.later_versions import Next, become_later, numbered
from tests.unit.operations.patients import (
    BROKEN,
    LOOK,
    OK,
    UNCHECKED,
    by_check,
    looked_at,
    opened,
    run_sql,
)

NOW_US = 1_800_000_000_000_000


def test_an_installation_that_is_well_has_nothing_broken_and_one_line_for_each_check(
    home: Path,
) -> None:
    found = looked_at(home)
    assert list(found) == list(CHECKS)
    assert [one for one in found.values() if one.mark is BROKEN] == []
    for one in found.values():
        assert one.group in GROUPS
        assert (one.todo is None) == (one.mark is OK) or one.mark is UNCHECKED


def test_nothing_is_made_or_changed(home: Path, tmp_path: Path) -> None:
    before = {file: file.read_bytes() for file in home.rglob("*") if "-shm" not in file.name}
    looked_at(home)
    looked_at(tmp_path / "nowhere")
    after = {file: file.read_bytes() for file in home.rglob("*") if "-shm" not in file.name}
    for file in after.keys() - before.keys():
        assert file.name.endswith("-wal")
        assert after[file] == b""
    assert {file: after[file] for file in before} == before
    assert not (tmp_path / "nowhere").exists()


def test_without_a_database_all_else_is_looked_at(tmp_path: Path) -> None:
    found = looked_at(tmp_path)
    assert found["database.reachable"].mark is BROKEN
    assert "alama serve" in str(found["database.reachable"].todo)
    assert found["database.latency"].mark is UNCHECKED
    assert found["model.builtin"].mark is OK
    assert found["disk.home"].mark is OK


# -------------------------------------------------------------------------------- settings


def test_every_wrong_setting_is_told_and_the_others_are_gone_by(home: Path) -> None:
    found = looked_at(home, ALAMA_PROT="80", ALAMA_LOG="xml", ALAMA_WORKERS="1")
    variables = found["settings.variables"]
    assert variables.mark is BROKEN
    assert "ALAMA_PROT" in variables.seen
    assert "ALAMA_LOG" in variables.seen
    assert "did you mean ALAMA_PORT?" in str(variables.todo)
    assert found["database.schema"].mark is OK


def test_a_secret_that_is_given_twice_is_told_and_the_file_is_gone_by(
    home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "address"
    file.touch(0o600)
    file.write_text(f"sqlite:///{home}/alama.db")
    found = looked_at(home, ALAMA_DATABASE="sqlite:////nowhere.db", ALAMA_DATABASE_FILE=str(file))
    assert found["settings.variables"].mark is BROKEN
    assert found["database.reachable"].mark is OK
    both = looked_at(
        home, ALAMA_DATABASE="sqlite:////x.db", ALAMA_DATABASE_FILE=str(file), ALAMA_LOG="xml"
    )
    assert both["settings.variables"].mark is BROKEN


@pytest.mark.parametrize(
    ("check", "variables", "mark", "todo"),
    [
        ("settings.development", {"ALAMA_DEVELOPMENT": "yes"}, LOOK, "ALAMA_DEVELOPMENT"),
        (
            "settings.development",
            {"ALAMA_DEVELOPMENT": "yes", "ALAMA_HOST": "10.0.0.5"},
            BROKEN,
            "ALAMA_DEVELOPMENT",
        ),
        ("settings.workers", {"ALAMA_WORKERS": "256"}, LOOK, "take turns"),
        ("settings.listening", {"ALAMA_HOST": "10.0.0.5"}, LOOK, "firewall"),
        (
            "settings.metrics",
            {"ALAMA_HOST": "10.0.0.5", "ALAMA_METRICS_PORT": "9464"},
            LOOK,
            "Prometheus",
        ),
        ("settings.stopping", {"ALAMA_STOP_TIMEOUT": "2"}, LOOK, "ALAMA_STOP_TIMEOUT=10"),
        ("settings.stopping", {"ALAMA_STOP_TIMEOUT": "90"}, LOOK, "TimeoutStopSec"),
    ],
)
def test_settings_that_one_would_not_run_are_told(
    check: str, variables: dict[str, str], mark: str, todo: str, home: Path
) -> None:
    one = looked_at(home, **variables)[check]
    assert one.mark == mark
    assert todo in str(one.todo)


def test_traces_that_keep_the_service_from_starting_are_broken(home: Path) -> None:
    assert looked_at(home)["settings.traces"].mark is UNCHECKED
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
    assert looked_at(home, **named)["settings.traces"].mark is OK
    one = looked_at(home, **named, OTEL_EXPORTER_OTLP_PROTOCOL="grpc")["settings.traces"]
    assert one.mark is BROKEN
    assert "OTEL_EXPORTER_OTLP_PROTOCOL" in str(one.todo)


def test_an_address_in_a_file_that_is_none_names_the_variable_of_the_file(
    home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "address"
    file.touch(0o600)
    file.write_text("mysql://s3cret@db/alama")
    one = looked_at(home, ALAMA_DATABASE_FILE=str(file))["database.reachable"]
    assert one.mark is BROKEN
    assert "ALAMA_DATABASE_FILE" in one.seen
    assert "s3cret" not in f"{one.seen} {one.todo}"
    file.write_text(f"sqlite:///{tmp_path}/none.db")
    todo = looked_at(home, ALAMA_DATABASE_FILE=str(file))["database.reachable"].todo
    assert "the file that ALAMA_DATABASE_FILE names" in str(todo)


def test_metrics_on_this_machine_alone_are_well(home: Path) -> None:
    assert looked_at(home, ALAMA_METRICS_PORT="9464")["settings.metrics"].mark is OK
    localhost = looked_at(home, ALAMA_METRICS_PORT="9464", ALAMA_HOST="localhost")
    assert localhost["settings.metrics"].mark is OK


def test_several_workers_on_a_sqlite_that_could_corrupt_the_file_are_broken(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "SQLITE_SAFE_FOR_MANY", (99,))
    assert looked_at(home, ALAMA_WORKERS="2")["settings.workers"].mark is BROKEN


@pytest.mark.parametrize(("uid", "mark"), [(0, LOOK), (10_001, OK)])
def test_root_is_too_much_of_a_user(
    uid: int, mark: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alama.operations.doctor.check_settings.os.geteuid", lambda: uid)
    assert looked_at(home)["settings.user"].mark == mark


def test_a_home_that_others_can_write_is_broken(home: Path) -> None:
    home.chmod(0o777)
    one = looked_at(home)["settings.home"]
    assert (one.mark, one.todo) == (BROKEN, f"`chmod 700 {home}`")


def test_whoever_looks_at_the_installation_of_another_user_is_told_so(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alama.operations.doctor.check_settings.os.geteuid", lambda: 10_001)
    one = looked_at(home)["settings.home"]
    assert one.mark is LOOK
    assert "this runs as user 10001" in one.seen


def test_a_secret_that_only_another_user_can_read_is_not_said_to_be_lost(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", closed)
    one = check_secrets._pepper(Settings(home=str(home)), None)
    assert one.mark is BROKEN
    assert "run this as the user who runs the service" in str(one.todo)


def test_a_home_that_is_not_needed_may_be_missing(home: Path, tmp_path: Path) -> None:
    variables = {
        "ALAMA_DATABASE": f"sqlite:///{home}/alama.db",
        "ALAMA_PEPPER_FILE": str(home / "pepper"),
        "ALAMA_MASTER_KEY_FILE": str(home / "master-key"),
    }
    found = looked_at(tmp_path / "nowhere", **variables)
    assert found["settings.home"].mark is OK
    kept = {"ALAMA_DATABASE": variables["ALAMA_DATABASE"]}
    assert looked_at(tmp_path / "nowhere", **kept)["settings.home"].mark is BROKEN
    # Without a database that is elsewhere, that there is none is told once.
    fresh = looked_at(tmp_path / "nowhere")
    assert [one.check for one in fresh.values() if one.mark is BROKEN] == ["database.reachable"]


def test_a_home_that_holds_nothing_may_be_open_to_its_group(home: Path, tmp_path: Path) -> None:
    variables = {
        "ALAMA_DATABASE": f"sqlite:///{home}/alama.db",
        "ALAMA_PEPPER_FILE": str(home / "pepper"),
        "ALAMA_MASTER_KEY_FILE": str(home / "master-key"),
    }
    empty = tmp_path / "volume"
    empty.mkdir()
    empty.chmod(0o2777)
    assert looked_at(empty, **variables)["settings.home"].mark is OK


# -------------------------------------------------------------------------------- the file


def test_an_older_schema_is_brought_up_to_date_by_the_next_start(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    step = Next(numbered(1), tables.HEAD, "pass")
    become_later(monkeypatch, tmp_path_factory.mktemp("later"), step)
    found = looked_at(home)
    assert found["database.schema"].mark is LOOK
    assert found["secrets.expiring"].mark is UNCHECKED


@pytest.mark.parametrize(
    ("version", "way_out"), [("0007", "start anew: move it away"), ("9999", "or a newer one")]
)
def test_a_schema_that_cannot_be_served_is_broken(home: Path, version: str, way_out: str) -> None:
    with opened(home) as installed:
        run_sql(installed.database, "UPDATE alembic_version SET version_num = :v", v=version)
        run_sql(installed.database, "DELETE FROM facts WHERE name = :n", n=migrate.SERVES_FACT)
    found = looked_at(home)["database.schema"]
    assert found.mark is BROKEN
    assert way_out in str(found)


def test_a_newer_schema_that_serves_this_version_is_to_be_looked_at(home: Path) -> None:
    with opened(home) as installed:
        run_sql(installed.database, "UPDATE alembic_version SET version_num = '9999'")
        with installed.database.writing() as connection:
            migrate.note_served(connection, tables.HEAD)
    found = looked_at(home)
    assert found["database.schema"].mark is LOOK
    assert "9999, of a newer version" in found["database.schema"].seen
    assert found["database.writable"].mark is OK


def test_a_file_that_is_no_database_is_broken(home: Path) -> None:
    (home / "alama.db").write_bytes(b"not a database at all" * 1_000)
    for companion in home.glob("alama.db-*"):
        companion.unlink()
    found = looked_at(home)
    assert found["database.reachable"].mark is BROKEN
    assert "not a database" in found["database.reachable"].seen


def test_a_file_on_a_disk_of_another_machine_is_broken(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "file_system", lambda _: "nfs4")
    assert looked_at(home)["database.place"].mark is BROKEN


# -------------------------------------------------------------------------------- clock and disk


@pytest.mark.parametrize(
    ("ahead_us", "uncertain_us", "mark", "seen"),
    [
        (900_000, 0, OK, "less than a second"),
        (-5_000_000, 1_000, LOOK, "5 s ahead of"),
        (1_400_000, 500_000, OK, "less than a second"),
        (31_000_000, 0, BROKEN, "31 s behind"),
        (-31_000_000, 0, BROKEN, "31 s ahead of"),
    ],
)
def test_clocks_that_go_apart_are_told(
    ahead_us: int, uncertain_us: int, mark: str, seen: str
) -> None:
    one = check_clock.compared("clock.database", ahead_us, uncertain_us, "the database")
    assert one.mark == mark
    assert seen in one.seen


@pytest.mark.parametrize(
    ("state", "mark"), [(0, OK), (5, LOOK), (-1, UNCHECKED), (None, UNCHECKED)]
)
def test_the_kernel_says_whether_anybody_sets_the_clock(state: int | None, mark: str) -> None:
    assert check_clock.kernel(state).mark == mark


@pytest.mark.parametrize(
    ("free", "mark"), [(10**8, BROKEN), (10**9, LOOK), (5 * 10**9, LOOK), (10**11, OK)]
)
def test_a_disk_that_fills_up_is_told_before_it_is_full(free: int, mark: str) -> None:
    room = check_disk.Room(total=10**11 * 2, free=free)
    one = check_disk.judged("disk.database", room, (10**9, 1_000_000))
    assert one.mark == mark
    assert "room for up to" in one.seen


def test_a_folder_that_cannot_be_written_is_broken(home: Path) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("alama.operations.doctor.check_disk.tempfile.TemporaryFile", full)
        found = looked_at(home)
    assert found["disk.home"].mark is BROKEN
    assert found["disk.database"].mark is BROKEN
    assert "No space left" in found["disk.home"].seen


@pytest.mark.parametrize(
    ("count", "shown"),
    [(12, "12 bytes"), (1_500, "2 kB"), (3 * 10**6, "3 MB"), (2 * 10**9, "2.0 GB")],
)
def test_sizes_are_shown_as_people_read_them(count: int, shown: str) -> None:
    assert size(count) == shown
    assert size(3 * 10**12) == "3.0 TB"


# -------------------------------------------------------------------------------- secrets


def test_secrets_in_the_environment_are_to_be_looked_at_and_not_shown(home: Path) -> None:
    found = looked_at(home, ALAMA_PEPPER="s3cret" * 8, ALAMA_MASTER_KEY="5e" * 32)
    assert found["secrets.environment"].mark is LOOK
    assert "ALAMA_PEPPER_FILE" in str(found["secrets.environment"].todo)
    told = json.dumps([[one.seen, one.todo] for one in found.values()])
    assert "s3cret" not in told
    assert "5e5e" not in told


def test_another_pepper_or_none_is_broken(home: Path) -> None:
    assert looked_at(home, ALAMA_PEPPER="x" * 40)["secrets.pepper"].mark is BROKEN
    assert looked_at(home, ALAMA_PEPPER="short")["secrets.pepper"].mark is BROKEN
    (home / "pepper").unlink()
    one = looked_at(home)["secrets.pepper"]
    assert one.mark is BROKEN
    assert "is gone" in one.seen
    assert not (home / "pepper").exists()


def test_another_master_key_or_none_is_broken_and_its_vault_is_not_accused(home: Path) -> None:
    with opened(home) as installed:
        installed.vault.ring("demo")
    another = looked_at(home, ALAMA_MASTER_KEY="07" * 32)
    short = looked_at(home, ALAMA_MASTER_KEY="short")
    (home / "master-key").unlink()
    for found in (another, short, looked_at(home)):
        assert found["secrets.master_key"].mark is BROKEN
        for shut in ("secrets.vault", "secrets.old_master_key"):
            assert (found[shut].mark, found[shut].seen) == (UNCHECKED, "see master key")
        assert "vault_keys" not in str(found)
    assert not (home / "master-key").exists()


def test_a_damaged_key_of_the_vault_is_named(home: Path) -> None:
    with opened(home) as installed:
        installed.vault.ring("demo")
        run_sql(installed.database, "UPDATE vault_keys SET wrapped = x'00' WHERE purpose = 'seal'")
    one = looked_at(home)["secrets.vault"]
    assert one.mark is BROKEN
    assert "1 key of 3 cannot be opened: vk_" in one.seen


def test_an_old_master_key_is_wanted_while_it_is_rotated_and_not_after(home: Path) -> None:
    old = (home / "master-key").read_text()
    new = {"ALAMA_MASTER_KEY": "07" * 32, "ALAMA_MASTER_KEY_OLD": old}
    during = looked_at(home, **new)
    assert during["secrets.master_key"].mark is OK
    assert during["secrets.vault"].mark is OK
    assert "alama vault rotate master" in str(during["secrets.old_master_key"].todo)
    with opened(home, **new) as installed:
        Rotation.at(installed).master(None)
    after = looked_at(home, **new)["secrets.old_master_key"]
    assert after.mark is LOOK
    assert "leave ALAMA_MASTER_KEY_OLD out" in str(after.todo)


def a_key(**more: object) -> lenders_records.Key:
    _, key = keys.make(NOW_US, b"p" * 32, Book("demo", Mode.LIVE))
    return lenders_records.Key(
        **{**{name: getattr(key, name) for name in key.__struct_fields__}, **more}
    )


def test_keys_that_expire_lie_idle_or_can_do_too_much_are_named() -> None:
    soon = a_key(expires_us=NOW_US + 10 * US_PER_DAY)
    idle = a_key(created_us=NOW_US - 31 * US_PER_DAY)
    wide = a_key(scopes=(Scope.WRITE, Scope.PILOT_WRITE))
    gone = a_key(expires_us=NOW_US - 1, created_us=NOW_US - 60 * US_PER_DAY)
    well = by_check(check_secrets.judged_keys([a_key(), gone], NOW_US))
    assert {one.mark for one in well.values()} == {OK}
    none = by_check(check_secrets.judged_keys([], NOW_US))
    assert {one.mark for one in none.values()} == {UNCHECKED}
    found = by_check(check_secrets.judged_keys([a_key(), soon, idle, wide, gone], NOW_US))
    assert f"alama keys rotate {soon.id}" in str(found["secrets.expiring"].todo)
    assert f"alama keys revoke {idle.id}" in str(found["secrets.unused"].todo)
    assert wide.id in found["secrets.wide"].seen
    assert {one.mark for one in found.values()} == {LOOK}


def test_a_row_that_cannot_be_read_is_told_by_the_check_that_met_it(home: Path) -> None:
    with opened(home) as installed:
        keys.issue(installed.registry, HandClock(NOW_US), installed.pepper, Book("demo", Mode.TEST))
        run_sql(installed.database, "DROP TABLE webhook_endpoints")
    one = looked_at(home)["webhooks.endpoints"]
    assert one.mark is BROKEN
    assert "webhook_endpoints" in one.seen


# -------------------------------------------------------------------------------- models


def test_a_package_whose_model_is_damaged_is_broken() -> None:
    def damaged() -> object:
        raise InvalidModel("this is no model")

    one = check_model.check_package(damaged, sample_application)  # type: ignore[arg-type]
    assert (one.mark, one.seen) == (BROKEN, "this is no model")
    assert check_model.check_package(builtin, lambda: b"[]").mark is BROKEN
    assert check_model.check_package(builtin, sample_application).mark is OK


def test_a_lender_whose_model_cannot_be_used_is_named(home: Path) -> None:
    with opened(home) as installed:
        installed.registry.keep_model("mdl_damaged", b"{}", NOW_US)
        installed.registry.deploy(Book("demo", Mode.TEST), "mdl_damaged", None, NOW_US)
    one = looked_at(home)["model.books"]
    assert one.mark is BROKEN
    assert "demo (test)" in one.seen


def test_where_this_machine_does_not_say_what_its_disks_are_nothing_is_assumed() -> None:
    mounts = "/dev/sda / ext4 rw 0 0\nfiler:/x /mnt/the\\040filer nfs4 rw 0 0\n"
    assert diagnosis.file_system(Path("/mnt/the filer/alama.db"), mounts) == "nfs4"
    assert diagnosis.file_system(Path("/mnt/alama.db"), mounts) == "ext4"
    assert diagnosis.file_system(Path("/mnt/alama.db"), "") is None
    assert os.sep == "/"
