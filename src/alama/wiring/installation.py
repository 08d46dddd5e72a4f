"""What commands and the service share: the database as it is found, its secrets, its stores."""

from __future__ import annotations

import getpass
import os
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.files.jurisdictions import jurisdiction
from alama.files.models import builtin
from alama.service import ids, lenders
from alama.service.applicants import Applicants
from alama.service.chance import Chance
from alama.service.clock import AnchoredClock
from alama.service.errors import InvalidName, MasterKeyMissing, StoreUnfit
from alama.service.monitoring.drift import Drift
from alama.service.monitoring.recalibration import Recalibrations
from alama.service.monitoring.report import Monitoring
from alama.service.onboarding.approval import Approval
from alama.service.onboarding.live_keys import LiveKeys
from alama.service.onboarding.remote import Remote
from alama.service.onboarding.steps import Stores
from alama.service.onboarding.terms import Agreement
from alama.service.outcomes.recording import Outcomes
from alama.service.outcomes.reviewing import Reviews
from alama.service.receipts import Receipts
from alama.service.retention import Retention
from alama.service.vault.rotation import Rotation
from alama.service.vault.vault import Vault
from alama.service.webhooks import endpoints, urls
from alama.service.webhooks.eventlog import Events
from alama.storage import database as databases
from alama.storage.acts import ActLog
from alama.storage.applicants import SqlApplicants
from alama.storage.audit import SqlTrail
from alama.storage.candidates import SqlCandidates
from alama.storage.challengers import SqlChallengers
from alama.storage.clock import SqlSeen
from alama.storage.drift import SqlDrift
from alama.storage.endpoints import SqlEndpoints
from alama.storage.events import SqlEvents
from alama.storage.histories import SqlHistories
from alama.storage.jobs import SqlJobs
from alama.storage.monitoring import SqlMonitoring
from alama.storage.outbox import SqlOutbox
from alama.storage.outcomes import SqlOutcomes
from alama.storage.pilots import SqlPilots
from alama.storage.registry import SqlRegistry
from alama.storage.retention import SqlRetention
from alama.storage.reviews import SqlReviews
from alama.storage.rotation import SqlRotation
from alama.storage.score_chain import ScoreChain
from alama.storage.scores import SqlScores
from alama.storage.upgrading import migrate
from alama.storage.vault import SqlVaultKeys
from alama.storage.witness import Witness
from alama.wiring import own_secrets

if TYPE_CHECKING:
    from alama.service.ports import Clock
    from alama.service.webhooks.urls import Reach
    from alama.settings import Settings
    from alama.storage.database import Database


# The first goes on while a machine is suspended, and not every system has it.
_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_stopwatch_ns: Final = partial(time.clock_gettime_ns, _STEADY)


def wall_us() -> int:
    """Give the time of this machine in microseconds since 1970, UTC: right or wrong.

    For what belongs to no installation; everything else goes by the clock of one.
    """
    return time.time_ns() // 1_000


def stopwatch_us() -> int:
    """Give microseconds that go on whatever becomes of the clock."""
    return _stopwatch_ns() // 1_000


