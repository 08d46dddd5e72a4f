"""The report's prices: what missing fields, risk directions and the steps of the making cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.core import tables
from alama.core.catalogue import Direction
from alama.pages import bars, numbers, page
from alama.pages.bars import Bar
from alama.pages.markup import Markup, join, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.model import Model
    from alama.training.notes import CardNotes
    from alama.training.validation.validate import CardValidation, Pattern, Validation


def missing(validation: Validation, notes: Sequence[CardNotes]) -> Markup:
    """Show how the model does for those who give less, and what each field is worth."""
    parts = [
        page.paragraph(
            "Applicants do not all give the same fields. These combinations are common (at "
            "least 3 % of the hold-out rows each), each scored as it would be served. Few rows "
            "show a calibration error whatever the model: \u201cby chance\u201d is what perfect "
            "probabilities would show."
        ),
        page.table(
            [
                "Given",
                "Card",
                "Rows",
                "Share",
                "Predicted",
                "Observed",
                "AUC",
                "Calibration error",
                "by chance",
            ],
            [_pattern_row(pattern, validation) for pattern in validation.patterns],
            words=2,
        ),
        page.heading("What a missing field costs"),
        page.paragraph(
            "AUC lost on the hold-out rows if nobody gave the field, everything else unchanged. "
            "A field near zero is one the lender may not need to ask for; small figures of either "
            "sign are chance."
        ),
        page.side_by_side(*(_cost_picture(card) for card in reversed(validation.cards))),
    ]
    withheld = [gain for note in notes for gain in note.withheld if gain.share > 0.0]
    if withheld:
        parts.append(_withheld(notes))
    return join(*parts)


def _pattern_row(pattern: Pattern, validation: Validation) -> list[str]:
    return [
        pattern.described,
        pattern.card,
        numbers.count(pattern.rows),
        numbers.percent(pattern.rows / validation.holdout.rows),
        numbers.percent(pattern.predicted_rate),
        numbers.percent(pattern.default_rate),
        numbers.fixed(pattern.auc, 3),
        numbers.percent(pattern.calibration_error, 2),
        numbers.percent(pattern.calibration_noise, 2),
    ]


def _cost_picture(card: CardValidation) -> Markup:
    costs = sorted(card.missing_costs, key=lambda cost: -cost.auc)
    return page.figure(
        bars.bars(
            [Bar(cost.field, cost.auc) for cost in costs],
            lambda value: numbers.fixed(value, 4),
            f"AUC lost without each field, {card.card} card",
        ),
        f"{card.card.capitalize()} card: AUC lost.",
        page.unfold(
            "As a table",
            page.table(
                ["Field", "Given by", "AUC lost", "Log loss added"],
                [
                    [
                        cost.field,
                        numbers.percent(cost.given_share),
                        numbers.fixed(cost.auc, 4),
                        numbers.signed(cost.log_loss, 5),
                    ]
                    for cost in costs
                ],
            ),
        ),
    )


def _withheld(notes: Sequence[CardNotes]) -> Markup:
    return join(
        page.heading("Who would gain by withholding"),
        page.paragraph(
            "Someone below average in a field can gain by not giving it. How many of those who "
            "gave it could, among the training rows, and how much they would gain:"
        ),
        page.table(
            ["Field", "Card", "Could gain", "Mean gain, points"],
            [
                [
                    gain.field,
                    note.card,
                    numbers.percent(gain.share),
                    numbers.signed(gain.mean_points, 1),
                ]
                for note in notes
                for gain in sorted(note.withheld, key=lambda gain: -gain.share)
                if gain.share > 0.0
            ],
            words=2,
        ),
    )


def directions(model: Model, validation: Validation) -> Markup:
    """Show which fields are held to a risk direction, and what that costs."""
    read = {feature.field for card in model.cards for feature in card.features}
    directed = [
        field
        for field in model.catalogue.model_fields
        if field.direction is not Direction.FREE and field.name in read
    ]
    if not directed:
        return page.paragraph("No field is held to a risk direction: the model is free in all.")
    listed = join(
        *(tag("li", tag("strong", field.name), f": {field.direction.value}") for field in directed)
    )
    broken = [b for card in model.cards for b in tables.monotone_breaks(card, model.catalogue)]
    priced = [card for card in reversed(validation.cards) if card.prices]
    parts = [
        page.paragraph(
            "In these fields the score moves one way only as the value grows, whatever the other "
            "fields say and whichever of them are missing, pairs included. That was proven on the "
            "tables for this page, not sampled."
            if not broken
            else "These fields are meant to move the score one way only, but the tables do not "
            "keep to it: " + "; ".join(broken)
        ),
        tag("ul", listed),
    ]
    if priced:
        parts.append(
            page.paragraph(
                "The price of each direction is an estimate, on the training rows, of the log loss "
                "a row that it adds to the freely fitted tables (to second order). A high price is "
                "news: the fit disagrees with what was assumed. What all directions together did "
                "on the hold-out rows stands under \u201cHow it was made\u201d."
            )
        )
        parts.append(page.side_by_side(*(_price_picture(card) for card in priced)))
    return join(*parts)


def _price_picture(card: CardValidation) -> Markup:
    prices = sorted(card.prices, key=lambda price: -price.log_loss)
    return page.figure(
        bars.bars(
            [Bar(price.field, 1e6 * price.log_loss) for price in prices],
            lambda value: numbers.fixed(value, 1),
            f"Price of each risk direction, {card.card} card",
        ),
        f"{card.card.capitalize()} card: millionths of log loss a row.",
    )


def stages(notes: Sequence[CardNotes]) -> Markup:
    """Show what each step of the making did to the figures."""
    rows = []
    for note in reversed(notes):
        for place, stage in enumerate(note.stages):
            before = note.stages[place - 1] if place else None
            rows.append(
                [
                    note.card if before is None else "",
                    stage.name,
                    numbers.fixed(stage.auc, 4),
                    numbers.signed(stage.auc - before.auc, 4) if before else "",
                    numbers.fixed(stage.log_loss, 5),
                    numbers.signed(stage.log_loss - before.log_loss, 5) if before else "",
                ]
            )
    calibrated = "; ".join(
        f"{note.card}: slope {numbers.fixed(note.slope)}, intercept {numbers.fixed(note.intercept)}"
        for note in reversed(notes)
    )
    return join(
        page.paragraph(
            "A forest of small trees is fitted freely, compiled into tables, its bands merged "
            "until a person can read them, and all tables projected onto the risk directions. "
            "What each step did on rows it has not seen:"
        ),
        page.table(["Card", "Step", "AUC", "change", "Log loss", "change"], rows, words=2),
        page.note(
            "Log-odds are stretched by a slope learned on rows that each bag left out, and "
            f"levelled on the training rows: {calibrated}."
        ),
    )
