"""Holds: when every decision of a book is left to a person, whoever asks.

Somebody has paused the lender, or the day has approved as much as the policy allows. That a lender
has no model of its own yet is said by `alama.scoring.directory.ActiveModel`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.lending.policy import Daily, Rule

if TYPE_CHECKING:
    from alama.lenders.records import Pause

HOUR_US: Final = 3600 * 1_000_000
_DAY_HOURS: Final = 24


class Approved(NamedTuple):
    """What was approved in a while: the sum of limits, and what they are expected to lose."""

    volume: float
    expected_loss: float


class Day:
    """What leaves every decision of a book to a person today, as far as one process knows.

    It is told every second what all processes have approved; in between it adds what its own
    approves, so that a bound is not overrun by a second's worth of requests. What is approved in
    the very moment of being told may be forgotten, or counted though it was not kept: for a second.
    """

    __slots__ = ("_daily", "_expected_loss", "_paused", "_volume", "bounded", "holds")

    def __init__(self) -> None:
        self._daily = Daily()
        self._paused = False
        self._volume = self._expected_loss = 0.0
        self.bounded = False
        """Whether the policy bounds a day at all: if not, nobody needs to count."""
        self.holds: tuple[Rule, ...] = ()

    def settle(self, daily: Daily, pause: Pause | None, approved: Approved) -> None:
        """Take over what the policy, the operator and the database say."""
        self._daily = daily
        self._paused = pause is not None
        self._volume, self._expected_loss = approved
        self.bounded = is_bounded(daily)
        self.holds = self._reasons()

    def add(self, volume: float, expected_loss: float) -> None:
        """Count what was just approved."""
        self._volume += volume
        self._expected_loss += expected_loss
        self.holds = self._reasons()

    def _reasons(self) -> tuple[Rule, ...]:
        reasons = [Rule.PAUSED] if self._paused else []
        if _reached(self._volume, self._daily.volume_max):
            reasons.append(Rule.DAILY_VOLUME)
        if _reached(self._expected_loss, self._daily.expected_loss_max):
            reasons.append(Rule.DAILY_EXPECTED_LOSS)
        return tuple(reasons)


def _reached(total: float, bound: float | None) -> bool:
    return bound is not None and total >= bound


def is_bounded(daily: Daily) -> bool:
    """Say whether a policy bounds what a day approves."""
    return daily.volume_max is not None or daily.expected_loss_max is not None


def first_hour(now_us: int, utc_offset_hours: int) -> int:
    """Give the hour since 1970 at which the day began, by a clock ahead of UTC."""
    local = now_us // HOUR_US + utc_offset_hours
    return local - local % _DAY_HOURS - utc_offset_hours
