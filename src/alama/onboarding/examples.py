"""Examples of onboarding for the OpenAPI document, made by the code that answers callers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from alama.lenders.records import Signed
from alama.onboarding import api, candidates_api, jobs_api, records
from alama.onboarding.approval import Approved
from alama.onboarding.candidates_api import CANDIDATE, ROLLBACKS
from alama.onboarding.jobs_api import (
    CANDIDATE_ID_EXAMPLE,
    HISTORIES,
    HISTORY_ID_EXAMPLE,
    JOB_ID_EXAMPLE,
    JOBS,
    TRAININGS,
)
from alama.onboarding.records import (
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
    ReadOrder,
    Signature,
    TrainOrder,
    encode_order,
)
from alama.onboarding.remote import Handed, Judged
from alama.onboarding.steps import Progress, State, Step, StepProgress
from alama.onboarding.terms import Agreed
from alama.platform import ids
from alama.platform.http.operation import AT_US, Json
from alama.platform.http.problems import InvalidFile
from alama.training.history.report import Enough

if TYPE_CHECKING:
    from alama.core.errors import AlamaError

_SECOND_US: Final = 1_000_000
_READ_US: Final = AT_US - 3_600 * _SECOND_US
_TRAINED_US: Final = AT_US - 1_800 * _SECOND_US
_READ_CHANCE: Final = bytes.fromhex("9b20c7d4e11f83")
READING_ID: Final = ids.sortable(JOB_PREFIX, _READ_US, _READ_CHANCE)
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
    id=JOB_ID_EXAMPLE,
    lender=_LENDER,
    kind=JobKind.TRAIN,
    order=records.encode_order(TrainOrder(HISTORY_ID_EXAMPLE)),
    state=JobState.WAITING,
    created_us=_TRAINED_US,
    asked_by=_KEY,
)
HISTORY: Final = HistoryRecord(
    id=HISTORY_ID_EXAMPLE,
    lender=_LENDER,
    digest=_DIGEST,
    file_format=FileFormat.CSV,
    row_count=50_000,
    part_count=9,
    days_past_due=30,
    enough=Enough.MODEL,
    created_us=_READ_US + 9 * _SECOND_US,
    kept_by=_KEY,
)
_REPORT: Final = b"""\
{"currency": "KES", "days_past_due": 30, "rows": 50000, "unsound": 37, "repeated": 12, \
"not_booked": 9120, "immature": 2204, "mature": 38627, "defaults": 3411, "borrowers": 35120, \
"faults": [{"column": "due_on", "rule": "is before disbursed_on", "rows": 37, "first_rows": \
[118, 402, 977, 1204, 3310]}], "suspects": [{"column": "collections_calls", "auc": 0.98, "why": \
"it tells the outcome almost by itself", "standing": "set aside"}], "enough": "model", \
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
        id=CANDIDATE_ID_EXAMPLE,
        lender=_LENDER,
        model_id=model_id,
        history_id=HISTORY_ID_EXAMPLE,
        days_past_due=30,
        limits=NO_GATES,
        gates=_GATES,
        created_us=_TRAINED_US + 95 * _SECOND_US,
        made_by=_KEY,
    )


def _steps() -> tuple[StepProgress, ...]:
    done = {
        Step.LENDER: ("a default is 30 days past due; two people approve", PILOT.set_us),
        Step.HISTORY: ("50,000 rows, enough for a model", HISTORY.created_us),
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
            "value": {"history_id": HISTORY_ID_EXAMPLE, "exclude": ["avg_balance"]},
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
        "onboarding": api.standing_reply(standing),
        "terms": api.terms_reply(Agreed(PILOT, drafted=True)),
        "reading_job": jobs_api.job_reply(_READING),
        "training_job": jobs_api.job_reply(TRAINING),
        "job_under_way_now": jobs_api.job_reply(running),
        "failed_job": jobs_api.job_reply(failed),
        "history": jobs_api.history_reply(Handed(HISTORY_ID_EXAMPLE, HISTORY, _REPORT, _READING)),
        "unread_history": jobs_api.history_reply(Handed(HISTORY_ID_EXAMPLE, None, None, _READING)),
        "candidate": candidates_api.candidate_reply(Judged(made, _PACK, [first], 2, live=False)),
        "signed": candidates_api.signed_reply(Approved(made, [first], 2, live=False)),
        "rolled_back": candidates_api.rolled_back_reply(model_id),
    }
    return {name: {"value": json.loads(body)} for name, body in bodies.items()}


def refusals() -> dict[str, tuple[AlamaError, ...]]:
    """Give problems by the paths that they are met at."""
    candidate = CANDIDATE.format(candidate_id=CANDIDATE_ID_EXAMPLE)
    withdrawn = Signed(AT_US, "W. Mutua", "arrears of new loans")
    return {
        api.TERMS: (records.FewerEyes(), records.LawElsewhere("Uganda", _LENDER, "KES")),
        HISTORIES: (
            records.StepMissing(
                "the terms of this lender are not set", hint="set them: PUT /v1/onboarding/terms"
            ),
            records.HistoriesFull(),
            InvalidFile(
                "the file has more than 1,000 columns",
                hint="leave out the columns that no model needs",
            ),
        ),
        f"{HISTORIES}/{HISTORY_ID_EXAMPLE}": (records.UnknownHistory(),),
        TRAININGS: (records.JobUnderWay(JOB_ID_EXAMPLE), records.HistoryForgotten()),
        f"{JOBS}/{JOB_ID_EXAMPLE}": (records.UnknownJob(),),
        candidate: (records.UnknownCandidate(),),
        f"{candidate}/signatures": (
            records.ApprovalBlocked(
                "the terms of the lender have changed since this model was trained and judged",
                hint="train it again",
            ),
            records.GateFailed([_FAILED]),
            records.SignatureRefused(
                "this API key has signed this model already",
                hint="whoever signs over HTTP has a key of their own",
            ),
        ),
        ROLLBACKS: (
            records.ModelWithdrawn(_DIGEST, CANDIDATE_ID_EXAMPLE, withdrawn),
            records.NothingBefore(_LENDER),
        ),
    }
