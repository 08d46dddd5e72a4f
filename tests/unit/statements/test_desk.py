"""Whoever waits beside a file that is ended is told to come again, not that his own is too much."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any, cast

import pytest

from alama.platform.errors import Busy
from alama.statements.desk import Desk


class Held:
    """A pool that never answers."""

    def __init__(self) -> None:
        self.future: Future[bytes] = Future()

    def submit(self, *_: object) -> Future[bytes]:
        return self.future


def test_a_file_whose_process_was_ended_for_another_is_asked_for_again() -> None:
    async def ended() -> None:
        desk, pool = Desk(), Held()
        desk._pool = cast("Any", pool)
        waiting = asyncio.create_task(desk._done(b""))
        await asyncio.sleep(0)
        desk._pool = None
        pool.future.cancel()
        await waiting

    with pytest.raises(Busy):
        asyncio.run(ended())
