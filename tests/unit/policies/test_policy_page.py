"""The page of the policy says what the policy does, to the last figure."""

import json
import math
import re
import shlex
import textwrap
import tomllib
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from alama.app import cli as app_cli
from alama.app import openapi
from alama.core.application import read
from alama.core.assess import Assessment, assess
from alama.core.expressions import expression
from alama.core.lending import policy_check, policy_text
from alama.core.lending.cash_flow import AprKind
from alama.core.lending.draft import default_policy, default_text
from alama.core.lending.offer import lay_out
from alama.core.lending.policy import UNSAID, Decision, Fees, Kind, Policy, Repayment, Rule
from alama.core.lending.pricing import Tariff
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.units import Probability
from alama.platform.files.packaged import builtin, sample_application
from alama.platform.http import problem_codes
from alama.platform.http.reference import Reference

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "policy.md").read_text("utf-8")
PROSE = " ".join(PAGE.replace("**", "").split())
POLICY = default_policy("KES")
READY = ReadyModel(builtin(), "KES")
BETTER_INFLOW = 40_000


def example() -> dict[str, float]:
    """The body of the request on the page."""
    (body,) = re.findall(r"-d '(\{.*?\})'", PAGE, re.DOTALL)
    sent: dict[str, float] = json.loads(body)
    return sent


def assessed(**changed: float) -> Assessment:
    application = read(READY.catalogue, {**example(), **changed})
    return assess(READY, ReadyPolicy(POLICY, READY), application)


def interest(said: Assessment) -> float:
    """What the loan costs on top of its amount."""
    return lay_out(ReadyPolicy(POLICY, READY), said.offer).interest


# ------------------------------------------------------------------------------ the policy


def test_every_tier_stands_there_with_its_scores_decision_and_bounds() -> None:
    best = POLICY.tiers[0]
    scores = [f"{best.score_min} and more"]
    scores += [f"{low.score_min} to {high.score_min - 1}" for high, low in pairwise(POLICY.tiers)]
    rows = [
        f"| {tier.name} | {score} | {tier.decision} | {tier.inflow_share:.0%} "
        f"| KES {tier.limit_max:,} |".replace("%", " %")
        for tier, score in zip(POLICY.tiers, scores, strict=True)
    ]
    assert "\n".join(rows) in PAGE
    assert f"in steps of {POLICY.limit_step};" in PROSE


def test_every_decision_has_its_meaning() -> None:
    assert re.findall(r"^\| `([A-Z]+)` \|", PAGE, re.MULTILINE) == [*Decision]


def test_the_terms_and_the_standard_loan_are_those_of_the_policy() -> None:
    *shorter, longest = ReadyPolicy(POLICY, READY).terms_days
    assert f"({', '.join(map(str, shorter))} and {longest} days)" in PROSE
    standard = POLICY.standard_loan
    assert f"ask for KES {standard.amount:,.0f} for {standard.term_days} days." in PROSE


def test_the_parts_of_the_price_are_those_of_the_policy() -> None:
    pricing = POLICY.pricing
    assert f"default probability x {pricing.loss_given_default:.0%}".replace("%", " %") in PAGE
    assert f"{pricing.cost_share:.0%}".replace("%", " %") + " of the amount" in PAGE
    assert f"and KES {pricing.cost_per_loan:.0f} a loan" in PAGE
    assert f"| `funding` | {pricing.funding:.0f} % a year on what is owed |" in PAGE
    assert f"| `margin` | {pricing.margin:.0f} % a year on what is owed |" in PAGE
    assert f"The rate by `capped_apr` is at most {POLICY.caps.apr_max:.0f} %" in PROSE


def test_the_repayment_on_the_page_is_that_of_the_policy() -> None:
    start = PAGE.index("    [repayment]")
    shown = tomllib.loads(textwrap.dedent(PAGE[start : PAGE.index("\nOne loan has one cash flow")]))
    assert shown["repayment"] == msgspec.to_builtins(POLICY.repayment)


