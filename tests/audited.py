"""Scores with records that open and digests that hold, and the verdict of the audit on them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from alama.core.application import may_have_been_word
from alama.core.assess import Assessment, assess
from alama.core.chain import SALT_BYTES, digest
from alama.core.intake import Intake
from alama.core.lending import draft, policy_text
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.lenders.store import Registry
from alama.platform.acts import ActLog
from alama.platform.database.database import Database
from alama.platform.files.packaged import builtin, sample_application
from alama.protection.audit.store import Trail
from alama.protection.audit.verify import Verdict, verify
from alama.scoring.records import Entry, Sealed, Unsealed, pack
from alama.scoring.store import ScoreChain, Scores
from alama.vault.vault import Vault
from tests.stores import acts_in
from tests.vaults import vault_of


@functools.cache
def said() -> Assessment:
    """What the built-in model and the default policy say of the sample application."""
    model = ReadyModel(builtin(), "KES")
    policy = ReadyPolicy(policy_text.read(draft.default_text("KES")), model)
    intake = Intake(model.catalogue, may_have_been_word)
    return assess(model, policy, intake.read(sample_application()))


def audited(entry: Entry, vault: Vault, applicant_ref: str | None = None) -> Entry:
    """The same score with a record that opens and a digest that holds."""
    ring, salt = vault.ring(entry.score.lender), os.urandom(SALT_BYTES)
    record = pack(Sealed(sample_application(), said(), salt))
    covered = digest(salt, entry.score.in_clear, record)
    subject = None if applicant_ref is None else ring.subject(entry.score.mode, applicant_ref)
    unsealed = Unsealed(subject, ring, record, entry.unsealed.reply)
    return entry._replace(digest=covered, unsealed=unsealed)


class Process:
    """What one process writes with: its scores, its chain and the log of acts."""

    def __init__(self, database: Database) -> None:
        self.vault: Vault = vault_of(database)
        self.vault.signer()
        self.log: ActLog = acts_in(database)
        self.chain = ScoreChain(database, self.log, self.vault.signer)
        self.scores = Scores(database, self.vault, self.chain)

    def give(self, *entries: Entry, applicant_ref: str | None = None) -> list[str]:
        """Commit scores together; gives their request ids."""
        self.scores.commit([audited(entry, self.vault, applicant_ref) for entry in entries])
        return [entry.score.request_id for entry in entries]


@contextmanager
def unwatched(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Nobody looks on, but what is said to be done must be what there was to do."""
    amounts: list[int] = []
    yield amounts.append
    assert sum(amounts) >= total, what


def verdict_on(
    database: Database, wanted: frozenset[bytes] = frozenset(), vault: Vault | None = None
) -> Verdict:
    """What a verification of the whole database says, by somebody who knows it from nowhere."""
    vault = vault or vault_of(database)
    lenders = Registry(database).lenders()
    return verify(Trail(database), vault, lenders, wanted, unwatched)
