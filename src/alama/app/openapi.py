"""The OpenAPI 3.1 document: the whole contract, for machines, gathered from the rooms.

`operations` says what is served, `schemas` what is sent, `examples` shows it; here they are put
together. The reference page is made of the result and of nothing else.
"""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import msgspec

from alama import __version__
from alama.app import examples
from alama.core.application import HIDDEN
from alama.core.catalogue import WORD_LENGTH_MAX, Catalogue, Field, Kind, Use
from alama.core.errors import InvalidApplication, MalformedDocument
from alama.core.intake import request_type
from alama.core.monitoring.figures import MonitoringReport
from alama.core.product import PRODUCT
from alama.core.receipts import Receipt
from alama.core.recourse.answer import COUNT_DEFAULT, COUNT_MAX
from alama.lenders import records as errors
from alama.monitoring import api as examples_monitoring
from alama.monitoring import outcomes_api, reviews_api
from alama.monitoring.api import MONITORING_OPERATIONS
from alama.monitoring.outcomes_api import OUTCOME_OPERATIONS
from alama.monitoring.report import DAYS_DEFAULT, DAYS_MAX
from alama.monitoring.reviews_api import REVIEW_OPERATIONS
from alama.onboarding import examples as components_onboarding
from alama.onboarding import examples as examples_onboarding
from alama.onboarding import wire as wire_onboarding
from alama.onboarding.api import ONBOARDING_OPERATIONS
from alama.platform import errors as platform_errors
from alama.platform.book import Scope
from alama.platform.files import packaged
from alama.platform.files.packaged import LANGUAGES, sample_application
from alama.platform.http import operation as schemas
from alama.platform.http import problems
from alama.platform.http import problems as http_problems
from alama.platform.http import problems as meanings
from alama.platform.http import status as http_status
from alama.platform.http.operation import HTML, JSON, RATE, Operation, Schema, Success, reference
from alama.platform.http.problems import BadParameter, BodyTooLarge, UnsupportedMediaType
from alama.platform.http.status import OPERATORS
from alama.protection import receipts
from alama.scoring import api as render
from alama.scoring import records as scoring_records
from alama.scoring import wire
from alama.scoring import wire as wire_explanation
from alama.scoring.api import IDEMPOTENCY_KEY_MAX, PAGE_DEFAULT, PAGE_MAX
from alama.scoring.explain_api import TARGET_DEFAULT
from alama.webhooks import examples as components_webhooks
from alama.webhooks import examples as examples_webhooks
from alama.webhooks import wire as wire_events
from alama.webhooks import wire as wire_webhooks
from alama.webhooks.examples import webhooks
from alama.webhooks.operations import WEBHOOK_OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from alama.platform.http.exchange import Reply


REPLIES: Final = (
    wire.ScoreReply,
    wire_explanation.ExplainReply,
    wire.ScoreRecord,
    wire.ScorePage,
    http_status.Health,
    http_problems.Problem,
    Receipt,
    *outcomes_api.REPLIES,
    MonitoringReport,
    *wire_webhooks.REPLIES,
    *wire_onboarding.REPLIES,
    *dict.fromkeys(wire_events.DATA.values()),
)

SPACE: Final = r"\s\x1c-\x1f\x85"
"""What Python strips from a string; other languages know fewer kinds of space."""

NOT_BLANK: Final = rf"[^{SPACE}]"
WORD: Final = (
    rf"^[{SPACE}]*[^{SPACE}{HIDDEN}]"
    rf"([^{HIDDEN}]{{0,{WORD_LENGTH_MAX - 2}}}[^{SPACE}{HIDDEN}])?[{SPACE}]*$"
)
"""A word with space around it, which does not count (`may_be_word`, held by a test)."""

NOT_PERSONAL: Final = (
    rf"@|^[{SPACE}]*(\+[\d{SPACE}().-]{{6,}}|[\d().-][\d{SPACE}().-]{{5,}})[\d().-][{SPACE}]*$"
)
"""What a reference must not look like, space around it aside (`looks_personal`, held by a test)."""

