"""Group commit: everything that is waiting is kept in one transaction, then everyone is told.

A durable commit costs as much for a hundred rows as for one. So whatever has gathered is committed
together, and meanwhile the next group gathers. Under load the groups grow by themselves, and a lone
request waits for nobody.

An embedded database that is free is written by the event loop itself: to hand it over would take
longer. Where there is somebody to wait for (another process, a network, a disk that was slow the
last time) a thread does the waiting, so that a database that hangs does not take the health check
with it. docs/decisions/0009 has the figures.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from alama.core.errors import AlamaError
from alama.memory.store import Stand
from alama.platform.errors import StoreUnavailable
from alama.platform.timeouts import ANSWER_TIMEOUT_S
from alama.scoring.holds import NoRoom

if TYPE_CHECKING:
    from alama.scoring.records import Entry, Fate, Question, Told


class ScoreWriter(Protocol):
    """Where scores are kept. Every method may raise `StoreUnavailable`."""

    def commit(self, entries: Sequence[Entry | Question]) -> Sequence[Fate]:
        """Keep entries durably, all or none; where a key was answered before, say with what.

        A question among them is answered as the borrower stood before this.

        One that needs a damaged key, of its applicant or its lender, is left out alone, and its
        error given. No two entries of one call may carry the same idempotency key.
        """
        ...

    def commit_now(self, entries: Sequence[Entry | Question]) -> Sequence[Fate] | None:
        """Do as `commit` does if nobody has to be waited for but the disk; else give None."""
        ...


class Ledger(Protocol):
    """Where the scoring use case puts what has to be kept before it may answer."""

    def append(self, entry: Entry | Question) -> Awaitable[Told]:
        """Return once the entry is durable, or give the earlier answer that stands instead.

        Of an entry that asks for a borrower it gives how they stand, be it kept or not; of an
        approval that a cap had no room for, what is used: that is not kept.
        """
        ...


class LivingLedger(Ledger, Protocol):
    """A ledger with a beginning and an end, and a state of health."""

    @property
    def failing(self) -> bool:
        """Whether the last entries could not be kept."""
        ...

    def start(self) -> None:
        """Begin, in the event loop that runs now."""

    async def close(self) -> None:
        """Keep everything that was appended, then end."""


GROUP_MAX: Final = 500
"""More in one transaction gains nothing, and makes the first of them wait."""

SLOW_S: Final = 0.005
"""A commit that took longer is followed by one on the thread, until one is quick again."""

TURNS_MAX: Final = 12
"""Of the event loop: a group is not kept open for ever where requests keep coming."""

WAITING_MAX: Final = 5_000
"""Beyond this a request is better refused than kept waiting."""


_Outcome = Sequence["Fate"] | AlamaError


_Waiting = tuple["Entry | Question", "asyncio.Future[Told]"]
"""An entry, and whom to tell that it is durable; or a question, and whom to answer."""


class _Group(NamedTuple):
    waiting: Sequence[_Waiting]
    sent_at: float


class Commit(NamedTuple):
    """What became of a group, for logs and metrics."""

    entries: int
    """Without those that could not be kept where the others were."""
    seconds: float
    error: AlamaError | None
    replayed: int = 0
    """Entries that were not kept, because an earlier one with their idempotency key stands."""

    @property
    def failed(self) -> bool:
        """Whether its callers were told that their scores are not kept for certain."""
        return self.error is not None


class GroupCommit:
    """The ledger of one process; see `Ledger`. Lives in one event loop."""

    def __init__(self, scores: ScoreWriter, observe: Callable[[Commit], None]) -> None:
        self._scores = scores
        self._observe = observe
        self._loop: asyncio.AbstractEventLoop
        self._waiting: list[_Waiting] = []
        self._group: _Group | None = None
        self._timeout: asyncio.TimerHandle | None = None
        self._groups: SimpleQueue[_Group | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="group-commit", daemon=True)
        self._quick = True
        self.failing = False
        """Whether the last group could not be kept."""

    def start(self) -> None:
        """Start the thread, for the event loop that runs now."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    @property
    def depth(self) -> int:
        """Give how many wait, those in the group at work included."""
        return len(self._waiting) + (len(self._group.waiting) if self._group else 0)

    def append(self, entry: Entry | Question) -> asyncio.Future[Told]:
        """Give what will be done when the entry is durable, or the question answered."""
        if len(self._waiting) >= WAITING_MAX or self._is_stuck():
            raise StoreUnavailable("the database is behind with what it has to keep")
        told: asyncio.Future[Told] = self._loop.create_future()
        self._waiting.append((entry, told))
        if self._group is None and len(self._waiting) == 1:
            self._gather(0, 0)
        return told

    async def close(self) -> None:
        """Keep everything that was appended, then end the thread."""
        while self._group is not None or self._waiting:
            await asyncio.sleep(0.01)
            if self._is_stuck():
                break
        self._groups.put(None)
        await asyncio.to_thread(self._thread.join, 1.0)

    def _gather(self, seen: int, turns: int) -> None:
        """Send the group after a turn of the loop that brought nobody else.

        Those who were just answered ask again at once, if they have more to ask. Without the wait
        callers split into two groups that take turns, and every commit serves half of them.
        """
        waiting = len(self._waiting)
        if seen < waiting < GROUP_MAX and turns < TURNS_MAX:
            self._loop.call_soon(self._gather, waiting, turns + 1)
        else:
            self._send()

    def _send(self) -> None:
        if self._group is not None or not self._waiting:
            return
        group = self._group = _Group(self._waiting[:GROUP_MAX], time.monotonic())
        self._waiting = self._waiting[GROUP_MAX:]
        outcome = _outcome(self._scores.commit_now, group) if self._quick else None
        if outcome is not None:
            self._tell(group, outcome)
            return
        self._timeout = self._loop.call_later(ANSWER_TIMEOUT_S, self._time_out, group)
        self._groups.put(group)

    def _work(self) -> None:
        """Commit group after group: the only thing that happens on the thread."""
        while (group := self._groups.get()) is not None:
            outcome = _outcome(self._scores.commit, group)
            assert outcome is not None
            self._loop.call_soon_threadsafe(self._tell, group, outcome)

    def _tell(self, group: _Group, outcome: _Outcome) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
        self._group = None
        seconds = time.monotonic() - group.sent_at
        self._quick = seconds < SLOW_S
        self.failing = isinstance(outcome, AlamaError)
        if isinstance(outcome, AlamaError):
            _fail(group.waiting, outcome)
            commit = Commit(len(group.waiting), seconds, outcome)
        else:
            commit = _answer(group.waiting, outcome, seconds)
        if self._waiting:
            self._gather(0, 0)
        self._observe(commit)  # last: those who wait must not depend on those who watch

    def _time_out(self, group: _Group) -> None:
        """Tell everyone that it is not certain; the thread goes on trying what it has begun."""
        self.failing = True
        given_up = [*group.waiting, *self._waiting]
        self._waiting = []
        error = StoreUnavailable("the database did not answer in time")
        _fail(given_up, error)
        self._observe(Commit(len(given_up), time.monotonic() - group.sent_at, error))

    def _is_stuck(self) -> bool:
        return self._group is not None and time.monotonic() - self._group.sent_at > ANSWER_TIMEOUT_S


