"""The OpenAPI 3.1 document: the whole contract, for machines.

`operations` says what is served, `schemas` what is sent, `examples` shows it; here they are put
together. The reference page is made of the result and of nothing else.
"""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from alama import __version__
from alama.api import (
    examples,
    examples_monitoring,
    examples_onboarding,
    examples_outcomes,
    examples_reviews,
    examples_webhooks,
    meanings,
    problems,
    schemas,
)
from alama.api.components import HEADERS, LINKS, PARAMETERS
from alama.api.openapi_webhooks import webhooks
from alama.api.operation import JSON, Operation, Success
from alama.api.operations import OPERATIONS, TAGS
from alama.api.status import OPERATORS
from alama.core.product import PRODUCT
from alama.files.models import sample_application

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alama.api.exchange import Reply

Json = dict[str, Any]

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
            "schemas": schemas.schemas(PRODUCT),
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
        **examples_reviews.requests(),
        **examples_outcomes.requests(),
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
        **examples_reviews.replies(),
        **examples_outcomes.replies(),
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
