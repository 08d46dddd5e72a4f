"""The OpenAPI 3.1 document: the whole contract, for machines.

The reference page is made of it and of nothing else.
"""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import msgspec

from alama import __version__
from alama.app import examples, served
from alama.app.served import OPERATIONS, PARAMETERS, REPLIES, REQUESTS
from alama.core.application import CONTROLS, HIDDEN, PRODUCT_NAME
from alama.core.catalogue import Catalogue, Field, Kind, Use
from alama.core.intake import request_type
from alama.core.product import PRODUCT
from alama.onboarding import jobs_api
from alama.platform.files import packaged
from alama.platform.http import documents, problems
from alama.platform.http.operation import JSON, Json, Link, Operation, Schema, Success, reference
from alama.platform.http.problem_codes import FIELDS, OBSTACLES, PROBLEMS, RULES, Meaning
from alama.scoring import api as scoring_api
from alama.scoring import evidence
from alama.webhooks import examples as webhooks_examples
from alama.webhooks.events_api import payload_schemas

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from alama.platform.http.exchange import Reply


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
twice is refused, and so is every name that is not listed here, but for the fields that the lender \
has declared of its own: GET /v1/catalogue tells which."""


_WORDS: Final = (
    *("State", "Movement", "RateVerdict", "Urgency", "EventKind", "Scope"),
    *("LoanEventKind", "Ending", "ListName", "ListReason"),
)
"""Lists of words, which stand where they are used."""


def all_schemas(catalogue: Catalogue) -> dict[str, Schema]:
    """Give every schema by name."""
    request = request_type(catalogue)
    _, made = msgspec.json.schema_components(
        [
            request,
            *REQUESTS,
            *REPLIES,
        ],
        ref_template="#/components/schemas/{name}",
    )
    tidy: dict[str, Schema] = {name: _tidy(schema) for name, schema in made.items()}
    tidy[request.__name__] = _application(tidy[request.__name__], catalogue)
    tidy["Problem"]["properties"]["remains"] |= reference("ScoreListed")
    tidy["Problem"]["properties"]["proposal"] |= reference("MappingProposal")
    for name in _WORDS:
        _inline(tidy, reference(name), tidy.pop(name)["enum"])
    tidy["Problem"]["properties"]["code"]["x-codes"] = problem_codes()
    tidy["FieldFault"]["properties"]["code"]["x-codes"] = _told(FIELDS)
    for name in ("OfferDetail", "ExplainReply"):
        tidy[name]["properties"]["rules"]["items"]["x-codes"] = _told(RULES)
    tidy["Obstacle"]["properties"]["code"]["x-codes"] = _told(OBSTACLES)
    tidy["Reason"]["properties"]["code"]["x-codes"] = reason_codes()
    for schema in tidy.values():
        _tell_defaults(schema["properties"])
    return tidy | payload_schemas()


def _tell_defaults(properties: dict[str, Schema]) -> None:
    """Tell of a default by a word of ours: by `default`, some generators make a field required."""
    for told in properties.values():
        default = told.pop("default", None)
        if default is not None:
            told["x-default"] = default


def _inline(part: object, pointer: Schema, words: list[str]) -> None:
    """Put the words of a closed set where they are meant, instead of a pointer to them."""
    if isinstance(part, list):
        for inner in part:
            _inline(inner, pointer, words)
    if not isinstance(part, dict):
        return
    if pointer.items() <= part.items():
        del part["$ref"]
        part |= {"type": "string", "enum": words}
    for inner in part.values():
        _inline(inner, pointer, words)


def _told(codes: Mapping[str, Meaning]) -> dict[str, Schema]:
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
    order = list(PROBLEMS)
    every = [*problems.kinds().values(), problems.INTERNAL]
    kinds = sorted(every, key=lambda kind: (kind.status, order.index(kind.code)))
    return {
        kind.code: {
            "title": kind.title,
            "status": int(kind.status),
            **PROBLEMS[kind.code]._asdict(),
        }
        for kind in kinds
    }


# ------------------------------------------------------------------------- the request


def _application(schema: Schema, catalogue: Catalogue) -> Schema:
    properties: dict[str, Schema] = schema["properties"]
    for name, place in catalogue.position.items():
        field = catalogue.fields[place]
        properties[name] = _property(properties[name], name, field)
    required = [field for field in catalogue.fields if field.required]
    properties["evidence"] = {
        "type": ["string", "null"],
        "description": "Proof that fields were derived by POST /v1/fields, as it gave it. No field "
        "of the application: no model reads it.",
        "maxLength": evidence.TOKEN_MAX,
    }
    properties[PRODUCT_NAME] = {
        "type": ["string", "null"],
        "description": "Which product of the lender's policy is asked for: one of those that "
        "GET /v1/catalogue names. The default one where it is not sent. Refused where the policy "
        "has none.",
    }
    return {
        **schema,
        "description": _APPLICATION,
        "required": [field.name for field in required if field.other_spelling is None],
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
        added["pattern"] = scoring_api.WORD
        # The pattern has it: space around a word does not count.
        written = {rule: told for rule, told in written.items() if rule != "maxLength"}
    if field.use is Use.REFERENCE:
        added["not"] = {"type": "string", "pattern": scoring_api.NOT_PERSONAL}
    if field.required and field.other_spelling is None:
        written = _given(written)
    return {**added, **written}


def _meaning(name: str, field: Field) -> str:
    # A list of words is left as it is: they are values, to be spelled so.
    listed = field.meaning.endswith("...")
    sentence = field.meaning if listed else f"{field.meaning[:1].upper()}{field.meaning[1:]}."
    if name != field.name:
        return f"Compact spelling of `{field.name}`: {sentence}"
    if field.required and field.other_spelling:
        return f"{sentence} Required, unless `{field.other_spelling}` is sent."
    return sentence


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


_INT32_MAX: Final = 2**31 - 1


def printable(part: Any) -> Any:  # noqa: ANN401  as above
    """Give schemas that generators of clients can turn into code that compiles and holds.

    A number says how wide it is: most take 32 bits where nothing is said of a whole one, and any
    number of digits for others. A pattern names no character by a code beyond a byte: some print
    what the code stands for, be it the end of a line.
    """
    if isinstance(part, list):
        return [printable(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    told = {name: printable(inner) for name, inner in part.items()}
    match told.get("type"):
        case "integer" | ["integer", "null"]:
            fits = told.get("maximum", _INT32_MAX + 1) <= _INT32_MAX
            told = {"format": "int32" if fits else "int64"} | told
        case "number" | ["number", "null"]:
            told = {"format": "double"} | told
        case _:
            pass
    if isinstance(told.get("pattern"), str):
        told["pattern"] = told["pattern"].replace(HIDDEN, CONTROLS)
    return told


HEADERS: Final[dict[str, Json]] = {
    "Request-Id": {
        "description": "Names this exchange, for the log and for whoever helps you.",
        "required": True,
        "schema": {"type": "string", "pattern": scoring_api.REQUEST_ID_PATTERN},
    },
    "X-Request-Id": {
        "description": "Your own id of the request, where it came with one that was taken up.",
        "schema": {"type": "string"},
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
        "description": "Where to read what was made, or to ask how far it has come.",
        "required": True,
        "schema": {"type": "string"},
        "example": f"/v1/onboarding/jobs/{jobs_api.JOB_ID_EXAMPLE}",
    },
    "Vary": {
        "description": "The reply depends on what the caller accepts.",
        "required": True,
        "schema": {"type": "string"},
        "example": "accept",
    },
    "Deprecation": {
        "description": "Where the request used what is to go: since when there is something better "
        "(RFC 9745).",
        "schema": {"type": "string"},
        "example": "@1794960000",
    },
    "Sunset": {
        "description": "With `Deprecation`: until when it works, at the least (RFC 8594).",
        "schema": {"type": "string"},
        "example": "Sat, 01 Jan 2028 00:00:00 GMT",
    },
    "Link": {
        "description": "With `Deprecation`: the page that says what to use instead.",
        "schema": {"type": "string"},
        "example": '<../docs>; rel="deprecation"; type="text/html"',
    },
    "ETag": {
        "description": "Names this version of the document.",
        "required": True,
        "schema": {"type": "string"},
    },
}


EVERYWHERE: Final[dict[str, Json]] = {
    "X-Request-Id": {
        "name": "X-Request-Id",
        "in": "header",
        "description": "Your own id of this request: up to 128 letters, digits and `_.:/+=-`. It "
        "comes back in the reply, and problems and the log name the request by it. Passed over "
        "where it has anything else in it, is digits alone, or begins with `req_` or `alama_`.",
        "schema": {"type": "string"},
        "example": "order-4711-1",
    },
}
"""Parameters of every operation."""


TAGS: Final[Mapping[str, str]] = {
    "Scores": "Score an application, ask why and what would change it, read scores, review them.",
    "Statements": "Derive the fields of an application from the statement of a wallet.",
    "Outcomes": "Say what became of the loans: whether what a score promised has come true.",
    "Loans": "Tell what was lent and what came back: it is remembered of the borrower.",
    "Applicants": "Give out or erase what is held on one applicant.",
    "Lists": "Whom the lender declines, or leaves to a person, whatever they apply with.",
    "Monitoring": "How a book goes, whether applicants have changed, and what came true.",
    "Webhooks": "Be told of scores and changes: where, what was sent, and what became of it.",
    webhooks_examples.TAG_SENT: "What is sent to an endpoint, for whoever writes a receiver.",
    "Onboarding": "From a lender's loan history to a model of its own that answers live keys.",
    "Keys": "What the key is that asks; follow it by a new one.",
    "Status": "Whether the service can serve. No key is needed.",
    "Documents": "This contract, for machines and for people. No key is needed.",
}


SERVER: Final = {"url": "/", "description": "This installation."}

PROBLEM_JSON: Final = problems.MEDIA_TYPE.decode()

_OF_EVERY_REPLY: Final = ("Request-Id", "X-Request-Id")

DESCRIPTION: Final = """\
Alama scores loan applications from mobile-money behaviour, for lenders in markets where \
applicants have a phone but no bureau file. Send what you know about an applicant and get a \
calibrated score, a risk tier, a decision, an offer, and the exact points that each field gave. It \
runs on the lender's own machines, and every score is stored so that it can be replayed years \
later, bit for bit.

