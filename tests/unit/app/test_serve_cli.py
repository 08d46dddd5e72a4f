"""What `alama serve` refuses before it listens, and what it says; tests/e2e has it running."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from alama.app import serve_cli
from alama.platform.database import database
from alama.platform.files.packaged import sample_application
from alama.platform.server import processes
from alama.platform.server.processes import CannotListen
from tests.ports import HOST, free_port

KEY = "alama_test_" + "x" * 36
ADDRESS = "http://127.0.0.1:8000"


def serve(home: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    foreign = {name: value for name, value in os.environ.items() if not name.startswith("ALAMA_")}
    return subprocess.run(
        [sys.executable, "-m", "alama", "serve", *options],
        env=foreign | {"ALAMA_HOME": str(home)} | environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_a_port_in_use_is_told_with_the_way_out(tmp_path: Path) -> None:
    with closing(processes.listen(HOST, 0)) as taken:
        port = taken.getsockname()[1]
        done = serve(tmp_path, "--port", str(port))
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"error: port {port} of {HOST} is in use" in done.stderr
    assert f"--port {port + 1}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_misspelled_setting_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    done = serve(tmp_path, ALAMA_WORKES="2")
    assert done.returncode == 2
    assert "there is no setting ALAMA_WORKES" in done.stderr
    assert "did you mean ALAMA_WORKERS?" in done.stderr


def test_an_option_is_held_to_the_same_rules_as_its_setting(tmp_path: Path) -> None:
    done = serve(tmp_path, "--workers", "0")
    assert done.returncode == 2
    assert "--workers is not valid" in done.stderr


def test_a_database_that_is_away_is_told_with_where_to_look(tmp_path: Path) -> None:
    address = f"postgresql://alama:hidden@{HOST}:{free_port()}/alama"
    done = serve(tmp_path, ALAMA_DATABASE=address)
    assert done.returncode == 2
    assert "ALAMA_DATABASE" in done.stderr
    assert "hidden" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_database_without_tables_is_refused_with_the_command_that_makes_them(
    tmp_path: Path, postgres_url: str
) -> None:
    done = serve(tmp_path, ALAMA_DATABASE=postgres_url)
    assert done.returncode == 2
    assert "the database is empty" in done.stderr
    assert "alama db upgrade" in done.stderr


def test_several_processes_on_an_unsafe_sqlite_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from alama.app.cli import main  # noqa: PLC0415  only this test runs it in this process

    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("ALAMA_WORKERS", "1")  # so that it is put back afterwards
    monkeypatch.setattr(database, "SQLITE_SAFE_FOR_MANY", (99, 0, 0))
    assert main(["serve", "--workers", "2"]) == 2
    assert "not safe for several processes" in capsys.readouterr().err


def test_a_free_port_is_taken_where_none_is_named() -> None:
    with closing(processes.listen(HOST, 0)) as listener:
        port = listener.getsockname()[1]
        assert port > 0
        assert processes.url(listener) == f"http://{HOST}:{port}"


@pytest.mark.parametrize(
    ("host", "message"),
    [("no such host", "no such host is not an address"), ("192.0.2.1", "of this machine")],
)
def test_an_address_that_is_not_ours_is_refused(host: str, message: str) -> None:
    with pytest.raises(CannotListen, match=message):
        processes.listen(host, 0)


def test_an_address_for_everyone_is_shown_as_one_that_can_be_clicked_on() -> None:
    with closing(processes.listen("0.0.0.0", 0)) as listener:  # noqa: S104  for this moment
        assert processes.url(listener).startswith("http://127.0.0.1:")


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_an_ipv6_address_is_shown_in_brackets() -> None:
    try:
        listener = processes.listen("::1", 0)
    except CannotListen:
        pytest.skip("this machine has no IPv6 address")
    with closing(listener):
        assert processes.url(listener).startswith("http://[::1]:")


def test_the_welcome_fits_a_terminal_and_holds_what_one_needs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    serve_cli.welcome(ADDRESS, KEY)
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert serve_cli.curl(ADDRESS, KEY) in text
    assert f"{ADDRESS}/docs" in text


def test_the_curl_of_the_welcome_sends_the_sample_application() -> None:
    words = shlex.split(serve_cli.curl(ADDRESS, KEY))
    sent = json.loads(words[words.index("-d") + 1])
    sample = json.loads(sample_application())
    assert sent == {
        "mobile_money_months": sample["mm_months"],
        "monthly_inflow": sample["avg_inflow"],
        "stability_score": sample["balance_stability"],
        "airtime_regularity": sample["airtime_regularity"],
    }
    assert f"Authorization: Bearer {KEY}" in words
