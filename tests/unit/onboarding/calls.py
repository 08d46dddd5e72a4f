"""Lenders who onboard themselves over HTTP: what tests of that share."""

from __future__ import annotations

from typing import Any

from alama.core import document
from alama.onboarding.records import Candidate, Job
from alama.onboarding.store import Stores
from tests.callers import Lender
from tests.exchanges import Received
from tests.onboarded import MODEL, a_candidate, a_history

TERMS = {"days_past_due": 30, "approvers": 1, "jurisdiction": "KE"}
HISTORIES = "/v1/onboarding/histories"


def with_terms(lender: Lender, **more: Any) -> None:
    reply = lender.ask("PUT", "/v1/onboarding/terms", TERMS | more)
    assert reply.status == 200, reply.body


def candidate_of(lender: Lender, model: Any = MODEL, **more: Any) -> Candidate:
    """A candidate of the lender that stands in the database."""
    stores, history = Stores.at(lender.installed), a_history(lender.book.lender)
    stores.histories.keep(history, b'{"rows":3}', [b"rows"])
    candidate = a_candidate(history, model_id=model.id, **more)
    stores.candidates.add(candidate, document.encode(model), b'{"pack":1}', b"<p>pack</p>")
    return candidate


def signatures(candidate: Candidate) -> str:
    return f"/v1/onboarding/candidates/{candidate.id}/signatures"


def code(reply: Received) -> str:
    said: str = reply.json()["code"]
    return said


def job_of(lender: Lender, reply: Received) -> Job:
    return Stores.at(lender.installed).jobs.find(lender.book.lender, reply.json()["id"])
