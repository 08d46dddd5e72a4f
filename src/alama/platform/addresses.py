"""Addresses that events may be sent to: the public internet, and what an operator allows.

A lender names the receiver, and the service is the one that connects: inside the network of whoever
runs it, where databases, consoles and the metadata of a cloud answer to anyone. So everything that
is not plainly public is refused. The ranges are written down, from IANA's registries of
special-purpose addresses: `ipaddress.is_global` holds multicast, NAT64 and others for public, and
what it says depends on the version of Python.
"""

from __future__ import annotations

import re
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_interface,
    ip_network,
)
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from alama.core.errors import AlamaError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from urllib.parse import SplitResult


Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

LOOPBACK: Final[tuple[Network, ...]] = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))

SPECIAL_V4: Final = tuple(
    (IPv4Network(network), what)
    for network, what in (
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by a carrier or a cloud"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "the platform of a cloud"),  # Azure's: public to look at, but local
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "of a protocol"),
        ("192.0.2.0/24", "for documentation"),
        ("192.31.196.0/24", "of a protocol"),
        ("192.52.193.0/24", "of a protocol"),
        ("192.88.99.0/24", "of a protocol"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "of a protocol"),
        ("198.18.0.0/15", "for benchmarks"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved, or broadcast"),
    )
)

SPECIAL_V6: Final = tuple(
    (IPv6Network(network), what)
    for network, what in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("64:ff9b::/96", "translated to IPv4"),
        ("64:ff9b:1::/48", "translated to IPv4"),
        ("2001::/32", "a tunnel"),
        ("2001::/23", "of a protocol"),
        ("2001:db8::/32", "for documentation"),
        ("2002::/16", "a tunnel"),
        ("2620:4f:8000::/48", "of a protocol"),
        ("3fff::/20", "for documentation"),
        ("5f00::/16", "of a protocol"),
        ("fd00:ec2::254/128", "the platform of a cloud"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
    )
)

NEVER_IN_PASSING: Final[tuple[Network, ...]] = (
    IPv4Network("100.100.100.200/32"),
    IPv4Network("168.63.129.16/32"),
    IPv4Network("169.254.0.0/16"),
    IPv4Network("192.0.0.192/32"),
    IPv6Network("fd00:ec2::254/128"),
    IPv6Network("fe80::/10"),
)
"""Where a cloud hands its machines their credentials, and what is link-local with it.

Whoever allows a larger network, such as 0.0.0.0/0 or fd00::/8, does not think of these: only a
network inside one of them opens it.
"""

GLOBAL_UNICAST_V6: Final = IPv6Network("2000::/3")
"""All that has been given out: the rest is special, or nobody's yet."""

_COMPATIBLE: Final = IPv6Network("::/96")
_NOT_COMPATIBLE: Final = IPv6Network("::/127")  # unspecified, and loopback
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
_LAST_32_BITS: Final = 0xFFFF_FFFF


class PartOfNetwork(ValueError):
    """An address with the length of its network behind it, which says neither of the two."""


def networks(text: str) -> tuple[Network, ...]:
    """Read networks or single addresses, separated by commas; `ValueError` if one is neither.

    `PartOfNetwork`, with words for people, if it may be meant as either.
    """
    return tuple(_network(part.strip()) for part in text.split(","))


def forbidden(address: Address, allowed: Sequence[Network]) -> str | None:
    """Say what kind of address this is, if nothing may be sent to it; None: it may.

    One that leads to another, through a tunnel or a translator, is forbidden if either is.
    """
    for each in _reached(address):
        what = _special(each)
        if what is not None and not _is_allowed(each, allowed):
            return what
    return None


def is_sensitive(address: Address) -> bool:
    """Say whether this is, or leads to, what is opened by a network inside its range alone."""
    return any(each in network for each in _reached(address) for network in NEVER_IN_PASSING)


def parsed(text: str) -> Address | None:
    """Read an address as a system call knows it, a zone after it or not; None: it is no address."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _network(text: str) -> Network:
    either = ip_interface(text)
    if either.ip != either.network.network_address:
        raise PartOfNetwork(
            f"{text} is neither a network nor an address; write {either.network} for the network, "
            f"or {either.ip} for the one address"
        )
    return ip_network(text)


def _is_allowed(address: Address, allowed: Sequence[Network]) -> bool:
    # Of two networks that hold one address, that with the longer prefix lies inside the other.
    holding = (network.prefixlen for network in NEVER_IN_PASSING if address in network)
    length_min = next(holding, 0)
    return any(address in network and network.prefixlen >= length_min for network in allowed)


def _reached(address: Address) -> tuple[Address, ...]:
    """Give every address that packets to this one may end at."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        # Only another spelling: the system connects to that address, over IPv4.
        return (address.ipv4_mapped,)
    return (address, *_led_to(address))


def _special(address: Address) -> str | None:
    if isinstance(address, IPv4Address):
        return next((what for network, what in SPECIAL_V4 if address in network), None)
    beyond = None if address in GLOBAL_UNICAST_V6 else "not given to anybody"
    return next((what for network, what in SPECIAL_V6 if address in network), beyond)


def _led_to(address: Address) -> tuple[IPv4Address, ...]:
    """Give the IPv4 addresses behind a tunnel or a translator."""
    if isinstance(address, IPv4Address):
        return ()
    if address.teredo is not None:
        return address.teredo
    if address.sixtofour is not None:
        return (address.sixtofour,)
    compatible = address in _COMPATIBLE and address not in _NOT_COMPATIBLE
    if compatible or address in _TRANSLATED:
        return (IPv4Address(int(address) & _LAST_32_BITS),)
    return ()


# ------------------------------------------------------------------------------- URLs

# These rules spare people surprises. What keeps the service from connecting to where it should not
# is the guard of the sender, which sees the address that a name has at that moment.

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


DEVELOPMENT: Final = Reach(LOOPBACK, ("https", "http"))
"""On a developer's machine: the receiver is there too, and has no certificate."""


class InvalidUrl(AlamaError):
    """An address that events cannot be sent to. It is not part of the message.

    `code` names the rule, in a word.
    """

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
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
    address = parsed(host)
    if address is None:
        raise InvalidUrl(
            "host",
            "a URL names a host, or an address in its usual spelling",
            hint="203.0.113.9 or [2001:db8::9], without a zone",
        )
    what = forbidden(address, reach.allowed)
    if what is not None:
        raise InvalidUrl(
            "address",
            f"events are not sent to an address that is {what}",
            hint=None
            if is_sensitive(address)
            else "whoever runs the service can allow a network with ALAMA_WEBHOOK_ALLOW",
        )
