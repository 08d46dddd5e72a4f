"""The real service in processes of its own, as an operator starts it."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Self

import httpx
import pytest

from alama.app.cli import main
from alama.lenders import installation, keys
from alama.platform import clock, settings
from alama.platform.book import Book, Mode
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.terminal import terminal
from tests.ports import HOST, free_port
from tests.vaults import MASTER_KEY

START_S_MAX = 15.0
STOP_S_MAX = 15.0
DEMO = Book("demo", Mode.TEST)
ALAMA = (sys.executable, "-m", "alama")


class ServerFailed(AssertionError):
    """The service did not start or did not stop; carries what it printed."""


class Server:
    """`alama serve` on a free port, from `with` to its end, together with all its workers.

    `environment` adds settings (`ALAMA_RATE_LIMIT="5"`). None is taken from whoever runs the tests.
    The port stays the same when a stopped or killed server is started again.
    """

    def __init__(self, database_url: str, home: Path, workers: int = 1, **environment: str) -> None:
        self.command: Sequence[str] = ALAMA
        """How `alama` is called; another installation of it can be put in its place."""
        self.port = free_port()
        self.url = f"http://{HOST}:{self.port}"
        self._embedded = database_url.startswith("sqlite:")
        self._workers = workers
        foreign = {k: v for k, v in os.environ.items() if not k.startswith("ALAMA_")}
        ours = {
            "ALAMA_HOME": str(home),
            "ALAMA_DATABASE": database_url,
            "ALAMA_MASTER_KEY": MASTER_KEY,  # so that a test can read what was sealed
            "ALAMA_DELIVERY": "alone",  # it takes time to start, and few tests are about webhooks
        }
        self.environment = foreign | ours | environment
        """Every setting it runs with."""
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the server, by __exit__
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            if not self._embedded:
                _upgrade(self.environment["ALAMA_DATABASE"])
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._output.close()

    @property
    def pid(self) -> int:
        """The process that was started: with several workers their supervisor."""
        assert self._process is not None, "the server is not running"
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative where a signal has ended it."""
        assert self._process is not None, "the server is not running"
        return self._process.poll()

    def start(self) -> None:
        """Start and wait until it answers that it is healthy."""
        assert self._process is None, "the server is running"
        self._process = subprocess.Popen(
            [*self.command, "serve", "--port", str(self.port), "--workers", str(self._workers)],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a group of its own, so that `kill` reaches every worker
        )
        deadline = time.monotonic() + START_S_MAX
        with httpx.Client(trust_env=False, timeout=START_S_MAX) as client:
            while not self._healthy(client):
                if self.exit_code is not None:
                    raise ServerFailed(f"exited with {self.exit_code}:\n{self.output()}")
                if time.monotonic() > deadline:
                    raise ServerFailed(f"not healthy after {START_S_MAX} s:\n{self.output()}")
                time.sleep(0.02)

    def stop(self) -> int:
        """Ask it to finish its work (SIGTERM to `pid` alone, as init systems do); its exit code."""
        assert self._process is not None, "the server is not running"
        self._process.terminate()
        try:
            code = self._process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired as error:
            raise ServerFailed(f"not stopped after {STOP_S_MAX} s:\n{self.output()}") from error
        self.kill()
        return code

    def kill(self) -> None:
        """SIGKILL to the supervisor and every worker, whichever of them are left."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def key(self) -> str:
        """A new key of the lender `demo` in test mode, by what `alama keys issue` does.

        Issued from here: to start a command takes longer than many of the tests wait.
        """
        with closing(installation.open_installation(settings.read(self.environment))) as installed:
            registry = installed.registry
            if not registry.lenders():  # only an embedded database brings one along
                keys.add_lender(registry, clock.wall_us, DEMO.lender, "Demo lender", "KES")
            return keys.issue(registry, installed.clock, installed.pepper, DEMO)[0]

    def alama(self, *arguments: str) -> str:
        """What a command prints that runs with the settings of this server."""
        code, said, error = self.typed(*arguments)
        if code != 0:
            raise ServerFailed(f"`alama {' '.join(arguments)}` failed:\n{error}")
        return said

    def typed(self, *arguments: str) -> tuple[int, str, str]:
        """The exit code of a command, what it prints, and what it says beside that.

        Without a process of its own, unless it is to be that of another installation or version: to
        start one takes longer than nearly every command.
        """
        ours = self.environment.get("PYTHONPATH") == os.environ.get("PYTHONPATH")
        if self.command is ALAMA and ours:
            return run_command(arguments, self.environment)
        done = subprocess.run(
            [*self.command, *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def output(self) -> str:
        """Everything it has printed since the first start: its log and its errors."""
        size = os.fstat(self._output.fileno()).st_size
        # Not read by seeking: the position is shared with the processes that write.
        return os.pread(self._output.fileno(), size, 0).decode("utf-8", "replace")

    def _healthy(self, client: httpx.Client) -> bool:
        try:
            return client.get(f"{self.url}/v1/health").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False


def _upgrade(database_url: str) -> None:
    """Do what `alama db upgrade` does, in a fraction of its time."""
    with closing(databases.connect(database_url)) as database:
        migrate.upgrade(database)


def run_command(
    arguments: Sequence[str], environment: Mapping[str, str], typed: str = ""
) -> tuple[int, str, str]:
    """Run a command in this process: its exit code, what it prints, and what it says beside that.

    The environment is all that it finds there; nobody sits before it, but `typed` is piped in.
    """
    printed, said = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - set(environment):
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", io.StringIO(typed))
        _new_terminal()
        try:
            with redirect_stdout(printed), redirect_stderr(said):
                code = main(arguments)
        except SystemExit as left:  # what cannot be parsed
            code = int(left.code or 0)
        finally:
            _new_terminal()
    return code, printed.getvalue(), said.getvalue()


def _new_terminal() -> None:
    """As a process starts: a console keeps what it was made with."""
    terminal.stdout.cache_clear()
    terminal.stderr.cache_clear()
