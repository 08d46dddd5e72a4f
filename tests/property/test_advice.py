"""Whatever recourse is found, or is not, can be said in every language, and says what was found."""

from __future__ import annotations

import re
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from alama.core.reasons.advice import Advice
from alama.core.reasons.dictionary import Language, Shown, shown_as
from alama.core.recourse.answer import FieldChange
from alama.platform.files.packaged import languages
from tests.recourse import Case, random_case
from tests.tries import tries

LANGUAGES = languages()
SEEDS = st.integers(0, 2**32 - 1)
CASES = SEEDS.map(random_case)
HUNDRED = {Shown.OF_HUNDRED, Shown.PERCENT}


def numbers_in(language: Language, text: str) -> list[Decimal]:
    """Read the numbers in a text as somebody who knows how the language writes them."""
    group, decimal = map(re.escape, (language.numbers.group, language.numbers.decimal))
    found = re.findall(rf"(?<![\w-])-?\d[\d{group}]*(?:{decimal}\d+)?", text)
    return [
        Decimal(one.replace(language.numbers.group, "").replace(language.numbers.decimal, "."))
        for one in found
    ]


def changes(case: Case) -> list[FieldChange]:
    return [change for one in case.find().counterfactuals for change in one.changes]


def is_whole(text: str) -> bool:
    """Whether a text is a sentence, or several, without leftovers."""
    return text.endswith(".") and not re.search(
        r"[{}]|\b(None|nan|inf)\b|\dE[+-]?\d| {2}|^\s|\( *\)|: *\.", text
    )


@tries(150)
@given(CASES)
def test_a_change_is_told_with_its_new_value_in_every_language(case: Case) -> None:
    told = changes(case)
    for language in LANGUAGES:
        advice = Advice(case.ready.policy, language)
        for change in told:
            text = advice.change(change)
            assert is_whole(text)
            shown = shown_as(case.catalogue.field(change.field), language)
            values = [
                float(number.scaleb(-2) if shown in HUNDRED else number)
                for number in numbers_in(language, text)
            ]
            assert change.after in values


@tries(150)
@given(CASES)
def test_both_values_of_a_change_differ_the_way_it_goes(case: Case) -> None:
    english = LANGUAGES[0]
    advice = Advice(case.ready.policy, english)
    for change in changes(case):
        assert isinstance(change.before, int | float)
        assert isinstance(change.after, int | float)
        told = numbers_in(english, advice.change(change).replace("out of 100", ""))
        first, second = told
        new_first = re.search("instead of|so far", advice.change(change)) is not None
        old, new = (second, first) if new_first else (first, second)
        assert (old < new) is (change.before < change.after)
        assert old != new


@tries(150)
@given(CASES)
def test_every_obstacle_is_told_in_every_language(case: Case) -> None:
    for obstacle in case.find().binding:
        texts = [Advice(case.ready.policy, language).obstacle(obstacle) for language in LANGUAGES]
        assert all(map(is_whole, texts))
        assert len(set(texts)) == len(LANGUAGES)
