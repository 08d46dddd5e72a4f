"""The operations as the OpenAPI document tells them: what each is for, takes, gives and refuses.

A test holds this list to the routes that are served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.api.operation import HTML, JSON, RATE, Operation, Success
from alama.api.operations_monitoring import MONITORING_OPERATIONS
from alama.api.operations_onboarding import ONBOARDING_OPERATIONS
from alama.api.operations_outcomes import OUTCOME_OPERATIONS
from alama.api.operations_reviews import REVIEW_OPERATIONS
from alama.api.operations_webhooks import WEBHOOK_OPERATIONS
from alama.api.problems import BadParameter, BodyTooLarge, UnsupportedMediaType
from alama.api.schemas import reference
from alama.core.errors import InvalidApplication, MalformedDocument
from alama.service import errors
from alama.service.keys import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.api.schemas import Schema

TAGS: Final[Mapping[str, str]] = {
    "Scores": "Score an application, ask why and what would change it, read scores, review them.",
    "Outcomes": "Say what became of the loans: whether what a score promised has come true.",
    "Monitoring": "How a book goes, whether applicants have changed, and what came true.",
    "Webhooks": "Be told of scores and changes: where, what was sent, and what became of it.",
    "Onboarding": "From a lender's loan history to a model of its own that answers live keys.",
    "Status": "Whether the service can serve. No key is needed.",
    "Documents": "This contract, for machines and for people. No key is needed.",
}

_STATUS: Final = {
    200: Success(
        "Scores can be given and kept.", reference("Health"), JSON, ("Cache-Control",), ("health",)
    ),
    503: Success(
        "Scores cannot be given or kept right now; `reason` says why.",
        reference("Health"),
        JSON,
        ("Cache-Control", "Retry-After"),
        ("unhealthy",),
    ),
}
_UNCHANGED: Final = Success("It is still what you have.", None, headers=("ETag", "Cache-Control"))


def _document(description: str, schema: Schema, media_type: str) -> Mapping[int, Success]:
    headers = ("ETag", "Cache-Control")
    return {200: Success(description, schema, media_type, headers), 304: _UNCHANGED}


OPERATIONS: Final = (
    Operation(
        path="/v1/score",
        method="POST",
        id="createScore",
        tag="Scores",
        summary="Score an application",
        description="Scores one loan application, decides, prices an offer, and explains the score "
        "field by field. The reply leaves when the score is stored, so a score that you have "
        "received is never lost. Send an `Idempotency-Key` and it is safe to send the same request "
        "again, whatever happened to the first. A test key is answered by the built-in model, "
        "which was trained on a synthetic population; a live key by the lender's own.",
        scope=Scope.WRITE,
        parameters=("expand", "language", "Idempotency-Key"),
        body="Application",
        requests=("full", "compact"),
        replies={
            200: Success(
                "The score, stored.",
                reference("ScoreReply"),
                headers=(*RATE, "Idempotent-Replayed"),
                examples=("full_reply", "compact_reply", "expanded_reply"),
                links=("getScore", "getReceipt", "reviewScore"),
            )
        },
        refusals=(
            MalformedDocument,
            BadParameter,
            errors.OnboardingIncomplete,
            errors.ModelUnavailable,
            errors.IdempotencyInFlight,
            BodyTooLarge,
            UnsupportedMediaType,
            InvalidApplication,
            errors.IdempotencyKeyReused,
            errors.Erased,
        ),
    ),
    Operation(
        path="/v1/explain",
        method="POST",
        id="explainApplication",
        tag="Scores",
        summary="Explain a decision, and find what would change it",
        description="Takes an application as `/v1/score` does, and says the same of it: score, "
        "tier, decision, offer and exact contributions; then the reasons in words, and the "
        "cheapest changes of at most three fields that lead to `target`. A change is one that an "
        "applicant can make, and together they are judged by the whole policy: sent to "
        "`/v1/score`, the changed application gets exactly what is promised here, while the same "
        "model and policy answer. Where nothing leads there, the reply says what stands in the "
        "way. Nothing is stored, and there is no need for an `Idempotency-Key`.",
        scope=Scope.WRITE,
        parameters=("target", "ways", "locked", "language"),
        body="Application",
        requests=("declined", "compact"),
        replies={
            200: Success(
                "The explanation. Nothing is stored.",
                reference("ExplainReply"),
                headers=RATE,
                examples=("declined_explained", "compact_explained", "locked_explained"),
            )
        },
        refusals=(
            MalformedDocument,
            BadParameter,
            errors.OnboardingIncomplete,
            errors.ModelUnavailable,
            errors.Busy,
            BodyTooLarge,
            UnsupportedMediaType,
            InvalidApplication,
        ),
    ),
    Operation(
        path="/v1/scores",
        method="GET",
        id="listScores",
        tag="Scores",
        summary="List scores, newest first",
        description="Gives the stored scores of the key's lender and mode in pages. The pages stay "
        "right while new scores come in: a cursor names a score, not a place in the list. "
        "`waiting=true` gives those on which a person has to decide yet; send it with each page.",
        scope=Scope.READ,
        parameters=("waiting", "limit", "cursor"),
        replies={
            200: Success(
                "One page.",
                reference("ScorePage"),
                headers=RATE,
                examples=("page",),
                links=("listScores",),
            )
        },
        refusals=(BadParameter,),
    ),
    Operation(
        path="/v1/scores/{request_id}",
        method="GET",
        id="getScore",
        tag="Scores",
        summary="Read one stored score",
        description="Gives everything that is kept of a score: the reply as it was given, how the "
        "offer was priced, which model and policy decided, and the application as it was sent; "
        "then what became of it: what an officer decided, and how the loan went.",
        scope=Scope.READ,
        parameters=("request_id",),
        replies={
            200: Success(
                "The score.",
                reference("ScoreRecord"),
                headers=RATE,
                examples=("record",),
                links=("getReceipt", "reviewScore"),
            ),
        },
        refusals=(BadParameter, errors.UnknownScore, errors.Erased),
    ),
    Operation(
        path="/v1/scores/{request_id}/receipt",
        method="GET",
        id="getReceipt",
        tag="Scores",
        summary="Prove one stored score",
        description="Gives the score with what was sent and concluded, the place of its digest in "
        "the audit log, and the signature of the installation there. Save the bytes as they are: "
        "with them, the model and the policy `alama receipt verify` proves offline that nothing "
        "was changed, and decides again. It holds what the applicant sent: hand it to those alone "
        "who may know that.",
        scope=Scope.READ,
        parameters=("request_id",),
        replies={
            200: Success("The receipt.", reference("Receipt"), headers=RATE, examples=("receipt",)),
        },
        refusals=(BadParameter, errors.UnknownScore, errors.NoReceipt, errors.Erased),
    ),
    *REVIEW_OPERATIONS,
    *OUTCOME_OPERATIONS,
    *MONITORING_OPERATIONS,
    *WEBHOOK_OPERATIONS,
    *ONBOARDING_OPERATIONS,
    Operation(
        path="/v1/health",
        method="GET",
        id="getHealth",
        tag="Status",
        summary="Ask whether scores can be given",
        description="Asks the database itself, at most once a second.",
        replies=_STATUS,
    ),
    Operation(
        path="/readyz",
        method="GET",
        id="getReadiness",
        tag="Status",
        summary="Ask whether to send traffic here",
        description="The same answer as `/v1/health`, where load balancers look for it.",
        replies=_STATUS,
    ),
    Operation(
        path="/livez",
        method="GET",
        id="getLiveness",
        tag="Status",
        summary="Ask whether the process answers",
        description="Touches nothing but the process itself: restart it if there is no answer.",
        replies={
            200: Success("It does.", reference("Health"), JSON, ("Cache-Control",), ("alive",))
        },
    ),
    Operation(
        path="/openapi.json",
        method="GET",
        id="getOpenApi",
        tag="Documents",
        summary="Read this contract as OpenAPI 3.1",
        description="Generated from the types that decode requests and encode replies.",
        parameters=("If-None-Match",),
        replies=_document("The document.", {"type": "object"}, JSON),
    ),
    Operation(
        path="/docs",
        method="GET",
        id="getReference",
        tag="Documents",
        summary="Read this contract as a page",
        description="One page that needs nothing from the internet.",
        parameters=("If-None-Match",),
        replies=_document("The page.", {"type": "string"}, HTML),
    ),
)
