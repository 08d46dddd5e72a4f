"""The tables of the page: request fields, reply fields, parameters and codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from alama.api.reference.text import prose
from alama.pages.markup import Markup, join, tag
from alama.pages.page import badge

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from alama.api.reference.reader import Reader

Json = dict[str, Any]

_LONG: Final = 10_000_000
"""From here on, digits are counted more easily than read."""


def request_fields(schema: Json) -> Markup:
    """Give the fields of a request: both spellings, type, range, unit and meaning."""
    properties: Json = schema["properties"]
    spellings = {
        told["x-spelling-of"]: name for name, told in properties.items() if "x-spelling-of" in told
    }
    required = {*schema["required"], *spellings}
    rows = [
        (
            join(tag("code", name), badge("required", "must") if name in required else ""),
            tag("code", spellings[name]) if name in spellings else "",
            value_rule(_sent(told)),
            told.get("x-unit", ""),
            prose(told["description"]),
        )
        for name, told in properties.items()
        if "x-spelling-of" not in told
    ]
    return _table(("Field", "Compact spelling", "Value", "Unit", "Meaning"), rows)


def reply_fields(reader: Reader, schema: Json) -> Markup:
    """Give the fields of a reply or of a small body, those of inner objects under their path."""
    rows = [
        (
            join(tag("code", path), "" if always else badge("optional")),
            value_rule(told),
            prose(told.get("description", "")),
        )
        for path, told, always in _flat(reader, schema, "")
    ]
    return _table(("Field", "Value", "Meaning"), rows)


def _flat(reader: Reader, schema: Json, prefix: str) -> Iterator[tuple[str, Json, bool]]:
    for name, told in schema["properties"].items():
        inner = reader.resolve(told)
        yield prefix + name, {**inner, **told}, name in schema.get("required", ())
        if inner.get("type") == "array":
            inner, name = reader.resolve(inner["items"]), f"{name}[]"  # noqa: PLW2901  its path
        if "properties" in inner:
            yield from _flat(reader, inner, f"{prefix}{name}.")


def parameters(reader: Reader, listed: Sequence[Json]) -> Markup:
    """Give the parameters of an operation."""
    rows = [
        (
            join(
                tag("code", told["name"]),
                badge(told["in"]),
                badge("required", "must") if told.get("required") else "",
            ),
            value_rule(told["schema"]),
            prose(told["description"]),
        )
        for told in map(reader.resolve, listed)
    ]
    return _table(("Parameter", "Value", "Meaning"), rows)


def sent_headers(listed: Sequence[Json]) -> Markup:
    """Give the headers of what is sent to receivers."""
    rows = [
        (tag("code", told["name"]), tag("code", told["example"]), prose(told["description"]))
        for told in listed
    ]
    return _table(("Header", "Such as", "Meaning"), rows)


def headers(reader: Reader, listed: Json) -> Markup:
    """Give the headers of a reply."""
    rows = [
        (
            tag("code", name),
            tag("code", told["example"]) if "example" in told else "",
            prose(told["description"]),
        )
        for name, told in ((name, reader.resolve(told)) for name, told in listed.items())
    ]
    return _table(("Header", "Such as", "Meaning"), rows)


def problem_codes(codes: Json) -> Markup:
    """Give the codes of problems."""
    rows = [
        (
            tag("code", code, id=f"code-{code}"),
            str(told["status"]),
            prose(told["when"]),
            prose(told["remedy"]),
        )
        for code, told in codes.items()
    ]
    return _table(("Code", "Status", "When", "What to do"), rows)


def field_codes(codes: Json) -> Markup:
    """Give the codes of broken field rules."""
    rows = [
        (tag("code", code), prose(told["when"]), prose(told["remedy"]))
        for code, told in codes.items()
    ]
    return _table(("Code", "When", "What to do"), rows)


def reason_codes(codes: Json) -> Markup:
    """Give the codes of reasons, and what is said to the applicant."""
    rows = [(tag("code", code), told["text"]) for code, told in codes.items()]
    return _table(("Code", "In English"), rows)


def _sent(schema: Json) -> Json:
    """Leave null out of a type: that optional fields may be null is said once, above the table."""
    kinds = schema["type"]
    return {**schema, "type": kinds if isinstance(kinds, str) else kinds[0]}


def value_rule(schema: Json) -> Markup:
    """Say what a value may be: its type, and its range below."""
    kinds = schema.get("type", "object")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    kind = " or ".join(kind for kind in kinds if kind != "null")
    if kind == "array":
        items = schema["items"]
        kind = f"list of {items.get('type', 'object')}s"
        if "enum" in items:
            return join(kind, tag("small", ", ".join(items["enum"])))
    said = ", ".join(filter(None, [*_bounds(schema), "or null" if "null" in kinds else ""]))
    return join(kind, tag("small", said) if said else "")


def _bounds(schema: Json) -> Iterator[str]:
    match schema:
        case {"exclusiveMinimum": low, "maximum": high}:
            yield f"above {_number(low)}, at most {_number(high)}"
        case {"minimum": low, "maximum": high}:
            yield f"{_number(low)} to {_number(high)}"
        case {"minimum": low}:
            yield f"at least {_number(low)}"
        case {"minLength": low, "maxLength": high}:
            yield f"{low} to {high} characters"
        case {"maxLength": high}:
            yield f"at most {high:,} characters"
        case _:
            pass
    if "const" in schema:
        yield f"always {schema['const']}"
    if "enum" in schema:
        yield f"one of {', '.join(schema['enum'])}"
    if "default" in schema:
        yield f"{_default(schema['default'])} by default"
    if "format" in schema:
        yield str(schema["format"])


def _default(value: object) -> str:
    """Write a default as a body would have it, but a text without its quotes."""
    return (value or "empty") if isinstance(value, str) else json.dumps(value)


def _number(number: float) -> str:
    return f"{number:,}" if number < _LONG else f"{number:.0e}".replace("e+0", "e").replace("+", "")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """Give a table whose rows become cards on a narrow screen, each cell with its heading."""
    return tag(
        "table",
        tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in head))),
        tag("tbody", *(_row(head, row) for row in rows)),
        class_="told",
    )


def _row(head: Sequence[str], row: Sequence[str]) -> Markup:
    first, *rest = row
    cells = [
        tag("td", tag("div", cell), data_head=name, class_=None if cell else "empty")
        for name, cell in zip(head[1:], rest, strict=True)
    ]
    return tag("tr", tag("th", first, scope="row"), *cells)
