"""The report's evidence: how well the model ranks and states risk, for whom, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from alama.pages import bars, charts, numbers, page
from alama.pages.bars import Bar, Difference
from alama.pages.charts import Curve, Rate
from alama.pages.markup import Markup, join, tag
from alama.training.validation.figures import Measure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from alama.training.validation.figures import Figure, Performance
    from alama.training.validation.unlike import UnlikeShare
    from alama.training.validation.validate import CardValidation, Validation

_PSI_SHIFT: Final = 0.25
_PSI_WATCH: Final = 0.1


@dataclass(frozen=True, slots=True)
class _Wording:
    name: str
    ideal: str
    form: Callable[[float], str]


MEASURES: Final = {
    Measure.AUC: _Wording("AUC", "1; 0.5 is chance", lambda v: numbers.fixed(v, 3)),
    Measure.GINI: _Wording("Gini", "1; 0 is chance", lambda v: numbers.fixed(v, 3)),
    Measure.KS: _Wording("KS", "1; 0 is chance", lambda v: numbers.fixed(v, 3)),
    Measure.BRIER: _Wording("Brier score", "0", lambda v: numbers.fixed(v, 4)),
    Measure.LOG_LOSS: _Wording("Log loss", "0", lambda v: numbers.fixed(v, 4)),
    Measure.CALIBRATION_ERROR: _Wording("Calibration error", "0", lambda v: numbers.percent(v, 2)),
    Measure.CALIBRATION_SLOPE: _Wording("Calibration slope", "1", lambda v: numbers.fixed(v, 3)),
}
"""How each figure is named and written, and what would be perfect."""


def interval(figure: Figure) -> str:
    """Write the interval of a figure."""
    form = MEASURES[figure.measure].form
    return numbers.between(form(figure.interval.low), form(figure.interval.high))


def _performances(validation: Validation) -> list[Performance]:
    """Give the ways of scoring worth a column: as served, then the cards, the largest first."""
    cards = [card.performance for card in reversed(validation.cards)]
    return [validation.served, *cards] if len(cards) > 1 else cards


def figures_table(validation: Validation) -> Markup:
    """Give every figure of every way of scoring, with intervals."""
    shown = _performances(validation)
    rows = []
    for measure, wording in MEASURES.items():
        figures = [performed.figure(measure) for performed in shown]
        cells = [join(wording.form(f.value), tag("small", interval(f))) for f in figures]
        rows.append([wording.name, wording.ideal, *cells])
    return page.table(
        ["Figure", "Ideal", *(performed.name.capitalize() for performed in shown)],
        rows,
        "All figures on the hold-out rows, with 95 % intervals",
        words=2,
    )


def ranking(validation: Validation) -> Markup:
    """Show ROC curves, and each card beside its peers."""
    shown = _performances(validation)
    curves = [
        Curve(
            f"{p.name}, AUC {MEASURES[Measure.AUC].form(p.figure(Measure.AUC).value)}",
            p.roc[0],
            p.roc[1],
        )
        for p in shown
    ]
    largest_first = list(reversed(validation.cards))
    return join(
        page.paragraph(
            "The curve walks the cut-off from the lowest score to the highest: how many of the "
            "defaults, and how many of the good loans, lie below it. The further it bends to the "
            "upper left, the better the ranking; the diagonal is chance."
        ),
        page.side_by_side(
            page.figure(charts.roc(curves, "ROC curves")),
            tag(
                "div",
                page.paragraph(
                    "Each card against two models trained on the same fields and rows: plain "
                    "logistic regression, and bagged boosted forests that are free to do "
                    "anything and that nobody can read. Both run at ordinary settings, not tuned "
                    "to these data. Differences are paired, on the same resampled rows; where an "
                    "interval holds 0 the two cannot be told apart."
                ),
                *(_ahead(card) for card in largest_first),
            ),
        ),
        page.table(
            ["Card", "Model", "AUC", "Log loss", "Calibration error", "Alama ahead by"],
            [row for card in largest_first for row in _comparison_rows(card)],
            words=2,
        ),
    )


def _ahead(card: CardValidation) -> Markup:
    return page.figure(
        bars.differences(
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
    )


def _comparison_rows(card: CardValidation) -> list[list[str]]:
    compared = (Measure.AUC, Measure.LOG_LOSS, Measure.CALIBRATION_ERROR)
    ours = [MEASURES[measure].form(card.performance.figure(measure).value) for measure in compared]
    rows = [[card.card.capitalize(), "Alama", *ours, ""]]
    for peer in card.peers:
        theirs = zip(compared, (peer.auc, peer.log_loss, peer.calibration_error), strict=True)
        rows.append(
            [
                "",
                peer.name,
                *(MEASURES[measure].form(value) for measure, value in theirs),
                numbers.signed(peer.ahead, 4),
            ]
        )
    return rows


def calibration(cards: Sequence[CardValidation]) -> Markup:
    """Show predicted beside observed default rates for each card."""
    pictures = []
    for card in cards:
        performed = card.performance
        rates = [
            Rate(b.predicted, b.observed, b.interval.low, b.interval.high, b.rows)
            for b in performed.reliability
        ]
        slope = performed.figure(Measure.CALIBRATION_SLOPE)
        error = performed.figure(Measure.CALIBRATION_ERROR)
        pictures.append(
            page.figure(
                charts.reliability(rates, f"Calibration of the {card.card} card"),
                f"{card.card.capitalize()} card. Error "
                f"{MEASURES[Measure.CALIBRATION_ERROR].form(error.value)} (perfect probabilities "
                f"would show {numbers.percent(performed.calibration_noise, 2)}), slope "
                f"{MEASURES[Measure.CALIBRATION_SLOPE].form(slope.value)} ({interval(slope)}).",
                page.unfold("As a table", _reliability_table(rates)),
            )
        )
    return join(
        page.paragraph(
            "Twenty groups of equal size, from the safest to the riskiest: what was predicted "
            "and what happened, with the range that holds the true rate 95 times in 100. Dots on "
            "the diagonal are exactly right. Both axes grow by factors."
        ),
        page.side_by_side(*pictures),
    )


def _reliability_table(rates: Sequence[Rate]) -> Markup:
    return page.table(
        ["Group", "Rows", "Predicted", "Observed", "95 % interval"],
        [
            [
                str(place),
                numbers.count(rate.rows),
                numbers.percent(rate.predicted, 2),
                numbers.percent(rate.observed, 2),
                numbers.between(numbers.percent(rate.low, 2), numbers.percent(rate.high, 2)),
            ]
            for place, rate in enumerate(rates, start=1)
        ],
    )


def scores(served: Performance) -> Markup:
    """Show the scores of repaid and of defaulted loans."""
    histogram = served.histogram
    return join(
        page.paragraph(
            "Scores as served, in steps of 10 points: good loans upwards, defaults downwards. "
            "660 points stand for a default probability of 5 %, and every 40 points double the "
            "odds of repayment."
        ),
        page.figure(
            charts.mirrored_histogram(
                histogram.edges,
                histogram.repaid,
                histogram.defaulted,
                "Scores by outcome",
            )
        ),
    )


def stability(cards: Sequence[CardValidation]) -> Markup:
    """Show how far scores and fields moved since training."""
    parts = [
        page.paragraph(
            "The population stability index (PSI) measures how far a distribution has moved from "
            "that of the training rows. Below 0.1 is usually called stable; above 0.25 the "
            "population is another one. Scores: "
            + "; ".join(f"{c.card} card {numbers.fixed(c.stability.score_psi)}" for c in cards)
            + "."
        )
    ]
    largest = cards[0]
    moved = sorted(largest.stability.features, key=lambda shift: -shift.psi)
    parts.append(
        page.figure(
            bars.bars(
                [Bar(shift.field, shift.psi) for shift in moved],
                numbers.fixed,
                "PSI of each field, training against hold-out",
                full_at_least=_PSI_WATCH * 1.1,
                limits=((_PSI_WATCH, "0.1 watch"), (_PSI_SHIFT, "0.25 shift")),
            ),
            "Each field, hold-out rows against training rows.",
        )
    )
    months = largest.stability.months
    if len(months) > 1:
        parts.append(_by_month(largest))
    else:
        parts.append(
            page.note("The rows carry no dates over several months, so time is not shown.")
        )
    return join(*parts)


def _by_month(card: CardValidation) -> Markup:
    months = card.stability.months
    names = [month.month for month in months]
    places = list(range(len(months)))
    series = [
        Curve("predicted", places, [month.predicted_rate for month in months]),
        Curve("observed", places, [month.default_rate for month in months]),
    ]
    shifts = card.stability.features
    return join(
        page.heading("Month by month"),
        page.figure(
            charts.trend(names, series, "Predicted and observed default rate by month", "month"),
            f"All dated rows, training included, scored by the {card.card} card.",
        ),
        page.figure(
            bars.grid(
                ["score", *(shift.field for shift in shifts)],
                names,
                [[m.score_psi for m in months], *(list(s.by_month) for s in shifts)],
                _PSI_SHIFT,
                "PSI by field and month",
            ),
            "PSI of the score and of each field in each month; full colour from 0.25 on.",
        ),
    )


def unlike(shares: Sequence[UnlikeShare]) -> Markup:
    """Show how many rows the model calls unlike those it learned from."""
    return join(
        page.paragraph(
            "A policy can send an application to a person where its fields do not go together as "
            "those of the training rows do. The last column has the hold-out rows with each field "
            "dealt out anew among them: ordinary values, impossible people. Those that are not "
            "caught are near enough to someone who was there."
        ),
        page.table(
            ["Limit set for", "Hold-out rows beyond it", "Shuffled rows beyond it"],
            [
                [
                    numbers.percent(share.asked, 2),
                    numbers.percent(share.holdout, 3),
                    numbers.percent(share.shuffled),
                ]
                for share in shares
            ],
            words=0,
        ),
    )
