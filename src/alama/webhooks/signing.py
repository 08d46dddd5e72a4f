"""Signatures by which a receiver knows that an event is ours: Standard Webhooks 1.0, version v1.

What is signed is the id, the time of the attempt and the body, so that neither can be changed nor
sent again much later.
"""

from __future__ import annotations

import base64
import hmac
from typing import TYPE_CHECKING, Final

from alama import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

_ALWAYS: Final = {"content-type": "application/json", "user-agent": f"Alama/{__version__}"}


def headers(event_id: str, body: bytes, secrets: Sequence[bytes], at_s: int) -> dict[str, str]:
    """Give every header of an attempt that begins at a second since 1970, UTC.

    Each secret signs: while one follows another, a receiver may know either.
    """
    assert secrets, "what is not signed is not sent"
    signed = b"%s.%d.%s" % (event_id.encode(), at_s, body)
    return {
        **_ALWAYS,
        "webhook-id": event_id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": " ".join(_signature(secret, signed) for secret in secrets),
    }


def _signature(secret: bytes, signed: bytes) -> str:
    return "v1," + base64.b64encode(hmac.digest(secret, signed, "sha256")).decode()
