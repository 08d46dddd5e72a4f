"""The page of the policy says what the policy does, to the last figure."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from alama.api import meanings, openapi
from alama.api.reference.page import Reference
from alama.core.application import read
from alama.core.assess import Assessment, assess
from alama.core.model import ReadyModel
from alama.core.offer import ReadyPolicy
from alama.core.policy import Decision, Rule, default_policy
from alama.core.pricing import Tariff
from alama.core.units import Probability
from alama.files.models import builtin

PAGE = (Path(__file__).parents[2] / "docs" / "policy.md").read_text("utf-8")
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
    return said.offer.limit * said.offer.apr / 100 * said.offer.term_days / 365


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
    assert f"| `funding` | {pricing.funding:.0f} % a year |" in PAGE
    assert f"| `margin` | {pricing.margin:.0f} % a year |" in PAGE
    assert f"It is at most {pricing.apr_max:.0f} %." in PROSE


# ------------------------------------------------------------------------------- the rules


def test_every_rule_has_a_meaning_and_no_other_code_has() -> None:
    assert [*meanings.RULES] == [*Rule]


@pytest.mark.parametrize(("code", "meaning"), meanings.RULES.items())
def test_every_rule_stands_there_as_the_service_tells_it(
    code: str, meaning: meanings.Meaning
) -> None:
    assert f"| `{code}` | {meaning.when} | {meaning.remedy} |\n" in PAGE


def test_the_rules_are_in_the_openapi_document_and_in_the_reference() -> None:
    document = openapi.document()
    rules = document["components"]["schemas"]["OfferDetail"]["properties"]["rules"]
    assert rules["items"]["x-codes"].keys() == meanings.RULES.keys()
    page = Reference(document).html
    assert all(f"<code>{code}</code>" in page for code in meanings.RULES)


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
        f"funding {price.funding:.0f}, margin {price.margin:.0f}." in PROSE
    )


def test_what_the_example_can_repay_is_what_the_page_says() -> None:
    said = assessed()
    tier = next(tier for tier in POLICY.tiers if tier.name == said.tier)
    room = tier.inflow_share * example()["monthly_inflow"]
    standard = POLICY.standard_loan
    chance = said.default_probability
    asked = Tariff(POLICY.pricing, standard.term_days)
    given = Tariff(POLICY.pricing, said.offer.term_days)
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
    lost = said.default_probability * pricing.loss_given_default
    spent = limit * (1 + (pricing.funding + pricing.margin) / 100 * years + pricing.cost_share)
    spent += pricing.cost_per_loan
    due = spent / (1 - lost)
    assert f"{said.offer.term_days} / 365 = {years:.6f} years" in PROSE
    assert f"{said.default_probability} x 60 % = {100 * lost:.5f} % is expected" in PROSE
    assert f"on average is {limit:,} x (1 + 24 % x {years:.6f} + 1 %) + 20 = " in PROSE
    assert f"= KES {spent:,.2f}. So KES {due:,.2f} must be due" in PROSE
    assert f"which is {limit:,} and {said.offer.apr} % a year." in PROSE
    assert said.offer.apr == pytest.approx(100 * (due / limit - 1) / years, abs=0.01)


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
    tariff = Tariff(POLICY.pricing, POLICY.terms_days[0])
    apr = tariff.apr(Probability(0.5), POLICY.limit_step)
    assert apr == POLICY.pricing.apr_max
    assert tariff.price(Probability(0.5), POLICY.limit_step, apr).margin < 0.0
