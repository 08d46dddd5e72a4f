"""Places are shared fairly, whatever receivers do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from alama.webhooks.records import LEFT_ALONE_S_MAX, Endpoint
from alama.webhooks.slots import ENDPOINT_MAX, MORE_MAX, PAUSE_S_MAX, TOTAL_MAX, Slots
from tests.outboxes import an_endpoint

SECOND_US = 1_000_000
NOW_US = 1_000 * SECOND_US


def proven(places: Slots, *endpoints: Endpoint) -> None:
    """Let endpoints answer until they have all their places."""
    for one in endpoints:
        for _ in range(ENDPOINT_MAX):
            places.take(one)
            places.delivered(one)


def take_all(places: Slots, endpoints: Sequence[Endpoint], offered: dict[str, int]) -> None:
    for one in endpoints:
        for _ in range(offered.get(one.id, 0)):
            places.take(one)


def fail(places: Slots, one: Endpoint, at_us: int, asked_s: int = 0) -> None:
    places.take(one)
    places.failed(one, asked_s, at_us)


def left_alone_s(places: Slots, one: Endpoint, now_us: int) -> int:
    """For how many seconds from now on an endpoint is offered nothing."""
    seconds = 0
    while not places.offer([one], now_us + seconds * SECOND_US):
        seconds += 1
    return seconds


def test_an_endpoint_begins_with_one_place_and_gets_one_more_for_each_answer() -> None:
    places, one = Slots(), an_endpoint("a")
    for allowed in (1, 2, 3, 4, 5, 6, 7, 8, 8):
        assert places.offer([one], NOW_US) == {one.id: allowed}
        places.take(one)
        places.delivered(one)


def test_a_failure_now_and_then_halves_the_places_of_an_endpoint_and_stops_nothing() -> None:
    places, one = Slots(), an_endpoint("a")
    proven(places, one)
    for left, then in ((4, 5), (2, 3), (1, 2), (1, 2)):
        fail(places, one, NOW_US)
        assert places.offer([one], NOW_US) == {one.id: left}
        places.take(one)
        places.delivered(one)
        assert places.offer([one], NOW_US) == {one.id: then}


def test_an_endpoint_that_fails_in_a_row_is_left_alone_longer_and_longer() -> None:
    places, one = Slots(), an_endpoint("a")
    now_us, pauses_s = NOW_US, []
    for _ in range(200):
        fail(places, one, now_us)
        pauses_s.append(left_alone_s(places, one, now_us))
        now_us += pauses_s[-1] * SECOND_US
    assert pauses_s[:9] == [0, 1, 2, 4, 8, 16, 32, 60, 60]
    assert max(pauses_s) == PAUSE_S_MAX


def test_those_that_were_under_way_together_fail_as_one() -> None:
    places, one = Slots(), an_endpoint("a")
    proven(places, one)
    take_all(places, [one], {one.id: ENDPOINT_MAX})
    for _ in range(ENDPOINT_MAX):
        places.failed(one, 0, NOW_US)
    assert left_alone_s(places, one, NOW_US) == 1


def test_one_delivery_asks_whether_a_receiver_is_back_and_an_answer_gives_its_places_back() -> None:
    places, one = Slots(), an_endpoint("a")
    proven(places, one)
    fail(places, one, NOW_US)
    fail(places, one, NOW_US)
    later_us = NOW_US + SECOND_US
    assert places.offer([one], later_us - 1) == {}
    assert places.offer([one], later_us) == {one.id: 1}
    places.take(one)
    assert places.offer([one], later_us) == {}
    places.delivered(one)
    assert places.offer([one], later_us) == {one.id: ENDPOINT_MAX}


def test_an_endpoint_that_asks_for_patience_is_left_alone_for_so_long_with_all_its_deliveries() -> (
    None
):
    places, one, other = Slots(), an_endpoint("a"), an_endpoint("b")
    proven(places, one)
    fail(places, one, NOW_US, asked_s=30)
    assert left_alone_s(places, one, NOW_US) == 30
    assert places.offer([one, other], NOW_US) == {other.id: 1}


def test_an_answer_to_what_was_under_way_does_not_end_the_patience_that_was_asked_for() -> None:
    places, one = Slots(), an_endpoint("a")
    proven(places, one)
    take_all(places, [one], {one.id: 2})
    places.failed(one, 30, NOW_US)
    places.delivered(one)
    assert left_alone_s(places, one, NOW_US) == 30


def test_a_shorter_wish_does_not_end_a_longer_one() -> None:
    places, one = Slots(), an_endpoint("a")
    take_all(places, [one], {one.id: 2})
    places.failed(one, 30, NOW_US)
    places.failed(one, 2, NOW_US)
    assert left_alone_s(places, one, NOW_US) == 30


def test_whether_an_endpoint_that_asks_for_a_day_is_back_is_asked_after_an_hour() -> None:
    places, one = Slots(), an_endpoint("a")
    fail(places, one, NOW_US, asked_s=86_400)
    assert left_alone_s(places, one, NOW_US) == LEFT_ALONE_S_MAX


def test_our_own_faults_take_no_place_from_an_endpoint_and_do_not_follow_each_other_at_once() -> (
    None
):
    places, one = Slots(), an_endpoint("a")
    proven(places, one)
    for number in range(5):
        at_us = NOW_US + number * SECOND_US
        assert places.offer([one], at_us) == {one.id: ENDPOINT_MAX}
        places.take(one)
        places.spoiled(one, at_us)
        assert places.offer([one], at_us) == {}


def test_a_stalled_endpoint_holds_one_place_and_takes_none_from_others() -> None:
    places, stalled, healthy = Slots(), an_endpoint("a"), an_endpoint("b")
    proven(places, stalled, healthy)
    take_all(places, [stalled], {stalled.id: ENDPOINT_MAX})
    for _ in range(ENDPOINT_MAX):
        places.failed(stalled, 0, NOW_US)
    both, later_us = [stalled, healthy], NOW_US + SECOND_US
    take_all(places, [stalled], places.offer(both, later_us))
    assert places.taken == 1
    assert places.offer(both, later_us) == {healthy.id: ENDPOINT_MAX}


def test_scarce_places_go_round_between_lenders_first_then_between_their_endpoints() -> None:
    places = Slots()
    crowd = [an_endpoint("crowd", number) for number in range(TOTAL_MAX + 100)]
    others = [an_endpoint(name) for name in ("b", "c", "d")]
    offered = places.offer([*crowd, *others], NOW_US)
    assert sum(offered.values()) == TOTAL_MAX
    assert all(one.id in offered for one in others)


def test_those_who_were_left_out_are_the_first_of_the_next_turn() -> None:
    places = Slots()
    lenders = [an_endpoint(f"lender{number}") for number in range(TOTAL_MAX + 100)]
    first = places.offer(lenders, NOW_US)
    take_all(places, lenders, first)
    left_out = [one for one in lenders if one.id not in first]
    for one in lenders:
        if one.id in first:
            places.delivered(one)
    second = places.offer(lenders, NOW_US)
    assert len(left_out) == 100
    assert all(one.id in second for one in left_out)


def test_an_offer_that_was_not_taken_costs_nobody_a_turn() -> None:
    places = Slots()
    lenders = [an_endpoint(f"lender{number}") for number in range(TOTAL_MAX + 100)]
    first = places.offer(lenders, NOW_US)
    assert places.offer(lenders, NOW_US) == first


def test_where_all_have_much_to_send_each_gets_its_turn_whatever_its_name() -> None:
    places = Slots()
    busy = [an_endpoint(f"lender{number:03}") for number in range(3 * MORE_MAX)]
    proven(places, *busy)
    began: Counter[str] = Counter()
    for _ in range(300):
        offered = places.offer(busy, NOW_US)
        take_all(places, busy, offered)
        began.update(offered)
        for one in busy:
            for _ in range(offered.get(one.id, 0)):
                places.delivered(one)
    assert min(began.values()) > 0.9 * max(began.values())


def test_however_many_receivers_stall_at_once_a_newcomer_finds_a_place() -> None:
    places = Slots()
    busy = [an_endpoint(f"busy{number}") for number in range(100)]
    proven(places, *busy)
    take_all(places, busy, places.offer(busy, NOW_US))
    take_all(places, busy, places.offer(busy, NOW_US))
    assert places.taken == MORE_MAX + len(busy)
    newcomer = an_endpoint("new")
    assert places.offer([*busy, newcomer], NOW_US) == {newcomer.id: 1}


def test_nothing_is_remembered_of_endpoints_that_are_gone_but_what_is_under_way() -> None:
    places, gone, leaving = Slots(), an_endpoint("gone"), an_endpoint("leaving")
    proven(places, gone, leaving)
    places.take(leaving)
    places.forget_all_but([])
    assert places.taken == 1
    places.delivered(leaving)
    places.forget_all_but([])
    assert places.offer([gone, leaving], NOW_US) == {gone.id: 1, leaving.id: 1}


@pytest.mark.parametrize("change", [{"url": "https://new.example/"}, {"generation": 1}])
def test_an_endpoint_that_has_changed_is_not_left_alone_for_what_it_was(
    change: dict[str, Any],
) -> None:
    places, before = Slots(), an_endpoint("a")
    places.take(before)
    fail(places, before, NOW_US, asked_s=3_600)
    after = msgspec.structs.replace(before, **change)
    places.forget_all_but([after])
    assert places.offer([after], NOW_US) == {}, "one is still under way"
    places.failed(before, 3_600, NOW_US)
    assert places.offer([after], NOW_US) == {after.id: 1}


@given(st.lists(st.integers(1, 40), min_size=1, max_size=40))
def test_no_lender_gets_two_places_more_than_another_that_could_use_them(
    sizes: list[int],
) -> None:
    places = Slots()
    endpoints = [
        an_endpoint(f"lender{number}", count)
        for number, size in enumerate(sizes)
        for count in range(size)
    ]
    by_id = {one.id: one.book.lender for one in endpoints}
    got: Counter[str] = Counter()
    for endpoint_id, count in places.offer(endpoints, NOW_US).items():
        got[by_id[endpoint_id]] += count
    for number, size in enumerate(sizes):
        mine = got[f"lender{number}"]
        assert mine == size or mine >= max(got.values()) - 1


class AnyReceivers(RuleBasedStateMachine):
    """Deliveries begin and end in any order; the limits hold all the time."""

    def __init__(self) -> None:
        super().__init__()
        self.places = Slots()
        self.endpoints = [an_endpoint(lender, n) for lender in "abc" for n in range(30)]
        self.by_id = {one.id: one for one in self.endpoints}
        self.under_way: Counter[str] = Counter()
        self.now_us = NOW_US

    @rule(count=st.integers(0, 90), seconds=st.integers(0, 3))
    def claim(self, count: int, seconds: int) -> None:
        self.now_us += seconds * SECOND_US
        chosen = self.endpoints[:count]
        offered = self.places.offer(chosen, self.now_us)
        take_all(self.places, chosen, offered)
        self.under_way.update(offered)

    @precondition(lambda self: self.under_way.total())
    @rule(data=st.data(), how=st.sampled_from(["delivered", "failed", "spoiled"]))
    def end(self, data: st.DataObject, how: str) -> None:
        endpoint_id = data.draw(st.sampled_from(sorted(+self.under_way)))
        endpoint = self.by_id[endpoint_id]
        self.under_way[endpoint_id] -= 1
        match how:
            case "delivered":
                self.places.delivered(endpoint)
            case "failed":
                self.places.failed(endpoint, data.draw(st.integers(0, 5)), self.now_us)
            case _:
                self.places.spoiled(endpoint, self.now_us)

    @rule(count=st.integers(0, 90))
    def go(self, count: int) -> None:
        self.places.forget_all_but(self.endpoints[:count])

    @invariant()
    def the_limits_hold(self) -> None:
        assert self.places.taken == self.under_way.total() <= TOTAL_MAX
        assert all(count <= ENDPOINT_MAX for count in self.under_way.values())
        assert self.under_way.total() - len(+self.under_way) <= MORE_MAX


TestAnyReceivers = AnyReceivers.TestCase
