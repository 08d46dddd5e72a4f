"""The reference page at /docs: made of the OpenAPI document alone, so the two cannot differ."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from alama.platform.pages.render import (
    Markup,
    badge,
    heading,
    join,
    note,
    paragraph,
    side_by_side,
    tag,
    text,
    unfold,
)
from alama.platform.pages.style import SHEET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


REFERENCE_SHEET: Final = """
:root { --code: #f6f7f9; --get: #2b6cb0; --post: #20794a; --text: #20794a; --shade: #0000000d; }
@media screen and (prefers-color-scheme: dark) {
  :root { --code: #10141a; --get: #63a4e8; --post: #5cc389; --text: #7fd1a3; --shade: #00000055; }
}
html { scroll-padding-top: 16px; }
.pair { grid-template-columns: repeat(auto-fit, minmax(min(100%, 500px), 1fr)); }
header { border-bottom: 1px solid var(--rule); max-width: none; margin-bottom: 12px;
  background: var(--panel); padding: 44px max(28px, calc((100vw - 1344px) / 2)) 30px; }
.columns, footer { max-width: 1400px; }
header .lead { font-size: 1.1rem; max-width: 50em; margin: 10px 0 0; }
header .links { margin: 14px 0 0; font-size: 0.92rem; display: flex; gap: 6px 22px;
  flex-wrap: wrap; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
p code, li code, td code, small code, dd code, summary code { font-size: 0.88em;
  background: var(--panel); border-radius: 4px; padding: 1px 4px; overflow-wrap: break-word; }
th code { font-size: 0.88em; font-weight: 600; white-space: nowrap; }
nav .group { font-weight: 600; color: var(--ink); padding: 12px 0 2px 12px; font-size: 0.82rem; }
nav ol .group:first-child { padding-top: 0; }
nav summary { display: none; }
nav a code { display: block; font-size: 0.78rem; font-weight: 400; background: none; padding: 0; }
nav a code b { font-weight: 600; }
nav a { overflow-wrap: break-word; line-height: 1.35; }
nav a.here { color: var(--accent); box-shadow: -2px 0 0 var(--accent); font-weight: 600; }
section { padding-top: 26px; }
.operation h2 { display: flex; align-items: baseline; gap: 4px 12px; flex-wrap: wrap; }
.operation h2 .say { flex-basis: 100%; }
.operation h2 code { font-size: 0.92rem; font-weight: 500; overflow-wrap: anywhere;
  color: var(--soft); }
.method { font: 700 0.74rem/1.6 ui-monospace, Menlo, Consolas, monospace; border-radius: 5px;
  padding: 0 7px; border: 1px solid currentColor; letter-spacing: 0.04em; }
.method.get { color: var(--get); }
.method.post, .method.patch { color: var(--post); }
.method.delete { color: var(--bad); }
.badge.must { border-color: var(--bad); color: var(--bad); }
th .badge { font-weight: 500; margin-left: 8px; }
figure.code { margin: 14px 0; border: 1px solid var(--rule); border-radius: 8px; overflow: hidden;
  background: var(--code); box-shadow: 0 1px 3px var(--shade); }
figure.code figcaption { display: flex; justify-content: space-between; align-items: center;
  gap: 12px; padding: 5px 12px; border-bottom: 1px solid var(--rule); font-size: 0.8rem;
  min-height: 36px; background: var(--panel); }
figure.code pre { margin: 0; padding: 12px 14px; overflow: auto; font-size: 0.8rem;
  line-height: 1.55; max-height: 42rem; tab-size: 2; }
figure.code pre:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
button { font: 600 0.76rem/1.5 system-ui, sans-serif; color: var(--accent); cursor: pointer;
  background: var(--paper); border: 1px solid var(--rule); border-radius: 6px; padding: 2px 10px;
  flex: none; }
button:hover { border-color: var(--accent); }
.j-name { color: var(--accent); }
.j-text { color: var(--text); }
.j-number { color: var(--bad); }
table.told { width: 100%; margin: 12px 0; }
table.told th, table.told td { padding: 8px 18px 8px 0; }
table.told tbody th { min-width: 11em; }
table.told td:last-child, table.told th:last-child { padding-right: 0; }
table.told td small { margin-top: 1px; }
table.told td code, p code { overflow-wrap: anywhere; }
table.told tr:has(:target) { background: var(--panel); }
.refusals { list-style: none; margin: 8px 0; padding: 0; display: flex; flex-wrap: wrap;
  gap: 6px 8px; }
.refusals a { display: inline-block; border: 1px solid var(--rule); border-radius: 99px;
  padding: 1px 10px; font-size: 0.82rem; text-decoration: none; color: var(--ink); }
.refusals a:hover { border-color: var(--accent); }
.refusals b { color: var(--bad); font-weight: 600; }
details > summary { padding: 4px 0; }
@media (max-width: 860px) {
  header { padding: 28px 16px 20px; }
  nav ol { columns: 1; display: flex; flex-wrap: wrap; gap: 2px 14px; }
  nav .group { flex-basis: 100%; padding-left: 0; }
  nav a.here { box-shadow: none; }
  nav a code { display: inline; margin-left: 6px; }
  nav summary { display: list-item; cursor: pointer; font-weight: 600; }
}
@media (max-width: 700px) {
  table.told, table.told tbody, table.told tr, table.told th, table.told td { display: block;
    border: 0; }
  table.told thead { display: none; }
  table.told tr { border-bottom: 1px solid var(--rule); padding: 10px 0; }
  table.told th, table.told td, table.told tbody th { padding: 0; min-width: 0; }
  table.told tbody th { margin-bottom: 3px; }
  th code { white-space: normal; overflow-wrap: anywhere; }
  table.told td { display: grid; grid-template-columns: 8.5em minmax(0, 1fr); gap: 8px;
    padding: 1px 0; }
  table.told td::before { content: attr(data-head); color: var(--soft); font-size: 0.82rem;
    padding-top: 2px; }
  table.told td.empty { display: none; }
}
@media print {
  button { display: none; }
  nav details { display: block; }
  header { background: none; }
  figure.code pre { max-height: none; white-space: pre-wrap; }
}
"""


SCRIPT: Final = """
"use strict";
if (location.origin.startsWith("http")) {
  for (const place of document.querySelectorAll(".origin")) place.textContent = location.origin;
}

// Without HTTPS a browser has no clipboard for scripts; the old way of copying works there, and
// where that is refused too the text is left selected.
async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return "Copied";
  } catch {
    getSelection().selectAllChildren(code);
    return document.execCommand("copy") ? "Copied" : "Selected";
  }
}

for (const figure of document.querySelectorAll("figure.code")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    button.textContent = await copy(figure.querySelector("code"));
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  figure.querySelector("figcaption").append(button);
}

const menu = document.querySelector("nav details");
const narrow = matchMedia("(max-width: 860px)");
const fold = () => { menu.open = !narrow.matches; };
narrow.addEventListener("change", fold);
fold();

const links = new Map();
for (const link of document.querySelectorAll("nav a")) links.set(link.hash.slice(1), link);
const watch = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    for (const [anchor, link] of links) link.classList.toggle("here", anchor === entry.target.id);
  }
}, { rootMargin: "-10% 0px -80% 0px" });
for (const section of document.querySelectorAll("main section")) watch.observe(section);
"""
"""It copies code, names this server, folds the menu; the page can be read whole without it."""


class Told(NamedTuple):
    """One operation as the document tells it."""

    method: str
    path: str
    told: Json

    @property
    def anchor(self) -> str:
        """Where it stands on the page."""
        anchor: str = self.told["operationId"]
        return anchor

    @property
    def success(self) -> tuple[str, Json]:
        """The status of the reply where all goes well, and the reply."""
        status = next(status for status in self.told["responses"] if status.startswith("2"))
        return status, self.told["responses"][status]


class Topic(NamedTuple):
    """A paragraph of the document's description that has a title."""

    title: str
    written: str


