"""The body of a request: JSON, not too large; or a file, part by part. Either may be gzip."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Final

from alama.core.errors import MalformedDocument
from alama.platform.http.compression import NAMES, NotGzip, unpacked
from alama.platform.http.exchange import BODY_MAX, Call
from alama.platform.http.problems import BodyTooLarge, InvalidFile, UnsupportedMediaType

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection


_JSON: Final = b"application/json"
_JSON_TYPES: Final = frozenset({_JSON, _JSON + b"; charset=utf-8"})


async def json_body(call: Call, bytes_max: int = BODY_MAX) -> bytes:
    """Read a body that is announced as JSON; whether it is one shows later."""
    content_type = call.headers.get(b"content-type", b"")
    if content_type not in _JSON_TYPES and not _is_json(content_type):
        raise _wrong_type(content_type)
    if _is_packed(call):
        body: bytes | None = await _unpacked_body(call, bytes_max)
    else:
        body = None if _is_announced_beyond(call, bytes_max) else await call.body(bytes_max)
    if body is None:
        raise BodyTooLarge(f"the body is larger than {bytes_max // 1024} KiB")
    return body.removeprefix(BOM_UTF8)


async def _unpacked_body(call: Call, bytes_max: int) -> bytes:
    too_large = BodyTooLarge(
        f"the body is larger than {bytes_max // 1024} KiB, packed or once it is unpacked"
    )
    try:
        return b"".join([piece async for piece in _pieces(call, bytes_max, too_large)])
    except NotGzip:
        raise MalformedDocument("is not gzip, as Content-Encoding says, or not whole") from None


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
    _is_packed(call)  # or refused before anything is read
    return media_type.strip()


async def file_parts(call: Call, part_bytes: int, bytes_max: int) -> AsyncIterator[bytes]:
    """Read a file in parts of equal length, but for the last; at most one is held at a time."""
    too_large = BodyTooLarge(
        f"the file is larger than {bytes_max >> 20} MiB",
        hint="send the newest loans, or have the operator of the service hand it in",
    )
    held = bytearray()
    try:
        async for piece in _pieces(call, bytes_max, too_large):
            held += piece
            while len(held) >= part_bytes:
                yield bytes(held[:part_bytes])
                del held[:part_bytes]
    except NotGzip:
        raise InvalidFile("the body is not gzip, as Content-Encoding says, or not whole") from None
    if held:
        yield bytes(held)


async def _pieces(call: Call, bytes_max: int, too_large: BodyTooLarge) -> AsyncIterator[bytes]:
    """Read a body as it comes, plain, or unpacked and then bounded before and after; `NotGzip`."""
    if _is_announced_beyond(call, bytes_max):
        raise too_large
    pieces = _at_most(bytes_max, call.pieces(), too_large)
    if _is_packed(call):
        pieces = _at_most(bytes_max, unpacked(pieces), too_large)
    async for piece in pieces:
        yield piece


async def _at_most(
    bytes_max: int, pieces: AsyncIterator[bytes], too_large: BodyTooLarge
) -> AsyncIterator[bytes]:
    length = 0
    async for piece in pieces:
        length += len(piece)
        if length > bytes_max:
            raise too_large
        yield piece


def _is_packed(call: Call) -> bool:
    """Say whether the body is gzip; anything but that or plain is refused."""
    said = call.headers.get(b"content-encoding")
    if said is None:
        return False
    coding = said.strip().lower()
    if coding in NAMES:
        return True
    if coding != b"identity":
        error = UnsupportedMediaType(
            "the body is packed in a way that is not known here",
            hint="send it plain, or as gzip with the header Content-Encoding: gzip",
        )
        error.codings = "gzip"
        raise error
    return False


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
