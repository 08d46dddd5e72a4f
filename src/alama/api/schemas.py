"""The schemas of the OpenAPI document, made of the types that decode requests and encode replies.

msgspec writes most of it. What the types cannot say is added here from the catalogue, which the
types are made of too: that other fields are refused, which fields are whole numbers, and that
either spelling of a required field will do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from alama.api import (
    meanings,
    problems,
    wire,
    wire_events,
    wire_explanation,
    wire_onboarding,
    wire_outcomes,
    wire_reviews,
    wire_webhooks,
)
from alama.core.catalogue import WORD_LENGTH_MAX, Kind, Use
from alama.core.characters import HIDDEN
from alama.core.intake import request_type
from alama.core.monitoring.figures import MonitoringReport
from alama.core.receipts import Receipt
from alama.files import reasons

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.core.catalogue import Catalogue, Field

Schema = dict[str, Any]

REPLIES: Final = (
    wire.ScoreReply,
    wire_explanation.ExplainReply,
    wire.ScoreRecord,
    wire.ScorePage,
    wire.Health,
    wire.Problem,
    Receipt,
    *wire_outcomes.REPLIES,
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


def reference(name: str) -> Schema:
    """Point to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def schemas(catalogue: Catalogue) -> dict[str, Schema]:
    """Give every schema by name."""
    request = request_type(catalogue)
    _, made = msgspec.json.schema_components(
        [
            request,
            *wire_reviews.REQUESTS,
            *wire_outcomes.REQUESTS,
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
    english, *_ = reasons.languages()
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
