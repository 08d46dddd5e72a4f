"""The OpenAPI document: complete, true to the code it is made of, and a promise that is kept."""

import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import alama
from alama.app import openapi
from alama.app.served import ENDPOINTS, OPERATIONS
from alama.core import receipts
from alama.core.application import CONTROLS, HIDDEN, looks_personal, may_be_word
from alama.core.catalogue import Kind
from alama.core.intake import Intake, request_type
from alama.core.lending import policy_check
from alama.core.lending.draft import default_policy
from alama.core.product import PRODUCT
from alama.core.receipts import Receipt
from alama.core.recourse.answer import Hindrance
from alama.platform.events import EventKind
from alama.platform.files.packaged import languages
from alama.platform.http import guide, problem_codes, problems
from alama.platform.http import status as http_status
from alama.platform.http.endpoint import routes
from alama.platform.http.operation import operations_of
from alama.scoring.api import ScoreReply
from alama.scoring.explain_api import ExplainReply
from alama.scoring.scores_api import ScorePage, ScoreRecord
from alama.webhooks.events_api import DATA, ScoreCreated
from tests.compatibility import GOLDEN, RECORD, not_allowed

DOCUMENT = openapi.document()
APPLICATION: dict[str, Any] = DOCUMENT["components"]["schemas"]["Application"]
EXAMPLES = DOCUMENT["components"]["examples"]
POLICY = default_policy("KES")


