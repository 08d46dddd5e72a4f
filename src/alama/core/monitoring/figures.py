"""The figures of monitoring: how a book goes, and how its model does, on one page.

This is the JSON that is given to callers, and what the page and the terminal draw. Shares and rates
are 0 to 1, days are UTC, intervals hold the true figure 95 times in 100.
"""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

COUNT_MIN: Final = 30
"""Loans below which a rate is given, and nothing is concluded from it."""

Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Month = Annotated[
    str,
    Meta(pattern="^[0-9]{4}-[0-9]{2}$", description="A month, UTC.", examples=["2026-08"]),
]
Tier = Annotated[str, Meta(description="The tier that the score was given in.", examples=["B"])]


class Figure(msgspec.Struct, frozen=True):
    """A part of the report."""


class RateVerdict(StrEnum):
    """What a realised rate says of the predicted one."""

    AS_PREDICTED = "as_predicted"
    HIGHER = "higher"
    LOWER = "lower"
    TOO_FEW = "too_few"


class Movement(StrEnum):
    """How far a field, or the score, is from what it was in training."""

    STEADY = "steady"
    MOVED = "moved"
    DRIFTED = "drifted"


class Urgency(StrEnum):
    """How soon somebody should look."""

    ACT = "act"
    WATCH = "watch"
    NOTE = "note"


class Finding(Figure, frozen=True):
    """One thing to look at, in words."""

    code: Annotated[
        str, Meta(description="Names it. There may be new ones.", examples=["defaults_higher"])
    ]
    urgency: Annotated[
        Urgency,
        Meta(description="How soon to look: `act`, `watch`, or `note` where there is no need."),
    ]
    says: Annotated[str, Meta(description="What was found.")]
    advice: Annotated[str, Meta(description="What to do about it.")]


class HoldOut(Figure, frozen=True):
    """How well loans were ranked by tables that had not seen them, when the model was made."""

    auc: Annotated[Share, Meta(description="The area under the ROC curve.")]
    low: Annotated[Share | None, Meta(description="The lower end of its interval.")]
    high: Annotated[Share | None, Meta(description="The upper end of its interval.")]


class MonitoredModel(Figure, frozen=True):
    """The model whose scores are held against what became of them."""

    id: Annotated[str, Meta(description="The hash of its content.")]
    name: Annotated[str, Meta(description="What it is called.")]
    answers: Annotated[bool, Meta(description="Whether it answers in this book now.")]
    days_past_due: Annotated[
        Count, Meta(description="A loan counts once it has been due for so many days.")
    ]
    definition: Annotated[str, Meta(description="What it predicts: a default in words.")]
    hold_out: Annotated[HoldOut | None, Meta(description="Null where the model does not say.")]


class OtherModel(Figure, frozen=True):
    """Another model that gave scores in the period, or whose loans are known of."""

    id: Annotated[str, Meta(description="Ask for `model` with it.")]
    scores: Annotated[Count, Meta(description="How many it gave in the period.")]
    answers: Annotated[bool, Meta(description="Whether it answers in this book now.")]
    loans: Annotated[Rate, Meta(description="How its mature loans went, whenever scored.")]


# ------------------------------------------------------------------------------ volume


class DayVolume(Figure, frozen=True):
    """The scores of one day."""

    day: Annotated[date, Meta(description="The day, UTC.")]
    scores: Annotated[Count, Meta(description="How many were given.")]
    approved: Annotated[Count, Meta(description="How many of them were approved.")]


class Proportion(Figure, frozen=True):
    """A share with its interval (Wilson)."""

    count: Annotated[Count, Meta(description="How many.")]
    of: Annotated[Count, Meta(description="Of how many.")]
    share: Annotated[Share | None, Meta(description="Null where there are none.")]
    low: Annotated[Share, Meta(description="The lower end of its interval.")]
    high: Annotated[Share, Meta(description="The upper end of its interval.")]


class Volume(Figure, frozen=True):
    """What the whole book gave in the period, whichever model answered."""

    scores: Annotated[Count, Meta(description="How many scores.")]
    decisions: Annotated[dict[str, int], Meta(description="How many of each decision.")]
    approval: Annotated[Proportion, Meta(description="The share that was approved at once.")]
    tiers: Annotated[dict[str, int], Meta(description="How many of each tier.")]
    days: Annotated[
        tuple[DayVolume, ...], Meta(description="Every day of the period, oldest first.")
    ]


# --------------------------------------------------------------------------- stability


