"""Parameters, headers and links of the OpenAPI document, each described once and pointed to."""

from __future__ import annotations

from typing import Any, Final

from alama.api import (
    components_onboarding,
    components_webhooks,
    examples,
    examples_onboarding,
    render,
    schemas,
)
from alama.api.explain import TARGET_DEFAULT
from alama.api.scores import IDEMPOTENCY_KEY_MAX, PAGE_DEFAULT, PAGE_MAX
from alama.core.product import PRODUCT
from alama.core.recourse import COUNT_DEFAULT, COUNT_MAX
from alama.files.reasons import LANGUAGES
from alama.service.monitoring.report import DAYS_DEFAULT, DAYS_MAX

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
            "pattern": schemas.NOT_BLANK,
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
