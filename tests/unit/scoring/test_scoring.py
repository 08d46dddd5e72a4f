"""Nothing is answered before it is kept, and nothing is answered twice."""

import asyncio
import hashlib
import time
from collections.abc import Awaitable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.errors import AlamaError, InvalidApplication, InvalidModel
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Policy, Rule
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.lenders.records import Key, OnboardingIncomplete, Pause
from alama.memory.store import Stand
from alama.platform.book import USUAL_SCOPES, Book, Mode
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.errors import Erased, ModelUnavailable, StoreUnavailable
from alama.platform.http.exchange import Arrival
from alama.scoring import scoring
from alama.scoring.directory import ActiveModel, Caller
from alama.scoring.holds import Day
from alama.scoring.records import Earlier, Entry, IdempotencyInFlight, IdempotencyKeyReused
from alama.scoring.replay import open_score
from alama.scoring.scoring import Answer, Given, Once, Scoring, only_once
from alama.vault.envelope import REPLY, place_in
from alama.vault.ring import ApplicantKey
from tests.databases import sqlite_url
from tests.entries import DEMO, NOON_US, a_request_id, nothing_stored
from tests.factories import a_model
from tests.policies import with_parts
from tests.stores import lenders_in, scores_in
from tests.vaults import a_vault, to_be_kept, vault_of

BODY = (
    b'{"mobile_money_months": 24, "monthly_inflow": 18500, '
    b'"stability_score": 0.7, "airtime_regularity": 0.8}'
)
READY = ReadyModel(a_model(), "KES")
VAULT = a_vault()
ACTIVE = ActiveModel(READY, ReadyPolicy(default_policy("KES"), READY))


class HeldLedger:
    """A ledger that keeps an entry when it is told to, and not before."""

    def __init__(self) -> None:
        self.appended: list[tuple[Entry, asyncio.Future[Earlier | None]]] = []

    def append(self, entry: object) -> Awaitable[Earlier | None]:
        told: asyncio.Future[Earlier | None] = asyncio.get_running_loop().create_future()
        if isinstance(entry, Entry):
            self.appended.append((entry, told))
        else:  # a question about a borrower finds nobody
            told.set_result(None)
        return told


def a_caller(book: Book = DEMO, active: ActiveModel | AlamaError | None = ACTIVE) -> Caller:
    key = Key("key_1", book.lender, book.mode, b"", "abcd", USUAL_SCOPES, NOON_US)
    return Caller(key, book, active, VAULT.ring(book.lender))


def render(given: Given) -> bytes:
    return given.request_id.encode()


class HeldScoring:
    """The use case on a held ledger: ask, let some turns of the loop pass, look."""

    def __init__(self) -> None:
        self.ledger = HeldLedger()
        self.scoring = Scoring(self.ledger, VAULT, nothing_stored)

    def ask(
        self, once: Once | None = None, body: bytes = BODY, caller: Caller | None = None
    ) -> asyncio.Task[Answer]:
        arrival = Arrival(a_request_id(), NOON_US, time.perf_counter())
        return asyncio.create_task(
            self.scoring.score(caller or a_caller(), arrival, body, render, once)
        )

    def keep(self, earlier: Earlier | None = None) -> Entry:
        """Keep the oldest entry that waits."""
        entry, told = self.ledger.appended.pop(0)
        told.set_result(earlier)
        return entry

    def lose(self) -> None:
        _, told = self.ledger.appended.pop(0)
        told.set_exception(StoreUnavailable("lost"))


async def some_turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


ONCE = only_once(b"order-1", BODY, b"")
_fingerprint = VAULT.ring(DEMO.lender).fingerprint
KEPT = Once(_fingerprint(ONCE.key_digest), _fingerprint(ONCE.request_digest), ())


def test_the_answer_waits_until_the_score_is_kept() -> None:
    async def story() -> None:
        house = HeldScoring()
        asked = house.ask()
        await some_turns()
        assert not asked.done()
        entry = house.keep()
        answer = await asked
        assert answer == (entry.score.request_id.encode(), False)

    asyncio.run(story())


