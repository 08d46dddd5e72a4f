"""The validation report: one page that a risk officer and a supervisor can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from alama.core import tables
from alama.core.catalogue import Direction, Field
from alama.core.tables import MISSING, Card, Feature, Pair
from alama.platform.pages import charts, numbers
from alama.platform.pages import render as pages
from alama.platform.pages.charts import Bar, Curve, Difference, Rate
from alama.training.validation import metrics, shapes
from alama.training.validation.figures import Figure, Measure, Performance
from alama.training.validation.shapes import Band, Heat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from alama.core.model import Model, Setting
    from alama.platform.pages.render import Markup
    from alama.training.recipe import CardNotes, Stage
    from alama.training.validation.metrics import Interval
    from alama.training.validation.stability import Stability
    from alama.training.validation.validate import CardValidation, Validation


_PSI_SHIFT: Final = 0.25
_PSI_WATCH: Final = 0.1
_SHARE_SHOWN: Final = 0.00005
"""A slot that nobody in training fell into is left out of a picture of words."""

_DEFAULTS_MIN: Final = 200
_SLOPE_REACH: Final = 0.03
_PATTERN_GAP: Final = 0.01
_PRICE_HIGH: Final = 5e-4


@dataclass(frozen=True, slots=True)
class _Wording:
    name: str
    ideal: str
    form: Callable[[float], str]


_MEASURES: Final = {
    Measure.AUC: _Wording("AUC", "1; 0.5 is chance", lambda v: numbers.fixed(v, 3)),
    Measure.GINI: _Wording("Gini", "1; 0 is chance", lambda v: numbers.fixed(v, 3)),
    Measure.KS: _Wording("KS", "1; 0 is chance", lambda v: numbers.fixed(v, 3)),
    Measure.BRIER: _Wording("Brier score", "0", lambda v: numbers.fixed(v, 4)),
    Measure.LOG_LOSS: _Wording("Log loss", "0", lambda v: numbers.fixed(v, 4)),
    Measure.CALIBRATION_ERROR: _Wording("Calibration error", "0", lambda v: numbers.percent(v, 2)),
    Measure.CALIBRATION_SLOPE: _Wording("Calibration slope", "1", lambda v: numbers.fixed(v, 3)),
}
"""How each figure is named and written, and what would be perfect."""


_STEPS: Final = {
    "floor": "floor: weights of evidence",
    "smooth": "smooth: curves of fields",
    "boosted": "boosted: fields and pairs",
    "chosen": "chosen: the three, weighed",
    "banded": "banded: to be read",
    "projected": "projected: directions",
}
"""What was done in each stage of the making of a card."""

_FITS: Final = frozenset({"floor", "smooth", "boosted", "chosen"})
"""Fits that stand beside each other; the stages after them change the one that was chosen."""


@dataclass(frozen=True, slots=True)
class Step:
    """A stage of the making in words, and what it changed; None where it stands for itself."""

    words: str
    auc: float
    log_loss: float
    auc_change: float | None
    loss_change: float | None


@dataclass(frozen=True, slots=True)
class WrittenFigure:
    """A figure, and how it and its interval are written."""

    figure: Figure
    value: str
    interval: str


@dataclass(frozen=True, slots=True)
class Measured:
    """A way of scoring and its figures by measure."""

    performance: Performance
    figures: dict[Measure, WrittenFigure]


@dataclass(frozen=True, slots=True)
class MeasuredCard:
    """What the validation says of a card, with its drawings.

    `ahead` is there where peers were measured, `prices` where directions have any.
    """

    name: str
    measured: Measured
    validation: CardValidation
    ahead: Markup | None
    reliability: Markup
    missing_costs: Markup
    prices: Markup | None


@dataclass(frozen=True, slots=True)
class MonthDrawings:
    """Default rates and stability, month by month."""

    rates: Markup
    psi: Markup


@dataclass(frozen=True, slots=True)
class Shape:
    """The table of one field of a card, its slots by label."""

    field: Field
    feature: Feature
    labels: list[str]
    drawing: Markup


@dataclass(frozen=True, slots=True)
class DrawnPair:
    """The table of a pair."""

    title: str
    drawing: Markup


@dataclass(frozen=True, slots=True)
class DrawnCard:
    """What is inside a card: fields by weight, pairs by strength."""

    card: Card
    breaks: tuple[str, ...]
    importance: Markup
    shapes: list[Shape]
    pairs: list[DrawnPair]


def render(model: Model, validation: Validation, notes: Sequence[CardNotes]) -> str:
    """Give the report as one self-contained HTML page, without script."""
    return pages.render(
        "training/validation/templates/report.html",
        **shared_values(model, validation, notes),
        findings=findings(validation),
        recipe=[(name, _setting(value)) for name, value in sorted(model.lineage.recipe.items())],
    )


def _setting(value: Setting) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    return value if isinstance(value, str) else numbers.exact(value)


def shared_values(
    model: Model, validation: Validation, notes: Sequence[CardNotes]
) -> dict[str, object]:
    """Give what templates/sections.html needs; cards stand largest first."""
    cards = [_measured_card(card) for card in reversed(validation.cards)]
    served = written_figures(validation.served)
    ways = [card.measured for card in cards]
    if len(ways) > 1:
        ways.insert(0, served)
    largest = validation.cards[-1].stability
    read = {feature.field for card in model.cards for feature in card.features}
    return {
        "model": model,
        "validation": validation,
        "making": [(note, list(steps(note.stages))) for note in reversed(notes)],
        "rows_that_judge": validation.rows_that_judge,
        "has_peers": all(card.peers for card in validation.cards),
        "served": served,
        "ways": ways,
        "measures": _MEASURES,
        "measured_cards": cards,
        "drawn_cards": [_drawn_card(model, card) for card in reversed(model.cards)],
        "directed": [
            field
            for field in model.catalogue.model_fields
            if field.direction is not Direction.FREE and field.name in read
        ],
        "withheld": [
            (note.card, gain)
            for note in notes
            for gain in sorted(note.withheld, key=lambda gain: -gain.share)
            if gain.share > 0.0
        ],
        "roc": _roc(ways),
        "scores_by_outcome": _scores_by_outcome(validation.served),
        "psi_by_field": _psi_by_field(largest),
        "by_month": _by_month(largest),
    }


def steps(stages: Sequence[Stage]) -> Iterator[Step]:
    """Say what each stage of the making of a card did."""
    before: Stage | None = None
    for stage in stages:
        compared = None if stage.name in _FITS else before
        yield Step(
            _STEPS.get(stage.name, stage.name),
            stage.auc,
            stage.log_loss,
            None if compared is None else stage.auc - compared.auc,
            None if compared is None else stage.log_loss - compared.log_loss,
        )
        before = stage


def written_figures(performance: Performance) -> Measured:
    """Write the figures of a way of scoring."""
    return Measured(performance, {f.measure: _written(f) for f in performance.figures})


def _written(figure: Figure) -> WrittenFigure:
    form = _MEASURES[figure.measure].form
    interval = numbers.between(form(figure.interval.low), form(figure.interval.high))
    return WrittenFigure(figure, form(figure.value), interval)


def _measured_card(card: CardValidation) -> MeasuredCard:
    return MeasuredCard(
        name=card.card,
        measured=written_figures(card.performance),
        validation=card,
        ahead=_ahead(card) if card.peers else None,
        reliability=_reliability(card),
        missing_costs=charts.bars(
            [
                Bar(cost.field, cost.auc)
                for cost in sorted(card.missing_costs, key=lambda c: -c.auc)
            ],
            lambda value: numbers.fixed(value, 4),
            f"AUC lost without each field, {card.card} card",
        ),
        prices=_price_bars(card) if card.prices else None,
    )


def _ahead(card: CardValidation) -> Markup:
    return charts.differences(
        [
            Difference(
                f"ahead of {peer.name}",
                peer.ahead,
                peer.ahead_interval.low,
                peer.ahead_interval.high,
            )
            for peer in card.peers
        ],
        lambda value: numbers.signed(value, 4),
        f"AUC of the {card.card} card against its peers",
        f"difference of AUC, {card.card} card",
    )


def _reliability(card: CardValidation) -> Markup:
    rates = [
        Rate(b.predicted, b.observed, b.interval.low, b.interval.high, b.rows)
        for b in card.performance.reliability
    ]
    return charts.reliability(rates, f"Calibration of the {card.card} card")


def _price_bars(card: CardValidation) -> Markup:
    prices = sorted(card.prices, key=lambda price: -price.log_loss)
    return charts.bars(
        [Bar(price.field, 1e6 * price.log_loss) for price in prices],
        lambda value: numbers.fixed(value, 1),
        f"Price of each risk direction, {card.card} card",
    )


def _roc(ways: Sequence[Measured]) -> Markup:
    curves = [
        Curve(
            f"{way.performance.name}, AUC {way.figures[Measure.AUC].value}",
            way.performance.roc[0],
            way.performance.roc[1],
        )
        for way in ways
    ]
    return charts.roc(curves, "ROC curves")


def _scores_by_outcome(served: Performance) -> Markup:
    histogram = served.histogram
    return charts.mirrored_histogram(
        histogram.edges, histogram.repaid, histogram.defaulted, "Scores by outcome"
    )


def _psi_by_field(stability: Stability) -> Markup | None:
    moved = [Bar(shift.field, shift.psi) for shift in stability.features if shift.psi is not None]
    if not moved:
        return None
    return charts.bars(
        sorted(moved, key=lambda bar: -bar.value),
        numbers.fixed,
        "PSI of each field, training against hold-out",
        full_at_least=_PSI_WATCH * 1.1,
        limits=((_PSI_WATCH, "0.1 watch"), (_PSI_SHIFT, "0.25 shift")),
    )


def _by_month(stability: Stability) -> MonthDrawings | None:
    months, shifts = stability.months, stability.features
    if len(months) <= 1:
        return None
    names, places = [month.month for month in months], list(range(len(months)))
    series = [
        Curve("predicted", places, [month.predicted_rate for month in months]),
        Curve("observed", places, [month.default_rate for month in months]),
    ]
    return MonthDrawings(
        charts.trend(names, series, "Predicted and observed default rate by month", "month"),
        charts.grid(
            ["score", *(shift.field for shift in shifts)],
            names,
            [[month.score_psi for month in months], *(list(shift.by_month) for shift in shifts)],
            _PSI_SHIFT,
            "PSI by field and month",
        ),
    )


def _drawn_card(model: Model, card: Card) -> DrawnCard:
    weightiest_first = sorted(card.features, key=lambda feature: (-_weight(feature), feature.field))
    return DrawnCard(
        card=card,
        breaks=tuple(tables.monotone_breaks(card, model.catalogue)),
        importance=charts.bars(
            [Bar(feature.field, _weight(feature)) for feature in weightiest_first],
            lambda points: numbers.fixed(points, 1),
            f"Mean points moved by each field, {card.name} card",
        ),
        shapes=[
            _shape(feature, model.catalogue.field(feature.field)) for feature in weightiest_first
        ],
        pairs=[
            _pair(model, card, pair) for pair in sorted(card.pairs, key=_strength, reverse=True)
        ],
    )


def _weight(feature: Feature) -> float:
    weighed = zip(feature.main, feature.shares, strict=True)
    return sum(abs(points) * share for points, share in weighed)


def _shape(feature: Feature, field: Field) -> Shape:
    labels = shapes.slot_labels(feature)
    listed = [
        Band(label, points, share)
        for label, points, share in zip(labels, feature.main, feature.shares, strict=True)
    ]
    title = f"Points by {field.name}"
    if feature.words:
        shown = [band for band in listed if band.share >= _SHARE_SHOWN] or listed
        drawing = shapes.words(shown, title)
    else:
        cuts = [numbers.short(cut) for cut in feature.cuts]
        missing = None if field.required else listed[MISSING]
        drawing = shapes.steps(missing, listed[1:], cuts, title, field.unit or field.name)
    return Shape(field, feature, labels, drawing)


def _strength(pair: Pair) -> float:
    return max(abs(half) for row in pair.halves for half in row)


def _pair(model: Model, card: Card, pair: Pair) -> DrawnPair:
    first, second = card.features[pair.first], card.features[pair.second]
    rows, columns = (
        _lines(places, model.catalogue.field(feature.field))
        for places, feature in ((pair.rows, first), (pair.columns, second))
    )
    heat = Heat(
        rows=[shapes.group_label(first, slots) for _, slots in rows],
        columns=[shapes.group_label(second, slots) for _, slots in columns],
        cells=[[2.0 * pair.halves[row][column] for column, _ in columns] for row, _ in rows],
    )
    title = f"{first.field} \u00d7 {second.field}"
    drawing = shapes.heat_map(heat, first.field, second.field, f"Points of {title}")
    return DrawnPair(title, drawing)


def _lines(places: Sequence[int], field: Field) -> list[tuple[int, list[int]]]:
    """Give the rows (or columns) of a pair that an application can fall into, with their slots."""
    never = {MISSING} if field.required else set()
    lines = ((place, set(slots) - never) for place, slots in enumerate(shapes.groups(places)))
    return [(place, sorted(slots)) for place, slots in lines if slots]


# ---------------------------------------------------------------------------------- what stands out


def findings(validation: Validation) -> list[str]:
    """Say what stands out, each in a sentence, and last what the split cannot show."""
    found = [*_sample(validation), *_level(validation), *_patterns(validation)]
    for card in validation.cards:
        found += [*_slope(card), *_peers(card), *_prices(card), *_drift(card)]
    if not found:
        found.append("None of the checks of this page found anything to warn of.")
    return [*found, *_time(validation)]


def _sample(validation: Validation) -> Iterator[str]:
    defaults = validation.judged.defaults
    if defaults < _DEFAULTS_MIN:
        yield (
            f"The {validation.rows_that_judge} hold {numbers.plural(defaults, 'default')} only: "
            "every figure on this page is rough, as the intervals say."
        )


def _level(validation: Validation) -> Iterator[str]:
    served = validation.served
    likely = metrics.wilson(validation.judged.defaults, validation.judged.rows)
    if not likely.low <= served.predicted_rate <= likely.high:
        side = "below" if served.predicted_rate < served.default_rate else "above"
        yield (
            f"As served, {numbers.percent(served.predicted_rate)} of loans were predicted to "
            f"default and {numbers.percent(served.default_rate)} did: the level is {side} what "
            "chance explains."
        )


def _patterns(validation: Validation) -> Iterator[str]:
    for pattern in validation.patterns:
        defaults = round(pattern.default_rate * pattern.rows)
        likely = metrics.wilson(defaults, pattern.rows)
        gap = abs(pattern.predicted_rate - pattern.default_rate)
        if gap > _PATTERN_GAP and not likely.low <= pattern.predicted_rate <= likely.high:
            yield (
                f"Where applicants give {pattern.described}, "
                f"{numbers.percent(pattern.predicted_rate)} was predicted and "
                f"{numbers.percent(pattern.default_rate)} happened."
            )


def _slope(card: CardValidation) -> Iterator[str]:
    slope = card.performance.figure(Measure.CALIBRATION_SLOPE)
    certain = not slope.interval.low <= 1.0 <= slope.interval.high
    if certain and slope.value < 1.0 - _SLOPE_REACH:
        yield (
            f"The {card.card} card is overconfident: its calibration slope is "
            f"{numbers.fixed(slope.value)} ({_between(slope.interval)}), where 1 is right."
        )
    elif certain and slope.value > 1.0 + _SLOPE_REACH:
        yield (
            f"The {card.card} card is too timid: its calibration slope is "
            f"{numbers.fixed(slope.value)} ({_between(slope.interval)}), where 1 is right."
        )


def _between(interval: Interval) -> str:
    return numbers.between(numbers.fixed(interval.low), numbers.fixed(interval.high))


def _peers(card: CardValidation) -> Iterator[str]:
    for peer in card.peers:
        if peer.ahead_interval.high < 0.0:
            yield (
                f"The {card.card} card ranks {numbers.fixed(-peer.ahead, 4)} AUC behind "
                f"{peer.name} on the same fields, more than chance explains."
            )


def _prices(card: CardValidation) -> Iterator[str]:
    for price in card.prices:
        if price.log_loss > _PRICE_HIGH:
            yield (
                f"Holding {price.field} to its risk direction costs the {card.card} card "
                f"{numbers.fixed(price.log_loss, 5)} of log loss a row: the fit disagrees."
            )


def _drift(card: CardValidation) -> Iterator[str]:
    moved = [
        f"{shift.field} ({numbers.fixed(shift.psi, 2)})"
        for shift in card.stability.features
        if shift.psi is not None and shift.psi > _PSI_WATCH
    ]
    if moved:
        listed = ", ".join(moved)
        yield f"Fields of the {card.card} card moved between training and hold-out: {listed}."
    scores = card.stability.score_psi
    if scores is not None and scores > _PSI_WATCH:
        yield (
            f"Scores of the {card.card} card moved between training and hold-out: PSI "
            f"{numbers.fixed(scores, 2)}."
        )


def _time(validation: Validation) -> Iterator[str]:
    learned, judged = validation.train.period, validation.judged.period
    if learned is None or judged is None:
        yield ("The rows carry no dates, so this page cannot say how the model holds up over time.")
    elif judged.first <= learned.last:
        yield (
            f"The {validation.rows_that_judge} come from the same period as those that taught: the "
            "figures say how the model does on more of the same, not how it will hold up over time."
        )
