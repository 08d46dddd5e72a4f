"""What is remembered of a borrower: worked out as of a day, read by rules, never sent."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from alama.core import memory
from alama.core.application import Application, read, remembering
from alama.core.assess import Assessment, assess
from alama.core.errors import InvalidApplication
from alama.core.intake import Intake
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, OwnRule, Policy
from alama.core.lending.policy_check import seal, unsteady
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.memory import Amount, Asked, Loan, Promise, Remembered, Settled
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from alama.memory.borrower import NOBODY, PROMISES_MAX, after_asking, pack
from alama.memory.borrower import remembered as known
from alama.platform.files.packaged import builtin
from tests.tries import tries

READY = ReadyModel(builtin())
DRAFT = default_policy("KES")
SILENT = msgspec.structs.replace(DRAFT, borrower=UNSET, exposure=UNSET, ladder=UNSET)
"""A policy that says nothing of earlier loans."""

GOOD: dict[str, Any] = {
    "mm_months": 30,
    "avg_inflow": 20_000,
    "balance_stability": 0.7,
    "airtime_regularity": 0.7,
}
DAY = 20_000
HOUR = DAY * 24


def ruled(when: str) -> Policy:
    rule = OwnRule("own", when, Decision.DECLINED)
    return seal(msgspec.structs.replace(SILENT, rules=(rule,)))


def said(policy: Policy, remembered: Remembered | None) -> Assessment:
    application = remembering(read(PRODUCT, GOOD), remembered, PRODUCT)
    return assess(READY, ReadyPolicy(policy, READY), application)


# ------------------------------------------------------------------------------------ fields


def test_the_fields_are_those_of_what_is_remembered_in_their_order() -> None:
    assert tuple(field.name for field in memory.FIELDS) == Remembered.__struct_fields__
    assert not memory.NAMES & PRODUCT.position.keys()


@pytest.mark.parametrize("name", sorted(memory.NAMES))
def test_nobody_can_send_what_is_remembered(name: str) -> None:
    for catalogue in (PRODUCT, memory.with_memory(PRODUCT)):
        body = msgspec.json.encode({**GOOD, name: 0})
        with pytest.raises(InvalidApplication) as refused:
            Intake(catalogue).read(body)
        [problem] = refused.value.problems
        assert (problem.pointer, problem.code) == (f"/{name}", "unknown_field")
        assert "is remembered by Alama" in problem.detail


# ------------------------------------------------------------------------------------- rules


def test_a_rule_reads_what_is_remembered() -> None:
    policy = ruled("applications_1d >= 3 or open_balance + requested_amount > 50000")
    assert set(said(policy, Remembered(applications_1d=3)).rules) == {"own"}
    assert said(policy, Remembered(applications_1d=2)).decision is Decision.APPROVED
    assert set(said(policy, Remembered(open_balance=49_999.0)).rules) == {"own"}


def test_a_rule_about_a_borrower_who_is_not_named_does_not_fire() -> None:
    policy = ruled("applications_1d >= 0 or not (open_loans < 1000)")
    assert said(policy, None).decision is Decision.APPROVED


def test_a_rule_can_ask_for_a_reference() -> None:
    policy = ruled("applications_1d is missing")
    assert said(policy, None).rules == ("own",)
    assert said(policy, Remembered()).decision is Decision.APPROVED


def test_a_rule_of_the_memory_bounds_what_is_offered() -> None:
    offer = said(ruled("open_balance + requested_amount > 20000"), Remembered(open_balance=9_000.0))
    assert 0 < offer.offer.limit <= 11_000


def test_rules_know_which_way_what_is_remembered_bears_on_risk() -> None:
    assert list(unsteady(ruled("days_past_due > 0"))) == []
    [found] = unsteady(ruled("loans_repaid > 3"))
    assert (found.field, found.rule) == ("loans_repaid", "own")


def test_a_model_that_knows_such_a_field_finds_it_in_its_place() -> None:
    first = memory.FIELDS[0]
    catalogue = msgspec.structs.replace(PRODUCT, fields=(first, *PRODUCT.fields))
    wide = memory.with_memory(catalogue)
    given = Application((None,) * len(catalogue.fields))
    found = remembering(given, Remembered(open_loans=7, declined_7d=2), catalogue).values
    assert len(found) == len(wide.fields)
    assert found[wide.position["open_loans"]] == 7
    assert found[wide.position["declined_7d"]] == 2


# ------------------------------------------------------------------------- the draft's own rules


def test_a_policy_that_says_nothing_of_borrowers_keeps_its_id() -> None:
    assert b"borrower" not in msgspec.json.encode(seal(SILENT))
    assert not ReadyPolicy(seal(SILENT), READY).reads_memory


def test_whoever_is_not_named_is_decided_on_as_before() -> None:
    before, now = said(seal(SILENT), None), said(DRAFT, None)
    assert before == now


@pytest.mark.parametrize(
    ("known", "decision", "rules"),
    [
        (Remembered(applications_1d=2), Decision.APPROVED, ()),
        (Remembered(applications_1d=3), Decision.REVIEW, ("asked_often",)),
        (Remembered(days_past_due=1), Decision.DECLINED, ("late_on_a_loan",)),
        (Remembered(open_balance=19_501.0), Decision.DECLINED, ("ladder",)),
        (
            Remembered(open_balance=49_501.0, largest_repaid=40_000.0),
            Decision.DECLINED,
            ("exposure",),
        ),
    ],
)
def test_the_draft_looks_at_earlier_loans(
    known: Remembered, decision: Decision, rules: tuple[str, ...]
) -> None:
    found = said(DRAFT, known)
    assert (found.decision, found.rules) == (decision, rules)
    assert (found.offer.limit > 0) == (decision is not Decision.DECLINED)


@given(
    st.floats(0, 60_000),
    st.floats(0, 60_000),
    st.sampled_from([500.0, 8_000.0, 30_000.0, 49_000.0]),
)
@tries(40)
def test_nobody_owes_more_than_cap_and_ladder_with_what_is_offered(
    owed: float, repaid: float, amount: float
) -> None:
    sent = {**GOOD, "avg_inflow": 200_000, "requested_amount": amount}
    known = Remembered(open_balance=owed, largest_repaid=repaid)
    application = remembering(read(PRODUCT, sent), known, PRODUCT)
    found = assess(READY, ReadyPolicy(DRAFT, READY), application)
    if found.offer.limit:
        assert owed + found.offer.limit <= min(50_000, max(20_000, 2.0 * repaid))
    else:
        assert {"exposure", "ladder"} & set(found.rules)


# ------------------------------------------------------------------------------------- loans


BULLET = Loan(DAY, 10_000.0, dues=(Amount(DAY + 30, 11_000.0),))
MONTHLY = Loan(DAY, 9_000.0, dues=tuple(Amount(DAY + 30 * n, 3_300.0) for n in (1, 2, 3)))


def test_a_loan_is_open_until_it_is_paid_back() -> None:
    assert memory.loan_facts([BULLET], DAY - 1) == memory.NO_LOANS
    facts = memory.loan_facts([BULLET], DAY)
    assert (facts.open_loans, facts.open_balance, facts.last_loan_on) == (1, 11_000.0, DAY)
    paid = BULLET._replace(payments=(Amount(DAY + 5, 4_000.0), Amount(DAY + 9, 7_000.0)))
    assert memory.loan_facts([paid], DAY + 8).open_balance == 7_000.0
    facts = memory.loan_facts([paid], DAY + 9)
    assert (facts.open_loans, facts.open_balance, facts.loans_repaid) == (0, 0.0, 1)
    assert facts.largest_repaid == 10_000.0


def test_a_payment_is_late_from_the_day_after_it_was_due_until_it_comes() -> None:
    facts = [memory.loan_facts([BULLET], DAY + n).days_past_due for n in (30, 31, 45)]
    assert facts == [0, 1, 15]
    closed = BULLET._replace(closed_on=DAY + 42)
    facts_then = memory.loan_facts([closed], DAY + 99)
    assert (facts_then.days_past_due, facts_then.worst_days_past_due) == (0, 12)
    assert facts_then.loans_repaid == 1


def test_of_instalments_the_oldest_unpaid_one_says_how_late_it_is() -> None:
    late = MONTHLY._replace(payments=(Amount(DAY + 33, 3_300.0), Amount(DAY + 70, 1_000.0)))
    facts = memory.loan_facts([late], DAY + 75)
    assert (facts.days_past_due, facts.worst_days_past_due) == (15, 15)
    assert memory.loan_facts([late], DAY + 40).worst_days_past_due == 3


def test_what_was_written_off_stays_late() -> None:
    lost = Loan(DAY, 5_000.0, closed_on=DAY + 90, is_repaid=False)
    facts = memory.loan_facts([lost], DAY + 100)
    assert (facts.open_loans, facts.loans_repaid, facts.days_past_due) == (0, 0, 10)


DAYS = st.integers(DAY, DAY + 60)
MONEY = st.integers(1, 500_000).map(lambda hundredths: hundredths / 100)
AMOUNTS = st.lists(st.builds(Amount, DAYS, MONEY), max_size=5)
LOANS = st.lists(
    st.builds(
        Loan,
        DAYS,
        MONEY,
        AMOUNTS.map(lambda dues: tuple(sorted(dues))),
        AMOUNTS.map(tuple),
        st.none() | DAYS,
        st.booleans(),
    ),
    max_size=5,
)


def until(loan: Loan, day: int) -> Loan:
    """Give a loan as somebody knew it who lived no longer than a day."""
    known = tuple(one for one in loan.payments if one.day <= day)
    is_closed = loan.closed_on is not None and loan.closed_on <= day
    return loan._replace(
        payments=known,
        closed_on=loan.closed_on if is_closed else None,
        is_repaid=loan.is_repaid if is_closed else True,
    )


@given(LOANS, DAYS, st.randoms(use_true_random=False))
@tries(200)
def test_nothing_later_and_no_order_changes_what_was_known_on_a_day(
    loans: list[Loan], day: int, chance: random.Random
) -> None:
    facts = memory.loan_facts(loans, day)
    then = [until(loan, day) for loan in loans if loan.disbursed_on <= day]
    shuffled = [
        loan._replace(payments=tuple(chance.sample(loan.payments, len(loan.payments))))
        for loan in chance.sample(then, len(then))
    ]
    assert memory.loan_facts(shuffled, day) == facts


# ------------------------------------------------------------------------------ applications


def test_applications_count_for_a_day_a_week_and_a_month() -> None:
    asked = [
        Asked(HOUR, 2, 1),
        Asked(HOUR - 24, 1, 1),
        Asked(HOUR - 168, 4, 4),
        Asked(HOUR + 1, 9, 9),
    ]
    found = memory.remembered(memory.NO_LOANS, [*asked, Asked(HOUR - 720, 8, 0)], [], HOUR)
    assert (found.applications_1d, found.applications_30d, found.declined_7d) == (2, 7, 2)


def test_what_was_approved_counts_as_lent_for_three_days() -> None:
    promise = Promise(HOUR, 20_000.0, "req_1")
    for hour, count in ((HOUR, 1), (HOUR + 71, 1), (HOUR + 72, 0)):
        standing = memory.standing([promise], Settled(), hour)
        found = memory.remembered(memory.NO_LOANS, [], standing, hour)
        assert (found.open_loans, found.open_balance) == (count, count * 20_000.0)


def test_a_loan_that_was_paid_out_takes_the_place_of_its_promise() -> None:
    promises = [Promise(HOUR, 1.0, "a"), Promise(HOUR + 1, 2.0, "b")]
    named = memory.standing(promises, Settled(request_ids={"b"}), HOUR + 2)
    assert [one.request_id for one in named] == ["a"]
    unnamed = memory.standing(promises, Settled(unnamed=[DAY]), HOUR + 2)
    assert [one.request_id for one in unnamed] == ["b"]
    before = memory.standing(promises, Settled(unnamed=[DAY - 1]), HOUR + 2)
    assert len(before) == 2


def test_a_reference_that_many_share_grows_no_further_and_owes_all_the_same() -> None:
    borrower = NOBODY
    for number in range(PROMISES_MAX + 200):
        borrower = after_asking(borrower, HOUR, Decision.APPROVED, 10.0, f"req_{number}")
    assert len(borrower.promises) == PROMISES_MAX
    assert known(borrower, HOUR).open_balance == 10.0 * (PROMISES_MAX + 200)
    assert len(pack(borrower)) < 100 * PROMISES_MAX
