"""The comparer of contracts: every kind of break is found and named, additions are not."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.app import openapi
from tests.compatibility import breakages

Json = dict[str, Any]
Change = Callable[[Json], object]

DOCUMENT = openapi.document()
WRITTEN = json.dumps(DOCUMENT)


def changed(change: Change) -> Json:
    document: Json = json.loads(WRITTEN)  # in a tenth of the time that a copy takes
    change(document)
    return document


def schema(document: Json, name: str) -> Json:
    found: Json = document["components"]["schemas"][name]
    return found


def score(document: Json) -> Json:
    found: Json = document["paths"]["/v1/score"]["post"]
    return found


def field(document: Json, name: str, field: str) -> Json:
    found: Json = schema(document, name)["properties"][field]
    return found


BREAKS: dict[str, Change] = {
    "server /api was removed": lambda d: d["servers"].pop(),
    "GET /v1/scores: was removed": lambda d: d["paths"].pop("/v1/scores"),
    "POST /v1/score: was removed": lambda d: d["paths"]["/v1/score"].pop("post"),
    "POST /v1/score: operationId createScore was renamed": lambda d: score(d).update(
        operationId="score"
    ),
    "GET /v1/health: a key became required": lambda d: d["paths"]["/v1/health"]["get"].update(
        security=[{"key": []}]
    ),
    "POST /v1/score: the security scheme changed": lambda d: score(d).update(
        security=[{"signature": []}]
    ),
    "POST /v1/score: query expand parameter was removed": lambda d: score(d)["parameters"].pop(0),
    "POST /v1/score: header Idempotency-Key parameter became required": lambda d: d["components"][
        "parameters"
    ]["Idempotency-Key"].update(required=True),
    "GET /livez: query pretty parameter became required": lambda d: d["paths"]["/livez"][
        "get"
    ].update(
        parameters=[
            {"name": "pretty", "in": "query", "required": True, "schema": {"type": "string"}}
        ]
    ),
    "POST /v1/score: query expand parameter is written another way": lambda d: d["components"][
        "parameters"
    ]["expand"].update(explode=False),
    "POST /v1/score: query expand parameter no longer accepts offer": lambda d: d["components"][
        "parameters"
    ]["expand"]["schema"]["items"]["enum"].remove("offer"),
    "GET /v1/scores: query limit parameter no longer accepts a value outside its maximum": (
        lambda d: d["components"]["parameters"]["limit"]["schema"].update(maximum=50)
    ),
    "POST /v1/score: a body of application/json is no longer accepted": lambda d: score(d)[
        "requestBody"
    ].update(content={"application/cbor": {"schema": {"type": "object"}}}),
    "POST /v1/score: the body was removed": lambda d: score(d).pop("requestBody"),
    "GET /livez: a body became required": lambda d: d["paths"]["/livez"]["get"].update(
        requestBody={"required": True, "content": {}}
    ),
    "POST /v1/score: request field region was removed": lambda d: schema(d, "Application")[
        "properties"
    ].pop("region"),
    "POST /v1/score: request field region became required": lambda d: schema(d, "Application")[
        "required"
    ].append("region"),
    "POST /v1/score: request field region no longer accepts null": lambda d: field(
        d, "Application", "region"
    ).update(type="string"),
    "POST /v1/score: request field avg_inflow no longer accepts number": lambda d: field(
        d, "Application", "avg_inflow"
    ).update(type=["integer", "null"]),
    "POST /v1/score: request field mm_months no longer accepts a value outside its maximum": (
        lambda d: field(d, "Application", "mm_months").update(maximum=599)
    ),
    "POST /v1/score: request field mm_months no longer accepts a value outside its minimum": (
        lambda d: field(d, "Application", "mm_months").update(minimum=1)
    ),
    "POST /v1/score: request field region no longer accepts a value outside its maxLength": (
        lambda d: field(d, "Application", "region").update(maxLength=32)
    ),
    "POST /v1/score: request field region no longer accepts a value outside its pattern": (
        lambda d: field(d, "Application", "region").update(pattern="^[a-z]+$")
    ),
    "POST /v1/score: request field region no longer accepts a value that is not listed": (
        lambda d: field(d, "Application", "region").update(enum=["nairobi"])
    ),
    "POST /v1/score: request no longer accepts a value outside its allOf": lambda d: schema(
        d, "Application"
    ).update(allOf=[{"required": ["region"]}]),
    "POST /v1/score: reply field processing_ms may be a value outside its maximum": lambda d: field(
        d, "ScoreReply", "processing_ms"
    ).update(format="int64"),
    "webhook score.created: body field type may be a value that is not listed": lambda d: schema(
        d, "EventPayload"
    )["discriminator"]["mapping"].pop("score.created"),
    "POST /v1/score: reply 422 was removed": lambda d: score(d)["responses"].pop("422"),
    "POST /v1/score: reply of application/json was removed": lambda d: score(d)["responses"][
        "200"
    ].update(content={}),
    "POST /v1/score: reply header RateLimit was removed": lambda d: score(d)["responses"]["200"][
        "headers"
    ].pop("RateLimit"),
    "POST /v1/score: reply 429 header Retry-After may be missing": lambda d: d["components"][
        "headers"
    ]["Retry-After"].update(required=False),
    "POST /v1/score: reply field tier was removed": lambda d: schema(d, "ScoreReply")[
        "properties"
    ].pop("tier"),
    "POST /v1/score: reply field shap_values[].feature was removed": lambda d: schema(
        d, "ShapValue"
    )["properties"].pop("feature"),
    "POST /v1/score: reply field tier may be missing": lambda d: schema(d, "ScoreReply")[
        "required"
    ].remove("tier"),
    "POST /v1/score: reply field tier may be null": lambda d: field(d, "ScoreReply", "tier").update(
        type=["string", "null"]
    ),
    "POST /v1/score: reply field score may be number": lambda d: field(
        d, "ScoreReply", "score"
    ).update(type="number"),
    "POST /v1/score: reply field score may be a value outside its maximum": lambda d: field(
        d, "ScoreReply", "score"
    ).update(maximum=1000),
    "GET /v1/scores: reply field data[].created_at may be a value outside its format": lambda d: (
        field(d, "ScoreListed", "created_at").pop("format")
    ),
    "POST /v1/score: reply header Idempotent-Replayed may be a value that is not listed": (
        lambda d: d["components"]["headers"]["Idempotent-Replayed"]["schema"].pop("const")
    ),
    "POST /v1/score: reply 400 field code was removed": lambda d: schema(d, "Problem")[
        "properties"
    ].pop("code"),
}

ADDITIONS: dict[str, Change] = {
    "nothing": lambda _: None,
    "a path": lambda d: d["paths"].update({"/v1/simulate": {"post": score(d)}}),
    "a server": lambda d: d["servers"].append({"url": "/v0"}),
    "an optional parameter": lambda d: d["paths"]["/livez"]["get"]["parameters"].append(
        {"name": "pretty", "in": "query", "schema": {"type": "string"}}
    ),
    "an optional request field": lambda d: schema(d, "Application")["properties"].update(
        savings={"type": ["number", "null"]}
    ),
    "a request field that is no longer required": lambda d: schema(d, "Application")[
        "required"
    ].clear(),
    "a wider range of a request": lambda d: field(d, "Application", "mm_months").update(
        maximum=1200
    ),
    "a width that every value has": lambda d: field(d, "Application", "mm_months").pop("format"),
    "a fraction where a request had whole numbers": lambda d: field(
        d, "Application", "mm_months"
    ).update(type=["number", "null"]),
    "another value to ask for": lambda d: d["components"]["parameters"]["expand"]["schema"][
        "items"
    ]["enum"].append("receipt"),
    "a reply field": lambda d: schema(d, "ScoreReply")["properties"].update(
        receipts={"type": "array", "items": {"type": "string"}}
    ),
    "a reply field that always comes": lambda d: schema(d, "ScoreReply")["required"].append(
        "base_score"
    ),
    "a narrower range of a reply": lambda d: field(d, "ScoreReply", "score").update(maximum=800),
    "whole numbers where a reply had fractions": lambda d: field(
        d, "ScoreReply", "recommended_limit"
    ).update(type="integer"),
    "a reply that is never null": lambda d: field(d, "ScorePage", "next_cursor").update(
        type="string"
    ),
    "a status": lambda d: score(d)["responses"].update({"402": {"description": "Pay."}}),
    "a header": lambda d: score(d)["responses"]["200"]["headers"].update(
        Deprecation={"schema": {"type": "string"}}
    ),
    "other words": lambda d: field(d, "ScoreReply", "score").update(description="The score."),
    "other examples": lambda d: d["components"]["examples"].clear(),
}


def test_a_break_is_found_and_named(subtests: pytest.Subtests) -> None:
    for name, change in BREAKS.items():
        with subtests.test(name):
            assert name in breakages(DOCUMENT, changed(change))


def test_an_addition_breaks_nothing(subtests: pytest.Subtests) -> None:
    for name, change in ADDITIONS.items():
        with subtests.test(name):
            assert breakages(DOCUMENT, changed(change)) == []


def own_fields(told: Json) -> Json:
    """The fields that a schema has beside those of its parent."""
    fields: Json = told["allOf"][-1]["properties"] if "allOf" in told else told["properties"]
    return fields


FIELDS = [
    (name, field)
    for name, told in DOCUMENT["components"]["schemas"].items()
    for field in own_fields(told)
]


@given(st.sampled_from(FIELDS))
def test_no_field_can_be_taken_away_unnoticed(place: tuple[str, str]) -> None:
    name, field = place
    found = breakages(DOCUMENT, changed(lambda d: own_fields(schema(d, name)).pop(field)))
    assert any(f"{field} was removed" in each for each in found)


@given(st.sampled_from(FIELDS))
def test_no_field_can_change_its_type_unnoticed(place: tuple[str, str]) -> None:
    name, field = place

    def change(document: Json) -> None:
        fields = own_fields(schema(document, name))
        other = "string" if fields[field].get("type") == "boolean" else "boolean"
        fields[field] = {"type": other}

    assert any(f"{field} " in each for each in breakages(DOCUMENT, changed(change)))


def test_a_schema_that_holds_itself_is_compared_too() -> None:
    def nest(document: Json) -> None:
        schema(document, "Problem")["properties"]["cause"] = {
            "$ref": "#/components/schemas/Problem"
        }

    nested = changed(nest)
    assert breakages(nested, nested) == []
    without = deepcopy(nested)
    schema(without, "Problem")["properties"].pop("title")
    assert "POST /v1/score: reply 400 field title was removed" in breakages(nested, without)


def test_a_webhook_that_is_no_longer_sent_as_it_was_is_noticed() -> None:
    def without(document: Json) -> None:
        del document["webhooks"]["score.created"]

    def unsigned(document: Json) -> None:
        document["webhooks"]["webhook.test"]["post"]["parameters"].pop()

    assert "webhook score.created: was removed" in breakages(DOCUMENT, changed(without))
    found = breakages(DOCUMENT, changed(unsigned))
    assert found == ["webhook webhook.test: header webhook-signature was removed"]
