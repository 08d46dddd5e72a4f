"""What stands in front of a service, good and bad: real servers on this machine."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, Self

NAME = "localhost"


class Said(NamedTuple):
    """What is answered to a path."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}


class Standing:
    """A proxy that answers as it is told, and 404 to everything else; with TLS or without."""

    def __init__(
        self,
        answers: Mapping[str, Said],
        tls: ssl.SSLContext | None = None,
        date: str | None = None,
    ) -> None:
        self.asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler) -> None:  # noqa: N805  as its library calls it
                self.asked.append(handler.path)
                said = answers.get(handler.path, Said(404))
                handler.send_response(said.status)
                for name, value in said.headers.items():
                    handler.send_header(name, value)
                handler.send_header("content-length", str(len(said.body)))
                handler.end_headers()
                handler.wfile.write(said.body)

            def date_time_string(handler, timestamp: float | None = None) -> str:  # noqa: N805
                return date if date is not None else super().date_time_string(timestamp)

            def log_message(handler, *_: object) -> None:  # noqa: N805
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def get_request(server) -> tuple[ssl.SSLSocket, tuple[str, int]]:  # noqa: N805
                plain, address = super().get_request()
                return (tls.wrap_socket(plain, server_side=True) if tls else plain), address  # type: ignore[return-value]

            def handle_error(server, *_: object) -> None:  # noqa: N805
                """Hang up on who hangs up."""

        self._server = Server((NAME, 0), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(60)
