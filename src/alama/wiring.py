"""The composition root: settings in, running objects out. Nothing else connects the parts."""

from __future__ import annotations

import asyncio
import gc
import getpass
import multiprocessing
import os
import signal
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path
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
from alama.files.jurisdictions import jurisdiction
from alama.files.models import builtin
from alama.service import keys, lenders
from alama.service.applicants import Applicants
from alama.service.directory import Directory
from alama.service.errors import InvalidName, MasterKeyMissing, StoreUnfit
from alama.service.explaining import Explaining
from alama.service.health import Health
from alama.service.limits import RateLimit
from alama.service.receipts import Receipts
from alama.service.retention import Retention
from alama.service.scoring import Scoring
from alama.service.upkeep import Upkeep
from alama.service.vault import master as masters
from alama.service.vault.master import Master, Masters
from alama.service.vault.rotation import Rotation
from alama.service.vault.vault import Vault
from alama.storage import database as databases
from alama.storage import migrate, secret_file
from alama.storage.acts import ActLog
from alama.storage.applicants import SqlApplicants
from alama.storage.audit import SqlTrail
from alama.storage.beginning import begin_audit
from alama.storage.group_commit import GroupCommit
from alama.storage.plain import SqlPlain
from alama.storage.registry import SqlRegistry
from alama.storage.retention import SqlRetention
from alama.storage.rotation import SqlRotation
from alama.storage.score_chain import ScoreChain
from alama.storage.scores import SqlScores
from alama.storage.vault import MASTER_FACT, SqlVaultKeys
from alama.storage.witness import Witness
from alama.telemetry.watch import watching

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

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
PEPPER_FACT: Final = "pepper"


def now_us() -> int:
    """Give the time in microseconds since 1970, UTC."""
    return time.time_ns() // 1_000


def stopwatch_us() -> int:
    """Give microseconds that go on whatever becomes of the clock."""
    return time.monotonic_ns() // 1_000


class Installation(NamedTuple):
    """What commands and the service share: a database that is fit to be used, and its secrets."""

    database: Database
    registry: SqlRegistry
    scores: SqlScores
    pepper: bytes
    vault: Vault
    log: ActLog
    chain: ScoreChain

    def __repr__(self) -> str:
        """Leave the secret out: a repr ends up in logs."""
        return f"Installation({self.database!r})"

    @property
    def trail(self) -> SqlTrail:
        """The audit, to be read."""
        return SqlTrail(self.database)

    @property
    def witness(self) -> Witness:
        """What notes how far the chains of the audit have come."""
        return Witness(self.database, self.log, self.chain, now_us)

    @property
    def receipts(self) -> Receipts:
        """What proves its scores to others."""
        return Receipts(self.scores, self.vault, self.trail, SqlVaultKeys(self.database))

    @property
    def applicants(self) -> Applicants:
        """What is held on each applicant."""
        return Applicants(SqlApplicants(self.database, self.log), self.vault, now_us)

    @property
    def retention(self) -> Retention:
        """For how long it is held."""
        store = SqlRetention(self.database, self.log)
        return Retention(self.registry, store, now_us, jurisdiction)

    @property
    def rotation(self) -> Rotation:
        """What replaces its keys."""
        return Rotation(SqlRotation(self.database, self.log, self.vault), self.vault, now_us)

    @property
    def plain(self) -> SqlPlain:
        """What was kept before anything was sealed."""
        return SqlPlain(self.database, self.vault, self.log, now_us)

    def close(self) -> None:
        """Let the database go."""
        self.database.close()


def open_installation(settings: Settings) -> Installation:
    """Open the database with its keys, or raise `StoreUnfit` with what to do.

    An embedded one is brought up to date first, and a new one gets the lender `demo`, so that the
    first score takes no administration.
    """
    opened = open_as_it_is(settings)
    try:
        opened.vault.signer()
    except BaseException:
        opened.close()
        raise
    return opened


def open_as_it_is(settings: Settings) -> Installation:
    """Do the same though the master key is missing: then what needs a key raises that.

    Lists can be read without one. What is done is noted in the signed audit, and needs it.
    """
    database = databases.connect(settings.database_address)
    try:
        if database.embedded:
            migrate.upgrade(database)
        else:
            migrate.require_current(database)
        facts = SqlRegistry(database)
        secret = pepper(settings, facts.fact(PEPPER_FACT))
        _require_same_pepper(facts, secret)
        vault = _vault(settings, database, facts)
        log = ActLog(database, vault.signer, now_us, _operator())
        registry = SqlRegistry(database, log)
        begin_audit(database, registry, log)
        if database.embedded:
            _add_demo_lender(registry)
    except BaseException:
        database.close()
        raise
    chain = ScoreChain(database, log, vault.signer)
    scores = SqlScores(database, vault, chain)
    return Installation(database, registry, scores, secret, vault, log, chain)


def _vault(settings: Settings, database: Database, facts: SqlRegistry) -> Vault:
    keys = SqlVaultKeys(database)
    try:
        vault = Vault(keys, master_keys(settings, facts), now_us)
    except MasterKeyMissing as missing:
        return Vault(keys, missing, now_us)
    with suppress(StoreUnfit):  # a damaged one is told by whoever signs, or verifies
        vault.signer()  # before any transaction that needs it
    return vault


