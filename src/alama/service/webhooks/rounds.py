"""Rounds: one of each queue, and again, so that the length of one is in nobody's way."""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_One = TypeVar("_One")


def rounds(queues: Sequence[Sequence[_One]]) -> Iterator[_One]:
    """Give the first of each queue, then the second of each, until all are empty.

    None can be in no queue.
    """
    mixed = chain.from_iterable(zip_longest(*queues))
    return (one for one in mixed if one is not None)
