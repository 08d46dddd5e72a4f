"""Steps, histories, jobs and candidates, as the contract says them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from alama.api import wire_onboarding as wire
from alama.api.render import moment
from alama.service.onboarding import orders
from alama.service.onboarding.records import JobKind, JobState
from alama.service.onboarding.steps import Step

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from alama.service.onboarding import records
    from alama.service.onboarding.approval import Approved
    from alama.service.onboarding.remote import Handed, Judged
    from alama.service.onboarding.steps import Standing, StepStanding
    from alama.service.onboarding.terms import Agreed

CANDIDATE: Final = "/v1/onboarding/candidates/{candidate_id}"
HOW: Final = {
    Step.LENDER: "PUT /v1/onboarding/terms",
    Step.HISTORY: "POST /v1/onboarding/histories",
    Step.TRAIN: "POST /v1/onboarding/trainings",
    Step.VALIDATE: f"GET {CANDIDATE}",
    Step.APPROVE: f"POST {CANDIDATE}/signatures",
}
"""What does each step over HTTP; the last is for who runs the service."""

_NOTHING: Final = msgspec.Raw(b"null")
_encode: Final = msgspec.json.Encoder().encode


def standing(found: Standing) -> bytes:
    """Give the six steps, and what each has left."""
    following = found.next
    return _encode(
        wire.Onboarding(
            lender=found.lender,
            steps=[_step(step) for step in found.steps],
            next=None if following is None else following.step.value,
            terms=None if found.pilot is None else _terms(found.pilot),
            history_id=None if found.history is None else found.history.id,
            candidate_id=None if found.candidate is None else found.candidate.id,
            reading_job_id=None if found.reading is None else found.reading.id,
            training_job_id=None if found.job is None else found.job.id,
        )
    )


def terms(agreed: Agreed) -> bytes:
    """Give the terms of a lender as they were just set."""
    said = msgspec.structs.asdict(_terms(agreed.pilot))
    told = wire.AgreedTerms(**said, policy_drafted=agreed.drafted, other_law=agreed.other_law)
    return _encode(told)


def job(found: records.Job) -> bytes:
    """Say how far a job has come."""
    return _encode(
        wire.Job(
            id=found.id,
            kind=found.kind.value,
            state=found.state.value,
            share=found.share,
            step=found.step,
            error=found.error,
            asked_by=found.asked_by,
            created_at=moment(found.created_us),
            ended_at=_time(found.ended_us),
            **_made(found),
        )
    )


def history(handed: Handed) -> bytes:
    """Give a history with its report, or say that nobody has read it yet."""
    record, asked = handed.record, handed.job
    if record is None:
        assert asked is not None
        return _encode(_unread(handed.id, asked))
    report = _NOTHING if handed.report is None else msgspec.Raw(handed.report)
    return _encode(
        wire.LoanHistory(
            id=record.id,
            state="read" if record.forgotten_us is None else "forgotten",
            job_id=None if asked is None else asked.id,
            file=record.digest,
            rows=record.row_count,
            enough=record.enough.value,
            created_at=moment(record.created_us),
            by=record.kept_by,
            report=report,
        )
    )


def candidate(judged: Judged) -> bytes:
    """Give a candidate with its pack."""
    found = judged.candidate
    return _encode(
        wire.Candidate(
            candidate_id=found.id,
            model=found.model_id,
            signatures=_signatures(judged.signatures),
            needed=judged.needed,
            live=judged.live,
            history_id=found.history_id,
            passed=found.passed,
            gates=[wire.GateOutcome(one.name, one.passed, one.words) for one in found.gates],
            created_at=moment(found.created_us),
            by=found.made_by,
            pack=msgspec.Raw(judged.pack),
        )
    )


def signed(approved: Approved) -> bytes:
    """Say who has signed, and whether the model answers now."""
    found = approved.candidate
    signatures = _signatures(approved.signatures)
    return _encode(
        wire.Signatures(found.id, found.model_id, signatures, approved.needed, approved.live)
    )


def rolled_back(model_id: str) -> bytes:
    """Name the model that answers again."""
    return _encode(wire.RolledBack(model_id))


def _step(step: StepStanding) -> wire.OnboardingStep:
    how = HOW.get(step.step, step.command)
    return wire.OnboardingStep(
        step.step.value, step.state.value, step.words, how, step.by, _time(step.at_us)
    )


def _terms(pilot: records.Pilot) -> wire.OnboardingTerms:
    return wire.OnboardingTerms(
        days_past_due=pilot.days_past_due,
        approvers=pilot.approvers,
        jurisdiction=pilot.jurisdiction,
        gates=msgspec.json.decode(pilot.gates, type=dict[str, float]),
        set_by=pilot.set_by,
        set_at=moment(pilot.set_us),
    )


def _made(found: records.Job) -> dict[str, Any]:
    if found.kind is JobKind.READ:
        return {"history_id": found.makes, "candidate_id": None}
    made = found.makes if found.state is JobState.DONE else None
    return {"history_id": orders.training(found.order).history_id, "candidate_id": made}


def _unread(history_id: str, asked: records.Job) -> wire.LoanHistory:
    return wire.LoanHistory(
        id=history_id,
        state="unread",
        job_id=asked.id,
        file=orders.reading(asked.order).digest,
        rows=None,
        enough=None,
        created_at=moment(asked.created_us),
        by=asked.asked_by,
        report=_NOTHING,
    )


def _signatures(signatures: Sequence[records.Signature]) -> list[wire.Signature]:
    return [wire.Signature(one.person, one.reason, moment(one.signed_us)) for one in signatures]


def _time(moment_us: int | None) -> datetime | None:
    return None if moment_us is None else moment(moment_us)
