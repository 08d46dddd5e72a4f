"""How much of everything."""

from __future__ import annotations

from typing import Final, NamedTuple


class Size(NamedTuple):
    """Rounds of so many seconds; so many scores are stored, half by half, and fewer are told."""

    rounds: int
    seconds: int
    latency_seconds: int
    scores: int
    told: int


SIZES: Final = {"quick": Size(2, 1, 3, 3_000, 300), "full": Size(4, 3, 8, 20_000, 2_000)}
