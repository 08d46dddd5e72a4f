"""Whoever asks challengers: a round of each in turn, and what fails is told once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from alama.monitoring.challengers import Challenger
from alama.monitoring.shadowing import Round, ShadowWorker
from alama.platform.book import Book, Mode
from alama.platform.errors import StoreUnavailable, StoreUnfit
from tests.challenged import a_challenger
from tests.entries import DEMO, UMOJA

ONE, TWO = a_challenger(DEMO), a_challenger(UMOJA)
DONE = Round(1, 0, None, lag_us=0, some_left=False)
MORE = Round(200, 3, "KeyError", lag_us=5_000_000, some_left=True)
Found = Round | Exception


class Asking:
    """Gives what it was told to, look by look."""

    def __init__(self, *looks: dict[Challenger, Found] | Exception) -> None:
        self.looks = list(looks)
        self.asked: list[Challenger] = []

    def running(self) -> Sequence[Challenger]:
        look = self.looks[0]
        if isinstance(look, Exception):
            self.looks.pop(0)
            raise look
        return list(look)

    def round(self, challenger: Challenger) -> Round:
        look = self.looks[0]
        assert isinstance(look, dict)
        self.asked.append(challenger)
        found = look.pop(challenger)
        if not look:
            self.looks.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


class Watch:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.rounds: list[list[Round]] = []
        self.failed: list[tuple[object, str]] = []

    def challenged(self, rounds: Sequence[Round]) -> None:
        self.rounds.append(list(rounds))

    def challenger_failed(self, challenger: Challenger, error: Exception) -> None:
        self.failed.append((challenger.book, type(error).__name__))

    def chore_failed(self, chore: str, error: Exception) -> None:
        self.failed.append((chore, type(error).__name__))


def look(asking: Asking, times: int) -> tuple[Watch, list[bool]]:
    watch = Watch()

    async def run() -> list[bool]:
        shadow = ShadowWorker(asking, watch)
        return [await shadow.look() for _ in range(times)]

    return watch, asyncio.run(run())


def test_each_challenger_has_a_round_and_a_backlog_of_one_keeps_nobody_waiting() -> None:
    asking = Asking({ONE: MORE, TWO: DONE}, {ONE: DONE, TWO: DONE})
    watch, some_left = look(asking, 2)
    assert asking.asked == [ONE, TWO, ONE, TWO]
    assert some_left == [True, False]
    assert watch.rounds == [[MORE, DONE], [DONE, DONE]]


def test_a_challenger_that_cannot_be_asked_is_told_of_once_until_it_can() -> None:
    broken = StoreUnfit("its model is damaged")
    asking = Asking(
        {ONE: broken, TWO: DONE}, {ONE: broken, TWO: DONE}, {ONE: DONE}, {ONE: KeyError("x")}
    )
    watch, _ = look(asking, 4)
    assert watch.failed == [(DEMO, "StoreUnfit"), (DEMO, "KeyError")]
    assert watch.rounds == [[DONE], [DONE], [DONE], []]


def test_a_database_that_is_away_is_no_news() -> None:
    asking = Asking(StoreUnavailable("away"), {ONE: StoreUnavailable("away")})
    watch, some_left = look(asking, 2)
    assert (watch.failed, some_left) == ([], [False, False])


def test_what_keeps_challengers_from_being_found_is_told_once() -> None:
    watch, _ = look(Asking(KeyError("x"), KeyError("x"), {ONE: DONE}), 3)
    assert watch.failed == [("find_challengers", "KeyError")]


def test_it_rests_a_moment_where_some_are_left_and_longer_where_none_are() -> None:
    asking = Asking({ONE: MORE}, {ONE: MORE}, {ONE: DONE})

    async def run() -> None:
        shadow = ShadowWorker(asking, Watch(), look_every_s=3_600.0, look_s_min=0.0)
        running = asyncio.create_task(shadow.run())
        async with asyncio.timeout(60):
            # Two rests, or the third look would be an hour away.
            while asking.looks:  # noqa: ASYNC110  nobody tells a test
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert not running.done()
        running.cancel()

    asyncio.run(run())
    assert asking.looks == []


class Busy(Asking):
    """Has a round take half a millisecond, and remembers how long they took in all."""

    took_s = 0.0

    def round(self, challenger: Challenger) -> Round:
        began_s = time.monotonic()
        while time.monotonic() < began_s + 0.0005:
            pass
        self.took_s += time.monotonic() - began_s
        return super().round(challenger)


def test_however_many_there_are_they_have_a_tenth_of_a_core_together() -> None:
    many = [a_challenger(Book(f"lender-{number}", Mode.TEST)) for number in range(40)]
    found: dict[Challenger, Found] = dict.fromkeys(many, DONE)
    found[many[0]] = MORE
    asking = Busy(found)
    began_s = time.monotonic()
    look(asking, 1)
    assert asking.took_s <= (time.monotonic() - began_s) / 10
