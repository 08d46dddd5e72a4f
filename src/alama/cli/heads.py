"""What is refused in the head of a request: whatever two programs might read in two ways."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from alama.api.problems import HeadTooLarge, MalformedHttp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Headers = list[tuple[bytes, bytes]]

SINGLE: Final = frozenset(
    {
        b"authorization",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"host",
        b"transfer-encoding",
    }
)
"""Headers that stand for nothing if they come twice: two programs might take another of them."""

CODING: Final = b"transfer-encoding"
OFFER: Final = b"upgrade"

_CURRENT: Final = "1.1"


def check(headers: Sequence[tuple[bytes, bytes]], version: str) -> Mapping[bytes, bytes]:
    """Give the headers by their names, in lower case, or raise `MalformedHttp`."""
    names = dict(headers)
    if len(names) != len(headers):
        _require_single(headers)
    if version != _CURRENT:
        if is_offered(headers):
            raise MalformedHttp("HTTP/1.0 has no upgrade to another protocol")
    elif b"host" not in names:
        raise MalformedHttp("the header host is missing")
    # What else a body may be coded in, nobody here undoes.
    if CODING in names and (names[CODING].strip().lower() != b"chunked" or version != _CURRENT):
        raise MalformedHttp("the header transfer-encoding is not chunked, or not for HTTP/1.0")
    return names


def check_number(headers: Sequence[tuple[bytes, bytes]], most: int) -> None:
    """Raise `HeadTooLarge` where there are too many, of a head that may not be whole yet."""
    if len(headers) > most:
        raise HeadTooLarge(f"a request has at most {most} headers")


def is_offered(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Say whether a caller would go on in another protocol, or says that it would."""
    return any(
        name == OFFER or (name == b"connection" and OFFER in value.lower())
        for name, value in headers
    )


def _require_single(headers: Sequence[tuple[bytes, bytes]]) -> None:
    counts = Counter(name for name, _ in headers)
    twice = sorted(name for name in SINGLE if counts[name] > 1)
    if twice:
        raise MalformedHttp(f"the header {twice[0].decode()} came more than once")


class NoTrailers(Headers):
    """Stands where the parser puts trailers: what reads them as headers takes a key from there."""

    def append(self, _: tuple[bytes, bytes]) -> None:
        """Refuse them."""
        raise MalformedHttp("headers after the body are not taken")
