"""The public contract of onboarding: what goes over the wire, field by field."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from alama.core.application import HIDDEN
from alama.core.product import PRODUCT
from alama.onboarding.records import SEED_MAX, TEXT_MAX
from alama.onboarding.terms import DAYS_PAST_DUE
from alama.platform.files.packaged import jurisdictions
from alama.platform.http.fields import Rule

HISTORY_ID: Final = "^his_[0-9a-f]{28}$"
CANDIDATE_ID: Final = "^can_[0-9a-f]{28}$"
JOB_ID: Final = "^job_[0-9a-f]{28}$"

COLUMNS_MAX: Final = 50
PLACES: Final = tuple(pack.code for pack in jurisdictions())
FIELDS: Final = tuple(PRODUCT.position)

_SPACE: Final = r"\s\x1c-\x1f\x85"
_LINE: Final = {
    "maxLength": TEXT_MAX,
    "pattern": rf"^[^{HIDDEN}]*[^{_SPACE}{HIDDEN}][^{HIDDEN}]*$",
}

Moment = Annotated[datetime, Meta(tz=True, description="In UTC.")]
HistoryId = Annotated[str, Meta(pattern=HISTORY_ID, description="Names the loan history.")]
CandidateId = Annotated[str, Meta(pattern=CANDIDATE_ID, description="Names the candidate.")]
JobId = Annotated[str, Meta(pattern=JOB_ID, description="Names the job.")]
Person = Annotated[
    str,
    Meta(
        description="Who stands for it, as others know them. It is kept in the audit.",
        examples=["W. Mutua"],
        extra_json_schema=_LINE,
    ),
]
Reason = Annotated[
    str,
    Meta(
        description="Why, on one line. It is kept in the audit.",
        examples=["read the pack, discussed on 14 November"],
        extra_json_schema=_LINE,
    ),
]
DaysPastDue = Annotated[
    int,
    Meta(
        ge=DAYS_PAST_DUE.start,
        le=DAYS_PAST_DUE.stop - 1,
        description="A loan is a default once it is so many days late, known by so many days after "
        "its due date; or once it was restructured in distress.",
        examples=[30],
    ),
]
Approvers = Annotated[
    int,
    Meta(
        ge=1,
        le=2,
        description="How many people approve a model; 2: four eyes. Over HTTP it may be raised, "
        "never lowered.",
        examples=[2],
    ),
]
FieldName = Annotated[str, Meta(extra_json_schema={"enum": list(FIELDS)})]
Words = Annotated[
    tuple[FieldName, ...],
    Meta(
        max_length=COLUMNS_MAX,
        description="Fields of a request, in either spelling.",
        examples=[["avg_balance"]],
    ),
]


class GateLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked of a model beyond what is asked of every one: a limit can only be tightened."""

    auc_low_min: (
        Annotated[
            float, Meta(ge=0.6, le=1, description="The lower end of the AUC's 95 % interval: from.")
        ]
        | UnsetType
    ) = UNSET
    slope_min: (
        Annotated[float, Meta(ge=0.8, le=1, description="The calibration slope: from.")] | UnsetType
    ) = UNSET
    slope_max: (
        Annotated[float, Meta(gt=1, le=1.2, description="The calibration slope: up to.")]
        | UnsetType
    ) = UNSET
    predicted_to_observed_min: (
        Annotated[float, Meta(ge=0.8, le=1, description="Predicted to observed defaults: from.")]
        | UnsetType
    ) = UNSET
    predicted_to_observed_max: (
        Annotated[float, Meta(gt=1, le=1.25, description="Predicted to observed defaults: up to.")]
        | UnsetType
    ) = UNSET
    psi_max: (
        Annotated[float, Meta(gt=0, le=0.25, description="PSI of the scores out of time: below.")]
        | UnsetType
    ) = UNSET
    defaults_min: (
        Annotated[int, Meta(ge=300, le=1_000_000, description="Defaults in all: from.")] | UnsetType
    ) = UNSET
    out_of_time_defaults_min: (
        Annotated[
            int,
            Meta(ge=150, le=1_000_000, description="Defaults in the out-of-time part: from."),
        ]
        | UnsetType
    ) = UNSET


_LIMITS: Final = ", ".join(GateLimits.__struct_fields__)

