"""What an applicant is told to do, word by word, and the dictionary that it comes from."""

from __future__ import annotations

import re
from string import Formatter

import msgspec
import pytest

from alama.core.catalogue import Field, Way
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, OwnRule, Rule
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.core.model import seal as seal_model
from alama.core.product import PRODUCT
from alama.core.reasons.advice import Advice
from alama.core.reasons.dictionary import Language
from alama.core.recourse.additive import SIZE_MAX
from alama.core.recourse.answer import FieldChange, Hindrance, Obstacle
from alama.platform.files.packaged import builtin, languages

LANGUAGES = languages()
ENGLISH, SWAHILI, FRENCH = LANGUAGES
MODEL = ReadyModel(builtin(), "KES")
POLICY = ReadyPolicy(default_policy("KES"), MODEL)
IN_EACH_LANGUAGE = pytest.mark.parametrize("language", LANGUAGES, ids=lambda each: each.code)

TOLD_IN_OTHER_WORDS = {Rule.TIER_BELOW_CUTOFF, Rule.TIER_IN_REVIEW, Rule.UNLIKE_TRAINING}
"""Rules that are never what binds: the tier and plausibility are said by themselves."""


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def change(field: str, before: float, after: float, language: Language = ENGLISH) -> str:
    said = Advice(POLICY, language).change(FieldChange(field, before, after))
    return said.replace("\u00a0", " ").replace("\u202f", " ")


def obstacle(hindrance: Hindrance, *fields: str, language: Language = ENGLISH) -> str:
    return Advice(POLICY, language).obstacle(Obstacle(hindrance, fields))


# ---------------------------------------------------------------------------------- dictionary


@IN_EACH_LANGUAGE
def test_every_way_in_which_a_field_can_change_has_a_text_and_no_other_way_has(
    language: Language,
) -> None:
    ways = {field.name: field.change.way for field in PRODUCT.fields if field.change}
    assert language.changes.keys() == ways.keys()
    for name, texts in language.changes.items():
        assert (texts.up is None) is (ways[name] is Way.DOWN), name
        assert (texts.down is None) is (ways[name] is Way.UP), name
        for text in filter(None, (texts.up, texts.down)):
            assert placeholders(text) == {"before", "after"}, name
    for text in (language.advice.up, language.advice.down):
        assert placeholders(text) == {"before", "after", "name"}


@IN_EACH_LANGUAGE
def test_every_obstacle_has_a_text_with_the_same_placeholders(language: Language) -> None:
    assert language.obstacles.keys() == set(Hindrance) - {Hindrance.RULE}
    for hindrance, text in language.obstacles.items():
        assert placeholders(text) <= {"fields"}
        assert placeholders(text) == placeholders(ENGLISH.obstacles[hindrance]), hindrance
    assert placeholders(language.advice.within) == {"days"}
    for text in (language.advice.at_once, language.advice.notice):
        assert not placeholders(text)


@IN_EACH_LANGUAGE
def test_every_rule_that_can_bind_is_told_without_the_application(language: Language) -> None:
    advice = Advice(POLICY, language)
    for rule in set(Rule) - TOLD_IN_OTHER_WORDS:
        said = advice.obstacle(Obstacle(Hindrance.RULE, rule=rule.value))
        assert not placeholders(said)
        assert (rule in language.rules_that_bind) is (said != language.texts[rule.value].text)
    assert language.rules_that_bind.keys() == ENGLISH.rules_that_bind.keys()


@IN_EACH_LANGUAGE
def test_advice_is_told_in_sentences(language: Language) -> None:
    changes = [text for each in language.changes.values() for text in (each.up, each.down) if text]
    binding = [*language.obstacles.values(), *language.rules_that_bind.values()]
    advice = language.advice
    for text in (*changes, *binding, advice.up, advice.down, advice.notice):
        assert re.fullmatch(r"[A-ZÀÉ].*[^.]\.", text)
    if language is FRENCH:
        for text in (*changes, *binding, advice.notice):
            assert not re.search(r"[^\u00a0]:|[^\u202f];| [:;»%?!]|« |'", text)


# ------------------------------------------------------------------------------------- changes


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (ENGLISH, "Ask for KES 5,000 instead of KES 8,000."),
        (SWAHILI, "Omba mkopo wa KES 5,000 badala ya KES 8,000."),
        (FRENCH, "Demandez 5 000 KES au lieu de 8 000 KES."),
    ],
)
def test_a_smaller_loan_is_advised_in_the_money_of_the_lender(
    language: Language, text: str
) -> None:
    assert change("requested_amount", 8_000, 5_000.0, language) == text


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (ENGLISH, "Wait until you have used mobile money for 1 month (so far: 0)."),
        (
            SWAHILI,
            "Subiri hadi utimize mwezi 1 ukitumia huduma za pesa kwa simu (hadi sasa: 0).",
        ),
        (FRENCH, "Attendez d\u2019avoir utilisé le mobile money pendant 1 mois (à ce jour : 0)."),
    ],
)
def test_the_noun_agrees_with_the_new_number(language: Language, text: str) -> None:
    assert change("mobile_money_months", 0, 1, language) == text


def test_a_field_that_moves_either_way_has_a_text_for_each() -> None:
    assert change("requested_term_days", 30, 60) == (
        "Ask for a longer term: 60 days instead of 30."
    )
    assert change("requested_term_days", 90, 60) == (
        "Ask for a shorter term: 60 days instead of 90."
    )


