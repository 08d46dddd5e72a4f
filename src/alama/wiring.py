"""The composition root: settings in, running objects out. Nothing else connects the parts."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import secrets
import signal
import stat
import tempfile
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from alama import settings as settings_module
from alama.api.admission import Admission
from alama.api.asgi import Endpoints, application
from alama.api.documents import DocumentEndpoints
from alama.api.explain import ExplainEndpoint
from alama.api.scores import ScoreEndpoints
from alama.api.status import StatusEndpoints
from alama.core.errors import AlamaError
from alama.core.intake import Intake
from alama.core.product import PRODUCT
from alama.files import reasons
from alama.files.models import builtin
from alama.service import keys, lenders
from alama.service.directory import Directory
from alama.service.errors import InvalidName, StoreUnfit
from alama.service.explaining import Explaining
from alama.service.health import Health
from alama.service.limits import RateLimit
from alama.service.scoring import Scoring
from alama.service.upkeep import Upkeep
from alama.storage import database as databases
from alama.storage import migrate
from alama.storage.group_commit import GroupCommit
from alama.storage.registry import SqlRegistry
from alama.storage.scores import SqlScores
from alama.telemetry.watch import watching

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from starlette.routing import Router
    from starlette.types import ASGIApp

    from alama.service.ports import LivingLedger
    from alama.settings import Settings
    from alama.storage.database import Database
    from alama.telemetry.watch import Watch

BURST: Final = 2
"""How many seconds' worth of its rate a key may use at once."""

GARBAGE_THRESHOLD: Final = 20_000
"""New objects before the collector looks at them; 700 by default."""

PEPPER_LENGTH_MIN: Final = 32


def now_us() -> int:
    """Give the time in microseconds since 1970, UTC."""
    return time.time_ns() // 1_000


def stopwatch_us() -> int:
    """Give microseconds that go on whatever becomes of the clock."""
    return time.monotonic_ns() // 1_000


class Installation(NamedTuple):
    """What commands and the service share: a database that is fit to be used, and its secret."""

    database: Database
    registry: SqlRegistry
    scores: SqlScores
    pepper: bytes

    def __repr__(self) -> str:
        """Leave the secret out: a repr ends up in logs."""
        return f"Installation({self.database!r})"

    def close(self) -> None:
        """Let the database go."""
        self.database.close()


def open_installation(settings: Settings) -> Installation:
    """Open the database, or raise `StoreUnfit` with what to do.

    An embedded one is brought up to date first, and a new one gets the lender `demo`, so that the
    first score takes no administration.
    """
    database = databases.connect(settings.database_address)
    try:
        registry = SqlRegistry(database)
        if database.embedded:
            migrate.upgrade(database)
            _add_demo_lender(registry)
        else:
            migrate.require_current(database)
        secret = pepper(settings)
        _require_same_pepper(registry, secret)
    except BaseException:
        database.close()
        raise
    return Installation(database, registry, SqlScores(database), secret)


def _add_demo_lender(registry: SqlRegistry) -> None:
    if not registry.lenders():
        with suppress(InvalidName):  # another process has just done it
            lenders.add(registry, now_us, lenders.DEMO, "Demo lender", "KES")


def pepper(settings: Settings) -> bytes:
    """Give the secret that keys are hashed with; the first call makes one where none is set."""
    if settings.pepper is not None:
        if len(settings.pepper) < PEPPER_LENGTH_MIN:
            raise settings_module.InvalidSetting(
                f"ALAMA_PEPPER has fewer than {PEPPER_LENGTH_MIN} characters",
                hint="`openssl rand -hex 32` makes a good one",
            )
        return settings.pepper.encode()
    path = settings.home_folder / "pepper"
    settings.home_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        _write_pepper(path)
    return _read_pepper(path)


def _read_pepper(path: Path) -> bytes:
    """Read the secret, or refuse a file that is damaged or that everyone can read."""
    if path.stat().st_mode & stat.S_IRWXO:
        raise StoreUnfit(
            f"everyone on this machine can read the pepper, {path}", hint=f"`chmod 600 {path}`"
        )
    secret = path.read_bytes().strip()
    if len(secret) < PEPPER_LENGTH_MIN or not secret.isascii():
        raise StoreUnfit(
            f"{path} is no pepper: it wants {PEPPER_LENGTH_MIN} ASCII characters or more",
            hint="put it back as it was; only where no key was ever issued, remove it, and the "
            "next start makes a new one",
        )
    return secret


def _write_pepper(path: Path) -> None:
    """Write a new secret, readable by its owner alone, unless another process has been quicker.

    The file appears with its content: a process that read an empty one would hash with nothing.
    """
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix="pepper-") as file:
        file.write(secrets.token_hex(32))
        file.flush()
        os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(file.name, path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make what has appeared in a folder outlive a power cut: keys hashed with it will."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _require_same_pepper(registry: SqlRegistry, secret: bytes) -> None:
    """Refuse a pepper under which no key of this database would be recognised."""
    found = keys.fingerprint(secret)
    if registry.settle_fact("pepper", found) != found:
        raise StoreUnfit(
            "the keys of this database were hashed with another pepper",
            hint="set ALAMA_PEPPER, or ALAMA_HOME with its file pepper, as it was before",
        )


def service() -> ASGIApp:
    """Make the application of one worker process, as the environment says."""
    settings = settings_module.read(os.environ)
    watch = watching(settings.log, settings.metrics_port)
    try:
        installed = open_installation(settings)
        ledger = GroupCommit(installed.scores, watch.committed)
        watch.follow(lambda: ledger.depth)
        return assemble(settings, installed, ledger, watch)
    except AlamaError as error:
        # Not a traceback a second: the supervisor goes on trying until the database is back.
        watch.log.fail("worker_failed", message=str(error), hint=error.hint)
        raise SystemExit(1) from None


def assemble(
    settings: Settings, installed: Installation, ledger: LivingLedger, watch: Watch
) -> ASGIApp:
    """Put the service together on a ledger; a benchmark brings one that keeps nothing."""
    registry, scores = installed.registry, installed.scores
    directory = Directory(registry, scores, now_us, stopwatch_us, installed.pepper, builtin)
    for book, error in directory.warm():
        watch.log.fail("model_unavailable", lender=book.lender, mode=book.mode, message=str(error))
    health = Health(registry, ledger, stopwatch_us)
    upkeep = Upkeep(directory, registry, scores, now_us, watch.chore_failed)
    admission = Admission(directory, RateLimit(settings.rate_limit, BURST * settings.rate_limit))
    intake, languages = Intake(PRODUCT), reasons.languages()
    explaining = Explaining(intake)
    endpoints = Endpoints(
        scores=ScoreEndpoints(admission, Scoring(intake, ledger), scores, languages),
        explain=ExplainEndpoint(admission, explaining, languages),
        status=StatusEndpoints(health, builtin().id),
        documents=DocumentEndpoints(),
    )

    @asynccontextmanager
    async def lifespan(_: Router) -> AsyncIterator[None]:
        _stop_with_parent()
        _settle_memory()
        watch.start()
        ledger.start()
        chores = asyncio.create_task(upkeep.run())
        yield
        # The server has answered every request by now; what is left is to put things away.
        chores.cancel()
        explaining.close()
        await ledger.close()
        await upkeep.note_key_use()
        installed.close()
        watch.close()

    return application(endpoints, now_us, watch, lifespan)


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
