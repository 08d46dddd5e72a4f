"""Group commit on a store that fails, hangs and comes back: nobody is left waiting or misled."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence

import pytest

from alama.platform.book import Book
from alama.platform.errors import StoreUnavailable
from alama.scoring import group_commit
from alama.scoring.group_commit import Commit, GroupCommit
from alama.scoring.records import Earlier, Entry, Question, ScoreSummary, StoredScore, Told
from tests.entries import an_entry

Outcome = Told | BaseException


class FaultyScores:
    """Keeps entries in a list; holds a commit or fails it when it is told to."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self.groups: list[int] = []
        self.going = threading.Event()
        self.going.set()
        self.begun = threading.Event()
        self.error: Exception | None = None
        self.free = False
        """Whether a commit takes no waiting for anybody."""
        self.tried_now = 0
        self.threads: list[str] = []

    def find(self, book: Book, request_id: str) -> StoredScore:
        raise AssertionError(f"nobody reads {request_id} of {book}")

    def page(self, book: Book, before: str | None, limit: int) -> Sequence[ScoreSummary]:
        raise AssertionError(f"nobody reads {limit} of {book} before {before}")

    def commit(self, entries: Sequence[Entry | Question]) -> Sequence[Earlier | None]:
        self.begun.set()
        assert self.going.wait(60)
        self.groups.append(len(entries))
        self.threads.append(threading.current_thread().name)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        self.kept += [entry.score.request_id for entry in entries if isinstance(entry, Entry)]
        return [None] * len(entries)

    def commit_now(self, entries: Sequence[Entry | Question]) -> Sequence[Earlier | None] | None:
        self.tried_now += 1
        return self.commit(entries) if self.free else None

    def hold(self) -> None:
        """Let the next commit hang until `release`."""
        self.begun.clear()
        self.going.clear()

    def release(self) -> None:
        self.going.set()


Story = Callable[[GroupCommit, FaultyScores], Awaitable[None]]


def tell(story: Story) -> list[Commit]:
    observed: list[Commit] = []

    async def life() -> None:
        scores = FaultyScores()
        ledger = GroupCommit(scores, observed.append)
        ledger.start()
        try:
            await story(ledger, scores)
        finally:
            scores.release()
            await ledger.close()

    asyncio.run(life())
    return observed


async def outcomes(told: Sequence[Awaitable[Told]]) -> list[Outcome]:
    return await asyncio.gather(*told, return_exceptions=True)


async def begun(scores: FaultyScores) -> None:
    assert await asyncio.to_thread(scores.begun.wait, 10)


def failing(ledger: GroupCommit) -> bool:
    """Ask anew: what was found out before is no longer so."""
    return ledger.failing


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "ANSWER_TIMEOUT_S", 0.5)


def test_what_comes_while_a_group_is_at_work_is_the_next_group_in_its_order() -> None:
    async def story(ledger: GroupCommit, scores: FaultyScores) -> None:
        scores.hold()
        first = an_entry()
        told = [ledger.append(first)]
        await begun(scores)
        others = [an_entry() for _ in range(7)]
        told += [ledger.append(entry) for entry in others]
        assert ledger.depth == 8
        scores.release()
        assert await outcomes(told) == [None] * 8
        assert scores.groups == [1, 7]
        assert scores.kept == [entry.score.request_id for entry in [first, *others]]
        assert ledger.depth == 0

    tell(story)


def test_entries_of_one_turn_of_the_loop_are_one_group() -> None:
    async def story(ledger: GroupCommit, scores: FaultyScores) -> None:
        await outcomes([ledger.append(an_entry()) for _ in range(5)])
        assert scores.groups == [5]

    tell(story)


def test_a_group_has_an_end_and_the_rest_comes_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "GROUP_MAX", 4)

    async def story(ledger: GroupCommit, scores: FaultyScores) -> None:
        entries = [an_entry() for _ in range(10)]
        await outcomes([ledger.append(entry) for entry in entries])
        assert scores.groups == [4, 4, 2]
        assert scores.kept == [entry.score.request_id for entry in entries]

    tell(story)


@pytest.mark.parametrize("error", [StoreUnavailable("disk full"), RuntimeError("a defect")])
def test_a_failing_commit_fails_its_group_and_no_other(error: Exception) -> None:
    async def story(ledger: GroupCommit, scores: FaultyScores) -> None:
        scores.error = error
        scores.hold()
        unlucky = [ledger.append(an_entry()) for _ in range(3)]
        await begun(scores)
        lucky = ledger.append(an_entry())
        scores.release()
        assert {type(outcome) for outcome in await outcomes(unlucky)} == {StoreUnavailable}
        assert await lucky is None
        assert len(scores.kept) == 1

    observed = tell(story)
    assert [(commit.entries, commit.failed) for commit in observed] == [(3, True), (1, False)]