EXAMPLES: Final = {
    "device_type": "smartphone",
    "loan_purpose": "business",
    "region": "Nairobi",
    "applicant_ref": "customer-7f3a",
}

_APPLICATION: Final = """\
What a lender knows about an applicant: one object of numbers and words. Four fields are required, \
and three of these have a second, compact spelling; send one spelling of each. Every other field \
is optional and may be null. Averages are over the last six full months, or since the first \
transaction where that is shorter; a wallet without activity sends 0. Money is in the lender's \
currency. Words have 1 to 64 characters, space around them aside, in any script, without \
characters that steer a terminal, turn the direction of writing or have no width; they are \
compared without case, and one that the model never met is scored as "other". A name that stands \
twice is refused, and so is every name that is not listed here."""


def all_schemas(catalogue: Catalogue) -> dict[str, Schema]:
    """Give every schema by name."""
    request = request_type(catalogue)
    _, made = msgspec.json.schema_components(
        [
            request,
            *reviews_api.REQUESTS,
            *outcomes_api.REQUESTS,
            *wire_webhooks.REQUESTS,
            *wire_onboarding.REQUESTS,
            *REPLIES,
        ],
        ref_template="#/components/schemas/{name}",
    )
    tidy: dict[str, Schema] = {name: _tidy(schema) for name, schema in made.items()}
    tidy[request.__name__] = _application(tidy[request.__name__], catalogue)
    # No more than that is promised: what was stored keeps the rules of its own day.
    tidy["ScoreRecord"]["properties"]["application"]["type"] = "object"
    tidy["Event"]["properties"]["payload"]["type"] = "object"
    tidy["Problem"]["properties"]["remains"] |= reference("ScoreListed")
    tidy["LoanHistory"]["properties"]["report"]["type"] = ["object", "null"]
    tidy["Candidate"]["properties"]["pack"]["type"] = "object"
    outcome = tidy["NewOutcome"]["properties"]["outcome"]
    tidy["NewOutcome"]["properties"]["outcome"] = {
        "description": outcome["description"],
        "type": "string",
        "enum": tidy.pop("State")["enum"],
    }
    for name in ("Movement", "RateVerdict", "Urgency"):
        _set_in(tidy, name)
    kinds = {"type": "string", "enum": tidy.pop("EventKind")["enum"]}
    for name in ("NewWebhookEndpoint", "WebhookEndpointChange"):
        tidy[name]["properties"]["kinds"]["items"] = kinds
    tidy["Problem"]["properties"]["code"]["x-codes"] = problem_codes()
    tidy["FieldFault"]["properties"]["code"]["x-codes"] = _told(meanings.FIELDS)
    for name in ("OfferDetail", "ExplainReply"):
        tidy[name]["properties"]["rules"]["items"]["x-codes"] = _told(meanings.RULES)
    tidy["Obstacle"]["properties"]["code"]["x-codes"] = _told(meanings.OBSTACLES)
    tidy["Reason"]["properties"]["code"]["x-codes"] = reason_codes()
    return tidy


def _set_in(tidy: dict[str, Schema], name: str) -> None:
    """Put the words of a closed set where they are meant, instead of a pointer to them."""
    pointer, words = reference(name), tidy.pop(name)["enum"]
    for schema in tidy.values():
        for told in schema.get("properties", {}).values():
            if pointer.items() <= told.items():
                del told["$ref"]
                told |= {"type": "string", "enum": words}


def _told(codes: Mapping[str, meanings.Meaning]) -> dict[str, Schema]:
    return {code: meaning._asdict() for code, meaning in codes.items()}


def reason_codes() -> dict[str, Schema]:
    """Give the codes of reasons, each with its words in English, placeholders and all."""
    english, *_ = packaged.languages()
    return {
        code: {"text": " ".join(filter(None, (told.text, told.help)))}
        for code, told in english.texts.items()
    }


