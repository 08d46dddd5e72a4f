"""Lists, caps and lots: what they may change of a decision, and what they may not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from alama.core.assess import Assessment, assess, menu
from alama.core.lending.circumstances import LISTED, USUAL, Circumstances
from alama.core.lending.draft import default_policy
from alama.core.lending.offer import Room
from alama.core.lending.policy import (
    HOLDS,
    SEVERITY,
    CounterOffers,
    Decision,
    Exploration,
    Per,
    PortfolioCap,
    Rule,
)
from alama.core.lending.policy_check import cutoff_of, seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.units import Money
from alama.vault.ring import Ring
from tests.applications import random_application
from tests.factories import ready_model
from tests.policies import random_policy
from tests.tries import tries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.application import Application
    from alama.core.lending.policy import Policy
    from alama.core.model import ReadyModel

SEEDS = st.integers(0, 2**32 - 1)
CUTOFFS = {Rule.TIER_BELOW_CUTOFF.value, Rule.TIER_IN_REVIEW.value}


class Case(msgspec.Struct):
    """An application to a policy that explores."""

    model: ReadyModel
    policy: ReadyPolicy
    application: Application

    @property
    def asked(self) -> Exploration:
        asked = self.policy.exploration
        assert asked is not None
        return asked

    def assess(self, around: Circumstances = USUAL) -> Assessment:
        return assess(self.model, self.policy, self.application, around)


def exploring(policy: Policy, share: float, limit_steps: int) -> Policy | None:
    """Give a policy with a cell below its cut-off; None where it has none."""
    cutoff = cutoff_of(policy)
    if cutoff is None or cutoff <= 301:
        return None
    said = Exploration(share, max(300, cutoff - 150), limit_steps * policy.limit_step, 10)
    return seal(msgspec.structs.replace(policy, exploration=said))


def random_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    model = ready_model(int(rng.integers(0, 12)))
    policy = None
    while policy is None:
        drawn = default_policy("KES") if rng.random() < 0.5 else random_policy(rng)
        policy = exploring(drawn, float(rng.uniform(0.01, 0.5)), int(rng.integers(1, 20)))
    return Case(model, ReadyPolicy(policy, model), random_application(rng, model))


CASES = SEEDS.map(random_case)
DRAWS = st.floats(0.0, 1.0, exclude_max=True)


def in_cell(case: Case, usual: Assessment) -> bool:
    """Say whether nothing but the tier is against an application, not far below the cut-off."""
    return (
        len(usual.rules) == 1
        and set(usual.rules) <= CUTOFFS
        and (usual.score >= case.asked.score_min)
    )


@given(CASES, DRAWS)
@tries(200)
def test_nobody_outside_the_cell_is_touched_by_a_lot(case: Case, draw: float) -> None:
    usual, said = case.assess(), case.assess(Circumstances(draw=draw))
    if not in_cell(case, usual):
        assert said == usual


@given(CASES, DRAWS)
@tries(200)
def test_the_lot_approves_small_loans_of_those_it_falls_on_and_of_nobody_else(
    case: Case, draw: float
) -> None:
    usual, said = case.assess(), case.assess(Circumstances(draw=draw))
    if said.propensity is None:
        assert said == usual
        return
    assert in_cell(case, usual)
    assert said.propensity == case.asked.share
    assert said.explored == (draw < case.asked.share)
    if said.explored:
        assert said.decision is Decision.APPROVED
        assert said.rules == (*usual.rules, Rule.EXPLORED)
        assert 0 < said.offer.limit <= case.asked.limit_max
    else:
        assert msgspec.structs.replace(said, lot=msgspec.UNSET) == usual


@given(CASES, DRAWS, st.sampled_from([*HOLDS, *LISTED]))
@tries(200)
def test_a_list_and_a_hold_leave_nothing_to_the_lot(case: Case, draw: float, rule: Rule) -> None:
    around = Circumstances(listed=rule, draw=draw)
    if rule in HOLDS:
        around = Circumstances((rule,), draw=draw)
    said = case.assess(around)
    assert (said.propensity, said.explored) == (None, False)
    assert said == case.assess(around._replace(draw=None))


@given(CASES, st.sampled_from([*LISTED]))
@tries(200)
def test_a_list_makes_no_decision_better_and_is_named_first(case: Case, rule: Rule) -> None:
    usual, said = case.assess(), case.assess(Circumstances(listed=rule))
    assert said.decision is max(usual.decision, LISTED[rule], key=SEVERITY.__getitem__)
    assert said.rules == (rule, *usual.rules)
    assert (said.offer.limit == 0) == (said.decision is Decision.DECLINED)


FULL = (Room("new_loans", 0),)


def capped(case: Case, decision: Decision) -> Case:
    cap = PortfolioCap("new_loans", Per.DAY, volume_max=Money(1.0), decision=decision)
    policy = seal(msgspec.structs.replace(case.policy.policy, portfolio=(cap,)))
    return msgspec.structs.replace(case, policy=ReadyPolicy(policy, case.model))


@given(CASES, st.sampled_from([Decision.REVIEW, Decision.DECLINED]), DRAWS)
@tries(200)
def test_a_full_cap_turns_approvals_and_nothing_else(
    case: Case, decision: Decision, draw: float
) -> None:
    case = capped(case, decision)
    usual = case.assess()
    said = case.assess(Circumstances(rooms=FULL, draw=draw))
    assert not said.explored
    if usual.decision is Decision.APPROVED:
        assert (said.decision, said.rules) == (decision, ("new_loans",))
    else:
        assert said.decision is usual.decision


DECIDED = st.sampled_from([Decision.REVIEW, Decision.DECLINED])
OFFERING = st.sampled_from(CounterOffers)
SHARES = st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0])


def offering(case: Case, how: CounterOffers, decision: Decision) -> Case:
    """Give the case under a cap of the best tiers, with counter-offers as the policy has them."""
    policy = capped(case, decision).policy.policy
    policy = seal(msgspec.structs.replace(policy, counter_offers=how))
    return msgspec.structs.replace(case, policy=ReadyPolicy(policy, case.model))


def some_room(case: Case, share: float) -> Circumstances:
    """Leave a share of the largest limit, or of the limit that would be given."""
    limit = case.assess().offer.limit or case.policy.limit_max
    return Circumstances(rooms=(Room("new_loans", volume=share * limit),))


@given(CASES, DECIDED, OFFERING, SHARES)
@example(random_case(151661), Decision.DECLINED, CounterOffers.APPROVE, 0.0)
@tries(60)
def test_neither_menu_nor_counter_offer_promises_what_a_cap_refuses(
    case: Case, decision: Decision, how: CounterOffers, share: float
) -> None:
    case = offering(case, how, decision)
    around = some_room(case, share)
    said = case.assess(around)
    if said.decision is Decision.APPROVED:
        assert said.offer.limit <= (around.rooms[0].volume or 0.0)
    told = menu(case.policy, case.application, said)
    if said.counter is not None and said.decision is not Decision.APPROVED:
        told += [loan for loan in (said.counter.approved,) if loan is not None]
    places = [case.policy.amount_place, case.policy.term_place]
    assert None not in places
    for loan in told:
        values = list(case.application.values)
        values[places[0] or 0], values[places[1] or 0] = loan.amount, loan.term_days
        asked = msgspec.structs.replace(case.application, values=tuple(values))
        answer = assess(case.model, case.policy, asked, around)
        assert answer.decision is loan.decision


def test_a_counter_offer_that_a_cap_has_no_room_for_is_left_to_what_the_cap_decides() -> None:
    met = 0
    for seed in range(150):
        case = offering(random_case(seed), CounterOffers.SHOW, Decision.REVIEW)
        usual = case.assess().counter
        if usual is None or usual.approved is None:
            continue
        met += 1
        left = case.assess(Circumstances(rooms=FULL)).counter
        assert left is not None
        assert (left.approved, left.as_asked) == (None, ())
        assert left.review is not None
        assert left.review.amount >= usual.approved.amount
        declining = offering(case, CounterOffers.SHOW, Decision.DECLINED)
        gone = declining.assess(Circumstances(rooms=FULL)).counter
        assert (gone and gone.review) == usual.review
        assert gone is None or gone.approved is None
    assert met >= 5


@given(CASES, OFFERING)
@tries(200)
def test_a_cap_is_asked_of_the_loan_that_would_be_lent(case: Case, how: CounterOffers) -> None:
    case = offering(case, how, Decision.REVIEW)
    usual = case.assess()
    lent = usual.offer
    if usual.decision is not Decision.APPROVED:
        return
    enough = Room("new_loans", 1, lent.limit, lent.expected_loss)
    assert case.assess(Circumstances(rooms=(enough,))).decision is Decision.APPROVED
    for short in (
        Room("new_loans", 0),
        Room("new_loans", volume=lent.limit - 1),
        Room("new_loans", expected_loss=math.nextafter(lent.expected_loss, -1.0)),
    ):
        said = case.assess(Circumstances(rooms=(short,)))
        assert (said.decision, said.rules) == (Decision.REVIEW, ("new_loans",))


ROOMS = st.sampled_from([(), FULL, (Room("new_loans", 2, 1_500.0),)])
HELD: st.SearchStrategy[tuple[Rule, ...]] = st.sampled_from([(), (Rule.PAUSED,)])


@given(CASES, DRAWS, st.sampled_from([None, *LISTED]), ROOMS, HELD, OFFERING)
@tries(300)
def test_what_is_kept_of_the_circumstances_gives_the_same_again(
    case: Case,
    draw: float,
    listed: Rule | None,
    rooms: tuple[Room, ...],
    holds: tuple[Rule, ...],
    how: CounterOffers,
) -> None:
    case = offering(case, how, Decision.DECLINED)
    said = case.assess(Circumstances(holds, listed, rooms, draw))
    kept = msgspec.msgpack.decode(msgspec.msgpack.encode(said), type=Assessment)
    assert case.assess(kept.circumstances(case.policy)) == said == kept


@given(CASES, OFFERING)
@tries(100)
def test_a_record_from_before_rooms_were_kept_gives_the_same_again(
    case: Case, how: CounterOffers
) -> None:
    case = offering(case, how, Decision.DECLINED)
    said = case.assess(Circumstances(rooms=FULL, kept=False))
    assert said.offer.rooms == ()
    if "new_loans" in said.rules:
        assert case.assess(said.circumstances(case.policy)) == said


def shares_of(draws: Sequence[float]) -> list[float]:
    return [sum(draw < share for draw in draws) / len(draws) for share in (0.01, 0.05, 0.2, 0.5)]


def test_the_share_that_is_drawn_is_the_share_that_was_promised() -> None:
    ring = Ring("demo", "vk_1", None, bytes(range(32)))  # type: ignore[arg-type]  # seals nothing
    draws = [ring.draw(b"%d" % number) for number in range(40_000)]
    assert np.allclose(shares_of(draws), [0.01, 0.05, 0.2, 0.5], atol=0.01)
    assert draws == [ring.draw(b"%d" % number) for number in range(40_000)]
    # Neither what comes next to it nor another lender knows anything of a draw.
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 0.02
    other = Ring("umoja", "vk_2", None, bytes(32))  # type: ignore[arg-type]  # as above
    assert abs(np.corrcoef(draws, [other.draw(b"%d" % n) for n in range(40_000)])[0, 1]) < 0.02


def test_the_cases_meet_the_cell() -> None:
    said = [random_case(seed).assess(Circumstances(draw=0.0)) for seed in range(200)]
    assert sum(one.explored for one in said) >= 10
    assert {one.rules[0] for one in said if one.explored} == CUTOFFS
