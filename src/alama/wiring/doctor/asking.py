"""One GET, without a key, and what comes back: how the doctor asks over HTTP."""

from __future__ import annotations

import json
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from alama import __version__

if TYPE_CHECKING:
    import ssl

PATIENCE_S: Final = 5.0

_READ_MAX: Final = 64 * 1024


class NoAnswer(OSError):
    """Somebody is there, and what they say is no HTTP."""


class Answer(NamedTuple):
    """What came back for a path."""

    status: int
    headers: dict[str, str]
    body: bytes

    def health(self) -> dict[str, Any] | None:
        """Give what Alama says of its health; None where somebody else has answered."""
        try:
            told = json.loads(self.body)
        except ValueError:
            return None
        return told if isinstance(told, dict) and "status" in told else None


def ask(host: str, port: int, path: str, tls: ssl.SSLContext | None = None) -> Answer:
    """Ask for a path, with TLS or without; an `OSError` where there is no answer."""
    connection = (
        HTTPConnection(host, port, timeout=PATIENCE_S)
        if tls is None
        else HTTPSConnection(host, port, timeout=PATIENCE_S, context=tls)
    )
    with closing(connection):
        try:
            connection.request("GET", path, headers={"user-agent": f"alama-doctor/{__version__}"})
            reply = connection.getresponse()
            headers = {name.lower(): value for name, value in reply.getheaders()}
            return Answer(reply.status, headers, reply.read(_READ_MAX))
        except HTTPException as error:
            raise NoAnswer(0, "no HTTP") from error
