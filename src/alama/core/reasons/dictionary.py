"""The dictionary of reasons: codes that all languages share, and the texts of one language.

A *text* says what is so, with the applicant's own value; its *help* says what level would be better
and is left out where none is known. Texts are templates of `str.format`, and come with the package:
nothing that a lender or an applicant sends is ever used as one.
"""

from __future__ import annotations

import tomllib
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

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


class Language(_Part, frozen=True):
    """The dictionary in one language.

    `version` and `fields` are the same in all of them. `names` says what each field is, `words`
    translates values of a field that are words; one that it has not is quoted as it was sent.
    """

    version: int
    fields: dict[str, FieldCodes]
    code: Annotated[str, Meta(pattern=r"\A[a-z]{2}\Z")]
    name: str
    numbers: Numbers
    forms: Forms
    counts: dict[Shown, Noun]
    names: dict[str, Template]
    words: dict[str, dict[str, Template]]
    texts: dict[Code, Text]


def read(codes: str, language: str) -> Language:
    """Read the texts of a language for the codes; both are TOML."""
    return msgspec.convert(tomllib.loads(codes) | tomllib.loads(language), Language)