def _operator() -> str:
    """Give the login name of whoever runs this: what it does is theirs unless said otherwise."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the user of a container may have no name
        return f"user {os.getuid()}"


def _add_demo_lender(registry: SqlRegistry) -> None:
    if not registry.lenders():
        with suppress(InvalidName):  # another process has just done it
            lenders.add(registry, now_us, lenders.DEMO, "Demo lender", "KES")


def pepper(settings: Settings, wanted: str | None = None) -> bytes:
    """Give the secret that keys are hashed with; the first call makes one where none is set.

    `wanted` is the fingerprint of the one that the database knows, if it knows one.
    """
    if settings.pepper is not None:
        if len(settings.pepper) < PEPPER_LENGTH_MIN:
            raise settings_module.InvalidSetting(
                f"ALAMA_PEPPER has fewer than {PEPPER_LENGTH_MIN} characters",
                hint="`openssl rand -hex 32` makes a good one",
            )
        return settings.pepper.encode()
    path = settings.home_folder / "pepper"
    if not path.exists():
        if wanted is not None:
            # Never a new one in the place of one that is lost: it would only hide what is wrong.
            raise _another_pepper()
        secret_file.make(path)
    secret = secret_file.read(path, "pepper")
    if len(secret) < PEPPER_LENGTH_MIN or not secret.isascii():
        raise StoreUnfit(
            f"{path} is no pepper: it wants {PEPPER_LENGTH_MIN} ASCII characters or more",
            hint="put it back as it was; only where no key was ever issued, remove it, and the "
            "next start makes a new one",
        )
    return secret


def _require_same_pepper(registry: SqlRegistry, secret: bytes) -> None:
    """Refuse a pepper under which no key of this database would be recognised."""
    found = keys.fingerprint(secret)
    if registry.settle_fact(PEPPER_FACT, found) != found:
        raise _another_pepper()


def _another_pepper() -> StoreUnfit:
    return StoreUnfit(
        "the keys of this database were hashed with another pepper",
        hint="set ALAMA_PEPPER, or ALAMA_HOME with its file pepper, as it was before",
    )


def master_keys(settings: Settings, registry: SqlRegistry) -> Masters:
    """Give the key that all others are wrapped under, and the one before it while it is rotated.

    The first call makes one where none is set. A database that has one is refused any other.
    """
    wanted = registry.fact(MASTER_FACT)
    found = Masters(_master_key(settings, wanted), _old_master_key(settings))
    settled = wanted or registry.settle_fact(MASTER_FACT, found.current.id)
    found.named(settled)
    return found


def _master_key(settings: Settings, wanted: str | None) -> Master:
    if settings.master_key is not None:
        return _read_master(settings.master_key, "ALAMA_MASTER_KEY")
    path = settings.master_key_path
    if settings.master_key_file is None and not path.exists():
        if wanted is not None:
            # Never a new one in the place of one that is lost: it would only hide what is wrong.
            raise MasterKeyMissing(wanted, None)
        secret_file.make(path)
    return _master_in(path, "ALAMA_MASTER_KEY_FILE")


def _old_master_key(settings: Settings) -> Master | None:
    if settings.master_key_old is not None:
        return _read_master(settings.master_key_old, "ALAMA_MASTER_KEY_OLD")
    if settings.master_key_old_file is None:
        return None
    return _master_in(Path(settings.master_key_old_file), "ALAMA_MASTER_KEY_OLD_FILE")


def _master_in(path: Path, variable: str) -> Master:
    try:
        text = secret_file.read(path, "master key").decode("latin-1")
    except OSError as error:
        raise settings_module.InvalidSetting(
            f"cannot read the master key {path}: {error.strerror}",
            hint=f"{variable} says where it is; put it back as it was",
        ) from error
    return _read_master(text, str(path))


def _read_master(text: str, source: str) -> Master:
    if not masters.is_master(text):
        raise settings_module.InvalidSetting(
            f"{source} is no master key: it wants 64 hexadecimal digits",
            hint="put it back as it was; for a new installation `openssl rand -hex 32` makes one",
        )
    return masters.master(text)


def service() -> ASGIApp:
    """Make the application of one worker process, as the environment says."""
    settings = settings_module.read(os.environ)
    watch = watching(settings.log, settings.metrics_port)
    try:
        databases.require_file(settings.database_address)
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
    vault = installed.vault
    directory = Directory(registry, scores, now_us, stopwatch_us, installed.pepper, builtin, vault)
    for book, error in directory.warm():
        watch.log.fail("model_unavailable", lender=book.lender, mode=book.mode, message=str(error))
    health = Health(registry, ledger, vault, stopwatch_us)
    upkeep = Upkeep(
        directory,
        registry,
        scores,
        installed.retention,
        installed.witness,
        now_us,
        watch.chore_failed,
    )
    admission = Admission(directory, RateLimit(settings.rate_limit, BURST * settings.rate_limit))
    intake, languages = Intake(PRODUCT), reasons.languages()
    scoring, explaining = Scoring(intake, ledger, vault), Explaining(intake)
    endpoints = Endpoints(
        scores=ScoreEndpoints(admission, scoring, scores, vault, installed.receipts, languages),
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
        await upkeep.close_chain()
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
