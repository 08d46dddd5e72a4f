"""Examples of onboarding for the OpenAPI document, made by the code that answers callers."""

from __future__ import annotations

import json
from typing import Any, Final

from msgspec.structs import replace

from alama.lenders.records import Signed
from alama.onboarding import api as render_onboarding
from alama.onboarding import wire
from alama.onboarding.approval import Approved
from alama.onboarding.records import (
    CANDIDATE_PREFIX,
    HISTORY_PREFIX,
    JOB_PREFIX,
    NO_GATES,
    ApprovalBlocked,
    Candidate,
    FileFormat,
    Gate,
    GateFailed,
    HistoryRecord,
    Job,
    JobKind,
    JobState,
    JobUnderWay,
    LawElsewhere,
    ModelWithdrawn,
    NothingBefore,
    Pilot,
    ReadOrder,
    Signature,
    SignatureRefused,
    StepMissing,
    TrainOrder,
    encode_order,
)
from alama.onboarding.remote import Handed, Judged
from alama.onboarding.steps import Progress, State, Step, StepProgress
from alama.onboarding.terms import Agreed
from alama.platform import ids
from alama.platform.http.operation import AT_US
from alama.platform.http.problems import InvalidFile
from alama.training.history.report import Enough

_SECOND_US: Final = 1_000_000
_READ_US: Final = AT_US - 3_600 * _SECOND_US
_TRAINED_US: Final = AT_US - 1_800 * _SECOND_US
_READ_CHANCE: Final = bytes.fromhex("9b20c7d4e11f83")
_TRAIN_CHANCE: Final = bytes.fromhex("5d1f0a9c3b7e42")
HISTORY_ID: Final = ids.sortable(HISTORY_PREFIX, _READ_US, _READ_CHANCE)
READING_ID: Final = ids.sortable(JOB_PREFIX, _READ_US, _READ_CHANCE)
JOB_ID: Final = ids.sortable(JOB_PREFIX, _TRAINED_US, _TRAIN_CHANCE)
CANDIDATE_ID: Final = ids.sortable(CANDIDATE_PREFIX, _TRAINED_US, _TRAIN_CHANCE)
_LENDER: Final = "demo"
_KEY: Final = "key_4f1d2c7b9a035e68"
_DIGEST: Final = "sha256:" + "5f0c" * 16

PILOT: Final = Pilot(
    lender=_LENDER,
    jurisdiction="KE",
    days_past_due=30,
    approvers=2,
    gates=NO_GATES,
    set_us=_READ_US - 60 * _SECOND_US,
    set_by=_KEY,
)
_READING: Final = Job(
    id=READING_ID,
    lender=_LENDER,
    kind=JobKind.READ,
    order=encode_order(ReadOrder(FileFormat.CSV, _DIGEST, 9, 30)),
    state=JobState.WAITING,
    created_us=_READ_US,
    asked_by=_KEY,
)
TRAINING: Final = Job(
    id=JOB_ID,
    lender=_LENDER,
    kind=JobKind.TRAIN,
    order=encode_order(TrainOrder(HISTORY_ID)),
    state=JobState.WAITING,
    created_us=_TRAINED_US,
    asked_by=_KEY,
)
HISTORY: Final = HistoryRecord(
    id=HISTORY_ID,
    lender=_LENDER,
    digest=_DIGEST,
    file_format=FileFormat.CSV,
    row_count=50_000,
    part_count=9,
    days_past_due=30,
    enough=Enough.PAIRS,
    created_us=_READ_US + 9 * _SECOND_US,
    kept_by=_KEY,
)
_REPORT: Final = b"""\
{"currency": "KES", "days_past_due": 30, "rows": 50000, "unsound": 37, "repeated": 12, \
"not_booked": 9120, "immature": 2204, "mature": 38627, "defaults": 3411, "borrowers": 35120, \
"faults": [{"column": "due_on", "rule": "is before disbursed_on", "rows": 37, "first_rows": \
[118, 402, 977, 1204, 3310]}], "suspects": [{"column": "collections_calls", "auc": 0.98, "why": \
"it tells the outcome almost by itself", "standing": "set aside"}], "enough": "pairs", \
"advice": []}"""
_GATES: Final = (
    Gate("discrimination", passed=True, words="AUC 0.742, lower end 0.728"),
    Gate("calibration_slope", passed=True, words="slope 0.97"),
)
_PACK: Final = b'{"schema": "alama.pack/1", "name": "Demo lender, history of 2026-09-21"}'
_FAILED: Final = Gate("stability", passed=False, words="PSI 0.31, and less than 0.25 is asked for")