def test_the_new_value_is_exact_and_the_old_one_is_rounded() -> None:
    assert change("avg_balance", 1_239.71, 2_400.0) == (
        "Raise your average balance from KES 1,240 to KES 2,400."
    )
    assert change("stability_score", 0.3512, 0.435) == (
        "Keep your balance steadier: raise its steadiness from 35 to 43.5 out of 100."
    )


def test_the_old_value_never_looks_like_the_new_one_nor_like_one_beyond() -> None:
    assert change("avg_balance", 2_399.6, 2_400.0).endswith("from KES 2,399.60 to KES 2,400.")
    assert change("avg_balance", 2_399.6, 2_399.7).endswith("from KES 2,399.60 to KES 2,399.70.")
    assert change("tx_frequency", 20.04, 20.0).endswith("20 transactions a month instead of 20.04.")


def test_a_field_of_another_unit_goes_by_its_name_as_the_caller_spelled_it() -> None:
    fields = tuple(
        msgspec.structs.replace(field, unit="weeks") if field.name == "mm_months" else field
        for field in PRODUCT.fields
    )
    advice = Advice(with_catalogue_of(fields), ENGLISH)
    said = advice.change(FieldChange("mobile_money_months", 3, 5))
    assert said == "Raise this from 3 to 5: “mobile_money_months”."


def test_a_field_that_the_dictionary_does_not_know_is_told_in_the_same_way() -> None:
    other = tuple(
        msgspec.structs.replace(field, unit="money a week")
        if field.name == "existing_repayments"
        else field
        for field in PRODUCT.fields
    )
    advice = [Advice(with_catalogue_of(other), language) for language in LANGUAGES]
    paid_back = FieldChange("existing_repayments", 2_000.0, 1_500.0)
    assert [each.change(paid_back).replace("\u00a0", " ") for each in advice] == [
        "Lower this from KES 2,000 to KES 1,500: “existing_repayments”.",
        "Punguza “existing_repayments” hadi KES 1,500 badala ya KES 2,000.",
        "Ramenez « existing_repayments » de 2\u202f000 KES à 1\u202f500 KES.",
    ]


def with_catalogue_of(fields: tuple[Field, ...]) -> ReadyPolicy:
    catalogue = msgspec.structs.replace(PRODUCT, fields=fields)
    model: Model = seal_model(msgspec.structs.replace(builtin(), catalogue=catalogue))
    return ReadyPolicy(default_policy("KES"), ReadyModel(model, "KES"))


# ----------------------------------------------------------------------------------- obstacles


def test_fields_are_listed_by_what_they_are() -> None:
    listed = [
        obstacle(Hindrance.LOCKED, *fields)
        for fields in (
            ("avg_balance",),
            ("avg_balance", "region"),
            ("avg_balance", "region", "requested_amount"),
        )
    ]
    assert [text.partition("a change to ")[2].partition(", but")[0] for text in listed] == [
        "your average balance",
        "your average balance and your region",
        "your average balance, your region and the amount of the loan",
    ]


def test_a_rule_of_the_lender_says_what_the_lender_says_or_goes_by_its_name() -> None:
    rules = (
        OwnRule("young", "mm_months < 3", Decision.DECLINED, "the wallet is {too} young."),
        OwnRule("far", "region == 'x'", Decision.REVIEW),
    )
    policy = ReadyPolicy(seal(msgspec.structs.replace(POLICY.policy, rules=rules)), MODEL)
    said = [
        Advice(policy, ENGLISH).obstacle(Obstacle(Hindrance.RULE, ("mm_months",), rule.name))
        for rule in rules
    ]
    assert said == [
        "One of our rules applies: the wallet is {too} young.",
        "One of our rules applies: “far”.",
    ]


def test_nobody_who_may_be_declined_is_promised_that_somebody_will_look() -> None:
    advice = Advice(POLICY, ENGLISH)
    said = advice.obstacle(Obstacle(Hindrance.RULE, rule=Rule.VALUE_OUTSIDE_TRAINING.value))
    assert "will check" not in said


def test_the_number_of_changes_that_is_too_many_is_that_of_the_search() -> None:
    assert SIZE_MAX == 3
    assert "more than three changes" in obstacle(Hindrance.MORE_CHANGES, "avg_balance")


# ---------------------------------------------------------------------------------- time


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (ENGLISH, ["right away", "within 1 day", "within 2 days", "within 90 days"]),
        (SWAHILI, ["sasa hivi", "ndani ya siku 1", "ndani ya siku 2", "ndani ya siku 90"]),
        (
            FRENCH,
            [
                "dès maintenant",
                "d\u2019ici 1\u00a0jour",
                "d\u2019ici 2\u00a0jours",
                "d\u2019ici 90\u00a0jours",
            ],
        ),
    ],
)
def test_time_is_told_with_the_right_plural(language: Language, expected: list[str]) -> None:
    assert [Advice(POLICY, language).within(days) for days in (0, 1, 2, 90)] == expected


def test_the_notice_says_how_long_advice_holds_and_that_it_is_no_guarantee() -> None:
    notice = Advice(POLICY, ENGLISH).notice()
    for part in ("scoring model", "lending policy", "everything else", "not a guarantee"):
        assert part in notice
