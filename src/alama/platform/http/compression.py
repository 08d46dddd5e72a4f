"""gzip, both ways: bodies are unpacked while they are read, and long replies are packed.

A few bytes unpack to as many as somebody likes, so no more is unpacked than is wanted. A reply that
fits into a few packets is sent as it is: to pack a score would cost a tenth of what it costs to
give one.
"""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING, Final

from alama.platform.http.exchange import Call, Headers, Reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


NAMES: Final = frozenset({b"gzip", b"x-gzip"})
"""What headers call it (RFC 9110, section 8.4.1.3)."""

LONG_BYTES: Final = 4 * 1024
"""From here on a reply is packed for whoever takes it."""

_ASIDE_BYTES: Final = 32 * 1024
"""From here on packing takes a thread: in the event loop scores would wait for it."""

_AT_ONCE_BYTES: Final = 64 * 1024
_QUICK: Final = 1
_SMALLEST: Final = 9
_WITH_GZIP_HEADER: Final = 31

_VARY: Final = b"vary"
_TAKEN: Final = b"accept-encoding"
_CODING: Final = (b"content-encoding", b"gzip")


class NotGzip(Exception):
    """What came is not gzip, or ends before its end."""


async def unpacked(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Unpack what comes, little by little; `NotGzip`. Files that stand in a row are one."""
    unpacker = zlib.decompressobj(_WITH_GZIP_HEADER)
    try:
        async for piece in pieces:
            while piece:
                if unpacker.eof:
                    unpacker = zlib.decompressobj(_WITH_GZIP_HEADER)
                yield unpacker.decompress(piece, _AT_ONCE_BYTES)
                piece = unpacker.unconsumed_tail or unpacker.unused_data  # noqa: PLW2901  what is left
    except zlib.error:
        raise NotGzip from None
    if not unpacker.eof:
        raise NotGzip


async def packed_for(call: Call, reply: Reply) -> Reply:
    """Give a long reply as the caller takes it."""
    if _CODING in reply.headers:
        return reply
    reply = Reply(reply.status, varying(reply.headers), reply.body)
    if not call.takes_gzip:
        return reply
    if len(reply.body) < _ASIDE_BYTES:
        return _packed(reply, _QUICK)
    return await asyncio.to_thread(_packed, reply, _QUICK)


def packed_once(reply: Reply) -> Reply:
    """Pack a reply that many will get, as small as can be."""
    return _packed(reply, _SMALLEST)


def _packed(reply: Reply, level: int) -> Reply:
    headers = [_weakened(header) for header in reply.headers]
    body = zlib.compress(reply.body, level, _WITH_GZIP_HEADER)
    return Reply(reply.status, [*headers, _CODING], body)


def varying(headers: Headers) -> Headers:
    """Say beside all else that a reply depends on which codings its caller takes."""
    others = [(name, value) for name, value in headers if name != _VARY]
    depends = [value for name, value in headers if name == _VARY]
    if _TAKEN in depends:
        return headers
    return [*others, (_VARY, b", ".join([*depends, _TAKEN]))]


def _weakened(header: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """Have an ETag say that the content is the same, and the bytes are others."""
    name, value = header
    return (name, b"W/" + value) if name == b"etag" else header
