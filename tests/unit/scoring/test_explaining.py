"""An explanation says what a score would, keeps nobody else waiting, and never piles up."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

from alama.core.assess import assess
from alama.core.errors import AlamaError, InvalidApplication, UnknownField, UnknownGoal
from alama.core.intake import Intake
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Rule
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from alama.core.recourse.answer import Hindrance, Status
from alama.lenders.records import Key, OnboardingIncomplete, Pause
from alama.memory.borrower import NOBODY
from alama.platform.book import USUAL_SCOPES, Book, Mode
from alama.platform.errors import Busy, ModelUnavailable
from alama.platform.files.packaged import builtin, languages
from alama.platform.http.exchange import Arrival
from alama.scoring import explaining
from alama.scoring.directory import ActiveModel, Caller
from alama.scoring.explaining import WAITING_EACH_MAX, WAITING_MAX, Explained, Explaining, Question
from alama.scoring.holds import Day
from tests.entries import DEMO, NOON_US, a_request_id
from tests.policies import with_parts
from tests.vaults import a_vault

DECLINED = (
    b'{"mm_months": 9, "avg_inflow": 14200, "avg_balance": 640, "balance_stability": 0.34, '
    b'"counterparties": 8, "airtime_regularity": 0.45, "requested_amount": 9000}'
)
READY = ReadyModel(builtin(), "KES")
ACTIVE = ActiveModel(READY, ReadyPolicy(default_policy("KES"), READY))
ENGLISH, *_ = languages()
PLAIN = Question("APPROVED", (), 3, ENGLISH)

VAULT = a_vault()

T = TypeVar("T")


def a_caller(active: ActiveModel | AlamaError | None = ACTIVE, book: Book = DEMO) -> Caller:
    key = Key("key_1", book.lender, book.mode, b"", "abcd", USUAL_SCOPES, NOON_US)
    return Caller(key, book, active, VAULT.ring(book.lender))


def ask(
    use: Explaining,
    body: bytes = DECLINED,
    question: Question = PLAIN,
    active: ActiveModel | AlamaError | None = ACTIVE,
    book: Book = DEMO,
) -> Awaitable[Explained]:
    arrival = Arrival(a_request_id(), NOON_US, time.perf_counter())
    return use.explain(a_caller(active, book), arrival, body, question)


def tell(story: Callable[[Explaining], Awaitable[T]]) -> T:
    """Let a story happen in an event loop of its own."""

    async def told() -> T:
        use = Explaining(lambda *_: NOBODY)
        try:
            return await story(use)
        finally:
            use.close()

    return asyncio.run(told())


def explained(
    body: bytes = DECLINED,
    question: Question = PLAIN,
    active: ActiveModel | AlamaError | None = ACTIVE,
) -> Explained:
    return tell(lambda use: ask(use, body, question, active))


def test_the_assessment_is_the_one_that_a_score_would_have() -> None:
    said = explained()
    application = Intake(PRODUCT).read(DECLINED)
    assert said.application == application
    assert said.explanation.assessment == assess(READY, ACTIVE.policy, application)
    assert said.explanation.assessment.decision is Decision.DECLINED
    assert said.processing_ms >= 1


def test_every_way_leads_to_what_was_asked_for() -> None:
    ways = explained().explanation.recourse.counterfactuals
    assert len(ways) == 3
    assert all(way.assessment.decision is Decision.APPROVED for way in ways)
    ways = explained(question=Question("B", (), 2, ENGLISH)).explanation.recourse.counterfactuals
    assert len(ways) == 2
    assert all(way.assessment.tier in {"A", "B"} for way in ways)


def test_what_is_locked_stays_as_it_is_in_either_spelling() -> None:
    for locked in ("mm_months", "mobile_money_months"):
        question = Question("APPROVED", (locked, "requested_amount"), 5, ENGLISH)
        recourse = explained(question=question).explanation.recourse
        changed = {one.field for way in recourse.counterfactuals for one in way.changes}
        assert changed
        assert not changed & {"mm_months", "requested_amount"}


@pytest.mark.parametrize(
    "target", ["", "approved", "F", "299", "851", "700.0", "\uff17\uff10\uff10"]
)
def test_a_target_that_the_policy_does_not_know_is_refused(target: str) -> None:
    with pytest.raises(UnknownGoal):
        explained(question=Question(target, (), 3, ENGLISH))


@pytest.mark.parametrize("locked", ["", "avg_balanse"])
def test_a_lock_on_what_is_no_field_is_refused(locked: str) -> None:
    with pytest.raises(UnknownField):
        explained(question=Question("APPROVED", ("mm_months", locked), 3, ENGLISH))


def test_a_book_that_cannot_be_scored_in_is_not_explained_in_either() -> None:
    with pytest.raises(OnboardingIncomplete):
        explained(active=None)
    with pytest.raises(ModelUnavailable):
        explained(active=AlamaError("the model is damaged"))


def test_a_field_that_the_policy_forbids_is_refused() -> None:
    policy = with_parts(default_policy("KES"), law={"forbidden_fields": ("avg_balance",)})
    with pytest.raises(InvalidApplication) as refused:
        explained(active=ActiveModel(READY, ReadyPolicy(policy, READY)))
    assert [problem.pointer for problem in refused.value.problems] == ["/avg_balance"]


def test_where_every_decision_is_held_the_hold_is_what_binds() -> None:
    day = Day()
    day.settle(default_policy("KES"), Pause(0, "payments are down"), {})
    explanation = explained(active=ACTIVE._replace(day=day)).explanation
    assert explanation.assessment.decision is Decision.REVIEW
    assert explanation.recourse.status is Status.NO_RECOURSE
    (bound,) = explanation.recourse.binding
    assert (bound.hindrance, bound.rule) == (Hindrance.RULE, Rule.PAUSED)


def test_where_the_lender_has_no_model_of_its_own_that_is_what_binds() -> None:
    explanation = explained(active=ACTIVE._replace(always=(Rule.SHADOW,))).explanation
    assert explanation.assessment.decision is Decision.REVIEW
    (bound,) = explanation.recourse.binding
    assert (bound.hindrance, bound.rule) == (Hindrance.RULE, Rule.SHADOW)


def test_an_explanation_approves_nothing_of_the_day() -> None:
    day = Day()
    day.settle(with_parts(default_policy("KES"), daily={"volume_max": 1.0}), None, {})
    approved = DECLINED.replace(b"0.34", b"0.9").replace(b'"mm_months": 9', b'"mm_months": 48')
    said = explained(approved, active=ACTIVE._replace(day=day))
    assert said.explanation.assessment.decision is Decision.APPROVED
    assert day.holds == ()


def test_a_search_that_runs_out_of_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "BUDGET_S", 0.0)
    assert not explained().explanation.recourse.optimal


def test_a_policy_is_laid_out_once() -> None:
    async def story(use: Explaining) -> tuple[int, int]:
        for _ in range(3):
            await ask(use)
        told = use._ready.cache_info()
        return told.misses, told.hits

    assert tell(story) == (1, 2)


@contextmanager
def held(use: Explaining) -> Iterator[None]:
    """Keep the thread of the explanations busy until the end of the block."""
    go_on = threading.Event()
    use._queue._thread.submit(go_on.wait)
    try:
        yield
    finally:
        go_on.set()


def test_the_event_loop_goes_on_while_an_explanation_waits() -> None:
    async def story(use: Explaining) -> None:
        with held(use):
            asked = asyncio.ensure_future(ask(use))
            for _ in range(20):
                await asyncio.sleep(0)
            assert not asked.done()
        assert (await asked).explanation.recourse.status is Status.FOUND

    tell(story)


def all_places(use: Explaining) -> list[asyncio.Future[Explained]]:
    books = [DEMO, Book("other", Mode.TEST)]
    return [
        asyncio.ensure_future(ask(use, book=book))
        for book in books
        for _ in range(WAITING_MAX // len(books))
    ]


def test_whoever_comes_when_too_many_wait_is_refused_and_the_others_are_answered() -> None:
    async def story(use: Explaining) -> None:
        with held(use):
            waiting = all_places(use)
            await asyncio.sleep(0)
            with pytest.raises(Busy):
                await ask(use, book=Book("third", Mode.TEST))
        assert len(await asyncio.gather(*waiting)) == WAITING_MAX
        await ask(use)

    tell(story)


def test_one_lender_does_not_take_the_places_of_others() -> None:
    async def story(use: Explaining) -> None:
        with held(use):
            waiting = [asyncio.ensure_future(ask(use)) for _ in range(WAITING_EACH_MAX)]
            await asyncio.sleep(0)
            with pytest.raises(Busy):
                await ask(use)
            waiting.append(asyncio.ensure_future(ask(use, book=Book("other", Mode.TEST))))
            await asyncio.sleep(0)
        assert len(await asyncio.gather(*waiting)) == WAITING_EACH_MAX + 1

    tell(story)


def test_a_wrong_request_is_refused_however_many_wait() -> None:
    async def story(use: Explaining) -> None:
        with held(use):
            waiting = all_places(use)
            await asyncio.sleep(0)
            with pytest.raises(InvalidApplication):
                await ask(use, b"{}")
        await asyncio.gather(*waiting)

    tell(story)