def problem_codes() -> dict[str, Schema]:
    """Give what is public about each kind of problem, by its code."""
    order = list(meanings.PROBLEMS)
    every = [*problems.kinds().values(), problems.INTERNAL]
    kinds = sorted(every, key=lambda kind: (kind.status, order.index(kind.code)))
    return {
        kind.code: {"status": int(kind.status), **meanings.PROBLEMS[kind.code]._asdict()}
        for kind in kinds
    }


# ------------------------------------------------------------------------- the request


def _application(schema: Schema, catalogue: Catalogue) -> Schema:
    properties: dict[str, Schema] = schema["properties"]
    for name, place in catalogue.position.items():
        field = catalogue.fields[place]
        properties[name] = _property(properties[name], name, field)
    required = [field for field in catalogue.fields if field.required]
    return {
        **schema,
        "description": _APPLICATION,
        "required": [field.name for field in required if field.other_spelling is None],
        "allOf": [
            _either_spelling(field, properties) for field in required if field.other_spelling
        ],
        "additionalProperties": False,
        "x-prohibited": list(catalogue.prohibited),
    }


def _property(written: Schema, name: str, field: Field) -> Schema:
    added: Schema = {"description": _meaning(name, field)}
    if field.unit:
        added["x-unit"] = field.unit
    if name != field.name:
        added["x-spelling-of"] = field.name
    if name in EXAMPLES:
        added["examples"] = [EXAMPLES[name]]
    if field.kind is Kind.INTEGER:
        # Decoded as a number, since 24.0 is a whole number too, in JSON as in JSON Schema.
        written = {**written, "type": ["integer", "null"]}
    if field.kind is Kind.WORD:
        added["pattern"] = WORD
        # The pattern has it: space around a word does not count.
        written = {rule: told for rule, told in written.items() if rule != "maxLength"}
    if field.use is Use.REFERENCE:
        added["not"] = {"type": "string", "pattern": NOT_PERSONAL}
    if field.required and field.other_spelling is None:
        written = _given(written)
    return {**added, **written}


def _meaning(name: str, field: Field) -> str:
    # A list of words is left as it is: they are values, to be spelled so.
    listed = field.meaning.endswith("...")
    sentence = field.meaning if listed else f"{field.meaning[:1].upper()}{field.meaning[1:]}."
    return sentence if name == field.name else f"Compact spelling of `{field.name}`: {sentence}"


def _either_spelling(field: Field, properties: dict[str, Schema]) -> Schema:
    """Ask for one spelling or the other, so that the two cannot contradict each other."""
    first, second = field.name, str(field.other_spelling)
    return {
        "anyOf": [
            {
                "required": [sent],
                "properties": {
                    sent: {"type": _given(properties[sent])["type"]},
                    other: {"type": "null"},
                },
            }
            for sent, other in ((first, second), (second, first))
        ]
    }


def _given(schema: Schema) -> Schema:
    """Give the schema of a value that must be there: not null."""
    (kind,) = (kind for kind in schema["type"] if kind != "null")
    return {**schema, "type": kind}


# ------------------------------------------------------------------- what msgspec writes, tidier


def _tidy(schema: Any) -> Any:  # noqa: ANN401  JSON has no better type
    if isinstance(schema, list | tuple):
        return [_tidy(part) for part in schema]
    if isinstance(schema, float) and schema.is_integer():
        return int(schema)
    if not isinstance(schema, dict):
        return schema
    match schema:
        case {"anyOf": [{"type": str(kind), **rules}, {"type": "null"}], **rest}:
            schema = {**rest, "type": [kind, "null"], **rules}
        case {"anyOf": kinds, **rest} if all(kind.keys() == {"type"} for kind in kinds):
            schema = {**rest, "type": [kind["type"] for kind in kinds]}
        case _:
            pass
    return {name: _tidy(part) for name, part in schema.items()}


# Parameters, headers and links of the OpenAPI document, each described once and pointed to.


Json = dict[str, Any]

SCORE: Final = "^([3-7][0-9][0-9]|8[0-4][0-9]|850)$"
TIER: Final = "^[A-Za-z0-9+-]{1,8}$"
"""Which of the names that a tier may have are tiers, the policy of the key says."""

REQUEST_ID: Final = {"type": "string", "pattern": "^req_[0-9a-f]{28}$"}