class BandShare(Figure, frozen=True):
    """How many fell into a band, and how many did in training.

    Numbers from `low` up to but not including `high`; or the words; or, with neither, not given.
    """

    low: Annotated[float | None, Meta(description="From; null where it has no lower end.")]
    high: Annotated[float | None, Meta(description="Up to; null where it has no upper end.")]
    words: Annotated[
        tuple[str, ...] | None,
        Meta(description="The words of the band; an empty list is any other word."),
    ]
    now: Annotated[Share, Meta(description="The share in the period.")]
    training: Annotated[Share, Meta(description="The share in training.")]

    @property
    def is_missing(self) -> bool:
        """Whether it holds those who did not give the field."""
        return self.low is None and self.high is None and self.words is None


class Moved(Figure, frozen=True):
    """How far the score or a field of a card is from training."""

    name: Annotated[str, Meta(description="`score`, or the field.", examples=["avg_inflow"])]
    psi: Annotated[float, Meta(ge=0, description="The population stability index.")]
    limit: Annotated[
        float,
        Meta(gt=0, description="What so few scores do not reach by chance; 0.10 at least."),
    ]
    verdict: Annotated[
        Movement,
        Meta(
            description="`moved`: over its limit in the period. `drifted`: over it in each of the "
            "last two windows of a thousand scores or more."
        ),
    ]
    bands: Annotated[
        tuple[BandShare, ...],
        Meta(description="Of the score and of the fields that moved most; else none."),
    ]


class WindowFigure(Figure, frozen=True):
    """A window of whole days in which a card gave a thousand scores or more."""

    first_day: Annotated[date, Meta(description="Its first day.")]
    last_day: Annotated[date, Meta(description="Its last day.")]
    scores: Annotated[Count, Meta(description="How many scores.")]
    psi: Annotated[
        dict[str, float], Meta(description="The index of `score`, and of fields if counted.")
    ]
    limit: Annotated[dict[str, float], Meta(description="What each is not over by chance.")]
    over: Annotated[tuple[str, ...], Meta(description="Which of them were over their limit.")]


class CardStability(Figure, frozen=True):
    """How the applicants of one scorecard compare with those it was trained on."""

    card: Annotated[str, Meta(description="The scorecard.", examples=["full"])]
    scores: Annotated[Count, Meta(description="Scores that it gave in the period.")]
    compared: Annotated[
        Count,
        Meta(
            description="Of how many the bands are known: those of days with few scores are "
            "dropped, for they could tell what one applicant said."
        ),
    ]
    score: Annotated[Moved, Meta(description="How far the score is from training.")]
    fields: Annotated[
        tuple[Moved, ...], Meta(description="How far each field is, the furthest first.")
    ]
    windows: Annotated[
        tuple[WindowFigure, ...], Meta(description="The latest windows, newest last.")
    ]


# ------------------------------------------------------------------------------- rates


class Rate(Figure, frozen=True):
    """How many defaulted of the loans that are mature, and how many were predicted to."""

    count: Annotated[Count, Meta(description="Mature loans of which the outcome is known.")]
    defaults: Annotated[Count, Meta(description="Those that were ever a default.")]
    realised: Annotated[Share | None, Meta(description="Null where there are no loans.")]
    low: Annotated[Share, Meta(description="The lower end of its interval (Wilson).")]
    high: Annotated[Share, Meta(description="The upper end of its interval.")]
    predicted: Annotated[
        Share | None, Meta(description="The mean of the probabilities that were given.")
    ]
    verdict: Annotated[
        RateVerdict,
        Meta(
            description="Whether the predicted rate lies in the interval of the realised one; "
            f"`too_few` below {COUNT_MIN} loans."
        ),
    ]


class TierRate(Figure, frozen=True):
    """The loans of one tier."""

    tier: Tier
    rate: Annotated[Rate, Meta(description="How they went.")]


class MonthRate(Figure, frozen=True):
    """The loans whose scores are of one month."""

    month: Month
    approved: Annotated[Count, Meta(description="Scores of the model that were approved.")]
    known: Annotated[
        Count, Meta(description="Of how many of these anything is known, mature or not.")
    ]
    young: Annotated[
        bool,
        Meta(
            description="Of the loans of its last day more than one in twenty may not be mature "
            "yet, by the terms that are usual: its rate is of those that are."
        ),
    ]
    partial: Annotated[
        bool, Meta(description="Some of it was deleted by retention: it is not in `expected`.")
    ]
    rate: Annotated[Rate, Meta(description="How they went.")]


class CellRate(Figure, frozen=True):
    """The loans of one tier and month."""

    tier: Tier
    month: Month
    rate: Annotated[Rate, Meta(description="How they went.")]


class Rates(Figure, frozen=True):
    """Realised against predicted default rates of the model's mature loans, whenever scored."""

    overall: Annotated[Rate, Meta(description="All of them.")]
    tiers: Annotated[tuple[TierRate, ...], Meta(description="By tier.")]
    months: Annotated[tuple[MonthRate, ...], Meta(description="By month, oldest first.")]
    cells: Annotated[tuple[CellRate, ...], Meta(description="By tier and month.")]


