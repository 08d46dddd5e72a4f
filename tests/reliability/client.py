"""A client that tells exactly what came back: a whole reply, or nothing that can be relied on."""

from __future__ import annotations

import json
import time
from http.client import HTTPConnection, HTTPException, HTTPMessage
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from alama.platform.files.packaged import sample_application

ANSWER_S_MAX = 30.0
SAMPLE = json.loads(sample_application())


class Lost(Exception):
    """The connection ended before the reply was whole: nobody knows what became of the request."""


class NotReached(Lost):
    """There was nobody to connect to; nothing was sent."""


class Reply(NamedTuple):
    """A reply that was received to its last byte."""

    status: int
    headers: HTTPMessage
    body: bytes
    seconds: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection, made anew when it is lost. Nothing is ever sent twice by itself."""

    def __init__(self, url: str, key: str) -> None:
        place = urlsplit(url)
        assert place.hostname is not None
        self._connection = HTTPConnection(place.hostname, place.port, timeout=ANSWER_S_MAX)
        self._headers = {"Authorization": f"Bearer {key}"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def reconnect(self) -> None:
        """Let whichever worker is next answer the next request."""
        self._connection.close()

    def use(self, key: str) -> None:
        """Go on with another key, by the same connection."""
        self._headers["Authorization"] = f"Bearer {key}"

    @property
    def port(self) -> int:
        """The port that it asks from; it is connected."""
        return int(self._connection.sock.getsockname()[1])

    def get(self, path: str) -> Reply:
        return self._ask("GET", path, None, {})

    def post(self, path: str, body: bytes) -> Reply:
        return self._ask("POST", path, body, {"Content-Type": "application/json"})

    def score(self, body: bytes, idempotency_key: str | None = None) -> Reply:
        headers = {"Content-Type": "application/json"}
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        return self._ask("POST", "/v1/score", body, headers)

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        started = time.monotonic()
        try:
            self._connection.request(method, path, body, self._headers | headers)
            response = self._connection.getresponse()
            received = response.read()
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise (NotReached if isinstance(error, ConnectionRefusedError) else Lost) from error
        seconds = time.monotonic() - started
        return Reply(response.status, response.headers, received, seconds)


def application(applicant_ref: str) -> bytes:
    """The sample application under a reference of its own."""
    return json.dumps(SAMPLE | {"applicant_ref": applicant_ref}).encode()
