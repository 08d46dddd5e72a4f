"""Slots: how many deliveries may be under way, to each endpoint and in all; whose turn it is.

A receiver that answers gets more slots, and one that fails loses half of them. One that fails
again is left alone for a while, longer each time, and then asked by a single delivery: the first
answer gives it back what it had. Where slots are scarce lenders take turns, and so do the
endpoints of a lender: nobody's backlog is in the way of anybody else's event.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from alama.webhooks.schedule import LEFT_ALONE_S_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from alama.webhooks.records import Endpoint


_One = TypeVar("_One")


def rounds(queues: Sequence[Sequence[_One]]) -> Iterator[_One]:
    """Give the first of each queue, then the second of each, until all are empty.

    None can be in no queue.
    """
    mixed = chain.from_iterable(zip_longest(*queues))
    return (one for one in mixed if one is not None)


class RoundRobin:
    """Who comes next: the lender, and of its endpoints the one, that had a turn longest ago."""

    def __init__(self) -> None:
        self._count = 0
        self._of_lenders: dict[str, int] = {}
        self._of_endpoints: dict[str, int] = {}

    def note(self, endpoint: Endpoint) -> None:
        """An endpoint has its turn, and with it its lender."""
        self._count += 1
        self._of_lenders[endpoint.book.lender] = self._of_endpoints[endpoint.id] = self._count

    def order(self, waiting: Iterable[tuple[Endpoint, int]]) -> Iterator[Endpoint]:
        """Go round: an endpoint of each lender, and again, each as often as it is said."""
        by_lender: dict[str, list[tuple[Endpoint, int]]] = defaultdict(list)
        for endpoint, times in waiting:
            by_lender[endpoint.book.lender].append((endpoint, times))
        lenders = sorted(by_lender, key=lambda lender: self._of_lenders.get(lender, 0))
        return rounds([list(self._of_one(by_lender[lender])) for lender in lenders])

    def forget_all_but(self, endpoints: Iterable[Endpoint]) -> None:
        """Remember nothing of others."""
        ids, lenders = set(), set()
        for endpoint in endpoints:
            ids.add(endpoint.id)
            lenders.add(endpoint.book.lender)
        for known, wanted in ((self._of_endpoints, ids), (self._of_lenders, lenders)):
            for gone in known.keys() - wanted:
                del known[gone]

    def _of_one(self, waiting: Iterable[tuple[Endpoint, int]]) -> Iterator[Endpoint]:
        """Do the same with the endpoints of one lender."""
        ordered = sorted(waiting, key=lambda one: self._of_endpoints.get(one[0].id, 0))
        return rounds([[endpoint] * times for endpoint, times in ordered])


ENDPOINT_MAX: Final = 8
TOTAL_MAX: Final = 512
MORE_MAX: Final = 32
"""Of all slots those that go to endpoints which have one already: the others stay free for those
who have none, however many receivers have just begun to stall. Few, for what is under way when a
worker is killed may have arrived, and is sent again."""

PAUSE_S_MIN: Final = 1
PAUSE_S_MAX: Final = 60
"""For which an endpoint is left alone after a second failure in a row, and after many of them."""

_DOUBLINGS_MAX: Final = (PAUSE_S_MAX // PAUSE_S_MIN).bit_length()
_SECOND_US: Final = 1_000_000


class _Receiver(NamedTuple):
    """Who is behind an endpoint: another one after its URL has changed, or it was enabled again."""

    url: str
    generation: int


@dataclass(slots=True)
class _State:
    """What is known of an endpoint, as long as it has this receiver.

    `failures` are those since it last answered. Nothing begins before `back_us`, when it may have
    come back, nor before `asked_us`, until when it wants to be left alone.
    """

    receiver: _Receiver
    allowed: int = 1
    taken: int = 0
    failures: int = 0
    back_us: int = 0
    asked_us: int = 0

    def waits(self, now_us: int) -> bool:
        """Say whether nothing may begin now."""
        return now_us < max(self.back_us, self.asked_us)

    def room(self, now_us: int) -> int:
        """Give how many more may begin now."""
        if self.waits(now_us):
            return 0
        return max((1 if self.failures > 1 else self.allowed) - self.taken, 0)


class Slots:
    """The slots of one worker.

    Times are microseconds of a clock that is never set back.
    """

    def __init__(self) -> None:
        self._states: dict[str, _State] = {}
        # With turns for both at once, whoever is early for a first slot would be so for a second.
        self._first_turns = RoundRobin()
        self._more_turns = RoundRobin()

    @property
    def taken(self) -> int:
        """How many deliveries are under way."""
        return sum(one.taken for one in self._states.values())

    def offer(self, waiting: Sequence[Endpoint], now_us: int) -> dict[str, int]:
        """Give how many deliveries may begin now, by the id of the endpoint; none has 0.

        For endpoints that something is due for: a slot that is offered to another is lost to all.
        Whoever took one longest ago comes first.
        """
        room = [(one, self._state(one).room(now_us)) for one in waiting]
        free = TOTAL_MAX - self.taken
        firsts = ((one, min(more, 1)) for one, more in room if not self._state(one).taken)
        offered = {one.id: 1 for one in islice(self._first_turns.order(firsts), free)}
        more_taken = sum(max(one.taken - 1, 0) for one in self._states.values())
        free = min(free - len(offered), max(MORE_MAX - more_taken, 0))
        others = ((one, more - offered.get(one.id, 0)) for one, more in room)
        for one in islice(self._more_turns.order(others), free):
            offered[one.id] = offered.get(one.id, 0) + 1
        return offered

    def take(self, endpoint: Endpoint) -> None:
        """A delivery begins."""
        state = self._state(endpoint)
        (self._more_turns if state.taken else self._first_turns).note(endpoint)
        state.taken += 1

    def delivered(self, endpoint: Endpoint) -> None:
        """One has ended well: there is room for one more, and if it was away for all it had."""
        state = self._ended(endpoint)
        if state.failures > 1:
            state.allowed *= 2
        state.allowed = min(state.allowed + 1, ENDPOINT_MAX)
        state.failures = state.back_us = 0

    def failed(self, endpoint: Endpoint, asked_s: int, now_us: int) -> None:
        """One has failed: half as many from now on; the next failures in a row make it wait.

        `asked_s` is for how long the receiver wants to be left alone; 0 where it said nothing.
        """
        state = self._ended(endpoint)
        if not state.waits(now_us):  # or it is known already that it is down
            state.failures += 1
            if state.failures == 1:
                state.allowed = max(state.allowed // 2, 1)
            else:
                doublings = min(state.failures - 2, _DOUBLINGS_MAX)
                pause_s = min(PAUSE_S_MIN << doublings, PAUSE_S_MAX)
                state.back_us = now_us + pause_s * _SECOND_US
        asked_us = now_us + min(asked_s, LEFT_ALONE_S_MAX) * _SECOND_US
        state.asked_us = max(state.asked_us, asked_us)

    def spoiled(self, endpoint: Endpoint, now_us: int) -> None:
        """One was lost by a fault of ours: the receiver keeps its slots.

        But the next waits a moment, or all that is due for it would be tried in vain at once.
        """
        state = self._ended(endpoint)
        state.back_us = max(state.back_us, now_us + PAUSE_S_MIN * _SECOND_US)

    def forget_all_but(self, endpoints: Sequence[Endpoint]) -> None:
        """Keep nothing of those that are gone or have changed, but what is under way to them."""
        for endpoint in endpoints:
            known, receiver = self._states.get(endpoint.id), _receiver(endpoint)
            if known is not None and known.receiver != receiver:
                self._states[endpoint.id] = _State(receiver, taken=known.taken)
        for gone in self._states.keys() - {endpoint.id for endpoint in endpoints}:
            if not self._states[gone].taken:
                del self._states[gone]
        self._first_turns.forget_all_but(endpoints)
        self._more_turns.forget_all_but(endpoints)

    def _state(self, endpoint: Endpoint) -> _State:
        state = self._states.get(endpoint.id)
        if state is None:
            state = self._states[endpoint.id] = _State(_receiver(endpoint))
        return state

    def _ended(self, endpoint: Endpoint) -> _State:
        """Free a slot, and give what is known of whoever had it; nothing is, where it changed."""
        state, receiver = self._state(endpoint), _receiver(endpoint)
        assert state.taken
        state.taken -= 1
        return state if state.receiver == receiver else _State(receiver)


def _receiver(endpoint: Endpoint) -> _Receiver:
    return _Receiver(endpoint.url, endpoint.generation)