def test_a_score_that_cannot_be_kept_is_not_answered() -> None:
    async def story() -> None:
        house = HeldScoring()
        asked = house.ask()
        await some_turns()
        house.lose()
        with pytest.raises(StoreUnavailable):
            await asked

    asyncio.run(story())


def test_what_is_kept_names_everything_that_made_it() -> None:
    async def story() -> Entry:
        house = HeldScoring()
        asked = house.ask(ONCE)
        await some_turns()
        entry = house.keep()
        await asked
        return entry

    entry = asyncio.run(story())
    score, idempotency = entry.score, entry.idempotency
    assert (score.lender, score.mode, score.key_id) == ("demo", "test", "key_1")
    assert (score.model_id, score.policy_id) == (READY.model.id, ACTIVE.policy.id)
    assert score.created_us == NOON_US
    assert score.processing_ms >= 1
    sealed = to_be_kept(entry)
    assert sealed.application == BODY
    assert sealed.assessment.score == score.score
    assert idempotency is not None
    assert idempotency.request_id == score.request_id
    assert entry.unsealed.reply == score.request_id.encode()
    assert idempotency.key_digest == KEPT.key_digest
    assert hashlib.sha256(b"order-1").digest() not in idempotency, "which could be guessed"


@pytest.mark.parametrize("reference", [None, "A-1"])
def test_what_was_sent_is_sealed_where_it_is_stored(tmp_path: Path, reference: str | None) -> None:
    body = BODY if reference is None else BODY.replace(b"{", b'{"applicant_ref": " A-1 ", ')
    entry = kept(body=body)
    assert body in entry.unsealed.record, "or to look for it in the row would prove nothing"
    ring = VAULT.ring("demo")
    assert entry.unsealed.subject == (reference and ring.subject("test", reference))
    database = databases.connect(sqlite_url(tmp_path))
    migrate.upgrade(database)
    lenders_in(database, "demo")
    scores = scores_in(database)
    [fate] = scores.commit([entry])
    assert fate is None or (isinstance(fate, Stand) and fate.kept)
    stored = scores.find(DEMO, entry.score.request_id)
    database.close()
    assert stored.row.in_clear == entry.score.in_clear
    assert b"monthly_inflow" not in stored.row.sealed
    assert (stored.row.seal_key_id is None) == (reference is not None)
    assert (stored.row.applicant_key_id is None) == (reference is None)
    assert open_score(vault_of(database), stored).application == body


def test_no_two_records_have_the_same_salt() -> None:
    salts = {to_be_kept(kept()).salt for _ in range(3)}
    assert {len(salt) for salt in salts} == {16}
    assert len(salts) == 3


def test_a_retry_of_one_who_was_erased_is_told_so() -> None:
    async def story() -> None:
        house = HeldScoring()
        asked = house.ask(ONCE)
        await some_turns()
        gone = ApplicantKey("apk_1", "vk_1", None, NOON_US)
        house.keep(Earlier(KEPT.request_digest, "req_1", b"", None, gone))
        with pytest.raises(Erased, match="was erased on 2026-11-15"):
            await asked

    asyncio.run(story())


def test_a_retry_gets_the_first_answer() -> None:
    async def story() -> None:
        house = HeldScoring()
        asked = house.ask(ONCE)
        await some_turns()
        where = place_in(DEMO, "req_1", REPLY)
        ring = VAULT.ring(DEMO.lender)
        reply = ring.own_key(where).seal(b"the first", where)
        house.keep(Earlier(KEPT.request_digest, "req_1", reply, ring.seal_key_id))
        assert await asked == (b"the first", True)

    asyncio.run(story())


def test_another_request_under_the_key_is_refused() -> None:
    async def story() -> None:
        house = HeldScoring()
        asked = house.ask(ONCE)
        await some_turns()
        house.keep(Earlier(b"another request", "req_1", b"the first"))
        with pytest.raises(IdempotencyKeyReused):
            await asked

    asyncio.run(story())


