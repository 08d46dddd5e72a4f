"""The validation report: one page that a risk officer and a supervisor can read.

This file says what stands on the page and in which order, and writes its first and last parts;
`report_evidence` shows how the model did, `report_tables` what is inside it, `report_costs` what
it paid for its promises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.pages import numbers, page
from alama.pages.markup import join, tag
from alama.pages.page import Section, Tile
from alama.training.validation import report_costs, report_evidence, report_tables
from alama.training.validation.figures import Measure
from alama.training.validation.findings import findings
from alama.training.validation.report_evidence import MEASURES, interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.model import Model, Setting
    from alama.pages.markup import Markup
    from alama.training.notes import CardNotes
    from alama.training.validation.figures import Performance
    from alama.training.validation.validate import Sample, Validation


def render(model: Model, validation: Validation, notes: Sequence[CardNotes]) -> str:
    """Give the report as one self-contained HTML page, without script."""
    largest_first = tuple(reversed(validation.cards))
    sections = [
        Section("glance", "At a glance", _glance(model, validation)),
        Section("ranking", "Ranking", report_evidence.ranking(validation)),
        Section("calibration", "Calibration", report_evidence.calibration(largest_first)),
        Section("scores", "Scores by outcome", report_evidence.scores(validation.served)),
        Section("importance", "What moves the score", report_tables.importance(model)),
        Section("shapes", "Every field and its points", report_tables.shapes(model)),
    ]
    if any(card.pairs for card in model.cards):
        sections.append(Section("pairs", "Fields that act together", report_tables.pairs(model)))
    sections += [
        Section("missing", "Missing fields", report_costs.missing(validation, notes)),
        Section("directions", "Risk directions", report_costs.directions(model, validation)),
    ]
    if notes:
        sections.append(Section("stages", "How it was made", report_costs.stages(notes)))
    sections += [
        Section("stability", "Stability", report_evidence.stability(largest_first)),
    ]
    if validation.unlike:
        section = Section("unlike", "Unlike training", report_evidence.unlike(validation.unlike))
        sections.append(section)
    sections += [
        Section("lineage", "Recipe and lineage", _lineage(model)),
        Section("limits", "Limits", _limits(model)),
    ]
    return page.document(
        f"Validation of {model.name}",
        _header(model, validation),
        sections,
        f"Alama validation report of model {model.id}. Intervals are 95 %, from "
        f"{numbers.count(validation.draws)} bootstrap draws of the hold-out rows.",
    )


def _header(model: Model, validation: Validation) -> Markup:
    return join(
        tag("p", "Validation report", class_="kicker"),
        tag("h1", model.name),
        tag(
            "p",
            f"This model gives the chance of default of a loan: {model.outcome.definition}. "
            f"It learned from {_rows(validation.train)} and is measured here on "
            f"{_rows(validation.holdout)} that no step of its making has seen.",
            class_="lead",
        ),
        tag("p", model.id, class_="id"),
    )


def _rows(sample: Sample) -> str:
    rate = numbers.percent(sample.defaults / max(sample.rows, 1))
    period = f", {sample.period.first} to {sample.period.last}" if sample.period else ""
    return f"{numbers.count(sample.rows)} loans ({rate} defaulted{period})"


def _glance(model: Model, validation: Validation) -> Markup:
    served = validation.served
    parts = [
        page.tiles([*_tiles(served), _forest_tile(validation)]),
        page.heading("What stands out"),
        tag("ul", *(tag("li", found) for found in findings(validation)), class_="findings"),
        page.heading("All figures"),
    ]
    if len(model.cards) > 1:
        listed = "; ".join(
            f"{card.name} reads {numbers.plural(len(card.features), 'field')}"
            for card in model.cards
        )
        parts.append(
            page.paragraph(
                f"The model holds {len(model.cards)} scorecards: {listed}. An application is "
                "scored by the smallest one that reads every field it gives; that is \u201cas "
                "served\u201d, and what the figures on top say. Each card alone is measured on all "
                "rows."
            )
        )
    parts.append(report_evidence.figures_table(validation))
    return join(*parts)


def _tiles(served: Performance) -> list[Tile]:
    area, distance, error, slope = (
        served.figure(measure)
        for measure in (
            Measure.AUC,
            Measure.KS,
            Measure.CALIBRATION_ERROR,
            Measure.CALIBRATION_SLOPE,
        )
    )
    holds_one = slope.interval.low <= 1.0 <= slope.interval.high
    verdict = "Not distinguishable from 1, the ideal." if holds_one else _slope_verdict(slope.value)
    return [
        Tile(
            "AUC",
            MEASURES[Measure.AUC].form(area.value),
            interval(area),
            "Of a loan that defaulted and one that was repaid, the defaulted one has the lower "
            f"score {100.0 * area.value:.0f} times in 100.",
        ),
        Tile(
            "KS",
            MEASURES[Measure.KS].form(distance.value),
            interval(distance),
            "At the best single cut-off, the share of defaults turned away exceeds the share "
            f"of good loans turned away by {100.0 * distance.value:.0f} points.",
        ),
        Tile(
            "Calibration error",
            MEASURES[Measure.CALIBRATION_ERROR].form(error.value),
            interval(error),
            "Mean gap of predicted and observed default rate over 20 equal groups; perfect "
            f"probabilities would show {numbers.percent(served.calibration_noise, 2)} by chance. "
            f"Overall {numbers.percent(served.predicted_rate)} was predicted, "
            f"{numbers.percent(served.default_rate)} happened.",
        ),
        Tile(
            "Calibration slope",
            MEASURES[Measure.CALIBRATION_SLOPE].form(slope.value),
            interval(slope),
            verdict,
        ),
    ]


def _slope_verdict(slope: float) -> str:
    if slope < 1.0:
        return "Below 1: high risks are stated too high and low ones too low."
    return "Above 1: the model is too timid at both ends."


def _forest_tile(validation: Validation) -> Tile:
    card = validation.cards[-1]
    forest = card.peers[-1]
    if forest.ahead_interval.low <= 0.0 <= forest.ahead_interval.high:
        verdict = f"In AUC: the {card.card} card and an unconstrained forest cannot be told apart."
    elif forest.ahead > 0.0:
        verdict = f"In AUC: the {card.card} card ranks better than an unconstrained forest."
    else:
        verdict = f"In AUC: what the {card.card} card pays for being readable and monotone."
    between = numbers.between(
        numbers.signed(forest.ahead_interval.low, 4), numbers.signed(forest.ahead_interval.high, 4)
    )
    return Tile("Against a forest", numbers.signed(forest.ahead, 4), between, verdict)


def _lineage(model: Model) -> Markup:
    lineage = model.lineage
    outcome = model.outcome
    listed = [
        ("Model", model.id),
        ("Outcome", outcome.definition),
        ("Days past due", numbers.count(outcome.days_past_due)),
        ("Terms learned on", _terms(model)),
        ("Label column", lineage.label),
        ("Rows", f"{numbers.count(lineage.rows)}, {numbers.count(lineage.defaults)} defaults"),
        ("Data fingerprint", lineage.fingerprint),
    ]
    if model.money is not None:
        listed.append(("Currency of the cuts", f"{model.money.currency} ({model.money.dated})"))
    recipe = [(name, _setting(value)) for name, value in sorted(lineage.recipe.items())]
    versions = [(name, value) for name, value in sorted(lineage.versions.items())]
    return join(
        page.facts(listed),
        page.heading("Recipe"),
        page.note("The same data, recipe and versions give the same model again."),
        page.facts(recipe),
        page.heading("Versions"),
        page.facts(versions),
    )


def _terms(model: Model) -> str:
    shortest, longest = model.outcome.shortest_term_days, model.outcome.longest_term_days
    if shortest is None or longest is None:
        return "not recorded"
    return f"{numbers.between(numbers.count(shortest), numbers.count(longest))} days"


def _setting(value: Setting) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    return value if isinstance(value, str) else numbers.exact(value)


def _limits(model: Model) -> Markup:
    """Say what the model must not be used for; true of every model of this kind."""
    listed = [
        (
            f"It speaks of one loan and one outcome ({model.outcome.definition}). It says nothing "
            "about other products, about collections, employment, insurance or marketing, and must "
            "not be used for them."
        ),
        (
            f"It learned on loans of these terms: {_terms(model)}. A longer or shorter loan is a "
            "guess beyond the data."
        ),
        (
            "Where its history holds granted loans only, applicants whom the earlier policy "
            "turned away can be riskier than their fields say; those unlike anyone granted belong "
            "before a person."
        ),
        "Points say how the score is made, not what would make someone repay.",
        (
            "The intervals hold the chance in drawing the hold-out rows. They do not hold what "
            "other training rows would have changed, nor a change of the market, of the policy or "
            "of the people who apply: watch the stability figures."
        ),
        (
            "Fields can stand in for what must not decide (a region, a device). Compare groups "
            "before use and while in use; this page does not do so."
        ),
        (
            "Combinations of missing fields rarer than 3 % of the hold-out rows are not measured "
            "one by one."
        ),
    ]
    return tag("ul", *(tag("li", limit) for limit in listed))
