"""The pack's evidence: how the candidate ranks, whether its probabilities hold, tier by tier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.pages import bars, charts, numbers, page
from alama.pages.bars import Difference
from alama.pages.charts import Rate
from alama.pages.markup import join, tag
from alama.training.validation import report_evidence
from alama.training.validation.figures import Measure
from alama.training.validation.lamps import lamps
from alama.training.validation.report_evidence import MEASURES, interval
from alama.training.validation.tiers import AMBER_BELOW, RED_BELOW, lights

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.pages.markup import Markup
    from alama.training.validation.metrics import Interval
    from alama.training.validation.pack import Pack
    from alama.training.validation.rivals import Comparison, Ranked
    from alama.training.validation.tiers import LoanRate


def performance(pack: Pack) -> Markup:
    """Show how well the candidate ranks."""
    return join(
        report_evidence.figures_table(pack.validation),
        report_evidence.ranking(pack.validation),
        page.heading("Scores by outcome"),
        report_evidence.scores(pack.validation.served),
    )


def calibration(pack: Pack) -> Markup:
    """Show whether probabilities hold: overall, tier by tier, and over twenty groups."""
    served = pack.validation.served
    slope = served.figure(Measure.CALIBRATION_SLOPE)
    return join(
        page.paragraph(
            f"Overall {numbers.percent(served.predicted_rate, 2)} was predicted and "
            f"{numbers.percent(served.default_rate, 2)} defaulted: "
            f"{numbers.fixed(served.predicted_rate / served.default_rate, 2)} predicted for each "
            f"default. The slope is {MEASURES[Measure.CALIBRATION_SLOPE].form(slope.value)} "
            f"({interval(slope)}); 1 is right, less means too extreme, more too timid."
        ),
        loan_rates({"all of the out-of-time part": pack.overall}),
        *_returned(pack),
        page.heading("Tier by tier"),
        _tiers(pack),
        page.heading("Twenty groups, card by card"),
        report_evidence.calibration(tuple(reversed(pack.validation.cards))),
    )


def loan_rates(rates: Mapping[str, LoanRate]) -> Markup:
    """Set what was predicted of loans beside what happened, by their names."""
    return page.table(
        [
            "Booked loans",
            "Light",
            "Loans",
            "Defaults",
            "Predicted",
            "Observed, Jeffreys 95 %",
            "Chance",
        ],
        [_loan_row(name, rate) for name, rate in rates.items()],
        words=2,
    )


def _loan_row(name: str, rate: LoanRate) -> list[str]:
    told = (
        numbers.percent(rate.predicted, 2),
        join(numbers.percent(rate.observed, 2), tag("small", _jeffreys(rate.interval))),
        numbers.percent(rate.chance),
    )
    counts = (numbers.count(rate.loans), numbers.count(rate.defaults))
    rest = told if rate.loans else (numbers.NOTHING,) * len(told)
    return [name, lamps(rate.light), *counts, *rest]


def _jeffreys(interval: Interval) -> str:
    return numbers.between(numbers.percent(interval.low, 2), numbers.percent(interval.high, 2))


def _returned(pack: Pack) -> list[Markup]:
    back = pack.split.returned
    if back.predicted_rate is None:
        return []
    return [
        page.heading("Borrowers who came back"),
        page.paragraph(
            f"{numbers.plural(back.loans, 'later loan')} of people from whom the model learned: "
            f"{numbers.percent(back.predicted_rate, 2)} was predicted and "
            f"{numbers.percent(back.defaults / back.loans, 2)} defaulted. For information only: "
            "the model has met these people, so this is no independent evidence, and no gate "
            "looks at it."
        ),
    ]


def _tiers(pack: Pack) -> Markup:
    filled = [tier for tier in pack.tiers if tier.loans]
    rates = [
        Rate(t.predicted, t.observed, t.interval.low, t.interval.high, t.loans) for t in filled
    ]
    counted = lights(pack.tiers)
    said = ", ".join(f"{count} {light.value}" for light, count in counted.items() if count)
    return join(
        _tiers_table(pack),
        page.side_by_side(
            page.figure(
                charts.reliability(rates, "Predicted and observed default rate by tier"),
                "One dot a tier; whiskers are Jeffreys intervals.",
            ),
            tag(
                "div",
                page.paragraph(
                    "Chance is how likely so many, or so few, defaults were had every probability "
                    "been right (exact binomial test, both sides; for the whole part above, too). "
                    "The light is amber below "
                    f"{numbers.percent(AMBER_BELOW, 0)} and red below "
                    f"{numbers.percent(RED_BELOW, 0)}; here: {said}. Of five tiers one is amber by "
                    "chance alone in about one trial of five; a red one deserves a reason."
                ),
                page.paragraph(
                    "Lights do not block: the gates do, on the whole book. A light says where to "
                    "look, and which tier's price to check first."
                ),
            ),
        ),
    )


def _tiers_table(pack: Pack) -> Markup:
    return page.table(
        [
            "Tier",
            "Decision",
            "Light",
            "Score from",
            "Loans",
            "Predicted",
            "Observed, Jeffreys 95 %",
            "Chance",
        ],
        [
            [
                tier.name,
                tier.decision.value,
                lamps(tier.light),
                numbers.count(tier.score_min) if place + 1 < len(pack.tiers) else "below",
                numbers.count(tier.loans),
                numbers.percent(tier.predicted, 2),
                join(numbers.percent(tier.observed, 2), tag("small", _jeffreys(tier.interval))),
                numbers.percent(tier.chance),
            ]
            for place, tier in enumerate(pack.tiers)
        ],
        words=3,
    )


def stability(pack: Pack) -> Markup:
    """Show how far scores and fields moved."""
    return join(
        page.paragraph(
            "As served, the scores of all that was booked in the out-of-time part, whether or not "
            f"its outcome is known, moved by a PSI of {numbers.fixed(pack.score_psi)} from those "
            "that the model learned from, "
            f"{_recently(pack)}; the gate stands at {numbers.exact(pack.limits.psi_max)}."
        ),
        page.paragraph(
            "Below, loans whose outcome is known are compared. Of the last months these are the "
            "short ones, so that terms, and what goes with them, move by themselves."
        ),
        report_evidence.stability(tuple(reversed(pack.validation.cards))),
        *(
            (page.heading("Unlike training"), report_evidence.unlike(pack.validation.unlike))
            if pack.validation.unlike
            else ()
        ),
    )


def _recently(pack: Pack) -> str:
    if pack.recent_psi is None:
        return "and there are too few to look at the last three months alone"
    return (
        f"those of its last three months by {numbers.fixed(pack.recent_psi)}. The gate looks at "
        "the larger, lest earlier months hide a late change"
    )


def comparison(pack: Pack) -> Markup:
    """Show the candidate beside the model in use; logistic regression stands under Performance."""
    plain = pack.validation.cards[-1].peers[0]
    ahead = Difference(plain.name, plain.ahead, plain.ahead_interval.low, plain.ahead_interval.high)
    listed = [ahead]
    if pack.current is not None:
        inner = pack.current.ahead_interval
        listed.append(Difference("model in use", pack.current.ahead, inner.low, inner.high))
    return join(
        page.paragraph(
            "By how much the candidate's AUC exceeds that of a plain logistic regression on the "
            f"same fields and loans ({pack.validation.cards[-1].card} card), and that of the model "
            "in use now. All on the out-of-time loans, paired; where an interval holds 0 the two "
            "cannot be told apart."
        ),
        page.figure(
            bars.differences(
                listed, lambda v: numbers.signed(v, 4), "The candidate's lead", "lead in AUC"
            )
        ),
        join(*_withheld(pack.current), beside(pack.current))
        if pack.current is not None
        else page.note("No model is in use for this lender yet, so there is none to compare with."),
    )


def _withheld(comparison: Comparison) -> list[Markup]:
    """Say which fields the model in use was not shown, lest its figures be taken for its usual."""
    if not comparison.withheld:
        return []
    return [
        page.paragraph(
            f"The model in use also reads {', '.join(comparison.withheld)}, excluded from this "
            "history. What was filled in after a loan would make it look better here than it can "
            "be in service. So here it scores and decides as if nobody had given that."
        )
    ]


def beside(comparison: Comparison) -> Markup:
    """Set two models beside each other."""
    return page.table(
        [
            "Model",
            "AUC",
            "Log loss",
            "Slope",
            "Predicted",
            "Approved",
            "Default rate of the approved",
        ],
        [_ranked(ranked) for ranked in (comparison.candidate, comparison.other)],
        "On the booked loans of the out-of-time part, under the lender's policy",
    )


def _ranked(ranked: Ranked) -> list[str]:
    area = numbers.between(
        numbers.fixed(ranked.auc_interval.low), numbers.fixed(ranked.auc_interval.high)
    )
    return [
        ranked.name,
        join(numbers.fixed(ranked.auc), tag("small", area)),
        numbers.fixed(ranked.log_loss, 4),
        numbers.fixed(ranked.slope, 2),
        numbers.percent(ranked.predicted_rate),
        numbers.percent(ranked.approved),
        numbers.percent(ranked.approved_default_rate),
    ]
