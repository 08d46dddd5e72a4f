"""Holds: when every decision of a book is left to a person, whoever asks.

Somebody has paused the lender, or the day has approved as much as the policy allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.lending.policy import Rule

if TYPE_CHECKING:
    from alama.core.lending.policy import Daily
    from alama.service.book import Book
    from alama.service.policies import Pause
    from alama.service.ports import Scores

HOUR_US: Final = 3600 * 1_000_000
_DAY_HOURS: Final = 24


class Approved(NamedTuple):
    """What was approved in a while: the sum of limits, and what they are expected to lose."""

    volume: float
    expected_loss: float


def holds(
    scores: Scores, book: Book, daily: Daily, pause: Pause | None, now_us: int
) -> tuple[Rule, ...]:
    """Give the reasons to leave every decision of a book to a person, now."""
    found = [Rule.PAUSED] if pause is not None else []
    if daily.volume_max is not None or daily.expected_loss_max is not None:
        approved = scores.approved(book, first_hour(now_us, daily.utc_offset_hours))
        if daily.volume_max is not None and approved.volume >= daily.volume_max:
            found.append(Rule.DAILY_VOLUME)
        if (
            daily.expected_loss_max is not None
            and approved.expected_loss >= daily.expected_loss_max
        ):
            found.append(Rule.DAILY_EXPECTED_LOSS)
    return tuple(found)


def first_hour(now_us: int, utc_offset_hours: int) -> int:
    """Give the hour since 1970 at which the day began, by a clock ahead of UTC."""
    local = now_us // HOUR_US + utc_offset_hours
    return local - local % _DAY_HOURS - utc_offset_hours
