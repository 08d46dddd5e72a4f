"""What commands and the service share: the database as it is found, its secrets, its stores."""

from __future__ import annotations

import getpass
import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from alama.lenders import keys as lenders
from alama.lenders import secrets
from alama.lenders.store import Registry
from alama.monitoring.challengers import Challengers
from alama.monitoring.drift import Drift, DriftStore
from alama.monitoring.outcomes import Outcomes, OutcomeStore
from alama.monitoring.recalibration import Recalibrations
from alama.monitoring.report import Monitoring
from alama.monitoring.reviews import Reviews, ReviewStore
from alama.monitoring.store import SqlMonitoring
from alama.onboarding.approval import Approval, LiveKeys
from alama.onboarding.histories import Histories
from alama.onboarding.job_store import Jobs
from alama.onboarding.remote import OnboardingApi
from alama.onboarding.steps import Stores
from alama.onboarding.store import Candidates, Pilots
from alama.onboarding.terms import Agreement
from alama.platform import addresses, ids
from alama.platform.acts import ActLog
from alama.platform.clock import AnchoredClock, Clock, _stopwatch_ns, wall_us
from alama.platform.clock_store import SqlSeen
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.errors import InvalidName, MasterKeyMissing, StoreUnfit
from alama.platform.files.packaged import builtin, jurisdiction
from alama.platform.ids import RandomPool
from alama.protection.applicants import Applicants, ApplicantStore
from alama.protection.audit.chain_checkpoint import ChainCheckpoint
from alama.protection.audit.store import Trail
from alama.protection.receipts import Receipts
from alama.protection.retention import Retention, RetentionStore
from alama.protection.rotation import Rotation, RotationStore
from alama.scoring.store import ScoreChain, Scores
from alama.vault.store import SqlVaultKeys
from alama.vault.vault import Vault
from alama.webhooks import endpoints
from alama.webhooks.endpoint_store import EndpointStore
from alama.webhooks.event_store import EventStore
from alama.webhooks.events import Events
from alama.webhooks.outbox import Outbox

if TYPE_CHECKING:
    from alama.platform.addresses import Reach
    from alama.platform.database.database import Database
    from alama.platform.settings import Settings


class Installation(NamedTuple):
    """What commands and the service share: a database that is fit to be used, and its secrets."""

    database: Database
    clock: AnchoredClock
    registry: Registry
    scores: Scores
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
    def trail(self) -> Trail:
        """The audit, to be read."""
        return Trail(self.database)

    @property
    def witness(self) -> ChainCheckpoint:
        """What notes how far the chains of the audit have come."""
        return ChainCheckpoint(self.database, self.log, self.chain, self.clock)

    @property
    def receipts(self) -> Receipts:
        """What proves its scores to others."""
        return Receipts(self.scores, self.vault, self.trail, SqlVaultKeys(self.database))

    @property
    def applicants(self) -> Applicants:
        """What is held on each applicant."""
        return Applicants(ApplicantStore(self.database, self.log), self.vault, self.clock)

    @property
    def reviews(self) -> Reviews:
        """What officers decided, and what became of its scores."""
        return Reviews(ReviewStore(self.database, self.log, self.vault), self.vault, self.clock)

    @property
    def outcomes(self) -> Outcomes:
        """What became of its loans."""
        return Outcomes(OutcomeStore(self.database, self.log), self.clock)

    @property
    def recalibrations(self) -> Recalibrations:
        """What moves a model to the level of its recent loans."""
        return Recalibrations(self.onboarding, SqlMonitoring(self.database), self.clock, builtin)

    @property
    def drift(self) -> Drift:
        """Whether applicants are still those whom its models were made for."""
        return Drift(DriftStore(self.database, self.log, self.clock), self.registry)

    @property
    def monitoring(self) -> Monitoring:
        """How its books go, and how the models that answer in them do."""
        return Monitoring(
            self.registry,
            SqlMonitoring(self.database),
            DriftStore(self.database, self.log, self.clock),
            Challengers(self.database, self.log),
            self.clock,
            builtin,
        )

    @property
    def retention(self) -> Retention:
        """For how long it is held."""
        return self.retention_at(self.clock.trusted)

    def retention_at(self, clock: Clock) -> Retention:
        """Do the same by another time, to see what would be due."""
        store = RetentionStore(self.database, self.log)
        return Retention(self.registry, store, clock, jurisdiction)

    @property
    def rotation(self) -> Rotation:
        """What replaces its keys."""
        return Rotation(RotationStore(self.database, self.log, self.vault), self.vault, self.clock)

    @property
    def outbox(self) -> Outbox:
        """What is to be sent to webhooks."""
        # Not the log of all others: a worker asks for no ring, with which they see who signs.
        log = ActLog(self.database, self.vault.signer_of_now, self.clock, operator())
        return Outbox(self.database, log)

    def webhook_endpoints(self, reach: Reach) -> endpoints.Endpoints:
        """Where events are sent; `reach` says where that may be."""
        stored = EndpointStore(self.database, self.log, self.vault)
        check_url = partial(addresses.check, reach=reach)
        stored_events = EventStore(self.database)
        return endpoints.Endpoints(stored, stored_events, self.vault, self.clock, check_url)

    @property
    def events(self) -> Events:
        """What was announced, and can be sent again."""
        stored = EndpointStore(self.database, self.log, self.vault)
        return Events(EventStore(self.database), stored, self.clock)

    @property
    def onboarding(self) -> Stores:
        """How far each lender has come on the way to a live key."""
        return Stores(
            self.registry,
            Pilots(self.database, self.log),
            Histories(self.database, self.log, self.vault),
            Candidates(self.database, self.log),
            Jobs(self.database, self.log),
        )

    @property
    def remote_onboarding(self) -> OnboardingApi:
        """What of it lenders do themselves, over HTTP."""
        return OnboardingApi(
            self.onboarding, self.clock, RandomPool(ids.RANDOM_BYTES).draw, self.agreement
        )

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
        facts = Registry(database)
        secret = secrets.settled_pepper(settings, facts)
        vault = _vault(settings, database, facts, clock)
        log = ActLog(database, vault.signer, clock, operator())
        registry = Registry(database, log)
        if database.embedded:
            _add_demo_lender(registry, clock)
    except BaseException:
        database.close()
        raise
    chain = ScoreChain(database, log, vault.signer)
    scores = Scores(database, vault, chain)
    return Installation(database, clock, registry, scores, secret, vault, log, chain)


def _clock(database: Database) -> AnchoredClock:
    """Give the time of a database: its own, or of this machine where it is a file."""
    stored = SqlSeen(database)
    source = wall_us if database.embedded else stored.server_us
    return AnchoredClock(source, _stopwatch_ns, stored)


def _vault(settings: Settings, database: Database, facts: Registry, clock: Clock) -> Vault:
    keys = SqlVaultKeys(database)
    try:
        vault = Vault(keys, secrets.master_keys(settings, facts), clock)
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


def _add_demo_lender(registry: Registry, clock: Clock) -> None:
    if not registry.lenders():
        with suppress(InvalidName):  # another process has just done it
            lenders.add_lender(registry, clock, lenders.DEMO, "Demo lender", "KES")