def test_what_a_policy_without_a_repayment_means_is_what_the_page_says() -> None:
    assert (UNSAID.kind, UNSAID.saving) == (Kind.BULLET, 1.0)
    assert UNSAID.capped_apr is UNSAID.shown_apr is AprKind.SIMPLE
    assert 'priced as a bullet and judged with `saving = 1`, its rates `"simple"`' in PROSE
    silent = Repayment()
    assert (silent.kind, silent.fees, silent.saving) == (Kind.BULLET, Fees.ADDED, 0.5)
    assert (silent.payment_share_max, silent.fee_tax) == (None, 0.0)
    assert silent.capped_apr is silent.shown_apr is AprKind.NOMINAL


def test_every_definition_of_a_rate_has_its_meaning() -> None:
    assert re.findall(r"^\| `([a-z]+)` \| (?:what is paid|the internal)", PAGE, re.MULTILINE) == [
        *AprKind
    ]


# ------------------------------------------------------------------------------- the rules


def test_every_rule_has_a_meaning_and_no_other_code_has() -> None:
    assert [*problem_codes.RULES] == [*Rule]


def test_the_rules_are_in_the_openapi_document_and_in_the_reference() -> None:
    document = openapi.document()
    for name in ("OfferDetail", "ExplainReply"):
        rules = document["components"]["schemas"][name]["properties"]["rules"]
        assert rules["items"]["x-codes"].keys() == problem_codes.RULES.keys()
    page = Reference(document).html
    assert all(f"<code>{code}</code>" in page for code in problem_codes.RULES)


# --------------------------------------------------------------------------- rules of one's own


def with_rules(text: str) -> Policy:
    return policy_text.read(default_text("KES") + b"\n" + text.encode())


def rules_on_the_page() -> str:
    """The rules that the page writes down, as they stand there."""
    start = PAGE.index("    [[rules]]")
    return textwrap.dedent(PAGE[start : PAGE.index("\n`when` compares")])


def test_the_rules_on_the_page_can_be_put_into_a_policy_and_are_certified() -> None:
    policy = with_rules(rules_on_the_page())
    assert [rule.name for rule in policy.rules] == ["new_wallet", "thin_and_large"]
    assert list(policy_check.unsteady(policy)) == []
    assert "It is with the two rules above;" in PROSE


def test_the_rule_that_would_cost_the_certificate_does() -> None:
    (rule,) = re.findall(r"with `when = (\".*?\")` it would not be", PROSE)
    policy = with_rules(f'[[rules]]\nname = "other"\nwhen = {rule}\ndecision = "REVIEW"\n')
    assert [found.rule for found in policy_check.unsteady(policy)] == ["other"]


def test_the_second_rule_bounds_what_is_offered_to_those_who_ask_for_little() -> None:
    bounded = ReadyPolicy(with_rules(rules_on_the_page()), READY)
    inflow = 6_000
    modest = {
        **json.loads(sample_application()),
        "mm_months": 150,
        "avg_inflow": inflow,
        "avg_outflow": 5_400,
        "avg_balance": 4_800,
        "balance_stability": 0.98,
        "counterparties": 60,
        "airtime_regularity": 0.98,
        "requested_amount": 500,
        "requested_term_days": 180,
        "existing_repayments": 0,
        "region": "Nyeri",
    }
    application = read(READY.catalogue, modest)
    free = assess(READY, ReadyPolicy(POLICY, READY), application)
    held = assess(READY, bounded, application)
    assert (free.decision, held.decision) == (Decision.APPROVED, Decision.APPROVED)
    assert held.offer.limit == 2 * inflow < free.offer.limit


def fires(when: str, **values: float | str) -> bool:
    sent = [values.get(field.name) for field in READY.catalogue.fields]
    return expression.parse(when, READY.catalogue).fires(sent)


