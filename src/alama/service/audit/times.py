"""Entries that were signed by a clock that was wrong: they go back in time, in the order of chains.

Clocks of hosts differ a little, so a little is in order. What a person has accepted is explained:
what stood before the newest entry that says so, and that each chain was set back with it, once.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from alama.core.chain import MAIN
from alama.service.audit import acts
from alama.service.audit.acts import Kind
from alama.service.audit.findings import Finding, Trouble
from alama.service.clock import TOLERANCE_US

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.core.chain import Link


class _Step(NamedTuple):
    """An entry that is earlier than the one before it."""

    writer: str
    number: int
    before_us: int
    at_us: int


class _Accepted(NamedTuple):
    """A person has said that it is this time."""

    number: int
    at_us: int
    set_back_us: int


class Times:
    """Follows the time of all chains, entry by entry."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._last_us: dict[str, int] = {}
        self._steps: list[_Step] = []
        self._accepted: _Accepted | None = None  # the newest: what was before is before it too

    def take(self, link: Link) -> None:
        """Read an entry, which nobody has changed, after those before it in its chain."""
        last_us = self._last_us.get(link.writer, link.created_us)
        if link.created_us < last_us - TOLERANCE_US:
            self._steps.append(_Step(link.writer, link.number, last_us, link.created_us))
        self._last_us[link.writer] = link.created_us
        if link.writer == MAIN and link.kind == Kind.CLOCK_ACCEPTED:
            set_back_us = acts.set_back_us(acts.decode(link.body))
            self._accepted = _Accepted(link.number, link.created_us, set_back_us)

    def findings(self) -> Iterator[Finding]:
        """Tell of each entry that goes back and that nobody has accepted."""
        set_back = set[str]()
        for step in self._steps:
            if self._accepted is not None:
                if step.writer not in set_back and _is_set_back(self._accepted, step):
                    set_back.add(step.writer)
                    continue
                if _stood_before(self._accepted, step):
                    continue
            earlier = timedelta(seconds=(step.before_us - step.at_us) // 1_000_000)
            where = f"entry {step.number} of {step.writer}"
            yield Finding(Trouble.TIME, where, f"{earlier} earlier than the one before it")


def _stood_before(accepted: _Accepted, step: _Step) -> bool:
    if step.writer == MAIN:
        return step.number <= accepted.number
    return step.at_us <= accepted.at_us + TOLERANCE_US


def _is_set_back(accepted: _Accepted, step: _Step) -> bool:
    by_us = step.before_us - step.at_us
    is_after = step.writer != MAIN and step.at_us >= accepted.at_us - TOLERANCE_US
    return is_after and by_us <= accepted.set_back_us + TOLERANCE_US
