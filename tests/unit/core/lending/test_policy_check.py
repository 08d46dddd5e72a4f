"""A policy contradicts itself nowhere and asks for nothing that cannot be, or it is refused."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from alama.core.errors import InvalidPolicy
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import (
    AskedEvidence,
    Decision,
    Fees,
    Kind,
    OwnRule,
    Policy,
    Repayment,
    Rule,
    StandardLoan,
)
from alama.core.lending.policy_check import RULES_MAX, TIERS_MAX, faults, seal, spell, unsteady
from alama.core.product import PRODUCT
from alama.core.units import Money

POLICY = default_policy("KES")
assert isinstance(POLICY.repayment, Repayment)
REPAYMENT = POLICY.repayment
REVIEW, DECLINED = Decision.REVIEW, Decision.DECLINED
LOAN_OF_28_DAYS = StandardLoan(Money(10_000.0), 28)


def altered(**changes: Any) -> Policy:
    return msgspec.structs.replace(POLICY, **changes)


def part_with(part: str, **changes: Any) -> Policy:
    return altered(**{part: msgspec.structs.replace(getattr(POLICY, part), **changes)})


def tier_with(place: int, **changes: Any) -> Policy:
    tiers = list(POLICY.tiers)
    tiers[place] = msgspec.structs.replace(tiers[place], **changes)
    return altered(tiers=tuple(tiers))


def rules_of(*rules: OwnRule) -> Policy:
    return altered(rules=rules)


def rule(name: str = "a", when: str = "mm_months < 3", says: str = "") -> OwnRule:
    return OwnRule(name, when, REVIEW, says)


def told_of(policy: Policy) -> list[str]:
    tree = msgspec.to_builtins(policy)
    return [f"{spell(path, tree)} {fault}" for path, fault in faults(policy, PRODUCT)]


LINE = "must be a text of 1 to 200 characters on one line"
STEPS = "must be a multiple of limit_step, at most 1000-fold"
FIELDS = "must be 0 to 15, the fields there are beside amount and term"
RULE_NAME = "must be lower-case letters, digits and _, a letter first, at most 40 of them"
A_DECISION = "must not be a decision: as a target it means that"
A_SCORE = "must not be digits alone: as a target they mean a score"
BELOW_COSTS = "percent a year, not above funding, 14 percent: every loan would lose money"
HALF = "must be 0 to 1: 0.5 for 50 percent"
UP_TO_A_TRILLION = "must be above 0 and at most 1_000_000_000_000"


@pytest.mark.parametrize("step", [0, -500, 10**400])
def test_a_step_that_cannot_be_hides_no_other_fault(step: int) -> None:
    policy = msgspec.structs.replace(tier_with(1, score_min=690), limit_step=step)
    assert told_of(policy) == [
        "limit_step must be 1 to 1_000_000_000_000",
        "tiers.B.score_min is 690, not below A's 690",
    ]


def test_the_head_of_a_policy_is_sound_or_told(subtests: pytest.Subtests) -> None:
    for policy, told in [
        (altered(name=" "), f"name {LINE}"),
        (altered(name="a\nb"), f"name {LINE}"),
        (altered(name="a" * 201), f"name {LINE}"),
        (altered(version=""), f"version {LINE}"),
        (altered(jurisdiction="\x1b[31m"), f"jurisdiction {LINE}"),
        (altered(currency="Kes"), "currency must be three capital letters"),
        (altered(currency="KES\n"), "currency must be three capital letters"),
        (altered(limit_step=0), "limit_step must be 1 to 1_000_000_000_000"),
        (altered(limit_step=10**400), "limit_step must be 1 to 1_000_000_000_000"),
        (altered(terms_days=(0, 30)), "terms_days[1] must be 1 to 3650 days"),
        (altered(terms_days=(30, 4020)), "terms_days[2] must be 1 to 3650 days"),
        (altered(terms_days=(30, 90, 60)), "terms_days[3] must be longer than the term before"),
        (altered(terms_days=(30, 30)), "terms_days[2] must be longer than the term before"),
        (altered(terms_days=(60,)), "standard_loan.term_days must be one of terms_days"),
        (part_with("standard_loan", amount=0.0), f"standard_loan.amount {UP_TO_A_TRILLION}"),
        (part_with("standard_loan", amount=math.nan), f"standard_loan.amount {UP_TO_A_TRILLION}"),
        (part_with("standard_loan", amount=1e300), f"standard_loan.amount {UP_TO_A_TRILLION}"),
    ]:
        with subtests.test(told):
            assert told_of(policy) == [told]


def test_a_policy_offers_a_term() -> None:
    assert told_of(altered(terms_days=()))[0] == "terms_days must offer 1 to 24 terms"


def test_tiers_fall_from_the_best_to_the_worst_or_it_is_told(subtests: pytest.Subtests) -> None:
    for policy, told in [
        (altered(tiers=()), f"tiers must be 1 to {TIERS_MAX} tiers"),
        (altered(tiers=POLICY.tiers[-1:] * 27), f"tiers must be 1 to {TIERS_MAX} tiers"),
        (tier_with(0, name=""), "tiers[1].name must be 1 to 8 letters, digits, + or -"),
        (
            tier_with(0, name="A B"),
            'tiers."A B".name must be 1 to 8 letters, digits, + or -',
        ),
        (tier_with(1, name="A"), "tiers[2].name is the name of a tier above"),
        (tier_with(0, name="APPROVED"), f"tiers.APPROVED.name {A_DECISION}"),
        (tier_with(0, name="Review"), f"tiers.Review.name {A_DECISION}"),
        (tier_with(4, name="DECLINED"), f"tiers.DECLINED.name {A_DECISION}"),
        (tier_with(0, name="700"), f"tiers.700.name {A_SCORE}"),
        (tier_with(1, name="2"), f"tiers.2.name {A_SCORE}"),
        (tier_with(0, score_min=851), "tiers.A.score_min must be 300 to 850"),
        (tier_with(1, score_min=690), "tiers.B.score_min is 690, not below A's 690"),
        (
            tier_with(4, score_min=301),
            "tiers.E.score_min must be 300 in the last tier: every score needs a tier",
        ),
        (tier_with(0, decision=REVIEW), "tiers.B.decision is APPROVED, better than A's REVIEW"),
        (tier_with(0, inflow_share=1.1), "tiers.A.inflow_share must be 0 to 1"),
        (tier_with(0, inflow_share=40), "tiers.A.inflow_share must be 0 to 1: 0.4 for 40 percent"),
        (tier_with(4, inflow_share=math.nan), "tiers.E.inflow_share must be 0 to 1"),
        (tier_with(2, inflow_share=0.36), "tiers.C.inflow_share is 0.36, above B's 0.35"),
        (tier_with(3, limit_max=16_000), "tiers.D.limit_max is 16_000, above C's 15_000"),
        (tier_with(4, limit_max=499), f"tiers.E.limit_max {STEPS}"),
        (tier_with(4, limit_max=0), f"tiers.E.limit_max {STEPS}"),
        (tier_with(4, limit_max=-500), f"tiers.E.limit_max {STEPS}"),
        (tier_with(0, limit_max=500_500), f"tiers.A.limit_max {STEPS}"),
        (tier_with(0, limit_max=50_001), f"tiers.A.limit_max {STEPS}"),
    ]:
        with subtests.test(told):
            assert told_of(policy) == [told]


@pytest.mark.parametrize("name", ["A1", "1A", "700+", "-700", "APPROVE"])
def test_a_tier_may_have_any_name_that_no_target_can_be_mistaken_for(name: str) -> None:
    assert told_of(tier_with(0, name=name)) == []


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        *(
            (rules_of(rule(name)), f"rules{shown}.name {RULE_NAME}")
            for name, shown in (
                *(("", "[1]"), ("A", ".A"), ("1a", ".1a"), ("a b", '."a b"')),
                *(("a\n", r'."a\n"'), ("a" * 41, f".{'a' * 41}")),
            )
        ),
        (
            rules_of(rule(Rule.PAUSED.value)),
            "rules.paused.name is a code of Alama's own; choose another name",
        ),
        (rules_of(rule(), rule()), "rules[2].name is the name of a rule above"),
        (
            rules_of(OwnRule("a", "mm_months < 3", Decision.APPROVED)),
            "rules.a.decision must be REVIEW or DECLINED: a rule can only decide against",
        ),
        (rules_of(rule(says="a\nb")), "rules.a.says must be one line of at most 200 characters"),
        (
            rules_of(rule(says="a" * 201)),
            "rules.a.says must be one line of at most 200 characters",
        ),
        (rules_of(*map(rule, "ab" * 60)), f"rules must be at most {RULES_MAX}"),
    ],
)
def test_rules_have_a_name_of_their_own_and_decide_against_or_it_is_told(
    policy: Policy, told: str
) -> None:
    assert told_of(policy) == [told]


@pytest.mark.parametrize(
    "when", ["", "mm_months", "mm_monts < 3", "region < 3", "applicant_ref == 'a'", "(" * 900]
)
def test_an_expression_that_cannot_be_read_is_told_with_its_column(when: str) -> None:
    (told,) = told_of(rules_of(rule(when=when)))
    assert told.startswith("rules.a.when is wrong at column ")


def test_what_is_asked_of_the_data_is_possible_or_told(subtests: pytest.Subtests) -> None:
    for policy, told in [
        *(
            (
                part_with("affordability", existing_repayments_share=share),
                "affordability.existing_repayments_share must be 0 to 1",
            )
            for share in (-0.1, 1.1, math.nan)
        ),
        *(
            (
                part_with("affordability", outflow_ratio_max=ratio),
                "affordability.outflow_ratio_max must be above 0 and finite",
            )
            for ratio in (0.0, -1.0, math.inf, math.nan)
        ),
        *(
            (
                part_with("sufficiency", fields_min=fields_min),
                f"sufficiency.fields_min {FIELDS}",
            )
            for fields_min in (-1, 16)
        ),
        *(
            (
                part_with("sufficiency", outside_times=times),
                "sufficiency.outside_times must be 1 to 1_000_000",
            )
            for times in (0.9, 1e7, math.nan)
        ),
        *(
            (
                part_with("sufficiency", unlike_share=share),
                "sufficiency.unlike_share must be above 0 and at most 0.01",
            )
            for share in (0.0, 0.011, math.nan)
        ),
        (part_with("law", retention_days=-1), "law.retention_days must be 0 to 36500 days"),
        (part_with("law", notice_days=40_000), "law.notice_days must be 0 to 36500 days"),
        *(
            (
                part_with("law", forbidden_fields=("region", name)),
                "law.forbidden_fields[2] is required, so it cannot be forbidden",
            )
            for name in ("avg_inflow", "monthly_inflow")
        ),
    ]:
        with subtests.test(told):
            assert told_of(policy) == [told]


def test_prices_caps_and_days_are_possible_or_told(subtests: pytest.Subtests) -> None:
    for policy, told in [
        *(
            (
                part_with("pricing", loss_given_default=share),
                "pricing.loss_given_default must be at least 0 and below 1",
            )
            for share in (-0.1, 1.0, math.nan)
        ),
        *(
            (part_with("pricing", **{name: figure}), f"pricing.{name} must be 0 to {most}")
            for name, most in (
                ("cost_per_loan", "1_000_000_000_000"),
                ("fee_per_loan", "1_000_000_000_000"),
                ("cost_share", "1"),
                ("fee_share", "1"),
            )
            for figure in (-0.1, 1e13, math.inf, math.nan)
        ),
        (
            part_with("pricing", funding=0.0, margin=0.0),
            "pricing.margin must be at least 0.1 together with funding",
        ),
        (part_with("pricing", funding=math.nan), "pricing.funding must be 0 to 10_000"),
        (part_with("pricing", margin=-1.0), "pricing.margin must be 0 to 10_000"),
        (part_with("caps", apr_max=14.0), f"caps.apr_max is 14 {BELOW_COSTS}"),
        (part_with("caps", apr_max=1.5), f"caps.apr_max is 1.5 {BELOW_COSTS}; did you mean 150?"),
        (part_with("repayment", every_days=10), "repayment.every_days must be 7, 14, 30"),
        (
            part_with("repayment", saving=50.0),
            "repayment.saving must be 0 to 1: 0.5 for 50 percent",
        ),
        (
            part_with("repayment", payment_share_max=0.0),
            "repayment.payment_share_max must be 0.01 to 10",
        ),
        (
            part_with("repayment", fee_tax=20.0),
            "repayment.fee_tax must be 0 to 1: 0.2 for 20 percent",
        ),
        *(
            (
                part_with("caps", apr_max=apr_max),
                "caps.apr_max must be above 0 and at most 10_000",
            )
            for apr_max in (0.0, -1.0, 1e19, math.inf, math.nan)
        ),
        *(
            (
                part_with("caps", charges_max=charges_max),
                "caps.charges_max must be 0.00049 (for a price of 0.1 %) to 10",
            )
            for charges_max in (0.0, 1e-9, 11.0, math.inf, math.nan)
        ),
        (
            part_with("caps", below_break_even=Decision.APPROVED),
            "caps.below_break_even must be REVIEW or DECLINED",
        ),
        *(
            (part_with("daily", **{name: bound}), f"daily.{name} must be finite and not negative")
            for name in ("volume_max", "expected_loss_max")
            for bound in (-1.0, math.inf, math.nan)
        ),
        *(
            (altered(evidence=AskedEvidence(days_max=days)), "evidence.days_max must be 1 to 366")
            for days in (0, -1, 367)
        ),
        *(
            (
                part_with("daily", utc_offset_hours=hours),
                "daily.utc_offset_hours must be -12 to 14",
            )
            for hours in (-13, 15, 10**400)
        ),
    ]:
        with subtests.test(told):
            assert told_of(policy) == [told]


def test_an_unsound_policy_is_not_sealed_and_all_its_faults_are_told() -> None:
    policy = altered(currency="kes", terms_days=(60,))
    with pytest.raises(InvalidPolicy) as caught:
        seal(policy)
    assert [fault.key for fault in caught.value.faults] == ["currency", "standard_loan.term_days"]
    assert {fault.line for fault in caught.value.faults} == {None}


def test_a_sound_policy_is_sealed_with_the_id_of_its_content() -> None:
    assert seal(msgspec.structs.replace(POLICY, id="")) == POLICY
    assert seal(part_with("pricing", margin=11.0)).id != POLICY.id


# ------------------------------------------------------------------------ monotone


def unsteady_in(when: str) -> list[tuple[str, str]]:
    policy = rules_of(rule("steady", "mm_months < 3"), rule("mine", when))
    return [(one.field, one.why) for one in unsteady(policy) if one.rule == "mine"]


@pytest.mark.parametrize(
    "when",
    [
        "mm_months < 3",
        "requested_amount > 2 * avg_inflow",
        "avg_outflow / avg_inflow > 1.3",
        "region == 'nairobi' and balance_stability <= 0.2",
        "region is missing",
        "not (avg_inflow >= 4_000)",
    ],
)
def test_a_rule_that_never_turns_against_a_better_value_is_certified(when: str) -> None:
    assert unsteady_in(when) == []


@pytest.mark.parametrize(
    ("when", "field", "why"),
    [
        ("mm_months > 3", "mm_months", "it will begin to fire as mm_months grows"),
        ("mobile_money_months > 3", "mm_months", "it will begin to fire as mm_months grows"),
        (
            "requested_amount < 1_000",
            "requested_amount",
            "it will begin to fire as requested_amount falls",
        ),
        ("avg_inflow == 5", "avg_inflow", "it may begin to fire as avg_inflow grows"),
        (
            "requested_amount != 5",
            "requested_amount",
            "it may begin to fire as requested_amount falls",
        ),
    ],
)
def test_a_rule_that_may_turn_against_a_better_value_is_told(
    when: str, field: str, why: str
) -> None:
    assert unsteady_in(when) == [(field, why)]


def test_a_policy_without_rules_of_its_own_is_certified() -> None:
    assert list(unsteady(POLICY)) == []


# ------------------------------------------------------------------------ what would do no good


@pytest.mark.parametrize(("name", "meant"), [("regoin", "region"), ("contact", "contacts")])
def test_a_forbidden_field_that_is_misspelled_is_refused_with_what_was_meant(
    name: str, meant: str
) -> None:
    (told,) = told_of(part_with("law", forbidden_fields=("region", name)))
    assert told.startswith("law.forbidden_fields[2] is neither a field nor")
    assert f"did you mean {meant}?" in told


@pytest.mark.parametrize("name", ["requested_amount", "requested_term_days"])
def test_a_rule_that_waits_for_a_loan_to_be_missing_is_refused(name: str) -> None:
    (told,) = told_of(rules_of(rule(when=f"mm_months < 3 and not ({name} is given)")))
    assert f"asks whether {name} is missing, and it never is" in told


def test_a_fee_that_no_cap_leaves_room_for_is_refused() -> None:
    added = msgspec.structs.replace(REPAYMENT, fees=Fees.ADDED)
    fees = (msgspec.structs.replace(POLICY.pricing, fee_share=share) for share in (0.7, 0.75))
    less, more = (told_of(altered(pricing=fee, repayment=added)) for fee in fees)
    assert (len(less), len(more)) == (0, 1)
    assert more[0].startswith("pricing.fee_share is above the caps at every term: they leave 0.74")


def test_a_fee_that_is_deducted_leaves_room_below_the_caps_at_every_term() -> None:
    # 150 % a year for 30 days: 500 less the fee is paid back as 500 at most.
    most = 1.0 - 1.0 / (1.0 + 1.5 * 30 / 365)
    assert not told_of(part_with("pricing", fee_share=most - 1e-6))
    (told,) = told_of(part_with("pricing", fee_share=most + 1e-6))
    assert told.startswith(
        "pricing.fee_share is above the caps with fee_per_loan: 54.88 on 500, 30"
    )
    assert told_of(part_with("pricing", fee_per_loan=100.0))


def test_instalments_fill_every_term() -> None:
    weekly = msgspec.structs.replace(REPAYMENT, kind=Kind.INSTALMENTS, every_days=7)
    told = told_of(altered(repayment=weekly, terms_days=(28, 30), standard_loan=LOAN_OF_28_DAYS))
    assert told == ["terms_days[2] must be a whole number of payments, one every 7 days"]


def test_rules_about_the_loan_and_terms_are_few() -> None:
    loan = [rule(f"r{n}", f"requested_amount > {n + 1}") for n in range(11)]
    assert told_of(rules_of(*loan[:10])) == []
    assert told_of(rules_of(*loan)) == ["rules must be at most 10 that speak of amount or term"]
    terms = told_of(altered(terms_days=tuple(range(7, 32))))
    assert "terms_days must offer 1 to 24 terms" in terms
