"""How long the database is waited for, and how long its answers are believed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

from alama.service.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S: Final = 8.0
"""Beyond this a caller would rather hear that the database is not there."""

FRESH_US: Final = 1_000_000
"""How long an answer stands before it is asked for again."""

T = TypeVar("T")


async def in_time(ask: Callable[[], T], patience_s: float = PATIENCE_S) -> T:
    """Ask the database on another thread; `StoreUnavailable` if it takes too long."""
    try:
        return await asyncio.wait_for(asyncio.to_thread(ask), patience_s)
    except TimeoutError:
        raise StoreUnavailable("the database did not answer in time") from None