RULES: Final = {
    "days_past_due": Rule(
        int, f"must be a whole number from {DAYS_PAST_DUE.start} to {DAYS_PAST_DUE.stop - 1}"
    ),
    "approvers": Rule(int, "must be 1 or 2"),
    "jurisdiction": Rule(str, f"must be one of {', '.join(PLACES)}; leave it out for none"),
    "gates": Rule(
        dict, f"must be an object of limits that only tighten, of {_LIMITS}; /docs has the bounds"
    ),
    "history_id": Rule(str, "must be the id of a loan history"),
    "region": Rule(bool, "must be true or false"),
    "exclude": Rule(list, f"must be a list of at most {COLUMNS_MAX} fields of a request", FIELDS),
    "keep": Rule(list, f"must be a list of at most {COLUMNS_MAX} fields of a request", FIELDS),
    "seed": Rule(int, f"must be a whole number from 0 to {SEED_MAX}"),
    "name": Rule(str, f"must be a name on one line, at most {TEXT_MAX} characters"),
    "reason": Rule(str, f"must be a reason on one line, at most {TEXT_MAX} characters"),
}
"""What the fields of bodies must be, by their names."""


# ------------------------------------------------------------------------------- requests


class NewTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a default is to a lender, whose law holds, and how many must approve a model."""

    days_past_due: DaysPastDue
    approvers: Approvers = 1
    jurisdiction: Annotated[
        str | UnsetType,
        Meta(
            description="Whose law holds: a jurisdiction pack of this installation.",
            extra_json_schema={"enum": list(PLACES)},
        ),
    ] = UNSET
    gates: GateLimits = GateLimits()


class NewTraining(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A training run that is asked for. What is left out stays as the history was read."""

    history_id: (
        Annotated[
            str,
            Meta(
                pattern=HISTORY_ID,
                description="Which history to train on; left out: the newest that counts.",
            ),
        ]
        | UnsetType
    ) = UNSET
    region: Annotated[
        bool, Meta(description="Let `region` be an input. The pack shows what that buys and does.")
    ] = False
    exclude: Words = ()
    keep: Annotated[
        tuple[FieldName, ...],
        Meta(
            max_length=COLUMNS_MAX,
            description="Inputs that give the outcome away and stay all the same: the pack shows "
            "what they do, and nobody can approve the model.",
        ),
    ] = ()
    seed: Annotated[
        int, Meta(ge=0, le=SEED_MAX, description="Equal seed and history, equal model.")
    ] = 0


class NewSignature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """That a person has read the pack of a candidate and stands for it."""

    name: Person
    reason: Reason


