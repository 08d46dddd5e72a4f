"""Lenders on their way to a live key, made up: for tests of what keeps and approves."""

from __future__ import annotations

import hashlib
import json
from itertools import count
from typing import Any

from sqlalchemy import select

from alama.core import document
from alama.core.chain import MAIN
from alama.lenders.mappings import Mappings
from alama.onboarding.approval import Approval, Signing
from alama.onboarding.histories import Histories
from alama.onboarding.jobs import Jobs
from alama.onboarding.records import (
    CANDIDATE_PREFIX,
    HISTORY_PREFIX,
    JOB_PREFIX,
    NO_GATES,
    Candidate,
    FileFormat,
    Gate,
    HistoryRecord,
    Job,
    JobKind,
    JobState,
    Pilot,
)
from alama.onboarding.store import Candidates, Pilots, Stores
from alama.platform import acts, event_bundles, ids
from alama.platform.acts import Act
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.files.asis.inspection import Mapping
from alama.protection.audit.store import Trail
from alama.training.history.report import Enough
from tests.entries import NOON_US
from tests.factories import a_model
from tests.stores import acts_in, lenders_in, registry_in
from tests.vaults import vault_of

PASSED = (Gate("auc", passed=True, words="0.71"), Gate("calibration", passed=True, words="1.02"))
FAILED = (*PASSED, Gate("psi", passed=False, words="0.31, and at most 0.25 is allowed"))
MODEL = a_model()
OTHER_MODEL = a_model(name="another")

_numbers = count(1)


def new_id(prefix: str, at_us: int = NOON_US) -> str:
    """An id that no other call has given; ids of one moment sort as they were given."""
    return ids.sortable(prefix, at_us, next(_numbers).to_bytes(ids.RANDOM_BYTES, "big"))


def stores_in(database: Database) -> Stores:
    """All that an onboarding is kept in."""
    log = acts_in(database)
    return Stores(
        registry_in(database),
        Pilots(database, log),
        Histories(database, log, vault_of(database)),
        Candidates(database, log),
        Jobs(database, log),
        Mappings(database, log, lambda: NOON_US, Mapping),
    )


def a_pilot(lender: str = "demo", **more: Any) -> Pilot:
    """Terms: 30 days, one person."""
    given: dict[str, Any] = {
        "jurisdiction": "KE",
        "days_past_due": 30,
        "approvers": 1,
        "gates": NO_GATES,
        "set_us": NOON_US,
        "set_by": "W. Mutua",
    }
    return Pilot(lender, **given | more)


DIGEST = f"sha256:{hashlib.sha256(b'rows').hexdigest()}"


def a_history(lender: str = "demo", **more: Any) -> HistoryRecord:
    """A history of 50,000 rows with enough of everything."""
    given: dict[str, Any] = {
        "id": new_id(HISTORY_PREFIX),
        "digest": DIGEST,
        "file_format": FileFormat.CSV,
        "row_count": 50_000,
        "part_count": 0,
        "days_past_due": 30,
        "enough": Enough.MODEL,
        "created_us": NOON_US,
        "kept_by": "W. Mutua",
    }
    return HistoryRecord(lender=lender, **given | more)


def a_candidate(history: HistoryRecord, **more: Any) -> Candidate:
    """A candidate of a history's lender that has passed its gates."""
    given: dict[str, Any] = {
        "id": new_id(CANDIDATE_PREFIX),
        "model_id": MODEL.id,
        "days_past_due": history.days_past_due,
        "limits": NO_GATES,
        "gates": PASSED,
        "created_us": NOON_US,
        "made_by": "W. Mutua",
    }
    return Candidate(lender=history.lender, history_id=history.id, **given | more)


def a_job(lender: str = "demo", at_us: int = NOON_US) -> Job:
    """A training run that waits."""
    return Job(
        id=new_id(JOB_PREFIX, at_us),
        lender=lender,
        kind=JobKind.TRAIN,
        order=b'{"seed":7}',
        state=JobState.WAITING,
        created_us=at_us,
        asked_by="W. Mutua",
    )


class House:
    """A database with two lenders, demo and umoja, and all that onboarding does in it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.now_us = NOON_US
        self.stores = stores_in(database)
        self.approval = Approval(self.stores, lambda: self.now_us)

    def begin(self) -> None:
        """Add the lenders."""
        lenders_in(self.database, "demo", "umoja")

    def trained(self, lender: str = "demo", model: Any = MODEL, **more: Any) -> Candidate:
        """A candidate that stands in the database, and its history with it."""
        history = a_history(lender)
        self.stores.histories.keep(history, b"{}", [b"rows"])
        candidate = a_candidate(history, model_id=model.id, **more)
        self.stores.candidates.add(candidate, document.encode(model), b'{"pack":1}')
        return candidate

    def signed(self, candidate: Candidate, person: str, key_id: str | None = None) -> bool:
        """Have somebody sign; whether the model answers from then on."""
        signing = Signing(person, "it holds what it promises", key_id)
        return self.approval.sign(candidate.lender, candidate.id, signing).live


def acts_of(database: Database) -> list[Act]:
    """All that was done, oldest first."""
    return [acts.decode(link.body) for link in Trail(database).links(MAIN, 0, 1_000)]


def announced(database: Database) -> list[tuple[str, str, object]]:
    """What live books were told, oldest first: the lender, the kind and the model."""
    held = tables.bundles
    query = select(*event_bundles.COLUMNS).where(held.c.mode == "live").order_by(held.c.id)
    with database.reading() as connection:
        rows = connection.execute(query).all()
    told = [one for row in rows for one in event_bundles.unfolded(event_bundles.Bundle._make(row))]
    return [(one.lender, one.kind, json.loads(one.payload)["data"]["model"]) for one in told]