def nodes(part: Any) -> Iterator[dict[str, Any]]:
    """Every object of the document, examples aside."""
    if isinstance(part, dict):
        yield part
        for name, inner in part.items():
            if name not in {"value", "example"}:
                yield from nodes(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from nodes(inner)


def resolve(pointer: str) -> Any:
    target: Any = DOCUMENT
    for part in pointer.removeprefix("#/").split("/"):
        target = target[part]
    return target


def fields_sent(kind: str) -> dict[str, Any]:
    """The fields of the body that tells of a kind of event: what all have, and its own."""
    content = DOCUMENT["webhooks"][kind]["post"]["requestBody"]["content"]["application/json"]
    every, own = resolve(content["schema"]["$ref"])["allOf"]
    return {**resolve(every["$ref"])["properties"], **own["properties"]}


def operations() -> list[dict[str, Any]]:
    return [told for methods in DOCUMENT["paths"].values() for told in methods.values()]


# ------------------------------------------------------------------------------ complete


def test_what_is_served_is_described_and_what_is_described_is_served() -> None:
    # The paths do not depend on the parts that stand behind them.
    parts: list[object] = [object.__new__(kind) for kind in ENDPOINTS]
    served = {(path, method) for path, methods in routes(parts).items() for method in methods}
    described = {
        (path, method.upper()) for path, methods in DOCUMENT["paths"].items() for method in methods
    }
    # The front door leads people to the page, and the guide is theirs; programs need neither.
    people = {"/", guide.PATH, f"{guide.PATH}/{{file:path}}"}
    assert described == served - {(path, "GET") for path in people}


def test_every_handler_serves_an_operation_and_no_operation_has_two() -> None:
    for kind in ENDPOINTS:
        handlers = {
            name
            for name, member in vars(kind).items()
            if inspect.iscoroutinefunction(member) and not name.startswith("_")
        }
        assert {name for name, _ in operations_of(kind)} == handlers
    assert len({(one.path, one.method) for one in OPERATIONS}) == len(OPERATIONS)


def test_every_kind_of_event_is_described_as_it_is_sent() -> None:
    assert DOCUMENT["webhooks"].keys() == set(EventKind)
    sent = EXAMPLES["event"]["value"]["payload"]
    fields = fields_sent("score.created")
    assert list(sent) == list(fields)
    assert sent["data"].keys() == resolve(fields["data"]["$ref"])["properties"].keys()
    msgspec.convert(sent["data"], ScoreCreated, strict=True)


def test_every_pointer_leads_somewhere_and_every_component_is_used() -> None:
    pointers = {node["$ref"] for node in nodes(DOCUMENT) if "$ref" in node}
    assert all(resolve(pointer) is not None for pointer in pointers)
    named = {
        f"#/components/{kind}/{name}"
        for kind, parts in DOCUMENT["components"].items()
        if kind != "securitySchemes"
        for name in parts
    }
    assert named == pointers


def test_every_operation_says_what_it_is_for_under_a_name_of_its_own() -> None:
    tags = {tag["name"] for tag in DOCUMENT["tags"]}
    assert len({told["operationId"] for told in operations()}) == len(operations())
    for told in operations():
        assert told["summary"]
        assert told["description"].endswith(".")
        assert set(told["tags"]) <= tags
        assert {"405", "500"} <= told["responses"].keys()
        assert any(status.startswith("2") for status in told["responses"])


def test_every_field_of_every_schema_says_what_it_means() -> None:
    silent = [
        f"{name}.{field}"
        for name, schema in DOCUMENT["components"]["schemas"].items()
        for part in schema.get("allOf", [schema])
        for field, told in part.get("properties", {}).items()
        if not {**resolve(told.get("$ref", f"#/components/schemas/{name}")), **told}.get(
            "description"
        )
    ]
    assert silent == []


def test_every_kind_of_problem_is_an_answer_of_some_operation() -> None:
    told = {kind for operation in OPERATIONS for kind in operation.problems}
    # What is hardly a request has no operation.
    assert problems.kinds().keys() - told == {
        problems.MalformedHttp,
        problems.HeadTooLarge,
        problems.RequestTimeout,
    }


def test_an_operation_with_a_key_tells_of_the_answers_without_one() -> None:
    for told in operations():
        keyed = told["security"] == [{"key": []}]
        assert keyed == ("401" in told["responses"]) == ("429" in told["responses"])


def test_every_reply_names_its_request() -> None:
    for told in operations():
        assert all("Request-Id" in reply["headers"] for reply in told["responses"].values())


def test_every_reply_to_what_has_made_something_says_where_it_is() -> None:
    made = [told["responses"]["201"] for told in operations() if "201" in told["responses"]]
    assert len(made) >= 4
    assert all("Location" in reply["headers"] for reply in made)


@pytest.mark.parametrize(
    ("status", "header"),
    [
        ("401", "WWW-Authenticate"),
        ("405", "Allow"),
        ("409", "Retry-After"),
        ("429", "Retry-After"),
        ("503", "Retry-After"),
        ("200", "Idempotent-Replayed"),
    ],
)
def test_a_reply_tells_its_headers(status: str, header: str) -> None:
    assert header in DOCUMENT["paths"]["/v1/score"]["post"]["responses"][status]["headers"]


# ---------------------------------------------------------------------------------- true


def test_the_request_has_the_names_of_the_type_that_decodes_it_and_no_others() -> None:
    named = request_type(PRODUCT).__struct_fields__
    assert tuple(APPLICATION["properties"]) == (*named, "evidence", "product")
    assert APPLICATION["additionalProperties"] is False


def test_a_field_of_the_request_has_the_type_and_range_of_the_catalogue(
    subtests: pytest.Subtests,
) -> None:
    for field in PRODUCT.fields:
        with subtests.test(field.name):
            for name in filter(None, (field.name, field.other_spelling)):
                told = APPLICATION["properties"][name]
                kind = {Kind.INTEGER: "integer", Kind.NUMBER: "number", Kind.WORD: "string"}[
                    field.kind
                ]
                alone = field.required and field.other_spelling is None
                assert told["type"] == (kind if alone else [kind, "null"])
                assert told.get("minimum") == field.minimum
                assert told.get("exclusiveMinimum") == field.above
                assert told.get("maximum") == field.maximum
                assert ("pattern" in told) == (field.kind is Kind.WORD)


def test_either_spelling_of_a_required_field_will_do() -> None:
    spellings = {
        told["x-spelling-of"]: name
        for name, told in APPLICATION["properties"].items()
        if "x-spelling-of" in told
    }
    twice = [field for field in PRODUCT.fields if field.required and field.other_spelling]
    assert spellings == {field.name: field.other_spelling for field in twice}
    for field in twice:  # the service refuses an application with neither
        told = APPLICATION["properties"][field.name]["description"]
        assert f"Required, unless `{field.other_spelling}` is sent." in told
    assert APPLICATION["required"] == ["airtime_regularity"]


@given(st.text("0123 +-.()@a\t\x1b\x1f\x85\u00a0\u200d\u202e", min_size=1, max_size=14))
def test_a_reference_is_refused_by_the_document_exactly_where_the_service_refuses_it(
    reference: str,
) -> None:
    told = APPLICATION["properties"]["applicant_ref"]
    refused = re.search(told["not"]["pattern"], reference) is not None
    assert refused == looks_personal(reference.strip())
    assert bool(re.search(told["pattern"], reference)) == may_be_word(in_words(reference).strip())


@given(st.text("a\u00e9\U0001f33e \t", min_size=60, max_size=70))
def test_a_word_may_be_as_long_for_the_document_as_it_may_be_for_the_service(word: str) -> None:
    told = APPLICATION["properties"]["region"]
    assert bool(re.search(told["pattern"], word)) == may_be_word(word.strip())


def in_words(text: str) -> str:
    """The text without what no pattern tells of, since no generator prints it: words do."""
    return re.sub(f"(?![{CONTROLS}])[{HIDDEN}]", "?", text)


def test_what_no_pattern_tells_of_is_told_in_words() -> None:
    assert "turn the direction of writing or have no width" in APPLICATION["description"]
    for character in ("\u200b", "\u202e", "\u2028", "\xad"):
        assert not may_be_word(f"a{character}b")


@pytest.mark.parametrize("name", ["full", "compact", "declined"])
def test_the_example_requests_are_accepted(name: str) -> None:
    Intake(PRODUCT).read(json.dumps(EXAMPLES[name]["value"]).encode())


def test_the_example_receipt_holds() -> None:
    receipt = msgspec.convert(EXAMPLES["receipt"]["value"], Receipt)
    assert receipts.failures(receipt) == ()


def test_an_example_reply_is_of_its_type_and_has_every_field_that_it_may(
    subtests: pytest.Subtests,
) -> None:
    for name, kind in [
        ("full_reply", ScoreReply),
        ("compact_reply", ScoreReply),
        ("expanded_reply", ScoreReply),
        ("declined_explained", ExplainReply),
        ("compact_explained", ExplainReply),
        ("locked_explained", ExplainReply),
        ("page", ScorePage),
        ("health", http_status.Health),
        ("unhealthy", http_status.Health),
        ("receipt", Receipt),
        *((code, problems.Problem) for code in EXAMPLES if code in problem_codes.PROBLEMS),
    ]:
        with subtests.test(name=name, kind=kind):
            msgspec.convert(EXAMPLES[name]["value"], kind, strict=True)
            allowed = DOCUMENT["components"]["schemas"][kind.__name__]["properties"]
            assert EXAMPLES[name]["value"].keys() <= allowed.keys()


@pytest.mark.parametrize("kind", EventKind)
def test_the_example_of_what_is_sent_has_every_field_of_its_kind(kind: EventKind) -> None:
    content = DOCUMENT["webhooks"][kind]["post"]["requestBody"]["content"]["application/json"]
    sent = content["example"]
    assert sent.keys() == fields_sent(kind).keys()
    assert sent["type"] == kind
    assert sent["data"].keys() == set(DATA[kind].__struct_fields__)
    msgspec.convert(sent["data"], DATA[kind], strict=True)


def test_the_expanded_example_has_everything_that_expand_can_add() -> None:
    parameter = DOCUMENT["components"]["parameters"]["expand"]
    plain, expanded = (EXAMPLES[f"{name}_reply"]["value"] for name in ("compact", "expanded"))
    assert expanded.keys() - plain.keys() == set(parameter["schema"]["items"]["enum"])
    assert len(plain) == 10


def test_the_examples_of_explanations_show_every_kind_of_answer() -> None:
    explained = [EXAMPLES[f"{name}_explained"]["value"] for name in ("declined", "locked")]
    found, bound = explained
    assert found["recourse"] == "found"
    assert len(found["counterfactuals"]) == 3
    assert (bound["recourse"], bound["counterfactuals"]) == ("no_recourse", [])
    assert [one["code"] for one in bound["binding"]] == ["locked"]
    assert EXAMPLES["compact_explained"]["value"]["recourse"] == "already_met"


def test_every_code_of_a_reason_and_of_what_binds_is_listed() -> None:
    told = DOCUMENT["components"]["schemas"]
    assert told["Reason"]["properties"]["code"]["x-codes"].keys() == languages()[0].texts.keys()
    assert told["Obstacle"]["properties"]["code"]["x-codes"].keys() == set(Hindrance)


@given(st.text("0123456789+-ABab ", min_size=1, max_size=9))
def test_a_target_that_the_document_refuses_is_no_name_for_a_tier_nor_a_score(text: str) -> None:
    told = DOCUMENT["components"]["parameters"]["target"]["schema"]
    allowed = re.search(told["pattern"], text) is not None
    tier = msgspec.structs.replace(POLICY.tiers[0], name=text)
    policy = msgspec.structs.replace(POLICY, tiers=(tier,))
    faults = list(policy_check.faults(policy, PRODUCT))
    is_tier = not any("name" in fault[0] for fault in faults)
    # Digits are a score, or a tier of a policy that was stored when tiers could be named so.
    assert allowed == (is_tier or re.fullmatch("[0-9]{1,8}", text) is not None)


def test_the_example_of_a_stored_score_is_whole() -> None:
    stored = EXAMPLES["record"]["value"]
    assert stored.keys() == set(ScoreRecord.__struct_fields__) - {"product"}  # has none
    assert stored["application"] == EXAMPLES["compact"]["value"]


def test_every_problem_says_what_to_do_about_it() -> None:
    codes = openapi.problem_codes()
    assert codes.keys() == problem_codes.PROBLEMS.keys()
    assert DOCUMENT["components"]["schemas"]["Problem"]["properties"]["code"]["x-codes"] == codes


def test_the_document_is_written_as_it_is() -> None:
    assert json.loads(openapi.encoded()) == DOCUMENT


# -------------------------------------------------------- what generators of clients can read


def named_schemas() -> list[tuple[str, dict[str, Any]]]:
    """Every schema of a value that has a name: a field, a parameter, a header."""
    components = DOCUMENT["components"]
    return [
        (field, told)
        for schema in components["schemas"].values()
        for part in (schema, *schema.get("allOf", ()))
        for field, told in part.get("properties", {}).items()
    ] + [
        (part.get("name", name), part["schema"])
        for kind in ("parameters", "headers")
        for name, part in components[kind].items()
    ]


def types(told: dict[str, Any]) -> list[str]:
    said = told.get("type", [])
    return [said] if isinstance(said, str) else said


def test_a_tag_is_of_what_is_asked_or_of_what_is_sent_never_of_both() -> None:
    # A generator writes one file a tag, and of two files with one name the second stays.
    asked = {tag for told in operations() for tag in told["tags"]}
    sent = {tag for told in DOCUMENT["webhooks"].values() for tag in told["post"]["tags"]}
    assert sent
    assert asked.isdisjoint(sent)
    assert asked | sent == {tag["name"] for tag in DOCUMENT["tags"]}


def test_an_operation_has_a_name_that_can_be_that_of_a_method() -> None:
    sent = [told["post"] for told in DOCUMENT["webhooks"].values()]
    names = [told["operationId"] for told in (*operations(), *sent)]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch("[a-z][A-Za-z]+", name)] == []


