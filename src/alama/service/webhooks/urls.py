"""Addresses of receivers: what may be one, told at once to whoever enters it.

These rules spare people surprises. What keeps the service from connecting to where it should not is
the guard of the sender, which sees the address that a name has at that moment.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from alama.core.errors import AlamaError
from alama.service.webhooks import addresses

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from alama.service.webhooks.addresses import Network

LENGTH_MAX: Final = 2_048

_ASCII: Final = re.compile(r"[!-~]*")
_AUTHORITY: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:]+)(:[0-9]+)?", re.IGNORECASE)
_LABEL: Final = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?")
_NAME_LENGTH_MAX: Final = 253
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOOPBACK_NAME: Final = re.compile(r"(.*\.)?localhost\.?")


class Reach(NamedTuple):
    """Where events may be sent, as the operator has set it, beyond the public internet over TLS."""

    allowed: tuple[Network, ...] = ()
    schemes: tuple[str, ...] = ("https",)


DEVELOPMENT: Final = Reach(addresses.LOOPBACK, ("https", "http"))
"""On a developer's machine: the receiver is there too, and has no certificate."""


class InvalidUrl(AlamaError):
    """An address that events cannot be sent to. It is not part of the message.

    `code` names the rule, in a word.
    """

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        """Name the rule that it breaks."""
        super().__init__(message, hint=hint)
        self.code = code


def check(url: str, reach: Reach) -> None:
    """Raise `InvalidUrl` for what no event can be sent to."""
    if len(url) > LENGTH_MAX:
        raise InvalidUrl("too_long", f"a URL has at most {LENGTH_MAX:,} characters")
    if _ASCII.fullmatch(url) is None or "\\" in url:
        raise InvalidUrl(
            "malformed",
            "a URL is ASCII without spaces or backslashes",
            hint="write an international name as xn--..., and other characters as %XX",
        )
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InvalidUrl("malformed", "this cannot be read as a URL") from None
    if parts.scheme not in reach.schemes:
        raise InvalidUrl(
            "scheme",
            f"a URL begins with {':// or '.join(reach.schemes)}://",
            hint="http:// is for a developer's machine: whoever runs the service sets "
            "ALAMA_DEVELOPMENT=yes there"
            if parts.scheme == "http"
            else None,
        )
    if parts.username is not None or parts.password is not None:
        raise InvalidUrl(
            "credentials",
            "a URL has no user and no password in it",
            hint="the receiver knows who sends by the signature",
        )
    if "#" in url:
        raise InvalidUrl("fragment", "a URL has no fragment: nothing after # is ever sent")
    _check_port(parts)
    _check_host(parts, reach)


def normal(url: str) -> str:
    """Give a URL as it is kept: its scheme, which may be written in any case, in small letters."""
    scheme, colon, rest = url.partition(":")
    return f"{scheme.lower()}{colon}{rest}"


def _check_port(parts: SplitResult) -> None:
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise InvalidUrl("port", "a port is a number from 1 to 65535")


def _check_host(parts: SplitResult, reach: Reach) -> None:
    host = parts.hostname or ""
    if _AUTHORITY.fullmatch(parts.netloc) is None:
        raise InvalidUrl("host", "a URL names a host, with a port or without")
    if "[" in parts.netloc:
        _check_literal(host, reach)
    elif len(host) > _NAME_LENGTH_MAX or _NAME.fullmatch(host) is None:
        raise InvalidUrl(
            "host",
            "the name of a host has letters, digits, hyphens and dots",
            hint="no part of it is empty or longer than 63 characters, or begins or ends with a "
            "hyphen",
        )
    elif _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        # A name never ends in a number: systems take it for an address in an old spelling, such
        # as 127.1, 0x7f000001 or 0177.0.0.1, and do not agree on which.
        _check_literal(host, reach)
    elif _LOOPBACK_NAME.fullmatch(host):
        _check_literal("127.0.0.1", reach)


def _check_literal(host: str, reach: Reach) -> None:
    address = addresses.parsed(host)
    if address is None:
        raise InvalidUrl(
            "host",
            "a URL names a host, or an address in its usual spelling",
            hint="203.0.113.9 or [2001:db8::9], without a zone",
        )
    what = addresses.forbidden(address, reach.allowed)
    if what is not None:
        raise InvalidUrl(
            "address",
            f"events are not sent to an address that is {what}",
            hint=None
            if addresses.is_sensitive(address)
            else "whoever runs the service can allow a network with ALAMA_WEBHOOK_ALLOW",
        )
