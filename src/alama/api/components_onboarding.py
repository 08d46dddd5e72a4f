"""Parameters and links of onboarding, each described once and pointed to."""

from __future__ import annotations

from typing import Any, Final

from alama.api import examples_onboarding, wire_onboarding

Json = dict[str, Any]


def _id(name: str, told: str, pattern: str, example: str) -> Json:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": told,
        "schema": {"type": "string", "pattern": pattern},
        "example": example,
    }


def _columns(name: str, told: str, items: Json, example: list[str]) -> Json:
    return {
        "name": name,
        "in": "query",
        "description": f"{told} Separated by commas.",
        "style": "form",
        "explode": False,
        "schema": {"type": "array", "maxItems": wire_onboarding.COLUMNS_MAX, "items": items},
        "example": example,
    }


_FIELD: Final = {"type": "string", "enum": list(wire_onboarding.FIELDS)}
_COLUMN: Final = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,127}$"}

PARAMETERS: Final[dict[str, Json]] = {
    "history_id": _id(
        "history_id",
        "The `history_id` of the job that reads it.",
        wire_onboarding.HISTORY_ID,
        examples_onboarding.HISTORY_ID,
    ),
    "job_id": _id(
        "job_id",
        "The `id` of the job.",
        wire_onboarding.JOB_ID,
        examples_onboarding.JOB_ID,
    ),
    "candidate_id": _id(
        "candidate_id",
        "The `candidate_id` of the job that trained it.",
        wire_onboarding.CANDIDATE_ID,
        examples_onboarding.CANDIDATE_ID,
    ),
    "use_region": {
        "name": "region",
        "in": "query",
        "description": "Whether `region` may be an input.",
        "schema": {"type": "boolean", "default": False},
        "example": False,
    },
    "exclude": _columns(
        "exclude", "Fields of an application that are no inputs.", _FIELD, ["avg_balance"]
    ),
    "keep": _columns(
        "keep",
        "Inputs that give the outcome away and stay all the same; nobody can then approve.",
        _FIELD,
        ["avg_balance"],
    ),
    "groups": _columns(
        "groups",
        "Columns of the file that are looked at for fairness and are never inputs.",
        _COLUMN,
        ["gender"],
    ),
}


def _link(operation: str, told: str, parameter: str, place: str) -> Json:
    return {
        "operationId": operation,
        "description": told,
        "parameters": {parameter: f"$response.body#/{place}"},
    }


LINKS: Final[dict[str, Json]] = {
    "getJob": _link("getJob", "Ask how far it has come.", "job_id", "id"),
    "getHistory": _link("getHistory", "Read the report.", "history_id", "history_id"),
}