class Installation(NamedTuple):
    """What commands and the service share: a database that is fit to be used, and its secrets."""

    database: Database
    clock: AnchoredClock
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
    def seen(self) -> SqlSeen:
        """The last time that its processes were sure of."""
        return SqlSeen(self.database)

    @property
    def trail(self) -> SqlTrail:
        """The audit, to be read."""
        return SqlTrail(self.database)

    @property
    def witness(self) -> Witness:
        """What notes how far the chains of the audit have come."""
        return Witness(self.database, self.log, self.chain, self.clock)

    @property
    def receipts(self) -> Receipts:
        """What proves its scores to others."""
        return Receipts(self.scores, self.vault, self.trail, SqlVaultKeys(self.database))

    @property
    def applicants(self) -> Applicants:
        """What is held on each applicant."""
        return Applicants(SqlApplicants(self.database, self.log), self.vault, self.clock)

    @property
    def reviews(self) -> Reviews:
        """What officers decided, and what became of its scores."""
        return Reviews(SqlReviews(self.database, self.log, self.vault), self.vault, self.clock)

    @property
    def outcomes(self) -> Outcomes:
        """What became of its loans."""
        return Outcomes(SqlOutcomes(self.database, self.log), self.clock)

    @property
    def recalibrations(self) -> Recalibrations:
        """What moves a model to the level of its recent loans."""
        return Recalibrations(self.onboarding, SqlMonitoring(self.database), self.clock, builtin)

    @property
    def drift(self) -> Drift:
        """Whether applicants are still those whom its models were made for."""
        return Drift(SqlDrift(self.database, self.log, self.clock), self.registry)

    @property
    def monitoring(self) -> Monitoring:
        """How its books go, and how the models that answer in them do."""
        return Monitoring(
            self.registry,
            SqlMonitoring(self.database),
            SqlDrift(self.database, self.log, self.clock),
            SqlChallengers(self.database, self.log),
            self.clock,
            builtin,
        )

    @property
    def retention(self) -> Retention:
        """For how long it is held."""
        return self.retention_at(self.clock.trusted)

    def retention_at(self, clock: Clock) -> Retention:
        """Do the same by another time, to see what would be due."""
        store = SqlRetention(self.database, self.log)
        return Retention(self.registry, store, clock, jurisdiction)

    @property
    def rotation(self) -> Rotation:
        """What replaces its keys."""
        return Rotation(SqlRotation(self.database, self.log, self.vault), self.vault, self.clock)

    @property
    def outbox(self) -> SqlOutbox:
        """What is to be sent to webhooks."""
        # Not the log of all others: a worker asks for no ring, with which they see who signs.
        log = ActLog(self.database, self.vault.signer_of_now, self.clock, operator())
        return SqlOutbox(self.database, log)

    def webhook_endpoints(self, reach: Reach) -> endpoints.Endpoints:
        """Where events are sent; `reach` says where that may be."""
        stored = SqlEndpoints(self.database, self.log, self.vault)
        check_url = partial(urls.check, reach=reach)
        stored_events = SqlEvents(self.database)
        return endpoints.Endpoints(stored, stored_events, self.vault, self.clock, check_url)

    @property
    def events(self) -> Events:
        """What was announced, and can be sent again."""
        stored = SqlEndpoints(self.database, self.log, self.vault)
        return Events(SqlEvents(self.database), stored, self.clock)

    @property
    def onboarding(self) -> Stores:
        """How far each lender has come on the way to a live key."""
        return Stores(
            self.registry,
            SqlPilots(self.database, self.log),
            SqlHistories(self.database, self.log, self.vault),
            SqlCandidates(self.database, self.log),
            SqlJobs(self.database, self.log),
        )

    @property
    def remote_onboarding(self) -> Remote:
        """What of it lenders do themselves, over HTTP."""
        return Remote(self.onboarding, self.clock, Chance(ids.RANDOM_BYTES).draw, self.agreement)

    @property
    def agreement(self) -> Agreement:
        """What a default is to a lender, and who approves its models."""
        return Agreement(self.onboarding, self.clock, jurisdiction, builtin)

    @property
    def approval(self) -> Approval:
        """Who signs for a model, and the way back from it."""
        return Approval(self.onboarding, self.clock)

    @property
    def live_keys(self) -> LiveKeys:
        """Keys of lenders whose own model answers, or who collect a history for one."""
        return LiveKeys(self.onboarding, self.clock, self.pepper)

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
        database.restore()
        if database.embedded:
            migrate.upgrade(database)
        else:
            migrate.require_fit(database)
        clock = _clock(database)
        facts = SqlRegistry(database)
        secret = own_secrets.settled_pepper(settings, facts)
        vault = _vault(settings, database, facts, clock)
        log = ActLog(database, vault.signer, clock, operator())
        registry = SqlRegistry(database, log)
        if database.embedded:
            _add_demo_lender(registry, clock)
    except BaseException:
        database.close()
        raise
    chain = ScoreChain(database, log, vault.signer)
    scores = SqlScores(database, vault, chain)
    return Installation(database, clock, registry, scores, secret, vault, log, chain)


def _clock(database: Database) -> AnchoredClock:
    """Give the time of a database: its own, or of this machine where it is a file."""
    stored = SqlSeen(database)
    source = wall_us if database.embedded else stored.server_us
    return AnchoredClock(source, _stopwatch_ns, stored)


def _vault(settings: Settings, database: Database, facts: SqlRegistry, clock: Clock) -> Vault:
    keys = SqlVaultKeys(database)
    try:
        vault = Vault(keys, own_secrets.master_keys(settings, facts), clock)
    except MasterKeyMissing as missing:
        return Vault(keys, missing, clock)
    with suppress(StoreUnfit):  # a damaged one is told by whoever signs, or verifies
        vault.signer()  # before any transaction that needs it
    return vault


def operator() -> str:
    """Give the login name of whoever runs this: what it does is theirs unless said otherwise.

    Behind sudo that is who called it, and not the user whose rights they took.
    """
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):  # the user of a container may have no name
        return f"user {os.getuid()}"


def _add_demo_lender(registry: SqlRegistry, clock: Clock) -> None:
    if not registry.lenders():
        with suppress(InvalidName):  # another process has just done it
            lenders.add(registry, clock, lenders.DEMO, "Demo lender", "KES")
