"""The dictionary of reasons: every code in every language, with the same blanks to fill in."""

from __future__ import annotations

import re
from string import Formatter

import msgspec
import pytest

from alama.core.catalogue import Direction, Kind
from alama.core.lending.policy import Rule
from alama.core.product import PRODUCT
from alama.core.reasons.dictionary import COUNTED, Language, Safer, Shown
from alama.platform.files.packaged import builtin, languages
from tests.explanations import GENERIC

LANGUAGES = languages()
ENGLISH, SWAHILI, FRENCH = LANGUAGES


def test_every_model_field_of_the_product_has_a_code_for_each_sense() -> None:
    assert list(ENGLISH.fields) == [field.name for field in PRODUCT.model_fields]
    codes = [code for own in ENGLISH.fields.values() for code in (own.lowers, own.raises)]
    assert len(codes) == len(set(codes)) == 2 * len(PRODUCT.model_fields)


def test_codes_take_for_granted_what_the_catalogue_says_of_the_direction() -> None:
    safer = {Direction.SAFER: Safer.MORE, Direction.RISKIER: Safer.LESS, Direction.FREE: None}
    for field in PRODUCT.model_fields:
        assert ENGLISH.fields[field.name].safer is safer[field.direction]


def test_values_are_shown_as_their_fields_are() -> None:
    for field in PRODUCT.model_fields:
        shown = ENGLISH.fields[field.name].shown
        assert (shown is Shown.MONEY) is field.money
        assert (shown is Shown.WORD) is (field.kind is Kind.WORD)
        assert (shown in {Shown.OF_HUNDRED, Shown.PERCENT}) is (field.unit == "share")


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.code)
def test_every_code_has_a_text_and_every_text_a_code(language: Language) -> None:
    codes = [code for own in language.fields.values() for code in (own.lowers, own.raises)]
    assert set(language.texts) == {*codes, *Rule, *GENERIC}
    assert len(language.texts) == len(codes) + len(Rule) + len(GENERIC)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.code)
def test_every_language_has_the_same_placeholders(language: Language) -> None:
    assert language.version == ENGLISH.version
    for code, text in language.texts.items():
        assert placeholders(text.text) == placeholders(ENGLISH.texts[code].text), code
        assert (text.help is None) is (ENGLISH.texts[code].help is None), code
        assert text.help is None or placeholders(text.help) == ["level"], code
    for form, phrase in msgspec.structs.asdict(language.forms).items():
        assert placeholders(phrase) == placeholders(getattr(ENGLISH.forms, form)), form
    assert language.counts.keys() == COUNTED
    for noun in language.counts.values():
        assert placeholders(noun.one) == placeholders(noun.other) == ["number"]


def placeholders(template: str) -> list[str]:
    """The names in a template, sorted; nothing but names may stand in the braces."""
    parts = list(Formatter().parse(template))
    assert not any(spec or conversion for _, _, spec, conversion in parts)
    found = [name for _, name, _, _ in parts if name is not None]
    assert all(re.fullmatch("[a-z]+", name) for name in found)
    return sorted(found)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.code)
def test_every_field_has_a_name_and_every_number_that_lowers_a_score_has_advice(
    language: Language,
) -> None:
    assert language.names.keys() == {*language.fields, "existing_repayments"}
    assert language.texts["field_lowers_score"].help is not None
    for own in language.fields.values():
        assert (language.texts[own.lowers].help is None) is (own.shown is Shown.WORD)
        assert language.texts[own.raises].help is None


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.code)
def test_every_word_of_the_built_in_model_is_translated_but_for_places(language: Language) -> None:
    (full,) = [card for card in builtin().cards if card.name == "full"]
    for feature in full.features:
        known = {word for group in feature.words for word in group}
        if known and feature.field != "region":
            assert language.words[feature.field].keys() == known


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.code)
def test_texts_are_sentences(language: Language) -> None:
    for text in language.texts.values():
        for sentence in (text.text, text.help):
            assert sentence is None or re.fullmatch(r"[A-ZÀÉ].*[^.]\.", sentence)


def test_french_puts_its_spaces_where_no_line_breaks() -> None:
    for text in FRENCH.texts.values():
        assert not re.search(r"[^\u00a0]:|[^\u202f];| [:;»%?!]|« |'", text.text + (text.help or ""))
