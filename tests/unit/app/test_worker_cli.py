"""`alama worker` by itself: what it refuses, and that it ends well."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.app.worker_cli import EXIT_FAILED
from alama.lenders import installation
from alama.onboarding import jobs
from alama.onboarding.store import Stores
from alama.platform import clock, settings
from alama.platform.database import database
from tests.ports import HOST, free_port
from tests.workers import install, worker


def test_a_second_process_on_an_unsafe_sqlite_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path)
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setattr(database, "SQLITE_SAFE_FOR_MANY", (99, 0, 0))
    assert main(["worker"]) == EXIT_MISTAKE
    err = capfd.readouterr().err
    assert "not safe for a second process" in err
    assert "leave ALAMA_DELIVERY at inside" in err


def test_where_there_is_no_installation_none_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path / "elsewhere"))
    assert main(["worker"]) == EXIT_MISTAKE
    err = capfd.readouterr().err
    assert f"there is no installation at {tmp_path / 'elsewhere'}" in err
    assert "set ALAMA_HOME to its place" in err
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("arguments", [["worker"], ["worker", "--beside-service"]])
def test_whatever_breaks_is_a_line_of_the_log_and_the_exit_code_1(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    async def breaks(*_: object) -> None:
        raise KeyError("what somebody sent")

    install(tmp_path)
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("ALAMA_LOG", "json")
    monkeypatch.setattr(os, "nice", int)  # the tests go on after this
    monkeypatch.setattr("alama.app.delivering.deliver", breaks)
    assert main(arguments) == EXIT_FAILED
    err = capfd.readouterr().err
    said = json.loads(err.splitlines()[-1])
    assert (said["event"], said["errors"][0]["type"]) == ("deliveries_failed", "KeyError")
    assert "please report" in said["hint"]
    assert "what somebody sent" not in err


def test_a_process_that_does_jobs_takes_none_without_the_master_key(
    tmp_path: Path,
) -> None:
    with closing(installation.open_installation(settings.Settings(home=str(tmp_path)))) as opened:
        asked = jobs.ask_for_training(
            Stores.at(opened).jobs, clock.wall_us, bytes(7), "demo", b"{}", "W. Mutua"
        )
    key = tmp_path / "master-key"
    key.rename(tmp_path / "elsewhere")
    # In a process of its own: it has a folder for all that it writes, and that is gone with it.
    ended = subprocess.run(
        [sys.executable, "-m", "alama", "worker", "--jobs"],
        env=os.environ | {"ALAMA_HOME": str(tmp_path), "ALAMA_LOG": "json"},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    assert ended.returncode == EXIT_FAILED
    said = json.loads(ended.stderr.splitlines()[-1])
    assert said["event"] == "jobs_failed"
    assert "master key" in said["message"]
    (tmp_path / "elsewhere").rename(key)
    with closing(installation.open_installation(settings.Settings(home=str(tmp_path)))) as opened:
        assert Stores.at(opened).jobs.find("demo", asked.id) == asked


def test_it_shows_metrics_and_ends_when_asked(tmp_path: Path) -> None:
    port = free_port()
    with worker(tmp_path, stdin=subprocess.DEVNULL, ALAMA_METRICS_PORT=str(port)) as alone:
        with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=60) as reply:
            shown = reply.read().decode()
        alone.send_signal(signal.SIGTERM)
        _, said = alone.communicate()
    assert alone.returncode == 0
    assert b"deliveries_stopped" in said
    assert "alama_webhook_attempt_seconds_count 0.0" in shown
