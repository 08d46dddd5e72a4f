"""Scores from before there was an audit: nothing proves them, but there must not be more of them.

The first act of all says how many there were in each book, with a hash over their ids.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Earlier(NamedTuple):
    """How many scores there were, and the SHA-256 of their ids, as bytes, in order."""

    scores: int
    hash: bytes


def earlier(request_ids: Iterable[bytes]) -> Earlier:
    """Sum up scores by the bytes of their ids, which come in order."""
    scores, digest = 0, sha256()
    for request_id in request_ids:
        scores += 1
        digest.update(request_id)
    return Earlier(scores, digest.digest())


NO_EARLIER: Final = earlier(())