def test_failing_is_said_until_a_group_is_kept() -> None:
    async def story(ledger: GroupCommit, scores: FaultyScores) -> None:
        assert not failing(ledger)
        scores.error = StoreUnavailable("disk full")
        await outcomes([ledger.append(an_entry())])
        assert failing(ledger)
        await ledger.append(an_entry())
        assert not failing(ledger)

    tell(story)


@pytest.mark.usefixtures("impatient")
def test_a_store_that_hangs_is_reported_and_refused_and_used_again_when_it_is_back() -> None:
    async def story(ledger: GroupCommit, scores: FaultyScores) -> None:
        scores.hold()
        told = [ledger.append(an_entry())]
        await begun(scores)
        told.append(ledger.append(an_entry()))
        assert {type(outcome) for outcome in await outcomes(told)} == {StoreUnavailable}
        assert failing(ledger)
        with pytest.raises(StoreUnavailable, match="behind"):
            ledger.append(an_entry())
        scores.release()
        while ledger.depth:  # noqa: ASYNC110  it has no event for this
            await asyncio.sleep(0)
        assert not failing(ledger)
        last = an_entry()
        assert await ledger.append(last) is None
        # What hung was kept after all, and nobody had been told so. What waited behind it was not.
        assert len(scores.kept) == 2
        assert scores.kept[-1] == last.score.request_id

    tell(story)


@pytest.mark.usefixtures("impatient")
def test_the_end_does_not_wait_for_a_store_that_hangs() -> None:
    async def life() -> Outcome:
        scores = FaultyScores()
        ledger = GroupCommit(scores, lambda _: None)
        ledger.start()
        scores.hold()
        told = ledger.append(an_entry())
        await begun(scores)
        await asyncio.wait_for(ledger.close(), 60)
        scores.release()
        await asyncio.to_thread(ledger._thread.join, 10)
        return (await outcomes([told]))[0]

    assert isinstance(asyncio.run(life()), StoreUnavailable)


def test_more_than_can_wait_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "WAITING_MAX", 3)

    async def story(ledger: GroupCommit, scores: FaultyScores) -> None:
        scores.hold()
        told = [ledger.append(an_entry())]
        await begun(scores)
        told += [ledger.append(an_entry()) for _ in range(3)]
        with pytest.raises(StoreUnavailable, match="behind"):
            ledger.append(an_entry())
        scores.release()
        assert await outcomes(told) == [None] * 4

    tell(story)


def test_a_caller_who_has_left_keeps_nobody_from_being_told() -> None:
    async def story(ledger: GroupCommit, scores: FaultyScores) -> None:
        scores.hold()
        left, stays = ledger.append(an_entry()), ledger.append(an_entry())
        await begun(scores)
        left.cancel()
        scores.release()
        assert await stays is None
        assert len(scores.kept) == 2

    tell(story)


def test_a_watcher_that_breaks_keeps_nobody_waiting() -> None:
    def broken(_: Commit) -> None:
        raise OSError("the log is full")

    async def life() -> list[Outcome]:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        ledger = GroupCommit(FaultyScores(), broken)
        ledger.start()
        told: list[Outcome] = [await ledger.append(an_entry()) for _ in range(3)]
        await ledger.close()
        return told

    assert asyncio.run(asyncio.wait_for(life(), 60)) == [None] * 3


def test_a_free_store_is_written_by_the_loop_and_a_busy_one_by_the_thread() -> None:
    async def story(ledger: GroupCommit, scores: FaultyScores) -> None:
        for free in (True, False, True):
            scores.free = free
            assert await ledger.append(an_entry()) is None
        assert scores.threads == ["MainThread", "group-commit", "MainThread"]
        assert len(scores.kept) == 3

    tell(story)


def test_after_a_slow_commit_the_loop_is_spared_until_one_is_quick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(ledger: GroupCommit, scores: FaultyScores) -> None:
        scores.free = True
        monkeypatch.setattr(group_commit, "SLOW_S", 0.0)
        await ledger.append(an_entry())
        monkeypatch.setattr(group_commit, "SLOW_S", 60.0)
        await ledger.append(an_entry())
        await ledger.append(an_entry())
        assert scores.threads == ["MainThread", "group-commit", "MainThread"]
        assert scores.tried_now == 2

    tell(story)


def test_a_free_store_that_fails_fails_its_group_and_no_other() -> None:
    async def story(ledger: GroupCommit, scores: FaultyScores) -> None:
        scores.free = True
        scores.error = StoreUnavailable("full")
        first, second = await outcomes([ledger.append(an_entry())]), await ledger.append(an_entry())
        assert isinstance(first[0], StoreUnavailable)
        assert second is None

    tell(story)
