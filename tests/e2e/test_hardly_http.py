"""What is hardly HTTP: it breaks nothing, and the next request is answered."""

import socket
from contextlib import suppress

import pytest

from tests.e2e.service import Service
from tests.ports import HOST

UPGRADE = (
    b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
)
HARDLY_HTTP = {
    "no UTF-8 in the path": b"GET /v1/%ff%fe HTTP/1.1\r\nHost: x\r\n\r\n",
    "no ASCII in the path": b"GET /v1/\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n",
    "no ASCII in the query": b"GET /v1/scores?\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    "half an address": b"GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n",
    "a WebSocket": b"GET /v1/health HTTP/1.1\r\nHost: x\r\n" + UPGRADE + b"\r\n\r\n",
    "an endless length": b"POST /v1/score HTTP/1.1\r\nContent-Length: " + b"9" * 23 + b"\r\n\r\n",
    "a negative length": b"POST /v1/score HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "a bad chunk": b"POST /v1/score HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    "a tunnel": b"CONNECT / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a tunnel with an offer": b"CONNECT / HTTP/1.1\r\nHost: x\r\n" + UPGRADE + b"\r\n\r\n",
    "half an address with an offer": b"GET http://[ HTTP/1.1\r\n" + UPGRADE + b"\r\n\r\n",
    "thousands of offers": (b"GET /livez HTTP/1.1\r\nHost: x\r\n" + UPGRADE + b"\r\n\r\n") * 1_500,
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}


def test_what_is_hardly_http_breaks_nothing(service: Service, subtests: pytest.Subtests) -> None:
    for name, head in HARDLY_HTTP.items():
        with subtests.test(name):
            with socket.create_connection((HOST, service.server.port), timeout=60) as connection:
                connection.sendall(head)
                with suppress(OSError):  # it may have been closed by now
                    connection.shutdown(socket.SHUT_WR)
                received = connection.recv(65_536)
            assert b" 500 " not in received.split(b"\r\n", 1)[0]
            assert service.score().status_code == 200
