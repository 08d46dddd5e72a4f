"""The bands of a scorecard in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core.tables import MISSING, neighbours
from alama.pages import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.tables import Feature

MISSING_LABEL: Final = "not given"
OTHER_LABEL: Final = "any other"


def slot_label(feature: Feature, slot: int) -> str:
    """Say what one slot holds: "not given", "6 to <12", "smartphone, tablet"."""
    return group_label(feature, [slot])


def slot_labels(feature: Feature) -> list[str]:
    """Say what each slot of a feature holds, in order."""
    return [slot_label(feature, slot) for slot in range(len(feature.main))]


def group_label(feature: Feature, slots: Sequence[int]) -> str:
    """Say what some slots hold together; runs of neighbouring bands read as one."""
    parts = [MISSING_LABEL] if MISSING in slots else []
    known = sorted(slot for slot in slots if slot != MISSING)
    if len(known) == len(feature.main) - 1 and len(known) > 1:
        return ", ".join([*parts, "any value"])
    if feature.words:
        parts += [_words(feature, slot) for slot in known]
    else:
        parts += [_range(feature, first, last) for first, last in neighbours(known)]
    return ", ".join(parts)


def groups(places: Sequence[int]) -> list[list[int]]:
    """Give for each row (or column) of a pair the slots that fall into it."""
    found: list[list[int]] = [[] for _ in range(max(places) + 1)]
    for slot, place in enumerate(places):
        found[place].append(slot)
    return found


def _words(feature: Feature, slot: int) -> str:
    if slot > len(feature.words):
        return OTHER_LABEL
    return ", ".join(feature.words[slot - 1])


def _range(feature: Feature, first: int, last: int) -> str:
    """Word the run of bands from slot `first` to slot `last`."""
    low = feature.cuts[first - 2] if first > 1 else None
    high = feature.cuts[last - 1] if last <= len(feature.cuts) else None
    if low is None and high is None:
        return "any value"
    if low is None:
        assert high is not None
        return f"<{numbers.NARROW_SPACE}{numbers.exact(high)}"
    if high is None:
        return f"\u2265{numbers.NARROW_SPACE}{numbers.exact(low)}"
    return f"{numbers.exact(low)} to <{numbers.NARROW_SPACE}{numbers.exact(high)}"
