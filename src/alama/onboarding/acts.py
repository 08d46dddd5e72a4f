"""What was done on the way to a live key, as the log of acts has it.

Nothing of what a borrower said: a history is named by its id and the hash of its file.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from alama.onboarding.records import Candidate, HistoryRecord, Job, JobKind, Pilot, Signature
from alama.platform.acts import (
    GATES,
    GATES_FAILED,
    GATES_HASH,
    LIMITS,
    PACK_HASH,
    PAGE_HASH,
    REASON,
    REPORT_HASH,
    Act,
    ActKind,
    Detail,
    act_in_book,
)
from alama.platform.book import Book, Mode

if TYPE_CHECKING:
    from alama.lenders.records import Signed


def pilot_set(pilot: Pilot, reason: str | None = None) -> Act:
    """Say what was agreed; `reason` is why fewer people approve than before, where they do."""
    details: dict[str, Detail] = {
        "jurisdiction": pilot.jurisdiction,
        "days_past_due": pilot.days_past_due,
        "approvers": pilot.approvers,
        GATES: pilot.gates,
        "set_us": pilot.set_us,
        "set_by": pilot.set_by,
    }
    if reason is not None:
        details[REASON] = reason
    return Act(ActKind.PILOT_SET, pilot.lender, details=details, by=pilot.set_by)


def shadow_begun(lender: str, at_us: int, by: str) -> Act:
    return act_in_book(
        ActKind.SHADOW_BEGUN, Book(lender, Mode.LIVE), details={"shadow_us": at_us}, by=by
    )


def history_kept(record: HistoryRecord, report: bytes) -> Act:
    details: dict[str, Detail] = {"file": record.digest, "rows": record.row_count}
    details |= doubts(report)
    return Act(ActKind.HISTORY_KEPT, record.lender, None, record.id, details, record.kept_by)


def history_forgotten(record: HistoryRecord, by: str) -> Act:
    return Act(
        ActKind.HISTORY_FORGOTTEN, record.lender, None, record.id, {"file": record.digest}, by
    )


def job_asked(job: Job) -> Act:
    """Say that a file came in that is to be read, or that a model is to be trained."""
    kind = ActKind.HISTORY_RECEIVED if job.kind is JobKind.READ else ActKind.TRAINING_ASKED
    return Act(kind, job.lender, None, job.id, by=job.asked_by)


def candidate_made(candidate: Candidate, judgement: dict[str, Detail]) -> Act:
    """Say what was trained on what, by what it was judged and how many gates it failed.

    `judgement` gives the last argument: what those who sign will read.
    """
    details: dict[str, Detail] = {
        "model_id": candidate.model_id,
        "history_id": candidate.history_id,
        GATES_FAILED: len(candidate.failed),
        "days_past_due": candidate.days_past_due,
        LIMITS: candidate.limits,
        "created_us": candidate.created_us,
    }
    about = details | judgement
    return Act(
        ActKind.CANDIDATE_MADE, candidate.lender, None, candidate.id, about, candidate.made_by
    )


def judgement(gates: object, pack: object, page: object) -> dict[str, Detail]:
    """Say what was found out about a candidate, each part by its hash.

    `gates` is JSON as it is stored: one that failed must not become one that has passed. The pack
    and its page are bytes, and the page may be None. Somebody may have put anything there.
    """
    return {GATES_HASH: _hash(gates), PACK_HASH: _hash(pack), PAGE_HASH: _hash(page)}


def doubts(report: object) -> dict[str, Detail]:
    """Say what was found in a history by the hash of its report; as above, it may be anything."""
    return {REPORT_HASH: _hash(report)}


def _hash(stored: object) -> str | None:
    if stored is None:
        return None
    text = stored if isinstance(stored, bytes) else str(stored).encode()
    return f"sha256:{hashlib.sha256(text).hexdigest()}"


def candidate_signed(candidate: Candidate, number: int, signature: Signature) -> Act:
    """Say who was the first, second, ... to sign."""
    details: dict[str, Detail] = {
        "number": number,
        "model_id": candidate.model_id,
        "reason": signature.reason,
        "key_id": signature.key_id,
        "signed_us": signature.signed_us,
    }
    return Act(
        ActKind.CANDIDATE_SIGNED, candidate.lender, None, candidate.id, details, signature.person
    )


def rolled_back(book: Book, left: str | None, signed: Signed) -> Act:
    """Say which model was left; that which answers now is in the deployment beside it."""
    details: dict[str, Detail] = {"leaves": left, "reason": signed.note}
    return act_in_book(ActKind.ROLLED_BACK, book, details=details, by=signed.by)