class Reader:
    """A document, with its pointers followed."""

    def __init__(self, document: Json) -> None:
        self.document = document

    def resolve(self, node: Json) -> Json:
        """Give what a pointer points to, or the node itself."""
        if "$ref" not in node:
            return node
        target: Any = self.document
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        found: Json = target
        return self._with_parents(found, node["$ref"])

    def _with_parents(self, schema: Json, pointer: str) -> Json:
        """Give a schema with the fields of those that it is made of; a mapping says its `type`."""
        if "allOf" not in schema:
            return schema
        properties: Json = {}
        required: list[str] = []
        for part in schema["allOf"]:
            inner = self.resolve(part)
            properties |= inner["properties"]
            required += inner.get("required", ())
            leads = inner.get("discriminator", {})
            for word in (word for word, to in leads.get("mapping", {}).items() if to == pointer):
                name = leads["propertyName"]
                properties[name] = {**properties[name], "const": word}
        return {**schema, "properties": properties, "required": required}

    def schema(self, name: str) -> Json:
        """Give a schema by name."""
        found: Json = self.document["components"]["schemas"][name]
        return found

    def operations(self, tag: str) -> Iterator[Told]:
        """Give the operations of a tag, in the order of the document."""
        for path, methods in self.document["paths"].items():
            for method, told in methods.items():
                if tag in told["tags"]:
                    yield Told(method.upper(), path, told)

    def lead(self) -> str:
        """Give the first paragraph of the description."""
        first: str = self.document["info"]["description"].split("\n\n")[0]
        return first

    def topics(self) -> dict[str, Topic]:
        """Give the paragraphs that start with a title in bold, by that title."""
        parts = self.document["info"]["description"].split("\n\n")[1:]
        found = (re.fullmatch(r"\*\*(.+?)\.\*\* (.+)", part, re.DOTALL) for part in parts)
        return {part[1]: Topic(part[1], part[2]) for part in found if part}


