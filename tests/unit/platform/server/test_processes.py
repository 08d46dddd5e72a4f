"""How the processes end when the service in them does not behave; tests/e2e has the real one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.ports import HOST, free_port

STOP_S = 2

# A service whose lifespan does what a test says, below the processes that run the real one.
PROGRAM = """
import asyncio, sys
from alama.platform.server import processes
from alama.platform.telemetry.log import TextLines
from alama.platform.telemetry.log import Log

def service():
    return application

async def application(scope, receive, send):
    await receive()
    BEGIN
    await send({"type": "lifespan.startup.complete"})
    await receive()
    END
    await send({"type": "lifespan.shutdown.complete"})

if __name__ == "__main__":
    workers, port, stop_s = map(int, sys.argv[1:])
    config = processes.configuration(workers, stop_s)
    config.app = "program:service"
    log = Log(TextLines(), 1)
    host = processes.Host(log, stop_s, lambda: log.note("up"), lambda pid: log.note("forgotten"))
    run = processes.run_alone if workers == 1 else processes.run_several
    sys.exit(run(config, processes.listen("HOST", port), host))
"""


class Program:
    """The program, running; what it prints goes into a file."""

    def __init__(self, folder: Path, workers: int, begin: str, end: str) -> None:
        path = folder / "program.py"
        program = PROGRAM.replace("BEGIN", begin).replace("END", end).replace("HOST", HOST)
        path.write_text(program, "utf-8")
        self._output = folder / "output"
        command = [sys.executable, str(path), str(workers), str(free_port()), str(STOP_S)]
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=os.environ | {"PYTHONPATH": str(folder)},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def output(self) -> str:
        return self._output.read_text("utf-8")

    def wait_for(self, words: str) -> None:
        deadline_s = time.monotonic() + 60
        while words not in self.output():
            assert time.monotonic() < deadline_s, self.output()
            time.sleep(0.05)


@contextmanager
def running(
    folder: Path, workers: int, begin: str = "pass", end: str = "pass"
) -> Iterator[Program]:
    program = Program(folder, workers, begin, end)
    try:
        yield program
    finally:
        if program.process.poll() is None:
            os.killpg(program.process.pid, signal.SIGKILL)
        program.process.wait()


@pytest.fixture(
    params=[
        pytest.param(1, id="one worker"),
        pytest.param(2, id="two workers", marks=pytest.mark.long),
    ]
)
def workers(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_a_stop_that_hangs_is_cut_off_and_told(tmp_path: Path, workers: int) -> None:
    with running(tmp_path, workers, end="await asyncio.sleep(600)") as program:
        program.wait_for("up")
        program.process.terminate()
        assert program.process.wait(120) == 1
        assert "stop timed out seconds=2" in program.output()


def test_a_service_that_cannot_start_ends_with_an_error(tmp_path: Path, workers: int) -> None:
    failing = 'return await send({"type": "lifespan.startup.failed", "message": "no luck"})'
    with running(tmp_path, workers, begin=failing) as program:
        assert program.process.wait(60) != 0
        assert "up" not in program.output().split()


def test_a_signal_during_the_start_is_not_lost(tmp_path: Path) -> None:
    waiting = 'print("starting", flush=True); await asyncio.sleep(0.5)'
    with running(tmp_path, 1, begin=waiting) as program:
        program.wait_for("starting")
        program.process.terminate()
        assert program.process.wait(60) == 0


@pytest.mark.long
def test_the_supervisor_forgets_a_worker_that_is_gone(tmp_path: Path) -> None:
    with running(
        tmp_path, 2, begin='import os; print("worker", os.getpid(), flush=True)'
    ) as program:
        program.wait_for("up")
        pid = int(program.output().partition("worker ")[2].split()[0])
        os.kill(pid, signal.SIGKILL)
        program.wait_for("forgotten")
        assert f"worker died pid={pid} exit_code=-9" in program.output()
        program.process.send_signal(signal.SIGHUP)  # replaces both, one after the other
        program.wait_for("up")
        deadline_s = time.monotonic() + 60
        while program.output().count("forgotten") < 3:
            assert time.monotonic() < deadline_s, program.output()
            time.sleep(0.05)
        program.process.terminate()
        assert program.process.wait(60) == 0
