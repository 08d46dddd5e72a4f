"""Who is approved and who is not, by region, device and whatever protected attribute was joined.

The four-fifths rule: a group's approval rate should be at least four fifths of the highest one. It
is a question, not a verdict: beside it stands whether the group repays as the model says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from alama.core.application import fold
from alama.training.validation.metrics import Floats, Interval, Labels
from alama.training.validation.tiers import Light, chance_of, jeffreys, light_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.core.kernel import Words

    Mask = NDArray[np.bool_]

    Places = NDArray[np.intp]


FOUR_FIFTHS: Final = 0.8
GROUPS_MAX: Final = 12
GROUP_ROWS_MIN: Final = 100
"""Applications that a word needs to be a group of its own.

Below, its approval rate is mostly chance, and it may name a single person.
"""

OTHER: Final = "other"
NOT_GIVEN: Final = "not given"


class GroupRate(msgspec.Struct, frozen=True):
    """One group: how many applied and were approved, and how its booked loans went.

    `ratio` is its approval rate over the highest one; None where it is too small to compare, or
    nobody is approved.
    """

    name: str
    applications: int
    approved: float
    interval: Interval
    ratio: float | None
    loans: int
    defaults: int
    predicted: float
    observed: float
    light: Light


class Attribute(msgspec.Struct, frozen=True):
    """One way to tell apart those who applied in the out-of-time part."""

    name: str
    is_input: bool
    groups: tuple[GroupRate, ...]

    @property
    def lowest(self) -> GroupRate | None:
        """Give the group with the lowest ratio; None where no group can be compared."""
        compared = [group for group in self.groups if group.ratio is not None]
        return min(compared, key=lambda group: group.ratio or 0.0, default=None)

    @property
    def below_four_fifths(self) -> tuple[str, ...]:
        """Name the groups whose approval rate is below four fifths of the highest."""
        return tuple(g.name for g in self.groups if g.ratio is not None and g.ratio < FOUR_FIFTHS)


@dataclass(frozen=True, slots=True)
class Approvals:
    """Applications: the word of each, and whether it is approved."""

    words: Words
    approved: Mask


@dataclass(frozen=True, slots=True)
class Repayments:
    """Booked loans that the model never saw: the word of each, what it said, what happened."""

    words: Words
    labels: Labels
    probabilities: Floats


def attribute(
    name: str, approvals: Approvals, repayments: Repayments, *, is_input: bool
) -> Attribute:
    """Compare the groups of one attribute, the largest first; rare words are one group.

    No word is told that fewer than `GROUP_ROWS_MIN` applications have.
    """
    names = _group_names(approvals.words)
    asked = _places(approvals.words, names)
    lent = _places(repayments.words, names)
    count = len(names)
    applications = np.bincount(asked, minlength=count).tolist()
    approved = np.bincount(asked, weights=approvals.approved, minlength=count).astype(int).tolist()
    loans = np.bincount(lent, minlength=count).tolist()
    bad = np.bincount(lent, weights=repayments.labels, minlength=count).astype(int).tolist()
    predicted = np.bincount(lent, weights=repayments.probabilities, minlength=count).tolist()
    ratios = four_fifths(approved, applications)
    groups = []
    for place, group in enumerate(names):
        if not applications[place]:
            continue
        rate = predicted[place] / max(loans[place], 1)
        chance = chance_of(bad[place], loans[place], rate) if loans[place] else 1.0
        groups.append(
            GroupRate(
                name=group,
                applications=applications[place],
                approved=approved[place] / applications[place],
                interval=jeffreys(approved[place], applications[place]),
                ratio=ratios[place],
                loans=loans[place],
                defaults=bad[place],
                predicted=rate,
                observed=bad[place] / max(loans[place], 1),
                light=light_of(chance, loans[place]),
            )
        )
    return Attribute(name, is_input, tuple(groups))


def four_fifths(approved: Sequence[int], applications: Sequence[int]) -> list[float | None]:
    """Give each group's approval rate over the highest of those large enough to compare."""
    rates = [
        yes / count if count >= GROUP_ROWS_MIN else None
        for yes, count in zip(approved, applications, strict=True)
    ]
    highest = max((rate for rate in rates if rate is not None), default=0.0)
    if highest == 0.0:
        return [None] * len(rates)
    return [None if rate is None else rate / highest for rate in rates]


def _group_names(words: Words) -> list[str]:
    """Name the frequent words, the most frequent first, then the rest and those who do not say."""
    counts: dict[str, int] = {}
    by_code = np.bincount(words.codes[words.codes >= 0], minlength=len(words.vocabulary)).tolist()
    for word, count in zip(words.vocabulary, by_code, strict=True):
        counts[fold(word)] = counts.get(fold(word), 0) + count
    frequent = sorted(
        (word for word in counts if counts[word] >= GROUP_ROWS_MIN),
        key=lambda word: (-counts[word], word),
    )
    return [*frequent[:GROUPS_MAX], OTHER, NOT_GIVEN]


def _places(words: Words, names: Sequence[str]) -> Places:
    known = {name: place for place, name in enumerate(names[:-2])}
    other, silent = len(names) - 2, len(names) - 1
    of_code = [*(known.get(fold(word), other) for word in words.vocabulary), silent]
    return np.array(of_code, dtype=np.intp)[words.codes]
