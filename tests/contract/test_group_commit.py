"""What every ledger does, on every database: see `alama.scoring.group_commit.LivingLedger`."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from alama.platform.database.database import Database
from alama.platform.errors import StoreUnavailable
from alama.scoring.group_commit import Commit, GroupCommit, LivingLedger
from alama.scoring.records import Earlier, Told
from tests.entries import DEMO, an_entry
from tests.stores import lenders_in, scores_in

Story = Callable[[LivingLedger], Awaitable[None]]


def tell(database: Database, story: Story) -> list[Commit]:
    """Live the life of a ledger on a database; gives the groups that were kept."""
    lenders_in(database, "demo")
    groups: list[Commit] = []

    async def life() -> None:
        ledger = GroupCommit(scores_in(database), groups.append)
        ledger.start()
        try:
            await story(ledger)
        finally:
            await ledger.close()

    asyncio.run(life())
    return groups


def kept(database: Database) -> list[str]:
    return [row.request_id for row in scores_in(database).page(DEMO, None, 10_000)]


def test_everything_that_was_told_is_kept_and_kept_once(database: Database) -> None:
    entries = [an_entry() for _ in range(1_200)]

    async def story(ledger: LivingLedger) -> None:
        told = await asyncio.gather(*[ledger.append(entry) for entry in entries])
        assert told == [None] * len(entries)
        assert sorted(kept(database)) == [entry.score.request_id for entry in entries]

    groups = tell(database, story)
    assert sum(group.entries for group in groups) == len(entries)
    assert len(groups) < 10
    assert not any(group.failed for group in groups)


def test_a_lone_entry_waits_for_nobody(database: Database) -> None:
    async def story(ledger: LivingLedger) -> None:
        for number in range(3):
            assert await ledger.append(an_entry()) is None
            assert len(kept(database)) == number + 1

    assert [group.entries for group in tell(database, story)] == [1, 1, 1]


def test_a_retry_gets_the_answer_that_stands(database: Database) -> None:
    first = an_entry(idempotency_key="order-1")

    async def story(ledger: LivingLedger) -> None:
        assert await ledger.append(first) is None
        retry, other = an_entry(idempotency_key="order-1"), an_entry(idempotency_key="order-2")
        earlier, nothing = await asyncio.gather(ledger.append(retry), ledger.append(other))
        assert isinstance(earlier, Earlier)
        assert earlier.request_id == first.score.request_id
        assert nothing is None

    tell(database, story)
    assert len(kept(database)) == 2


def test_what_was_appended_is_kept_though_the_end_comes_at_once(database: Database) -> None:
    entries = [an_entry() for _ in range(30)]
    appended: list[Awaitable[Told]] = []

    async def story(ledger: LivingLedger) -> None:
        appended.extend(ledger.append(entry) for entry in entries)

    tell(database, story)
    assert len(kept(database)) == len(entries)


def test_a_group_that_cannot_be_kept_fails_alone(database: Database) -> None:
    there = an_entry()

    async def story(ledger: LivingLedger) -> None:
        await ledger.append(there)
        twice = an_entry(request_id=there.score.request_id)
        with pytest.raises(StoreUnavailable):
            await ledger.append(twice)
        assert ledger.failing
        assert await ledger.append(an_entry()) is None
        assert not ledger.failing

    groups = tell(database, story)
    assert [group.failed for group in groups] == [False, True, False]
