"""The report of a simulated policy: one page that says what it would change, and for whom.

This file says what stands on the page and in which order; `policy_figures` draws and tabulates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core.lending.offer_changes import offer_changes, told
from alama.core.lending.policy import SEVERITY, Decision
from alama.core.lending.policy_changes import changes
from alama.pages import numbers, page, policy_figures
from alama.pages.markup import join, tag
from alama.pages.page import Section, Tile
from alama.pages.policy_figures import ARROW, change_of, from_to, points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from alama.core.lending.policy import Policy
    from alama.core.lending.simulation import Figures, Simulation, Switch
    from alama.pages.markup import Markup

SWITCHES_MAX: Final = 500
"""Applications that the page lists; a page of a hundred thousand would open in no browser."""

_SWITCHES_OPEN: Final = 25
_CHANGES_OPEN: Final = 24
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
    sections = [
        Section("glance", "At a glance", _glance(simulation)),
        Section("changes", "What the new policy changes", _changes(simulation)),
        Section("moves", "Where decisions moved", _moves(simulation)),
        Section("tiers", "Decisions by tier", policy_figures.tiers(simulation)),
        Section("scores", "Scores and cut-offs", policy_figures.scores(simulation)),
    ]
    if groups := policy_figures.groups(simulation):
        sections.append(Section("groups", "By region and device", groups))
    if simulation.old.aprs or simulation.new.aprs:
        sections.append(Section("prices", "Prices", policy_figures.prices(simulation)))
    if simulation.old.rules or simulation.new.rules:
        sections.append(Section("rules", "Rules that objected", policy_figures.rules(simulation)))
    sections += [
        Section("switches", "Applications that change decision", _switches(simulation)),
        Section("offers", "Offers that change alone", _reoffered(simulation)),
        Section("reading", "How to read this page", _reading(simulation)),
    ]
    return page.document(
        f"Simulation of {simulation.new.policy.name}",
        _header(simulation, described, made_on),
        sections,
        f"Alama simulation of {made_on}.",
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


def _header(simulation: Simulation, described: str, made_on: str) -> Markup:
    old, new, currency = simulation.old.total, simulation.new.total, _currency(simulation)
    count = numbers.plural(simulation.count, "application")
    return join(
        tag("p", f"Policy simulation, {made_on}", class_="kicker"),
        tag("h1", headline(simulation)),
        tag(
            "p",
            f"{_titled(simulation.new.policy)}, against {_titled(simulation.old.policy)}. On "
            f"{count}, {described}, the limits approved would go from "
            f"{numbers.money(old.volume, currency)} to {numbers.money(new.volume, currency)}, what "
            f"they are expected to lose from {numbers.percent(old.loss_share)} of that to "
            f"{numbers.percent(new.loss_share)}, the average price from {_apr(old.apr_mean)} to "
            f"{_apr(new.apr_mean)} a year.",
            class_="lead",
        ),
        tag("p", simulation.new.policy.id, class_="id"),
    )


def _titled(policy: Policy) -> str:
    return f"\u201c{policy.name}\u201d, version {policy.version}"


def _currency(simulation: Simulation) -> str:
    return simulation.new.policy.currency


def _apr(percent: float | None) -> str:
    return numbers.percent(None if percent is None else percent / 100.0)


# ------------------------------------------------------------------------------------ at a glance


def _glance(simulation: Simulation) -> Markup:
    listed = [tag("li", found) for found in _findings(simulation)]
    return join(page.tiles(_tiles(simulation)), tag("ul", *listed, class_="findings"))


def _tiles(simulation: Simulation) -> list[Tile]:
    old, new, currency = simulation.old.total, simulation.new.total, _currency(simulation)
    return [
        _share_tile("Approval rate", simulation, Decision.APPROVED, "approved"),
        _share_tile("Left to a person", simulation, Decision.REVIEW, "in review"),
        Tile(
            f"Limits approved, {currency}",
            numbers.large(new.volume),
            f"was {numbers.large(old.volume)}, {change_of(old.volume, new.volume)}",
            f"On average {numbers.large(new.limit_mean)} each, where it was "
            f"{numbers.large(old.limit_mean)}.",
        ),
        Tile(
            "Expected loss",
            numbers.percent(new.loss_share),
            f"was {numbers.percent(old.loss_share)}, {points(old.loss_share, new.loss_share)}",
            f"Of the limits approved: {numbers.money(new.expected_loss, currency)}, where it was "
            f"{numbers.money(old.expected_loss, currency)}.",
        ),
        Tile(
            "Average price",
            _apr(new.apr_mean),
            f"was {_apr(old.apr_mean)}, {points(_share(old.apr_mean), _share(new.apr_mean))}",
            "APR, fees included, weighted by the limits; for "
            f"{numbers.fixed(new.term_mean, 0)} days on average, where it was "
            f"{numbers.fixed(old.term_mean, 0)}.",
        ),
    ]


def _share_tile(name: str, simulation: Simulation, decision: Decision, said: str) -> Tile:
    old, new = simulation.old.total, simulation.new.total
    was, would = old.share(decision), new.share(decision)
    return Tile(
        name,
        numbers.percent(would),
        f"was {numbers.percent(was)}, {points(was, would)}",
        f"{numbers.count(new.decisions[decision])} of {numbers.count(new.count)} {said}, where it "
        f"was {numbers.count(old.decisions[decision])}.",
    )


def _share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100.0


def _findings(simulation: Simulation) -> Iterator[str]:
    """Say what a reader should not miss."""
    if simulation.switches:
        yield from _decisions_that_move(simulation)
    else:
        yield "No application changes its decision."
    offers = offer_changes(simulation.reoffered)
    yield (
        f"{numbers.plural(offers.changed, 'application')} would keep the decision and get another "
        f"offer: {told(offers, numbers.count)}."
        if offers.changed
        else "Who keeps the decision keeps the limit, the term and the price."
    )
    yield from _price_against_term(simulation.old.total, simulation.new.total)


def _price_against_term(old: Figures, new: Figures) -> Iterator[str]:
    """Explain an average price that rises because terms get shorter, or the other way round."""
    if old.apr_mean is None or new.apr_mean is None:
        return
    assert old.term_mean is not None
    assert new.term_mean is not None
    dearer, longer = new.apr_mean - old.apr_mean, new.term_mean - old.term_mean
    if min(abs(dearer), abs(longer)) < _TERM_MOVED_MIN or (dearer > 0) == (longer > 0):
        return
    yield (
        f"The average price {'rises' if dearer > 0 else 'falls'} with "
        f"{'shorter' if longer < 0 else 'longer'} terms ({numbers.fixed(old.term_mean, 1)} {ARROW} "
        f"{numbers.fixed(new.term_mean, 1)} days): what a loan costs once, running it and the risk "
        f"of it, is earned in {'less' if longer < 0 else 'more'} time, at a "
        f"{'higher' if longer < 0 else 'lower'} rate a year."
    )


def _decisions_that_move(simulation: Simulation) -> Iterator[str]:
    moved = len(simulation.switches)
    better = sum(
        number
        for (was, would), number in simulation.moves.items()
        if SEVERITY[would] < SEVERITY[was]
    )
    yield (
        f"{numbers.plural(moved, 'application')} ({numbers.percent(moved / simulation.count)}) "
        f"would be decided otherwise: {numbers.count(better)} for the better, "
        f"{numbers.count(moved - better)} for the worse."
    )
    (was, would), number = max(
        ((move, number) for move, number in simulation.moves.items() if move[0] is not move[1]),
        key=lambda found: found[1],
    )
    yield f"The most frequent move is {was} {ARROW} {would}, {numbers.count(number)} times."
    yield from _groups_that_move(simulation)
    appeared = [
        (count - simulation.old.rules[code], code) for code, count in simulation.new.rules.items()
    ]
    if appeared and max(appeared)[0] > 0:
        more, code = max(appeared)
        yield f"The rule {code} would object {numbers.count(more)} times more than before."


def _groups_that_move(simulation: Simulation) -> Iterator[str]:
    """Name the region and the device whose approval rate moves most."""
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
            was, would = (f.share(Decision.APPROVED) for f in (group.old, group.new))
            yield (
                f"Of the {noun}s, {group.name} moves most: {from_to(was, would)} approved "
                f"({points(was, would)})."
            )


# ------------------------------------------------------------------------------- changes, moves


def _changes(simulation: Simulation) -> Markup:
    found = changes(simulation.old.policy, simulation.new.policy)
    if not found:
        return page.paragraph("Nothing: the two policies say the same.")
    missing = numbers.NOTHING
    rows = [[one.key, one.old or missing, one.new or missing] for one in found]
    head = ["Key", "Old", "New"]
    parts = [page.table(head, rows[:_CHANGES_OPEN], words=3)]
    if rest := rows[_CHANGES_OPEN:]:
        summary = f"And {numbers.count(len(rest))} more"
        parts.append(page.unfold(summary, page.table(head, rest, words=3)))
    return join(*parts)


def _moves(simulation: Simulation) -> Markup:
    stayed = simulation.count - len(simulation.switches)
    return join(
        page.paragraph(
            f"{numbers.plural(stayed, 'application')} "
            f"({numbers.percent(stayed / max(simulation.count, 1))}) would be decided as before; "
            "they stand on the diagonal. Above it decisions get worse, below it better. Limits and "
            "prices can change all the same: see the offers that change alone."
        ),
        policy_figures.moves(simulation),
    )


# ------------------------------------------------------------------------------------ switches


def _switches(simulation: Simulation) -> Markup:
    return _listed(
        simulation.switches,
        "What was decided and what would be, with the limit and the rules that objected",
        policy_figures.switch_table,
    )


def _reoffered(simulation: Simulation) -> Markup:
    return _listed(
        simulation.reoffered,
        "These keep their decision, and get another limit, term or price",
        policy_figures.offer_table,
    )


def _listed(
    found: Sequence[Switch], said: str, table: Callable[[Sequence[Switch]], Markup]
) -> Markup:
    """List applications, the first in sight and the others in a fold, which paper leaves out."""
    if not found:
        return page.paragraph("None.")
    shown = found[:SWITCHES_MAX]
    in_sight = shown[:_SWITCHES_OPEN]
    parts = [
        page.paragraph(
            f"{said}, in the order in which the applications were read.",
            _left_out("screen", len(shown), len(found)),
            _left_out("paper", len(in_sight), len(found)),
        ),
        table(in_sight),
    ]
    if rest := shown[_SWITCHES_OPEN:]:
        parts.append(page.unfold(f"The next {numbers.count(len(rest))}", table(rest)))
    return join(*parts)


def _left_out(medium: str, shown: int, count: int) -> Markup:
    """Say how many of a list can be read on screen or on paper, and where the others are."""
    if count <= shown:
        return join()
    listed = f" The first {numbers.count(shown)} of {numbers.count(count)} are listed; "
    return tag(
        "span", listed, tag("code", "--switched FILE.csv"), " writes them all.", class_=medium
    )


# ------------------------------------------------------------------------------------- reading


def _reading(simulation: Simulation) -> Markup:
    old, new = simulation.old.policy, simulation.new.policy
    listed = [
        (
            "Every application was scored by the same model and decided by both policies, as the "
            "service would decide it."
        ),
        (
            "Limits, expected loss, price and term speak of what is approved at once. What is left "
            "to a person may end either way, and is in none of them."
        ),
        (
            "A limit is what may be borrowed, not what will be: people borrow less, and other "
            "terms bring other applicants. Losses are the model\u2019s expectation at the limit."
        ),
        "Pauses and daily bounds are not part of it: they depend on the day, not on the applicant.",
        "A field that a policy forbids was taken as not sent.",
    ]
    return join(
        tag("ul", *(tag("li", said) for said in listed)),
        page.facts(
            [
                ("New policy", f"{new.name}, version {new.version}"),
                ("", new.id),
                ("Old policy", f"{old.name}, version {old.version}"),
                ("", old.id),
                ("Model", simulation.model.name),
                ("", simulation.model.id),
                ("Currency", new.currency),
                ("Jurisdiction", f"{old.jurisdiction} {ARROW} {new.jurisdiction}"),
            ]
        ),
    )
