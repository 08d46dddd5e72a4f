"""Numbers and phrases as people write them in a language.

A number is shown with few digits, but never with so few that it would stand in another band of the
scorecard than it does: "your balance is 2,000, at least 2,000 would help" must not be said.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Final

from alama.core.application import fold
from alama.core.reasons.dictionary import COUNTED, Shown, Singular

if TYPE_CHECKING:
    from alama.core.reasons.dictionary import Language

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
