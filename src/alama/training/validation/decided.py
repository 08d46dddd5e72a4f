"""What a policy decides on whole columns of applications, one by one, exactly as when served."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core.application import Application
from alama.core.catalogue import Kind
from alama.core.kernel import Words
from alama.core.lending.decision import decide
from alama.core.lending.policy import Decision, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from alama.core.application import Value
    from alama.core.catalogue import Field
    from alama.core.kernel import Column
    from alama.core.lending.ready_policy import ReadyPolicy

    Mask = NDArray[np.bool_]

_OUTSIDE: Final = frozenset({Rule.VALUE_OUTSIDE_TRAINING.value, Rule.UNLIKE_TRAINING.value})


@dataclass(frozen=True, slots=True)
class Decided:
    """For each application: approved, left to a person; and whether it is unlike the training.

    `seldom` are those whose like were seldom booked, whether or not the policy looks at that; they
    are outside as well. `unaffordable` are those to whom not even the smallest loan can be offered
    that they could repay.
    """

    approved: Mask
    review: Mask
    outside: Mask
    seldom: Mask
    unaffordable: Mask

    @property
    def declined(self) -> Mask:
        """Say which were declined, by whatever rule."""
        return ~self.approved & ~self.review

    @property
    def seldom_declined_by_score(self) -> Mask:
        """Say which of the seldom booked were declined although they could repay some loan.

        Where a policy has no rules of its own that decline, nothing but a score is left.
        """
        return self.seldom & self.declined & ~self.unaffordable


def decide_rows(policy: ReadyPolicy, columns: Mapping[str, Column], rows: int) -> Decided:
    """Decide on every row. A field that the policy forbids is not looked at: nobody may send it."""
    found = np.zeros((5, rows), dtype=np.bool_)
    for row, values in enumerate(_rows_of_values(policy, columns, rows)):
        scorecard = policy.model.scorecard_for(Application(values))
        asked = policy.as_asked(values)
        scored = scorecard.score(asked)
        verdict = decide(policy, scorecard, asked, scored)
        booking = policy.model.booking_of(scorecard)
        seldom = booking is not None and booking.is_seldom(asked, scored.slots)
        found[0, row] = verdict.decision is Decision.APPROVED
        found[1, row] = verdict.decision is Decision.REVIEW
        found[2, row] = seldom or not _OUTSIDE.isdisjoint(verdict.rules)
        found[3, row] = seldom
        found[4, row] = Rule.UNAFFORDABLE.value in verdict.rules
    return Decided(*found)


def _rows_of_values(
    policy: ReadyPolicy, columns: Mapping[str, Column], rows: int
) -> Iterator[tuple[Value, ...]]:
    forbidden = {name for _, name in policy.forbidden}
    lists: list[Iterable[Value]] = []
    for field in policy.model.catalogue.fields:
        column = None if field.name in forbidden else columns.get(field.name)
        lists.append(repeat(None, rows) if column is None else _values(column, field))
    return zip(*lists, strict=True)


def _values(column: Column, field: Field) -> list[Value]:
    if isinstance(column, Words):
        # The last entry is for what is missing, where code -1 finds it.
        words = [*column.vocabulary, None]
        return [words[code] for code in column.codes.tolist()]
    whole = field.kind is Kind.INTEGER
    return [
        None if value != value else int(value) if whole else value  # noqa: PLR0124  # NaN is not itself
        for value in column.tolist()
    ]