**Paths.** Every path is also served under `/api`, with the same answer; not so `/livez` and \
`/readyz`, which are for whoever runs the service.

**Versions.** `/v1` changes by addition only: expect new fields in replies and new words in \
`decision` and `code`. What has a better successor says so in its replies (`Deprecation`, \
`Sunset`), and works for a year more at the least.

**Errors.** Every problem is `application/problem+json` (RFC 9457) with a stable `code`. It \
reports every broken field at once, and no value that was sent is ever part of it.

**Retries and idempotency.** `POST /v1/score` with an `Idempotency-Key` is answered once: for 72 \
hours the same request under the same key gets the same bytes, with the header \
`Idempotent-Replayed: true`. It is the same if it says the same: the order of fields does not \
count, nor does 24.0 for 24. `POST /v1/outcomes` and `POST /v1/loans` need none: news that \
was sent before changes nothing.

**Limits.** A head has at most 32 KiB, and 10 seconds to come; a body has 30 seconds, and one more \
for each 16 KiB of it. A body has at most 64 KiB, one of outcomes 512 KiB, one of loans 1 MiB, a \
loan history 64 MiB. \
Bodies may come with `Content-Encoding: gzip`, and have these limits packed and unpacked; replies \
of 4 KiB or more are packed for whoever says `Accept-Encoding: gzip`. \
A key may send 1,000 requests a second, and 2,000 at once, unless the operator sets another rate. \
`RateLimit` and `RateLimit-Policy` say how it stands, in every reply to a key that was \
recognised."""


def encoded() -> bytes:
    """Give the document as JSON, indented for people who read it."""
    return documents.encode(document())


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
        "webhooks": webhooks_examples.webhooks(said.model_id, said.policy_id),
        "components": {
            "schemas": printable(all_schemas(PRODUCT)),
            "parameters": printable({**PARAMETERS, **EVERYWHERE}),
            "headers": printable(HEADERS),
            "examples": {
                **served.request_examples(),
                **served.reply_examples(said),
                **_problem_examples(),
            },
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
        "security": [{"key": []}] if operation.needs_key else [],
    }
    if operation.for_operators:
        told["servers"] = [SERVER]
    if operation.scope:
        told["description"] += f" The key needs the scope `{operation.scope}`."
    named = (*operation.parameters, *EVERYWHERE)
    told["parameters"] = [_point("parameters", name) for name in named]
    if operation.body:
        told["requestBody"] = {
            "required": operation.body_required,
            "description": operation.body_told,
            "content": {JSON: _content(_body(operation.body, operation), operation.requests)},
        }
    if operation.files:
        told["requestBody"] = {
            "required": True,
            "description": operation.body_told,
            "content": {
                media_type: {"schema": schema} for media_type, schema in operation.files.items()
            },
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
        return reference(schema)
    return {"oneOf": [reference(one) for one in (schema, operation.other_body)]}


def _success(reply: Success) -> Json:
    told: Json = {
        "description": reply.description,
        "headers": _headers([*_OF_EVERY_REPLY, *reply.headers]),
    }
    if reply.schema is not None:
        told["content"] = {reply.media_type: _content(reply.schema, reply.examples)}
        if reply.also is not None:
            told["content"][reply.also] = _content({"type": "string"}, ())
    if reply.links:
        told["links"] = {link.operation: _link(link) for link in reply.links}
    return told


def _link(link: Link) -> Json:
    return {
        "operationId": link.operation,
        "description": link.description,
        "parameters": {link.parameter: f"$response.body#/{link.place}"},
    }


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
        "description": " Or: ".join(PROBLEMS[code].when for code in codes),
        "headers": _headers([*_OF_EVERY_REPLY, *named]),
        "content": {PROBLEM_JSON: _content(reference("Problem"), codes)},
    }


def _headers(names: Iterable[str]) -> Json:
    return {name: _point("headers", name) for name in names}


def _content(schema: Json, named: Iterable[str]) -> Json:
    shown = {name: _point("examples", name) for name in named}
    return {"schema": schema, **({"examples": shown} if shown else {})}


def _point(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


# ----------------------------------------------------------------------------- examples


def _problem_examples() -> Json:
    kinds = {kind: None for operation in OPERATIONS for kind in operation.problems}
    replies = [examples.problem(kind) for kind in kinds]
    return {
        _code(reply): {
            "summary": json.loads(reply.body)["title"],
            "description": PROBLEMS[_code(reply)].remedy,
            "value": json.loads(reply.body),
        }
        for reply in replies
    }


def _code(reply: Reply) -> str:
    code: str = json.loads(reply.body)["code"]
    return code
