"""Applicants over HTTP: all that is held on one is given out, or erased for good."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from alama.platform.book import Book, Mode, Scope
from alama.platform.days import moment
from alama.platform.http import fields, parameters
from alama.platform.http.bodies import json_body
from alama.platform.http.exchange import Call, Reply, Utc, encode_json, private_json
from alama.platform.http.fields import Rule
from alama.platform.http.operation import (
    AT_US,
    BODY,
    FIELDS_TOLD,
    Json,
    Operation,
    Success,
    reference,
)
from alama.platform.timeouts import run_with_timeout
from alama.protection import applicants
from alama.protection.applicants import (
    ApplicantExport,
    Applicants,
    Erasure,
    Hold,
    UnderHold,
    UnknownApplicant,
)
from alama.scoring.api import REFERENCE, REFERENCE_RULE, is_reference

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from alama.core.errors import AlamaError
    from alama.scoring.admission import Admission

TAG: Final = "Applicants"
TIMEOUT_S: Final = 30.0
"""Of one applicant with ten thousand scores each is opened, which takes seconds."""

RULES: Final = {"applicant_ref": Rule(str, REFERENCE_RULE)}


class NamedApplicant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whom a request is about."""

    applicant_ref: Annotated[
        str,
        Meta(
            description="What was sent as `applicant_ref`, letter by letter.",
            examples=["customer-7f3a"],
            extra_json_schema={name: rule for name, rule in REFERENCE.items() if name != "type"},
        ),
    ]


class ApplicantErased(msgspec.Struct, frozen=True):
    """What an erasure has made unreadable."""

    erased: Annotated[
        bool,
        Meta(
            description="Whether something was held, and cannot be read any more. false: nothing "
            "is held on this applicant, who was erased before, or never known by this reference."
        ),
    ]
    scores: Annotated[int, Meta(ge=0, description="Scores whose application is gone.")]
    replies: Annotated[int, Meta(ge=0, description="Replies kept for retries that are gone.")]
    erased_at: Annotated[
        Utc | None, Meta(description="In UTC; null: this request has erased nothing.")
    ]
    applicant_key: Annotated[
        str | None, Meta(description="Names the applicant in the audit, and nowhere else.")
    ]
    complete: Annotated[
        bool,
        Meta(
            description="false: the journal of the database may still hold the key. Send the same "
            "request again, until it says true."
        ),
    ]


REQUESTS: Final = (NamedApplicant,)
REPLIES: Final = (ApplicantExport, ApplicantErased)


class ApplicantEndpoints:
    """What is owed to the applicants of the book of the key."""

    def __init__(
        self,
        admission: Admission,
        applicants: Applicants,
        forget: Callable[[tuple[Book, bytes]], Awaitable[None]],
    ) -> None:
        """`forget` ends what this process itself remembers of a borrower."""
        self._admission = admission
        self._applicants = applicants
        self._forget = forget

    @Operation(
        path="/v1/applicants/export",
        method="POST",
        id="exportApplicant",
        tag=TAG,
        summary="Give out all that is held on an applicant",
        description="Gives every score of the applicant in the key's lender and mode, with what "
        "was sent, every number behind the decision, what an officer decided, what became of the "
        "loan, and legal holds. The audit notes that it was done, and by which key. The reference "
        "is in the body, so that it stands in no log of addresses.",
        scope=Scope.APPLICANTS_READ,
        body="NamedApplicant",
        body_told=FIELDS_TOLD,
        requests=("named_applicant",),
        replies={
            200: Success(
                "All that is held.", reference("ApplicantExport"), examples=("applicant_export",)
            )
        },
        refusals=(*BODY, UnknownApplicant),
    )
    async def export(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.APPLICANTS_READ)
        named = await _named(call)
        book, key_id = caller.book, caller.key.id
        exported = await run_with_timeout(
            lambda: applicants.encode(self._applicants.export(book, named, key_id)), TIMEOUT_S
        )
        return private_json(exported, headers)

    @Operation(
        path="/v1/applicants/erase",
        method="POST",
        id="eraseApplicant",
        tag=TAG,
        summary="Erase an applicant, for good",
        description="Destroys the key that opens what the applicant sent, in the key's lender and "
        "mode: nobody can read it any more, whoever has the database. Decisions that name nobody "
        "stay, as the law may ask. Refused while a legal hold stands. Sent again, it says that "
        "nothing is held: no `Idempotency-Key` is needed. The audit notes it, and by which key.",
        scope=Scope.APPLICANTS_WRITE,
        body="NamedApplicant",
        body_told=FIELDS_TOLD,
        requests=("named_applicant",),
        replies={
            200: Success(
                "Nothing can be read of the applicant any more.",
                reference("ApplicantErased"),
                examples=("applicant_erased", "nothing_held"),
            )
        },
        refusals=(*BODY, UnderHold),
    )
    async def erase(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.APPLICANTS_WRITE)
        named = await _named(call)
        book, key_id = caller.book, caller.key.id
        erasure = await run_with_timeout(lambda: self._erased(book, named, key_id), TIMEOUT_S)
        await self._forget((book, caller.subject(named.strip())))
        return private_json(erased_reply(erasure), headers)

    def _erased(self, book: Book, named: str, key_id: str) -> Erasure | None:
        try:
            return self._applicants.erase(book, named, key_id)
        except UnknownApplicant:
            return None


async def _named(call: Call) -> str:
    parameters.read(call, ())
    checks = {"applicant_ref": _require_reference}
    return fields.read(NamedApplicant, await json_body(call), RULES, checks).applicant_ref


def _require_reference(text: str) -> None:
    if not is_reference(text):
        raise ValueError


def erased_reply(erasure: Erasure | None) -> bytes:
    """Say what an erasure has done; None: nothing is held."""
    if erasure is None:
        return encode_json(ApplicantErased(False, 0, 0, None, None, True))  # noqa: FBT003
    return encode_json(
        ApplicantErased(
            erased=True,
            scores=erasure.scores,
            replies=erasure.replies,
            erased_at=moment(erasure.erased_us),
            applicant_key=erasure.key_id,
            complete=erasure.journal_emptied,
        )
    )


# ------------------------------------------------------------------------------ examples

_KEY: Final = "apk_065bfeda25e0005d1f0a9c3b7e42"
_ERASURE: Final = Erasure(_KEY, AT_US, 3, 1, journal_emptied=True)
_HOLD: Final = Hold(1, Book("demo", Mode.TEST), _KEY, "civil suit 12 of 2026", AT_US, None)


def requests() -> dict[str, Json]:
    """Give the bodies of requests by name, each with what it is for."""
    named = {"applicant_ref": "customer-7f3a"}
    return {"named_applicant": {"summary": "One applicant, by your reference", "value": named}}


def replies() -> dict[str, Json]:
    """Give the bodies of replies by name."""
    erased, nothing = (json.loads(erased_reply(one)) for one in (_ERASURE, None))
    return {
        "applicant_erased": {"summary": "Erased now", "value": erased},
        "nothing_held": {"summary": "Erased before, or never known", "value": nothing},
    }


def refusals() -> dict[str, tuple[AlamaError, ...]]:
    """Give problems by the paths that they are met at."""
    return {
        "/v1/applicants/export": (UnknownApplicant(_HOLD.book),),
        "/v1/applicants/erase": (UnderHold([_HOLD]),),
    }
