"""What the rows of a card look like: the best tree-shaped distribution of its fields.

slots -> coarse groups -> mutual information of every two fields -> the tree that keeps most of it
      -> smoothed surprises -> the limits that few of the rows exceed

Chow and Liu (1968): of all trees, the one of maximal mutual information is the likeliest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core.kernel import BatchScorecard
from alama.core.likeness import SHARES, Branch, Distribution, Likeness, Limit, moments
from alama.core.tables import MISSING, Card, Feature
from alama.training.making.masking import rows_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.training.dataset import Dataset

    Counts = NDArray[np.int64]

    Floats = NDArray[np.float64]

    Places = NDArray[np.intp]


GROUPS_MAX: Final = 8
"""The most groups of a field. Measured: fewer see less, more see nothing new."""

CELL_ROWS: Final = 100
"""Rows that a cell of two fields should hold on average; with fewer rows, fewer groups."""

_DECIMALS: Final = 6
"""Logarithms differ in their last bits from machine to machine; rounded so they do not."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A field on its groups: `groups` maps slots, `places` has the group of each row."""

    groups: tuple[int, ...]
    places: Places
    counts: Counts

    @property
    def given(self) -> int:
        """Count the rows that have it."""
        return int(self.counts.sum())


def learn_likeness(card: Card, data: Dataset, rare_share: float) -> Likeness:
    """Learn the likeness of the rows that a card serves.

    A group with fewer rows than `rare_share` of them is taken to have that many: a word that was
    never met is as surprising as the rarest that a card names, and no more.
    """
    served = data.take(rows_for(data, [feature.field for feature in card.features]))
    slots = BatchScorecard(card, data.catalogue).slots(served.columns)
    most = min(max(math.isqrt(len(served) // CELL_ROWS), 2), GROUPS_MAX)
    fields = [
        _grouped(feature, slot, most) for feature, slot in zip(card.features, slots, strict=True)
    ]
    joints = {
        (first, second): _joint(fields[first], fields[second])
        for first, second in combinations(range(len(fields)), 2)
    }
    parents = _tree(fields, joints)
    branches = tuple(
        Branch(
            field.groups, parent, _distributions(field, _beside(joints, parent, place), rare_share)
        )
        for place, (field, parent) in enumerate(zip(fields, parents, strict=True))
    )
    unlimited = Likeness(card.name, branches, ())
    return Likeness(card.name, branches, _limits(strangeness_of_rows(unlimited, slots)))


def strangeness_of_rows(likeness: Likeness, slots: Sequence[Places]) -> Floats:
    """Give what `ReadyLikeness.strangeness` gives, to the same bit, for each row."""
    places = [
        np.array(branch.groups)[slot] for branch, slot in zip(likeness.branches, slots, strict=True)
    ]
    surprise = np.zeros(len(slots[0]))
    variance = np.zeros(len(slots[0]))
    for branch, place in zip(likeness.branches, places, strict=True):
        above = np.zeros_like(place) if branch.parent is None else places[branch.parent]
        centred = np.array([(0.0, *(s - b.expected for s in b.surprises)) for b in branch.beside])
        spread = np.array([b.variance for b in branch.beside])
        surprise += centred[above, place]
        variance += np.where(place == MISSING, 0.0, spread[above])
    # Without variance there was nothing that could surprise.
    return np.divide(surprise, np.sqrt(variance), out=np.zeros_like(surprise), where=variance > 0.0)


def _grouped(feature: Feature, slots: Places, most: int) -> _Field:
    counts = np.bincount(slots, minlength=len(feature.main))[1:].tolist()
    inner = _groups_of_words(counts, most) if feature.words else _groups_of_numbers(counts, most)
    groups = (MISSING, *inner)
    places = np.array(groups)[slots]
    return _Field(groups, places, np.bincount(places, minlength=max(groups) + 1)[1:])


def _groups_of_numbers(counts: Sequence[int], most: int) -> list[int]:
    """Merge neighbours into groups of about equal rows, by where the middle of a slot falls."""
    twice_all = max(2 * sum(counts), 1)
    groups: list[int] = []
    below, last = 0, -1
    for count in counts:
        # Slots beyond the last row would fall into a group of their own.
        group = min((2 * below + count) * most // twice_all, most - 1)
        groups.append((groups[-1] if groups else 0) + (group != last))
        below, last = below + count, group
    return groups


def _groups_of_words(counts: Sequence[int], most: int) -> list[int]:
    """Leave the most frequent slots alone; the rest are one group, "other" among them."""
    named = sorted(range(len(counts) - 1), key=lambda slot: (-counts[slot], slot))[: most - 1]
    number = {slot: group for group, slot in enumerate(sorted(named), start=1)}
    return [number.get(slot, len(named) + 1) for slot in range(len(counts))]


def _joint(first: _Field, second: _Field) -> Counts:
    """Count the rows in each group of the first field and of the second, where both are given."""
    height, width = len(first.counts) + 1, len(second.counts) + 1
    flat = np.bincount(first.places * width + second.places, minlength=height * width)
    return flat.reshape(height, width)[1:, 1:]


def _tree(fields: Sequence[_Field], joints: dict[tuple[int, int], Counts]) -> list[int | None]:
    """Give the parent of each field on the tree that keeps most of the mutual information.

    The root is the field that is given most often. Between equals the earlier field wins.
    """
    told = {pair: _mutual_information(joint) for pair, joint in joints.items()}
    root = max(range(len(fields)), key=lambda place: (fields[place].given, -place))
    parents: list[int | None] = [None] * len(fields)
    # The best parent on the tree so far, for each field that is not on it yet.
    best = {place: root for place in range(len(fields)) if place != root}

    def worth(child: int, parent: int) -> tuple[float, int, int]:
        return told[min(child, parent), max(child, parent)], -parent, -child

    while best:
        child = max(best, key=lambda place: worth(place, best[place]))
        parents[child] = best.pop(child)
        for place, parent in best.items():
            best[place] = max(parent, child, key=lambda above: worth(place, above))
    return parents


def _mutual_information(joint: Counts) -> float:
    """Give what one field tells about the other, in nats a row."""
    rows, columns = joint.sum(axis=1).tolist(), joint.sum(axis=0).tolist()
    total = sum(rows)
    return round(
        math.fsum(
            count / total * math.log(count * total / (row * column))
            for row, line in zip(rows, joint.tolist(), strict=True)
            for column, count in zip(columns, line, strict=True)
            if count
        ),
        _DECIMALS,
    )


def _beside(
    joints: dict[tuple[int, int], Counts], parent: int | None, place: int
) -> list[list[int]]:
    """Give the rows in each group of the parent (outer) and of the field; none for a root."""
    if parent is None:
        return []
    joint = joints[parent, place] if parent < place else joints[place, parent].T
    beside: list[list[int]] = joint.tolist()
    return beside


def _distributions(
    field: _Field, beside: Sequence[Sequence[int]], rare_share: float
) -> tuple[Distribution, ...]:
    """Give the field's own distribution, then that beside each group of its parent.

    Rows that lift a rare group to its least stand beside every group of the parent alike. Then
    one row a group, spread as the field's own distribution is, keeps every chance above nought.
    """
    least = max(rare_share * field.given, 1.0)
    lifts = [max(least - count, 0.0) for count in field.counts.tolist()]
    held = [count + lift for count, lift in zip(field.counts.tolist(), lifts, strict=True)]
    all_held = math.fsum(held)
    chances = [count / all_held for count in held]
    lines = [chances]
    both = sum(map(sum, beside))
    for counts in beside:
        part = sum(counts) / both if both else 0.0
        weights = [
            count + part * lift + len(chances) * chance
            for count, lift, chance in zip(counts, lifts, chances, strict=True)
        ]
        total = math.fsum(weights)
        lines.append([weight / total for weight in weights])
    return tuple(_distribution(line) for line in lines)


def _distribution(chances: Sequence[float]) -> Distribution:
    # Adding 0.0 turns a negative zero, which JSON would keep, into a plain one.
    surprises = [-math.log(chance) + 0.0 for chance in chances]
    expected, variance = moments(chances, surprises)
    return Distribution(
        tuple(round(surprise, _DECIMALS) for surprise in surprises),
        round(expected, _DECIMALS),
        round(variance, _DECIMALS),
    )


def _limits(strangeness: Floats) -> tuple[Limit, ...]:
    """Give for each share what no more than that share of the rows exceeds.

    With too few rows for a share that is the strangest of them.
    """
    strangest_first = np.sort(strangeness)[::-1]
    scale = 10.0**_DECIMALS
    return tuple(
        # Rounded up, for down would let rows exceed it.
        Limit(
            share, math.ceil(float(strangest_first[int(share * len(strangeness))]) * scale) / scale
        )
        for share in SHARES
    )
