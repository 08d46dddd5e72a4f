"""How long the loans ran that a model learned from and is judged by.

Of the last loans of a calendar only short ones are mature, so the part that judges can lack the
long ones. Whoever reads a pack has to see it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_LAST_DAYS: Final = (7, 14, 30, 60, 90, 180, 365)
"""The longest term of each band, in days; one more band is open."""

JUDGED_MIN: Final = 50
"""Loans that a band needs before the figures of the whole say anything about it."""


class TermBand(msgspec.Struct, frozen=True):
    """Loans whose term lies in a band, in days; without `last` it has no end."""

    first: int
    last: int | None
    learned: int
    judged: int

    @property
    def words(self) -> str:
        """Name the band."""
        if self.first == 1:
            return f"up to {self.last} days"
        if self.last is None:
            return f"more than {self.first - 1} days"
        return f"{self.first} to {self.last} days"

    @property
    def thin(self) -> bool:
        """Say whether the model learned from such loans, and too few of them judge it."""
        return self.learned > 0 and self.judged < JUDGED_MIN


def term_bands(learned: Floats, judged: Floats) -> tuple[TermBand, ...]:
    """Count the terms (days) of the loans on either side, leaving out bands without any loan."""
    counts = [
        np.bincount(np.searchsorted(_LAST_DAYS, terms), minlength=len(_LAST_DAYS) + 1).tolist()
        for terms in (learned, judged)
    ]
    firsts = (1, *(day + 1 for day in _LAST_DAYS))
    return tuple(
        TermBand(*band)
        for band in zip(firsts, (*_LAST_DAYS, None), *counts, strict=True)
        if any(band[2:])
    )


def seldom_judged(bands: Iterable[TermBand]) -> str | None:
    """Say which terms the figures of a pack hardly speak of, None where there is none."""
    thin = [
        f"{band.words} ({band.judged:,} of those that judge, {band.learned:,} learned from)"
        for band in bands
        if band.thin
    ]
    if not thin:
        return None
    return (
        f"Of these terms fewer than {JUDGED_MIN} loans judge the model, mostly because long loans "
        f"of late are not yet due: {'; '.join(thin)}. How well it does for them is not known."
    )