ONE_LINE_MAX: Final = 72
"""Characters up to which an object or a list is written on one line."""

_SPAN: Final = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")
_TOKEN: Final = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b')


def prose(written: str) -> Markup:
    """Give a line of text whose `code` and **strong** words are marked up."""
    parts: list[str] = []
    end = 0
    for found in _SPAN.finditer(written):
        code, strong = found.groups()
        parts += [written[end : found.start()], tag("code", code) if code else tag("b", strong)]
        end = found.end()
    return join(*parts, written[end:])


def paragraphs(written: str) -> Markup:
    """Give text in paragraphs, which empty lines part."""
    return join(*(tag("p", prose(part)) for part in written.split("\n\n")))


def pretty(value: Any, indent: str = "") -> str:  # noqa: ANN401  JSON has no better type
    """Write JSON for people: what is short stands on one line."""
    line = json.dumps(value, ensure_ascii=False)
    deep = isinstance(value, dict) and any(isinstance(v, dict | list) for v in value.values())
    if not value or not isinstance(value, dict | list):
        return line
    if len(line) <= ONE_LINE_MAX and indent and not deep:
        return line
    inner = indent + "  "
    if isinstance(value, list):
        parts = [inner + pretty(part, inner) for part in value]
        return "[\n" + ",\n".join(parts) + f"\n{indent}]"
    parts = [f"{inner}{json.dumps(name)}: {pretty(part, inner)}" for name, part in value.items()]
    return "{\n" + ",\n".join(parts) + f"\n{indent}}}"


def coloured(written: str) -> Markup:
    """Mark up the tokens of JSON."""
    parts: list[str] = []
    end = 0
    for found in _TOKEN.finditer(written):
        string, colon, number, word = found.groups()
        parts.append(written[end : found.start()])
        if colon is not None:
            parts += [tag("span", string, class_="j-name"), colon]
        elif string is not None:
            parts.append(tag("span", string, class_="j-text"))
        else:
            parts.append(tag("span", number or word, class_="j-number"))
        end = found.end()
    return join(*parts, written[end:])


def code_block(caption: str, shown: Markup) -> Markup:
    """Give a block of code; the script puts a button for copying beside its caption."""
    # A region that scrolls must be reachable by keyboard.
    block = tag("pre", tag("code", shown), tabindex=0)
    return tag("figure", tag("figcaption", tag("span", prose(caption))), block, class_="code")


def json_block(caption: str, value: Any) -> Markup:  # noqa: ANN401  as above
    """Give JSON as a block."""
    return code_block(caption, coloured(pretty(value)))


def command(written: str) -> Markup:
    """Give a shell command; `{origin}` is where the service is, put right by the script."""
    before, found, after = written.partition("{origin}")
    if not found:
        return text(written)
    return join(before, tag("span", "http://localhost:8000", class_="origin"), after)


