"""The address that the service listens on."""

from __future__ import annotations

import errno
import os
import socket
from typing import Final

from alama.core.errors import AlamaError

BACKLOG: Final = 2048
"""Connections that the system accepts for us while every worker is busy."""


class CannotListen(AlamaError):
    """The address is taken, is not ours, or may not be used."""


def listen(host: str, port: int) -> socket.socket:
    """Listen on an address, port 0 standing for any that is free; or raise `CannotListen`.

    Connections queue up from now on, so nobody is refused while the workers start.
    """
    try:
        found = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
        )
    except OSError as error:
        raise CannotListen(f"{host} is not an address", hint="--host 127.0.0.1") from error
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        # The last server's connections may linger for a minute; they are no reason to wait.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _cannot(host, port, error) from error
    return listener


def url(listener: socket.socket) -> str:
    """Give the address as a browser on this machine would reach it."""
    host, port = listener.getsockname()[:2]
    return address(host, port)


def address(host: str, port: int) -> str:
    """Give where a browser on this machine finds what listens on a host and port."""
    # Listening on every address includes this machine's own, which can be clicked on.
    near = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  compared, not bound
    return f"http://[{near}]:{port}" if ":" in near else f"http://{near}:{port}"


def _cannot(host: str, port: int, error: OSError) -> CannotListen:
    place = f"port {port} of {host}"
    match error.errno:
        case errno.EADDRINUSE:
            hint = (
                "stop what listens there, or choose another port: "
                f"--port {port + 1}, or ALAMA_PORT={port + 1} make run"
            )
            return CannotListen(f"{place} is in use", hint=hint)
        case errno.EACCES:
            hint = "ports below 1024 are for root; choose a higher one: --port 8000"
            return CannotListen(f"{place} may not be used", hint=hint)
        case errno.EADDRNOTAVAIL:
            hint = "--host 127.0.0.1 serves this machine, --host 0.0.0.0 everyone who reaches it"
            return CannotListen(f"{host} is not an address of this machine", hint=hint)
        case code:
            reason = os.strerror(code or 0)
            return CannotListen(f"{place} cannot be listened on: {reason}")
