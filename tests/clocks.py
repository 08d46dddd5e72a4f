"""Clocks that tests hold in their hands."""

from __future__ import annotations

from alama.platform.clock import Leap
from tests.entries import NOON_US


class HandClock:
    """Stands still until somebody moves it. What it trusts is the same but for a leap."""

    def __init__(self, now_us: int = NOON_US) -> None:
        self.now_us = now_us
        self.leap: Leap | None = None

    def __call__(self) -> int:
        return self.now_us

    def trusted(self) -> int:
        return self.now_us if self.leap is None else self.now_us - self.leap.ahead_us
