"""Why nothing arrived, and why an endpoint is disabled: the closed sets of this release.

Rows hold them as text, for one may be of a newer release.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class DisabledReason(StrEnum):
    """Why an endpoint is sent nothing more."""

    REQUESTED = "requested"
    """Somebody asked for it."""
    GONE = "gone"
    """Its receiver said 410 Gone."""
    FAILING = "failing"
    """Nothing has arrived for days."""


class SendError(StrEnum):
    """Why an attempt had no answer."""

    TIMEOUT = "timeout"
    URL_REFUSED = "url_refused"
    """Whoever runs the service has become stricter since the URL was taken."""
    NAME_NOT_RESOLVED = "name_not_resolved"
    ADDRESS_FORBIDDEN = "address_forbidden"
    CONNECTION_FAILED = "connection_failed"
    CONNECTION_LOST = "connection_lost"
    TLS_FAILED = "tls_failed"
    MALFORMED_ANSWER = "malformed_answer"
    SECRET_UNREADABLE = "secret_unreadable"  # noqa: S105  the code of an error
    """The vault did not open what signs."""
    NAMES_BUSY = "names_busy"
    """Too many names were being looked up already."""
    DEFECT = "defect"
    """It broke in our own hands."""


OURS: Final = frozenset(
    {
        SendError.URL_REFUSED,
        SendError.SECRET_UNREADABLE,
        SendError.NAMES_BUSY,
        SendError.DEFECT,
    }
)
"""These say nothing of the receiver."""

ADDRESS_REFUSED: Final = "address_refused"

_OF_OUR_NETWORK: Final = frozenset({SendError.NAME_NOT_RESOLVED, SendError.ADDRESS_FORBIDDEN})


def told_to_lenders(error: str | None) -> str | None:
    """Give the code of an error as a lender may know it; the log and the command line have it all.

    Which names there are in the operator's network is nobody else's business: one that is not there
    and one that may not be spoken to are the same.
    """
    return ADDRESS_REFUSED if error in _OF_OUR_NETWORK else error
