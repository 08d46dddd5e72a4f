"""A whole installation on one database, with hands on its clock: scores, applicants, retention."""

from __future__ import annotations

import asyncio
import functools
import json
import time
from typing import Any

from alama.core import document
from alama.core.lending import draft, policy_text
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.lenders import keys
from alama.lenders.records import Key
from alama.lenders.store import Registry
from alama.monitoring.reviews import Reviews, ReviewStore
from alama.platform.acts import Act, ActLog, decode
from alama.platform.book import USUAL_SCOPES, Book
from alama.platform.database.database import Database
from alama.platform.errors import Erased
from alama.platform.files.packaged import builtin, jurisdiction
from alama.platform.http.exchange import Arrival
from alama.protection.applicants import Applicants, ApplicantStore
from alama.protection.audit.store import Trail
from alama.protection.retention import Retention, RetentionStore
from alama.scoring.directory import ActiveModel, Caller
from alama.scoring.lists import NO_LISTS, ListKeeping
from alama.scoring.replay import Difference, recall, replay
from alama.scoring.scoring import Answer, Given, Scoring, only_once
from alama.scoring.store import ScoreChain, Scores
from alama.vault.keys import Masters
from alama.vault.store import SqlVaultKeys
from alama.vault.vault import Vault
from tests.clocks import HandClock
from tests.entries import DEMO, NOON_US, a_request_id
from tests.stored import CommitAtOnce
from tests.vaults import MASTERS

DAY_US = 86_400 * 1_000_000

APPLICATION: dict[str, Any] = {
    "mobile_money_months": 24,
    "monthly_inflow": 18_500.0,
    "stability_score": 0.7,
    "airtime_regularity": 0.8,
}


@functools.cache
def the_active_model() -> ActiveModel:
    """The built-in model and the default policy, in KES."""
    ready = ReadyModel(builtin(), "KES")
    return ActiveModel(ready, ReadyPolicy(policy_text.read(draft.default_text("KES")), ready))


class House:
    """One process of an installation with the lender `demo`; a second one is made the same way."""

    def __init__(self, database: Database, clock: HandClock, masters: Masters = MASTERS) -> None:
        self.database, self.clock = database, clock
        self.vault = Vault(SqlVaultKeys(database), masters, clock)
        self.vault.signer()
        self.log = ActLog(database, self.vault.signer, clock, "a test")
        self.registry = Registry(database, self.log)
        self.chain = ScoreChain(database, self.log, self.vault.signer)
        self.scores = Scores(database, self.vault, self.chain)
        self.lists = ListKeeping(database, self.log, self.vault, clock)
        self.applicants = Applicants(ApplicantStore(database, self.log), self.vault, clock)
        self.reviews = Reviews(ReviewStore(database, self.log, self.vault), self.vault, clock)
        store = RetentionStore(database, self.log)
        self.retention = Retention(self.registry, store, clock.trusted, jurisdiction)
        if not self.registry.lenders():
            keys.add_lender(self.registry, clock, "demo", "Demo lender", "KES")
            model, text = the_active_model().model.model, draft.default_text("KES")
            self.registry.keep_model(model.id, document.encode(model), clock())
            self.registry.keep_policy(the_active_model().policy.id, text, clock())

    def ask(
        self,
        applicant_ref: str | None = None,
        idempotency_key: str | None = None,
        book: Book = DEMO,
        **fields: Any,
    ) -> Answer:
        """Score an application through the use case; the reply is the request id."""
        named = {} if applicant_ref is None else {"applicant_ref": applicant_ref}
        body = json.dumps(APPLICATION | named | fields).encode()
        once = only_once(idempotency_key.encode(), body, b"") if idempotency_key else None
        key = Key("key_1", book.lender, book.mode, b"", "abcd", USUAL_SCOPES, NOON_US)
        active = the_active_model()._replace(lists=self.scores.lists(book, NO_LISTS))
        caller = Caller(key, book, active, self.vault.ring(book.lender))
        arrival = Arrival(a_request_id(self.clock()), self.clock(), time.perf_counter())
        scoring = Scoring(CommitAtOnce(self.scores), self.vault, self.scores.find)
        return asyncio.run(scoring.score(caller, arrival, body, _request_id, once))

    def score(self, applicant_ref: str | None = None, book: Book = DEMO, **fields: Any) -> str:
        """Score an application; gives the request id."""
        return self.ask(applicant_ref, book=book, **fields).reply.decode()

    def replayed(self, request_id: str, book: Book = DEMO) -> tuple[Difference, ...]:
        """What differs when a score is given again; `Erased` if it cannot be."""
        return replay(recall(self.registry, self.vault, self.scores.find(book, request_id)))

    def is_erased(self, request_id: str, book: Book = DEMO) -> bool:
        try:
            self.replayed(request_id, book)
        except Erased:
            return True
        return False

    def acts(self, kind: str) -> list[Act]:
        """Acts of a kind, oldest first."""
        links = Trail(self.database).links("main", 0, 10_000)
        return [decode(link.body) for link in links if link.kind == kind]


def _request_id(given: Given) -> bytes:
    return given.request_id.encode()
