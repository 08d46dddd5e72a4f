"""The whole scorecard as tables that a person can read and add up by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.core import tables
from alama.core.tables import MISSING
from alama.pages import bands, numbers, page
from alama.pages.markup import Markup, join, tag

if TYPE_CHECKING:
    from collections.abc import Collection

    from alama.core.model import Model
    from alama.core.tables import Card, Feature


def scorecard(model: Model) -> Markup:
    """Give each card in full: start from the base, add one line of every field."""
    return join(
        page.paragraph(
            "A score is the base plus the points of one band of each field, plus what pairs of "
            "fields add (drawn under Pairs, where the card has them). Share is how many of the "
            "loans that a card learned from fall into the band, default rate how many of those "
            "defaulted."
        ),
        *(_card(model, card) for card in reversed(model.cards)),
    )


def _card(model: Model, card: Card) -> Markup:
    required = {field.name for field in model.catalogue.fields if field.required}
    ordered = sorted(card.features, key=lambda feature: -_reach(feature))
    return join(
        page.heading(
            f"{card.name.capitalize()} card: base {numbers.fixed(card.base, 1)} points, "
            f"{numbers.plural(len(card.features), 'field')}, "
            f"{numbers.plural(len(card.pairs), 'pair')}"
        ),
        page.note(_whose_shares(model, card, required)),
        page.side_by_side(*(_table(f, always_given=f.field in required) for f in ordered)),
    )


def _whose_shares(model: Model, card: Card, required: Collection[str]) -> str:
    """Say of which loans the shares are: a card learns from those that no smaller one answers."""
    if all(feature.field in required for feature in card.features):
        return "Shares are of all the loans learned from."
    told = "Shares are of the loans learned from that give at least one field that may be missing"
    if len(model.cards) > 1:
        told += f"; loans that give none are answered by the {model.cards[0].name} card"
    return f"{told}."


def _reach(feature: Feature) -> float:
    return max(feature.main) - min(feature.main)


def _table(feature: Feature, *, always_given: bool) -> Markup:
    rows = [
        [
            bands.slot_label(feature, slot),
            numbers.signed(points, 1),
            numbers.percent(feature.shares[slot]),
            numbers.percent(feature.default_rates[slot]),
        ]
        for slot, points in enumerate(feature.main)
        if not (slot == MISSING and always_given)
    ]
    return tag(
        "div",
        tag("h4", feature.field),
        page.table(["Band", "Points", "Share", "Default rate"], rows),
        class_="card",
    )


def proof(model: Model) -> Markup:
    """Say whether every risk direction holds on the tables as they are."""
    broken = [
        f"{card.name}: {found}"
        for card in model.cards
        for found in tables.monotone_breaks(card, model.catalogue)
    ]
    if broken:
        return page.paragraph("The tables break a risk direction: " + "; ".join(broken))
    return page.paragraph(
        tag("strong", "Checked for this page: "),
        "no pair of neighbouring bands, in any card and beside any value of any other field, moves "
        "the score against its direction.",
    )
