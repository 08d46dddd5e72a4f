"""The report of a simulated policy: one page that says what it would change, and for whom.

The template has the words; this file draws, and finds what deserves a sentence.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UnsetType

from alama.core.lending.policy import SEVERITY, Decision, OwnRule, Policy, changes
from alama.core.lending.simulation import Figures, Group, Simulation, offer_changes, told
from alama.platform.pages import numbers, render
from alama.policies import comparisons, earned_page
from alama.policies.comparisons import Histogram, Pair, Part, Stack, Stretch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alama.platform.pages.render import Markup


SWITCHES_MAX: Final = 500
"""Applications that the page lists; a page of a hundred thousand would open in no browser."""

_MOVED_MIN: Final = 0.005
"""Groups whose approval rate moves by less are not worth a sentence."""

_GROUP_ROWS_MIN: Final = 50
_TERM_MOVED_MIN: Final = 0.5
"""Days of a mean term, and percent a year of a mean price, that are worth a sentence."""

_NOUNS: Final = {
    Decision.APPROVED: "approved",
    Decision.REVIEW: "left to a person",
    Decision.DECLINED: "declined",
}
_SCORE_STEP: Final = 10
_PRICE_BINS: Final = 36
_ROUND_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_RULES_MAX: Final = 16
_Row = tuple[str, Figures, Figures]
"""A name with its figures, old and new."""


class Grouped(NamedTuple):
    """The groups of one kind: what they are, their approval rates drawn, their figures."""

    noun: str
    picture: Markup
    rows: Sequence[Group]


class Drawn(NamedTuple):
    """What the page shows beside its words; a picture is None where there is nothing to draw."""

    nouns: Mapping[Decision, str]
    moves: Markup
    tiers: Markup
    tier_rows: Sequence[_Row]
    scores: Markup
    groups: Sequence[Grouped]
    prices: Markup | None
    rules: Markup | None
    own_rules: Sequence[OwnRule]


def policy_page(simulation: Simulation, described: str, made_on: str) -> str:
    """Give the report as one self-contained HTML page, without script.

    `described` says which applications these were: "those in loans.parquet"; `made_on` is the day
    of the simulation.
    """
    offers = offer_changes(simulation.reoffered)
    return render.render(
        "policies/templates/policy_report.html",
        simulation=simulation,
        described=described,
        made_on=made_on,
        headline=headline(simulation),
        old=simulation.old.total,
        new=simulation.new.total,
        currency=simulation.new.policy.currency,
        Decision=Decision,
        points=points,
        growth=growth,
        share=_share,
        changes=changes(simulation.old.whole, simulation.new.whole),
        moves=_moves(simulation),
        better=sum(n for (was, would), n in _moves(simulation) if SEVERITY[would] < SEVERITY[was]),
        groups_that_move=list(_groups_that_move(simulation)),
        more_objections=_more_objections(simulation),
        offers=offers,
        offers_told=told(offers, numbers.count),
        terms_get=_terms_against_price(simulation.old.total, simulation.new.total),
        figures=drawn(simulation),
        earned=earned_page.shown(simulation),
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


def points(was: float | None, would: float | None) -> str:
    """Write the difference of two shares: +3.2 points."""
    if was is None or would is None:
        return numbers.NOTHING
    # Of the figures as they are shown: a reader does the sum.
    return f"{numbers.signed(round(100.0 * would, 1) - round(100.0 * was, 1), 1)} points"


def growth(was: float, would: float) -> str:
    """Write how much something grew, as a share of what it was: +8.3 %."""
    if not was:
        return numbers.NOTHING
    return f"{numbers.signed(100.0 * (would - was) / was, 1)}{numbers.NARROW_SPACE}%"


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


# ----------------------------------------------------------------------------------------- drawings


def drawn(simulation: Simulation) -> Drawn:
    old, new = simulation.old, simulation.new
    nothing = Figures()
    names = {**new.tiers, **old.tiers}
    tier_rows = [(n, old.tiers.get(n, nothing), new.tiers.get(n, nothing)) for n in names]
    own = {rule.name: rule for policy in (old.policy, new.policy) for rule in policy.rules}
    return Drawn(
        nouns=_NOUNS,
        moves=_moves_drawn(simulation),
        tiers=_tiers(tier_rows, max(simulation.count, 1)),
        tier_rows=tier_rows,
        scores=_scores(simulation),
        groups=_groups(simulation),
        prices=_prices(simulation) if old.aprs or new.aprs else None,
        rules=_rules(simulation) if old.rules or new.rules else None,
        own_rules=list(own.values()),
    )


def _moves_drawn(simulation: Simulation) -> Markup:
    """Draw how many went from each decision to each other."""
    cells = [[simulation.moves[was, would] for would in Decision] for was in Decision]
    names = [_NOUNS[decision] for decision in Decision]
    return comparisons.matrix(names, cells, "Decisions, old and new")


def _tiers(rows: Sequence[_Row], everyone: int) -> Markup:
    """Draw how many fall into each tier and what is decided on them."""
    listed = [
        Stack(
            f"tier {name}",
            _parts(was, everyone),
            _parts(would, everyone),
            (_tier_told(was, everyone), _tier_told(would, everyone)),
        )
        for name, was, would in rows
    ]
    return comparisons.stacks(listed, "Decisions by tier, old and new")


def _parts(figures: Figures, everyone: int) -> list[Part]:
    return [
        Part(
            number / everyone,
            f"part-{decision.lower()}",
            f"{numbers.count(number)} {_NOUNS[decision]}",
        )
        for decision, number in figures.decisions.items()
    ]


def _tier_told(figures: Figures, everyone: int) -> str:
    if not figures.count:
        return "nobody"
    share = numbers.percent(figures.share(Decision.APPROVED), 0)
    return f"{numbers.percent(figures.count / everyone)}, {share} of them approved"


def _scores(simulation: Simulation) -> Markup:
    """Draw how the scores are spread, and where the tiers of both policies begin."""
    old, new = simulation.old, simulation.new
    found = sorted({*old.scores, *new.scores})
    low = found[0] // _SCORE_STEP * _SCORE_STEP
    high = (found[-1] // _SCORE_STEP + 1) * _SCORE_STEP
    edges = [float(edge) for edge in range(low, high + 1, _SCORE_STEP)]
    histogram = Histogram(edges, _shares(old.scores, edges), _shares(new.scores, edges))
    ribbons = (_ribbon(old.policy, low, high), _ribbon(new.policy, low, high))
    title = "Scores, and the tiers of both policies"
    return comparisons.banded_histogram(histogram, ribbons, title)


def _shares(counts: Mapping[int, int] | Mapping[float, int], edges: Sequence[float]) -> list[float]:
    """Spread counts over the stretches between edges, as shares of all of them."""
    found = [0] * (len(edges) - 1)
    for value, number in counts.items():
        found[min(bisect_right(edges, value) - 1, len(found) - 1)] += number
    everyone = max(sum(found), 1)
    return [number / everyone for number in found]


def _ribbon(policy: Policy, low: float, high: float) -> list[Stretch]:
    stretches, above = [], high
    for tier in policy.tiers:
        begin = max(min(float(tier.score_min), high), low)
        if tier is policy.tiers[-1]:
            begin = low
        if begin < above:
            stretches.append(Stretch(begin, above, f"part-{tier.decision.lower()}", tier.name))
        above = min(above, begin)
    return stretches


def _groups(simulation: Simulation) -> list[Grouped]:
    """Draw the approval rate by region and by device, those that somebody gave, on one scale."""
    listed = [
        (noun, groups, [_approval(group) for group in groups])
        for noun, groups in (("Region", simulation.regions), ("Device", simulation.devices))
        if len(groups) > 1
    ]
    extent = comparisons.extent([pair for _, _, pairs in listed for pair in pairs])
    return [
        Grouped(
            noun,
            comparisons.dumbbells(
                pairs, _percent_tick, f"Approval rate by {noun.lower()}", "approval rate", extent
            ),
            groups,
        )
        for noun, groups, pairs in listed
    ]


def _approval(group: Group) -> Pair:
    return Pair(
        group.name,
        group.old.share(Decision.APPROVED),
        group.new.share(Decision.APPROVED),
        numbers.count(group.new.count),
    )


def _percent_tick(share: float) -> str:
    return f"{100.0 * share:.3g}{numbers.NARROW_SPACE}%"


def _prices(simulation: Simulation) -> Markup:
    """Draw how the prices of the approved are spread."""
    old, new = simulation.old, simulation.new
    found = [*old.aprs, *new.aprs]
    edges = _price_edges(min(found), max(found))
    histogram = Histogram(edges, _shares(old.aprs, edges), _shares(new.aprs, edges))
    title = "Prices of the approved, old and new"
    return comparisons.overlaid_histogram(histogram, title, "APR, fees included")


def _price_edges(low: float, high: float) -> list[float]:
    """Give round borders around all prices, some three dozen of them."""
    rough = max((high - low) / _PRICE_BINS, 0.1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in _ROUND_STEPS if power * times >= 0.999 * rough)
    first, last = math.floor(low / step), math.floor(high / step) + 1
    return [round(place * step, 6) for place in range(first, last + 1)]


def _deciding(policy: Policy) -> dict[str, Decision]:
    """Give what the policy's own rules leave at best, but for those that bound limits alone."""
    return {
        rule.name: rule.decision
        for rule in policy.rules
        if not isinstance(rule.decision, UnsetType)
    }


def _rules(simulation: Simulation) -> Markup:
    """Draw how often each rule objected, those that changed most first."""
    old, new = simulation.old, simulation.new
    own_old, own_new = (_deciding(portfolio.policy) for portfolio in (old, new))
    codes = {*old.rules, *new.rules, *own_old, *own_new}
    listed = []
    for code in codes:
        own = own_new.get(code) or own_old.get(code)
        gone = own is not None and code not in own_new
        fresh = own is not None and code not in own_old
        listed.append(
            Pair(
                code,
                None if fresh else float(old.rules[code]),
                None if gone else float(new.rules[code]),
                "" if own is None else own.lower(),
            )
        )
    listed.sort(key=lambda pair: (-max(pair.before or 0.0, pair.after or 0.0), pair.name))
    return comparisons.paired_bars(
        listed[:_RULES_MAX],
        lambda count: numbers.count(int(count)),
        "Rules that objected, old and new",
    )