CONTINUE: Final = " \\\n  "


def curl(reader: Reader, operation: Told, body: str | None = None) -> str:
    """Give a command to be copied and run, with an example for a body where there is one.

    The example is that of the name, or the first.
    `{origin}` stands for where the service is; the shell puts the key in. Optional parameters are
    left out.
    """
    told = operation.told
    path = operation.path
    for parameter in map(reader.resolve, told.get("parameters", ())):
        if parameter["in"] == "path":
            path = path.replace("{" + parameter["name"] + "}", parameter["example"])
    options = ['-H "Authorization: Bearer $KEY"'] if told["security"] else []
    if "requestBody" in told:
        media_type, content = next(iter(told["requestBody"]["content"].items()))
        options.append(f"-H {shlex.quote('Content-Type: ' + media_type)}")
        options.append(_data(reader, content, body))
    method = "" if operation.method == _usual(told) else f"-X {operation.method} "
    return CONTINUE.join([f"curl -s {method}{{origin}}{path}", *options])


def _data(reader: Reader, content: Json, body: str | None) -> str:
    """Give an example of the body; one without any is a file."""
    shown = content.get("examples")
    if shown is None:
        return "--data-binary @loans.csv"
    example = reader.resolve(shown[body or next(iter(shown))])["value"]
    return f"-d {shlex.quote(pretty(example, '  '))}"


def _usual(told: Json) -> str:
    """Give the method that curl takes where none is named."""
    return "POST" if "requestBody" in told else "GET"


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


_WIDTHS: Final = (None, "int32", "int64", "double")
"""Formats that say nothing to people."""

_DEFAULTS: Final = ("default", "x-default")
"""Of a parameter, and of a field."""


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
    yield from (f"{_default(schema[name])} by default" for name in _DEFAULTS if name in schema)
    if schema.get("format") not in _WIDTHS:
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


_SHOWN_WHOLE: Final = "webhook.test"
"""What a receiver gets first."""


def sent(reader: Reader) -> Markup:
    """Tell of each kind of event what it is about, how it looks and what is in it."""
    kinds: Json = {kind: told["post"] for kind, told in reader.document["webhooks"].items()}
    # What is said of a request, and its headers, are the same for all of them.
    any_kind: Json = kinds[_SHOWN_WHOLE]
    return join(
        paragraphs(any_kind["description"]),
        heading("Headers of a delivery"),
        sent_headers(any_kind["parameters"]),
        code_block("One as it comes, for code of your own to try", text(_as_it_comes(any_kind))),
        *(_kind(reader, kind, told) for kind, told in kinds.items()),
    )


def _as_it_comes(told: Json) -> str:
    """Write a delivery whole; of the body these very bytes are signed."""
    ((media_type, content),) = told["requestBody"]["content"].items()
    headers = [f"{header['name']}: {header['example']}" for header in told["parameters"]]
    body = json.dumps(content["example"], ensure_ascii=False, separators=(",", ":"))
    return "\n".join(["POST /hook HTTP/1.1", f"content-type: {media_type}", *headers, "", body])


def _kind(reader: Reader, kind: str, told: Json) -> Markup:
    (content,) = told["requestBody"]["content"].values()
    return join(
        heading(kind),
        paragraph(f"{told['summary']}."),
        json_block("Body", content["example"]),
        reply_fields(reader, reader.resolve(content["schema"])),
    )


Json = dict[str, Any]

STYLE: Final = SHEET + REFERENCE_SHEET
_BREAKS: Final = re.compile(r"(?<=.)(?=/)|(?<=_)")
MAIN: Final = "createScore"
"""The operation that the page starts with; the fields it takes and gives have sections."""


class Section(NamedTuple):
    """A part of the page: its heading may say more than its entry in the contents."""

    anchor: str
    title: str
    body: Markup
    heading: Markup | None = None
    operation: Told | None = None
    """What it is about, if that is one."""


