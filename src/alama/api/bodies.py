"""The body of a request: plain JSON, not too large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.api.exchange import BODY_MAX
from alama.api.problems import BodyTooLarge, UnsupportedMediaType

if TYPE_CHECKING:
    from alama.api.exchange import Call

_JSON: Final = b"application/json"
_JSON_TYPES: Final = frozenset({_JSON, _JSON + b"; charset=utf-8"})


async def json_body(call: Call) -> bytes:
    """Read a body that is announced as JSON; whether it is one shows later."""
    content_type = call.headers.get(b"content-type", b"")
    if content_type not in _JSON_TYPES and not _is_json(content_type):
        raise _wrong_type(content_type)
    if call.headers.get(b"content-encoding", b"identity") != b"identity":
        raise UnsupportedMediaType("the body must not be compressed")
    length = call.headers.get(b"content-length", b"0")
    announced_too_large = length.isdigit() and int(length) > BODY_MAX
    body = None if announced_too_large else await call.body()
    if body is None:
        raise BodyTooLarge(f"the body is larger than {BODY_MAX // 1024} KiB")
    return body


async def optional_json_body(call: Call) -> bytes:
    """Read a body that may be left out: none stands for an object without fields."""
    chunked = b"transfer-encoding" in call.headers
    if not chunked and call.headers.get(b"content-length", b"0") == b"0":
        return b"{}"
    return await json_body(call) or b"{}"


def _is_json(content_type: bytes) -> bool:
    media_type, _, parameters = content_type.lower().partition(b";")
    charset = parameters.strip().replace(b'"', b"")
    return media_type.strip() == _JSON and charset in {b"", b"charset=utf-8"}


def _wrong_type(content_type: bytes) -> UnsupportedMediaType:
    media_type = content_type.lower().partition(b";")[0].strip()
    if media_type == _JSON:
        return UnsupportedMediaType(
            "JSON is always UTF-8, and Content-Type says something else after application/json",
            hint="write the body in UTF-8 and send the header Content-Type: application/json",
        )
    return UnsupportedMediaType(
        "the body must be JSON", hint="send the header Content-Type: application/json"
    )
