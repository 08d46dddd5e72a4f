"""Who was seldom booked: sums by hand, ends, the decision they leave, and never by a broken one."""

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core import booking as bookings
from alama.core import calibration
from alama.core import model as models
from alama.core.application import Application, read
from alama.core.assess import assess
from alama.core.booking import STEP, Booking, FieldBooking, on_step
from alama.core.errors import InvalidModel
from alama.core.lending.draft import default_policy
from alama.core.lending.offer import owed_monthly, room_monthly
from alama.core.lending.policy import Decision, OwnRule, Policy
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from alama.core.tables import Card
from alama.platform.files.packaged import builtin
from tests.factories import a_model
from tests.policies import with_parts
from tests.recourse import random_booking, random_case

GOLDEN = Path(__file__).parents[2] / "golden" / "model.json"
BUILTIN = builtin()
GOOD = {
    "mm_months": 30,
    "avg_inflow": 20_000.0,
    "balance_stability": 0.9,
    "airtime_regularity": 0.8,
}
LIMIT = on_step(-1.0)


def flat(card: Card, **fields: FieldBooking) -> Booking:
    """A booking in which only the named fields say anything."""
    dull = {f.field: FieldBooking((0.0,) * len(f.main)) for f in card.features}
    told = tuple((dull | fields)[feature.field] for feature in card.features)
    return Booking(card.name, base=0.0, fields=told, log_odds_min=LIMIT, booked_share=0.5)


def short_of_months(card: Card) -> Booking:
    """A booking in which hardly anyone in the first band of months was booked."""
    (months,) = (feature for feature in card.features if feature.field == "mm_months")
    cells = (0.0, -3.0, *(0.5,) * (len(months.main) - 2))
    return flat(card, mm_months=FieldBooking(cells))


def with_booking(*known: Booking) -> ReadyModel:
    return ReadyModel(msgspec.structs.replace(BUILTIN, booking=known), "KES")


def policy_on(model: ReadyModel, unlike_share: float | None = 0.001) -> ReadyPolicy:
    asked = {"unlike_share": unlike_share}
    drafted = with_parts(default_policy("KES"), sufficiency=asked, caps={"apr_max": 100.0})
    return ReadyPolicy(drafted, model)


# ------------------------------------------------------------------------ the decision


@pytest.mark.parametrize(
    ("months", "share", "left_out"), [(0, 0.001, True), (30, 0.001, False), (0, None, False)]
)
def test_whoever_was_seldom_booked_is_left_to_a_person(
    months: int, share: float | None, *, left_out: bool
) -> None:
    model = with_booking(*(short_of_months(card) for card in BUILTIN.cards))
    for sent in (GOOD, {**GOOD, "device_type": "smartphone"}):
        said = assess(model, policy_on(model, share), read(PRODUCT, {**sent, "mm_months": months}))
        assert ("seldom_booked" in said.rules) is left_out
        assert not (left_out and said.decision is Decision.APPROVED)


POOR = {
    "mm_months": 0,
    "avg_inflow": 15_000.0,
    "balance_stability": 0.05,
    "airtime_regularity": 0.05,
}
"""Somebody whose score the default policy declines."""


def test_a_score_that_can_only_guess_declines_nobody() -> None:
    plain = ReadyModel(BUILTIN, "KES")
    declined = assess(plain, policy_on(plain), read(PRODUCT, POOR))
    assert (declined.decision, declined.rules) == (Decision.DECLINED, ("tier_below_cutoff",))
    model = with_booking(*(short_of_months(card) for card in BUILTIN.cards))
    left = assess(model, policy_on(model), read(PRODUCT, POOR))
    # At the risk that the score guesses the loan loses money: a person who lends is told so.
    assert left.rules == ("tier_below_cutoff", "below_break_even", "seldom_booked")
    assert (left.decision, left.tier, left.score) == (Decision.REVIEW, "E", declined.score)
    # There is a loan that a person can confirm.
    assert left.offer.limit == policy_on(model).limit_step
    # A policy that does not look declines by the score, as it does everyone.
    assert assess(model, policy_on(model, None), read(PRODUCT, POOR)).rules == declined.rules


def test_the_lenders_own_rules_and_the_applicants_money_still_decline_the_seldom_booked() -> None:
    model = with_booking(*(short_of_months(card) for card in BUILTIN.cards))
    new = OwnRule("new_wallet", "mm_months < 3", Decision.DECLINED)
    strict = msgspec.structs.replace(policy_on(model).policy, rules=(new,))
    said = assess(model, ReadyPolicy(seal(strict), model), read(PRODUCT, POOR))
    assert said.decision is Decision.DECLINED
    assert {"new_wallet", "tier_below_cutoff", "seldom_booked"} <= set(said.rules)
    broke = assess(model, policy_on(model), read(PRODUCT, {**POOR, "avg_inflow": 100.0}))
    assert broke.decision is Decision.DECLINED
    assert {"unaffordable", "seldom_booked"} <= set(broke.rules)
    assert broke.offer.limit == 0