class Ranking(Figure, frozen=True):
    """Whether those who repaid had the higher scores."""

    auc: Annotated[
        Share | None,
        Meta(description=f"Null until there are {COUNT_MIN} defaults and {COUNT_MIN} repaid."),
    ]
    low: Annotated[Share | None, Meta(description="The lower end of its interval (DeLong).")]
    high: Annotated[Share | None, Meta(description="The upper end of its interval.")]
    goods: Annotated[Count, Meta(description="Mature loans that were never a default.")]
    bads: Annotated[Count, Meta(description="Mature loans that were.")]


# -------------------------------------------------------------------- outcomes, reviews


class Loss(Figure, frozen=True):
    """What mature defaults of which both amounts are known have lost, and what prices assume."""

    defaults: Annotated[Count, Meta(description="How many these are.")]
    disbursed: Annotated[float, Meta(ge=0, description="What they were paid out.")]
    repaid: Annotated[float, Meta(ge=0, description="What came back.")]
    share: Annotated[float | None, Meta(description="The part that did not; null: of nothing.")]
    low: Annotated[float | None, Meta(description="Its lower end; null for fewer than 30.")]
    high: Annotated[float | None, Meta(description="Its upper end.")]
    assumed: Annotated[float | None, Meta(description="By the policy in force, of what is due.")]


class OutcomeFigures(Figure, frozen=True):
    """Of how many loans of the model it is known what became of them."""

    known: Annotated[Count, Meta(description="Loans of which anything is known.")]
    mature: Annotated[Count, Meta(description="Those that count in rates.")]
    states: Annotated[dict[str, int], Meta(description="The latest that is known, mature or not.")]
    expected: Annotated[
        Proportion,
        Meta(
            description="Of the scores that were approved in months that are neither young nor "
            "partial: of how many the outcome is known. The rest is not taken to be good; it may "
            "be anything."
        ),
    ]
    loss: Annotated[Loss, Meta(description="What defaults cost.")]


class ReasonCount(Figure, frozen=True):
    """How often officers decided so for one reason."""

    reason: Annotated[str, Meta(description="Why.", examples=["income_verified"])]
    given_decision: Annotated[str, Meta(description="What the service had said.")]
    decision: Annotated[str, Meta(description="What the officer decided.")]
    count: Annotated[Count, Meta(description="How often.")]


class ReviewFigures(Figure, frozen=True):
    """What officers decided on the scores of the period, and what waits for them in the book."""

    left: Annotated[Count, Meta(description="Scores left to a person, of days that are kept.")]
    decided: Annotated[Count, Meta(description="Those on which somebody has decided.")]
    waiting: Annotated[Count, Meta(description="Of all days: what `?waiting=true` lists.")]
    approved: Annotated[Count, Meta(description="Those decided that were approved.")]
    declined: Annotated[Count, Meta(description="Those decided that were declined.")]
    confirmed: Annotated[Count, Meta(description="Decisions that an officer confirmed.")]
    to_approved: Annotated[Count, Meta(description="Declined, and approved by an officer.")]
    to_declined: Annotated[Count, Meta(description="Approved, and declined by an officer.")]
    reasons: Annotated[tuple[ReasonCount, ...], Meta(description="The most frequent first.")]
    reviewed: Annotated[
        Rate,
        Meta(description="Mature loans of the model that were left to a person and approved."),
    ]
    overridden: Annotated[
        Rate,
        Meta(description="Mature loans of the model that were declined, and then approved."),
    ]


class RunningChallenger(Figure, frozen=True):
    """A second model that scores what the book is sent, without deciding."""

    id: Annotated[str, Meta(description="The hash of its content.")]
    since: Annotated[date, Meta(description="Since when, UTC.")]
    scored: Annotated[Count, Meta(description="Scores that it had an answer to.")]
    failed: Annotated[Count, Meta(description="Scores that it broke on.")]
    answers: Annotated[bool, Meta(description="Whether it answers here itself by now: end it.")]


class MonthProfit(Figure, frozen=True):
    """What mature loans of one month brought, of which both amounts are known."""

    month: Month
    loans: Annotated[Count, Meta(description="How many these are.")]
    disbursed: Annotated[float, Meta(ge=0, description="What they were paid out.")]
    repaid: Annotated[float, Meta(ge=0, description="All that came back.")]
    funding: Annotated[float, Meta(description="What funding them cost.")]
    cost: Annotated[float, Meta(description="What running them cost.")]
    tax: Annotated[float, Meta(description="What the state took of fees.")]
    profit: Annotated[float, Meta(description="Repaid less all of the others.")]
    low: Annotated[float | None, Meta(description="Its lower end; null for fewer than 30.")]
    high: Annotated[float | None, Meta(description="Its upper end.")]


