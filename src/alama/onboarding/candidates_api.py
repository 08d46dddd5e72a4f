"""Onboarding over HTTP: candidates, who signs them, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from alama.core.application import HIDDEN
from alama.lenders.records import TEXT_MAX, is_line
from alama.onboarding import records
from alama.onboarding.approval import Approval, Approved, Signing
from alama.onboarding.jobs_api import CANDIDATE_ID, TAG, HistoryId
from alama.platform.book import Scope
from alama.platform.days import moment
from alama.platform.http import fields, parameters
from alama.platform.http.bodies import json_body
from alama.platform.http.exchange import (
    INT32,
    VARIES,
    Call,
    Moment,
    Reply,
    created_json,
    encode_json,
    private_json,
    private_page,
)
from alama.platform.http.fields import SPACE, Rule
from alama.platform.http.operation import (
    BODY,
    FIELDS_TOLD,
    HTML,
    RATE,
    Operation,
    Success,
    reference,
)
from alama.platform.http.problems import BadParameter
from alama.platform.timeouts import run_with_timeout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.onboarding.remote import Judged, OnboardingApi
    from alama.platform.http.fields import Check
    from alama.scoring.admission import Admission


CANDIDATE: Final = "/v1/onboarding/candidates/{candidate_id}"
ROLLBACKS: Final = "/v1/onboarding/rollbacks"
ONBOARDING: Final = "/v1/onboarding"
"""Where it can be seen which model answers."""

_LINE: Final = {
    "maxLength": TEXT_MAX,
    "pattern": rf"^[^{HIDDEN}]*[^{SPACE}{HIDDEN}][^{HIDDEN}]*$",
}

CandidateId = Annotated[str, Meta(pattern=CANDIDATE_ID, description="Names the candidate.")]
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

RULES: Final = {
    "name": Rule(str, f"must be a name on one line, at most {TEXT_MAX} characters"),
    "reason": Rule(str, f"must be a reason on one line, at most {TEXT_MAX} characters"),
}
"""What the fields of bodies must be, by their names."""


# ------------------------------------------------------------------------------- requests


class NewSignature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """That a person has read the pack of a candidate and stands for it."""

    name: Person
    reason: Reason


class NewRollback(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who goes back to the model before, and why."""

    name: Person
    reason: Reason


REQUESTS: Final = (NewSignature, NewRollback)


def _line(text: str) -> None:
    if not is_line(text):
        raise ValueError


_CHECKS: Final[Mapping[str, Check]] = {"name": _line, "reason": _line}


# -------------------------------------------------------------------------------- replies


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


class SignedCandidate(msgspec.Struct, frozen=True):
    """Who has signed a candidate, and what came of it."""

    candidate_id: CandidateId
    model: Annotated[str, Meta(description="The model, by the hash of its content.")]
    signatures: Annotated[list[Signature], Meta(description="The first one first.")]
    needed: Annotated[
        int,
        Meta(ge=1, description="How many signatures the terms ask for.", extra_json_schema=INT32),
    ]
    live: Annotated[bool, Meta(description="Whether the model answers live applications.")]


class Candidate(SignedCandidate, frozen=True, kw_only=True):
    """A model that was trained and validated, and may be signed."""

    history_id: HistoryId
    passed: Annotated[bool, Meta(description="Whether every gate held: only then can one sign.")]
    gates: Annotated[list[GateOutcome], Meta(description="All of them.")]
    created_at: Moment
    by: Annotated[str, Meta(description="Who asked for it: a person, or the id of a key.")]
    pack: Annotated[
        msgspec.Raw,
        Meta(
            description="The validation pack: all that was measured, as JSON.",
            extra_json_schema={"type": "object"},
        ),
    ]


class RolledBack(msgspec.Struct, frozen=True):
    """The model that answers again."""

    model: Annotated[str, Meta(description="By the hash of its content.")]


REPLIES: Final = (Candidate, SignedCandidate, RolledBack)


def candidate_reply(judged: Judged) -> bytes:
    """Give a candidate with its pack."""
    found = judged.candidate
    return encode_json(
        Candidate(
            candidate_id=found.id,
            model=found.model_id,
            signatures=_signatures(judged.signatures),
            needed=judged.needed,
            live=judged.live,
            history_id=found.history_id,
            passed=found.passed,
            gates=[GateOutcome(one.name, one.passed, one.words) for one in found.gates],
            created_at=moment(found.created_us),
            by=found.made_by,
            pack=msgspec.Raw(judged.pack),
        )
    )


