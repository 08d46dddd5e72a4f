"""What an inflow leaves for one more loan."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.application import Value
    from alama.core.lending.policy import Tier
    from alama.core.lending.ready_policy import ReadyPolicy


def number_at(values: Sequence[Value], place: int | None) -> float:
    """Give a number of the application; 0 where it, or the field itself, is not there."""
    if place is None:
        return 0.0
    return values[place] or 0.0  # type: ignore[return-value]  # these fields hold no words


def owed_monthly(policy: ReadyPolicy, values: Sequence[Value], inflow: float) -> float:
    """Give what falls due per 30 days on other loans, as far as it is known."""
    existing = None if policy.existing_place is None else values[policy.existing_place]
    # Silence must not earn a larger loan than an ordinary answer would.
    return policy.existing_share * inflow if existing is None else existing  # type: ignore[return-value]  # no word


def room_monthly(tier: Tier, inflow: float, owed: float) -> float:
    """Give what may fall due per 30 days on one more loan, in a tier."""
    return tier.inflow_share * inflow - owed
