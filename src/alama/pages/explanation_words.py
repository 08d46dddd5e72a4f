"""What the printed explanation says: labels, names and values in the applicant's language."""

from __future__ import annotations

import re
from bisect import bisect_right
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from alama.core.reasons import wording
from alama.core.reasons.dictionary import COUNTED, Shown
from alama.core.reasons.known import name_of, shown_as
from alama.pages.markup import Markup, tag, text
from alama.pages.numbers import MINUS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alama.core.application import Value
    from alama.core.asked import Unmet
    from alama.core.lending.offer import Offer
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.reasons import Language


_NO_BREAK: Final = "\u00a0"


class Words:
    """The words of one language for the applicants of one policy."""

    __slots__ = ("_language", "_policy")

    def __init__(self, policy: ReadyPolicy, language: Language) -> None:
        self._policy = policy
        self._language = language

    def label(self, key: str, **filled: str) -> str:
        """Give a label of the page, its placeholders filled."""
        return self._language.page[key].format(**filled)

    def detail(self, name: str, value: str) -> Markup:
        """Give the name of a field and its value, set apart."""
        form = text(self._language.page["detail"])
        return Markup(form.format(name=text(name), value=tag("span", value)))

    def name(self, feature: str) -> str:
        """Say what a field is, as a row begins."""
        field = self._policy.model.catalogue.field(feature)
        name = name_of(field, feature, self._language)
        return name[0].upper() + name[1:]

    def value(self, feature: str, value: Value, cuts: Sequence[float] = ()) -> str:
        """Write a value; rounding keeps it between the same cuts. None is a field not given."""
        if value is None:
            return self.label("not_given")
        if isinstance(value, str):
            name = self._policy.model.catalogue.field(feature).name
            return wording.word(self._language, name, value)
        return self._quantity(self._shown(feature), self._rounded(feature, value, cuts))

    def two_values(
        self, feature: str, old: float, new: float, cuts: Sequence[float]
    ) -> tuple[str, str]:
        """Write two values of a field side by side: the new one exactly, what is counted once."""
        shown = self._shown(feature)
        rounded = self._rounded(feature, old, cuts)
        bare = shown in COUNTED or shown is Shown.OF_HUNDRED
        return (
            wording.number(self._language, rounded) if bare else self._quantity(shown, rounded),
            self._quantity(shown, wording.scaled(shown, new)),
        )

    def _rounded(self, feature: str, value: float, cuts: Sequence[float]) -> Decimal:
        band = bisect_right(cuts, value)
        return wording.plain_value(
            self._shown(feature), value, lambda near: bisect_right(cuts, near) == band
        )

    def _shown(self, feature: str) -> Shown:
        return shown_as(self._policy.model.catalogue.field(feature), self._language)

    def assumed(self, value: str) -> str:
        """Say that a value is that of the standard loan."""
        return self._language.forms.assumed.format(value=value)

    def offer(self, offer: Offer) -> dict[str, str]:
        """Give limit, term and price of an offer by the placeholders that labels have for them."""
        return {
            "limit": self._quantity(Shown.MONEY, Decimal(offer.limit)),
            "term": self._quantity(Shown.DAYS, Decimal(offer.term_days)),
            "apr": self._quantity(Shown.PERCENT, Decimal(repr(offer.apr))),
        }

    def unmet(self, unmet: Unmet) -> Iterator[str]:
        """Say what was asked for and is not offered, in whole sentences; often there is nothing."""
        for asked, name, shown in (
            (unmet.amount, "amount", Shown.MONEY),
            (unmet.term, "term", Shown.DAYS),
        ):
            if asked is not None:
                how = "would_ask" if asked.is_changed else "asked"
                key = f"{'assumed' if asked.is_assumed else how}_{name}"
                value = self._quantity(shown, wording.scaled(shown, asked.value))
                yield self.label(key, **{name: value})

    def points(self, tenths: int) -> str:
        """Write points with their sign, a true minus among them."""
        sign = "" if tenths == 0 else "+" if tenths > 0 else MINUS
        return f"{sign}{self.tenths(abs(tenths))}"

    def tenths(self, tenths: int) -> str:
        """Write a number of tenths, with one digit after the mark."""
        whole, tenth = divmod(tenths, 10)
        return f"{whole}{self._language.numbers.decimal}{tenth}"

    def unbroken(self, page: str) -> str:
        """Keep amounts of money on one line, whoever wrote them."""
        currency = self._policy.currency
        known_as = re.escape(self._language.currencies.get(currency, currency))
        return re.sub(rf"\b{known_as} (?=\d)", lambda at: at[0][:-1] + _NO_BREAK, page)

    def _quantity(self, shown: Shown, number: Decimal) -> str:
        return wording.quantity(self._language, shown, number, self._policy.currency)