def signed_reply(approved: Approved) -> bytes:
    """Say who has signed, and whether the model answers now."""
    found = approved.candidate
    signatures = _signatures(approved.signatures)
    return encode_json(
        SignedCandidate(found.id, found.model_id, signatures, approved.needed, approved.live)
    )


def rolled_back_reply(model_id: str) -> bytes:
    """Name the model that answers again."""
    return encode_json(RolledBack(model_id))


def _signatures(signatures: Sequence[records.Signature]) -> list[Signature]:
    return [Signature(one.person, one.reason, moment(one.signed_us)) for one in signatures]


# ------------------------------------------------------------------------------ operations


def _created(description: str, schema: str, example: str) -> Success:
    headers = ("Location", *RATE)
    return Success(description, reference(schema), headers=headers, examples=(example,))


class CandidateEndpoints:
    """Models that were trained: what was measured, who stands for them, and the way back."""

    def __init__(self, admission: Admission, remote: OnboardingApi, approval: Approval) -> None:
        self._admission = admission
        self._remote = remote
        self._approval = approval

    @Operation(
        path=CANDIDATE,
        method="GET",
        id="getCandidate",
        tag=TAG,
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
        refusals=(BadParameter, records.UnknownCandidate),
    )
    async def candidate(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.PILOT_READ)
        parameters.read(call, ())
        lender, candidate_id = caller.book.lender, call.path_part("candidate_id")
        if call.wants_page:
            page = await run_with_timeout(lambda: self._remote.page(lender, candidate_id))
            if page is not None:
                return private_page(page, headers)
        judged = await run_with_timeout(lambda: self._remote.candidate(lender, candidate_id))
        return private_json(candidate_reply(judged), [VARIES, *headers])

    @Operation(
        path=f"{CANDIDATE}/signatures",
        method="POST",
        id="signCandidate",
        tag=TAG,
        summary="Sign a candidate",
        description="A named person stands for the model, with a reason. With the last signature "
        "that the terms ask for it answers live applications, in every process within a second; a "
        "request is answered by one model from its beginning to its end. Four eyes are two names "
        "and two keys. Nobody can sign a candidate that has failed a gate.",
        scope=Scope.PILOT_WRITE,
        parameters=("candidate_id",),
        body="NewSignature",
        body_told=FIELDS_TOLD,
        requests=("new_signature",),
        replies={201: _created("It is signed.", "SignedCandidate", "signed")},
        refusals=(
            *BODY,
            records.UnknownCandidate,
            records.ApprovalBlocked,
            records.GateFailed,
            records.SignatureRefused,
        ),
    )
    async def sign(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.PILOT_WRITE)
        parameters.read(call, ())
        lender, candidate_id = caller.book.lender, call.path_part("candidate_id")
        sent = fields.read(NewSignature, await json_body(call), RULES, _CHECKS)
        signing = Signing(sent.name, sent.reason, caller.key.id)
        approved = await run_with_timeout(
            lambda: self._approval.sign(lender, candidate_id, signing)
        )
        place = CANDIDATE.format(candidate_id=candidate_id)
        return created_json(signed_reply(approved), headers, place)

    @Operation(
        path=ROLLBACKS,
        method="POST",
        id="rollBackModel",
        tag=TAG,
        summary="Go back to the model before",
        description="The lender's own model that answered live before this one answers again, "
        "under the policy of now. A model that was "
        "itself rolled back answers again only when its candidate is signed again.",
        scope=Scope.PILOT_WRITE,
        body="NewRollback",
        body_told=FIELDS_TOLD,
        requests=("new_rollback",),
        replies={201: _created("It answers again.", "RolledBack", "rolled_back")},
        refusals=(*BODY, records.ModelWithdrawn, records.NothingBefore, records.ApprovalBlocked),
    )
    async def roll_back(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.PILOT_WRITE)
        parameters.read(call, ())
        sent = fields.read(NewRollback, await json_body(call), RULES, _CHECKS)
        lender, key_id = caller.book.lender, caller.key.id
        model_id = await run_with_timeout(
            lambda: self._approval.roll_back(lender, sent.name, sent.reason, key_id)
        )
        return created_json(rolled_back_reply(model_id), headers, ONBOARDING)
