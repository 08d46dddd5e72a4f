"""The guard at the last door: no socket is made for an address that nothing may be sent to.

It sees what the system is about to connect to, after every name was resolved and every spelling
read. So it does not matter what a name stood for a moment ago, or how an address was written.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from alama.service.webhooks import addresses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiohttp import AddrInfoType, SocketFactoryType

    from alama.service.webhooks.addresses import Network


class AddressForbidden(OSError):
    """Nothing may be sent to this address."""

    def __init__(self) -> None:
        """Say always the same: aiohttp shows the reason of several addresses if it is one."""
        super().__init__("nothing may be sent to this address")


def sockets(allowed: Sequence[Network]) -> SocketFactoryType:
    """Make sockets as aiohttp asks for them, but none for an address that is not to be reached."""

    def guarded(wanted: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, (host, *_) = wanted
        address = addresses.parsed(host)
        # A name here would be resolved once more, by the system, where nobody looks.
        if address is None or addresses.forbidden(address, allowed) is not None:
            raise AddressForbidden
        return socket.socket(family, kind, protocol)

    return guarded
