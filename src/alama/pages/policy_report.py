"""The report of a simulated policy: one page that says what it would change, and for whom.

The template has the words, `policy_figures` the drawings; this file finds what deserves a sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core.lending.offer_changes import offer_changes, told
from alama.core.lending.policy import SEVERITY, Decision
from alama.core.lending.policy_changes import changes
from alama.pages import numbers, policy_figures
from alama.pages import render as templates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.core.lending.simulation import Figures, Group, Simulation

SWITCHES_MAX: Final = 500
"""Applications that the page lists; a page of a hundred thousand would open in no browser."""

_MOVED_MIN: Final = 0.005
"""Groups whose approval rate moves by less are not worth a sentence."""

_GROUP_ROWS_MIN: Final = 50
_TERM_MOVED_MIN: Final = 0.5
"""Days of a mean term, and percent a year of a mean price, that are worth a sentence."""


def render(simulation: Simulation, described: str, made_on: str) -> str:
    """Give the report as one self-contained HTML page, without script.

    `described` says which applications these were: "those in loans.parquet"; `made_on` is the day
    of the simulation.
    """
    offers = offer_changes(simulation.reoffered)
    return templates.render(
        "pages/templates/policy_report.html",
        simulation=simulation,
        described=described,
        made_on=made_on,
        headline=headline(simulation),
        old=simulation.old.total,
        new=simulation.new.total,
        currency=simulation.new.policy.currency,
        Decision=Decision,
        points=policy_figures.points,
        growth=policy_figures.growth,
        share=_share,
        changes=changes(simulation.old.policy, simulation.new.policy),
        moves=_moves(simulation),
        better=sum(n for (was, would), n in _moves(simulation) if SEVERITY[would] < SEVERITY[was]),
        groups_that_move=list(_groups_that_move(simulation)),
        more_objections=_more_objections(simulation),
        offers=offers,
        offers_told=told(offers, numbers.count),
        terms_get=_terms_against_price(simulation.old.total, simulation.new.total),
        figures=policy_figures.drawn(simulation),
        switches_max=SWITCHES_MAX,
    )


def headline(simulation: Simulation) -> str:
    """Say in a sentence what changes."""
    was = simulation.old.total.share(Decision.APPROVED)
    would = simulation.new.total.share(Decision.APPROVED)
    before, after = numbers.percent(was), numbers.percent(would)
    if not simulation.switches:
        alike = f"The new policy would decide alike, and approve {after}"
        offers = offer_changes(simulation.reoffered)
        if not offers.changed:
            return f"{alike}, on the same terms"
        return f"{alike}, with other offers: {told(offers, numbers.count)}"
    if before == after:
        count = numbers.plural(len(simulation.switches), "application")
        return f"The new policy would approve {after} as before, and decide {count} otherwise"
    return f"The new policy would approve {after} instead of {before}"


def _share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100.0


def _moves(simulation: Simulation) -> list[tuple[tuple[Decision, Decision], int]]:
    """Give how often each decision becomes another, the most frequent first."""
    moved = [(move, n) for move, n in simulation.moves.items() if move[0] is not move[1]]
    return sorted(moved, key=lambda found: -found[1])


def _groups_that_move(simulation: Simulation) -> Iterator[tuple[str, Group]]:
    """Give the region and the device whose approval rate moves most."""
    for noun, listed in (("region", simulation.regions), ("device", simulation.devices)):
        gaps = [
            (abs(would - was), group)
            for group in listed
            if group.new.count >= _GROUP_ROWS_MIN
            and (was := group.old.share(Decision.APPROVED)) is not None
            and (would := group.new.share(Decision.APPROVED)) is not None
        ]
        gap, group = max(gaps, key=lambda found: found[0], default=(0.0, None))
        if group is not None and gap >= _MOVED_MIN and len(gaps) > 1:
            yield noun, group


def _more_objections(simulation: Simulation) -> tuple[int, str] | None:
    """Give the rule that would object more often than before, and how much: that of the most."""
    found = [(n - simulation.old.rules[code], code) for code, n in simulation.new.rules.items()]
    most = max(found, default=(0, ""))
    return most if most[0] > 0 else None


def _terms_against_price(old: Figures, new: Figures) -> str | None:
    """Say how terms change where the average price moves the other way because of it."""
    if old.apr_mean is None or new.apr_mean is None:
        return None
    assert old.term_mean is not None
    assert new.term_mean is not None
    dearer, longer = new.apr_mean - old.apr_mean, new.term_mean - old.term_mean
    if min(abs(dearer), abs(longer)) < _TERM_MOVED_MIN or (dearer > 0) == (longer > 0):
        return None
    return "longer" if longer > 0 else "shorter"
