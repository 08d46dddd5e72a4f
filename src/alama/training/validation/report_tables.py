"""The report's view into the model: what moves the score, every field's points, every pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core import tables
from alama.core.catalogue import Direction
from alama.core.tables import MISSING
from alama.pages import bands, bars, numbers, page
from alama.pages import shapes as drawn
from alama.pages.bars import Bar
from alama.pages.markup import join, tag
from alama.pages.shapes import Band, Heat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.catalogue import Field
    from alama.core.model import Model
    from alama.core.tables import Card, Feature, Pair
    from alama.pages.markup import Markup

_SHARE_SHOWN: Final = 0.00005
"""A slot that nobody in training fell into is left out of a picture of words."""


def importance(model: Model) -> Markup:
    """Show how many points each field moves the score by, on average."""
    pictures = [
        page.figure(
            bars.bars(
                [Bar(feature.field, _weight(feature)) for feature in _by_weight(card)],
                lambda points: numbers.fixed(points, 1),
                f"Mean points moved by each field, {card.name} card",
            ),
            f"{card.name.capitalize()} card.",
        )
        for card in reversed(model.cards)
    ]
    return join(
        page.paragraph(
            "How many points each field moves the score, up or down, on average over the "
            "training population, by its own table. 40 points double the odds of repayment."
        ),
        page.side_by_side(*pictures),
    )


def _weight(feature: Feature) -> float:
    weighed = zip(feature.main, feature.shares, strict=True)
    return sum(abs(points) * share for points, share in weighed)


def _by_weight(card: Card) -> list[Feature]:
    return sorted(card.features, key=lambda feature: (-_weight(feature), feature.field))


def shapes(model: Model) -> Markup:
    """Show the table of each field of each card, the weightiest first."""
    parts = [
        page.paragraph(
            "The line gives the points of each band against the average applicant; the pale bars "
            "show how the population is spread. Bands are drawn equally wide, with their borders "
            "below; \u201cnone\u201d is a field that was not given. Scores start from the base "
            "and add one cell of every field."
        )
    ]
    for card in reversed(model.cards):
        proven = not any(tables.monotone_breaks(card, model.catalogue))
        parts.append(
            page.heading(
                f"{card.name.capitalize()} card: base {numbers.fixed(card.base, 1)} points"
            )
        )
        parts.append(
            page.side_by_side(
                *(
                    _shape(feature, model.catalogue.field(feature.field), proven=proven)
                    for feature in _by_weight(card)
                )
            )
        )
    return join(*parts)


def _shape(feature: Feature, field: Field, *, proven: bool) -> Markup:
    labels = bands.slot_labels(feature)
    listed = [
        Band(label, points, share)
        for label, points, share in zip(labels, feature.main, feature.shares, strict=True)
    ]
    title = f"Points by {field.name}"
    if feature.words:
        shown = [band for band in listed if band.share >= _SHARE_SHOWN] or listed
        picture = drawn.words(shown, title)
    else:
        cuts = [numbers.short(cut) for cut in feature.cuts]
        missing = None if field.required else listed[MISSING]
        picture = drawn.steps(missing, listed[1:], cuts, title, field.unit or field.name)
    return tag(
        "div",
        tag("h4", field.name, *_badges(field, proven=proven)),
        tag("p", field.meaning or "\u00a0", class_="meaning"),
        picture,
        page.unfold("Bands, points and default rates", _band_table(feature, labels)),
        class_="card",
    )


def _badges(field: Field, *, proven: bool) -> list[Markup]:
    if field.direction is Direction.FREE:
        return []
    if not proven:
        return [page.badge(f"{field.direction.value}: not proven")]
    return [page.badge(f"{field.direction.value}, proven", "proven")]


def _band_table(feature: Feature, labels: list[str]) -> Markup:
    columns = zip(labels, feature.main, feature.shares, feature.default_rates, strict=True)
    return page.table(
        ["Band", "Points", "Share", "Default rate"],
        [
            [label, numbers.signed(points, 2), numbers.percent(share), numbers.percent(rate)]
            for label, points, share, rate in columns
        ],
    )


def pairs(model: Model) -> Markup:
    """Show the table of each pair of each card, the strongest first."""
    parts = [
        page.paragraph(
            "Some fields mean more together than one by one. Each map gives the points that two "
            "fields add beyond their own tables: blue raises the score, orange lowers it. Each "
            "field is credited with exactly half."
        )
    ]
    for card in reversed(model.cards):
        if not card.pairs:
            continue
        strongest_first = sorted(card.pairs, key=_strength, reverse=True)
        parts.append(
            page.heading(
                f"{card.name.capitalize()} card: {numbers.plural(len(card.pairs), 'pair')}"
            )
        )
        parts.append(page.side_by_side(*(_pair(model, card, pair) for pair in strongest_first)))
    return join(*parts)


def _lines(places: Sequence[int], field: Field) -> list[tuple[int, list[int]]]:
    """Give the rows (or columns) of a pair that an application can fall into, with their slots."""
    never = {MISSING} if field.required else set()
    lines = ((place, set(slots) - never) for place, slots in enumerate(bands.groups(places)))
    return [(place, sorted(slots)) for place, slots in lines if slots]


def _strength(pair: Pair) -> float:
    return max(abs(half) for row in pair.halves for half in row)


def _pair(model: Model, card: Card, pair: Pair) -> Markup:
    first, second = card.features[pair.first], card.features[pair.second]
    used = [
        _lines(places, model.catalogue.field(feature.field))
        for places, feature in ((pair.rows, first), (pair.columns, second))
    ]
    heat = Heat(
        rows=[bands.group_label(first, slots) for _, slots in used[0]],
        columns=[bands.group_label(second, slots) for _, slots in used[1]],
        cells=[[2.0 * pair.halves[row][column] for column, _ in used[1]] for row, _ in used[0]],
    )
    title = f"{first.field} \u00d7 {second.field}"
    return tag(
        "div",
        tag("h4", title),
        drawn.heat_map(heat, first.field, second.field, f"Points of {title}"),
        class_="card",
    )
