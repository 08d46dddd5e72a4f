"""The sender: posts an event to a receiver that nobody has reason to trust, and tells the outcome.

A receiver may be slow, endless, broken or malicious, and may try to have us speak to somebody else.
None of it costs more than a place for `PATIENCE_S` and some kilobytes: no redirect is followed, no
proxy of the environment used, no cookie kept, nothing unpacked, and nothing connected to that the
guard has not seen.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import aiohttp
from yarl import URL

from alama.core.characters import visible_lines
from alama.service.webhooks import schedule, urls
from alama.service.webhooks.reasons import SendError
from alama.webhooks import guard, names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.service.ports import Clock
    from alama.service.webhooks.urls import Reach
    from alama.webhooks.names import Lookup

PATIENCE_S: Final = 15.0
"""For all of an attempt: the name, the connection, TLS, and the answer."""

BODY_PATIENCE_S: Final = 1.0
"""For the body of an answer, once its status has come: the status is what counts."""

READ_BYTES_MAX: Final = 64 * 1024
KEPT_BYTES_MAX: Final = 4 * 1024
"""Of the body of an answer: so much is read, and so much of that kept."""

IDLE_S: Final = 2.0
"""How long a connection waits for the next event.

Less than servers do, most of which wait for five seconds or more: one that closes it while the next
event is on its way would have failed an attempt for nothing.
"""


class Outcome(NamedTuple):
    """What came of an attempt: a status, or else the code of what went wrong.

    `text` is the beginning of what the receiver said, at most `KEPT_BYTES_MAX` in UTF-8, fit to
    be shown. `retry_after_s` is how long it asks to be left alone.
    """

    status: int | None
    error: SendError | None
    text: str
    took_ms: int
    retry_after_s: int | None = None


class Sender:
    """Sends events, many at once, over connections that it keeps. Made inside a running loop."""

    def __init__(
        self,
        reach: Reach,
        clock: Clock,
        lookup: Lookup = names.system_lookup,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """Take what may be reached, the time, and how names are looked up."""
        self._reach = reach
        self._clock = clock
        self._patience_s = patience_s
        self._names = names.Names(lookup)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=ssl.create_default_context(),
                resolver=self._names,
                use_dns_cache=False,  # who changes a name wants the next event to go there
                socket_factory=guard.sockets(reach.allowed),
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

    async def send(self, url: str, headers: Mapping[str, str], body: bytes, lender: str) -> Outcome:
        """Post a body, once, and say what came of it: a failure is an outcome, never raised.

        It is the lender's who wants it there.
        """
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        until_s = began_s + self._patience_s
        try:
            # Once more: the operator may have become stricter since it was entered.
            urls.check(url, self._reach)
            with names.on_behalf_of(lender):
                async with asyncio.timeout_at(until_s):
                    reply = await self._session.post(
                        URL(url, encoded=True),
                        data=body,
                        headers={**headers, "accept-encoding": "identity"},
                        allow_redirects=False,
                    )
        except (urls.InvalidUrl, aiohttp.ClientError, OSError) as failure:
            return Outcome(None, _code(failure), "", _ms(loop.time() - began_s))
        try:
            text = await _beginning(reply, min(until_s, loop.time() + BODY_PATIENCE_S))
        finally:
            # One that was read to its end has left its connection to the next event by now.
            reply.close()
        asked = reply.headers.get("retry-after", "")
        return Outcome(
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
        case urls.InvalidUrl() | aiohttp.InvalidURL():
            return SendError.URL_REFUSED
        case aiohttp.ClientConnectorDNSError(os_error=names.TooManyNames()):
            return SendError.NAMES_BUSY
        case aiohttp.ClientConnectorDNSError():
            return SendError.NAME_NOT_RESOLVED
        case aiohttp.ClientSSLError():
            return SendError.TLS_FAILED
        case aiohttp.ClientConnectorError(os_error=guard.AddressForbidden()):
            return SendError.ADDRESS_FORBIDDEN
        case aiohttp.ClientConnectorError():
            return SendError.CONNECTION_FAILED
        case aiohttp.ClientConnectionError() | OSError():
            return SendError.CONNECTION_LOST
        case _:
            return SendError.MALFORMED_ANSWER


def _ms(seconds: float) -> int:
    return round(seconds * 1_000)