def test_a_rule_about_what_is_missing_fires_only_where_it_says_so() -> None:
    (when,) = re.findall(r"write `(.*?)` if silence should count", PROSE)
    assert fires(when)
    assert fires(when, existing_repayments=5_001)
    assert not fires(when, existing_repayments=5_000)
    assert not fires("existing_repayments > 5000")
    assert not fires("not (existing_repayments > 5000)")


def test_dividing_by_nothing_does_what_the_page_says() -> None:
    ratio = "avg_outflow / avg_inflow"
    assert fires(f"{ratio} > 1e300", avg_outflow=1, avg_inflow=0)
    assert fires(f"{ratio} == 0", avg_outflow=0, avg_inflow=0)


def test_words_are_compared_without_case() -> None:
    assert fires("region in ['NAIROBI']", region="nairobi")
    assert fires("region not in ['Kisumu']", region="nairobi")


# --------------------------------------------------------------------------- doubts and commands


def test_what_is_left_to_a_person_is_what_the_default_policy_says() -> None:
    sufficiency, affordability = POLICY.sufficiency, POLICY.affordability
    assert f"a number more than {sufficiency.outside_times:g} times beyond all" in PROSE
    assert sufficiency.unlike_share is not None
    assert f"all but {100 * sufficiency.unlike_share:g} % of those in training" in PROSE
    assert f"where more than {affordability.outflow_ratio_max:g} times the inflow goes" in PROSE
    silence = 100 * affordability.existing_repayments_share
    assert f"Where these are not said, {silence:g} % of the inflow is taken for them" in PROSE
    assert f"less {silence:g} % for what may be due elsewhere" in PROSE


@pytest.mark.parametrize("page", ["policy.md", "changing-a-policy.md"])
def test_every_command_in_the_text_can_be_typed(page: str) -> None:
    text = " ".join((DOCS / page).read_text("utf-8").split())
    found = set(re.findall(r"`(alama \w+ \w+[^`]* [^`]+)`", text))
    assert any("lenders pause" in command for command in found)
    for command in found:
        app_cli.build_parser().parse_args(shlex.split(command)[1:])


@pytest.mark.parametrize("page", ["policy.md", "changing-a-policy.md"])
def test_every_action_that_the_text_names_is_there(page: str) -> None:
    text = " ".join((DOCS / page).read_text("utf-8").split())
    for command in set(re.findall(r"`(alama \w+ \w+)`", text)):
        with pytest.raises(SystemExit) as left:
            app_cli.build_parser().parse_args([*command.split()[1:], "--help"])
        assert left.value.code == 0, command


def test_every_option_of_a_simulation_that_the_walk_names_is_there() -> None:
    walk = (DOCS / "changing-a-policy.md").read_text("utf-8")
    rows = re.findall(r"^\| (`--.*?) \|", walk, re.MULTILINE)
    assert len(rows) == 5
    for option in re.findall(r"`(--.*?)`", " ".join(rows)):
        arguments = option.replace("MODE", "live").split()
        on = [] if option.startswith("--on") else ["--on", "scores"]
        app_cli.build_parser().parse_args(["policy", "simulate", "policy.toml", *on, *arguments])


# ----------------------------------------------------------------------------- the examples


def test_the_example_is_answered_as_the_page_says() -> None:
    said = assessed()
    offer, price = said.offer, said.offer.price
    assert (
        f"The score is {said.score}, with a default probability of {said.default_probability}: "
        f"tier {said.tier}, `{said.decision}`." in PROSE
    )
    assert f"the limit is {offer.limit:,}, the term {offer.term_days} days." in PROSE
    assert (
        f"expected loss {price.expected_loss}, running cost {price.running_cost}, "
        f"funding {price.funding}, margin {price.margin}." in PROSE
    )
    assert offer.aprs is not None
    assert f"{offer.aprs.simple} % simple and {offer.aprs.effective} % effective." in PROSE


