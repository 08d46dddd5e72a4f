"""Caps of the portfolio and lots, as one process counts them, and as all of them do."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.lending.circumstances import Segment
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Exploration, Per, Policy, PortfolioCap, Product
from alama.core.lending.policy_check import seal
from alama.core.units import Money
from alama.lenders.store import Registry
from alama.scoring.holds import HOUR_US, Approved, Day, SoFar, filled, first_hour, periods
from alama.scoring.store import Scores
from tests.entries import DEMO, NOON_US, an_entry
from tests.stores import scores_in
from tests.vaults import vault_of

DAY_US = 24 * HOUR_US
LOT = Exploration(0.05, 560, 2_000, 2)
NAIROBI_B = Segment("nairobi", "B")
SEGMENTS = (
    NAIROBI_B,
    Segment(None, "B", "weekly"),
    Segment("nairobi", "C"),
    Segment(None, None),
)


@pytest.fixture
def scores(registry: Registry) -> Scores:
    vault_of(registry._database).ring("demo")
    return scores_in(registry._database)


def with_caps(
    *caps: PortfolioCap, lot: Exploration | None = None, products: tuple[Product, ...] = ()
) -> Policy:
    parts: dict[str, Any] = {"portfolio": caps} if caps else {}
    parts |= {"products": products} if products else {}
    said = {} if lot is None else {"exploration": lot}
    return seal(msgspec.structs.replace(default_policy("KES"), **parts, **said))


def cap(name: str = "new_loans", per: Per = Per.DAY, **bounds: Any) -> PortfolioCap:
    return msgspec.structs.replace(PortfolioCap(name, per), **bounds)


def a_day(policy: Policy, *approved: tuple[Segment, Approved], per: Per = Per.DAY) -> Day:
    day = Day()
    day.settle(policy, None, {per: dict(approved)})
    return day


@pytest.mark.parametrize(
    ("only", "counted"),
    [
        ({}, [True, True, True, True]),
        ({"tiers": ("B",)}, [True, True, False, False]),
        ({"regions": (" Nairobi",)}, [True, False, True, False]),
        ({"tiers": ("B",), "regions": ("nairobi", "mombasa")}, [True, False, False, False]),
        ({"products": ("weekly", "daily")}, [False, True, False, False]),
        ({"products": ("weekly",), "tiers": ("C",)}, [False, False, False, False]),
    ],
)
def test_a_cap_counts_the_loans_that_it_lists(only: dict[str, Any], counted: list[bool]) -> None:
    asked = cap(number_max=10, **only)
    (filling,) = filled([asked], {Per.DAY: {cell: Approved(1) for cell in SEGMENTS}})
    assert [filling.counts(cell) for cell in SEGMENTS] == counted
    assert filling.used.number == sum(counted)


@pytest.mark.parametrize(
    ("bounds", "fits"),
    [
        ({"number_max": 3}, True),
        ({"number_max": 2}, False),
        ({"volume_max": Money(300.0)}, True),
        ({"volume_max": Money(299.0)}, False),
        ({"expected_loss_max": Money(30.0)}, True),
        ({"expected_loss_max": Money(29.0)}, False),
    ],
)
def test_no_loan_is_approved_that_would_go_beyond_a_bound(
    bounds: dict[str, Any], *, fits: bool
) -> None:
    day = a_day(with_caps(cap(**bounds)), (NAIROBI_B, Approved(2, 200.0, 20.0)))
    assert day.full(NAIROBI_B, 100.0, 10.0) == (() if fits else ("new_loans",))


def test_what_a_process_approves_counts_at_once() -> None:
    day = a_day(with_caps(cap(number_max=2, tiers=("B",)), cap("c", number_max=1, tiers=("C",))))
    assert day.bounded
    for _ in range(2):
        assert day.full(NAIROBI_B, 1.0, 0.0) == ()
        day.add(NAIROBI_B, Approved(1, 1.0))
    assert day.full(NAIROBI_B, 1.0, 0.0) == ("new_loans",)
    assert day.full(SEGMENTS[2], 1.0, 0.0) == ()
    assert day.holds == ()


def test_a_room_is_told_to_those_alone_whom_it_may_refuse() -> None:
    weekly, nairobi = (
        cap("w", number_max=1, products=("weekly",)),
        cap("n", number_max=1, regions=("nairobi",)),
    )
    day = a_day(with_caps(weekly, nairobi, products=(Product("weekly", default=True),)))

    def told(region: str | None, product: str | None) -> list[str]:
        return [room.cap for room in day.rooms(region, product, 1.0)]

    assert told(None, None) == told("kisumu", "monthly") == []
    day.add(Segment("nairobi", "B", "weekly"), Approved(1, 1.0))
    assert told(None, None) == told("kisumu", "monthly") == []
    assert told("nairobi", None) == ["n"]
    assert told("kisumu", "weekly") == ["w"]
    assert told("nairobi", "weekly") == ["w", "n"]


PARTS = st.dictionaries(
    st.sampled_from(SEGMENTS),
    st.builds(Approved, *[st.integers(0, 3).map(float)] * 3, st.integers(0, 1)),
    min_size=1,
)


@given(
    before=PARTS,
    more=PARTS,
    most=st.integers(1, 12),
    bound=st.sampled_from(("number_max", "volume_max", "expected_loss_max")),
    only=st.sampled_from(({}, {"tiers": ("B",)}, {"regions": ("nairobi",)})),
    daily=st.none() | st.integers(1, 12),
)
def test_what_has_room_together_has_room_one_by_one(
    before: dict[Segment, Approved],
    more: dict[Segment, Approved],
    most: int,
    bound: str,
    only: dict[str, Any],
    daily: int | None,
) -> None:
    policy = with_caps(cap(**only | {bound: most}), lot=LOT)
    if daily is not None:
        bounds = msgspec.structs.replace(policy.daily, volume_max=Money(daily))
        policy = msgspec.structs.replace(policy, daily=bounds)
    day = a_day(policy, *before.items())
    together = day.has_room(more)
    alone = []
    for segment, one in more.items():
        alone.append(day.admits(segment, one))
        day.add(segment, one)
    assert all(alone) or not together


def test_a_month_is_apart_from_a_day() -> None:
    policy = with_caps(cap(per=Per.MONTH, number_max=1))
    assert periods(policy) == {Per.MONTH}
    assert a_day(policy, (NAIROBI_B, Approved(1))).full(NAIROBI_B, 1.0, 0.0) == ()
    full = a_day(policy, (NAIROBI_B, Approved(1)), per=Per.MONTH)
    assert full.full(NAIROBI_B, 1.0, 0.0) == ("new_loans",)


def test_lots_are_drawn_until_the_day_has_had_its_number() -> None:
    policy = with_caps(lot=LOT)
    assert not a_day(with_caps()).draws
    day = a_day(policy, (NAIROBI_B, Approved(7, 0.0, 0.0, 1)))
    assert day.draws
    day.add(NAIROBI_B, Approved(1, 1.0))
    assert day.draws
    day.add(NAIROBI_B, Approved(1, 1.0, explored=1))
    assert not day.draws


def test_an_approval_that_was_not_kept_is_taken_back() -> None:
    day = a_day(with_caps(cap(number_max=1), lot=msgspec.structs.replace(LOT, daily_max=1)))
    one = Approved(1, 1.0, explored=1)
    day.add(NAIROBI_B, one)
    assert (day.full(NAIROBI_B, 1.0, 0.0), day.draws) == (("new_loans",), False)
    day.add(NAIROBI_B, one.negative)
    assert (day.full(NAIROBI_B, 1.0, 0.0), day.draws) == ((), True)


def test_a_month_begins_at_the_first_midnight_of_the_lenders_clock() -> None:
    # 2026-11-14 or so: noon of some day.
    for offset in (-12, 0, 3, 14):
        hour = first_hour(NOON_US, offset, Per.MONTH)
        assert (hour + offset) % 24 == 0
        before = first_hour(hour * HOUR_US - 1, offset, Per.MONTH)
        assert 28 * 24 <= hour - before <= 31 * 24
        assert first_hour(hour * HOUR_US, offset, Per.MONTH) == hour


def test_all_processes_and_all_hours_of_a_month_are_counted(
    scores: Scores, registry: Registry
) -> None:
    policy = with_caps(cap(per=Per.MONTH, number_max=10))
    began_us = first_hour(NOON_US, 0, Per.MONTH) * HOUR_US
    times_us = (began_us - 1, began_us, NOON_US - 3 * HOUR_US, NOON_US)
    for at_us in times_us:
        scores.commit([an_entry(at_us=at_us, limit=1.0)])
    so_far = SoFar()
    for _ in range(2):  # the second time the hours that are over are remembered
        (counted,) = so_far.of(scores.approved, DEMO, policy, NOON_US)[Per.MONTH].values()
        assert (counted.number, counted.volume) == (3, 3.0)
    scores_in(registry._database).commit([an_entry(at_us=NOON_US, limit=1.0)])
    (counted,) = so_far.of(scores.approved, DEMO, policy, NOON_US)[Per.MONTH].values()
    assert counted.number == 4


def test_loans_are_counted_by_region_tier_and_lot(scores: Scores) -> None:
    lent = an_entry()
    drawn = an_entry()
    drawn = drawn._replace(score=drawn.score._replace(tier="E", propensity=0.05), region="nairobi")
    left = an_entry(decision=Decision.REVIEW)
    scores.commit([lent, an_entry(), drawn, left])
    counts = scores.approved(DEMO, 0)
    assert counts[Segment(None, lent.score.tier)].number == 2
    assert counts[Segment("nairobi", "E")][0] == 1
    assert counts[Segment("nairobi", "E")].explored == 1
    assert len(counts) == 2
