"""What was done to webhook endpoints, as the log of acts has it.

Of an address only the host, and the rest as a hash: it may hold a secret of the receiver, and an
entry of the audit cannot be taken back.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from alama.service.audit.acts import ADDRESS, Act, Detail, Kind, in_book

if TYPE_CHECKING:
    from alama.service.webhooks.records import Endpoint

_DIGITS: Final = 16

WORKER: Final = "the webhook worker"
"""Who disables endpoints, where no person does."""


def endpoint_added(endpoint: Endpoint, by: str | None) -> Act:
    return _on(Kind.ENDPOINT_ADDED, endpoint, _terms(endpoint), by)


def endpoint_changed(endpoint: Endpoint, by: str | None) -> Act:
    """Say what an endpoint has become."""
    return _on(Kind.ENDPOINT_CHANGED, endpoint, _terms(endpoint), by)


def endpoint_removed(endpoint: Endpoint, by: str | None) -> Act:
    return _on(Kind.ENDPOINT_REMOVED, endpoint, whereabouts(endpoint.url), by)


def endpoint_secret_rotated(endpoint: Endpoint, by: str | None) -> Act:
    """Say until when the secret before signs too; None: not at all."""
    until_us = endpoint.secrets.previous_until_us
    return _on(Kind.ENDPOINT_SECRET_ROTATED, endpoint, {"previous_until_us": until_us}, by)


def endpoint_disabled(endpoint: Endpoint) -> Act:
    details: dict[str, Detail] = {
        "reason": endpoint.disabled_reason,
        "failing_since_us": endpoint.failing_since_us,
        "disabled_us": endpoint.disabled_us,
    }
    return _on(Kind.ENDPOINT_DISABLED, endpoint, details, WORKER)


def _on(kind: Kind, endpoint: Endpoint, details: dict[str, Detail], by: str | None) -> Act:
    return in_book(kind, endpoint.book, endpoint.id, details, by)


def _terms(endpoint: Endpoint) -> dict[str, Detail]:
    return whereabouts(endpoint.url) | {
        "kinds": " ".join(endpoint.kinds),
        "disabled_us": endpoint.disabled_us,
    }


def whereabouts(url: str) -> dict[str, Detail]:
    """Say where an endpoint is, as far as the audit may; somebody may have put anything there."""
    digest = hashlib.sha256(url.encode()).hexdigest()[:_DIGITS]
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    return {"host": host, ADDRESS: digest}
