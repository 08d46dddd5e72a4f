"""What a change of the OpenAPI document breaks for clients, by name.

A client breaks where the service accepts less than it did (requests) or says more than it promised
(replies). Everything else is an addition. `python -m tests.compatibility` records the document as
the new contract, unless it breaks something that is not allowed by name.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from alama.app import openapi

GOLDEN = Path(__file__).parent / "golden" / "openapi.json"
RECORD = "python -m tests.compatibility"

WORDS = ("device_type", "loan_purpose", "region", "applicant_ref")
ALLOWED: dict[str, str] = {
    **{
        f"POST /v1/score: request field {word} no longer accepts a value outside its pattern": (
            "a word could write escapes to the terminal of whoever runs the service"
        )
        for word in WORDS
    },
    **{
        f"{place} no longer accepts a value outside its pattern": (
            "it accepts more: characters that no generator of clients prints left the pattern"
        )
        for place in (
            *(f"POST /v1/explain: request field {word}" for word in WORDS),
            "POST /v1/scores/{request_id}/review: request field name",
            "POST /v1/scores/{request_id}/review: request field note",
            "POST /v1/webhook_endpoints: request field description",
            "PATCH /v1/webhook_endpoints/{endpoint_id}: request field description",
            "POST /v1/onboarding/candidates/{candidate_id}/signatures: request field name",
            "POST /v1/onboarding/candidates/{candidate_id}/signatures: request field reason",
            "POST /v1/onboarding/rollbacks: request field name",
            "POST /v1/onboarding/rollbacks: request field reason",
        )
    },
    **dict.fromkeys(
        (
            "POST /v1/fields: request field file became required",
            "POST /v1/fields: request field transactions became required",
            "POST /v1/fields: request no longer accepts string",
            "POST /v1/fields: request no longer accepts object",
            "POST /v1/fields: request no longer accepts a value outside its format",
            *(
                f"POST /v1/{place} no longer accepts a value outside its pattern"
                for place in (
                    "lists/entries: request field entries[].name",
                    "lists/entries: request field entries[].note",
                    "lists/entries: request field entries[].until",
                    "lists/remove: request field name",
                    "loans: request field applicant_ref",
                    "loans: request field loans[].applicant_ref",
                )
            ),
            *(
                f"POST /v1/loans: request field {field} no longer accepts a value outside its not"
                for field in ("applicant_ref", "loans[].applicant_ref")
            ),
        ),
        "it was refused before, and the document did not say so",
    ),
    "POST /v1/explain: query target parameter no longer accepts a value outside its pattern": (
        "it accepts the same: of three patterns one had the others in it"
    ),
    **{
        f"{place} parameter is written another way": (
            "both ways are read; the one that stands there is what generators do by themselves"
        )
        for place in (
            "POST /v1/score: query expand",
            "POST /v1/explain: query locked",
            "POST /v1/onboarding/histories: query exclude",
            "POST /v1/onboarding/histories: query groups",
            "POST /v1/onboarding/histories: query keep",
        )
    },
}
"""Breakages that were decided on, each with its reason. A line stays: it is history."""

Json = dict[str, Any]


def breakages(old: Json, new: Json) -> list[str]:
    """Name everything that a client of the old document may trip over in the new one."""
    return sorted(set(_breakages(_Document(old), _Document(new))))


def not_allowed(old: Json, new: Json) -> list[str]:
    return [name for name in breakages(old, new) if name not in ALLOWED]


class _Document:
    """A document whose pointers are followed."""

    def __init__(self, written: Json) -> None:
        self.written = written

    def resolve(self, node: Json) -> Json:
        if "$ref" not in node:
            return node
        target: Any = self.written
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        whole = self._with_parents(target, node["$ref"])
        return {**whole, **{name: value for name, value in node.items() if name != "$ref"}}

    def _with_parents(self, schema: Json, pointer: str) -> Json:
        """A schema with the fields of those that it names as parents, which say its `type`."""
        if not any("$ref" in part for part in schema.get("allOf", ())):
            return schema
        properties: Json = {}
        required: list[str] = []
        for part in map(self.resolve, schema["allOf"]):
            properties |= part["properties"]
            required += part.get("required", [])
            leads = part.get("discriminator", {"mapping": {}})
            for word in (word for word, to in leads["mapping"].items() if to == pointer):
                name = leads["propertyName"]
                properties[name] = {**properties[name], "const": word}
        rest = {name: value for name, value in schema.items() if name != "allOf"}
        return {**rest, "type": "object", "properties": properties, "required": required}

    def named(self, nodes: list[Json]) -> dict[str, Json]:
        """Parameters by place and name."""
        return {f"{node['in']} {node['name']}": node for node in map(self.resolve, nodes)}


def _breakages(old: _Document, new: _Document) -> Iterator[str]:
    servers = {server["url"] for server in new.written["servers"]}
    for server in old.written["servers"]:
        if server["url"] not in servers:
            yield f"server {server['url']} was removed"
    pair = _Pair(old, new)
    for path, methods in old.written["paths"].items():
        for method, told in methods.items():
            where = f"{method.upper()} {path}"
            now = new.written["paths"].get(path, {}).get(method)
            if now is None:
                yield f"{where}: was removed"
                continue
            for broken in _operation(pair, told, now):
                yield f"{where}: {broken}"
    for kind, told in old.written.get("webhooks", {}).items():
        now = new.written.get("webhooks", {}).get(kind)
        for broken in _webhook(pair, told["post"], now and now["post"]):
            yield f"webhook {kind}: {broken}"


def _webhook(pair: _Pair, old: Json, new: Json | None) -> Iterator[str]:
    """What a receiver may trip over: a request that is sent is a reply to them."""
    if new is None:
        yield "was removed"
        return
    kept = {told["name"] for told in new["parameters"]}
    for told in old["parameters"]:
        if told["name"] not in kept:
            yield f"header {told['name']} was removed"
    yield from _reply(pair, "body", old["requestBody"], new["requestBody"])


Found = Iterator[tuple[str, str]]
"""The path of a field, and what broke there."""


class _Pair:
    """The two documents, and which pairs of schemas are being compared: schemas may recur.

    Most schemas are named by many replies: what two of them differ in is found once.
    """

    def __init__(self, old: _Document, new: _Document) -> None:
        self.old = old
        self.new = new
        self._open: set[tuple[str, str, str]] = set()
        self._recurred = 0
        self._known: dict[tuple[str, str, str], list[tuple[str, str]]] = {}

    def compared(self, compare: Comparison, path: str, old: Json, new: Json) -> Found:
        """Yield what a comparison finds below a path, also where a schema holds itself."""
        if "$ref" not in old:
            yield from compare(self, path, self.old.resolve(old), self.new.resolve(new))
            return
        key = (compare.__name__, json.dumps(old), json.dumps(new))
        if key in self._open:
            self._recurred += 1
            return
        found = self._known.get(key)
        if found is None:
            self._open.add(key)
            recurred = self._recurred
            found = list(compare(self, "", self.old.resolve(old), self.new.resolve(new)))
            self._open.discard(key)
            if recurred == self._recurred:  # else it was cut short by what is being compared now
                self._known[key] = found
        for inner, broken in found:
            yield _below(path, inner), broken


Comparison = Callable[[_Pair, str, Json, Json], Found]


def _below(path: str, inner: str) -> str:
    return f"{path}{inner}" if not path or not inner or inner.startswith("[") else f"{path}.{inner}"


def _operation(pair: _Pair, old: Json, new: Json) -> Iterator[str]:
    if old["operationId"] != new["operationId"]:
        yield f"operationId {old['operationId']} was renamed"
    if not old.get("security") and new.get("security"):
        yield "a key became required"
    if old.get("security") and new.get("security") and old["security"] != new["security"]:
        yield "the security scheme changed"
    yield from _parameters(pair, old.get("parameters", []), new.get("parameters", []))
    yield from _body(pair, old.get("requestBody"), new.get("requestBody"))
    for status, reply in old["responses"].items():
        if status not in new["responses"]:
            yield f"reply {status} was removed"
        else:
            yield from _reply(pair, _name(status), reply, new["responses"][status])


def _name(status: str) -> str:
    return "reply" if status == "200" else f"reply {status}"


def _parameters(pair: _Pair, old: list[Json], new: list[Json]) -> Iterator[str]:
    before, now = pair.old.named(old), pair.new.named(new)
    for name, told in before.items():
        if name not in now:
            yield f"{name} parameter was removed"
            continue
        style = [(node.get("style"), node.get("explode")) for node in (told, now[name])]
        if style[0] != style[1]:
            yield f"{name} parameter is written another way"
        for _, broken in _narrowed(pair, "", told["schema"], now[name]["schema"]):
            yield f"{name} parameter {broken}"
    for name, told in now.items():
        if told.get("required") and not before.get(name, {}).get("required"):
            yield f"{name} parameter became required"


def _body(pair: _Pair, old: Json | None, new: Json | None) -> Iterator[str]:
    if old is None:
        if new is not None and new.get("required"):
            yield "a body became required"
        return
    if new is None:
        yield "the body was removed"
        return
    if new.get("required") and not old.get("required"):
        yield "the body became required"
    for media_type, content in old["content"].items():
        if media_type not in new["content"]:
            yield f"a body of {media_type} is no longer accepted"
            continue
        now = new["content"][media_type]
        for field, broken in _narrowed(pair, "", content["schema"], now["schema"]):
            yield f"request {_field(field)}{broken}"


def _reply(pair: _Pair, name: str, old: Json, new: Json) -> Iterator[str]:
    for header, told in old.get("headers", {}).items():
        if header not in new.get("headers", {}):
            yield f"{name} header {header} was removed"
            continue
        now = pair.new.resolve(new["headers"][header])
        before = pair.old.resolve(told)
        if before.get("required") and not now.get("required"):
            yield f"{name} header {header} may be missing"
        for _, broken in _widened(pair, "", before["schema"], now["schema"]):
            yield f"{name} header {header} {broken}"
    for media_type, content in old.get("content", {}).items():
        if media_type not in new.get("content", {}):
            yield f"{name} of {media_type} was removed"
            continue
        now = new["content"][media_type]
        for field, broken in _widened(pair, "", content["schema"], now["schema"]):
            yield f"{name} {_field(field)}{broken}"


def _field(path: str) -> str:
    return f"field {path} " if path else ""


# --------------------------------------------------------------------------- requests


def _narrowed(pair: _Pair, path: str, old: Json, new: Json) -> Found:
    """Yield where the new schema refuses what the old one accepted."""
    yield from pair.compared(_less, path, old, new)


def _less(pair: _Pair, path: str, old: Json, new: Json) -> Found:
    for what in _only_first(old, new):
        yield path, f"no longer accepts {what}"
    yield from _narrowed_object(pair, path, old, new)
    for before, after in _same_alternatives(old, new):
        yield from _narrowed(pair, path, before, after)
    if "items" in old and "items" in new:
        yield from _narrowed(pair, f"{path}[]", old["items"], new["items"])
    elif "items" in new:
        yield path, "no longer accepts any items"


def _narrowed_object(pair: _Pair, path: str, old: Json, new: Json) -> Found:
    closed = new.get("additionalProperties") is False
    if closed and "properties" in old and old.get("additionalProperties") is not False:
        yield path, "no longer takes other fields"
    for name, told in old.get("properties", {}).items():
        inner = _inner(path, name)
        if name not in new.get("properties", {}):
            if closed:
                yield inner, "was removed"
        else:
            yield from _narrowed(pair, inner, told, new["properties"][name])
    for name in new.get("required", []):
        if name not in old.get("required", []):
            yield _inner(path, name), "became required"


# ---------------------------------------------------------------------------- replies


def _widened(pair: _Pair, path: str, old: Json, new: Json) -> Found:
    """Yield where the new schema allows what the old one promised not to be."""
    yield from pair.compared(_more, path, old, new)


def _more(pair: _Pair, path: str, old: Json, new: Json) -> Found:
    for what in _only_first(new, old):
        yield path, f"may be {what}"
    for name, told in old.get("properties", {}).items():
        inner = _inner(path, name)
        if name not in new.get("properties", {}):
            yield inner, "was removed"
            continue
        if name in old.get("required", []) and name not in new.get("required", []):
            yield inner, "may be missing"
        yield from _widened(pair, inner, told, new["properties"][name])
    for before, after in _same_alternatives(old, new):
        yield from _widened(pair, path, before, after)
    if "items" in old:
        yield from _widened(pair, f"{path}[]", old["items"], new.get("items", {}))


# ----------------------------------------------------------------------------- values

ANY_TYPE = {"null", "boolean", "integer", "number", "string", "array", "object"}
LOWER_BOUNDS = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
UPPER_BOUNDS = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
OTHER_RULES = ("pattern", "format", "not", "multipleOf", "uniqueItems")
WIDTHS = {"int32": 2**31, "int64": 2**63}


def _only_first(first: Json, second: Json) -> Iterator[str]:
    """Yield what the first schema allows and the second does not, fields and items aside."""
    yield from sorted(_types(first) - _types(second))
    yield from _only_listed_first(first, second)
    for rule in _stricter_rules(first, second):
        yield f"a value outside its {rule}"


def _stricter_rules(first: Json, second: Json) -> Iterator[str]:
    first, second = _bounded(first), _bounded(second)
    for rule in LOWER_BOUNDS:
        if rule in second and first.get(rule, float("-inf")) < second[rule]:
            yield rule
    for rule in UPPER_BOUNDS:
        if rule in second and first.get(rule, float("inf")) > second[rule]:
            yield rule
    for rule in OTHER_RULES:
        if rule in second and first.get(rule) != second[rule]:
            yield rule
    for rule in ("anyOf", "oneOf"):
        if rule in second and any(each not in second[rule] for each in first.get(rule, [None])):
            yield rule
    if any(rule not in first.get("allOf", []) for rule in second.get("allOf", [])):
        yield "allOf"


def _bounded(schema: Json) -> Json:
    """The width of a whole number as the bounds that it is, unless it has closer ones.

    Nothing has ever been sent, or been taken, that is wider than the widest of them.
    """
    rest = {
        name: value
        for name, value in schema.items()
        if name != "format" or value not in {*WIDTHS, "double"}
    }
    if "integer" not in _types(schema) or "number" in _types(schema):
        return rest
    width = WIDTHS.get(schema.get("format", ""), WIDTHS["int64"])
    return {
        **rest,
        "minimum": max(schema.get("minimum", -width), -width),
        "maximum": min(schema.get("maximum", width - 1), width - 1),
    }


def _types(schema: Json) -> set[str]:
    said = schema.get("type", ANY_TYPE)
    types = {said} if isinstance(said, str) else set(said)
    # Every integer is a number.
    return types | {"integer"} if "number" in types else types


def _only_listed_first(first: Json, second: Json) -> list[str]:
    here, there = _listed(first), _listed(second)
    if there is None:
        return []
    if here is None:
        return ["a value that is not listed"]
    return sorted(str(value) for value in here if value not in there)


def _listed(schema: Json) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    listed: list[Any] | None = schema.get("enum")
    return listed


def _same_alternatives(old: Json, new: Json) -> Iterator[tuple[Json, Json]]:
    """Yield the alternatives that both name: what they point at may differ."""
    for rule in ("anyOf", "oneOf"):
        named = {each["$ref"]: each for each in new.get(rule, []) if "$ref" in each}
        for each in old.get(rule, []):
            if each.get("$ref") in named:
                yield each, named[each["$ref"]]


def _inner(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


# --------------------------------------------------------------------------- recording


def main() -> int:
    """Record the document as the contract; 1 where it would break a promise."""
    new = openapi.document()
    old = json.loads(GOLDEN.read_bytes()) if GOLDEN.exists() else new
    for name in (broken := not_allowed(old, new)):
        sys.stderr.write(f"breaks clients: {name}\n")
    if broken:
        sys.stderr.write("not recorded; allow each by name in tests/compatibility.py\n")
        return 1
    GOLDEN.write_bytes(openapi.encoded())
    return 0


if __name__ == "__main__":
    sys.exit(main())