def _outcome(
    commit: Callable[[Sequence[Entry | Question]], Sequence[Fate] | None], group: _Group
) -> _Outcome | None:
    """Commit a group, and give what can be told to those who wait: nobody may be left waiting."""
    try:
        return commit([entry for entry, _ in group.waiting])
    except AlamaError as error:
        return error
    except Exception as error:  # noqa: BLE001  see above
        outcome = StoreUnavailable("the scores could not be kept")
        outcome.__cause__ = error
        return outcome


def _answer(waiting: Sequence[_Waiting], fates: Sequence[Fate], seconds: float) -> Commit:
    """Tell each what became of their own entry."""
    replayed = unfit = outdated = 0
    for one, fate in zip(waiting, fates, strict=True):
        if isinstance(fate, AlamaError):
            unfit += 1
            _fail([one], fate)
            continue
        if isinstance(fate, Stand):
            outdated += not fate.kept
        elif isinstance(fate, NoRoom):
            outdated += 1
        else:
            replayed += fate is not None
        _, told = one
        if not told.done():
            told.set_result(fate)
    return Commit(len(waiting) - unfit - outdated, seconds, None, replayed)


def _fail(waiting: Sequence[_Waiting], error: AlamaError) -> None:
    for _, told in waiting:
        if not told.done():
            told.set_exception(error)
