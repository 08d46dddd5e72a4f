"""Where a service has statements read: in a process beside it, so that no score waits for one."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.errors import AlamaError
from alama.platform.errors import Busy, StoreUnavailable
from alama.statements import problems
from alama.statements.deriving import KEY_BYTES, Asked, Found, found_in, proposed
from alama.statements.ledger import Pseudonyms
from alama.statements.pdf.reader import PasswordNeeded, PdfTooCostly

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.platform.book import Book

PROCESSES: Final = 2
"""One file may take half a minute, and nobody else shall wait for it."""
NICENESS: Final = 10
"""Scores come first."""
WAITING_MAX: Final = 16
WAITING_EACH_MAX: Final = 8
TIMEOUT_S: Final = 60.0

_KNOWN: Final = {
    kind.__name__: kind
    for kind in (
        problems.StatementUnreadable,
        problems.MappingNeeded,
        PasswordNeeded,
        PdfTooCostly,
        StoreUnavailable,
    )
}


LOOK: Final = "see `proposal`: look at it, answer what is `open`, and send its `mapping` back"


class _Told(msgspec.Struct):
    """What a process answers: what it found, or what is wrong with the file."""

    found: Found | None = None
    kind: str = ""
    message: str = ""
    hint: str | None = None
    proposal: problems.MappingProposal | None = None


def work(packed: bytes) -> bytes:
    """Do what was asked, in a process beside the service; both ways as MessagePack."""
    asked = msgspec.msgpack.decode(packed, type=Asked)
    try:
        return msgspec.msgpack.encode(_Told(found_in(asked)))
    except problems.MappingNeeded as error:
        return _proposed(asked, _Told(None, type(error).__name__, str(error), error.hint))
    except AlamaError as error:
        told = _Told(None, type(error).__name__, str(error), error.hint)
    except (ValueError, OverflowError):
        # Figures or letters that no document can hold, such as half of a surrogate pair.
        told = _Told(message="the file holds what no statement does")
    return msgspec.msgpack.encode(told)


def _proposed(asked: Asked, told: _Told) -> bytes:
    """Say how the table may be read, as far as that can be told."""
    plain = msgspec.msgpack.encode(told)
    with suppress(AlamaError, ValueError, OverflowError):
        told.proposal = proposed(asked, Pseudonyms(os.urandom(KEY_BYTES)))
        if told.proposal is not None:
            told.hint = LOOK
        return msgspec.msgpack.encode(told)
    return plain


def _begin() -> None:
    os.nice(NICENESS)
    parent = multiprocessing.parent_process()
    if parent is not None:
        # A parent that is killed tells nobody; nobody shall be left behind.
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(0)


class Desk:
    """Processes that read one statement after the other. One instance lives in an event loop."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._under_way: Counter[Book] = Counter()
        self._turns = asyncio.Semaphore(PROCESSES)

    async def read(self, book: Book, asked: Asked) -> Found:
        """Have statements read when their turn comes; `Busy` where too many wait already."""
        packed = msgspec.msgpack.encode(asked)
        with self._a_place_for(book):
            async with self._turns:  # only from here on the time of this one runs
                done = await self._done(packed)
        told = msgspec.msgpack.decode(done, type=_Told)
        if told.found is None:
            error = _KNOWN.get(told.kind, problems.StatementUnreadable)(
                told.message, hint=told.hint
            )
            if isinstance(error, problems.MappingNeeded):
                error.proposal = told.proposal
            raise error
        return told.found

    async def _done(self, packed: bytes) -> bytes:
        if self._pool is None:  # most services read none: the first one waits for the start
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(PROCESSES, context, _begin)
        pool = self._pool
        try:
            waiting = asyncio.get_running_loop().run_in_executor(pool, work, packed)
            return await asyncio.wait_for(waiting, TIMEOUT_S)
        except asyncio.CancelledError:
            if _is_leaving():
                raise
            raise Busy("statements") from None  # another file was ended, and this one with it
        except (BrokenProcessPool, TimeoutError):
            if self._pool is not pool:
                raise Busy("statements") from None
            self._pool = None
            _end(pool)
            raise problems.StatementUnreadable(
                "reading the file took more than a file may",
                hint="send the statement of a shorter period",
            ) from None

    def close(self) -> None:
        """Let the process go, when nobody asks any more."""
        if self._pool is not None:
            _end(self._pool)

    @contextmanager
    def _a_place_for(self, book: Book) -> Iterator[None]:
        waiting = self._under_way
        if waiting.total() >= WAITING_MAX or waiting[book] >= WAITING_EACH_MAX:
            raise Busy("statements")
        waiting[book] += 1
        try:
            yield
        finally:
            waiting[book] -= 1


def _is_leaving() -> bool:
    """Say whether who asked is gone."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _end(pool: ProcessPoolExecutor) -> None:
    """End a pool with what it is working on: a hostile file may go on for hours."""
    for process in list((pool._processes or {}).values()):  # noqa: SLF001 - Python 3.14 has a name for it
        with suppress(OSError, ValueError):
            process.kill()
    pool.shutdown(wait=False, cancel_futures=True)