def test_requests_that_come_while_the_first_is_in_flight_get_its_answer_and_ask_no_database() -> (
    None
):
    async def story() -> None:
        house = HeldScoring()
        first, *others = [house.ask(ONCE) for _ in range(20)]
        await some_turns()
        assert len(house.ledger.appended) == 1
        assert not any(other.done() for other in others)
        entry = house.keep()
        told = entry.score.request_id.encode()
        assert await first == (told, False)
        assert await asyncio.gather(*others) == [(told, True)] * 19
        assert house.ledger.appended == []

    asyncio.run(story())


def test_a_request_waits_no_longer_than_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    assert scoring.IN_FLIGHT_WAIT_S == 1.0
    monkeypatch.setattr(scoring, "IN_FLIGHT_WAIT_S", 0.05)

    async def story() -> None:
        house = HeldScoring()
        first = house.ask(ONCE)
        await some_turns()
        began_s = time.monotonic()
        with pytest.raises(IdempotencyInFlight):
            await house.ask(ONCE)
        assert time.monotonic() - began_s >= 0.05
        assert len(house.ledger.appended) == 1
        house.keep()
        assert not (await first).replayed

    asyncio.run(story())


def test_where_the_first_fails_one_of_those_who_wait_takes_its_place() -> None:
    async def story() -> None:
        house = HeldScoring()
        first, *others = [house.ask(ONCE) for _ in range(5)]
        await some_turns()
        house.lose()
        with pytest.raises(StoreUnavailable):
            await first
        await some_turns()
        assert len(house.ledger.appended) == 1
        told = house.keep().score.request_id.encode()
        answers = await asyncio.gather(*others)
        assert {answer.reply for answer in answers} == {told}
        assert sorted(answer.replayed for answer in answers) == [False, True, True, True]

    asyncio.run(story())


def test_another_request_that_waits_is_refused_by_what_was_kept() -> None:
    other = BODY.replace(b"24", b"25")

    async def story() -> None:
        house = HeldScoring()
        first = house.ask(ONCE)
        waiting = house.ask(only_once(b"order-1", other, b""), body=other)
        await some_turns()
        entry = house.keep()
        await first
        await some_turns()
        assert entry.idempotency is not None
        house.keep(Earlier(entry.idempotency.request_digest, "req_1", b"sealed"))
        with pytest.raises(IdempotencyKeyReused):
            await waiting

    asyncio.run(story())


def test_the_flight_is_of_one_book() -> None:
    async def story() -> None:
        house = HeldScoring()
        asked = [
            house.ask(ONCE, caller=a_caller(book))
            for book in (DEMO, Book("demo", Mode.LIVE), Book("umoja", Mode.TEST))
        ]
        await some_turns()
        for _ in asked:
            house.keep()
        assert [answer.replayed for answer in await asyncio.gather(*asked)] == [False] * 3

    asyncio.run(story())


def test_a_request_that_failed_leaves_its_key_free() -> None:
    async def story() -> None:
        house = HeldScoring()
        with pytest.raises(InvalidApplication):
            await house.ask(ONCE, body=b"{}")
        lost = house.ask(ONCE)
        await some_turns()
        house.lose()
        with pytest.raises(StoreUnavailable):
            await lost
        again = house.ask(ONCE)
        await some_turns()
        house.keep()
        assert not (await again).replayed

    asyncio.run(story())


@pytest.mark.parametrize(
    ("active", "told"),
    [(None, OnboardingIncomplete), (InvalidModel("the model is damaged"), ModelUnavailable)],
)
def test_a_book_without_a_model_that_works_cannot_be_scored_in(
    active: AlamaError | None, told: type[AlamaError]
) -> None:
    async def story() -> None:
        house = HeldScoring()
        with pytest.raises(told):
            await house.ask(caller=a_caller(active=active))
        assert house.ledger.appended == []

    asyncio.run(story())