def strict_below_the_cutoff(policy: Policy) -> Policy:
    """A policy that lends nothing to those it declines, and declines what would lose money."""
    tiers = tuple(
        msgspec.structs.replace(tier, inflow_share=0.0)
        if tier.decision is Decision.DECLINED
        else tier
        for tier in policy.tiers
    )
    lent = msgspec.structs.replace(policy, tiers=tiers)
    return with_parts(lent, caps={"below_break_even": Decision.DECLINED})


def test_no_share_of_a_declined_tier_and_no_guessed_loss_declines_the_seldom_booked() -> None:
    model = with_booking(*(short_of_months(card) for card in BUILTIN.cards))
    policy = ReadyPolicy(strict_below_the_cutoff(policy_on(model).policy), model)
    left = assess(model, policy, read(PRODUCT, POOR))
    assert left.rules == ("tier_below_cutoff", "below_break_even", "seldom_booked")
    assert (left.decision, left.tier) == (Decision.REVIEW, "E")
    # Whoever lends at a loss lends the least.
    assert left.offer.limit == policy.limit_step
    cheap = with_parts(policy.policy, pricing={"loss_given_default": 0.0, "cost_per_loan": 0.0})
    lent = assess(model, ReadyPolicy(cheap, model), read(PRODUCT, POOR))
    assert lent.rules == ("tier_below_cutoff", "seldom_booked")
    # By the share and the cap of the worst tier that is not declined.
    assert policy.limit_step < lent.offer.limit <= policy.tiers[-2].limit_max


def test_a_guessed_loss_declines_nobody_in_a_better_tier_either() -> None:
    model = with_booking(*(short_of_months(card) for card in BUILTIN.cards))
    costly = with_parts(policy_on(model).policy, pricing={"cost_per_loan": 1e6})
    policy = ReadyPolicy(strict_below_the_cutoff(costly), model)
    left = assess(model, policy, read(PRODUCT, {**GOOD, "mm_months": 0}))
    assert left.tier != policy.tiers[-1].name
    assert {"below_break_even", "seldom_booked"} <= set(left.rules)
    assert (left.decision, left.offer.limit) == (Decision.REVIEW, policy.limit_step)
    # Of everyone else the score knows enough to say that.
    known = assess(model, policy, read(PRODUCT, GOOD))
    assert known.decision is Decision.DECLINED


def can_repay(policy: ReadyPolicy, application: Application) -> bool:
    """Whether the smallest loan fits into the worst tier that is not declined, for some term."""
    lending = [tier for tier in policy.tiers if tier.decision is not Decision.DECLINED]
    values = policy.as_asked(application.values)
    scorecard = policy.model.scorecard_for(application)
    loans = policy.loans(scorecard, scorecard.score(values))
    inflow = float(values[policy.inflow_place] or 0.0)
    worst = lending[-1] if lending else policy.tiers[0]
    room = room_monthly(worst, inflow, owed_monthly(policy, values, inflow))
    return any(
        tariff.due_monthly(calibration.shown_probability(loans.points(term, 0)), policy.limit_step)
        <= room
        for term, tariff in enumerate(policy.tariffs)
    )


@given(st.integers(0, 2**32 - 1).map(lambda seed: seed - seed % 3), st.booleans())
def test_the_seldom_booked_are_approved_by_nobody_and_declined_by_no_score(
    seed: int,
    strict: bool,  # noqa: FBT001  Hypothesis gives it by its place
) -> None:
    case = random_case(seed)
    policy = case.ready.policy
    if strict:
        policy = ReadyPolicy(strict_below_the_cutoff(policy.policy), policy.model)
    said = assess(policy.model, policy, case.application)
    if "seldom_booked" not in said.rules:
        return
    assert said.decision is not Decision.APPROVED
    rules = {rule.name for rule in policy.policy.rules if rule.decision is Decision.DECLINED}
    if not rules.isdisjoint(said.rules):
        assert said.decision is Decision.DECLINED
    elif said.decision is Decision.DECLINED:
        assert "unaffordable" in said.rules
        assert not can_repay(policy, case.application)
    assert (said.offer.limit > 0) == (said.decision is Decision.REVIEW)


def test_a_value_beyond_an_end_of_what_was_booked_is_left_to_a_person() -> None:
    known = []
    for card in BUILTIN.cards:
        (inflow,) = (feature for feature in card.features if feature.field == "avg_inflow")
        ended = FieldBooking((0.0,) * len(inflow.main), lowest=9_000.0, highest=90_000.0)
        known.append(flat(card, avg_inflow=ended))
    model = with_booking(*known)
    policy = policy_on(model)
    for inflow_monthly, left_out in ((8_999.0, 1), (9_000.0, 0), (90_000.0, 0), (90_001.0, 1)):
        said = assess(model, policy, read(PRODUCT, {**GOOD, "avg_inflow": inflow_monthly}))
        assert said.rules.count("seldom_booked") == left_out, inflow_monthly


