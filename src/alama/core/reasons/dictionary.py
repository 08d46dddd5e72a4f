"""The dictionary of reasons: codes that all languages share, and the texts of one language.

A *text* says what is so, with the applicant's own value; its *help* says what level would be better
and is left out where none is known. *Changes* say what to do, and *obstacles* why nothing would do.
All are templates of `str.format`, and come with the package: nothing that a lender or an applicant
sends is ever used as one.
"""

from __future__ import annotations

import tomllib
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from alama.core.lending.policy import Rule
from alama.core.recourse.answer import Hindrance

FIELD_LOWERS_SCORE: Final = "field_lowers_score"
FIELD_RAISES_SCORE: Final = "field_raises_score"
NOT_GIVEN: Final = "not_given"
LENDER_RULE: Final = "lender_rule"
GENERIC: Final = (FIELD_LOWERS_SCORE, FIELD_RAISES_SCORE, NOT_GIVEN, LENDER_RULE)
"""Codes for what has none of its own."""

Code = Annotated[str, Meta(pattern=r"\A[a-z]+(_[a-z]+)*\Z")]
Template = Annotated[str, Meta(pattern=r"\A\S(.*\S)?\Z")]


class Shown(StrEnum):
    """How the value of a field is shown. Shares are shown as 62 of 100, or as 62 %."""

    MONEY = "money"
    MONTHS = "months"
    DAYS = "days"
    OF_HUNDRED = "of_hundred"
    PERCENT = "percent"
    PARTIES = "parties"
    TRANSACTIONS = "transactions"
    TOP_UPS = "top_ups"
    DETAILS = "details"
    NUMBER = "number"
    WORD = "word"


COUNTED: Final = frozenset(
    {Shown.MONTHS, Shown.DAYS, Shown.PARTIES, Shown.TRANSACTIONS, Shown.TOP_UPS, Shown.DETAILS}
)
"""What is counted, by a noun that has a plural."""


class Safer(StrEnum):
    """What the codes of a field take for granted: that more of it, or less, is better."""

    MORE = "more"
    LESS = "less"


class Singular(StrEnum):
    """Which numbers take the singular: 1 alone, or all below 2 (0 jour, 1,5 jour)."""

    ONE = "one"
    BELOW_TWO = "below two"


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the dictionary: a key that it does not have is a typing error."""


class FieldCodes(_Part, frozen=True):
    """The two codes of a field.

    `safer` is set where they call a value low or high, short or long: then they are used only
    where the model's tables bear it out.
    """

    shown: Shown
    lowers: Code
    raises: Code
    safer: Safer | None = None


class Text(_Part, frozen=True):
    """What a code says; `help` has the one placeholder {level}."""

    text: Template
    help: Template | None = None


class Numbers(_Part, frozen=True):
    """How numbers are written."""

    decimal: str
    group: str
    singular: Singular


class Noun(_Part, frozen=True):
    """What is counted, with its {number}, in the singular and in the plural."""

    one: Template
    other: Template


class Forms(_Part, frozen=True):
    """Phrases that values and levels are put into before a text takes them."""

    money: Template
    of_hundred: Template
    percent: Template
    word: Template
    assumed: Template
    at_least: Template
    at_most: Template
    below: Template
    between: Template
    both: Template


class ChangeTexts(_Part, frozen=True):
    """What somebody is told to do who is to raise, or to lower, the value of a field.

    They have the placeholders {before} and {after}; None where our catalogue does not have it
    change that way.
    """

    up: Template | None = None
    down: Template | None = None


class AdviceTexts(_Part, frozen=True):
    """What is said beside the changes.

    `up` and `down` are for changes that have no text of their own, and have a {name} too. `within`
    has the placeholder {days}, and `at_once` is said for none.
    """

    up: Template
    down: Template
    within: Template
    at_once: Template
    notice: Template


class Language(_Part, frozen=True):
    """The dictionary in one language.

    `version` and `fields` are the same in all of them. `currencies` are the names that people know
    better than the codes. `names` says what each field is, `words` translates values of a field
    that are words; one that it has not is quoted as it was sent.
    `obstacles` have the placeholder {fields}, or none. `rules_that_bind` is for rules whose reason
    is made of one application; the reasons of the others say enough. `page` labels what is printed.
    """

    version: int
    fields: dict[str, FieldCodes]
    code: Annotated[str, Meta(pattern=r"\A[a-z]{2}\Z")]
    name: str
    numbers: Numbers
    forms: Forms
    currencies: dict[str, str]
    counts: dict[Shown, Noun]
    names: dict[str, Template]
    words: dict[str, dict[str, Template]]
    texts: dict[Code, Text]
    changes: dict[str, ChangeTexts]
    obstacles: dict[Hindrance, Template]
    rules_that_bind: dict[Rule, Template]
    advice: AdviceTexts
    page: dict[Code, Template]


def read(codes: str, language: str) -> Language:
    """Read the texts of a language for the codes; both are TOML."""
    return msgspec.convert(tomllib.loads(codes) | tomllib.loads(language), Language)
