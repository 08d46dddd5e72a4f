"""What one process lets through the others hear of, and no request waits for that."""

import asyncio

import pytest

from alama.lenders import limits
from alama.lenders.limits import Pace, RateLimit, Sharing
from alama.platform.errors import StoreUnavailable, TooManyRequests
from tests.clocks import HandClock
from tests.shared_rates import SharedRates

KEY = "key_0123456789abcdef"
SECOND_US = 1_000_000
AT_ONCE = Pace(every_s=0.0, hurried_s=0.0)
NEVER_BY_ITSELF = Pace(every_s=600.0, hurried_s=0.0)
TIMEOUT_S = 60.0


class Process:
    """One that serves: its limit, and what it tells the others."""

    def __init__(self, shared: SharedRates, clock: HandClock, pace: Pace = AT_ONCE) -> None:
        self.clock = clock
        self.limit = RateLimit(per_second=10, burst=20)
        self.failed: list[tuple[str, Exception]] = []
        self.sharing = Sharing(
            self.limit, shared, pace, clock, lambda *failure: self.failed.append(failure)
        )

    def ask(self, times: int = 1) -> int:
        """Give how many are let through."""
        through = 0
        for _ in range(times):
            try:
                self.limit.take(KEY, self.clock())
            except TooManyRequests:
                break
            through += 1
        return through

    async def tell(self) -> None:
        await self.sharing.exchange()


@pytest.fixture
def shared(clock: HandClock) -> SharedRates:
    return SharedRates(clock)


def test_what_one_lets_through_is_taken_from_what_another_may(
    shared: SharedRates, clock: HandClock
) -> None:
    async def story() -> None:
        one, other = Process(shared, clock), Process(shared, clock)
        assert one.ask(15) == 15
        await one.tell()
        assert other.ask() == 1
        await other.tell()
        assert other.ask(20) == 4

    asyncio.run(story())


def test_what_comes_while_others_are_told_counts_as_well(
    shared: SharedRates, clock: HandClock
) -> None:
    async def story() -> None:
        one, other = Process(shared, clock), Process(shared, clock)
        assert (one.ask(6), other.ask(5)) == (6, 5)
        await one.tell()
        telling = asyncio.create_task(other.tell())
        await asyncio.sleep(0)
        assert other.ask(4) == 4
        await telling
        assert other.ask(20) == 5
        await other.tell()
        assert shared.full_at_us[KEY] == clock() + 2 * SECOND_US

    asyncio.run(story())


def test_what_was_let_through_too_much_is_paid_back(shared: SharedRates, clock: HandClock) -> None:
    async def story() -> None:
        one, other = Process(shared, clock), Process(shared, clock)
        assert (one.ask(99), other.ask(99)) == (20, 20)  # neither knew of the other
        await one.tell()
        await other.tell()
        clock.now_us += 2 * SECOND_US
        assert other.ask() == 0
        clock.now_us += SECOND_US // 10
        assert other.ask(99) == 1

    asyncio.run(story())


def test_a_process_that_cannot_tell_keeps_the_rate_by_itself_and_says_so_once(
    shared: SharedRates, clock: HandClock
) -> None:
    async def story() -> None:
        process = Process(shared, clock)
        shared.failure = StoreUnavailable("away")
        for _ in range(3):
            assert process.ask(99) == 20
            await process.tell()
            assert process.ask() == 0
            clock.now_us += 2 * SECOND_US
        assert process.failed == [(limits.CHORE, shared.failure)]
        shared.failure = None
        process.ask()
        await process.tell()
        shared.failure = StoreUnavailable("away again")
        process.ask()
        await process.tell()
        assert len(process.failed) == 2

    asyncio.run(story())


def test_nobody_pays_for_the_time_in_which_others_could_not_be_told(
    shared: SharedRates, clock: HandClock
) -> None:
    """But what is owed when they can be is told."""

    async def story() -> None:
        process = Process(shared, clock)
        shared.failure = StoreUnavailable("away")
        for _ in range(50):
            process.ask(10)
            await process.tell()
            clock.now_us += SECOND_US
        process.ask(8)
        await process.tell()
        shared.failure = None
        shared.full_at_us[KEY] = clock() - SECOND_US
        process.ask()
        await process.tell()
        assert shared.full_at_us[KEY] == clock() + 9 * SECOND_US // 10

    asyncio.run(story())


def test_the_first_request_is_told_of_at_once_and_many_are_soon(
    shared: SharedRates, clock: HandClock
) -> None:
    """Though by itself nothing would be for ten minutes."""

    async def told(times: int) -> list[int]:
        async with asyncio.timeout(TIMEOUT_S):
            while len(shared.told) < times:  # noqa: ASYNC110  it is told on another thread
                await asyncio.sleep(0.001)
        return [uses[0].cost_us * 10 // SECOND_US for uses in shared.told]

    async def story() -> None:
        process = Process(shared, clock, NEVER_BY_ITSELF)
        running = asyncio.create_task(process.sharing.run())
        process.ask()
        assert await told(1) == [1]
        await asyncio.sleep(0.05)
        process.ask()
        await asyncio.sleep(0.05)
        assert await told(1) == [1]
        process.ask()  # a sixteenth of a burst, rounded up
        assert await told(2) == [1, 2]
        running.cancel()

    asyncio.run(story())


def test_keys_that_owe_nothing_are_forgotten_now_and_then(
    shared: SharedRates, clock: HandClock
) -> None:
    async def story() -> None:
        process = Process(shared, clock)
        process.ask(20)
        await process.tell()
        assert shared.forgot == 0
        clock.now_us += limits.FORGET_EVERY_US
        process.limit.take("another", clock())
        await process.tell()
        assert shared.forgot == 1
        assert process.ask(99) == 20
        assert process.limit.take("another", clock()).remaining == 18

    asyncio.run(story())


def test_processes_may_be_set_to_different_rates(shared: SharedRates, clock: HandClock) -> None:
    """While a new one is rolled out: half of a burst is half of it to each of them."""

    async def story() -> None:
        one, other = Process(shared, clock), Process(shared, clock)
        other.limit = RateLimit(per_second=1_000, burst=2_000)
        other.sharing = Sharing(other.limit, shared, AT_ONCE, clock, lambda *_: None)
        assert one.ask(10) == 10
        await one.tell()
        assert other.ask() == 1
        await other.tell()
        assert other.ask(9_999) == 999

    asyncio.run(story())
