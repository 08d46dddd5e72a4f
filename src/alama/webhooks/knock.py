"""A knock at a receiver's door: connected to as an event would be, and nothing is sent."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from alama.service.webhooks import addresses, urls
from alama.service.webhooks.reasons import SendError
from alama.webhooks import guard, names

if TYPE_CHECKING:
    from alama.service.webhooks.urls import Reach
    from alama.webhooks.names import Lookup

PATIENCE_S: Final = 5.0
"""For all of it: the name, the connection, TLS. Somebody is looking at a screen."""


async def knock(
    url: str,
    reach: Reach,
    lookup: Lookup = names.system_lookup,
    patience_s: float = PATIENCE_S,
) -> SendError | None:
    """Connect to the host of a URL through the guard, shake hands, and leave; None: all went well.

    Neither the path nor anything else that is in the URL leaves this machine but the name.
    """
    try:
        urls.check(url, reach)
    except urls.InvalidUrl:
        return SendError.URL_REFUSED
    parts = urlsplit(url)
    host, is_tls = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if is_tls else 80)
    try:
        async with asyncio.timeout(patience_s):
            found = await _addresses(host, lookup, patience_s)
            if found is None:
                return SendError.NAME_NOT_RESOLVED
            return await _first_that_answers(found, host, port, reach, is_tls=is_tls)
    except TimeoutError:
        return SendError.TIMEOUT


async def _addresses(host: str, lookup: Lookup, patience_s: float) -> list[str] | None:
    if addresses.parsed(host) is not None:
        return [host]
    try:
        found = await names.Names(lookup, patience_s).resolve(host)
    except OSError:
        return None
    return [one["host"] for one in found]


async def _first_that_answers(
    found: list[str], host: str, port: int, reach: Reach, *, is_tls: bool
) -> SendError | None:
    error: SendError | None = SendError.CONNECTION_FAILED
    for address in found:
        error = await _connect(address, host, port, reach, is_tls=is_tls)
        if error is None or error is SendError.TLS_FAILED:
            return error
    return error


async def _connect(
    address: str, host: str, port: int, reach: Reach, *, is_tls: bool
) -> SendError | None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    wanted = (family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))
    try:
        opened = guard.sockets(reach.allowed)(wanted)
    except guard.AddressForbidden:
        return SendError.ADDRESS_FORBIDDEN
    try:
        opened.setblocking(False)  # noqa: FBT003  as the system calls it
        await asyncio.get_running_loop().sock_connect(opened, (address, port))
        if is_tls:
            await _shake_hands(opened, host)
    except ssl.SSLError:
        return SendError.TLS_FAILED
    except TimeoutError:
        raise
    except OSError:
        return SendError.CONNECTION_FAILED
    finally:
        opened.close()
    return None


async def _shake_hands(opened: socket.socket, host: str) -> None:
    context = ssl.create_default_context()
    _, writer = await asyncio.open_connection(sock=opened, ssl=context, server_hostname=host)
    writer.transport.abort()  # they have heard enough
    with suppress(OSError):
        await writer.wait_closed()
