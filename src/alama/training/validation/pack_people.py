"""The pack's view of people: who is approved, group by group, and what the region buys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.pages import bars, numbers, page
from alama.pages.bars import Bar
from alama.pages.markup import join, tag
from alama.training.validation.fairness import FOUR_FIFTHS, GROUP_ROWS_MIN
from alama.training.validation.lamps import lamps
from alama.training.validation.pack_evidence import beside

if TYPE_CHECKING:
    from alama.pages.markup import Markup
    from alama.training.validation.fairness import Attribute
    from alama.training.validation.metrics import Interval
    from alama.training.validation.pack import Pack, RegionEffect


def fairness(pack: Pack) -> Markup:
    """Show approvals, four-fifths ratios and calibration by group."""
    parts = [
        page.paragraph(
            "Approval is what the lender's policy makes of the candidate's scores. The ratio is a "
            "group's approval rate over the highest among groups of at least "
            f"{GROUP_ROWS_MIN} applications, smaller ones being told together; below "
            f"{numbers.exact(FOUR_FIFTHS)} (four fifths) somebody has to say why. The light says "
            "whether the group's booked loans defaulted as predicted: a group that repays better "
            "than it is told is wronged, one that repays worse is favoured."
        ),
        tag("ul", *(tag("li", _finding(one)) for one in pack.fairness), class_="findings")
        if pack.fairness
        else page.note("The history names no region, device or joined attribute to compare by."),
        *(_attribute(one) for one in pack.fairness),
    ]
    if pack.region is not None:
        parts.append(_region(pack, pack.region))
    return join(*parts)


def _finding(one: Attribute) -> str:
    lowest = one.lowest
    if lowest is None:
        return f"{one.name}: no group is large enough to compare."
    least = f"{lowest.name} {numbers.fixed(lowest.ratio, 2)}"
    if not one.below_four_fifths:
        return f"{one.name}: every group is within four fifths; the lowest is {least}."
    below = ", ".join(one.below_four_fifths)
    return f"{one.name}: below four fifths {below}; the lowest is {least}. It needs a reason."


def _attribute(one: Attribute) -> Markup:
    compared = [group for group in one.groups if group.ratio is not None]
    role = "an input of the model" if one.is_input else "never an input of the model"
    return join(
        page.heading(f"By {one.name}"),
        page.note(
            f"{role.capitalize()}. Approvals of everyone who applied in the out-of-time part, "
            "booked or not."
        ),
        page.figure(
            bars.bars(
                [Bar(group.name, group.ratio or 0.0) for group in compared],
                lambda value: numbers.fixed(value, 2),
                f"Four-fifths ratio by {one.name}",
                full_at_least=1.0,
                limits=((FOUR_FIFTHS, "four fifths"),),
            )
        )
        if compared
        else "",
        page.table(
            [
                "Group",
                "Light",
                "Applications",
                "Approved, 95 % interval",
                "Ratio",
                "Booked loans",
                "Predicted",
                "Observed",
            ],
            [
                [
                    group.name,
                    lamps(group.light),
                    numbers.count(group.applications),
                    join(numbers.percent(group.approved), tag("small", _between(group.interval))),
                    numbers.fixed(group.ratio, 2),
                    numbers.count(group.loans),
                    numbers.percent(group.predicted) if group.loans else numbers.NOTHING,
                    numbers.percent(group.observed) if group.loans else numbers.NOTHING,
                ]
                for group in one.groups
            ],
            words=2,
        ),
    )


def _between(interval: Interval) -> str:
    return numbers.between(numbers.percent(interval.low), numbers.percent(interval.high))


def _region(pack: Pack, effect: RegionEffect) -> Markup:
    """Say what the region buys, and what it does to each group."""
    compared = effect.comparison
    gain = numbers.between(
        numbers.signed(compared.ahead_interval.low, 4),
        numbers.signed(compared.ahead_interval.high, 4),
    )
    without = {
        (one.name, group.name): group.approved for one in effect.without for group in one.groups
    }
    rows = []
    for one in pack.fairness:
        for place, group in enumerate(one.groups):
            earlier = without.get((one.name, group.name))
            moved = None if earlier is None else 100.0 * (group.approved - earlier)
            rows.append(
                [
                    "" if place else one.name,
                    group.name,
                    numbers.percent(earlier),
                    numbers.percent(group.approved),
                    f"{numbers.signed(moved, 1)} points",
                ]
            )
    return join(
        page.heading("What the region buys, and what it does"),
        page.paragraph(
            "The lender asked for the region as an input. The same recipe without it shows what "
            f"that buys: {numbers.signed(compared.ahead, 4)} of AUC ({gain}). A region can stand "
            "in for who lives there; whoever signs should find the gain worth the differences."
        ),
        beside(compared),
        page.table(
            ["Attribute", "Group", "Approved without region", "with region", "Change"],
            rows,
            words=2,
        ),
    )
