"""The body of a request: plain JSON, not too large; or a file, part by part."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Final

from alama.platform.http.exchange import BODY_MAX, Call
from alama.platform.http.problems import BodyTooLarge, UnsupportedMediaType

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection


_JSON: Final = b"application/json"
_JSON_TYPES: Final = frozenset({_JSON, _JSON + b"; charset=utf-8"})


async def json_body(call: Call, bytes_max: int = BODY_MAX) -> bytes:
    """Read a body that is announced as JSON; whether it is one shows later."""
    content_type = call.headers.get(b"content-type", b"")
    if content_type not in _JSON_TYPES and not _is_json(content_type):
        raise _wrong_type(content_type)
    _refuse_compressed(call)
    body = None if _is_announced_beyond(call, bytes_max) else await call.body(bytes_max)
    if body is None:
        raise BodyTooLarge(f"the body is larger than {bytes_max // 1024} KiB")
    return body.removeprefix(BOM_UTF8)


async def optional_json_body(call: Call) -> bytes:
    """Read a body that may be left out: none stands for an object without fields."""
    chunked = b"transfer-encoding" in call.headers
    if not chunked and call.headers.get(b"content-length", b"0") == b"0":
        return b"{}"
    return await json_body(call) or b"{}"


def file_type(call: Call, known: Collection[str]) -> str:
    """Give the media type of a body that is a file of one of these types."""
    content_type = call.headers.get(b"content-type", b"").decode("latin-1").lower()
    media_type, _, rest = content_type.partition(";")
    # CSV may say that it is UTF-8 and has a header; it is read as that anyway.
    said = {part.strip().replace('"', "") for part in rest.split(";")}
    if media_type.strip() not in known or not said <= {"", "charset=utf-8", "header=present"}:
        raise UnsupportedMediaType(
            "the body must be the file itself",
            hint=f"send the header Content-Type: {' or '.join(known)}",
        )
    _refuse_compressed(call)
    return media_type.strip()


async def file_parts(call: Call, part_bytes: int, bytes_max: int) -> AsyncIterator[bytes]:
    """Read a file in parts of equal length, but for the last; at most one is held at a time."""
    too_large = BodyTooLarge(
        f"the file is larger than {bytes_max >> 20} MiB",
        hint="send the newest loans, or have the operator of the service hand it in",
    )
    if _is_announced_beyond(call, bytes_max):
        raise too_large
    held, length = bytearray(), 0
    async for piece in call.pieces():
        length += len(piece)
        if length > bytes_max:
            raise too_large
        held += piece
        while len(held) >= part_bytes:
            yield bytes(held[:part_bytes])
            del held[:part_bytes]
    if held:
        yield bytes(held)


def _refuse_compressed(call: Call) -> None:
    if call.headers.get(b"content-encoding", b"identity") != b"identity":
        raise UnsupportedMediaType(
            "the body must not be compressed",
            hint="leave out the header Content-Encoding; a gzip file of CSV is sent as it is",
        )


def _is_announced_beyond(call: Call, bytes_max: int) -> bool:
    length = call.headers.get(b"content-length", b"0")
    return length.isdigit() and int(length) > bytes_max


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