PARAMETERS: Final[dict[str, Json]] = {
    "expand": {
        "name": "expand",
        "in": "query",
        "description": "What to add to the ten fields of the reply, separated by commas.",
        "style": "form",
        "explode": False,
        "schema": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "enum": list(render.EXPANSIONS)},
        },
        "example": ["base_score", "offer"],
    },
    "language": {
        "name": "language",
        "in": "query",
        "description": "In which language to speak to the applicant.",
        "schema": {"type": "string", "enum": list(LANGUAGES), "default": LANGUAGES[0]},
        "example": "sw",
    },
    "target": {
        "name": "target",
        "in": "query",
        "description": f"What to lead to: `{TARGET_DEFAULT}`, a tier of the policy such as `B` "
        "(or a better one), or a score such as `700` (or more).",
        "schema": {
            "type": "string",
            "anyOf": [{"const": TARGET_DEFAULT}, {"pattern": SCORE}, {"pattern": TIER}],
            "default": TARGET_DEFAULT,
        },
        "example": TARGET_DEFAULT,
    },
    "ways": {
        "name": "limit",
        "in": "query",
        "description": "How many ways to the target are wanted, at most. No way holds all the "
        "fields of another.",
        "schema": {
            "type": "integer",
            "minimum": 1,
            "maximum": COUNT_MAX,
            "default": COUNT_DEFAULT,
        },
        "example": COUNT_DEFAULT,
    },
    "locked": {
        "name": "locked",
        "in": "query",
        "description": "Fields that must stay as they are, in either spelling, separated by "
        "commas. None where it is empty; space around a name does not count.",
        "style": "form",
        "explode": False,
        "schema": {
            "type": "array",
            "items": {"type": "string", "enum": list(PRODUCT.position)},
        },
        "example": ["requested_amount"],
    },
    "Idempotency-Key": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Any text of your own that names this request, such as a UUID. Sent again "
        "within 72 hours, the same request gets the same reply and is stored once. It stands once, "
        f"and has at most {IDEMPOTENCY_KEY_MAX} bytes: a letter beyond ASCII has more than one in "
        "UTF-8.",
        "schema": {
            "type": "string",
            "minLength": 1,
            "maxLength": IDEMPOTENCY_KEY_MAX,
            "pattern": NOT_BLANK,
        },
        "example": "7f9c2ba4-e88f-4d27-a1c5-0b6a3c1d5e42",
    },
    "limit": {
        "name": "limit",
        "in": "query",
        "description": "How many a page may have.",
        "schema": {
            "type": "integer",
            "minimum": 1,
            "maximum": PAGE_MAX,
            "default": PAGE_DEFAULT,
        },
        "example": 50,
    },
    "waiting": {
        "name": "waiting",
        "in": "query",
        "description": "Only scores that wait for a person: those that say `REVIEW` and were not "
        "reviewed yet, without those of applicants that were erased.",
        "schema": {"type": "boolean", "default": False},
        "example": True,
    },
    "cursor": {
        "name": "cursor",
        "in": "query",
        "description": "The `next_cursor` of the page before; left out for the newest.",
        "schema": REQUEST_ID,
        "example": examples.REQUEST_ID,
    },
    "request_id": {
        "name": "request_id",
        "in": "path",
        "required": True,
        "description": "The `request_id` that the score was given with.",
        "schema": REQUEST_ID,
        "example": examples.REQUEST_ID,
    },
    "days": {
        "name": "days",
        "in": "query",
        "description": "How many days to report on, today included.",
        "schema": {"type": "integer", "minimum": 1, "maximum": DAYS_MAX, "default": DAYS_DEFAULT},
        "example": 30,
    },
    "model": {
        "name": "model",
        "in": "query",
        "description": "Another model than the one that answers, by its id: one of `other_models`, "
        "or one of whose loans anything is known.",
        "schema": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
    },
    **components_webhooks.PARAMETERS,
    **components_onboarding.PARAMETERS,
    "If-None-Match": {
        "name": "If-None-Match",
        "in": "header",
        "description": "The `ETag` of what you have: the answer is 304 while it is the newest.",
        "schema": {"type": "string"},
    },
}