class Reference:
    """The page of one OpenAPI document."""

    def __init__(self, document: Json) -> None:
        self._reader = Reader(document)

    @property
    def content_security_policy(self) -> str:
        """Allow the page's own style and script, by their hashes, and nothing else."""
        return (
            f"default-src 'none'; style-src {hash_of(STYLE)}; script-src {hash_of(SCRIPT)}; "
            "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
        )

    @cached_property
    def html(self) -> str:
        """The page, whole: it asks nobody for anything."""
        groups = self._groups()
        sections = [section for group in groups.values() for section in group]
        body = tag(
            "body",
            self._header(),
            tag(
                "div",
                _contents(groups),
                tag("main", *map(_section, sections)),
                class_="columns",
            ),
            tag("footer", self._footer()),
            tag("script", Markup(SCRIPT)),
        )
        return _whole(f"{self._info['title']} API reference", STYLE, body)

    @property
    def _info(self) -> Json:
        info: Json = self._reader.document["info"]
        return info

    def _header(self) -> Markup:
        info = self._info
        return tag(
            "header",
            tag("p", f"Version {info['version']}, {info['license']['name']}", class_="kicker"),
            tag("h1", f"{info['title']} API"),
            tag("p", prose(self._reader.lead()), class_="lead"),
            tag(
                "p",
                tag("a", "Your first score", href="#start"),
                tag("a", "Fields of a request", href="#request-fields"),
                tag("a", "Errors", href="#errors"),
                tag("a", "Guide", href="docs/guide/"),
                tag("a", "OpenAPI document", href="openapi.json"),
                class_="links",
            ),
        )

    def _footer(self) -> str:
        return (
            f"{self._info['title']} {self._info['version']}. Made of this server's own OpenAPI "
            "document; nothing on this page comes from elsewhere."
        )

    def _groups(self) -> dict[str, list[Section]]:
        """Give the sections by the heading under which the contents list them."""
        reader = self._reader
        scores, *others = [tag_["name"] for tag_ in reader.document["tags"]]
        main, *further = reader.operations(scores)
        return {
            "Start": [self._start(main), self._authentication()],
            scores: [
                self._operation(main),
                self._request_fields(),
                self._reply_fields(main),
                *map(self._operation, further),
                self._explanation_codes(),
            ],
            "In practice": [
                self._errors(),
                self._retries(),
                *(self._topic(title) for title in ("Limits", "Versions", "Paths")),
            ],
            **{name: self._tagged(name) for name in others},
        }

    def _tagged(self, name: str) -> list[Section]:
        """Give the operations of a tag; one that has none is that of what is sent to others."""
        asked = list(map(self._operation, self._reader.operations(name)))
        what = Section("what-is-sent", "What is sent to an endpoint", sent(self._reader))
        return asked or [what]

    # ------------------------------------------------------------------------- sections

    def _start(self, main: Told) -> Section:
        content = _content(main.success[1])
        reply = self._reader.resolve(content["examples"]["compact_reply"])
        issue = "export KEY=$(alama keys issue --lender demo --mode test)"
        return Section(
            "start",
            "Your first score",
            join(
                code_block("1. Get a test key, or make one where the server runs", text(issue)),
                side_by_side(
                    code_block(
                        "2. Send the four required fields",
                        command(curl(self._reader, main, "compact")),
                    ),
                    json_block("3. Read the score, the decision, and why", reply["value"]),
                ),
            ),
        )

    def _authentication(self) -> Section:
        schemes: Json = self._reader.document["components"]["securitySchemes"]
        ((_, scheme),) = schemes.items()
        return Section(
            "authentication",
            "Authentication",
            join(
                paragraphs(scheme["description"]),
                code_block("Sent with every request", text("Authorization: Bearer alama_test_...")),
            ),
        )

    def _operation(self, operation: Told) -> Section:
        reader, told = self._reader, operation.told
        parts = [paragraphs(told["description"]), self._try(operation)]
        if "parameters" in told:
            parts += [heading("Parameters"), parameters(reader, told["parameters"])]
        _, success = operation.success
        if operation.anchor != MAIN:
            parts += self._takes(told) + self._gives(success)
        parts += [
            heading("Headers of the reply"),
            headers(reader, success["headers"]),
            heading("Other answers"),
            self._other_answers(operation),
        ]
        return Section(
            operation.anchor, told["summary"], join(*parts), _title(operation), operation
        )

    def _try(self, operation: Told) -> Markup:
        """Show a request and its reply side by side, and other replies a click away."""
        block = code_block("Request", command(curl(self._reader, operation)))
        content = _content(operation.success[1])
        listed = map(self._reader.resolve, content.get("examples", {}).values())
        shown = [(example.get("summary", "Reply"), example["value"]) for example in listed]
        if not shown:
            return block
        (_, first), *more = shown
        return join(
            side_by_side(block, json_block("Reply", first)),
            *(unfold(prose(told), json_block("Reply", value)) for told, value in more),
        )

    def _takes(self, told: Json) -> list[Markup]:
        body = told.get("requestBody", {})
        schema = self._reader.resolve(_content(body).get("schema", {}))
        if "oneOf" in schema:  # the others are made of the first
            schema = self._reader.resolve(schema["oneOf"][0])
        if not schema or schema == self._reader.schema("Application"):  # which has its own section
            return []
        if "properties" not in schema:
            return [heading("The body"), note(prose(body["description"]))]
        return [
            heading("Fields of the request"),
            note(prose(schema["description"]), " ", prose(body["description"])),
            reply_fields(self._reader, schema),
        ]

    def _gives(self, success: Json) -> list[Markup]:
        schema = self._reader.resolve(_content(success).get("schema", {}))
        if "properties" not in schema:
            return []
        return [
            heading("Fields of the reply"),
            note(prose(schema["description"])),
            reply_fields(self._reader, schema),
        ]

    def _other_answers(self, operation: Told) -> Markup:
        chips = []
        for status, reply in operation.told["responses"].items():
            if status == operation.success[0]:
                continue
            content = _content(reply)
            codes = self._reader.schema("Problem")["properties"]["code"]["x-codes"]
            named = [code for code in content.get("examples", ()) if code in codes]
            chips += [_chip(status, code, f"#code-{code}") for code in named]
            if not named:
                chips.append(_chip(status, reply["description"], f"#{operation.anchor}"))
        return tag("ul", *chips, class_="refusals")

    def _request_fields(self) -> Section:
        schema = self._reader.schema("Application")
        return Section(
            "request-fields",
            "Fields of a request",
            join(
                paragraphs(schema["description"]),
                request_fields(schema),
                note("Must never be sent, under whatever name: ", _listed(schema["x-prohibited"])),
            ),
        )

    def _reply_fields(self, main: Told) -> Section:
        schema = self._reader.resolve(_content(main.success[1])["schema"])
        rules = self._reader.schema("OfferDetail")["properties"]["rules"]["items"]["x-codes"]
        return Section(
            "reply-fields",
            "Fields of the reply",
            join(
                paragraph(schema["description"]),
                reply_fields(self._reader, schema),
                note("Optional fields come when ", tag("code", "expand"), " asks for them."),
                heading("Codes of rules"),
                field_codes(rules),
            ),
        )

    def _explanation_codes(self) -> Section:
        reader = self._reader
        bound = reader.schema("Obstacle")["properties"]["code"]["x-codes"]
        reasons = reader.schema("Reason")["properties"]["code"]["x-codes"]
        return Section(
            "explanation-codes",
            "Codes of explanations",
            join(
                heading("Codes of what stands in the way"),
                field_codes(bound),
                heading("Codes of reasons"),
                note("Values stand where braces are. Every text is there in each language."),
                reason_codes(reasons),
            ),
        )

    def _errors(self) -> Section:
        reader = self._reader
        codes = reader.schema("Problem")["properties"]["code"]["x-codes"]
        faults = reader.schema("FieldFault")["properties"]["code"]["x-codes"]
        example = reader.document["components"]["examples"]["invalid_application"]
        return Section(
            "errors",
            "Errors",
            join(
                paragraph(prose(reader.topics()["Errors"].written)),
                json_block("A problem: fields that break rules", example["value"]),
                heading("Fields of a problem"),
                reply_fields(reader, reader.schema("Problem")),
                heading("Codes"),
                problem_codes(codes),
                heading("Codes of fields"),
                field_codes(faults),
            ),
        )

    def _retries(self) -> Section:
        section = self._topic("Retries and idempotency")
        key = self._reader.document["components"]["parameters"]["Idempotency-Key"]
        option = f'-H "{key["name"]}: $(uuidgen)"'
        shown = code_block("A new key for each new request, the same for its retries", text(option))
        return section._replace(body=join(section.body, shown))

    def _topic(self, title: str) -> Section:
        topic = self._reader.topics()[title]
        return Section(title.lower().replace(" ", "-"), title, paragraph(prose(topic.written)))