def candidate(model_id: str) -> Candidate:
    """Give a candidate that has passed its gates."""
    return Candidate(
        id=CANDIDATE_ID,
        lender=_LENDER,
        model_id=model_id,
        history_id=HISTORY_ID,
        days_past_due=30,
        limits=NO_GATES,
        gates=_GATES,
        created_us=_TRAINED_US + 95 * _SECOND_US,
        made_by=_KEY,
    )


def _steps() -> tuple[StepProgress, ...]:
    done = {
        Step.LENDER: ("a default is 30 days past due; two people approve", PILOT.set_us),
        Step.HISTORY: ("50,000 rows, enough to learn fields and pairs of them", HISTORY.created_us),
    }
    told = [
        StepProgress(step, State.DONE, words, _KEY, at_us) for step, (words, at_us) in done.items()
    ]
    words = "under way, 41%: boosting"
    told.append(StepProgress(Step.TRAIN, State.MISSING, words, _KEY, _TRAINED_US))
    told += [
        StepProgress(step, State.BLOCKED, "after the step train")
        for step in (Step.VALIDATE, Step.APPROVE, Step.KEY)
    ]
    return tuple(told)


def requests() -> dict[str, Json]:
    """Give the bodies of requests by name, each with what it is for."""
    who = {"name": "W. Mutua", "reason": "read the pack, discussed on 14 November"}
    back = {"name": "W. Mutua", "reason": "it approves too many in the north"}
    return {
        "new_terms": {
            "summary": "30 days past due, four eyes",
            "value": {"days_past_due": 30, "approvers": 2, "jurisdiction": "KE"},
        },
        "new_training": {"summary": "On the newest history", "value": {"seed": 0}},
        "new_training_without": {
            "summary": "Without a field that gives the outcome away",
            "value": {"history_id": HISTORY_ID, "exclude": ["avg_balance"]},
        },
        "new_signature": {"summary": "One of four eyes", "value": who},
        "new_rollback": {"summary": "Back to the model before", "value": back},
    }


def replies(model_id: str) -> dict[str, Json]:
    """Give the bodies of replies by name."""
    running = replace(TRAINING, state=JobState.RUNNING, share=0.41, step="boosting")
    failed = replace(
        _READING,
        state=JobState.FAILED,
        error="history.csv has no column borrower_id",
        ended_us=_READ_US + 2 * _SECOND_US,
    )
    made = candidate(model_id)
    first = Signature("W. Mutua", "read the pack, discussed on 14 November", AT_US, _KEY)
    standing = Progress(_LENDER, _steps(), PILOT, HISTORY, None, running, _READING)
    bodies = {
        "onboarding": render_onboarding.standing_reply(standing),
        "terms": render_onboarding.terms_reply(Agreed(PILOT, drafted=True)),
        "reading_job": render_onboarding.job_reply(_READING),
        "training_job": render_onboarding.job_reply(TRAINING),
        "job_under_way_now": render_onboarding.job_reply(running),
        "failed_job": render_onboarding.job_reply(failed),
        "history": render_onboarding.history_reply(Handed(HISTORY_ID, HISTORY, _REPORT, _READING)),
        "unread_history": render_onboarding.history_reply(Handed(HISTORY_ID, None, None, _READING)),
        "candidate": render_onboarding.candidate_reply(Judged(made, _PACK, [first], 2, live=False)),
        "signed": render_onboarding.signed_reply(Approved(made, [first], 2, live=False)),
        "rolled_back": render_onboarding.rolled_back_reply(model_id),
    }
    return {name: {"value": json.loads(body)} for name, body in bodies.items()}


