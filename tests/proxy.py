"""A TCP proxy that fails on command, between a client and a real server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import BaseServer, ThreadingTCPServer
from typing import Self

from tests.ports import HOST

CHUNK_BYTES = 65_536
ACCEPT_POLL_S = 0.01


class Proxy:
    """Forwards `port` of this machine to a server, from `with` to its end, until told otherwise.

    `cut` is a crash or a pulled cable that is noticed: open connections end, new ones are refused.
    `stall` is one that is not: connections stay or are accepted, and nothing comes through.
    `mend` ends either. What was held back by a stall arrives then.
    """

    host = HOST

    def __init__(self, host: str, port: int) -> None:
        self._upstream = (host, port)
        self._flowing = threading.Event()
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._accepting: threading.Thread | None = None
        self._listener = _Listener(self, port=0)
        self.port: int = self._listener.server_address[1]

    def __enter__(self) -> Self:
        self.mend()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def cut(self) -> None:
        self._close()
        # Bound but not listening: the port stays ours, and whoever connects is refused.
        self._listener = _Listener(self, self.port)

    def stall(self) -> None:
        self._flowing.clear()
        self._listen()

    def mend(self) -> None:
        self._flowing.set()
        self._listen()

    def forward(self, client: socket.socket) -> None:
        """Carry both directions of one connection to its end."""
        with (
            suppress(OSError),  # the server is not there: the client sees its connection close
            socket.create_connection(self._upstream) as server,
            self._known(client, server),
        ):
            replies = threading.Thread(target=self._pump, args=(server, client))
            replies.start()
            self._pump(client, server)
            replies.join()

    def _listen(self) -> None:
        if self._accepting is None:
            self._listener.server_activate()
            self._accepting = threading.Thread(
                target=self._listener.serve_forever, args=(ACCEPT_POLL_S,)
            )
            self._accepting.start()

    def _close(self) -> None:
        """End every connection and every thread, and give the port back."""
        if self._accepting is not None:
            self._listener.shutdown()
            self._accepting.join()
        with self._lock:
            self._accepting = None
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self._flowing.set()  # whoever held something back finds its connection closed
        self._listener.server_close()

    @contextmanager
    def _known(self, *pair: socket.socket) -> Iterator[None]:
        with self._lock:
            if self._accepting is None:
                raise ConnectionAbortedError("cut while it was being made")
            self._connections.update(pair)
        try:
            yield
        finally:
            with self._lock:
                self._connections.difference_update(pair)

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):  # one of the two is gone, and the other is told below
            while True:
                chunk = source.recv(CHUNK_BYTES)
                self._flowing.wait()
                if not chunk:
                    break
                target.sendall(chunk)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)


class _Listener(ThreadingTCPServer):
    """Bound at once, listening from `server_activate` on; a thread for each connection."""

    allow_reuse_address = True  # the port of a cut proxy is taken again at once

    def __init__(self, proxy: Proxy, port: int) -> None:
        self._proxy = proxy
        super().__init__((HOST, port), self._handle, bind_and_activate=False)  # type: ignore[arg-type]  # any callable of these arguments will do
        self.server_bind()

    def _handle(self, request: socket.socket, _address: object, _server: BaseServer) -> None:
        self._proxy.forward(request)
