"""The operations of onboarding, as the OpenAPI document tells them."""

from __future__ import annotations

from typing import Final

from alama.api.operation import HTML, RATE, Operation, Success
from alama.api.problems import (
    BadParameter,
    BodyTooLarge,
    InvalidFile,
    InvalidRequest,
    UnsupportedMediaType,
)
from alama.api.schemas import reference
from alama.core.errors import MalformedDocument
from alama.service.errors import ModelUnavailable
from alama.service.keys import Scope
from alama.service.onboarding import errors

_TAG: Final = "Onboarding"
_FIELDS: Final = "The fields. At most 64 KiB of UTF-8, not compressed."
_BODY: Final = (
    MalformedDocument,
    BadParameter,
    BodyTooLarge,
    UnsupportedMediaType,
    InvalidRequest,
)
_CANDIDATE: Final = "/v1/onboarding/candidates/{candidate_id}"

ONBOARDING_OPERATIONS: Final = (
    Operation(
        path="/v1/onboarding",
        method="GET",
        id="getOnboarding",
        tag=_TAG,
        summary="See how far the onboarding has come",
        description="Gives the six steps on the way to a live key: lender, history, train, "
        "validate, approve and key; of each whether it is done, by whom and when, or what is in "
        "its way, and what does it. All steps but the last are operations here, for a test key "
        "that was given the scopes of pilot; live keys are issued by who runs the service.",
        scope=Scope.PILOT_READ,
        replies={
            200: Success(
                "All six steps.",
                reference("Onboarding"),
                headers=RATE,
                examples=("onboarding",),
            )
        },
        refusals=(BadParameter, ModelUnavailable),
    ),
    Operation(
        path="/v1/onboarding/terms",
        method="PUT",
        id="setOnboardingTerms",
        tag=_TAG,
        summary="Set the terms of the lender",
        description="Says what a default is, whose law holds, how many people approve a model, "
        "and what is asked of it beyond what is asked of every model. It takes the place of the "
        "terms before. Where a law is named and the lender has no live policy yet, one is drafted "
        "from the pack of that law and put in force; one that is in force stays. After another "
        "definition of default the history is to be handed in again; after other gates a model is "
        "to be trained again.",
        scope=Scope.PILOT_WRITE,
        body="NewTerms",
        body_told=_FIELDS,
        requests=("new_terms",),
        replies={
            200: Success(
                "The terms of now, and what became of the live policy.",
                reference("AgreedTerms"),
                headers=RATE,
                examples=("terms",),
            )
        },
        refusals=(*_BODY, errors.FewerEyes, errors.LawElsewhere),
    ),
    Operation(
        path="/v1/onboarding/histories",
        method="POST",
        id="handInHistory",
        tag=_TAG,
        summary="Hand in a loan history",
        description="Takes a file of past loans, sealed under the lender's own key as it comes, "
        "and answers with the job that reads it: a worker that has the training libraries checks "
        "each row, and looks for duplicates, drift and columns that give the outcome away. The "
        "reply names the history; read its report when the job is done. One file of a lender is "
        "read at a time, and lenders take turns.",
        scope=Scope.PILOT_WRITE,
        parameters=("use_region", "exclude", "keep", "groups"),
        file_types=("text/csv", "application/vnd.apache.parquet"),
        body_told="The file itself, at most 64 MiB, without a Content-Encoding; CSV may be a gzip "
        "file. At most 1,000 columns and 5,000,000 rows, 1 GiB once it is unpacked. Its "
        "columns: the fields of an application in either spelling, `borrower_id`, `applied_on`, "
        "`disbursed_on`, `due_on`, `amount`, `term_days`, `largest_days_past_due`, `observed_on` "
        "and `restructured`.",
        replies={
            202: Success(
                "It is kept, and waits to be read.",
                reference("Job"),
                headers=("Location", *RATE),
                examples=("reading_job",),
                links=("getJob", "getHistory"),
            )
        },
        refusals=(
            BadParameter,
            BodyTooLarge,
            UnsupportedMediaType,
            InvalidFile,
            errors.StepMissing,
            errors.JobUnderWay,
            errors.HistoriesFull,
        ),
    ),
    Operation(
        path="/v1/onboarding/histories/{history_id}",
        method="GET",
        id="getHistory",
        tag=_TAG,
        summary="Read what was found in a loan history",
        description="Gives the report: what is wrong in which rows, what is missing, what gives "
        "the outcome away, whether there are defaults enough, and what to do. It holds no value of "
        "a borrower. The file itself is never given back.",
        scope=Scope.PILOT_READ,
        parameters=("history_id",),
        replies={
            200: Success(
                "The history, with its report once it was read.",
                reference("LoanHistory"),
                headers=RATE,
                examples=("history", "unread_history"),
            )
        },
        refusals=(BadParameter, errors.UnknownHistory, ModelUnavailable),
    ),
    Operation(
        path="/v1/onboarding/trainings",
        method="POST",
        id="startTraining",
        tag=_TAG,
        summary="Train a model on a loan history",
        description="Asks for a training run, which a worker does that has the training libraries: "
        "minutes, behind all else that the machine does. It learns from the earlier loans, judges "
        "on the later ones and on borrowers that it never met, and makes a candidate with its "
        "validation pack. One run of a lender is done at a time; sent again meanwhile, the request "
        "is refused with the job that is open.",
        scope=Scope.PILOT_WRITE,
        body="NewTraining",
        body_told="May be left out, with all its fields.",
        body_required=False,
        requests=("new_training", "new_training_without"),
        replies={
            202: Success(
                "It waits for a worker.",
                reference("Job"),
                headers=("Location", *RATE),
                examples=("training_job",),
                links=("getJob",),
            )
        },
        refusals=(
            *_BODY,
            errors.HistoryForgotten,
            errors.StepMissing,
            errors.JobUnderWay,
            ModelUnavailable,
        ),
    ),
    Operation(
        path="/v1/onboarding/jobs/{job_id}",
        method="GET",
        id="getJob",
        tag=_TAG,
        summary="Ask how far a job has come",
        description="Progress is written down once a second at most. A job whose worker died is "
        "begun anew by another, after two minutes; after three such it has failed.",
        scope=Scope.PILOT_READ,
        parameters=("job_id",),
        replies={
            200: Success(
                "The job.",
                reference("Job"),
                headers=RATE,
                examples=("job_under_way_now", "failed_job"),
            )
        },
        refusals=(BadParameter, errors.UnknownJob),
    ),
    Operation(
        path=_CANDIDATE,
        method="GET",
        id="getCandidate",
        tag=_TAG,
        summary="Read a candidate and its validation pack",
        description="Gives the gates, who has signed, and the pack: everything that was measured. "
        "With `Accept: text/html` it is the page that a risk committee reads, which needs nothing "
        "from elsewhere.",
        scope=Scope.PILOT_READ,
        parameters=("candidate_id",),
        replies={
            200: Success(
                "The candidate.",
                reference("Candidate"),
                headers=("Vary", *RATE),
                examples=("candidate",),
                also=HTML,
            )
        },
        refusals=(BadParameter, errors.UnknownCandidate),
    ),
    Operation(
        path=f"{_CANDIDATE}/signatures",
        method="POST",
        id="signCandidate",
        tag=_TAG,
        summary="Sign a candidate",
        description="A named person stands for the model, with a reason. With the last signature "
        "that the terms ask for it answers live applications, in every process within a second; a "
        "request is answered by one model from its beginning to its end. Four eyes are two names "
        "and two keys. Nobody can sign a candidate that has failed a gate.",
        scope=Scope.PILOT_WRITE,
        parameters=("candidate_id",),
        body="NewSignature",
        body_told=_FIELDS,
        requests=("new_signature",),
        replies={
            201: Success(
                "It is signed.",
                reference("Signatures"),
                headers=RATE,
                examples=("signed",),
            )
        },
        refusals=(
            *_BODY,
            errors.UnknownCandidate,
            errors.ApprovalBlocked,
            errors.GateFailed,
            errors.SignatureRefused,
        ),
    ),
    Operation(
        path="/v1/onboarding/rollbacks",
        method="POST",
        id="rollBackModel",
        tag=_TAG,
        summary="Go back to the model before",
        description="The lender's own model that answered live before this one answers again, "
        "under the policy of now. A model that was "
        "itself rolled back answers again only when its candidate is signed again.",
        scope=Scope.PILOT_WRITE,
        body="NewRollback",
        body_told=_FIELDS,
        requests=("new_rollback",),
        replies={
            201: Success(
                "It answers again.",
                reference("RolledBack"),
                headers=RATE,
                examples=("rolled_back",),
            )
        },
        refusals=(*_BODY, errors.ModelWithdrawn, errors.NothingBefore, errors.ApprovalBlocked),
    ),
)