def law_elsewhere() -> LawElsewhere:
    return LawElsewhere("Uganda", _LENDER, "KES")


def step_missing() -> StepMissing:
    return StepMissing(
        "the terms of this lender are not set", hint="set them: PUT /v1/onboarding/terms"
    )


def invalid_file() -> InvalidFile:
    return InvalidFile(
        "the file has more than 1,000 columns", hint="leave out the columns that no model needs"
    )


def job_under_way() -> JobUnderWay:
    return JobUnderWay(JOB_ID)


def approval_blocked() -> ApprovalBlocked:
    return ApprovalBlocked(
        "the terms of the lender have changed since this model was trained and judged",
        hint="train it again",
    )


def gate_failed() -> GateFailed:
    return GateFailed([_FAILED])


def signature_refused() -> SignatureRefused:
    return SignatureRefused(
        "this API key has signed this model already",
        hint="whoever signs over HTTP has a key of their own",
    )


def model_withdrawn() -> ModelWithdrawn:
    signed = Signed(AT_US, "W. Mutua", "arrears of new loans")
    return ModelWithdrawn(_DIGEST, CANDIDATE_ID, signed)


def nothing_before() -> NothingBefore:
    return NothingBefore(_LENDER)


Json = dict[str, Any]


def _id(name: str, told: str, pattern: str, example: str) -> Json:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": told,
        "schema": {"type": "string", "pattern": pattern},
        "example": example,
    }


def _column_parameters(name: str, told: str, items: Json, example: list[str]) -> Json:
    return {
        "name": name,
        "in": "query",
        "description": f"{told} Separated by commas.",
        "style": "form",
        "explode": False,
        "schema": {"type": "array", "maxItems": wire.COLUMNS_MAX, "items": items},
        "example": example,
    }


_FIELD: Final = {"type": "string", "enum": list(wire.FIELDS)}
_COLUMN: Final = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,127}$"}

PARAMETERS: Final[dict[str, Json]] = {
    "history_id": _id(
        "history_id",
        "The `history_id` of the job that reads it.",
        wire.HISTORY_ID,
        HISTORY_ID,
    ),
    "job_id": _id(
        "job_id",
        "The `id` of the job.",
        wire.JOB_ID,
        JOB_ID,
    ),
    "candidate_id": _id(
        "candidate_id",
        "The `candidate_id` of the job that trained it.",
        wire.CANDIDATE_ID,
        CANDIDATE_ID,
    ),
    "use_region": {
        "name": "region",
        "in": "query",
        "description": "Whether `region` may be an input.",
        "schema": {"type": "boolean", "default": False},
        "example": False,
    },
    "exclude": _column_parameters(
        "exclude", "Fields of an application that are no inputs.", _FIELD, ["avg_balance"]
    ),
    "keep": _column_parameters(
        "keep",
        "Inputs that give the outcome away and stay all the same; nobody can then approve.",
        _FIELD,
        ["avg_balance"],
    ),
    "groups": _column_parameters(
        "groups",
        "Columns of the file that are looked at for fairness and are never inputs.",
        _COLUMN,
        ["gender"],
    ),
}


def _link(operation: str, told: str, parameter: str, place: str) -> Json:
    return {
        "operationId": operation,
        "description": told,
        "parameters": {parameter: f"$response.body#/{place}"},
    }


LINKS: Final[dict[str, Json]] = {
    "getJob": _link("getJob", "Ask how far it has come.", "job_id", "id"),
    "getHistory": _link("getHistory", "Read the report.", "history_id", "history_id"),
}