def test_a_parameter_has_one_schema_and_no_choice_of_them() -> None:
    choices = {"anyOf", "oneOf", "allOf", "not"}
    chosen = [
        name
        for name, told in DOCUMENT["components"]["parameters"].items()
        if any(choices & node.keys() for node in nodes(told["schema"]))
    ]
    assert chosen == []


def test_a_parameter_that_is_a_list_stands_once_for_each_of_it() -> None:
    lists = [
        (told["style"], told["explode"])
        for told in DOCUMENT["components"]["parameters"].values()
        if told["schema"]["type"] == "array"
    ]
    assert lists
    assert set(lists) == {("form", True)}


def test_a_number_says_how_wide_it_is() -> None:
    most = 2**31 - 1
    for node in nodes(DOCUMENT["components"]):
        if types(node) in (["number"], ["number", "null"]):
            assert node["format"] == "double", node
        if "integer" in types(node):
            assert node["format"] in {"int32", "int64"}, node
            if node["format"] == "int32":
                assert node.get("maximum", most) <= most
            else:
                assert node.get("maximum", 2**53) > most
    entry = DOCUMENT["components"]["schemas"]["LogEntry"]["properties"]
    assert entry["created_us"]["format"] == "int64"


def test_a_moment_says_that_it_is_one_also_where_it_may_be_null() -> None:
    moments = [told for name, told in named_schemas() if name.endswith(("_at", "_since"))]
    days = [told for name, told in named_schemas() if name.endswith(("_on", "_day"))]
    assert any("null" in types(told) for told in moments)
    assert {told.get("format") for told in moments} == {"date-time"}
    assert {told.get("format") for told in days} == {"date"}


