"""An installation is opened by whoever comes first, and by everyone else alike."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from alama.app import serving
from alama.core import document
from alama.core.chain import MAIN
from alama.lenders import installation, keys, secrets
from alama.platform import clock, settings
from alama.platform.acts import ActKind
from alama.platform.addresses import DEVELOPMENT
from alama.platform.book import Book, Mode
from alama.platform.errors import StoreUnfit
from alama.platform.files.packaged import builtin
from alama.platform.settings import InvalidSetting, Settings
from alama.platform.telemetry.log import JsonLines, Log
from alama.protection.audit.store import Trail, newest_first
from alama.protection.rotation import Rotation
from alama.scoring.group_commit import GroupCommit
from alama.scoring.store import Scores
from alama.scoring.telemetry import ServiceWatch
from alama.webhooks.endpoints import Endpoints, NewEndpoint
from alama.webhooks.outbox import Outbox
from alama.webhooks.records import DisabledReason
from tests.databases import Postgres
from tests.webhooked import failed


def chosen(home: Path, **variables: str) -> Settings:
    return settings.read({"ALAMA_HOME": str(home), **variables})


def test_a_new_installation_can_be_used_at_once(tmp_path: Path) -> None:
    installed = installation.open_installation(chosen(tmp_path / "home"))
    (lender,) = installed.registry.lenders()
    assert (lender.id, lender.currency) == (keys.DEMO, "KES")
    installed.close()


def test_the_stopwatch_goes_on_though_the_clock_is_set_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock_us, stopwatch_us = clock.wall_us(), clock.stopwatch_us()
    monkeypatch.setattr("alama.platform.clock.time.time_ns", lambda: 0)
    assert clock.wall_us() < clock_us
    assert clock.stopwatch_us() >= stopwatch_us


def test_a_damaged_copy_of_what_the_package_brings_is_told_before_it_is_kept_anew(
    tmp_path: Path,
) -> None:
    installed = installation.open_installation(chosen(tmp_path))
    installed.registry.keep_model(builtin().id, b"\0", clock.wall_us())
    with (tmp_path / "log").open("wb") as file:
        watch = ServiceWatch(Log(JsonLines(), file.fileno()))
        ledger = GroupCommit(Scores.at(installed), watch.committed)
        serving.assemble(chosen(tmp_path), installed, Scores.at(installed), ledger, watch)
    kept = installed.registry.model(builtin().id)
    installed.close()
    told = json.loads((tmp_path / "log").read_text("utf-8"))
    assert (told["event"], builtin().id in told["message"]) == ("copy_damaged", True)
    assert kept == document.encode(builtin())


def test_a_model_that_cannot_be_used_is_told_at_the_start_and_stops_nobody(tmp_path: Path) -> None:
    installed = installation.open_installation(chosen(tmp_path))
    installed.registry.keep_model("sha256:damaged", b"{}", clock.wall_us())
    installed.registry.deploy(Book("demo", Mode.LIVE), "sha256:damaged", None, clock.wall_us())
    with (tmp_path / "log").open("wb") as file:
        watch = ServiceWatch(Log(JsonLines(), file.fileno()))
        ledger = GroupCommit(Scores.at(installed), watch.committed)
        serving.assemble(chosen(tmp_path), installed, Scores.at(installed), ledger, watch)
    installed.close()
    told = json.loads((tmp_path / "log").read_text("utf-8"))
    assert (told["event"], told["lender"], told["mode"]) == ("model_unavailable", "demo", "live")
    assert "not a model" in told["message"]
    assert "restore it from a backup" in told["hint"]


def test_a_pepper_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    pepper = secrets.pepper(chosen(home))
    assert len(pepper) >= secrets.PEPPER_LENGTH_MIN
    assert secrets.pepper(chosen(home)) == pepper
    assert (home / "pepper").stat().st_mode & 0o777 == 0o600
    assert [file.name for file in home.iterdir()] == ["pepper"]


def test_a_pepper_appears_with_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever found it empty would hash every key with nothing."""
    there_before: list[bool] = []

    def slowly(length: int) -> str:
        there_before.append((tmp_path / "pepper").exists())
        return "ab" * length

    monkeypatch.setattr("alama.platform.files.secret_file.secrets.token_hex", slowly)
    assert secrets.pepper(chosen(tmp_path)) == b"ab" * 32
    assert there_before == [False]


def test_all_who_open_a_new_installation_at_once_agree_on_it(tmp_path: Path) -> None:
    for number in range(10):
        home = tmp_path / str(number)
        with ThreadPoolExecutor(4) as pool:
            opened = list(pool.map(installation.open_installation, [chosen(home)] * 4))
        assert len({installed.pepper for installed in opened}) == 1
        assert [lender.id for lender in opened[0].registry.lenders()] == [keys.DEMO]
        for installed in opened:
            installed.close()