HEADERS: Final[dict[str, Json]] = {
    "Request-Id": {
        "description": "Names this exchange, for the log and for whoever helps you.",
        "required": True,
        "schema": REQUEST_ID,
    },
    "RateLimit": {
        "description": "Requests left right now (r), and seconds until all are back (t).",
        "required": True,
        "schema": {"type": "string"},
        "example": '"key";r=1999;t=1',
    },
    "RateLimit-Policy": {
        "description": "Requests (q) that the key may send in a window of w seconds.",
        "required": True,
        "schema": {"type": "string"},
        "example": '"key";q=2000;w=2',
    },
    "Retry-After": {
        "description": "Seconds to wait before asking again.",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    },
    "WWW-Authenticate": {
        "description": "How to prove who you are.",
        "required": True,
        "schema": {"type": "string"},
        "example": 'Bearer realm="alama"',
    },
    "Allow": {
        "description": "The methods that the path knows.",
        "required": True,
        "schema": {"type": "string"},
        "example": "POST",
    },
    "Idempotent-Replayed": {
        "description": "`true` where the reply was given before, under the same `Idempotency-Key`.",
        "schema": {"type": "string", "const": "true"},
    },
    "Cache-Control": {
        "description": "Whether the reply may be kept.",
        "required": True,
        "schema": {"type": "string"},
    },
    "Location": {
        "description": "Where to ask how far it has come.",
        "required": True,
        "schema": {"type": "string"},
        "example": f"/v1/onboarding/jobs/{examples_onboarding.JOB_ID}",
    },
    "Vary": {
        "description": "The reply depends on what the caller accepts.",
        "required": True,
        "schema": {"type": "string"},
        "example": "accept",
    },
    "ETag": {
        "description": "Names this version of the document.",
        "required": True,
        "schema": {"type": "string"},
    },
}

LINKS: Final[dict[str, Json]] = {
    "getScore": {
        "operationId": "getScore",
        "description": "Read the stored score.",
        "parameters": {"request_id": "$response.body#/request_id"},
    },
    "getReceipt": {
        "operationId": "getReceipt",
        "description": "Prove the score.",
        "parameters": {"request_id": "$response.body#/request_id"},
    },
    "reviewScore": {
        "operationId": "reviewScore",
        "description": "Say what a person decided.",
        "parameters": {"request_id": "$response.body#/request_id"},
    },
    "listScores": {
        "operationId": "listScores",
        "description": "Read the next page.",
        "parameters": {"cursor": "$response.body#/next_cursor"},
    },
    **components_webhooks.LINKS,
    **components_onboarding.LINKS,
}


# The operations as the OpenAPI document tells them: what each is for, takes, gives and refuses.
#
# A test holds this list to the routes that are served.


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
            platform_errors.ModelUnavailable,
            scoring_records.IdempotencyInFlight,
            BodyTooLarge,
            UnsupportedMediaType,
            InvalidApplication,
            scoring_records.IdempotencyKeyReused,
            platform_errors.Erased,
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
            platform_errors.ModelUnavailable,
            platform_errors.Busy,
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
        refusals=(BadParameter, scoring_records.UnknownScore, platform_errors.Erased),
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
        refusals=(
            BadParameter,
            scoring_records.UnknownScore,
            receipts.NoReceipt,
            platform_errors.Erased,
        ),
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


SERVER: Final = {"url": "/", "description": "This installation."}

PROBLEM_JSON: Final = problems.MEDIA_TYPE.decode()

_FILE: Final = {"type": "string", "format": "binary"}

