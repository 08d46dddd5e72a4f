"""The service of one process, put together."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
import time
from contextlib import asynccontextmanager
from multiprocessing import connection
from typing import TYPE_CHECKING, Final

from alama.app import openapi
from alama.app.served import Running, Served
from alama.app.upkeep import Keepers, Upkeep
from alama.app.watching import watching
from alama.core.errors import AlamaError
from alama.lenders.installation import Installation, open_installation
from alama.lenders.limits import Pace, RateLimit, Sharing, SqlRates
from alama.memory.store import Memory
from alama.monitoring.api import WAITING_EACH_MAX, WAITING_MAX
from alama.monitoring.drift import Drift
from alama.onboarding.store import Stores
from alama.platform import settings as platform_settings
from alama.platform.clock import follow, stopwatch_us, wall_us
from alama.platform.database import database as databases
from alama.platform.errors import StoreUnavailable
from alama.platform.files.packaged import builtin
from alama.platform.http.endpoint import application
from alama.platform.http.status import HealthCheck
from alama.platform.timeouts import WorkQueue
from alama.protection.audit.chain_checkpoint import ChainCheckpoint
from alama.protection.audit.checks import damaged_copy
from alama.protection.retention import Retention
from alama.scoring.admission import Admission
from alama.scoring.directory import Directory
from alama.scoring.explaining import Explaining
from alama.scoring.group_commit import GroupCommit, LivingLedger
from alama.scoring.scoring import Scoring
from alama.scoring.store import Scores
from alama.statements.desk import Desk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.routing import Router
    from starlette.types import ASGIApp

    from alama.lenders.store import Registry
    from alama.platform.settings import Settings
    from alama.scoring.telemetry import ServiceWatch


BURST: Final = 2
"""How many seconds' worth of its rate a key may use at once."""

PACE: Final = Pace(every_s=0.25, hurried_s=0.005)
PACE_OF_A_FILE: Final = Pace(every_s=1.0, hurried_s=0.25)
"""How often processes tell each other of requests; a file has one writer at a time."""

AWAY_S: Final = 1.0
"""Until a database that did not answer is asked again."""

GARBAGE_THRESHOLD: Final = 20_000
"""New objects before the collector looks at them; 700 by default."""


def service() -> ASGIApp:
    """Make the application of one worker process, as the environment says."""
    settings = platform_settings.read(os.environ)
    watch = watching(settings.log, settings.metrics_port)
    try:
        databases.require_file(settings.database_address)
        installed = _opened(settings, watch)
        scores = Scores.at(installed)
        ledger = GroupCommit(watch.writer(scores), watch.committed)
        checkpoints = installed.database.checkpoints
        watch.follow(lambda: ledger.depth, checkpoints)
        if checkpoints is not None:
            checkpoints.tell = watch.log.fail
        return watch.around(assemble(settings, installed, scores, watch.ledger(ledger), watch))
    except AlamaError as error:
        watch.log.fail("worker_failed", message=str(error), hint=error.hint)
        raise SystemExit(1) from None


def _opened(settings: Settings, watch: ServiceWatch) -> Installation:
    """Open the installation; a worker that takes the place of another waits for its database.

    Were it to die of it, the next would, and to start one after the other keeps a core busy.
    """
    supervisor = multiprocessing.parent_process()
    is_told = False
    while True:
        try:
            return open_installation(settings)
        except StoreUnavailable as error:
            if supervisor is None:
                raise
            if not is_told:
                watch.log.fail("worker_failed", message=str(error), hint=error.hint)
                is_told = True
            if connection.wait([supervisor.sentinel], AWAY_S):
                raise SystemExit(1) from None  # nobody is left to work for


def assemble(
    settings: Settings,
    installed: Installation,
    scores: Scores,
    ledger: LivingLedger,
    watch: ServiceWatch,
) -> ASGIApp:
    """Put the service together on a ledger; a benchmark brings one that keeps nothing."""
    registry, clock, vault = installed.registry, installed.clock, installed.vault
    directory = Directory(registry, scores, clock, stopwatch_us, installed.pepper, builtin, vault)
    _warm(directory, registry, watch)
    health = HealthCheck(registry, ledger, vault, stopwatch_us)
    upkeep = _upkeep(installed, scores, directory, watch)
    limit = RateLimit(settings.rate_limit, BURST * settings.rate_limit)
    memory = Memory(installed.database, vault)
    scoring, explaining = Scoring(ledger, vault, scores.find), Explaining(memory.of)
    reports = WorkQueue("reports", WAITING_MAX, WAITING_EACH_MAX)
    admission, desk = Admission(directory, limit), Desk()
    running = Running(admission, scores, scoring, explaining, reports, desk, health)
    served = Served.at(installed, running, settings.webhook_reach, builtin().id, openapi.document)

    @asynccontextmanager
    async def lifespan(_: Router) -> AsyncIterator[dict[str, object]]:
        _stop_with_parent()
        _settle_memory()
        watch.start()
        ledger.start()
        chores = [upkeep.run(), follow(clock, wall_us, watch), scoring.forget_the_idle()]
        if settings.workers > 1 or not installed.database.embedded:  # others may be there
            chores.append(_sharing(installed, limit, watch).run())
        tasks = [asyncio.create_task(chore) for chore in chores]
        yield {"watch": watch, "clock": clock}  # for the protocol, which refuses by itself
        # The server has answered every request by now; what is left is to put things away.
        for task in tasks:
            task.cancel()
        explaining.close()
        reports.close()
        desk.close()
        await ledger.close()
        await upkeep.note_key_use()
        await upkeep.close_chain()
        installed.close()
        watch.close()

    return application(served, clock, watch, lifespan)


def _warm(directory: Directory, registry: Registry, watch: ServiceWatch) -> None:
    """Make ready what answers in each book, and say where it cannot be used.

    That keeps what the package brings anew, so that damage there has to be told before.
    """
    if (damaged := damaged_copy(registry, builtin())) is not None:
        message = f"{damaged}; it is kept anew from the package"
        watch.log.fail("copy_damaged", None, message=message)
    for book, error in directory.warm():
        watch.model_unavailable(book, error)


def _upkeep(
    installed: Installation, scores: Scores, directory: Directory, watch: ServiceWatch
) -> Upkeep:
    database, log, clock = installed.database, installed.log, installed.clock
    return Upkeep(
        directory,
        installed.registry,
        Keepers(
            scores,
            Retention.at(installed),
            Stores.at(installed).histories,
            Drift.at(installed),
            ChainCheckpoint(database, log, scores.chain, clock),
        ),
        clock,
        watch,
    )


def _sharing(installed: Installation, limit: RateLimit, watch: ServiceWatch) -> Sharing:
    database = installed.database
    pace = PACE_OF_A_FILE if database.embedded else PACE
    return Sharing(
        limit, SqlRates(database, installed.clock), pace, _requests_us, watch.chore_failed
    )


def _requests_us() -> int:
    """Give microseconds by the stopwatch that requests are timed with."""
    return time.perf_counter_ns() // 1_000


def _settle_memory() -> None:
    """Take what lives for ever out of the garbage collector's rounds, and make them rarer.

    A request leaves no cycles behind; looking for them after every few would cost some 5 % of it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)


def _stop_with_parent() -> None:
    """Stop this worker when its supervisor is gone, however it went.

    A worker that outlives a killed supervisor holds the port, and the next start fails.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    loop = asyncio.get_running_loop()
    sentinel = parent.sentinel

    def stop() -> None:
        loop.remove_reader(sentinel)  # it stays readable for ever
        os.kill(os.getpid(), signal.SIGTERM)

    loop.add_reader(sentinel, stop)
