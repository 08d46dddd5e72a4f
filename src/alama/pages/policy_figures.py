"""The drawings and tables of a simulated policy."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from alama.core.lending.policy import Decision
from alama.core.lending.simulation import Figures
from alama.pages import comparisons, numbers, page
from alama.pages.comparisons import Histogram, Pair, Part, Stack, Stretch
from alama.pages.markup import join, tag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.core.lending.policy import Policy
    from alama.core.lending.simulation import Group, Simulation, Switch
    from alama.pages.markup import Markup

ARROW: Final = "\u2192"

_NOUNS: Final = {
    Decision.APPROVED: "approved",
    Decision.REVIEW: "left to a person",
    Decision.DECLINED: "declined",
}
_SCORE_STEP: Final = 10
_PRICE_BINS: Final = 36
_ROUND_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_RULES_MAX: Final = 16


def points(was: float | None, would: float | None) -> str:
    """Write the difference of two shares: +3.2 points."""
    if was is None or would is None:
        return numbers.NOTHING
    # Of the figures as they are shown: a reader does the sum.
    return f"{numbers.signed(round(100.0 * would, 1) - round(100.0 * was, 1), 1)} points"


def change_of(was: float, would: float) -> str:
    """Write how much something grew, as a share of what it was: +8.3 %."""
    if not was:
        return numbers.NOTHING
    return f"{numbers.signed(100.0 * (would - was) / was, 1)}{numbers.NARROW_SPACE}%"


def from_to(was: float | None, would: float | None) -> str:
    """Write a share before and after."""
    return _pair(numbers.percent(was), numbers.percent(would))


def _pair(was: str, would: str) -> str:
    return was if was == would else f"{was} {ARROW} {would}"


# ---------------------------------------------------------------------------- moves, tiers, scores


def moves(simulation: Simulation) -> Markup:
    """Draw how many went from each decision to each other."""
    cells = [[simulation.moves[was, would] for would in Decision] for was in Decision]
    names = [_NOUNS[decision] for decision in Decision]
    return page.figure(comparisons.matrix(names, cells, "Decisions, old and new"))


def tiers(simulation: Simulation) -> Markup:
    """Draw how many fall into each tier and what is decided on them."""
    old, new, everyone = simulation.old.tiers, simulation.new.tiers, max(simulation.count, 1)
    nothing = Figures()
    rows = [(name, old.get(name, nothing), new.get(name, nothing)) for name in {**new, **old}]
    listed = [
        Stack(
            f"tier {name}",
            _parts(was, everyone),
            _parts(would, everyone),
            (_tier_told(was, everyone), _tier_told(would, everyone)),
        )
        for name, was, would in rows
    ]
    keys = (_key(f"part-{decision.lower()}", _NOUNS[decision]) for decision in Decision)
    return join(
        page.paragraph(
            "Each bar is as long as the share of the applications that fall into the tier. A tier "
            "says what is decided if nothing else objects; rules, affordability and thin data can "
            "worsen it."
        ),
        tag("p", *keys, class_="note"),
        page.figure(comparisons.stacks(listed, "Decisions by tier, old and new")),
        page.unfold("As a table", _figures_table("Tier", rows, simulation.new.policy.currency)),
    )


def _key(style: str, name: str) -> Markup:
    swatch = tag(
        "svg",
        tag("rect", width=11, height=11, rx=2, class_=style),
        width=11,
        height=11,
        aria_hidden="true",
        class_="swatch",
    )
    return tag("span", swatch, f" {name}", class_="key")


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


def scores(simulation: Simulation) -> Markup:
    """Draw how the scores are spread, and where the tiers of both policies begin."""
    old, new = simulation.old, simulation.new
    found = sorted({*old.scores, *new.scores})
    low = found[0] // _SCORE_STEP * _SCORE_STEP
    high = (found[-1] // _SCORE_STEP + 1) * _SCORE_STEP
    edges = [float(edge) for edge in range(low, high + 1, _SCORE_STEP)]
    histogram = Histogram(edges, _shares(old.scores, edges), _shares(new.scores, edges))
    ribbons = (_ribbon(old.policy, low, high), _ribbon(new.policy, low, high))
    return page.figure(
        comparisons.banded_histogram(histogram, ribbons, "Scores, and the tiers of both policies"),
        "The ribbons are the tiers, in the colour of what they decide: blue approves, grey leaves "
        "to a person, orange declines.",
    )


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


# ------------------------------------------------------------------------------ groups and prices


def groups(simulation: Simulation) -> Markup | None:
    """Draw the approval rate by region and by device; None where nobody gave either."""
    currency = simulation.new.policy.currency
    drawn = [
        (noun, listed)
        for noun, listed in (("Region", simulation.regions), ("Device", simulation.devices))
        if len(listed) > 1
    ]
    if not drawn:
        return None
    pairs = [[_approval(group) for group in listed] for _, listed in drawn]
    extent = comparisons.extent([pair for listed in pairs for pair in listed])
    parts = [
        _group(noun, listed, drawing, extent, currency)
        for (noun, listed), drawing in zip(drawn, pairs, strict=True)
    ]
    return join(
        page.paragraph(
            "The approval rate of each group, and at the right how many applied; all on one scale. "
            "A change that meets one group harder than the others deserves a reason."
        ),
        tag("div", *parts, class_="pair groups"),
    )


def _approval(group: Group) -> Pair:
    return Pair(
        group.name,
        group.old.share(Decision.APPROVED),
        group.new.share(Decision.APPROVED),
        numbers.count(group.new.count),
    )


def _group(
    noun: str,
    listed: Sequence[Group],
    pairs: Sequence[Pair],
    extent: tuple[float, float],
    currency: str,
) -> Markup:
    title = f"Approval rate by {noun.lower()}"
    return tag(
        "div",
        page.heading(f"By {noun.lower()}"),
        page.figure(comparisons.dumbbells(pairs, _percent_tick, title, "approval rate", extent)),
        page.unfold("As a table", _figures_table(noun, listed, currency)),
    )


def _percent_tick(share: float) -> str:
    return f"{100.0 * share:.3g}{numbers.NARROW_SPACE}%"


def _figures_table(
    noun: str, rows: Sequence[Group] | Sequence[tuple[str, Figures, Figures]], currency: str
) -> Markup:
    return page.table(
        [noun, "Applications", "Approved", "In review", "Limits", "Expected loss", "APR"],
        [
            [
                name,
                _pair(numbers.count(was.count), numbers.count(would.count)),
                from_to(was.share(Decision.APPROVED), would.share(Decision.APPROVED)),
                from_to(was.share(Decision.REVIEW), would.share(Decision.REVIEW)),
                _pair(numbers.money(was.volume, currency), numbers.money(would.volume, currency)),
                from_to(was.loss_share, would.loss_share),
                _pair(numbers.fixed(was.apr_mean, 1), numbers.fixed(would.apr_mean, 1)),
            ]
            for name, was, would in rows
        ],
    )


def prices(simulation: Simulation) -> Markup:
    """Draw how the prices of the approved are spread."""
    old, new = simulation.old, simulation.new
    found = [*old.aprs, *new.aprs]
    edges = _price_edges(min(found), max(found))
    histogram = Histogram(edges, _shares(old.aprs, edges), _shares(new.aprs, edges))
    picture = comparisons.overlaid_histogram(
        histogram, "Prices of the approved, old and new", "APR, fees included"
    )
    caps = _pair(
        f"{numbers.exact(old.policy.caps.apr_max)}{numbers.NARROW_SPACE}%",
        f"{numbers.exact(new.policy.caps.apr_max)}{numbers.NARROW_SPACE}%",
    )
    return page.figure(picture, f"Each loan counts once, whatever its limit. The cap: {caps}.")


def _price_edges(low: float, high: float) -> list[float]:
    """Give round borders around all prices, some three dozen of them."""
    rough = max((high - low) / _PRICE_BINS, 0.1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in _ROUND_STEPS if power * times >= 0.999 * rough)
    first, last = math.floor(low / step), math.floor(high / step) + 1
    return [round(place * step, 6) for place in range(first, last + 1)]


# ---------------------------------------------------------------------------- rules and switches


def rules(simulation: Simulation) -> Markup:
    """Draw how often each rule objected, those that changed most first."""
    old, new = simulation.old, simulation.new
    own_old = {rule.name: rule for rule in old.policy.rules}
    own_new = {rule.name: rule for rule in new.policy.rules}
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
                "" if own is None else own.decision.lower(),
            )
        )
    listed.sort(key=lambda pair: (-max(pair.before or 0.0, pair.after or 0.0), pair.name))
    said = [(rule.name, rule.when, rule.says) for rule in {**own_old, **own_new}.values()]
    parts = [
        page.paragraph(
            "How many applications each rule objected to. More than one can object to the same "
            "application; the worst decides."
        ),
        page.figure(
            comparisons.paired_bars(
                listed[:_RULES_MAX],
                lambda count: numbers.count(int(count)),
                "Rules that objected, old and new",
            )
        ),
    ]
    if said:
        parts.append(page.table(["Own rule", "When", "Says"], said, words=3))
    return join(*parts)


def switch_table(listed: Sequence[Switch]) -> Markup:
    """List applications that change decision."""
    return page.table(
        ["Application", "Decision", "Rules that objected", "Score", "Limit"],
        [
            [
                switch.reference,
                # Unbroken: on paper a second line for each row would double the pages.
                numbers.NO_BREAK.join((switch.old.decision, ARROW, switch.new.decision)),
                _pair(_codes(switch.old.rules), _codes(switch.new.rules)),
                _pair(str(switch.old.score), str(switch.new.score)),
                _pair(numbers.count(switch.old.limit), numbers.count(switch.new.limit)),
            ]
            for switch in listed
        ],
        words=3,
    )


def offer_table(listed: Sequence[Switch]) -> Markup:
    """List applications that keep their decision and are offered something else."""
    return page.table(
        ["Application", "Decision", "Limit", "Days", "APR, %"],
        [
            [
                switch.reference,
                switch.new.decision,
                _pair(numbers.count(switch.old.limit), numbers.count(switch.new.limit)),
                _pair(str(switch.old.term_days), str(switch.new.term_days)),
                _pair(numbers.fixed(switch.old.apr, 2), numbers.fixed(switch.new.apr, 2)),
            ]
            for switch in listed
        ],
        words=2,
    )


def _codes(rules: Sequence[str]) -> str:
    return ", ".join(rules) or "none"
