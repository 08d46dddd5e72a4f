"""The parts of a form (RFC 7578), of a body that is whole already."""

from __future__ import annotations

import re
from email.message import Message
from typing import Final, NamedTuple

from alama.platform.http.problems import InvalidFile, UnsupportedMediaType

PARTS_MAX: Final = 32
_HEAD_MAX: Final = 4_096
_NAME: Final = re.compile(r'\bname="([^"]{1,64})"', re.IGNORECASE)


class Part(NamedTuple):
    """One part: its name, and what it holds."""

    name: str
    content: bytes


def parts(content_type: bytes, body: bytes) -> list[Part]:
    """Take a form apart, or raise `InvalidFile`."""
    boundary = _boundary(content_type)
    if boundary is None:
        raise UnsupportedMediaType(
            "the body must be a form with the file, or transactions as JSON",
            hint="send Content-Type: multipart/form-data with a boundary, or application/json",
        )
    mark = b"--" + boundary
    pieces = (b"\r\n" + body).split(b"\r\n" + mark)
    if len(pieces) > PARTS_MAX + 2 or not pieces[-1].startswith(b"--"):
        raise InvalidFile("the form is not whole, or has too many parts")
    return [_part(piece) for piece in pieces[1:-1]]


def _boundary(content_type: bytes) -> bytes | None:
    told = Message()
    told["content-type"] = content_type.decode("latin-1")
    try:
        boundary = told.get_param("boundary")
    except (TypeError, ValueError):  # of parameters in pieces that do not fit (RFC 2231)
        return None
    is_form = told.get_content_type() == "multipart/form-data"
    return boundary.encode("latin-1", "replace") if is_form and isinstance(boundary, str) else None


def _part(piece: bytes) -> Part:
    head, found, content = piece.removeprefix(b"\r\n").partition(b"\r\n\r\n")
    name = _NAME.search(head.decode("utf-8", "replace")) if len(head) <= _HEAD_MAX else None
    if not found or name is None:
        raise InvalidFile("a part of the form has no name")
    return Part(name[1], content)
