"""Merkle trees as RFC 6962 draws them: one hash for many items, and a short proof for each.

The hash of an item starts with another byte than that of two halves, so that no half of a tree can
be passed off as an item. A level with an odd one out hands it up as it is.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEAF: Final = b"\x00"
_NODE: Final = b"\x01"


def root(items: Sequence[bytes]) -> bytes:
    """The hash of all items, of which there is one at least."""
    assert items
    level = _leaves(items)
    while len(level) > 1:
        level = _above(level)
    return level[0]


class Step(NamedTuple):
    """One level of the path from an item to the root: what stands beside, and on which side."""

    beside: bytes
    is_left: bool


def path(items: Sequence[bytes], index: int) -> tuple[Step, ...]:
    """What it takes to get from one item to the root, from the leaf upwards.

    Sides instead of the place and the number of items: another number can lead the same way, and
    nobody would notice that it was changed.
    """
    steps = []
    level, at = _leaves(items), index
    while len(level) > 1:
        beside = at ^ 1
        if beside < len(level):
            steps.append(Step(level[beside], is_left=beside < at))
        level, at = _above(level), at // 2
    return tuple(steps)


def climb(item: bytes, path: Sequence[Step]) -> bytes:
    """The root to which a path leads from an item."""
    found = sha256(_LEAF + item).digest()
    for beside, is_left in path:
        found = _node(beside, found) if is_left else _node(found, beside)
    return found


def _leaves(items: Sequence[bytes]) -> list[bytes]:
    return [sha256(_LEAF + item).digest() for item in items]


def _above(level: Sequence[bytes]) -> list[bytes]:
    pairs = zip(level[::2], level[1::2], strict=False)
    above = [sha256(_NODE + left + right).digest() for left, right in pairs]
    return [*above, level[-1]] if len(level) % 2 else above


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(_NODE + left + right).digest()
