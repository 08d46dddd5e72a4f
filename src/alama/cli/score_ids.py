"""Ids of scores as somebody types them, and what to say of those that are none."""

from __future__ import annotations

from alama.service import ids
from alama.service.errors import InvalidName


def request_id_from(text: str) -> str:
    """Read an id, or raise `InvalidName`."""
    if not ids.is_request_id(text):
        raise InvalidName(
            "this is not a request id",
            hint="it is req_ and 28 hexadecimal digits, as in the reply to the request",
        )
    return text


def unknown(message: str) -> InvalidName:
    """Give the error for an id that nothing has, with where others are."""
    return InvalidName(message, hint="`alama scores list` shows the latest")
