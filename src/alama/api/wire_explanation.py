"""The public contract of POST /v1/explain, field by field; it changes by addition only."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from alama.api.wire import (
    Apr,
    BaseScore,
    Concluded,
    Decision,
    DefaultProbability,
    Limit,
    ModelHash,
    PolicyHash,
    ProcessingMs,
    Reason,
    Rules,
    Score,
    TermDays,
    Tier,
)

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
