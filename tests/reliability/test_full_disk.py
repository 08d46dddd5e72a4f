"""A full disk is told to callers, never hidden from them, and is over when there is room again."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import pytest

from tests.databases import sqlite_url
from tests.reliability import processes
from tests.reliability.client import Client
from tests.reliability.load import Load
from tests.reliability.outages import (
    wait_until_all_are_refused,
    wait_until_healthy,
    wait_until_unhealthy,
)
from tests.reliability.verdict import assert_kept
from tests.server import Server

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="tmpfs and prlimit are Linux's own"),
    pytest.mark.xdist_group("outages"),
]

DISK_BYTES = 64 << 20
"""Room for 20,000 scores, far more than a run gives: it must not be full by itself."""

NOTICED_S_MAX = 60.0
BACK_S_MAX = 60.0
"""Both take about a second; a busy machine may need more."""


class Disk(Protocol):
    """Where a database lives, with a way to use up what is left of it and to give it back."""

    def fill(self, server: Server) -> None: ...

    def clear(self, server: Server) -> None: ...


class SmallDisk:
    """A file system of its own that really fills up."""

    def __init__(self, folder: Path) -> None:
        self._ballast = folder / "ballast"

    def fill(self, _: Server) -> None:
        with suppress(OSError), self._ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    def clear(self, _: Server) -> None:
        self._ballast.unlink()


class SmallFiles:
    """A limit on the size of files, for whoever may not mount: writing fails in the same place."""

    def fill(self, server: Server) -> None:
        self._limit(server, 4096)

    def clear(self, server: Server) -> None:
        self._limit(server, resource.RLIM_INFINITY)

    def _limit(self, server: Server, size_max: int) -> None:
        for pid in processes.group(server.pid):
            _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size_max, hard))


@contextmanager
def small_disk(folder: Path) -> Iterator[Disk]:
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    if mount is None or unmount is None:
        pytest.skip("there is no `mount` here")
    command: list[str | Path] = [mount, "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cannot mount a small file system here: {done.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        # Lazily: a worker that was killed a moment ago may still hold a file of it.
        subprocess.run([unmount, "--lazy", folder], check=True)


@contextmanager
def small_files(_: Path) -> Iterator[Disk]:
    yield SmallFiles()


@pytest.mark.parametrize("making", [small_disk, small_files])
def test_scores_are_refused_while_there_is_no_room_and_given_when_there_is(
    making: Callable[[Path], AbstractContextManager[Disk]], tmp_path: Path
) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    with (
        making(folder) as disk,
        Server(sqlite_url(folder), tmp_path, 2, ALAMA_RATE_LIMIT="1000000") as server,
    ):
        key = server.key()
        load = Load(server.url, key, connections=4)
        with Client(server.url, key) as client:
            # Before any score has met it.
            disk.fill(server)
            wait_until_unhealthy(client, NOTICED_S_MAX)
            disk.clear(server)
            wait_until_healthy(client, BACK_S_MAX)
        with load.running(), Client(server.url, key) as client:
            for _ in range(2):
                load.wait_for_answers(50, BACK_S_MAX)
                disk.fill(server)
                wait_until_all_are_refused(load, NOTICED_S_MAX)
                wait_until_unhealthy(client, NOTICED_S_MAX)
                disk.clear(server)
                wait_until_healthy(client, BACK_S_MAX)
                load.wait_for_answers(50, BACK_S_MAX)
        assert_kept(load, sqlite_url(folder))
        assert "Traceback" not in server.output()
