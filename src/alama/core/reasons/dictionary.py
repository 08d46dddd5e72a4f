"""The dictionary of reasons: codes that all languages share, and the texts of one language.

A *text* says what is so, with the applicant's own value; its *help* says what level would be better
and is left out where none is known. *Changes* say what to do, and *obstacles* why nothing would do.
All are templates of `str.format`, and come with the package: nothing that a lender or an applicant
sends is ever used as one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from alama.core.application import fold
from alama.core.lending.policy import Rule
from alama.core.product import PRODUCT
from alama.core.recourse.answer import Hindrance

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alama.core.catalogue import Field


FIELD_LOWERS_SCORE: Final = "field_lowers_score"
FIELD_RAISES_SCORE: Final = "field_raises_score"
NOT_GIVEN: Final = "not_given"
LENDER_RULE: Final = "lender_rule"

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


def read_language(codes: str, language: str) -> Language:
    """Read the texts of a language for the codes; both are TOML."""
    return msgspec.convert(tomllib.loads(codes) | tomllib.loads(language), Language)


# ------------------------------------------------------------------------------------------- fields


def is_ours(field: Field) -> bool:
    """Say whether a model means by the name of a field what we do."""
    if field.name not in PRODUCT.position:
        return False
    ours = PRODUCT.field(field.name)
    return (field.kind, field.unit, field.money) == (ours.kind, ours.unit, ours.money)


def codes_of(field: Field, language: Language) -> FieldCodes | None:
    """Give the codes of a field; None if it is not ours, or no model reads it."""
    return language.fields.get(field.name) if is_ours(field) else None


def shown_as(field: Field, language: Language) -> Shown:
    """Say how the values of a field are shown."""
    codes = codes_of(field, language)
    if codes is not None:
        return codes.shown
    if field.money or field.labels is None:
        return Shown.MONEY if field.money else Shown.NUMBER
    if field.unit == "share" and field.maximum == 1.0:
        return Shown.OF_HUNDRED
    return _BY_UNIT.get(field.unit, Shown.NUMBER)


_BY_UNIT: Final = {"months": Shown.MONTHS, "days": Shown.DAYS}
"""How the values of a lender's own fields are shown."""


def name_of(field: Field, spelled: str, language: Language) -> str:
    """Say what a field is; one that the dictionary does not know is quoted as it is spelled."""
    if is_ours(field) and field.name in language.names:
        return language.names[field.name]
    if field.labels is not None:
        return str(getattr(field.labels, language.code, field.labels.en))
    return language.forms.word.format(word=spelled)


def listed(fields: Iterable[Field], language: Language) -> str:
    """Name fields, one after another."""
    names = [name_of(field, field.name, language) for field in fields]
    if len(names) < 2:  # noqa: PLR2004  one needs no conjunction
        return "".join(names)
    *first, last = names
    return language.forms.both.format(first=", ".join(first), last=last)


# ------------------------------------------------------------------------------------------ numbers
#
# A number is shown with few digits, but never with so few that it would stand in another band of
# the scorecard than it does: "your balance is 2,000, at least 2,000 would help" must not be said.


_EXACT: Final = Context(prec=700)
"""Enough for every double in full."""

_HUNDRED: Final = frozenset({Shown.OF_HUNDRED, Shown.PERCENT})
_SMALL_MONEY: Final = Decimal(100)
_CENT: Final = -2
_LEVEL_DIGITS: Final = {Shown.MONEY: 3}
_LEVEL_DIGITS_OTHERS: Final = 2
"""Significant digits of a level: people aim at round numbers."""

Fits = Callable[[float], bool]
"""Whether a rounded value still says the same as the value itself."""


def scaled(shown: Shown, number: float) -> Decimal:
    """Give a value of a field as the number that is shown for it: a share as one of 100."""
    exact = Decimal(repr(float(number)))
    return exact.scaleb(2, _EXACT) if shown in _HUNDRED else exact


def plain_value(shown: Shown, number: float, fits: Fits) -> Decimal:
    """Round a value for the eye, as far as it still fits where the value itself does."""
    exact = scaled(shown, number)
    exponent = 0
    if shown is Shown.MONEY and abs(exact) < _SMALL_MONEY:
        exponent = _CENT
    elif shown in {Shown.TRANSACTIONS, Shown.TOP_UPS, Shown.NUMBER}:
        exponent = -1
    return _rounded(shown, exact, exponent, ROUND_HALF_EVEN, fits)


def plain_least(shown: Shown, number: float, fits: Fits) -> Decimal:
    """Round a lower bound up to a plain number that fits; the bound itself must."""
    return _rounded_level(shown, number, ROUND_CEILING, fits)


def plain_most(shown: Shown, number: float, fits: Fits) -> Decimal:
    """Round an upper bound down to a plain number that fits; the bound itself must."""
    return _rounded_level(shown, number, ROUND_FLOOR, fits)


def _rounded_level(shown: Shown, number: float, rounding: str, fits: Fits) -> Decimal:
    exact = scaled(shown, number)
    digits = _LEVEL_DIGITS.get(shown, _LEVEL_DIGITS_OTHERS)
    exponent = 0 if shown in _HUNDRED else exact.adjusted() - digits + 1
    return _rounded(shown, exact, exponent, rounding, fits)


def _rounded(shown: Shown, exact: Decimal, exponent: int, rounding: str, fits: Fits) -> Decimal:
    """Give the number with the fewest digits, from this exponent on, that fits."""
    last = exact.as_tuple().exponent
    assert isinstance(last, int)  # a finite number
    for place in range(exponent, last, -1):
        rounded = exact.quantize(Decimal(1).scaleb(place), rounding, _EXACT)
        if fits(float(rounded.scaleb(-2, _EXACT) if shown in _HUNDRED else rounded)):
            return rounded
    return exact


def number(language: Language, value: Decimal) -> str:
    """Write a number without needless zeros."""
    return _punctuated(language, f"{value.normalize(_EXACT):,f}")


def quantity(language: Language, shown: Shown, value: Decimal, currency: str | None) -> str:
    """Write a number with what it is a number of."""
    forms = language.forms
    if shown in COUNTED:
        noun = language.counts[shown]
        form = noun.one if _is_singular(language, value) else noun.other
        return form.format(number=number(language, value))
    if shown is Shown.MONEY and currency is not None:
        known_as = language.currencies.get(currency, currency)
        return forms.money.format(number=_money(language, value), currency=known_as)
    if shown is Shown.OF_HUNDRED:
        return forms.of_hundred.format(number=number(language, value))
    if shown is Shown.PERCENT:
        return forms.percent.format(number=number(language, value))
    return number(language, value)


def _money(language: Language, value: Decimal) -> str:
    """Write an amount, with cents where it has a part of one."""
    if value.normalize(_EXACT).as_tuple().exponent == -1:
        return _punctuated(language, f"{value:,.2f}")
    return number(language, value)


def _punctuated(language: Language, digits: str) -> str:
    """Give digits with the marks of the language for those of Python."""
    numbers = language.numbers
    return digits.translate({ord(","): numbers.group, ord("."): numbers.decimal})


def _is_singular(language: Language, value: Decimal) -> bool:
    if language.numbers.singular is Singular.BELOW_TWO:
        return abs(value) < 2  # noqa: PLR2004  the grammar's own number
    return value == 1


def word(language: Language, field: str, value: str) -> str:
    """Give a word in the language, or quote it as it was sent."""
    known = language.words.get(field, {}).get(fold(value))
    return language.forms.word.format(word=value) if known is None else known
