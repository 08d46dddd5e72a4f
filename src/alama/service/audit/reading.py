"""The audit as a person reads it: what was done, and the heads that are worth writing down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.chain import MAIN
from alama.service.audit import acts
from alama.service.audit.acts import Kind
from alama.service.audit.chains import PAGE, Told

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alama.core.chain import Head
    from alama.service.audit.acts import Act
    from alama.service.audit.trail import Trail

OF_CHAINS: Final = frozenset({Kind.CHAIN_OPENED, Kind.CHAIN_CLOSED, Kind.HEADS_NOTED})
"""What the service writes by itself, all day long."""


class Done(NamedTuple):
    """An act, where it stands in `main`, and when it was written; None: it cannot be read."""

    number: int
    at_us: int
    kind: str
    act: Act | None


def newest_first(trail: Trail, before: int | None) -> Iterator[Done]:
    """Give what was done, from just before a number on."""
    while links := trail.newest(MAIN, before, PAGE):
        for link in links:
            try:
                act = acts.decode(link.body)
            except (msgspec.DecodeError, UnicodeDecodeError):  # damaged, or of a later version
                act = None
            yield Done(link.number, link.created_us, link.kind, act)
        lowest = min(link.number for link in links)
        if before is not None and lowest >= before:  # what is no number stands for the highest
            return
        before = lowest


def heads_to_keep(trail: Trail) -> Sequence[Head]:
    """Give the head of `main`, and of each chain that has grown past what `main` knows of it.

    Whoever has these written down elsewhere would notice if any entry was taken away.
    """
    heads, told, read = trail.heads(), Told(), 0
    while links := trail.links(MAIN, read, PAGE):
        for link in links:
            told.take(link)
        if links[-1].number <= read:  # it is no number, and comes after all that are
            break
        read = links[-1].number
    return [head for head in heads if told.heads.get(head.writer, {}).get(head.number) != head.hash]
