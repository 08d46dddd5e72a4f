"""What the day of a book allows: holds, caps of the portfolio, and how many lots are left.

A hold leaves every decision to a person, whoever asks: somebody has paused the lender, or the day
has approved as much as `[daily]` allows. A cap speaks of some loans alone. That a lender has no
model of its own yet is said by `alama.scoring.directory.ActiveModel`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache, reduce
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.application import fold
from alama.core.lending.circumstances import Segment
from alama.core.lending.offer import Room
from alama.core.lending.policy import Daily, Per, PortfolioCap, Rule, products_under
from alama.core.lending.ready_policy import caps_of, exploration_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.core.lending.policy import Policy
    from alama.lenders.records import Pause
    from alama.platform.book import Book

HOUR_US: Final = 3600 * 1_000_000
_DAY_HOURS: Final = 24


class Approved(NamedTuple):
    """What was approved in a while: the sum of limits, and what these are expected to lose.

    `number` of loans, `explored` of them by lot.
    """

    number: int = 0
    volume: float = 0.0
    expected_loss: float = 0.0
    explored: int = 0

    def plus(self, other: Approved) -> Approved:
        return Approved(
            self.number + other.number,
            self.volume + other.volume,
            self.expected_loss + other.expected_loss,
            self.explored + other.explored,
        )

    @property
    def negative(self) -> Approved:
        """Give what takes it away again."""
        return Approved(-self.number, -self.volume, -self.expected_loss, -self.explored)


Counts = dict[Segment, Approved]
"""What was approved in each part of the portfolio."""


def total(counts: Mapping[Segment, Approved]) -> Approved:
    """Put all parts together."""
    return reduce(Approved.plus, counts.values(), Approved())


class Filling:
    """A cap, and how much of it is used."""

    __slots__ = ("_tiers", "cap", "products", "regions", "used")

    def __init__(self, cap: PortfolioCap) -> None:
        self.cap = cap
        self.used = Approved()
        self.regions = frozenset(map(fold, cap.regions))
        self.products = frozenset(products_under(cap))
        self._tiers = frozenset(cap.tiers)

    def counts(self, segment: Segment) -> bool:
        """Say whether the cap is one on loans of this part."""
        region, tier, product = segment
        return (not self._tiers or tier in self._tiers) and self.may_count(region, product)

    def may_count(self, region: str | None, product: str | None) -> bool:
        """Say whether the cap is one on loans of some tier in this region and of this product."""
        return (not self.regions or region in self.regions) and (
            not self.products or product in self.products
        )

    def reached(self) -> bool:
        """Say whether as much is used as there is, or more."""
        return any(most is not None and used >= most for used, most in self.bounds())

    @property
    def room(self) -> Room:
        """What is left."""
        left = (None if most is None else most - used for used, most in self.bounds())
        return Room(self.cap.name, *left)

    def bounds(self) -> tuple[tuple[float, float | None], ...]:
        """Give how much is used of each bound: number, volume, expected loss."""
        cap, used = self.cap, self.used
        return (
            (used.number, cap.number_max),
            (used.volume, cap.volume_max),
            (used.expected_loss, cap.expected_loss_max),
        )


def caps_of_day(daily: Daily) -> tuple[PortfolioCap, ...]:
    """Give the bounds of `[daily]` as caps on all loans of a day."""
    volume = PortfolioCap(Rule.DAILY_VOLUME.value, Per.DAY, volume_max=daily.volume_max)
    loss = PortfolioCap(
        Rule.DAILY_EXPECTED_LOSS.value, Per.DAY, expected_loss_max=daily.expected_loss_max
    )
    bounds = ((daily.volume_max, volume), (daily.expected_loss_max, loss))
    return tuple(cap for most, cap in bounds if most is not None)


def filled(
    caps: Sequence[PortfolioCap], approved: Mapping[Per, Mapping[Segment, Approved]]
) -> tuple[Filling, ...]:
    """Give how much of each cap is used."""
    fillings = tuple(map(Filling, caps))
    for filling in fillings:
        of_per = approved.get(filling.cap.per, {})
        parts = {segment: part for segment, part in of_per.items() if filling.counts(segment)}
        filling.used = total(parts)
    return fillings


class NoRoom(NamedTuple):
    """An approval that a cap had no room for when it was to be kept: decide again, by this day."""

    day: Day


class Day:
    """What holds in a book under a policy, and what room its caps have, as far as somebody knows.

    A process is told every second what all of them have approved, and in between adds what it
    approves itself. By that it decides, and it may be a little wrong; the last word has the
    transaction that keeps an approval: `alama.scoring.counts.Caps`.
    """

    __slots__ = ("_daily", "_fillings", "_lots", "_paused", "bounded", "holds")

    def __init__(self) -> None:
        self._paused = False
        self._daily: tuple[Filling, ...] = ()
        self._fillings: tuple[Filling, ...] = ()
        self._lots = 0
        self.bounded = False
        """Whether the policy bounds a while at all: if not, nobody needs to count."""
        self.holds: tuple[Rule, ...] = ()

    def settle(
        self,
        policy: Policy,
        pause: Pause | None,
        approved: Mapping[Per, Mapping[Segment, Approved]],
    ) -> None:
        """Take over what the policy, the operator and the database say."""
        self._paused = pause is not None
        self._daily = filled(caps_of_day(policy.daily), approved)
        self._fillings = filled(caps_of(policy), approved)
        explores = exploration_of(policy)
        explored = total(approved.get(Per.DAY, {})).explored
        self._lots = 0 if explores is None else explores.daily_max - explored
        self.bounded = is_bounded(policy)
        self.holds = self._reasons()

    def take(self, other: Day) -> None:
        """Take over what a commit has found to be used; it is of the same policy."""
        self._daily, self._fillings, self._lots = other._daily, other._fillings, other._lots
        self.holds = self._reasons()

    def admits(self, segment: Segment, one: Approved) -> bool:
        """Say whether an approval has room yet."""
        if any(filling.reached() for filling in self._daily):
            return False
        return one.explored <= max(self._lots, 0) and not self.full(
            segment, one.volume, one.expected_loss
        )

    def has_room(self, approved: Mapping[Segment, Approved]) -> bool:
        """Say whether some approvals leave room in every cap: then each of them has room."""
        for filling in (*self._daily, *self._fillings):
            more = total({cell: one for cell, one in approved.items() if filling.counts(cell)})
            for (used, most), added in zip(filling.bounds(), more[:3], strict=True):
                if most is not None and used + added >= most:
                    return False
        return total(approved).explored <= max(self._lots, 0)

    def add(self, segment: Segment, one: Approved) -> None:
        """Count what was just approved, or take back what was not kept: its `negative`."""
        for filling in (*self._daily, *self._fillings):
            if filling.counts(segment):
                filling.used = filling.used.plus(one)
        self._lots -= one.explored
        self.holds = self._reasons()

    @property
    def draws(self) -> bool:
        """Whether the lot may fall on somebody yet today."""
        return self._lots > 0

    def full(self, segment: Segment, volume: float, expected_loss: float) -> tuple[str, ...]:
        """Give the names of the caps that have no room for a loan."""
        return tuple(
            filling.cap.name
            for filling in self._fillings
            if filling.counts(segment) and not filling.room.holds(volume, expected_loss)
        )

    def rooms(self, region: str | None, product: str | None, largest: float) -> tuple[Room, ...]:
        """Give what is left of caps that may refuse such a loan, of at most this limit."""
        return tuple(
            room
            for filling in self._fillings
            if filling.may_count(region, product)
            # What a loan is expected to lose has no bound that is worth the search.
            and not ((room := filling.room).expected_loss is None and room.holds(largest, 0.0))
        )

    def _reasons(self) -> tuple[Rule, ...]:
        reached = [Rule(filling.cap.name) for filling in self._daily if filling.reached()]
        return (Rule.PAUSED, *reached) if self._paused else tuple(reached)


def is_bounded(policy: Policy) -> bool:
    """Say whether a policy bounds what a while approves."""
    return bool(periods(policy))


def periods(policy: Policy) -> frozenset[Per]:
    """Give for how long a policy asks what was approved."""
    asked = {cap.per for cap in (*caps_of_day(policy.daily), *caps_of(policy))}
    return frozenset(asked | ({Per.DAY} if exploration_of(policy) else set()))


def first_hour(now_us: int, utc_offset_hours: int, per: Per = Per.DAY) -> int:
    """Give the hour since 1970 at which the day or the month began, by a clock ahead of UTC."""
    local = now_us // HOUR_US + utc_offset_hours
    if per is Per.MONTH:
        today = _EPOCH + timedelta(hours=local)
        began = today.replace(day=1, hour=0)
        return (began - _EPOCH) // timedelta(hours=1) - utc_offset_hours
    return local - local % _DAY_HOURS - utc_offset_hours


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


Reads = Callable[["Book", int, "int | None"], Counts]
"""Gives what was approved in a book from an hour since 1970 on, and before another."""


class SoFar:
    """Asks what was approved since a day or a month began, as far as a policy needs to know.

    What was approved in the hours that are over is asked once an hour.
    """

    def __init__(self) -> None:
        self._over: dict[tuple[Book, Per], tuple[int, int, Counts]] = {}

    def of(self, read: Reads, book: Book, policy: Policy, now_us: int) -> Mapping[Per, Counts]:
        """Give it by what the policy asks for."""
        once = cache(read)  # a day and a month end with the same hours
        return {per: self._of(once, book, per, policy, now_us) for per in periods(policy)}

    def _of(self, read: Reads, book: Book, per: Per, policy: Policy, now_us: int) -> Counts:
        first = first_hour(now_us, policy.daily.utc_offset_hours, per)
        # What was given in the hour before may be on its way to the disk.
        edge = now_us // HOUR_US - 1
        if edge <= first:
            return read(book, first, None)
        since, until, over = self._over.get((book, per), (0, 0, {}))
        if (since, until) != (first, edge):
            over = read(book, first, edge)
            self._over[book, per] = (first, edge, over)
        counts = dict(over)
        for segment, recent in read(book, edge, None).items():
            counts[segment] = counts.get(segment, Approved()).plus(recent)
        return counts