DESCRIPTION: Final = """\
Alama scores loan applications from mobile-money behaviour, for lenders in markets where \
applicants have a phone but no bureau file. Send what you know about an applicant and get a \
calibrated score, a risk tier, a decision, an offer, and the exact points that each field gave. It \
runs on the lender's own machines, and every score is stored so that it can be replayed years \
later, bit for bit.

**Paths.** Every path is also served under `/api`, with the same answer; not so `/livez` and \
`/readyz`, which are for whoever runs the service.

**Versions.** `/v1` changes by addition only: expect new fields in replies and new words in \
`decision` and `code`.

**Errors.** Every problem is `application/problem+json` (RFC 9457) with a stable `code`. It \
reports every broken field at once, and no value that was sent is ever part of it.

**Retries and idempotency.** `POST /v1/score` with an `Idempotency-Key` is answered once: for 72 \
hours the same request under the same key gets the same bytes, with the header \
`Idempotent-Replayed: true`. `POST /v1/outcomes` needs none: news that was sent before changes \
nothing.

**Limits.** A head has at most 32 KiB, and 10 seconds to come; a body has 30 seconds, and one more \
for each 16 KiB of it. A body has at most 64 KiB, one of outcomes 512 KiB, a loan history 64 MiB. \
A key may send 1,000 requests a second, and 2,000 at once, unless the operator sets another rate. \
`RateLimit` and `RateLimit-Policy` say how it stands, in every reply to a key that was \
recognised."""


def encoded() -> bytes:
    """Give the document as JSON, indented for people who read it."""
    return json.dumps(document(), indent=2, ensure_ascii=False).encode() + b"\n"


def document() -> Json:
    """Put the document together."""
    said = examples.Replies()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Alama",
            "version": __version__,
            "summary": "Credit scores from mobile-money behaviour, explained exactly.",
            "description": DESCRIPTION,
            "contact": {"name": "The operator of this installation"},
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [
            SERVER,
            {"url": "/api", "description": "The same, for callers that expect the prefix."},
        ],
        "tags": [{"name": name, "description": told} for name, told in TAGS.items()],
        "paths": {
            path: {operation.method.lower(): _operation(operation) for operation in methods}
            for path, methods in groupby(OPERATIONS, key=lambda operation: operation.path)
        },
        "webhooks": webhooks(examples_webhooks.deliveries(said.model_id, said.policy_id)),
        "components": {
            "schemas": all_schemas(PRODUCT),
            "parameters": PARAMETERS,
            "headers": HEADERS,
            "examples": {**_request_examples(), **_reply_examples(said), **_problem_examples()},
            "securitySchemes": {"key": _security_scheme()},
        },
    }


def _security_scheme() -> Json:
    return {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "alama_test_... or alama_live_...",
        "description": "An API key. A test key (`alama_test_`) is answered by the built-in model, "
        "a live key (`alama_live_`) by the lender's own; neither sees the scores of the other. "
        "`alama keys issue --lender demo --mode test` prints one.",
    }


# --------------------------------------------------------------------------- operations


def _operation(operation: Operation) -> Json:
    told: Json = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": operation.description,
        "security": [{"key": []}] if operation.scope else [],
    }
    if operation.path in OPERATORS:
        told["servers"] = [SERVER]
    if operation.scope:
        told["description"] += f" The key needs the scope `{operation.scope}`."
    if operation.parameters:
        told["parameters"] = [_point("parameters", name) for name in operation.parameters]
    if operation.body:
        told["requestBody"] = {
            "required": operation.body_required,
            "description": operation.body_told,
            "content": {JSON: _content(_body(operation.body, operation), operation.requests)},
        }
    if operation.file_types:
        told["requestBody"] = {
            "required": True,
            "description": operation.body_told,
            "content": {media_type: {"schema": _FILE} for media_type in operation.file_types},
        }
    told["responses"] = {
        **{str(status): _success(reply) for status, reply in operation.replies.items()},
        **{
            str(status): refused
            for status, refused in _refusals(operation).items()
            if status not in operation.replies
        },
    }
    return told


def _body(schema: str, operation: Operation) -> Json:
    if operation.other_body is None:
        return schemas.reference(schema)
    return {"oneOf": [schemas.reference(one) for one in (schema, operation.other_body)]}


