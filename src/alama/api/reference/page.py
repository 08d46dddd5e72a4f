"""The reference page, put together."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from alama.api.reference import script, style, tables
from alama.api.reference.curl import curl
from alama.api.reference.reader import Reader
from alama.api.reference.sent import sent
from alama.api.reference.text import code_block, command, json_block, paragraphs, prose
from alama.pages.markup import Markup, join, tag, text
from alama.pages.page import heading, note, paragraph, side_by_side, unfold
from alama.pages.style import SHEET

if TYPE_CHECKING:
    from alama.api.reference.reader import Told

Json = dict[str, Any]

STYLE: Final = SHEET + style.SHEET
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
        """Take the document; everything that the page says about the service is in it."""
        self._reader = Reader(document)

    @property
    def content_security_policy(self) -> str:
        """Allow the page's own style and script, by their hashes, and nothing else."""
        return (
            f"default-src 'none'; style-src {_hash(STYLE)}; script-src {_hash(script.SCRIPT)}; "
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
            tag("script", Markup(script.SCRIPT)),
        )
        html = tag("html", self._head(), body, lang="en")
        return str(join(Markup("<!DOCTYPE html>\n"), html, "\n"))

    def _head(self) -> Markup:
        return tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", f"{self._info['title']} API reference"),
            tag("link", rel="icon", href="data:,"),
            tag("style", Markup(STYLE)),
        )

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
        scores, webhooks, *others = [tag_["name"] for tag_ in reader.document["tags"]]
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
            webhooks: [
                *map(self._operation, reader.operations(webhooks)),
                Section("what-is-sent", "What is sent to an endpoint", sent(reader)),
            ],
            **{name: list(map(self._operation, reader.operations(name))) for name in others},
        }

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
            parts += [heading("Parameters"), tables.parameters(reader, told["parameters"])]
        _, success = operation.success
        if operation.anchor != MAIN:
            parts += self._takes(told) + self._gives(success)
        parts += [
            heading("Headers of the reply"),
            tables.headers(reader, success["headers"]),
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
            tables.reply_fields(self._reader, schema),
        ]

    def _gives(self, success: Json) -> list[Markup]:
        schema = self._reader.resolve(_content(success).get("schema", {}))
        if "properties" not in schema:
            return []
        return [
            heading("Fields of the reply"),
            note(prose(schema["description"])),
            tables.reply_fields(self._reader, schema),
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
                tables.request_fields(schema),
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
                tables.reply_fields(self._reader, schema),
                note("Optional fields come when ", tag("code", "expand"), " asks for them."),
                heading("Codes of rules"),
                tables.field_codes(rules),
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
                tables.field_codes(bound),
                heading("Codes of reasons"),
                note("Values stand where braces are. Every text is there in each language."),
                tables.reason_codes(reasons),
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
                tables.reply_fields(reader, reader.schema("Problem")),
                heading("Codes"),
                tables.problem_codes(codes),
                heading("Codes of fields"),
                tables.field_codes(faults),
            ),
        )

    def _retries(self) -> Section:
        section = self._topic("Retries and idempotency")
        key = self._reader.document["components"]["parameters"]["Idempotency-Key"]
        option = f"-H '{key['name']}: {key['example']}'"
        shown = code_block("A new key for each new request, the same for its retries", text(option))
        return section._replace(body=join(section.body, shown))

    def _topic(self, title: str) -> Section:
        topic = self._reader.topics()[title]
        return Section(title.lower().replace(" ", "-"), title, paragraph(prose(topic.written)))


# ------------------------------------------------------------------------------- pieces


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


def _hash(inline: str) -> str:
    digest = hashlib.sha256(inline.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
