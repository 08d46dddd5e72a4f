"""No process imports from the folder it is started in: others may be able to write there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from alama.app import worker_process
from alama.lenders import installation
from alama.onboarding import job_supervisor
from alama.platform import settings
from tests.databases import sqlite_url
from tests.images.image import CONTAINERFILE
from tests.ports import free_port
from tests.vaults import MASTER_KEY

LATE = (
    "alama",
    "http",
    "httptools",
    "lightgbm",
    "multiprocessing",
    "pickle",
    "runpy",
    "sqlalchemy",
    "starlette",
    "uvicorn",
    "uvloop",
)
"""Modules that some process imports after its start."""

HOSTILE = """
import os, sys
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "loaded"), "a") as said:
    print(__name__, os.getpid(), sys.argv, file=said)
raise SystemExit(66)
"""
ALAMA = (str(Path(sys.executable).with_name("alama")),)
MODULE = (sys.executable, "-P", "-m", "alama")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with hostile modules in it, as the volume of the image may have."""
    place = tmp_path / "writable"
    place.mkdir()
    for name in LATE:
        (place / f"{name}.py").write_text(HOSTILE, "utf-8")
    return place


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("ALAMA_") and name not in {"PYTHONSAFEPATH", "PYTHONPATH"}
    }
    ours = {
        "ALAMA_HOME": str(folder),
        "ALAMA_DATABASE": sqlite_url(folder),
        "ALAMA_MASTER_KEY": MASTER_KEY,
        "ALAMA_LOG": "json",
    }
    return kept | ours | more


def loaded(folder: Path) -> str:
    said = folder / "loaded"
    return said.read_text("utf-8") if said.exists() else ""


@pytest.mark.parametrize(
    "command",
    [pytest.param(ALAMA, id="script"), pytest.param(MODULE, id="module", marks=pytest.mark.long)],
)
def test_the_service_its_workers_and_the_one_beside_them_import_nothing_from_there(
    folder: Path, command: tuple[str, ...]
) -> None:
    output = folder / "output"
    with output.open("wb") as said:
        process = subprocess.Popen(
            [*command, "serve", "--port", str(free_port()), "--workers", "2"],
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline_s = time.monotonic() + 120
        while not all(
            output.read_text("utf-8").count(f'"{event}"') >= count
            for event, count in (("worker_started", 2), ("deliveries_started", 1))
        ):
            assert process.poll() is None, output.read_text("utf-8")
            assert loaded(folder) == ""
            assert time.monotonic() < deadline_s, output.read_text("utf-8")
            time.sleep(0.1)
        process.terminate()
        assert process.wait(120) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert loaded(folder) == ""


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [job_supervisor.COMMAND, worker_process.COMMAND, (*MODULE, "doctor")],
    ids=lambda c: c[-1],
)
def test_what_they_start_imports_nothing_from_there(folder: Path, command: list[str]) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode != 66, done.stderr
    assert loaded(folder) == ""


TRAINS = """
import os, sys
from joblib import Parallel, delayed
from alama.app.cli import main
assert main(["worker", "--jobs"]) == 0
names = [name for found in Parallel(n_jobs=2)(delayed(os.environ.copy)() for _ in range(4))
         for name in found if name.startswith("ALAMA_")]
sys.exit(str(names) if names else 0)
"""


@pytest.mark.long
def test_processes_that_train_import_nothing_from_there_and_have_no_master_key(
    folder: Path,
) -> None:
    ours = environment(folder)
    named = {name: value for name, value in ours.items() if name.startswith("ALAMA_")}
    installation.open_installation(settings.read(named)).close()
    with subprocess.Popen(
        [sys.executable, "-P", "-c", TRAINS],
        cwd=folder,
        env=ours,
        stdin=subprocess.PIPE,  # its end would stop the worker
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.read()
            assert process.wait(120) == 0, said
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert loaded(folder) == ""


def test_a_module_run_without_the_option_takes_the_folder_out_again(folder: Path) -> None:
    for name in ("alama", "runpy"):  # what Python needs to get as far as us
        (folder / f"{name}.py").unlink()
    done = subprocess.run(
        [sys.executable, "-m", "alama", "doctor"],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    assert loaded(folder) == ""


def test_the_image_says_so_for_every_process_in_it() -> None:
    text = CONTAINERFILE.read_text("utf-8")
    assert "PYTHONSAFEPATH=1" in text.partition("AS runtime")[2].partition("AS serve")[0]
    assert '"python3", "-c"' not in text
