"""Whoever looks for jobs: starts a process where there are any, and leaves nothing of it."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from alama.lenders import installation
from alama.onboarding.job_supervisor import PROCESS_S_MAX, JobSupervisor
from alama.onboarding.jobs import Jobs, ask_for_training
from alama.onboarding.store import Stores
from alama.platform import clock, settings

WITHIN_S = 60.0
WRITES = """
import os, pathlib, signal, sys, tempfile, time
folder = pathlib.Path(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: (folder.joinpath("stopped").touch(), os._exit(0)))
pathlib.Path(tempfile.gettempdir(), "history.csv").write_text("in clear")
folder.joinpath("room").write_text(tempfile.gettempdir())
folder.joinpath("begun").touch()
{then}
"""


class Watch:
    """Remembers how processes ended."""

    def __init__(self) -> None:
        self.codes: list[int | None] = []

    def jobs_failed(self, exit_code: int | None, error: Exception | None = None) -> None:
        assert error is None
        self.codes.append(exit_code)


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    opened = installation.open_installation(settings.Settings(home=str(tmp_path)))
    yield Stores.at(opened).jobs
    opened.close()


def asked(jobs: Jobs) -> None:
    ask_for_training(jobs, clock.wall_us, bytes(7), "demo", b"{}", "W. Mutua")


def look(
    jobs: Jobs,
    folder: Path,
    then: str,
    until: Callable[[Watch], bool],
    seconds_max: float = PROCESS_S_MAX,
) -> Watch:
    """Have it look until something is so, and then stop."""
    watch, program = Watch(), WRITES.format(then=then)
    command = (sys.executable, "-c", program, str(folder))

    async def run() -> None:
        looking = asyncio.create_task(
            JobSupervisor(jobs, clock.wall_us, watch, command, 0.01, seconds_max).run()
        )
        deadline = time.monotonic() + WITHIN_S
        while not until(watch):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)

    asyncio.run(run())
    return watch


def room(folder: Path) -> Path:
    return Path((folder / "room").read_text())


def test_where_there_is_no_job_nothing_is_started(jobs: Jobs, tmp_path: Path) -> None:
    began = time.monotonic()
    look(jobs, tmp_path, "", lambda _: time.monotonic() - began > 0.2)
    assert not (tmp_path / "begun").exists()


def test_what_was_left_before_is_removed_at_the_start(
    jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / "alama-jobs-1"
    left.mkdir()
    (left / "history.csv").write_text("in clear")
    look(jobs, tmp_path, "", lambda _: not left.exists())


def test_a_process_that_is_killed_is_told_and_leaves_nothing_in_clear(
    jobs: Jobs, tmp_path: Path
) -> None:
    asked(jobs)
    then = "os.kill(os.getpid(), signal.SIGKILL)"
    watch = look(jobs, tmp_path, then, lambda watch: watch.codes != [])
    assert watch.codes == [-9]
    assert not room(tmp_path).exists()


def test_a_stop_asks_the_process_to_end_and_waits_for_it(jobs: Jobs, tmp_path: Path) -> None:
    asked(jobs)
    watch = look(jobs, tmp_path, "time.sleep(60)", lambda _: (tmp_path / "begun").exists())
    assert (tmp_path / "stopped").exists()
    assert watch.codes == []
    assert not room(tmp_path).exists()


def test_a_process_that_does_not_end_is_ended(jobs: Jobs, tmp_path: Path) -> None:
    asked(jobs)
    stuck = "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\ntime.sleep(600)"
    watch = look(jobs, tmp_path, stuck, lambda watch: bool(watch.codes), seconds_max=5.0)
    assert watch.codes == [-signal.SIGKILL]
