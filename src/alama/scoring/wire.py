"""The public contract of scores and explanations, field by field.

Types here are for callers. They change by addition only, whatever happens to the types inside.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from alama.core.calibration import SCORE_MAX, SCORE_MIN
from alama.platform.days import moment

if TYPE_CHECKING:
    from alama.scoring.records import ScoreSummary


def listed_reply(row: ScoreSummary) -> ScoreListed:
    """Give one line of a list of scores."""
    return ScoreListed(
        row.request_id,
        moment(row.created_us),
        row.score,
        row.tier,
        row.default_probability,
        row.decision,
        plain(row.recommended_limit),
        row.recommended_term_days,
        row.recommended_apr,
    )


def plain(amount: float) -> float:
    """Give whole money as it was first given, without decimals; databases add them."""
    whole = int(amount)
    return whole if whole == amount else amount


class ShapValue(msgspec.Struct, frozen=True, gc=False):
    """What one field of the application gave to the score."""

    feature: Annotated[str, Meta(description="The field, as the caller spelled it.")]
    contribution: Annotated[
        float,
        Meta(description="Exact Shapley value in score points; positive raises the score."),
    ]


class Reason(msgspec.Struct, frozen=True):
    """Why the decision is as it is: a rule that decided, or a field and its points."""

    code: Annotated[str, Meta(description="Stable name of the reason; more may come.")]
    feature: Annotated[
        str | None, Meta(description="The field, as the caller spelled it; null for a rule.")
    ]
    contribution: Annotated[
        float | None, Meta(description="Of the field, in score points; null for a rule.")
    ]
    text: Annotated[str, Meta(description="To the applicant, in the `language` asked for.")]


class PriceParts(msgspec.Struct, frozen=True, gc=False):
    """What the APR is made of, in percent a year; the parts add up to it."""

    expected_loss: Annotated[float, Meta(description="What defaults are expected to lose.")]
    running_cost: Annotated[float, Meta(description="What it costs to run the loan.")]
    funding: Annotated[float, Meta(description="What the money costs the lender.")]
    margin: Annotated[float, Meta(description="What the lender means to earn.")]


Rules = Annotated[
    list[str],
    Meta(
        description="Codes of what decided against the application, if anything. Beside those "
        "listed, the names of the rules of the lender's own policy."
    ),
]


class OfferDetail(msgspec.Struct, frozen=True, gc=False):
    """The arithmetic behind the recommended limit, term and APR."""

    currency: Annotated[str, Meta(description="ISO 4217.")]
    default_probability: Annotated[
        float, Meta(ge=0, le=1, description="Of the loan as offered, not as requested.")
    ]
    price: PriceParts
    fee: Annotated[
        float,
        Meta(
            ge=0,
            description="What part of the price is a fee, in money; the rest is interest.",
        ),
    ]
    expected_loss: Annotated[
        float, Meta(ge=0, description="What the loan is expected to lose, in money.")
    ]
    rules: Rules


RequestId = Annotated[
    str, Meta(pattern="^req_[0-9a-f]{28}$", description="Names the score for ever.")
]
Score = Annotated[
    int,
    Meta(
        ge=SCORE_MIN,
        le=SCORE_MAX,
        description="660 is a 5 % default probability; 40 points double the odds of repayment.",
    ),
]
Tier = Annotated[str, Meta(description="Risk tier, A the safest. The policy sets the cut-offs.")]
DefaultProbability = Annotated[float, Meta(ge=0, le=1, description="Of this loan, as a fraction.")]
Decision = Annotated[
    str,
    Meta(
        description="APPROVED (up to `recommended_limit`), REVIEW (a person decides) or DECLINED. "
        "An open set: expect more words."
    ),
]
Limit = Annotated[float, Meta(ge=0, description="In the lender's currency; 0 where declined.")]
TermDays = Annotated[
    int, Meta(ge=1, description="One of the terms on offer. Where declined it is no offer.")
]
Apr = Annotated[float, Meta(ge=0, description="Percent a year. Where declined it is no offer.")]
ProcessingMs = Annotated[int, Meta(ge=1, description="Milliseconds taken, rounded up.")]
BaseScore = Annotated[float, Meta(description="What the contributions are added to.")]
ModelHash = Annotated[str, Meta(description="Content hash of the model.")]
PolicyHash = Annotated[str, Meta(description="Content hash of the policy.")]
Moment = Annotated[datetime, Meta(tz=True, description="When the score was given, in UTC.")]


class Concluded(msgspec.Struct, frozen=True):
    """What is concluded from an application: the score, the decision and the offer."""

    score: Score
    tier: Tier
    default_probability: DefaultProbability
    decision: Decision
    recommended_limit: Limit
    recommended_term_days: TermDays
    recommended_apr: Apr


class Scored(Concluded, frozen=True):
    """The ten fields of a score."""

    shap_values: Annotated[
        list[ShapValue],
        Meta(description="One for each field of the scorecard, largest magnitude first."),
    ]
    request_id: RequestId
    processing_ms: ProcessingMs


class ScoreReply(Scored, frozen=True):
    """A score, and the lending decision that follows from it."""

    base_score: Annotated[
        float | UnsetType,
        Meta(description="With `expand`: what the contributions are added to."),
    ] = UNSET
    model: Annotated[
        str | UnsetType, Meta(description="With `expand`: content hash of the model.")
    ] = UNSET
    policy: Annotated[
        str | UnsetType, Meta(description="With `expand`: content hash of the policy.")
    ] = UNSET
    offer: Annotated[
        OfferDetail | UnsetType, Meta(description="With `expand`: how the offer was priced.")
    ] = UNSET
    reasons: Annotated[
        list[Reason] | UnsetType,
        Meta(description="With `expand`: why, in words, in the `language` asked for."),
    ] = UNSET


class ScoreReview(msgspec.Struct, frozen=True):
    """What an officer decided on a score."""

    request_id: RequestId
    decision: Annotated[str, Meta(description="What the officer decided: APPROVED or DECLINED.")]
    reason: Annotated[str, Meta(description="Why, as it is counted. An open set: expect more.")]
    name: Annotated[str, Meta(description="Who decided.")]
    reviewed_at: Annotated[datetime, Meta(tz=True, description="When, in UTC.")]
    given_decision: Annotated[str, Meta(description="What the service had said of the score.")]
    overrides: Annotated[
        bool,
        Meta(
            description="Whether the service had decided otherwise. Never so where it had left the "
            "decision to a person: REVIEW."
        ),
    ]
    note: Annotated[str, Meta(description="In the officer's own words; empty: none were given.")]


class ScoreOutcome(msgspec.Struct, frozen=True):
    """What became of the loan, as far as it is known."""

    outcome: Annotated[
        str,
        Meta(
            description="The latest that is known: `repaid`, `defaulted`, `written_off` or "
            "`restructured`. An open set: expect more."
        ),
    ]
    date: Annotated[date, Meta(description="Of the latest that is known.")]
    is_default: Annotated[
        bool, Meta(description="Whether the loan was ever a default, whatever became of it since.")
    ]
    disbursed_amount: Annotated[
        float | None, Meta(description="In the lender's currency; null: nobody said.")
    ]
    repaid_amount: Annotated[
        float | None, Meta(description="In the lender's currency; null: nobody said.")
    ]
    recorded_at: Annotated[datetime, Meta(tz=True, description="When that was sent, in UTC.")]


class ScoreRecord(Scored, frozen=True, kw_only=True):
    """A stored score: the reply that was given, when, to what, and what became of it."""

    base_score: BaseScore
    model: ModelHash
    policy: PolicyHash
    offer: Annotated[OfferDetail, Meta(description="How the offer was priced.")]
    created_at: Moment
    mode: Annotated[str, Meta(description="test or live.")]
    key_id: Annotated[str, Meta(description="The key that asked.")]
    application: Annotated[msgspec.Raw, Meta(description="The request body as it was sent.")]
    review: Annotated[
        ScoreReview | None, Meta(description="What an officer decided; null: nobody has yet.")
    ] = None
    outcome: Annotated[
        ScoreOutcome | None, Meta(description="What became of the loan; null: nothing is known.")
    ] = None


class ScoreListed(msgspec.Struct, frozen=True, gc=False):
    """One line of a list of scores."""

    request_id: RequestId
    created_at: Moment
    score: Score
    tier: Tier
    default_probability: DefaultProbability
    decision: Decision
    recommended_limit: Limit
    recommended_term_days: TermDays
    recommended_apr: Apr


class ScorePage(msgspec.Struct, frozen=True):
    """Scores, newest first."""

    data: Annotated[list[ScoreListed], Meta(description="At most `limit` of them.")]
    next_cursor: Annotated[
        str | None, Meta(description="Send it as `cursor` for the next page; null on the last.")
    ]


# The public contract of POST /v1/explain, field by field; it changes by addition only.


Feature = Annotated[str, Meta(description="The field, as the caller spelled it.")]
Told = Annotated[str, Meta(description="To the applicant, in the `language` asked for.")]


class ExplainedValue(msgspec.Struct, frozen=True):
    """One field of the application, and what it gave to the score."""

    feature: Feature
    value: Annotated[float | str | None, Meta(description="What was sent; null where nothing was.")]
    contribution: Annotated[
        float,
        Meta(description="Exact Shapley value in score points; positive raises the score."),
    ]


class Change(msgspec.Struct, frozen=True):
    """One field to change."""

    feature: Feature
    before: Annotated[float | str, Meta(description="The value that was sent.")] = msgspec.field(
        name="from"
    )
    after: Annotated[float | str, Meta(description="The value to send instead.")] = msgspec.field(
        name="to"
    )
    text: Told


class Counterfactual(msgspec.Struct, frozen=True):
    """Changes that lead to the target together, and what `POST /v1/score` then answers."""

    changes: Annotated[list[Change], Meta(description="One to three of them.")]
    score: Score
    tier: Tier
    default_probability: DefaultProbability
    decision: Decision
    recommended_limit: Limit
    recommended_term_days: TermDays
    recommended_apr: Apr
    cost: Annotated[
        float,
        Meta(
            ge=0,
            description="How much is asked of the applicant: the share of the population that the "
            "changes cross, weighted by effort, and 0.02 for each change.",
        ),
    ]
    optimal: Annotated[
        bool,
        Meta(
            description="Whether it is proven that nothing cheaper leads to the target; false "
            "where time ran out."
        ),
    ]
    within_days: Annotated[
        int, Meta(ge=0, description="How long the slowest of the changes may take; 0 at once.")
    ]


class Obstacle(msgspec.Struct, frozen=True):
    """What stands in the way where nothing leads to the target."""

    code: Annotated[str, Meta(description="Stable name of the kind; more may come.")]
    rule: Annotated[
        str | None,
        Meta(description="Code of the rule, as in `rules`, where it is one; else null."),
    ]
    features: Annotated[
        list[str], Meta(description="The fields that it is about, as the caller spelled them.")
    ]
    text: Told


class ExplainReply(Concluded, frozen=True):
    """What `POST /v1/score` would answer, why, and what would lead to the target."""

    rules: Rules
    base_score: BaseScore
    shap_values: Annotated[
        list[ExplainedValue],
        Meta(description="One for each field of the scorecard, largest magnitude first."),
    ]
    reasons: Annotated[
        list[Reason],
        Meta(
            description="At most four: the rules that decided, then the fields that cost most "
            "points, or brought most where the decision is APPROVED."
        ),
    ]
    recourse: Annotated[
        str,
        Meta(
            description="`found`: see `counterfactuals`; `already_met`: there is nothing to "
            "change; `no_recourse`: see `binding`. An open set: expect more words."
        ),
    ]
    counterfactuals: Annotated[
        list[Counterfactual],
        Meta(description="Ways to the target, the cheapest first; at most `limit`."),
    ]
    binding: Annotated[
        list[Obstacle],
        Meta(description="What stands in the way, where the answer is `no_recourse`; else empty."),
    ]
    notice: Annotated[
        str | None,
        Meta(
            description="How long the ways hold, and that they are no guarantee: to the applicant. "
            "Null where there is none."
        ),
    ]
    language: Annotated[str, Meta(description="Of every `text`, and of `notice`.")]
    target: Annotated[str, Meta(description="What the ways lead to, as it was asked for.")]
    model: ModelHash
    policy: PolicyHash
    request_id: Annotated[
        str,
        Meta(
            pattern="^req_[0-9a-f]{28}$",
            description="Names this exchange. Nothing is stored under it.",
        ),
    ]
    processing_ms: ProcessingMs