def test_a_pepper_that_is_set_is_taken(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert secrets.pepper(chosen(home, ALAMA_PEPPER="x" * 32)) == b"x" * 32
    assert not home.exists()


def test_a_short_pepper_is_refused_and_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="fewer than 32") as caught:
        secrets.pepper(chosen(tmp_path, ALAMA_PEPPER="too-short"))
    assert "too-short" not in str(caught.value) + str(caught.value.hint)


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"too-short\n", "pfeffer-und-salz-für-ein-ganzes-jahr".encode()]
)
def test_a_file_that_is_no_pepper_is_refused_and_not_repeated(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "pepper"
    file.touch(0o600)
    file.write_bytes(content)
    with pytest.raises(StoreUnfit, match="no pepper") as caught:
        secrets.pepper(chosen(tmp_path))
    assert str(file) in str(caught.value)
    assert not content.strip() or content.decode().strip() not in str(caught.value)


def test_a_pepper_that_everyone_can_read_is_refused_with_the_way_out(tmp_path: Path) -> None:
    secret = secrets.pepper(chosen(tmp_path))
    file = tmp_path / "pepper"
    file.chmod(0o644)
    with pytest.raises(StoreUnfit, match="everyone") as caught:
        secrets.pepper(chosen(tmp_path))
    assert caught.value.hint == f"`chmod 600 {file}`"
    file.chmod(0o440)  # as an orchestrator mounts a secret for the group of a service
    assert secrets.pepper(chosen(tmp_path)) == secret


@pytest.mark.parametrize("nameless", [False, True])
def test_what_nobody_signs_is_by_whoever_runs_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, nameless: bool
) -> None:
    def login_name() -> str:
        if nameless:
            raise KeyError("as in a container whose user has no name")
        return "wanjiru"

    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.setattr("alama.lenders.installation.getpass.getuser", login_name)
    monkeypatch.setattr("alama.lenders.installation.os.getuid", lambda: 1_000)
    installed = installation.open_installation(chosen(tmp_path))
    (added,) = newest_first(Trail(installed.database), None)
    assert added.act is not None
    assert added.act.by == ("user 1000" if nameless else "wanjiru")
    installed.close()


def test_behind_sudo_it_is_by_the_person_who_called_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alama.lenders.installation.getpass.getuser", lambda: "root")
    monkeypatch.setenv("SUDO_USER", "wanjiru")
    assert installation.operator() == "wanjiru"


def test_a_worker_signs_with_the_key_of_now_though_it_reads_nothing_else_of_the_vault(
    tmp_path: Path,
) -> None:
    at_work, operator = (installation.open_installation(chosen(tmp_path)) for _ in range(2))
    endpoints, book = Endpoints.at(operator, DEVELOPMENT), Book(keys.DEMO, Mode.TEST)
    _, endpoint = endpoints.add(book, NewEndpoint("https://hooks.example/"))
    endpoints.test(book, endpoint.id)
    now_us = clock.wall_us()
    (due,) = Outbox.at(at_work).claim("one", {endpoint.id: 1}, now_us, now_us + 60_000_000)
    signs = Rotation.at(operator).signing(None)
    Outbox.at(at_work).settle("one", [failed(due, now_us, disable=DisabledReason.GONE)])
    (newest,) = Trail(at_work.database).newest(MAIN, None, 1)
    at_work.close()
    operator.close()
    assert (newest.kind, newest.signer) == (ActKind.ENDPOINT_DISABLED, signs.id)


def test_an_installation_is_printed_without_its_secret(tmp_path: Path) -> None:
    installed = installation.open_installation(chosen(tmp_path, ALAMA_PEPPER="s3cret" * 6))
    assert "s3cret" not in f"{installed!r} {installed}"
    installed.close()


def test_a_database_is_not_opened_with_another_pepper(tmp_path: Path) -> None:
    installation.open_installation(chosen(tmp_path)).close()
    with pytest.raises(StoreUnfit, match="another pepper"):
        installation.open_installation(chosen(tmp_path, ALAMA_PEPPER="x" * 32))


def test_a_home_without_the_pepper_of_the_database_is_not_given_another(tmp_path: Path) -> None:
    installation.open_installation(chosen(tmp_path / "home")).close()
    elsewhere = tmp_path / "elsewhere"
    database = f"sqlite:///{tmp_path / 'home' / 'alama.db'}"
    with pytest.raises(StoreUnfit, match="another pepper"):
        installation.open_installation(chosen(elsewhere, ALAMA_DATABASE=database))
    assert not elsewhere.exists()


def test_a_database_of_others_is_neither_migrated_nor_furnished(
    tmp_path: Path, postgres: Postgres
) -> None:
    with postgres.fresh() as url, pytest.raises(StoreUnfit, match="empty") as caught:
        installation.open_installation(chosen(tmp_path, ALAMA_DATABASE=url))
    assert "alama db upgrade" in str(caught.value.hint)