class Profit(Figure, frozen=True):
    """What mature loans of the model brought: in money, not in rates.

    Funding, cost and tax are by the policy in force now.
    """

    loans: Annotated[Count, Meta(description="Mature loans of which both amounts are known.")]
    unvalued: Annotated[Count, Meta(description="Mature loans of which one is not: left out.")]
    without_price: Annotated[
        Count,
        Meta(
            description="Loans that were repaid, with no more than was paid out: where these are "
            "many, `repaid_amount` may have been sent without the charges."
        ),
    ]
    profit: Annotated[float, Meta(description="Of all of them.")]
    low: Annotated[float | None, Meta(description="Its lower end; null for fewer than 30.")]
    high: Annotated[float | None, Meta(description="Its upper end.")]
    months: Annotated[
        tuple[MonthProfit, ...], Meta(description="By month of the score, oldest first.")
    ]


class ProductFigures(Figure, frozen=True):
    """One product of the policy: what was approved of it, how its loans went, what they brought."""

    product: Annotated[str, Meta(description="Its name.", examples=["weekly"])]
    offered: Annotated[bool, Meta(description="Whether the policy in force has it.")]
    approved: Annotated[
        Count, Meta(description="Loans of it that were approved in the period, also by officers.")
    ]
    volume: Annotated[float, Meta(description="The sum of their limits.")]
    rate: Annotated[Rate, Meta(description="How its mature loans of the model went.")]
    valued: Annotated[Count, Meta(description="Those of which both amounts are known.")]
    profit: Annotated[
        float | None,
        Meta(description="What these brought, as `profit` reckons; null where there are none."),
    ]
    low: Annotated[float | None, Meta(description="Its lower end; null for fewer than 30.")]
    high: Annotated[float | None, Meta(description="Its upper end.")]


class Explored(Figure, frozen=True):
    """Mature loans that were approved by lot, weighed by one over their chance.

    They say how those would repay whom the policy declines.
    """

    count: Annotated[Count, Meta(description="How many these are.")]
    defaults: Annotated[Count, Meta(description="Those of them that were ever a default.")]
    stand_for: Annotated[float, Meta(ge=0, description="How many applications they stand for.")]
    realised: Annotated[Share | None, Meta(description="The weighed default rate; null: none.")]
    low: Annotated[Share, Meta(description="The lower end of its interval.")]
    high: Annotated[Share, Meta(description="The upper end of its interval.")]
    predicted: Annotated[Share | None, Meta(description="What was predicted, weighed as well.")]


class MonitoringReport(Figure, frozen=True):
    """How a book goes, and how its model does."""

    lender: Annotated[str, Meta(description="Whose book it is.")]
    mode: Annotated[str, Meta(description="`live` or `test`.")]
    currency: Annotated[str, Meta(description="Of amounts and of bands of money.")]
    generated_at: Annotated[datetime, Meta(tz=True, description="In UTC.")]
    first_day: Annotated[date, Meta(description="The first day of the period.")]
    last_day: Annotated[date, Meta(description="The last: today.")]
    findings: Annotated[
        tuple[Finding, ...], Meta(description="What to look at, the most urgent first.")
    ]
    model: Annotated[
        MonitoredModel | None,
        Meta(description="Null where nothing answers in the book and nothing ever has."),
    ]
    other_models: Annotated[
        tuple[OtherModel, ...],
        Meta(description="Others that gave scores in the period, or of whose loans is known."),
    ]
    challenger: Annotated[
        RunningChallenger | None, Meta(description="Null where none scores beside the model.")
    ]
    volume: Annotated[Volume, Meta(description="What the book gave in the period.")]
    stability: Annotated[
        tuple[CardStability, ...],
        Meta(description="Whether applicants in the period are those that the model knows."),
    ]
    rates: Annotated[Rates, Meta(description="Realised against predicted default rates.")]
    ranking: Annotated[Ranking, Meta(description="Whether the score still ranks.")]
    outcomes: Annotated[OutcomeFigures, Meta(description="What is known of loans.")]
    reviews: Annotated[ReviewFigures, Meta(description="What officers decided.")]
    profit: Annotated[
        Profit | None, Meta(description="What loans brought; null where nothing is known of it.")
    ] = None
    explored: Annotated[
        Explored | None, Meta(description="Loans by lot; null where none of them is mature.")
    ] = None
    products: Annotated[
        tuple[ProductFigures, ...],
        Meta(description="By product, those of the policy first; none where it has no products."),
    ] = ()
