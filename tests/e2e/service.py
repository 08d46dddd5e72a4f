"""The running service as callers meet it, and the hands of an operator inside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from alama.lenders import installation, keys
from alama.lenders.installation import Installation
from alama.lenders.records import Key
from alama.platform import clock, settings
from alama.platform.book import USUAL_SCOPES, Book, Mode, Scope
from tests.databases import through
from tests.lending import early_key
from tests.proxy import Proxy
from tests.server import PATIENT, Server

WAIT_S_MAX = 120.0

COMPACT: dict[str, Any] = {
    "mobile_money_months": 24,
    "monthly_inflow": 18_500.0,
    "stability_score": 0.7,
    "airtime_regularity": 0.8,
}
FULL: dict[str, Any] = {
    "mm_months": 24,
    "avg_inflow": 18_500.0,
    "avg_outflow": 17_000.0,
    "avg_balance": 3_200.0,
    "balance_stability": 0.7,
    "counterparties": 23,
    "tx_frequency": 41.5,
    "weekend_activity": 0.3,
    "airtime_avg": 450.0,
    "airtime_freq": 9.0,
    "airtime_regularity": 0.8,
    "device_type": "smartphone",
    "device_age_months": 14,
    "requested_amount": 15_000.0,
    "requested_term_days": 60,
    "loan_purpose": "business",
    "region": "Nyeri",
}


class Service:
    """A server with its database, in `workers` processes.

    `proxy` stands before a PostgreSQL, so that the server, and nobody else, can be cut off from it.
    """

    def __init__(
        self, database_url: str, home: Path, workers: int, proxy: Proxy | None, **environment: str
    ) -> None:
        self._proxy = proxy
        seen = database_url if proxy is None else through(database_url, proxy.port)
        self.server = Server(seen, home, workers, ALAMA_LOG="json", **environment)
        self.server.command = PATIENT
        self._settings = settings.read(self.server.environment | {"ALAMA_DATABASE": database_url})
        self.installed: Installation

    @contextmanager
    def running(self) -> Iterator[Service]:
        with self.server:
            self.installed = installation.open_installation(self._settings)
            try:
                if not self.installed.registry.lenders():
                    self.lender("demo")
                self._key = self.key()
                with self._connect(1) as self._client, self._connect(0) as self._stranger:
                    yield self
            finally:
                self.installed.close()

    # ------------------------------------------------------------------------------- operators

    def lender(self, lender_id: str) -> None:
        keys.add_lender(self.installed.registry, clock.wall_us, lender_id, lender_id, "KES")

    def key(
        self,
        book: Book = Book("demo", Mode.TEST),  # noqa: B008  a tuple
        scopes: tuple[Scope, ...] = USUAL_SCOPES,
    ) -> str:
        """A new key."""
        return self.issue(book, scopes)[0]

    def issue(self, book: Book, scopes: tuple[Scope, ...] = USUAL_SCOPES) -> tuple[str, Key]:
        """A new key, and what is kept of it; a live one whether or not its book is open yet."""
        return early_key(
            self.installed.registry, clock.wall_us, self.installed.pepper, book, scopes
        )

    @contextmanager
    def database_away(self) -> Iterator[None]:
        """PostgreSQL cannot be reached; a SQLite file is locked by somebody who does not let go."""
        if self._proxy is None:
            with self.installed.database.writing():
                yield
        else:
            self._proxy.cut()
            try:
                yield
            finally:
                self._proxy.mend()

    # ------------------------------------------------------------------------------- callers

    def score(
        self,
        body: dict[str, Any] | bytes = COMPACT,
        *,
        query: str = "",
        key: str | None = None,
        **headers: str,
    ) -> httpx.Response:
        """POST /v1/score; `idempotency_key="1"` is sent as the header Idempotency-Key."""
        return self._post(self._client, f"/v1/score{query}", body, key, headers)

    def explain(
        self,
        body: dict[str, Any] | bytes = COMPACT,
        *,
        query: str = "",
        key: str | None = None,
        **headers: str,
    ) -> httpx.Response:
        """POST /v1/explain."""
        return self._post(self._client, f"/v1/explain{query}", body, key, headers)

    def anywhere(
        self,
        body: dict[str, Any] | bytes = COMPACT,
        *,
        query: str = "",
        key: str | None = None,
        **headers: str,
    ) -> httpx.Response:
        """POST /v1/score by a connection of its own: any worker may be at its other end."""
        return self._post(self._stranger, f"/v1/score{query}", body, key, headers)

    def statuses(self, key: str) -> set[int]:
        """What the workers say to a key, by connections enough to meet all of them."""
        return {
            self._stranger.get("/v1/scores", headers=self.credentials(key)).status_code
            for _ in range(12)
        }

    def get(self, path: str, *, key: str | None = None) -> httpx.Response:
        return self._client.get(path, headers=self.credentials(key))

    def send(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Anything at all, with nothing added."""
        return self._client.request(method, path, **request)

    def credentials(self, key: str | None = None) -> dict[str, str]:
        return {"Authorization": f"Bearer {key or self._key}"}

    def _connect(self, kept_alive: int) -> httpx.Client:
        limits = httpx.Limits(max_keepalive_connections=kept_alive)
        return httpx.Client(
            base_url=self.server.url, trust_env=False, timeout=WAIT_S_MAX, limits=limits
        )

    def _post(
        self,
        client: httpx.Client,
        path: str,
        body: dict[str, Any] | bytes,
        key: str | None,
        headers: dict[str, str],
    ) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        usual = self.credentials(key) | {"Content-Type": "application/json"}
        return client.post(path, headers=usual | named, content=content)
