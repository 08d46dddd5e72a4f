"""The sender: posts an event to a guarded address that nobody has reason to trust.

A receiver may be slow, endless, broken or malicious, and may try to have us speak to somebody else.
None of it costs more than a slot for `SEND_TIMEOUT_S` and some kilobytes: no redirect is followed,
no proxy of the environment used, no cookie kept, nothing unpacked, and nothing connected to that
the guard has not seen.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from alama.core.application import visible_lines
from alama.platform import addresses
from alama.webhooks import schedule
from alama.webhooks.records import DeliveryResult, SendError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from aiohttp import AddrInfoType, SocketFactoryType

    from alama.platform.addresses import Network, Reach
    from alama.platform.clock import Clock


class AddressForbidden(OSError):
    """Nothing may be sent to this address."""

    def __init__(self) -> None:
        # Always the same: aiohttp shows the reason of several addresses if it is one.
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


# ------------------------------------------------------------------------------- names

# A name server that does not answer holds whoever asks it for half a minute, and nothing in Python
# can call them back. So each name is asked for on a thread of its own, by one thread at a time, and
# each lender has so many of them: one whose names are all silent holds some sleeping threads, and
# nobody else's deliveries.

ADDRESSES_MAX: Final = 4
"""Of one name, in the order the system prefers: one with hundreds would have us try them all."""

UNDER_WAY_MAX: Final = 512
OF_LENDER_MAX: Final = 64
"""Names that are looked up at once, in all and for one lender: more than its endpoints can have.

A silent name is looked up for longer than anybody waits for it, also when it is no longer wanted.
"""

LOOKUP_TIMEOUT_S: Final = 10.0
"""For one name. Less than an attempt has, so that its result says that it was the name."""

_asking: ContextVar[str] = ContextVar("asking")

_NUMERIC: Final = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV

Lookup: TypeAlias = "Callable[[str], Sequence[str]]"
"""Gives the addresses that a name has now, or raises `OSError`. May take its time."""


def system_lookup(name: str) -> Sequence[str]:
    """Ask the system for the addresses of a name."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


@contextmanager
def on_behalf_of(lender: str) -> Iterator[None]:
    """Have names that are looked up within be those of a lender.

    aiohttp, which asks for them, has no argument for it.
    """
    before = _asking.set(lender)
    try:
        yield
    finally:
        _asking.reset(before)


class TooManyNames(OSError):
    """No more names can be looked up now, which says nothing of the one that was asked for."""

    def __init__(self) -> None:
        super().__init__("too many names are being looked up")


class _Asked(NamedTuple):
    """A name that is being looked up, for whom, and until when by the loop's clock they wait."""

    lender: str
    answer: Future[Sequence[str]]
    until_s: float


class Names(AbstractResolver):
    """Looks names up for aiohttp. Lives in one event loop."""

    def __init__(self, lookup: Lookup, timeout_s: float = LOOKUP_TIMEOUT_S) -> None:
        self._lookup = lookup  # called on many threads at once
        self._timeout_s = timeout_s
        self._under_way: dict[str, _Asked] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._addresses(host)
        if not found:  # aiohttp takes it for granted that there is one
            raise OSError("this name has no address")
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=family, proto=0, flags=_NUMERIC
            )
            for address in found[:ADDRESSES_MAX]
        ]

    async def close(self) -> None:
        """Wait for nobody: the threads end with their lookups, or with the process."""

    async def _addresses(self, name: str) -> Sequence[str]:
        """Wait for the lookup of a name that is under way, or begin one.

        Where one has been under way for too long already, this fails at once.
        """
        asked = self._under_way.get(name) or self._ask(name)
        try:
            async with asyncio.timeout_at(asked.until_s):
                return await asyncio.wrap_future(asked.answer)
        except TimeoutError:
            # Not a `TimeoutError` itself: aiohttp would not say that it was the name.
            raise OSError("the name server does not answer") from None

    def _ask(self, name: str) -> _Asked:
        lender = _asking.get("")
        # A copy: threads take theirs out meanwhile.
        others = [asked.lender for asked in list(self._under_way.values())]
        if len(others) >= UNDER_WAY_MAX or others.count(lender) >= OF_LENDER_MAX:
            raise TooManyNames
        answer: Future[Sequence[str]] = Future()
        answer.set_running_or_notify_cancel()  # from here on, who stops waiting ends it for nobody
        asked = _Asked(lender, answer, asyncio.get_running_loop().time() + self._timeout_s)
        self._under_way[name] = asked
        # A daemon: the process may end while a name server is silent.
        thread = threading.Thread(
            target=self._look_up, args=(name, answer), name="name", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # the system has none left
            del self._under_way[name]
            raise TooManyNames from None
        return asked

    def _look_up(self, name: str, answer: Future[Sequence[str]]) -> None:
        try:
            found = self._lookup(name)
        except Exception as error:  # noqa: BLE001  whatever it is, it is raised where it is awaited
            del self._under_way[name]
            answer.set_exception(error)
        else:
            del self._under_way[name]
            answer.set_result(found)


# ------------------------------------------------------------------------------- sending


SEND_TIMEOUT_S: Final = 15.0
"""For all of an attempt: the name, the connection, TLS, and the answer."""

BODY_TIMEOUT_S: Final = 1.0
"""For the body of an answer, once its status has come: the status is what counts."""

READ_BYTES_MAX: Final = 64 * 1024
KEPT_BYTES_MAX: Final = 4 * 1024
"""Of the body of an answer: so much is read, and so much of that kept."""

IDLE_S: Final = 2.0
"""How long a connection waits for the next event.

Less than servers do, most of which wait for five seconds or more: one that closes it while the next
event is on its way would have failed an attempt for nothing.
"""


class Sender:
    """Sends events, many at once, over connections that it keeps. Made inside a running loop."""

    def __init__(
        self,
        reach: Reach,
        clock: Clock,
        lookup: Lookup = system_lookup,
        timeout_s: float = SEND_TIMEOUT_S,
    ) -> None:
        self._reach = reach
        self._clock = clock
        self._timeout_s = timeout_s
        self._names = Names(lookup)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=ssl.create_default_context(),
                resolver=self._names,
                use_dns_cache=False,  # who changes a name wants the next event to go there
                socket_factory=sockets(reach.allowed),
                limit=0,  # whoever sends knows how many at once
                keepalive_timeout=IDLE_S,
            ),
            timeout=aiohttp.ClientTimeout(total=None),  # ours is for all of it, and to the moment
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )

    async def close(self) -> None:
        """Close every connection. Whatever is being sent fails."""
        await self._session.close()
        await self._names.close()

    async def send(
        self, url: str, headers: Mapping[str, str], body: bytes, lender: str
    ) -> DeliveryResult:
        """Post a body, once, and say what came of it: a failure is a result, never raised.

        It is the lender's who wants it there.
        """
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        until_s = began_s + self._timeout_s
        try:
            # Once more: the operator may have become stricter since it was entered.
            addresses.check(url, self._reach)
            with on_behalf_of(lender):
                async with asyncio.timeout_at(until_s):
                    reply = await self._session.post(
                        URL(url, encoded=True),
                        data=body,
                        headers={**headers, "accept-encoding": "identity"},
                        allow_redirects=False,
                    )
        except (addresses.InvalidUrl, aiohttp.ClientError, OSError) as failure:
            return DeliveryResult(None, _code(failure), "", _ms(loop.time() - began_s))
        try:
            text = await _beginning(reply, min(until_s, loop.time() + BODY_TIMEOUT_S))
        finally:
            # One that was read to its end has left its connection to the next event by now.
            reply.close()
        asked = reply.headers.get("retry-after", "")
        return DeliveryResult(
            reply.status,
            None,
            text,
            _ms(loop.time() - began_s),
            schedule.retry_after_s(asked, self._clock()),
        )