# ------------------------------------------------------------------------- small pages

_SMALL_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 42em; margin: 0 auto; padding: 10vh 20px; }
h1 { font-size: 1.5rem; line-height: 1.3; }
h2 { font-size: 1rem; margin: 1.6em 0 0; }
p { margin: 0.3em 0; }
code { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 0.92em; }
"""


class SmallPage(NamedTuple):
    """A page of a few sentences, in a style of its own."""

    title: str
    body: Markup

    @property
    def content_security_policy(self) -> str:
        """Allow the page's own style, by its hash, and nothing else."""
        return (
            f"default-src 'none'; style-src {hash_of(_SMALL_STYLE)}; img-src data:; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )

    @property
    def html(self) -> str:
        """The page, whole."""
        return _whole(self.title, _SMALL_STYLE, tag("body", self.body))


def problem_pages(document: Json) -> dict[str, SmallPage]:
    """Give a page for each code that a problem may have: where its `type` leads."""
    codes = Reader(document).schema("Problem")["properties"]["code"]["x-codes"]
    return {code: _problem_page(code, told) for code, told in codes.items()}


def _problem_page(code: str, told: Json) -> SmallPage:
    """Say what one code means, and what to do."""
    title, status = told["title"], told["status"]
    body = join(
        tag("h1", title),
        tag("p", "Code ", tag("code", code), f", HTTP status {status}."),
        heading("When"),
        tag("p", prose(told["when"])),
        heading("What to do"),
        tag("p", prose(told["remedy"])),
        heading("More"),
        # Seen from here: the service may stand below any prefix.
        tag("p", tag("a", "All codes", href=f"../../docs#code-{code}")),
        tag("p", tag("a", "Errors and retries, in the guide", href="../guide/errors.html")),
    )
    return SmallPage(f"{title} ({status})", body)


# ------------------------------------------------------------------------------- pieces


def _whole(title: str, style: str, body: Markup) -> str:
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("link", rel="icon", href="data:,"),
        tag("style", Markup(style)),
    )
    return str(join(Markup("<!DOCTYPE html>\n"), tag("html", head, body, lang="en"), "\n"))