def test_what_the_example_can_repay_is_what_the_page_says() -> None:
    said = assessed()
    tier = next(tier for tier in POLICY.tiers if tier.name == said.tier)
    shares = tier.inflow_share - POLICY.affordability.existing_repayments_share
    room = shares * example()["monthly_inflow"]
    standard = POLICY.standard_loan
    chance = said.default_probability
    asked = Tariff.of(POLICY, standard.term_days)
    given = Tariff.of(POLICY, said.offer.term_days)
    assert asked.due_monthly(chance, standard.amount) > room
    assert f"KES {room:,.0f} per 30 days" in PROSE
    more = said.offer.limit + POLICY.limit_step
    assert given.due_monthly(chance, said.offer.limit) <= room < given.due_monthly(chance, more)
    assert f"KES {room * given.months:,.0f} can fall due" in PROSE
    assert f"carries KES {said.offer.limit:,}, and not KES {more:,}:" in PROSE


def test_the_price_of_the_example_is_worked_out_as_the_page_says() -> None:
    said = assessed()
    pricing, limit = POLICY.pricing, said.offer.limit
    years = said.offer.term_days / 365
    lost = said.default_probability * pricing.loss_given_default * 0.75
    rate = (pricing.funding + pricing.margin) / 100
    spent = limit * (1 + rate * 0.75 * years + pricing.cost_share) + pricing.cost_per_loan
    due = spent / (1 - lost)
    assert f"{said.offer.term_days} / 365 = {years:.6f} years, with 2 payments, so 75 %" in PROSE
    assert f"{said.default_probability} x 60 % x 75 % = {100 * lost:.5f} % is expected" in PROSE
    assert f"on average is {limit:,} x (1 + 24 % x 75 % x {years:.6f} + 1 %) + 20 = " in PROSE
    assert f"= KES {spent:,.2f}. So KES {math.floor(100 * due) / 100:,.2f} must be due" in PROSE
    first, last = lay_out(ReadyPolicy(POLICY, READY), said.offer).payments
    assert first.amount == last.amount
    assert f"two payments of KES {first.amount:,.2f}." in PROSE
    # x^2 limit = x payment + payment, solved for the growth x of a period.
    growth = (first.amount + math.sqrt(first.amount**2 + 4 * limit * first.amount)) / (2 * limit)
    assert f"internal rate is {100 * (growth - 1):.2f} % a period, {said.offer.apr} % a" in PROSE
    assert said.offer.apr == pytest.approx(100 * (growth - 1) * 365 / 30, abs=0.01)


def test_a_better_applicant_gets_a_shorter_term_at_a_higher_rate_as_the_page_says() -> None:
    worse, better = assessed(), assessed(monthly_inflow=BETTER_INFLOW)
    assert f"inflow of KES {BETTER_INFLOW:,} in place of {example()['monthly_inflow']:,}" in PROSE
    assert f"the score rises from {worse.score} to {better.score}" in PROSE
    offers = [
        f"KES {said.offer.limit:,} for {said.offer.term_days} days at {said.offer.apr} %"
        for said in (better, worse)
    ]
    assert " rather than ".join(offers) in PROSE
    assert f"KES {interest(better):,.2f} rather than KES {interest(worse):,.2f}." in PROSE
    assert better.offer.term_days < worse.offer.term_days
    assert better.offer.apr > worse.offer.apr


def test_a_declined_reply_has_a_term_and_a_price_that_are_no_offer() -> None:
    said = assessed(existing_repayments=example()["monthly_inflow"])
    assert said.decision is Decision.DECLINED
    assert said.rules == (Rule.UNAFFORDABLE,)
    assert said.offer.limit == 0
    assert said.offer.apr > 0.0
    assert "They are no offer." in PROSE


def test_the_cap_can_leave_a_negative_margin_as_the_page_says() -> None:
    tariff = Tariff.of(POLICY, POLICY.terms_days[0])
    assert tariff.is_capped(Probability(0.5), POLICY.limit_step)
    assert tariff.quote(Probability(0.5), POLICY.limit_step).price.margin < 0.0
