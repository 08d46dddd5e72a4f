"""What `alama serve` says about options that cannot be: it names what was written."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.platform.server import processes
from tests.ports import HOST


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    # Options go into the environment, from where the test takes them again.
    for variable in ("ALAMA_PORT", "ALAMA_WORKERS"):
        monkeypatch.setenv(variable, "1")
    return tmp_path


@pytest.mark.parametrize(
    ("option", "value", "rule"),
    [
        ("--workers", "0", "From 1 to 256."),
        ("--port", "65536", "From 0 to 65535."),
    ],
)
def test_an_option_that_cannot_be_is_blamed_by_its_own_name(
    option: str, value: str, rule: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", option, value]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert err.startswith(f"error: {option} is not valid\n  hint: ")
    assert rule in err
    assert "ALAMA_" not in err
    assert os.environ["ALAMA_WORKERS"] == "1"
    assert list(home.iterdir()) == []


def test_a_setting_that_cannot_be_is_blamed_by_the_variable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_WORKERS", "0")
    assert main(["serve"]) == EXIT_MISTAKE
    assert capsys.readouterr().err.startswith("error: ALAMA_WORKERS is not valid\n")


def test_a_port_in_use_comes_with_a_way_out_for_those_who_ran_make() -> None:
    with closing(processes.listen(HOST, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(processes.CannotListen) as refused:
            processes.listen(HOST, port)
    assert refused.value.hint is not None
    assert f"--port {port + 1}" in refused.value.hint
    assert f"ALAMA_PORT={port + 1} make run" in refused.value.hint


def test_a_trial_without_the_lender_demo_names_the_command_that_adds_it(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALAMA_DATABASE", postgres_url)
    assert main(["db", "upgrade"]) == 0
    # A process of its own: the log of a service stays with the process.
    done = subprocess.run(
        [sys.executable, "-m", "alama", "serve", "--try", "--port", "0"],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == EXIT_MISTAKE
    assert "error: there is no lender demo\n" in done.stderr
    assert "alama lenders add demo --name NAME --currency KES\n" in done.stderr
    assert main(["lenders", "add", "demo", "--name", "NAME", "--currency", "KES"]) == 0