async def _beginning(reply: aiohttp.ClientResponse, until_s: float) -> str:
    """Read what a receiver says, but not for long, not much, and nothing that must be unpacked."""
    said = bytearray()
    # Whatever goes wrong from here on, the receiver has taken the event or has not: it said so.
    with suppress(aiohttp.ClientError, OSError):
        async with asyncio.timeout_at(until_s):
            while len(said) < READ_BYTES_MAX and (part := await reply.content.readany()):
                said += part
    if reply.headers.get("content-encoding", "identity") != "identity":
        return ""
    return visible_lines(said[:KEPT_BYTES_MAX].decode("utf-8", "ignore"))


def _code(failure: Exception) -> SendError:  # noqa: PLR0911 - one return for each code there is
    match failure:
        case TimeoutError():
            return SendError.TIMEOUT
        case addresses.InvalidUrl() | aiohttp.InvalidURL():
            return SendError.URL_REFUSED
        case aiohttp.ClientConnectorDNSError(os_error=TooManyNames()):
            return SendError.NAMES_BUSY
        case aiohttp.ClientConnectorDNSError():
            return SendError.NAME_NOT_RESOLVED
        case aiohttp.ClientSSLError():
            return SendError.TLS_FAILED
        case aiohttp.ClientConnectorError(os_error=AddressForbidden()):
            return SendError.ADDRESS_FORBIDDEN
        case aiohttp.ClientConnectorError():
            return SendError.CONNECTION_FAILED
        case aiohttp.ClientConnectionError() | OSError():
            return SendError.CONNECTION_LOST
        case _:
            return SendError.MALFORMED_ANSWER


def _ms(seconds: float) -> int:
    return round(seconds * 1_000)


# ------------------------------------------------------------------------------- probing


PROBE_TIMEOUT_S: Final = 5.0
"""For all of it: the name, the connection, TLS. Somebody is looking at a screen."""


async def probe(
    url: str,
    reach: Reach,
    lookup: Lookup = system_lookup,
    timeout_s: float = PROBE_TIMEOUT_S,
) -> SendError | None:
    """Connect to the host of a URL through the guard, shake hands, and leave; None: all went well.

    Neither the path nor anything else that is in the URL leaves this machine but the name.
    """
    try:
        addresses.check(url, reach)
    except addresses.InvalidUrl:
        return SendError.URL_REFUSED
    parts = urlsplit(url)
    host, is_tls = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if is_tls else 80)
    try:
        async with asyncio.timeout(timeout_s):
            found = await _addresses(host, lookup, timeout_s)
            if found is None:
                return SendError.NAME_NOT_RESOLVED
            return await _first_that_answers(found, host, port, reach, is_tls=is_tls)
    except TimeoutError:
        return SendError.TIMEOUT


async def _addresses(host: str, lookup: Lookup, timeout_s: float) -> list[str] | None:
    if addresses.parsed(host) is not None:
        return [host]
    try:
        found = await Names(lookup, timeout_s).resolve(host)
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
        opened = sockets(reach.allowed)(wanted)
    except AddressForbidden:
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