class NewRollback(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who goes back to the model before, and why."""

    name: Person
    reason: Reason


REQUESTS: Final = (NewTerms, NewTraining, NewSignature, NewRollback)


# -------------------------------------------------------------------------------- replies


class OnboardingStep(msgspec.Struct, frozen=True):
    """One of the six steps to a live key."""

    step: Annotated[
        str,
        Meta(description="`lender`, `history`, `train`, `validate`, `approve` or `key`."),
    ]
    state: Annotated[
        str,
        Meta(
            description="`done`; `missing`: to be done next; `blocked`: it was tried in vain, or a "
            "step before it is open."
        ),
    ]
    words: Annotated[str, Meta(description="What there is to say of it.")]
    how: Annotated[
        str,
        Meta(description="What does it: an operation, or a command of who runs the service."),
    ]
    by: Annotated[
        str | None, Meta(description="Who did it: a person, or the id of a key. null: nobody yet.")
    ]
    at: Annotated[datetime | None, Meta(description="When, in UTC.")]


class OnboardingTerms(msgspec.Struct, frozen=True):
    """The terms of a lender, and who has set them."""

    days_past_due: DaysPastDue
    approvers: Annotated[int, Meta(description="How many people approve a model.")]
    jurisdiction: Annotated[str | None, Meta(description="Whose law holds; null: none was named.")]
    gates: Annotated[
        dict[str, float],
        Meta(description="Limits that are tighter than those for everyone, by their names."),
    ]
    set_by: Annotated[str, Meta(description="Who has set them: a person, or the id of a key.")]
    set_at: Moment


class AgreedTerms(OnboardingTerms, frozen=True):
    """The terms of a lender as they were just set, and what became of its live policy."""

    policy_drafted: Annotated[
        bool, Meta(description="Whether a live policy was drafted and put in force with them.")
    ]
    other_law: Annotated[
        str | None,
        Meta(description="Whose law the live policy is under, where the terms name another."),
    ]


class Onboarding(msgspec.Struct, frozen=True):
    """How far a lender has come on the way to a live key."""

    lender: Annotated[str, Meta(description="The lender of the key.")]
    steps: Annotated[list[OnboardingStep], Meta(description="All six, in their order.")]
    next: Annotated[str | None, Meta(description="The first step that is not done; null: none.")]
    terms: Annotated[OnboardingTerms | None, Meta(description="null: they are not set.")]
    history_id: Annotated[str | None, Meta(description="The newest that counts; null: none.")]
    candidate_id: Annotated[str | None, Meta(description="The newest that counts; null: none.")]
    reading_job_id: Annotated[
        str | None, Meta(description="The job that reads, or has read, the last file handed in.")
    ]
    training_job_id: Annotated[
        str | None, Meta(description="The last training run that was asked for.")
    ]


class Job(msgspec.Struct, frozen=True):
    """Something that a worker does, and how far it has come."""

    id: JobId
    kind: Annotated[str, Meta(description="`read` or `train`. An open set: expect more.")]
    state: Annotated[
        str,
        Meta(
            description="`waiting` for a worker that has the training libraries, `running`, `done` "
            "or `failed`."
        ),
    ]
    share: Annotated[float, Meta(ge=0, le=1, description="How much of it is done.")]
    step: Annotated[str, Meta(description="What is being done, in words.")]
    error: Annotated[str | None, Meta(description="Why it failed; null: it has not.")]
    asked_by: Annotated[str, Meta(description="Who asked for it: a person, or the id of a key.")]
    created_at: Moment
    ended_at: Annotated[datetime | None, Meta(description="In UTC; null: it is not over.")]
    history_id: Annotated[str | None, Meta(description="The history that it reads, or trains on.")]
    candidate_id: Annotated[
        str | None, Meta(description="The candidate that it has made; null: it has made none.")
    ]


class LoanHistory(msgspec.Struct, frozen=True):
    """A file of past loans that was handed in, and what was found in it."""

    id: HistoryId
    state: Annotated[
        str,
        Meta(
            description="`unread`: the job is not over, or has failed; `read`; `forgotten`: the "
            "file was erased, its report was not."
        ),
    ]
    job_id: Annotated[
        str | None, Meta(description="The job that reads it; null: it did not come over HTTP.")
    ]
    file: Annotated[str, Meta(description="`sha256:` and the hash of the file.")]
    rows: Annotated[int | None, Meta(description="Rows without the header; null: unread.")]
    enough: Annotated[
        str | None,
        Meta(
            description="What its defaults can carry: `nothing`, `mains` (each field by itself) or "
            "`pairs`; null: unread."
        ),
    ]
    created_at: Moment
    by: Annotated[str, Meta(description="Who handed it in: a person, or the id of a key.")]
    report: Annotated[
        msgspec.Raw,
        Meta(
            description="What is wrong where, what is missing, columns that give the outcome away, "
            "duplicates, months, drift, and advice. It holds counts, columns, rows and rates, and "
            "no value of a borrower. null: unread."
        ),
    ]


class GateOutcome(msgspec.Struct, frozen=True):
    """One thing that was asked of a model."""

    name: Annotated[str, Meta(description="Which. An open set: expect more.")]
    passed: Annotated[bool, Meta(description="Whether it held. One that failed blocks approval.")]
    words: Annotated[str, Meta(description="What was measured, and what is asked for.")]


class Signature(msgspec.Struct, frozen=True):
    """Who stands for a candidate."""

    name: Annotated[str, Meta(description="Who has signed.")]
    reason: Annotated[str, Meta(description="Why.")]
    signed_at: Moment


class Signatures(msgspec.Struct, frozen=True):
    """Who has signed a candidate, and what came of it."""

    candidate_id: CandidateId
    model: Annotated[str, Meta(description="The model, by the hash of its content.")]
    signatures: Annotated[list[Signature], Meta(description="The first one first.")]
    needed: Annotated[int, Meta(ge=1, description="How many signatures the terms ask for.")]
    live: Annotated[bool, Meta(description="Whether the model answers live applications.")]


class Candidate(Signatures, frozen=True, kw_only=True):
    """A model that was trained and validated, and may be signed."""

    history_id: HistoryId
    passed: Annotated[bool, Meta(description="Whether every gate held: only then can one sign.")]
    gates: Annotated[list[GateOutcome], Meta(description="All of them.")]
    created_at: Moment
    by: Annotated[str, Meta(description="Who asked for it: a person, or the id of a key.")]
    pack: Annotated[
        msgspec.Raw, Meta(description="The validation pack: all that was measured, as JSON.")
    ]


class RolledBack(msgspec.Struct, frozen=True):
    """The model that answers again."""

    model: Annotated[str, Meta(description="By the hash of its content.")]


REPLIES: Final = (
    Onboarding,
    OnboardingTerms,
    AgreedTerms,
    Job,
    LoanHistory,
    Candidate,
    Signatures,
    RolledBack,
)