# ------------------------------------------------------------------------------ the policy


def forbidding(*names: str) -> ActiveModel:
    policy = with_parts(default_policy("KES"), law={"forbidden_fields": names})
    return ActiveModel(READY, ReadyPolicy(policy, READY))


def test_every_field_that_the_policy_forbids_is_named_and_nothing_is_kept() -> None:
    active = forbidding("avg_balance", "contacts", "region")
    body = BODY.replace(b"{", b'{"region": "Nyeri", "avg_balance": 0, "avg_outflow": 10, ')

    async def story() -> None:
        house = HeldScoring()
        with pytest.raises(InvalidApplication) as refused:
            await house.ask(body=body, caller=a_caller(active=active))
        assert house.ledger.appended == []
        problems = [(problem.pointer, problem.code) for problem in refused.value.problems]
        assert problems == [("/avg_balance", "prohibited_field"), ("/region", "prohibited_field")]

    asyncio.run(story())


def kept(active: ActiveModel = ACTIVE, body: bytes = BODY) -> Entry:
    """What is kept of an application."""

    async def story() -> Entry:
        house = HeldScoring()
        asked = house.ask(body=body, caller=a_caller(active=active))
        await some_turns()
        entry = house.keep()
        await asked
        return entry

    return asyncio.run(story())


def test_a_forbidden_field_may_be_null() -> None:
    assert kept(forbidding("avg_balance"), BODY.replace(b"{", b'{"avg_balance": null, '))


def bounded(volume_max: float) -> Policy:
    return with_parts(default_policy("KES"), daily={"volume_max": volume_max})


def test_what_was_held_is_stored_with_why_and_with_the_offer_that_would_have_applied() -> None:
    day = Day()
    day.settle(bounded(0.0), Pause(0, "payments are down"), {})
    free, held = kept(), kept(ACTIVE._replace(day=day))
    assert held.score.decision == Decision.REVIEW
    assert held.score.recommended_limit == free.score.recommended_limit > 0.0
    said, otherwise = to_be_kept(held).assessment, to_be_kept(free).assessment
    assert said.holds == (Rule.PAUSED, Rule.DAILY_VOLUME)
    assert said.rules == (*otherwise.rules, "paused", "daily_volume")
    assert said.offer == otherwise.offer


def test_what_always_holds_for_a_model_is_stored_with_why() -> None:
    held = kept(ACTIVE._replace(always=(Rule.SHADOW,)))
    assert held.score.decision == Decision.REVIEW
    assert to_be_kept(held).assessment.holds == (Rule.SHADOW,)


def test_a_bound_is_not_overrun_by_those_who_ask_in_the_same_second() -> None:
    day = Day()
    day.settle(bounded(2.0 * kept().score.recommended_limit), None, {})
    active = ACTIVE._replace(day=day)
    decisions = [kept(active).score.decision for _ in range(4)]
    assert decisions == [Decision.APPROVED, Decision.APPROVED, Decision.REVIEW, Decision.REVIEW]


def test_the_expected_loss_that_is_stored_is_that_of_the_offer() -> None:
    entry = kept()
    offer = to_be_kept(entry).assessment.offer
    assert entry.score.expected_loss == offer.expected_loss > 0.0


def test_nothing_is_expected_to_be_lost_where_nothing_is_offered() -> None:
    declined = kept(body=BODY.replace(b"18500", b"0")).score
    assert declined.decision == Decision.DECLINED
    assert (declined.recommended_limit, declined.expected_loss) == (0.0, 0.0)


requests = st.tuples(st.binary(max_size=20), st.binary(max_size=20))


@given(requests, requests)
def test_two_requests_have_one_name_only_if_body_and_query_are_the_same(
    one: tuple[bytes, bytes], other: tuple[bytes, bytes]
) -> None:
    name = partial(only_once, b"key")
    same = name(*one).request_digest == name(*other).request_digest
    assert same == (one == other)
