"""The worker that sends webhooks beside the service: started with it, replaced, ended with it.

It is a process of its own, so that no delivery takes a turn of the interpreter from a score. Where
SQLite is not safe for several processes it is a thread.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from contextlib import suppress
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from alama.app.watching import BROKE, BROKE_HINT, watching_deliveries
from alama.core.errors import AlamaError
from alama.lenders import installation
from alama.platform.database.database import Database, safe_for_several

if TYPE_CHECKING:
    from collections.abc import Callable

    from alama.platform.settings import Settings
    from alama.platform.telemetry.log import Log
    from alama.webhooks.telemetry import DeliveryWatch


# Not from the folder that it happens to be started in.
COMMAND: Final = (sys.executable, "-P", "-m", "alama", "worker", "--beside-service")

PAUSE_S_MIN: Final = 0.5
PAUSE_S_MAX: Final = 60.0
"""Before one that died is replaced: each time twice as long, up to this."""

STEADY_S: Final = 60.0
"""One that has lived for so long died of something new."""


NOT_STARTED: Final = "the worker that sends webhooks could not be started"
NOT_STARTED_HINT: Final = "it is tried again; see that memory and processes are left"
KEEPER_BROKE: Final = "what looks after the worker that sends webhooks broke"
KEEPER_BROKE_HINT: Final = "it goes on; please report this line"


class Where(Enum):
    """Where webhooks are sent from."""

    PROCESS = auto()
    THREAD = auto()
    ELSEWHERE = auto()


def where(settings: Settings, database: Database) -> Where:
    """Say where a service with these settings sends webhooks from."""
    if settings.delivery == "alone":
        return Where.ELSEWHERE
    return Where.PROCESS if safe_for_several(database) else Where.THREAD


class ServiceWorker(Protocol):
    """A worker beside the service, or nobody."""

    def start(self) -> None:
        """Start the worker; from now on there is one."""

    def ask_to_stop(self) -> None:
        """Have it finish what is under way, while the service does the same."""

    def close(self) -> None:
        """Wait until it has ended, as long as a stop may take."""


def service_worker(
    place: Where, settings: Settings, log: Log, forget: Callable[[int], None]
) -> ServiceWorker:
    """Give the worker of a service; `forget` is told the process ids of those that are gone."""
    match place:
        case Where.PROCESS:
            return WorkerProcess(log, settings.stop_timeout, forget)
        case Where.THREAD:
            return WorkerThread(settings, log)
        case Where.ELSEWHERE:
            return NoWorker()


class NoWorker:
    """None: `alama worker` runs elsewhere."""

    def start(self) -> None:
        pass

    def ask_to_stop(self) -> None:
        pass

    def close(self) -> None:
        pass


class WorkerProcess:
    """Keeps a worker running in a process of its own, from `start` to `close`."""

    def __init__(
        self,
        log: Log,
        stop_s: float,
        forget: Callable[[int], None],
        command: tuple[str, ...] = COMMAND,
    ) -> None:
        """Take where its death is told, and all the time that a stop may take, in seconds."""
        self._log = log
        self._stop_s = stop_s
        self._forget = forget
        self._command = command
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self._until_s = 0.0
        self._keeper = threading.Thread(target=self._keep, name="worker", daemon=True)

    def start(self) -> None:
        self._keeper.start()

    def ask_to_stop(self) -> None:
        with self._lock:
            if self._stopping.is_set():
                return
            self._until_s = time.monotonic() + self._stop_s
            self._stopping.set()
            if self._child is not None:
                self._child.terminate()

    def close(self) -> None:
        self.ask_to_stop()
        if self._keeper.ident is None:
            return  # the service never got as far as to start it
        self._keeper.join(max(self._until_s - time.monotonic(), 0))
        if self._keeper.is_alive() and self._child is not None:
            self._log.fail("stop_timed_out", seconds=self._stop_s, pid=self._child.pid)
            self._child.kill()
            self._keeper.join()

    def _keep(self) -> None:
        pauses = _Pauses()
        while not self._stopping.is_set():
            began_s = time.monotonic()
            try:
                self._live()
            except Exception as error:  # noqa: BLE001  whatever it was, webhooks are to be sent
                self._log.fail(
                    "deliveries_failed", error, message=KEEPER_BROKE, hint=KEEPER_BROKE_HINT
                )
            self._stopping.wait(pauses.after(time.monotonic() - began_s))

    def _live(self) -> None:
        try:
            child = self._spawned()
        except OSError as error:  # no memory or no process is free: another time there may be
            self._log.fail("deliveries_failed", error, message=NOT_STARTED, hint=NOT_STARTED_HINT)
            return
        if child is None:
            return
        code = child.wait()
        assert child.stdin is not None
        child.stdin.close()
        if not self._stopping.is_set():
            self._log.fail("delivery_worker_died", pid=child.pid, exit_code=code)
        self._forget(child.pid)

    def _spawned(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stopping.is_set():
                return None
            # It notices by its input that this process is gone, however it went.
            self._child = subprocess.Popen(self._command, stdin=subprocess.PIPE)  # noqa: S603  ours
            return self._child


class WorkerThread:
    """Keeps a worker running in a thread of this process, where there may be no second one."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self._settings = settings
        self._log = log
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._stop: Callable[[], object] | None = None
        self._until_s = 0.0
        self._keeper = threading.Thread(target=self._keep, name="worker", daemon=True)

    def start(self) -> None:
        self._keeper.start()

    def ask_to_stop(self) -> None:
        with self._lock:
            if self._stopping.is_set():
                return
            self._until_s = time.monotonic() + self._settings.stop_timeout
            self._stopping.set()
            if self._stop is not None:
                with suppress(RuntimeError):  # its loop has closed a moment ago
                    self._stop()

    def close(self) -> None:
        self.ask_to_stop()
        if self._keeper.ident is not None:
            self._keeper.join(max(self._until_s - time.monotonic(), 0))

    def _keep(self) -> None:
        watch = watching_deliveries(self._settings.log, self._settings.metrics_port)
        pauses = _Pauses()
        while not self._stopping.is_set():
            began_s = time.monotonic()
            try:
                self._live(watch)
            except AlamaError as error:
                self._log.fail("deliveries_failed", message=str(error), hint=error.hint)
            except Exception as error:  # noqa: BLE001  whatever it was, another may fare better
                self._log.fail("deliveries_failed", error, message=BROKE, hint=BROKE_HINT)
            self._stopping.wait(pauses.after(time.monotonic() - began_s))

    def _live(self, watch: DeliveryWatch) -> None:
        from alama.app import delivering  # noqa: PLC0415  aiohttp is only for who sends

        installed = installation.open_installation(self._settings)
        try:
            asyncio.run(delivering.deliver(self._settings, installed, watch, self._begun))
        finally:
            with self._lock:
                self._stop = None
            installed.close()

    def _begun(self, stop: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            self._stop = partial(loop.call_soon_threadsafe, stop)
            if self._stopping.is_set():  # asked before there was anybody to ask
                stop()


class _Pauses:
    """How long it takes until a worker that died is replaced."""

    def __init__(self) -> None:
        self._next_s = PAUSE_S_MIN

    def after(self, lived_s: float) -> float:
        """Give the pause after one that lived for so long, in seconds."""
        pause_s = PAUSE_S_MIN if lived_s >= STEADY_S else self._next_s
        self._next_s = min(2 * pause_s, PAUSE_S_MAX)
        return pause_s
