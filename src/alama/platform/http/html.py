"""Pages for people, where the same path has JSON for programs: who asks for HTML gets it."""

from __future__ import annotations

from typing import Final

from alama.platform.http.exchange import PRIVATE, Call, Headers, Reply
from alama.platform.http.operation import HTML

VARIES: Final = (b"vary", b"accept")

_ONLY_ITSELF: Final = (
    b"default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    b"form-action 'none'; frame-ancestors 'none'"
)
_PAGE: Final = [
    (b"content-type", HTML.encode()),
    (b"content-security-policy", _ONLY_ITSELF),
    (b"referrer-policy", b"no-referrer"),
]


def wants_page(call: Call) -> bool:
    """Say whether the caller would rather have a page."""
    return b"text/html" in call.headers.get(b"accept", b"")


def private_page(page: bytes, headers: Headers) -> Reply:
    """Give a page that needs nothing from elsewhere, and that nobody on the way may keep."""
    return Reply(200, [*_PAGE, PRIVATE, VARIES, *headers], page)
