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
    told = Message()
    told["content-type"] = content_type.decode("latin-1")
    boundary = told.get_param("boundary")
    if told.get_content_type() != "multipart/form-data" or not isinstance(boundary, str):
        raise UnsupportedMediaType(
            "the body must be a form with the file, or transactions as JSON",
            hint="send Content-Type: multipart/form-data with a boundary, or application/json",
        )
    mark = b"--" + boundary.encode("latin-1")
    pieces = (b"\r\n" + body).split(b"\r\n" + mark)
    if len(pieces) > PARTS_MAX + 2 or not pieces[-1].startswith(b"--"):
        raise InvalidFile("the form is not whole, or has too many parts")
    return [_part(piece) for piece in pieces[1:-1]]


def _part(piece: bytes) -> Part:
    head, found, content = piece.removeprefix(b"\r\n").partition(b"\r\n\r\n")
    name = _NAME.search(head.decode("utf-8", "replace")) if len(head) <= _HEAD_MAX else None
    if not found or name is None:
        raise InvalidFile("a part of the form has no name")
    return Part(name[1], content)
