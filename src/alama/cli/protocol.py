"""HTTP/1.1 as uvicorn speaks it, to callers who would rather speak something else, too.

Java's client offers to go on in HTTP/2 with its first request (`Upgrade: h2c`). A server may pass
over that (RFC 9110, section 7.8), but the parser takes everything after such a head for the other
protocol: the body would be lost. Here the head is read again without its offer.
"""

from __future__ import annotations

from typing import Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_OFFER: Final = b"upgrade"


class Protocol(HttpToolsProtocol):
    """One connection. A request that makes no offer costs as much as it did."""

    def data_received(self, data: bytes) -> None:
        """Parse what came; stands for the method of the same name, which drops bodies."""
        self._unset_keepalive_if_required()
        to_parse: list[bytes | memoryview] = [data]
        try:
            while to_parse:  # no recursion: one packet may hold thousands of offers
                to_parse += self._parse(to_parse.pop())
        except httptools.HttpParserError:
            message = "Invalid HTTP request received."
            self.logger.warning(message)
            self.send_400_response(message)

    def _parse(self, data: bytes | memoryview) -> list[bytes | memoryview]:
        """Parse; give what is to be parsed yet, the last part first."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as stopped:
            # The parser is at its start again. CONNECT stops it too, but makes no offer: whatever
            # comes after it is for nobody.
            if self._should_upgrade():
                (end,) = stopped.args
                return [memoryview(data)[end:], self._head_without_offer()]
        return []

    def _should_upgrade(self) -> bool:
        """Keep uvicorn from answering what will be read again."""
        return any(name == _OFFER for name, _ in self.headers)

    def _head_without_offer(self) -> bytes:
        version = self.parser.get_http_version().encode()
        kept = [name + b": " + value for name, value in self.headers if name != _OFFER]
        start = b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)
        return b"\r\n".join([start, *kept, b"", b""])
