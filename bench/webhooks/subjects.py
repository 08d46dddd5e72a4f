"""Services that tell receivers of each score, and the workers beside them."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.app.worker_cli import NICENESS
from bench.environment import ROOT
from bench.serve.server import HOST, Server, ServerFailed, free_port, started
from bench.serve.subjects import alama, home

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from bench.serve.ground import Ground

REFUSE: Final = "/refuse"
"""At this one nobody listens."""
BAD: Final = ("/fail/1", "/fail/2", "/stall/1", "/stall/2", "/reset", "/crawl", REFUSE)
KNOWN_S: Final = 1.5
"""Until a service knows of an endpoint that was added."""
ARRIVED_S_MAX: Final = 900.0
ENDPOINTS: Final = "/v1/webhook_endpoints"

_POLL_S: Final = 0.1


def good(count: int) -> tuple[str, ...]:
    """Give the paths of so many receivers that take everything."""
    return tuple(f"/good/{number}" for number in range(count))


class Receivers(NamedTuple):
    """The process that receives, by its port."""

    port: int

    def counts(self) -> dict[str, int]:
        """Ask what the good ones have taken."""
        counts: dict[str, int] = json.loads(_asked(self.port, "GET", "/"))
        return counts

    def wait_for(self, what: str, count: int) -> None:
        """Wait until a count is so high."""
        deadline_s = time.monotonic() + ARRIVED_S_MAX
        while (have := self.counts()[what]) < count:
            if time.monotonic() > deadline_s:
                raise ServerFailed(f"{have} of {count} deliveries came in {ARRIVED_S_MAX:.0f} s")
            time.sleep(_POLL_S)

    def verify(self, secrets: dict[str, str]) -> None:
        """Have what comes to these paths verified from now on."""
        _asked(self.port, "PUT", "/", secrets)


class Worker:
    """`alama worker` as it is beside a service: behind it, and on any core that has room."""

    def __init__(self, here: Ground, folder: Path) -> None:
        self._command = ["nice", "-n", str(NICENESS), here.python, "-m", "alama", "worker"]
        self._variables = {**here.variables, "ALAMA_HOME": str(folder)}
        self._log = folder / "worker.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start one; there is none."""
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, cwd=ROOT, env=self._variables, stdout=output, stderr=output
            )

    def replace(self) -> None:
        """Kill it, as nobody can who gives it time for anything, and start another."""
        self.kill()
        self.start()

    def kill(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def work(self) -> None:
        """Let it go on."""
        self._tell(signal.SIGCONT)

    def rest(self) -> None:
        """Let it stand still, all of it: a signal is on its way for a while."""
        self._tell(signal.SIGSTOP)
        assert self._process is not None
        while not _stands_still(self._process.pid):
            time.sleep(0.001)

    def keep_to(self, cores: Collection[int]) -> None:
        """Let it run on these cores alone; the next worker may use any again."""
        assert self._process is not None
        keep_to(self._process.pid, cores)

    def _tell(self, what: signal.Signals) -> None:
        assert self._process is not None
        os.kill(self._process.pid, what)


def _stands_still(pid: int) -> bool:
    told = (thread / "stat" for thread in Path(f"/proc/{pid}/task").iterdir())
    # The state is the first word after the name, which stands in brackets.
    return all(stat.read_text("ascii").rpartition(") ")[2].startswith("T") for stat in told)


def keep_to(pid: int, cores: Collection[int]) -> None:
    """Let a process run on these cores alone: each of its threads, and what these will start."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(ProcessLookupError):  # it has ended meanwhile
            os.sched_setaffinity(int(thread.name), cores)


class Endpoint(NamedTuple):
    """An endpoint as the service knows it."""

    id: str
    secret: str


class Subject(NamedTuple):
    """A service, its worker, and the secrets of its endpoints by their paths."""

    server: Server
    worker: Worker
    secrets: dict[str, str]


@contextmanager
def receiving(here: Ground, name: str) -> Iterator[Receivers]:
    """Start receivers on the clients' core."""
    command = here.for_client([here.python, "-m", "bench.webhooks.receiver", "{port}"])
    log = here.folder / f"{name}.log"
    with started(name, command, here.variables, bodies=here.bodies, log=log, health="/") as server:
        yield Receivers(server.port)


@contextmanager
def serving(here: Ground, name: str) -> Iterator[tuple[Server, Worker]]:
    """Start a service that may tell receivers of its scores; its worker is yet to start."""
    ours = {"ALAMA_DEVELOPMENT": "yes", "ALAMA_DELIVERY": "alone"}
    here = replace(here, variables={**here.variables, **ours})
    with alama(here, name) as server:
        worker = Worker(here, home(here, name))
        try:
            yield server, worker
        finally:
            worker.kill()


@contextmanager
def telling(
    here: Ground, name: str, paths: Sequence[str], receivers: Receivers
) -> Iterator[Subject]:
    """Start a service that tells these receivers of each score; its worker is yet to start."""
    with serving(here, name) as (server, worker):
        endpoints = added(server, paths, receivers)
        yield Subject(server, worker, {path: one.secret for path, one in endpoints.items()})


def added(server: Server, paths: Sequence[str], receivers: Receivers) -> dict[str, Endpoint]:
    """Add endpoints with the key of a server; give them by their paths once they are known."""
    nobody = free_port()
    endpoints = {
        path: _added(server, nobody if path == REFUSE else receivers.port, path) for path in paths
    }
    time.sleep(KNOWN_S)
    return endpoints


def _added(server: Server, port: int, path: str) -> Endpoint:
    wanted = {"url": f"http://{HOST}:{port}{path}", "kinds": ["score.created"]}
    answer = json.loads(_asked(server.port, "POST", ENDPOINTS, wanted, server.key))
    if "secret" not in answer:
        raise server.failed("takes no webhook endpoint")
    return Endpoint(answer["id"], answer["secret"])


def _asked(port: int, method: str, path: str, body: object = None, key: str = "") -> bytes:
    connection = http.client.HTTPConnection(HOST, port, timeout=30)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return connection.getresponse().read()
    finally:
        connection.close()
