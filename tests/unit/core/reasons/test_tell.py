"""What an applicant reads, word by word."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from alama.core.application import read
from alama.core.assess import assess
from alama.core.catalogue import Catalogue, Direction
from alama.core.lending.circumstances import Circumstances
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import HOLDS, Decision, OwnRule, Policy, Rule
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.core.model import seal as seal_model
from alama.core.product import PRODUCT
from alama.core.reasons.dictionary import Language
from alama.core.reasons.tell import Reason, reasons
from alama.platform.files.packaged import builtin, languages
from tests.policies import with_parts

LANGUAGES = languages()
ENGLISH, SWAHILI, FRENCH = LANGUAGES
READY = ReadyModel(builtin(), "KES")
POLICY = default_policy("KES")

GOOD: dict[str, Any] = {
    "mobile_money_months": 60,
    "monthly_inflow": 45_000,
    "stability_score": 0.8,
    "airtime_regularity": 0.8,
}
POOR: dict[str, Any] = {
    "mobile_money_months": 1,
    "monthly_inflow": 6_000,
    "stability_score": 0.2,
    "airtime_regularity": 0.2,
}


def told(
    sent: dict[str, Any],
    *holds: Rule,
    policy: Policy = POLICY,
    model: Model | None = None,
    language: Language = ENGLISH,
) -> tuple[Reason, ...]:
    ready = READY if model is None else ReadyModel(model, policy.currency)
    laid_out = ReadyPolicy(policy, ready)
    application = read(ready.catalogue, sent)
    said = assess(ready, laid_out, application, Circumstances(holds))
    return reasons(laid_out, application, said, language)


def with_rule(decision: Decision, says: str) -> Policy:
    rule = OwnRule("young_wallet", "mm_months < 3", decision, says)
    return seal(msgspec.structs.replace(POLICY, rules=(rule,)))


# --------------------------------------------------------------------------------------- rules


def test_a_declined_score_is_the_first_reason_with_the_score_that_is_needed() -> None:
    score, *rest = told(POOR)
    assert score == Reason(
        "tier_below_cutoff",
        None,
        None,
        "Your score of 470 is too low for a loan from us. From 555 on, we can consider one.",
    )
    assert [reason.feature for reason in rest] == [
        "mobile_money_months",
        "stability_score",
        "airtime_regularity",
    ]


def test_a_policy_that_approves_nobody_names_no_score() -> None:
    tiers = tuple(msgspec.structs.replace(t, decision=Decision.REVIEW) for t in POLICY.tiers)
    policy = seal(msgspec.structs.replace(POLICY, tiers=tiers))
    assert told(GOOD, policy=policy)[0].text.endswith(
        "a member of our staff will decide on your application."
    )


def test_a_rule_of_the_policy_says_what_the_lender_says() -> None:
    policy = with_rule(Decision.DECLINED, "the wallet is younger than three months.")
    first = told(POOR, policy=policy)[0]
    assert (first.code, first.feature) == ("lender_rule", None)
    assert first.text == "One of our rules applies: the wallet is younger than three months."


def test_braces_in_what_a_lender_says_are_only_braces() -> None:
    policy = with_rule(Decision.DECLINED, "{score} {0} {}")
    assert told(POOR, policy=policy)[0].text == "One of our rules applies: {score} {0} {}."


def test_a_rule_that_says_nothing_goes_by_its_name() -> None:
    first = told(POOR, policy=with_rule(Decision.DECLINED, ""), language=FRENCH)[0]
    assert first.text == "Une de nos règles s\u2019applique\u00a0: «\u00a0young_wallet\u00a0»."


def test_a_doubt_is_no_reason_for_a_decline() -> None:
    codes = [reason.code for reason in told(POOR, policy=with_rule(Decision.REVIEW, ""))]
    assert codes[0] == "tier_below_cutoff"
    assert "lender_rule" not in codes


@pytest.mark.parametrize("hold", [rule for rule in Rule if rule in HOLDS])
def test_on_a_day_of_holds_the_hold_is_the_reason_and_not_what_would_have_decided(
    hold: Rule,
) -> None:
    codes = [reason.code for reason in told(POOR, hold)]
    assert codes[0] == hold
    assert "tier_below_cutoff" not in codes


def test_too_little_income_is_told_with_the_income_and_the_smallest_loan() -> None:
    first = told({**GOOD, "monthly_inflow": 100, "existing_repayments": 90})[0]
    assert first.code == "unaffordable"
    assert first.text == (
        "The KES 100 that you receive each month, less repayments on other loans (KES 90), is too "
        "little even for our smallest loan, KES 500."
    )


def test_what_nobody_said_is_due_on_other_loans_is_told_as_assumed() -> None:
    first = told({**GOOD, "monthly_inflow": 100})[0]
    assert "other loans (KES 5, our usual figure when none is given)" in first.text


def test_what_is_far_outside_training_is_named() -> None:
    first = told({**GOOD, "monthly_inflow": 9e11})[0]
    assert first.code == "value_outside_training"
    assert first.text.endswith("will check it: the money that you receive each month.")


def test_spending_beyond_income_is_told_with_the_most_that_would_pass() -> None:
    first = told({**GOOD, "monthly_inflow": 45_010, "avg_outflow": 70_000})[0]
    assert first.code == "outflow_above_inflow"
    assert first.text.startswith(
        "Each month you send or withdraw KES 70,000 and receive KES 45,010"
    )
    assert "at most KES 67,500 sent or withdrawn" in first.text


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            ENGLISH,
            (
                "We have 4 details about you, and need at least 6 details to decide "
                "without a review by our staff."
            ),
        ),
        (
            SWAHILI,
            (
                "Tuna taarifa 4 kukuhusu, na tunahitaji angalau taarifa 6 ili kuamua bila "
                "afisa wetu kuhusika."
            ),
        ),
        (
            FRENCH,
            (
                "Nous avons 4\u00a0renseignements à votre sujet\u202f; il faut au moins "
                "6\u00a0renseignements pour décider sans l\u2019intervention d\u2019un agent."
            ),
        ),
    ],
)
def test_too_few_fields_are_counted_as_the_policy_counts_them(
    language: Language, text: str
) -> None:
    policy = with_parts(POLICY, sufficiency={"fields_min": 6})
    loan = {"requested_amount": 2_000, "requested_term_days": 30}
    (first, *_) = told({**GOOD, **loan}, policy=policy, language=language)
    assert (first.code, first.text) == ("too_few_fields", text)


# -------------------------------------------------------------------------------------- fields


def test_a_field_is_named_as_the_caller_spelled_it() -> None:
    respelled = {PRODUCT.field(name).name: value for name, value in POOR.items()}
    assert "mm_months" in [reason.feature for reason in told(respelled)]
    assert "mobile_money_months" in [reason.feature for reason in told(POOR)]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            ENGLISH,
            (
                "You have used mobile money for a short time: 1 month. "
                "With at least 2 months, your score would be higher."
            ),
        ),
        (
            SWAHILI,
            (
                "Umetumia huduma za pesa kwa simu kwa muda mfupi: mwezi 1. "
                "Kama ungekuwa umezitumia kwa muda wa angalau miezi 2, alama zako zingeongezeka."
            ),
        ),
        (
            FRENCH,
            (
                "Vous utilisez le mobile money depuis peu de temps\u00a0: 1\u00a0mois. "
                "Pour un meilleur score\u00a0: au moins 2\u00a0mois."
            ),
        ),
    ],
)
def test_a_weakness_is_told_with_the_value_and_the_level_that_would_help(
    language: Language, text: str
) -> None:
    (history,) = [r for r in told(POOR, language=language) if r.code == "short_history"]
    assert history.text == text
    assert history.contribution is not None
    assert history.contribution < -1.0


def test_an_approval_tells_strengths_alone_and_gives_no_advice() -> None:
    strengths = told(GOOD)
    assert [reason.code for reason in strengths] == [
        "steady_balance",
        "high_inflow",
        "regular_airtime",
        "long_history",
    ]
    assert all(reason.contribution and reason.contribution > 0 for reason in strengths)
    assert not any("would" in reason.text for reason in strengths)


def test_money_is_in_the_currency_of_the_lender() -> None:
    policy = default_policy("XOF")
    sent = {**POOR, "mobile_money_months": 60, "stability_score": 0.6, "monthly_inflow": 12_345.6}
    texts = [reason.text for reason in told(sent, policy=policy, model=builtin(), language=FRENCH)]
    assert (
        "Vous recevez peu d\u2019argent chaque mois\u00a0: 12\u202f346\u00a0FCFA en moyenne. "
        "Pour un meilleur score\u00a0: au moins 20\u202f000\u00a0FCFA."
    ) in texts


def test_a_loan_that_was_not_asked_for_is_called_the_standard_one() -> None:
    policy = seal(
        msgspec.structs.replace(
            POLICY,
            standard_loan=msgspec.structs.replace(POLICY.standard_loan, amount=45_000.0),
        )
    )
    sent = {**GOOD, "monthly_inflow": 9_000, "region": "nairobi", "stability_score": 0.4}
    (loan,) = [reason for reason in told(sent, policy=policy) if reason.code == "large_loan"]
    assert loan.feature == "requested_amount"
    assert "KES 45,000, our usual figure when none is given" in loan.text
    assert re.search(r"With at most KES [\d,]+[05]00,", loan.text)


def test_known_words_are_translated_and_others_quoted() -> None:
    sent = {**POOR, "mobile_money_months": 40, "stability_score": 0.5, "monthly_inflow": 20_000}
    sent |= {"airtime_regularity": 0.5, "device_type": " Basic_Phone ", "loan_purpose": "Emergency"}
    texts = {
        reason.code: reason.text for reason in told(sent, policy=reviewing(), language=SWAHILI)
    }
    assert (
        texts["unfavourable_device"]
        == "Kifaa unachotumia kinapunguza alama zako: simu isiyo na intaneti."
    )
    assert texts["unfavourable_purpose"] == "Lengo la mkopo linapunguza alama zako: dharura."


def reviewing() -> Policy:
    """Leave every score to a person, so that weaknesses are told."""
    tiers = tuple(msgspec.structs.replace(t, decision=Decision.REVIEW) for t in POLICY.tiers)
    return seal(msgspec.structs.replace(POLICY, tiers=tiers))


def test_nobody_is_advised_to_let_the_wallet_lie_still() -> None:
    # A wallet without transactions has more points than one with few, and hardly anyone has it.
    sent = {**GOOD, "tx_frequency": 4.0}
    (often,) = [r for r in told(sent, policy=reviewing()) if r.feature == "tx_frequency"]
    assert "With at least" in often.text


# ------------------------------------------------------------------------- models of one's own


def with_catalogue(catalogue: Catalogue) -> Model:
    return seal_model(msgspec.structs.replace(builtin(), catalogue=catalogue))


def test_a_code_that_calls_a_value_low_is_not_used_where_less_is_better() -> None:
    model = builtin()
    catalogue = PRODUCT.with_directions({"mm_months": Direction.RISKIER})
    cards = tuple(
        msgspec.structs.replace(
            card,
            features=tuple(
                msgspec.structs.replace(feature, main=tuple(-cell for cell in feature.main))
                if feature.field == "mm_months"
                else feature
                for feature in card.features
            ),
        )
        for card in model.cards
    )
    turned = seal_model(msgspec.structs.replace(model, catalogue=catalogue, cards=cards))
    sent = {**POOR, "mobile_money_months": 200}
    (history,) = [r for r in told(sent, model=turned) if r.feature == "mobile_money_months"]
    assert history.code == "field_lowers_score"
    assert "how long you have used mobile money (200 months)" in history.text


def test_a_field_of_another_unit_goes_by_its_own_name_and_number() -> None:
    fields = tuple(
        msgspec.structs.replace(field, unit="weeks") if field.name == "mm_months" else field
        for field in PRODUCT.fields
    )
    model = with_catalogue(msgspec.structs.replace(PRODUCT, fields=fields))
    (history,) = [r for r in told(POOR, model=model) if r.feature == "mobile_money_months"]
    assert history.code == "field_lowers_score"
    assert history.text == (
        "Together with the rest of your application, this lowers your score: "
        "“mobile_money_months” (1). With at least 2, your score would be higher."
    )


def test_what_nobody_can_change_comes_without_advice() -> None:
    fields = tuple(msgspec.structs.replace(field, change=None) for field in PRODUCT.fields)
    model = with_catalogue(msgspec.structs.replace(PRODUCT, fields=fields))
    weaknesses = [reason for reason in told(POOR, model=model) if reason.feature is not None]
    assert weaknesses
    assert not any("would" in reason.text for reason in weaknesses)
