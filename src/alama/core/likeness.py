"""How unlike anything in training an application is: a tree of its fields, and one number.

A card's points add fields up, so they have an answer for combinations that nobody ever had. This
says when that happens. For each card a Chow-Liu tree holds the joint distribution of its fields on
coarse groups of their slots: each field hangs on one other, its parent, that tells most about it.

    surprise    = -log P(group | group of the parent), in nats
    strangeness = sum of (surprise - expected) / sqrt(sum of variances)

Expectation and variance are those of the field beside its parent's group, so that the strangeness
has a mean near 0 and a variance near 1 whatever fields are given. A field that is not given is not
counted, and beside a parent that is not given a field is judged by its own distribution.

The artefact holds surprises, expectations and variances as they are used, rounded: what is left
are sums, one division and one root, which every machine does alike.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.tables import MISSING, Card

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


SHARES: Final = (0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
"""The shares of training rows for which an artefact knows the strangeness they exceed."""

SHARE_MAX: Final = SHARES[0]
"""The largest share that can be asked for. One in a hundred is no longer unlike the others."""

_SURPRISE_MAX: Final = 100.0
_TOLERANCE: Final = 1e-4
"""How far rounded figures may be from those that they imply."""


class Distribution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The groups of one field: the surprise of each, and the mean and variance of surprise."""

    surprises: tuple[float, ...]
    expected: float
    variance: float


class Branch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One field on the tree.

    `groups` maps each slot to a group: 0 is missing, as slot 0 is, and groups count from 1.
    `parent` is the place of another feature on the card, None for a root. `beside` has a
    distribution for each group of the parent, first of all for the one that is not given; a root
    has that alone.
    """

    groups: tuple[int, ...]
    parent: int | None
    beside: tuple[Distribution, ...]


class Limit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The strangeness that no more than this share of the training rows exceeds."""

    share: float
    strangeness: float


class Likeness(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the rows of one card look like. Branches stand in the order of the card's features."""

    card: str
    branches: tuple[Branch, ...]
    limits: tuple[Limit, ...]


class ReadyLikeness:
    """A likeness laid out for look-up."""

    __slots__ = ("_branches", "likeness")

    def __init__(self, likeness: Likeness) -> None:
        self.likeness = likeness
        self._branches = tuple(
            (place if branch.parent is None else branch.parent, _spread(likeness, place))
            for place, branch in enumerate(likeness.branches)
        )

    def strangeness(self, slots: Sequence[int]) -> float:
        """Give how unlike the training rows these slots are, one for each feature of the card.

        About 0 for an ordinary application, more the stranger it is; 0 where nothing is given.
        """
        surprise = 0.0
        variance = 0.0
        for slot, (parent, table) in zip(slots, self._branches, strict=True):
            centred, spread = table[slots[parent]][slot]
            surprise += centred
            variance += spread
        return surprise / math.sqrt(variance) if variance > 0.0 else 0.0

    def limit(self, share: float) -> float:
        """Give the strangeness beyond which an application is among the strangest `share`.

        That of the largest share stored that is no larger than the one asked for. Below them all
        it is infinite, so that a share of 0 calls nothing strange. No share above `SHARE_MAX`.
        """
        if not 0.0 <= share <= SHARE_MAX:
            raise ValueError(f"a share must lie between 0 and {SHARE_MAX}, but is {share}")
        return next((t.strangeness for t in self.likeness.limits if t.share <= share), math.inf)


def _spread(likeness: Likeness, place: int) -> tuple[tuple[tuple[float, float], ...], ...]:
    """Give centred surprise and variance for each slot of the parent and each of the field.

    A root takes itself for its parent, and finds the same line whatever slot it has.
    """
    branch = likeness.branches[place]
    lines = [
        tuple(
            (0.0, 0.0)
            if group == MISSING
            else (beside.surprises[group - 1] - beside.expected, beside.variance)
            for group in branch.groups
        )
        for beside in branch.beside
    ]
    if branch.parent is None:
        return (lines[0],) * len(branch.groups)
    return tuple(lines[group] for group in likeness.branches[branch.parent].groups)


def faults(likeness: Likeness, card: Card) -> Iterator[str]:
    """Yield what makes this no likeness of the card; nothing for a sound one."""
    if len(likeness.branches) != len(card.features):
        yield "its likeness does not have a branch for each feature"
        return
    for branch, feature in zip(likeness.branches, card.features, strict=True):
        for fault in _branch_faults(likeness, branch, len(feature.main)):
            yield f"the likeness of {feature.field}: {fault}"
    if _has_ring(likeness):
        yield "its likeness is no tree: fields hang on each other in a ring"
    shares = [limit.share for limit in likeness.limits]
    if not all(0.0 < share <= SHARE_MAX for share in shares):
        yield f"a share of its likeness is not between 0 and {SHARE_MAX}"
    if any(high <= low for high, low in pairwise(shares)):
        yield "the shares of its likeness do not fall"
    limits = [limit.strangeness for limit in likeness.limits]
    if not all(math.isfinite(limit) for limit in limits):
        yield "a limit of its likeness is not a finite number"
    if any(less > more for less, more in pairwise(limits)):
        yield "the limits of its likeness fall where the shares do"


def _branch_faults(likeness: Likeness, branch: Branch, slots: int) -> Iterator[str]:
    parent = branch.parent
    if parent is not None and not 0 <= parent < len(likeness.branches):
        yield "its parent is not there"
        return
    count = max(branch.groups, default=MISSING)
    if len(branch.groups) != slots:
        yield f"{len(branch.groups)} slots where its table has {slots}"
    elif branch.groups[MISSING] != MISSING or set(branch.groups[1:]) != set(range(1, count + 1)):
        yield "its groups do not count from 1 with missing as 0"
    others = () if parent is None else likeness.branches[parent].groups
    if len(branch.beside) != 1 + max(others, default=MISSING):
        yield "its distributions do not match the groups of its parent"
    for beside in branch.beside:
        if len(beside.surprises) != count:
            yield "a distribution does not match its groups"
        else:
            yield from _distribution_faults(beside)


def _distribution_faults(distribution: Distribution) -> Iterator[str]:
    surprises = distribution.surprises
    if not all(0.0 <= surprise <= _SURPRISE_MAX for surprise in surprises):
        yield f"a surprise is not between 0 and {_SURPRISE_MAX:.0f}"
        return
    chances = [math.exp(-surprise) for surprise in surprises]
    if not abs(math.fsum(chances) - 1.0) <= _TOLERANCE:
        yield "the chances of its groups do not sum to 1"
    expected, variance = moments(chances, surprises)
    if not abs(distribution.expected - expected) <= _TOLERANCE:
        yield "an expectation is not that of its surprises"
    if not (distribution.variance >= 0.0 and abs(distribution.variance - variance) <= _TOLERANCE):
        yield "a variance is not that of its surprises"


def moments(chances: Sequence[float], surprises: Sequence[float]) -> tuple[float, float]:
    """Give the mean and the variance of surprise."""
    pairs = list(zip(chances, surprises, strict=True))
    mean = math.fsum(chance * surprise for chance, surprise in pairs)
    return mean, math.fsum(chance * (surprise - mean) ** 2 for chance, surprise in pairs)


def _has_ring(likeness: Likeness) -> bool:
    """Say whether going up from some field never ends; a parent that is not there ends it."""
    parents = dict(enumerate(branch.parent for branch in likeness.branches))
    for start in parents:
        above: int | None = start
        for _ in parents:
            above = parents.get(above) if above is not None else None
        if above is not None:
            return True
    return False