def _contents(groups: dict[str, list[Section]]) -> Markup:
    entries = [
        join(tag("li", name, class_="group"), *map(_entry, sections))
        for name, sections in groups.items()
    ]
    # Open for whoever has no script; where the page is narrow, the script folds it.
    menu = tag("details", tag("summary", "Contents"), tag("ol", *entries), open="")
    return tag("nav", menu, aria_label="Contents")


def _entry(section: Section) -> Markup:
    called = _called(section.operation) if section.operation else ""
    return tag("li", tag("a", section.title, called, href=f"#{section.anchor}"))


def _called(operation: Told) -> Markup:
    """Give the method and the path, which may be broken before a slash and after an underscore."""
    pieces = _BREAKS.split(operation.path)
    path = join(pieces[0], *(join(tag("wbr"), piece) for piece in pieces[1:]))
    return tag("code", tag("b", operation.method), " ", path)


def _section(section: Section) -> Markup:
    return tag(
        "section",
        tag("h2", section.heading or section.title),
        section.body,
        id=section.anchor,
        class_="operation" if section.heading else None,
    )


def _title(operation: Told) -> Markup:
    return join(
        tag("span", operation.told["summary"], class_="say"),
        tag("span", operation.method, class_=f"method {operation.method.lower()}"),
        tag("code", operation.path),
    )


def _listed(names: list[str]) -> Markup:
    return join(tag("code", names[0]), *(join(", ", tag("code", name)) for name in names[1:]), ".")


def _chip(status: str, shown: str, href: str) -> Markup:
    return tag("li", tag("a", tag("b", status), " ", prose(shown), href=href))


def _content(reply: Json) -> Json:
    """Give the content of a reply, the first where there are more; nothing where it has none."""
    contents: list[Json] = list(reply.get("content", {}).values())
    return contents[0] if contents else {}


def hash_of(inline: str) -> str:
    """Name an inline script or style in a content security policy."""
    digest = hashlib.sha256(inline.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
