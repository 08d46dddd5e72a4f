"""What processes know together of the rates of keys, in memory: `storage.rates` as it should be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from alama.lenders.limits import FORGOTTEN_US, OWED_US_MAX, Use


class SharedRates:
    """Rates by a clock that a test sets; fails while it is told to."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self.full_at_us: dict[str, int] = {}
        self.failure: Exception | None = None
        self.told: list[Sequence[Use]] = []
        self.forgot = 0

    def exchange(self, uses: Sequence[Use]) -> Mapping[str, int]:
        self.told.append(uses)
        if self.failure is not None:
            raise self.failure
        now_us = self._clock()
        for use in uses:
            known_us = self.full_at_us.get(use.key_id)
            if known_us is None:
                self.full_at_us[use.key_id] = now_us + use.owed_us
            else:
                added_us = max(known_us + use.cost_us, now_us + use.floor_us)
                self.full_at_us[use.key_id] = min(added_us, now_us + OWED_US_MAX)
        return {use.key_id: self.full_at_us[use.key_id] - now_us for use in uses}

    def forget(self) -> None:
        self.forgot += 1
        since_us = self._clock() - FORGOTTEN_US
        for key_id, full_at_us in list(self.full_at_us.items()):
            if full_at_us < since_us:
                del self.full_at_us[key_id]