def _success(reply: Success) -> Json:
    told: Json = {
        "description": reply.description,
        "headers": _headers(["Request-Id", *reply.headers]),
    }
    if reply.schema is not None:
        told["content"] = {reply.media_type: _content(reply.schema, reply.examples)}
        if reply.also is not None:
            told["content"][reply.also] = _content({"type": "string"}, ())
    if reply.links:
        told["links"] = {name: LINKS[name] for name in reply.links}
    return told


def _refusals(operation: Operation) -> dict[int, Json]:
    """Describe the problems of an operation by status, as the code that answers writes them."""
    replies = sorted(map(examples.problem, operation.problems), key=lambda reply: reply.status)
    return {
        status: _refusal(list(alike))
        for status, alike in groupby(replies, key=lambda reply: reply.status)
    }


def _refusal(replies: list[Reply]) -> Json:
    sent = {name.decode() for reply in replies for name, _ in reply.headers}
    named = [name for name in HEADERS if name.lower() in sent]
    codes = [_code(reply) for reply in replies]
    return {
        "description": " Or: ".join(meanings.PROBLEMS[code].when for code in codes),
        "headers": _headers(["Request-Id", *named]),
        "content": {PROBLEM_JSON: _content(schemas.reference("Problem"), codes)},
    }


def _headers(names: Iterable[str]) -> Json:
    return {name: _point("headers", name) for name in names}


def _content(schema: Json, named: Iterable[str]) -> Json:
    shown = {name: _point("examples", name) for name in named}
    return {"schema": schema, **({"examples": shown} if shown else {})}


def _point(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


# ----------------------------------------------------------------------------- examples


def _request_examples() -> Json:
    bodies = examples.requests()
    return {
        "full": {"summary": "Everything the model reads", "value": bodies["full"]},
        "compact": {"summary": "The four required fields", "value": bodies["compact"]},
        "declined": {"summary": "An application that is declined", "value": bodies["declined"]},
        **reviews_api.requests(),
        **outcomes_api.requests(),
        **examples_webhooks.requests(),
        **examples_onboarding.requests(),
    }


def _reply_examples(said: examples.Replies) -> Json:
    full = sample_application()
    status = {
        "health": {"status": "ok", "version": __version__, "model": said.model_id},
        "unhealthy": {"status": "unavailable", "reason": "the database did not answer in time"},
        "alive": {"status": "ok"},
    }
    return {
        "full_reply": {"summary": "Reply to the full request", "value": said.score(full)},
        "compact_reply": {
            "summary": "Reply to the compact request",
            "value": said.score(examples.COMPACT),
        },
        "expanded_reply": {
            "summary": "Reply with everything that `expand` can add",
            "value": said.expanded(examples.COMPACT),
        },
        "declined_explained": {
            "summary": "Explanation of the request that is declined",
            "value": said.explained(examples.DECLINED),
        },
        "compact_explained": {
            "summary": "Explanation of the compact request, which is approved",
            "value": said.explained(examples.COMPACT),
        },
        "locked_explained": {
            "summary": "Where nothing leads to the target: "
            f"`target={examples.TIER}&locked={examples.LOCKED}&language=sw`",
            "value": said.without_recourse(examples.DECLINED),
        },
        "page": {"summary": "One score a page", "value": said.page(full)},
        "record": {"summary": "A stored score", "value": said.record(examples.COMPACT)},
        "receipt": {"summary": "Proof of a score", "value": said.receipt(examples.COMPACT)},
        **reviews_api.replies(),
        **outcomes_api.replies(),
        **examples_monitoring.replies(said.model_id),
        **examples_webhooks.replies(said.model_id, said.policy_id),
        **examples_onboarding.replies(said.model_id),
        **{name: {"value": value} for name, value in status.items()},
    }


def _problem_examples() -> Json:
    kinds = {kind: None for operation in OPERATIONS for kind in operation.problems}
    replies = [examples.problem(kind) for kind in kinds]
    return {
        _code(reply): {
            "summary": json.loads(reply.body)["title"],
            "description": meanings.PROBLEMS[_code(reply)].remedy,
            "value": json.loads(reply.body),
        }
        for reply in replies
    }


def _code(reply: Reply) -> str:
    code: str = json.loads(reply.body)["code"]
    return code
