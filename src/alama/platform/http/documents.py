"""This contract as documents: /openapi.json for machines, /docs and what is below for people."""

from __future__ import annotations

import asyncio
import hashlib
import json
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.platform.http import operation, problems
from alama.platform.http.compression import packed_once, varying
from alama.platform.http.exchange import JSON, Call, Headers, Reply
from alama.platform.http.operation import (
    HTML,
    Json,
    Operation,
    Schema,
    Success,
    path_parameter,
)
from alama.platform.http.problems import NoSuchPath
from alama.platform.http.reference import Reference, SmallPage, problem_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


# Asked for again each time, and answered by 304 until an upgrade brings another version.
REVALIDATE: Final = (b"cache-control", b"no-cache")

PARAMETERS: Final[dict[str, Json]] = {
    "If-None-Match": {
        "name": "If-None-Match",
        "in": "header",
        "description": "The `ETag` of what you have: the answer is 304 while it is the newest.",
        "schema": {"type": "string"},
    },
    "code": path_parameter(
        "code", "The `code` of the problem.", "^[a-z_]{1,40}$", "invalid_application"
    ),
}

_OF_UNCHANGED: Final = frozenset({b"cache-control", b"etag", b"vary"})
_UNCHANGED: Final = Success("It is still what you have.", None, headers=("ETag", "Cache-Control"))


def _document(description: str, schema: Schema, media_type: str) -> Mapping[int, Success]:
    headers = ("ETag", "Cache-Control")
    return {200: Success(description, schema, media_type, headers), 304: _UNCHANGED}


class DocumentEndpoints:
    """Answers without a key. A document is made when it is first asked for, and then kept."""

    def __init__(self, document: Callable[[], Json]) -> None:
        self._document = document

    @Operation(
        path="/openapi.json",
        method="GET",
        id="getOpenApi",
        tag="Documents",
        summary="Read this contract as OpenAPI 3.1",
        description="Generated from the types that decode requests and encode replies.",
        parameters=("If-None-Match",),
        replies=_document("The document.", {"type": "object"}, operation.JSON),
    )
    async def openapi(self, call: Call) -> Reply:
        published = await asyncio.to_thread(_openapi, self._document)
        return published.to(call)

    @Operation(
        path="/docs",
        method="GET",
        id="getReference",
        tag="Documents",
        summary="Read this contract as a page",
        description="One page that needs nothing from the internet.",
        parameters=("If-None-Match",),
        replies=_document("The page.", {"type": "string"}, HTML),
    )
    async def reference(self, call: Call) -> Reply:
        published = await asyncio.to_thread(_reference, self._document)
        return published.to(call)

    @Operation(
        path=f"{problems.PAGES}/{{code}}",
        method="GET",
        id="getProblemPage",
        tag="Documents",
        summary="Read what a problem means",
        description="A small page for each `code`: when it is given, and what to do. It is the "
        "`type` of the problem.",
        parameters=("code", "If-None-Match"),
        replies=_document("The page.", {"type": "string"}, HTML),
        refusals=(NoSuchPath,),
    )
    async def problem(self, call: Call) -> Reply:
        pages = await asyncio.to_thread(_problem_pages, self._document)
        code = call.path_part("code")
        if code not in pages:
            raise no_such_code()
        return pages[code].to(call)


def no_such_code() -> NoSuchPath:
    return NoSuchPath("no problem has this code", hint="/docs lists those that there are")


class Published(NamedTuple):
    """A document, ready to be sent, as it is or packed: anybody may ask for it, at any rate."""

    etag: bytes
    plain: Reply
    packed: Reply

    @classmethod
    def of(cls, body: bytes, headers: Headers) -> Published:
        """Make one ready."""
        etag = _etag(body)
        reply = Reply(200, varying([*headers, REVALIDATE, (b"etag", etag)]), body)
        return cls(etag, reply, packed_once(reply))

    def to(self, call: Call) -> Reply:
        """Answer a call; without the body where the caller has it already."""
        reply = self.packed if call.takes_gzip else self.plain
        names = call.headers.get(b"if-none-match", b"").split(b",")
        if {self.etag, b"*"} & {name.strip().removeprefix(b"W/") for name in names}:
            return Reply(304, [one for one in reply.headers if one[0] in _OF_UNCHANGED], b"")
        return reply


def encode(document: Json) -> bytes:
    """Give the document as JSON, indented for people who read it."""
    return json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"


@cache
def _openapi(document: Callable[[], Json]) -> Published:
    body = encode(document())
    # Any tool that runs in a browser may read it: there is nothing in it that is not public.
    return Published.of(body, [JSON, (b"access-control-allow-origin", b"*")])


@cache
def _reference(document: Callable[[], Json]) -> Published:
    return _page(Reference(json.loads(_openapi(document).plain.body)))


@cache
def _problem_pages(document: Callable[[], Json]) -> Mapping[str, Published]:
    pages = problem_pages(json.loads(_openapi(document).plain.body))
    return {code: _page(page) for code, page in pages.items()}


def _page(page: Reference | SmallPage) -> Published:
    return Published.of(page.html.encode(), page_headers(HTML, page.content_security_policy))


def page_headers(media_type: str, content_security_policy: str) -> Headers:
    """Give the headers of what a browser shows."""
    return [
        (b"content-type", media_type.encode()),
        (b"content-security-policy", content_security_policy.encode()),
        (b"referrer-policy", b"no-referrer"),
    ]


def _etag(body: bytes) -> bytes:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'.encode()