def test_ends_stand_in_the_callers_currency() -> None:
    card = BUILTIN.cards[0]
    (inflow,) = (feature for feature in card.features if feature.field == "avg_inflow")
    ended = FieldBooking((0.0,) * len(inflow.main), lowest=9_000.0)
    model = msgspec.structs.replace(BUILTIN, booking=(flat(card, avg_inflow=ended),))
    assert BUILTIN.money is not None
    for currency in BUILTIN.money.reference_inflows:
        ready = ReadyModel(model, currency)
        known = ready.booking_of(ready.scorecards[0])
        assert known is not None
        ((low, high),) = known.ends.values()
        assert low == 9_000.0 * models.money_factor(model, currency)
        assert high == math.inf


def test_a_model_without_a_booking_leaves_nobody_out() -> None:
    ready = ReadyModel(BUILTIN, "KES")
    assert all(ready.booking_of(card) is None for card in ready.scorecards)
    said = assess(ready, policy_on(ready), read(PRODUCT, {**GOOD, "mm_months": 0}))
    assert "seldom_booked" not in said.rules


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_the_fields_does_not_change_the_sum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ready = ReadyModel(BUILTIN)
    scorecard = ready.scorecards[-1]
    booking = random_booking(rng, scorecard.card)
    known = bookings.ReadyBooking(booking, scorecard, BUILTIN.catalogue, 1.0)
    slots = [int(rng.integers(len(field.log_odds))) for field in booking.fields]
    cells = [field.log_odds[slot] for field, slot in zip(booking.fields, slots, strict=True)]
    shuffled = [cells[place] for place in rng.permutation(len(cells))]
    assert known.log_odds(slots) == sum(shuffled) + booking.base == math.fsum([*cells, 0.5])


def test_the_limit_is_told_as_a_chance() -> None:
    assert flat(BUILTIN.cards[0]).chance_min == pytest.approx(1.0 / (1.0 + math.e))


# ------------------------------------------------------------------------ in a model

BARE = a_model(seed=3)
CARD = BARE.cards[-1]
NUMBER = next(place for place, feature in enumerate(CARD.features) if feature.cuts)
WORD = next(place for place, feature in enumerate(CARD.features) if feature.words)
FULL = flat(CARD)


def sealed(*known: Booking) -> bytes:
    return models.encode(models.seal(msgspec.structs.replace(BARE, booking=known)))


def with_field(place: int, **changes: Any) -> Booking:
    fields = list(FULL.fields)
    fields[place] = msgspec.structs.replace(fields[place], **changes)
    return msgspec.structs.replace(FULL, fields=tuple(fields))


def with_cell(cell: float) -> Booking:
    return with_field(NUMBER, log_odds=(cell, *FULL.fields[NUMBER].log_odds[1:]))


def test_a_model_reads_its_booking_back_and_gives_it_for_the_card() -> None:
    model = models.decode(sealed(FULL))
    assert model.booking == (FULL,)
    ready = ReadyModel(model)
    compact, full = ready.scorecards
    known = ready.booking_of(full)
    assert known is not None
    assert known.booking == FULL
    assert ready.booking_of(compact) is None


@pytest.mark.parametrize("document", [GOLDEN.read_bytes(), models.encode(BUILTIN)])
def test_a_document_without_a_booking_keeps_its_bytes_and_its_id(document: bytes) -> None:
    assert "booking" not in json.loads(document)
    model = models.decode(document)
    assert model.booking == ()
    assert models.encode(model) == document
    assert models.seal(model).id == model.id


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (msgspec.structs.replace(FULL, card="other"), "of no card"),
        (msgspec.structs.replace(FULL, fields=FULL.fields[:-1]), "a table for each feature"),
        (with_field(NUMBER, log_odds=(0.0,)), "slots where its table has"),
        (with_cell(STEP / 2), "a cell is off the grid"),
        (with_cell(2.0**13), "reach beyond 4096"),
        (with_field(WORD, lowest=1.0), "words have no end"),
        (with_field(NUMBER, lowest=2.0, highest=1.0), "the wrong way round"),
        (msgspec.structs.replace(FULL, base=0.1), "off the grid"),
        (msgspec.structs.replace(FULL, log_odds_min=0.1), "off the grid"),
        (msgspec.structs.replace(FULL, booked_share=1.0), "between 0 and 1"),
        (msgspec.structs.replace(FULL, booked_share=0.0), "between 0 and 1"),
    ],
)
def test_a_booking_that_does_not_hold_is_refused(broken: Booking, told: str) -> None:
    with pytest.raises(InvalidModel, match=told):
        models.decode(sealed(broken))


@pytest.mark.parametrize("end", [math.inf, math.nan])
def test_an_end_that_is_no_number_is_a_fault_though_no_document_can_hold_it(end: float) -> None:
    (fault,) = bookings.faults(with_field(NUMBER, lowest=end), CARD)
    assert "not a finite number" in fault


def test_two_of_one_card_are_refused() -> None:
    with pytest.raises(InvalidModel, match="one that has another"):
        models.decode(sealed(FULL, FULL))
