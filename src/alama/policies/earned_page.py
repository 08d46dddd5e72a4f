"""What a simulated policy earns, on its page: figures side by side, and the curve of cut-offs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from alama.core.lending.earnings import KNOWN_MIN, CutOff, Verdict
from alama.platform.pages import numbers, svg
from alama.platform.pages.render import Markup, join
from alama.platform.pages.svg import Area, Frame
from alama.policies.earned import (
    Beside,
    beside,
    cut_off_of,
    not_told_apart,
    sentences,
    table_of_cut_offs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alama.core.lending.earnings import Earned
    from alama.core.lending.simulation import Simulation


_SHADE: Final = 0.55


@dataclass(frozen=True, slots=True)
class Parts:
    """A line of the sum that ends in profit: old, new."""

    name: str
    old: float
    new: float


@dataclass(frozen=True, slots=True)
class EarningsShown:
    """What the section of earnings shows.

    `is_chosen`: no loan was given by chance, and of some applicants no outcome is known.
    """

    said: Sequence[str]
    parts: Sequence[Parts]
    old: Earned
    new: Earned
    groups: Sequence[tuple[str, Beside]]
    sets: Sequence[tuple[str, Earned]]
    cut_offs: Sequence[CutOff]
    curve: Markup | None
    is_known: bool
    is_chosen: bool
    unclear: Verdict = Verdict.UNCLEAR


def shown(simulation: Simulation) -> EarningsShown:
    old, new = simulation.old, simulation.new
    table = table_of_cut_offs(simulation)
    lendable = any(one.lendable for one in table)
    return EarningsShown(
        said=list(sentences(simulation)),
        parts=list(_parts(old.earned, new.earned)),
        old=old.earned,
        new=new.earned,
        groups=list(_groups(simulation)),
        sets=[
            ("Both lend to", simulation.kept),
            ("Only the new one", simulation.let_in),
            ("Only the old one", simulation.left_out),
        ],
        cut_offs=table,
        curve=_curve(table, simulation) if lendable and len(table) > 1 else None,
        is_known=bool(old.earned.known or new.earned.known),
        is_chosen=not simulation.explored and any(o.band.known < o.lendable for o in table),
    )


def _parts(old: Earned, new: Earned) -> Iterator[Parts]:
    yield Parts("Charges, fees included", old.income, new.income)
    yield Parts("Funding", -old.funding, -new.funding)
    yield Parts("Running cost", -old.cost, -new.cost)
    if old.tax or new.tax:
        yield Parts("Tax", -old.tax, -new.tax)
    yield Parts("Expected loss", -old.loss, -new.loss)


def _groups(simulation: Simulation) -> Iterator[tuple[str, Beside]]:
    old, new = simulation.old, simulation.new
    for noun, pairs in (
        ("Tier", beside(old.earned_by_tier, new.earned_by_tier)),
        ("Term", beside(old.earned_by_term, new.earned_by_term)),
        ("Month", beside(old.earned_by_month, new.earned_by_month)),
        ("Product", beside(old.earned_by_product, new.earned_by_product)),
    ):
        if len(pairs) > 1:
            yield noun, pairs


def _curve(table: Sequence[CutOff], simulation: Simulation) -> Markup:
    """Draw what lending down to each cut-off would earn; as it came beside it, if that is known."""
    frame = Frame(760.0, 330.0, left=70.0, top=34.0)
    points = [(float(one.low), one.above.profit) for one in table]
    came = _as_it_came(table)
    values = [0.0, *(value for _, value in (*points, *came))]
    low, high = min(values), max(values)
    room = 0.07 * (high - low or 1.0)
    x = frame.x(float(table[-1].low), float(table[0].high))
    y = frame.y(low - room if low < 0.0 else 0.0, high + room)
    best = next(one for one in table if one.is_best)
    told = f"from {best.low} on: {numbers.large(best.above.profit)}"
    currency = simulation.new.policy.currency
    marks = [svg.line(frame.x0, y(0.0), frame.x1, y(0.0), "axis")]
    marks.append(svg.path([(x(a), y(b)) for a, b in points], "curve tone-a"))
    if came:
        marks.append(svg.path([(x(a), y(b)) for a, b in came], "curve tone-b"))
    marks.append(svg.dot(x(best.low), y(best.above.profit), "dot", told, 5.0))
    now = cut_off_of(simulation.new.policy)
    if now is not None and table[-1].low <= now <= table[0].high:
        marks.append(svg.line(x(now), frame.y1, x(now), frame.y0, "reference"))
        marks.append(svg.label(x(now), frame.y1 - 5.0, f"now {now}", "label small"))
    return svg.drawing(
        frame,
        "Profit by cut-off",
        f"Profit of lending to all from a score on. The most is expected {told}.",
        _plateau(table, frame, x),
        svg.bottom_axis(frame, x, x.ticks(9), lambda tick: f"{tick:.0f}", "cut-off"),
        svg.left_axis(frame, y, y.ticks(5), numbers.large, f"profit, {currency}"),
        *marks,
        _legend(frame, is_known=bool(came)),
    )


def _as_it_came(table: Sequence[CutOff]) -> list[tuple[float, float]]:
    """Give the curve as it came, as far down as enough of each band is known to draw it.

    Scaled to all who are lendable: of each band the mean of those that are known.
    """
    points: list[tuple[float, float]] = []
    value = 0.0
    for one in table:
        if one.lendable:
            if one.band.known < KNOWN_MIN:
                # Of a few who score highest little is known, and little depends on them.
                if points or one.lendable >= KNOWN_MIN:
                    break
                value += one.band.profit
                continue
            value += one.band.real_profit / one.band.weight * one.lendable
        points.append((float(one.low), value))
    return points if len(points) > 1 else []


def _plateau(table: Sequence[CutOff], frame: Frame, x: svg.Linear) -> Markup:
    alike = not_told_apart(table)
    if alike is None or alike[0] == alike[1]:
        return join()
    left, right = x(alike[0]), x(alike[1])
    area = Area(left, frame.y1, right - left, frame.y0 - frame.y1)
    return svg.shaded(area, "crowd", _SHADE, f"from {alike[0]} to {alike[1]}: not told apart")


def _legend(frame: Frame, *, is_known: bool) -> Markup:
    x, y = frame.x0 + 4.0, 14.0
    parts = [
        svg.line(x, y, x + 26.0, y, "curve tone-a"),
        svg.label(x + 32.0, y + 4.0, "as expected", anchor="start"),
    ]
    if is_known:
        parts.append(svg.line(x + 124.0, y, x + 150.0, y, "curve tone-b"))
        parts.append(svg.label(x + 156.0, y + 4.0, "as it came", anchor="start"))
    return join(*parts)