def test_a_pattern_can_be_printed_in_the_source_of_any_language() -> None:
    """Some generators write what an escape stands for, and a line ends in the midst of code."""
    patterns = {node["pattern"] for node in nodes(DOCUMENT) if type(node.get("pattern")) is str}
    assert patterns
    exotic = re.compile(r"\\u|\\[pPkK]|\(\?|[^ -~]")
    assert [pattern for pattern in patterns if exotic.search(pattern)] == []


def test_an_application_is_one_flat_object() -> None:
    assert APPLICATION.keys() & {"allOf", "anyOf", "oneOf", "not", "$ref"} == set()
    assert APPLICATION["type"] == "object"
    kinds = {kind for told in APPLICATION["properties"].values() for kind in types(told)}
    assert kinds == {"integer", "number", "string", "null"}


def test_a_field_that_may_be_left_out_may_be_left_out_in_every_language() -> None:
    # A generator takes a field with a default for one that is always there.
    schemas = DOCUMENT["components"]["schemas"]
    assert [
        name for name, schema in schemas.items() for node in nodes(schema) if "default" in node
    ] == []
    assert schemas["NewWebhookEndpoint"]["properties"]["description"]["x-default"] == ""


def test_a_body_that_is_sent_has_a_name_which_its_type_leads_to() -> None:
    payload = DOCUMENT["components"]["schemas"]["EventPayload"]
    assert payload["discriminator"]["propertyName"] == "type"
    leads = payload["discriminator"]["mapping"]
    assert leads.keys() == DOCUMENT["webhooks"].keys()
    for kind, told in DOCUMENT["webhooks"].items():
        schema = told["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert schema == {"$ref": leads[kind]}
    event = DOCUMENT["components"]["schemas"]["Event"]["properties"]["payload"]
    assert event["$ref"] == "#/components/schemas/EventPayload"


def test_a_key_for_retries_has_no_example_that_everybody_would_send() -> None:
    assert "example" not in DOCUMENT["components"]["parameters"]["Idempotency-Key"]


# ------------------------------------------------------------------------------- a promise


def test_nothing_breaks_for_a_client_that_is_not_allowed_by_name() -> None:
    assert not_allowed(json.loads(GOLDEN.read_bytes()), DOCUMENT) == []


def test_the_contract_on_record_is_the_one_that_is_served() -> None:
    assert json.loads(GOLDEN.read_bytes()) == DOCUMENT, f"record the change: `{RECORD}`"


def test_every_class_with_operations_is_served() -> None:
    found = pkgutil.walk_packages(alama.__path__, "alama.")
    modules = [importlib.import_module(one.name) for one in found if one.name.endswith("api")]
    classes = {
        kind
        for module in modules
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and any(operations_of(kind))
    }
    assert classes <= set(ENDPOINTS)
