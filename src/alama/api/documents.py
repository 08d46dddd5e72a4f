"""The contract served: /openapi.json for machines and /docs for people, both without a key."""

from __future__ import annotations

import asyncio
import hashlib
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.api import openapi
from alama.api.exchange import JSON, Reply
from alama.api.operation import HTML
from alama.api.reference.page import Reference

if TYPE_CHECKING:
    from alama.api.exchange import Call, Headers

# Asked for again each time, and answered by 304 until an upgrade brings another version.
REVALIDATE: Final = (b"cache-control", b"no-cache")


class Published(NamedTuple):
    """A document, ready to be sent."""

    etag: bytes
    headers: Headers
    body: bytes

    def to(self, call: Call) -> Reply:
        """Answer a call; without the body where the caller has it already."""
        names = call.headers.get(b"if-none-match", b"").split(b",")
        if {self.etag, b"*"} & {name.strip().removeprefix(b"W/") for name in names}:
            return Reply(304, [REVALIDATE, (b"etag", self.etag)], b"")
        return Reply(200, [*self.headers, REVALIDATE, (b"etag", self.etag)], self.body)


class DocumentEndpoints:
    """Answers without a key. A document is made when it is first asked for, and then kept."""

    async def front(self, _: Call) -> Reply:
        """GET /: where people come first. No part of the contract: a program asks for /docs."""
        # Seen from where one is: the service may stand below any prefix.
        return Reply(302, [(b"location", b"docs")], b"")

    async def openapi(self, call: Call) -> Reply:
        """GET /openapi.json: the contract for machines."""
        published = await asyncio.to_thread(_openapi)
        return published.to(call)

    async def reference(self, call: Call) -> Reply:
        """GET /docs: the contract for people."""
        published = await asyncio.to_thread(_reference)
        return published.to(call)


@cache
def _openapi() -> Published:
    body = openapi.encoded()
    # Any tool that runs in a browser may read it: there is nothing in it that is not public.
    return Published(_etag(body), [JSON, (b"access-control-allow-origin", b"*")], body)


@cache
def _reference() -> Published:
    page = Reference(openapi.document())
    body = page.html.encode()
    headers = [
        (b"content-type", HTML.encode()),
        (b"content-security-policy", page.content_security_policy.encode()),
        (b"referrer-policy", b"no-referrer"),
    ]
    return Published(_etag(body), headers, body)


def _etag(body: bytes) -> bytes:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'.encode()
