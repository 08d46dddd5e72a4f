"""The worker, over a real outbox and receivers that behave as a test says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from itertools import count

import pytest
from sqlalchemy import update

from alama.platform.clock import Leap
from alama.platform.database import tables
from alama.platform.days import DAY_US
from alama.platform.errors import StoreUnavailable
from alama.webhooks.courier import Ready
from alama.webhooks.event_store import EventStore
from alama.webhooks.records import DeliveryResult, Due, SendError
from alama.webhooks.schedule import FAILING_US_MAX
from alama.webhooks.slots import ENDPOINT_MAX
from tests.outboxes import BUSY, GONE, OK
from tests.unit.webhooks.setting import PACE, WITHIN_S, Given, answers, fails, now_us, stalls
from tests.webhooked import an_event


def test_every_event_reaches_its_endpoint_once_and_is_settled(given: Given) -> None:
    async def scenario() -> None:
        at = given(a=answers)
        at.announce("a", 50)
        async with at.working():
            await at.until(lambda: len(at.outbox.settled) == 50)
        assert at.receivers.received["a"] == 50
        assert all(one.verdict.delivered for one in at.outbox.settled)
        assert {one.attempt.number for one in at.told.attempts} == {1}

    asyncio.run(scenario())


def test_answers_that_come_together_are_noted_in_one_transaction(given: Given) -> None:
    async def scenario() -> None:
        at = given(a=answers)
        at.announce("a", 120)
        async with at.working():
            await at.until(lambda: len(at.outbox.settled) == 120)
        assert at.receivers.most["a"] == 8
        assert at.outbox.settlements < 60

    asyncio.run(scenario())


def test_a_stalled_endpoint_holds_one_place_and_delays_nobody(given: Given) -> None:
    async def scenario() -> None:
        at = given(stalled=stalls, healthy=answers)
        at.announce("stalled", 50)
        at.announce("healthy", 50)
        async with at.working():
            await at.until(lambda: at.receivers.received["healthy"] == 50)
            assert at.receivers.under_way["stalled"] == 1
        assert at.receivers.most["stalled"] == 1

    asyncio.run(scenario())


def test_a_backlog_of_one_lender_is_not_in_the_way_of_an_event_of_another(given: Given) -> None:
    async def scenario() -> None:
        at = given(crowd=answers, single=answers)
        at.announce("crowd", 2_000)
        async with at.working():
            await at.until(lambda: at.receivers.received["crowd"] > 20)
            before = at.receivers.received["crowd"]
            at.announce("single", 1)
            await at.until(lambda: at.receivers.received["single"] == 1)
            assert at.receivers.received["crowd"] < 2_000
            assert before < at.receivers.received["crowd"] + 1

    asyncio.run(scenario())


def test_what_fails_is_due_again_later_and_not_at_once(given: Given) -> None:
    async def scenario() -> None:
        at = given(a=fails)
        at.announce("a", 1)
        at.clock.stop()
        async with at.working():
            await at.until(lambda: len(at.outbox.settled) == 1)
            await at.until_it_has_looked()
        (settled,) = at.outbox.settled
        assert not settled.verdict.delivered
        assert settled.verdict.next_us is not None
        assert 4_000_000 < settled.verdict.next_us - at.clock() < 6_000_000

    asyncio.run(scenario())


def test_an_endpoint_that_is_gone_is_disabled_and_told(given: Given) -> None:
    async def gone() -> DeliveryResult:
        return GONE

    async def scenario() -> None:
        at = given(a=gone)
        at.announce("a", 1)
        async with at.working():
            await at.until(lambda: bool(at.told.ended))
        assert [one.book.lender for one in at.told.ended] == ["a"]

    asyncio.run(scenario())


@pytest.mark.parametrize("leap", [None, Leap(DAY_US)], ids=["trusted", "leapt"])
def test_an_endpoint_is_disabled_for_failing_by_a_time_that_is_trusted_alone(
    given: Given, leap: Leap | None
) -> None:
    async def scenario() -> None:
        at = given(a=fails)
        at.clock.leap = leap
        since_us = now_us() - FAILING_US_MAX
        with at.outbox.database.engine.begin() as connection:
            connection.execute(update(tables.webhook_endpoints).values(failing_since_us=since_us))
        at.announce("a", 1)
        async with at.working():
            await at.until(lambda: bool(at.outbox.settled))
        assert bool(at.told.ended) == (leap is None)

    asyncio.run(scenario())


def test_a_delivery_that_breaks_in_our_hands_is_told_and_tried_again(given: Given) -> None:
    async def breaks() -> DeliveryResult:
        raise KeyError("a defect")

    async def scenario() -> None:
        at = given(a=breaks, b=answers)
        at.announce("a", 1)
        at.announce("b", 1)
        async with at.working():
            await at.until(lambda: len(at.outbox.settled) == 2)
        assert [type(fault) for fault in at.told.faults] == [KeyError]
        failed = next(one for one in at.outbox.settled if not one.verdict.delivered)
        assert failed.attempt.error is SendError.DEFECT
        assert failed.verdict.next_us is not None

    asyncio.run(scenario())


def test_while_the_database_is_away_answers_are_kept_and_noted_afterwards(given: Given) -> None:
    async def scenario() -> None:
        async def answers_in_a_bad_moment() -> DeliveryResult:
            at.outbox.database.away = True
            return OK

        at = given(a=answers_in_a_bad_moment)
        at.announce("a", 1)
        async with at.working():
            await at.until(lambda: bool(at.told.outages))
            assert at.outbox.settled == []
            at.outbox.database.away = False
            await at.until(lambda: len(at.outbox.settled) == 1)
        assert at.receivers.received["a"] == 1

    asyncio.run(scenario())


def test_a_database_that_is_away_is_asked_now_and_then_and_not_all_the_time(given: Given) -> None:
    async def scenario() -> None:
        async def answers_in_a_bad_moment() -> DeliveryResult:
            at.outbox.database.away = True
            return OK

        async def answers_a_little_later() -> DeliveryResult:
            await at.until(lambda: bool(at.told.outages))
            return OK

        pace = PACE._replace(away_s=0.05)
        at = given(pace, b=answers_a_little_later, a=answers_in_a_bad_moment)
        at.announce("b", 1)
        async with at.working():
            await at.until(lambda: at.receivers.under_way["b"] == 1)
            at.announce("a", 1)
            await at.until(lambda: bool(at.told.outages))
            began_s = time.monotonic()
            await asyncio.sleep(0.15)
            passed_s = time.monotonic() - began_s
            assert len(at.told.outages) <= 2 + passed_s / pace.away_s

    asyncio.run(scenario())


def test_a_stop_waits_for_what_is_under_way_and_begins_nothing_new(given: Given) -> None:
    let_go = asyncio.Event()

    async def waits() -> DeliveryResult:
        await let_go.wait()
        return OK

    async def scenario() -> None:
        at = given(PACE._replace(drain_s=WITHIN_S), a=waits)
        at.announce("a", 10)
        async with at.working():
            await at.until(lambda: at.receivers.under_way["a"] == 1)
            at.worker.stop()
            asyncio.get_running_loop().call_later(0.05, let_go.set)
        assert at.receivers.received["a"] == 1
        assert len(at.outbox.settled) == 1
        assert at.outbox.claimed == []

    asyncio.run(scenario())


def test_a_stop_gives_back_what_does_not_end_in_time(given: Given) -> None:
    async def scenario() -> None:
        at = given(a=stalls, b=answers)
        at.announce("a", 2)
        at.announce("b", 1)
        async with at.working():
            await at.until(lambda: at.receivers.under_way["a"] == 1)
            await at.until(lambda: len(at.outbox.settled) == 1)
            assert len(at.outbox.claimed) == 1
        assert at.outbox.claimed == []
        assert at.outbox.backlog().deliveries == 2
        assert at.receivers.under_way["a"] == 0

    asyncio.run(scenario())


def test_what_signs_is_made_ready_once_for_each_endpoint_of_a_claim(given: Given) -> None:
    async def scenario() -> None:
        at = given(a=answers)
        at.announce("a", 50)
        async with at.working():
            await at.until(lambda: at.receivers.received["a"] == 50)
        assert 0 < at.receivers.prepared["a"] < 50

    asyncio.run(scenario())


def test_a_receiver_that_asks_us_to_wait_is_sent_nothing_else_meanwhile(given: Given) -> None:
    async def busy() -> DeliveryResult:
        return BUSY

    async def scenario() -> None:
        at = given(a=busy, b=answers)
        at.announce("a", 20)
        async with at.working():
            await at.until(lambda: len(at.outbox.settled) == 1)
            at.announce("b", 20)
            await at.until(lambda: at.receivers.received["b"] == 20)
        assert at.receivers.order.count("a") == 1

    asyncio.run(scenario())


def test_a_receiver_that_is_down_is_not_tried_with_all_that_waits_for_it(given: Given) -> None:
    async def scenario() -> None:
        at = given(a=fails, b=answers)
        at.announce("a", 60)
        at.announce("b", 60)
        at.clock.stop()
        async with at.working():
            await at.until(lambda: at.receivers.received["b"] == 60)
        assert at.receivers.order.count("a") <= 2

    asyncio.run(scenario())


def test_those_who_have_nothing_due_hold_no_slots(given: Given) -> None:
    quiet = {f"quiet{number}": answers for number in range(10)}

    async def scenario() -> None:
        at = given(**quiet, zealous=answers)
        for lender in quiet:
            at.announce(lender, 10)
        async with at.working():
            await at.until(lambda: len(at.outbox.settled) == 100)
            at.announce("zealous", 60)
            await at.until(lambda: at.receivers.received["zealous"] == 60)
        assert at.receivers.most["zealous"] == ENDPOINT_MAX

    asyncio.run(scenario())


def test_what_was_claimed_when_the_secrets_could_not_be_read_begins_as_soon_as_they_can(
    given: Given,
) -> None:
    async def scenario() -> None:
        at = given(a=answers)
        tries, prepare = count(), at.receivers.prepare

        def away_at_first(claimed: Sequence[Due]) -> Sequence[Ready]:
            if next(tries) < 3:
                raise StoreUnavailable("away")
            return prepare(claimed)

        at.receivers.prepare = away_at_first  # type: ignore[method-assign]
        at.announce("a", 1)
        async with at.working():
            await at.until(lambda: len(at.outbox.settled) == 1)
        assert len(at.told.outages) == 3
        assert at.receivers.received["a"] == 1

    asyncio.run(scenario())


def test_what_could_not_begin_for_half_its_lease_is_left_to_whoever_comes_first(
    given: Given,
) -> None:
    half_us = int(PACE.lease_s * 1_000_000) // 2

    async def scenario() -> None:
        at = given(a=answers)
        tries, prepare = count(), at.receivers.prepare

        def away_at_first(claimed: Sequence[Due]) -> Sequence[Ready]:
            number = next(tries)
            if number < 3:
                raise StoreUnavailable("away")
            if number == 3:
                at.clock.ahead_us += half_us
            return prepare(claimed)

        at.receivers.prepare = away_at_first  # type: ignore[method-assign]
        at.announce("a", 1)
        async with at.working():
            await at.until(lambda: at.receivers.prepared["a"] == 1)
            await at.until_it_has_looked()
            assert at.receivers.order == []
            assert at.receivers.prepared["a"] == 1  # nobody may have it yet
            at.clock.ahead_us += half_us
            await at.until(lambda: len(at.outbox.settled) == 1)
        assert at.receivers.order == ["a"]
        assert at.receivers.prepared["a"] == 2

    asyncio.run(scenario())


def test_what_somebody_wants_once_more_is_sent_in_batches(given: Given) -> None:
    async def scenario() -> None:
        at = given(a=answers)
        at.announce("a", 60)
        async with at.working():
            await at.until(lambda: len(at.outbox.settled) == 60)
            (endpoint,) = at.outbox.endpoints().known
            wish = EventStore(at.outbox.database).send_since(
                endpoint.book, endpoint.id, 0, now_us()
            )
            assert wish == 60
            await at.until(lambda: at.receivers.received["a"] == 120)

    asyncio.run(scenario())


def test_an_endpoint_whose_row_cannot_be_read_is_told_once_and_is_in_nobodys_way(
    given: Given,
) -> None:
    table = tables.webhook_endpoints

    async def scenario() -> None:
        at = given(PACE._replace(endpoints_s=0.0), a=answers, b=answers)
        (_, damaged) = at.outbox.endpoints().known
        odd = an_event(damaged.book, at_us=now_us())._replace(mode="odd")
        with at.outbox.database.engine.begin() as connection:
            connection.execute(update(table).where(table.c.id == damaged.id).values(mode="odd"))
        at.outbox.announce(odd)
        at.announce("a", 9)  # more than are claimed at once
        async with at.working():
            await at.until(lambda: at.receivers.received["a"] == 9)
        assert at.told.damaged == [damaged.id]
        assert at.outbox.backlog() == (0, 0)

    asyncio.run(scenario())
