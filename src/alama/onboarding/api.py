"""Onboarding over HTTP: the six steps to a live key, and the terms of the lender."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from alama.onboarding import records
from alama.onboarding.candidates_api import CANDIDATE, ONBOARDING
from alama.onboarding.commands import COMMANDS
from alama.onboarding.jobs_api import HISTORIES, TAG, TRAININGS
from alama.onboarding.steps import Progress, Step, StepProgress
from alama.onboarding.terms import DAYS_PAST_DUE, Agreed, Terms
from alama.platform.book import Scope
from alama.platform.days import moment
from alama.platform.errors import ModelUnavailable
from alama.platform.files.packaged import jurisdictions
from alama.platform.http import fields, parameters
from alama.platform.http.bodies import json_body
from alama.platform.http.exchange import INT32, Call, Moment, Reply, encode_json, private_json
from alama.platform.http.fields import Rule
from alama.platform.http.operation import BODY, FIELDS_TOLD, Operation, Success, reference
from alama.platform.http.problems import BadParameter
from alama.platform.timeouts import run_with_timeout

if TYPE_CHECKING:
    from alama.onboarding.remote import OnboardingApi
    from alama.scoring.admission import Admission

TERMS: Final = "/v1/onboarding/terms"
HOW: Final = {
    Step.LENDER: f"PUT {TERMS}",
    Step.HISTORY: f"POST {HISTORIES}",
    Step.TRAIN: f"POST {TRAININGS}",
    Step.VALIDATE: f"GET {CANDIDATE}",
    Step.APPROVE: f"POST {CANDIDATE}/signatures",
}
"""What does each step over HTTP; the last is for who runs the service."""

PLACES: Final = tuple(pack.code for pack in jurisdictions())

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


REQUESTS: Final = (NewTerms,)


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
    approvers: Annotated[
        int, Meta(description="How many people approve a model.", extra_json_schema=INT32)
    ]
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


REPLIES: Final = (Onboarding, OnboardingTerms, AgreedTerms)


def standing_reply(found: Progress) -> bytes:
    """Give the six steps, and what each has left."""
    following = found.next
    return encode_json(
        Onboarding(
            lender=found.lender,
            steps=[_step(step, found.lender) for step in found.steps],
            next=None if following is None else following.step.value,
            terms=None if found.pilot is None else _terms(found.pilot),
            history_id=None if found.history is None else found.history.id,
            candidate_id=None if found.candidate is None else found.candidate.id,
            reading_job_id=None if found.reading is None else found.reading.id,
            training_job_id=None if found.job is None else found.job.id,
        )
    )


def terms_reply(agreed: Agreed) -> bytes:
    """Give the terms of a lender as they were just set."""
    said = msgspec.structs.asdict(_terms(agreed.pilot))
    told = AgreedTerms(**said, policy_drafted=agreed.drafted, other_law=agreed.other_law)
    return encode_json(told)


def _step(step: StepProgress, lender: str) -> OnboardingStep:
    how = HOW.get(step.step) or COMMANDS[step.step].format(lender=lender)
    return OnboardingStep(
        step.step.value,
        step.state.value,
        step.words,
        how,
        step.by,
        None if step.at_us is None else moment(step.at_us),
    )


def _terms(pilot: records.Pilot) -> OnboardingTerms:
    return OnboardingTerms(
        days_past_due=pilot.days_past_due,
        approvers=pilot.approvers,
        jurisdiction=pilot.jurisdiction,
        gates=msgspec.json.decode(pilot.gates, type=dict[str, float]),
        set_by=pilot.set_by,
        set_at=moment(pilot.set_us),
    )


# ------------------------------------------------------------------------------ operations


class OnboardingEndpoints:
    """How far a lender has come, and its terms: of the lender of the key, and of no other."""

    def __init__(self, admission: Admission, remote: OnboardingApi) -> None:
        self._admission = admission
        self._remote = remote

    @Operation(
        path=ONBOARDING,
        method="GET",
        id="getOnboarding",
        tag=TAG,
        summary="See how far the onboarding has come",
        description="Gives the six steps on the way to a live key: lender, history, train, "
        "validate, approve and key; of each whether it is done, by whom and when, or what is in "
        "its way, and what does it. All steps but the last are operations here, for a test key "
        "that was given the scopes of pilot; live keys are issued by who runs the service.",
        scope=Scope.PILOT_READ,
        replies={200: Success("All six steps.", reference("Onboarding"), examples=("onboarding",))},
        refusals=(BadParameter, ModelUnavailable),
    )
    async def standing(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.PILOT_READ)
        parameters.read(call, ())
        found = await run_with_timeout(lambda: self._remote.progress(caller.book.lender))
        return private_json(standing_reply(found), headers)

    @Operation(
        path=TERMS,
        method="PUT",
        id="setOnboardingTerms",
        tag=TAG,
        summary="Set the terms of the lender",
        description="Says what a default is, whose law holds, how many people approve a model, "
        "and what is asked of it beyond what is asked of every model. It takes the place of the "
        "terms before. Where a law is named and the lender has no live policy yet, one is drafted "
        "from the pack of that law and put in force; one that is in force stays. After another "
        "definition of default the history is to be handed in again; after other gates a model is "
        "to be trained again.",
        scope=Scope.PILOT_WRITE,
        body="NewTerms",
        body_told=FIELDS_TOLD,
        requests=("new_terms",),
        replies={
            200: Success(
                "The terms of now, and what became of the live policy.",
                reference("AgreedTerms"),
                examples=("terms",),
            )
        },
        refusals=(*BODY, records.FewerEyes, records.LawElsewhere),
    )
    async def set_terms(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.PILOT_WRITE)
        parameters.read(call, ())
        sent = fields.read(NewTerms, await json_body(call), RULES, {"jurisdiction": _place})
        lender, by = caller.book.lender, caller.key.id
        terms = Terms(
            days_past_due=sent.days_past_due,
            approvers=sent.approvers,
            jurisdiction=None if sent.jurisdiction is UNSET else sent.jurisdiction,
            gates=msgspec.json.encode(sent.gates, order="sorted").decode(),
        )
        agreed = await run_with_timeout(lambda: self._remote.set_terms(lender, terms, by))
        return private_json(terms_reply(agreed), headers)


def _place(code: str) -> None:
    if code not in PLACES:
        raise ValueError
