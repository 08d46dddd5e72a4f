"""POST /v1/explain: why, and what can be done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, Meta

from alama.core.errors import InvalidApplication, MalformedDocument, UnknownField, UnknownGoal
from alama.core.reasons.advice import Advice
from alama.core.recourse.answer import COUNT_DEFAULT, COUNT_MAX
from alama.lenders.records import OnboardingIncomplete
from alama.platform.book import Scope
from alama.platform.errors import Busy, ModelUnavailable
from alama.platform.http import deprecation, parameters
from alama.platform.http.bodies import json_body
from alama.platform.http.exchange import INT32, Call, Reply, encode_json, private_json
from alama.platform.http.operation import RATE, Operation, Success, reference
from alama.platform.http.problems import BadParameter, BodyTooLarge, UnsupportedMediaType
from alama.scoring import evidence
from alama.scoring.api import (
    LIMIT_OF_WAYS,
    REQUEST_ID_PATTERN,
    Apr,
    BaseScore,
    Concluded,
    CounterOffers,
    Decision,
    DefaultProbability,
    Limit,
    ModelHash,
    PolicyHash,
    ProcessingMs,
    ProductName,
    Reason,
    Rules,
    Score,
    TermDays,
    Tier,
    base_score,
    counter_offers,
    plain,
    points,
    reasons,
)
from alama.scoring.explaining import TARGET_DEFAULT, Explained, Explaining, Question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.core.application import Value
    from alama.core.assess import Contribution
    from alama.core.reasons.dictionary import Language
    from alama.core.recourse import answer
    from alama.scoring.admission import Admission


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
        int,
        Meta(
            ge=0,
            description="How long the slowest of the changes may take; 0 at once.",
            extra_json_schema=INT32,
        ),
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
    counter_offers: Annotated[
        CounterOffers | None,
        Meta(description="Other loans; null where there is none, or the policy tells of none."),
    ]
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
        Meta(description="Ways to the target, the cheapest first; at most `ways`."),
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
            pattern=REQUEST_ID_PATTERN,
            description="Names this exchange. Nothing is stored under it.",
        ),
    ]
    processing_ms: ProcessingMs
    product: ProductName = UNSET


def explain_reply(explained: Explained) -> bytes:
    """Give the reply of POST /v1/explain."""
    said, recourse = explained.explanation.assessment, explained.explanation.recourse
    question, policy = explained.question, explained.active.policy
    advice = Advice(policy, question.language)
    return encode_json(
        ExplainReply(
            score=said.score,
            tier=said.tier,
            default_probability=said.default_probability,
            decision=said.decision,
            recommended_limit=said.offer.limit,
            recommended_term_days=said.offer.term_days,
            recommended_apr=said.offer.apr,
            rules=list(said.rules),
            counter_offers=counter_offers(said),
            base_score=base_score(said),
            shap_values=[_value(one) for one in said.contributions],
            reasons=reasons(explained.explanation.reasons),
            recourse=recourse.status,
            counterfactuals=[
                _counterfactual(found, advice, optimal=recourse.optimal)
                for found in recourse.counterfactuals
            ],
            binding=[_obstacle(bound, advice) for bound in recourse.binding],
            notice=advice.notice() if recourse.counterfactuals else None,
            language=question.language.code,
            target=question.target,
            model=explained.active.model.model.id,
            policy=policy.id,
            request_id=explained.request_id,
            processing_ms=explained.processing_ms,
            product=said.offer.product,
        )
    )


def _value(contribution: Contribution) -> ExplainedValue:
    value = contribution.value
    return ExplainedValue(
        contribution.feature,
        value if value is None else _as_sent(value),
        points(contribution.points),
    )


def _counterfactual(
    found: answer.Counterfactual, advice: Advice, *, optimal: bool
) -> Counterfactual:
    said = found.assessment
    return Counterfactual(
        changes=[_change(change, advice) for change in found.changes],
        score=said.score,
        tier=said.tier,
        default_probability=said.default_probability,
        decision=said.decision,
        recommended_limit=said.offer.limit,
        recommended_term_days=said.offer.term_days,
        recommended_apr=said.offer.apr,
        cost=found.cost,
        optimal=optimal,
        within_days=found.within_days,
    )


def _change(change: answer.FieldChange, advice: Advice) -> Change:
    return Change(
        feature=change.field,
        before=_as_sent(change.before),
        after=_as_sent(change.after),
        text=advice.change(change),
    )


def _obstacle(bound: answer.Obstacle, advice: Advice) -> Obstacle:
    return Obstacle(
        code=bound.hindrance,
        rule=bound.rule,
        features=list(bound.fields),
        text=advice.obstacle(bound),
    )


def _as_sent(value: Value) -> float | str:
    """Give a value as a caller would write it: a whole number without decimals."""
    assert value is not None  # what is not given is not changed
    return value if isinstance(value, str) else plain(value)


class ExplainEndpoint:
    """Explains applications. Nothing of them is kept."""

    def __init__(
        self, admission: Admission, explaining: Explaining, languages: Sequence[Language]
    ) -> None:
        """Take languages, of which the first is that of callers who do not say."""
        self._admission = admission
        self._explaining = explaining
        self._languages = languages

    @Operation(
        path="/v1/explain",
        method="POST",
        id="explainApplication",
        tag="Scores",
        summary="Explain a decision, and find what would change it",
        description="Takes an application as `/v1/score` does, and says the same of it: score, "
        "tier, decision, offer and exact contributions; then the reasons in words, and the "
        "cheapest changes of at most three fields that lead to `target`. A change is one that an "
        "applicant can make, and together they are judged by the whole policy: sent to "
        "`/v1/score`, the changed application gets exactly what is promised here, while the same "
        "model and policy answer. Where nothing leads there, the reply says what stands in the "
        "way. Nothing is stored, and there is no need for an `Idempotency-Key`.",
        scope=Scope.WRITE,
        parameters=("target", "ways", "ways_limit", "locked", "language"),
        body="Application",
        requests=("declined", "compact"),
        replies={
            200: Success(
                "The explanation. Nothing is stored.",
                reference("ExplainReply"),
                headers=(*RATE, *deprecation.HEADERS),
                examples=("declined_explained", "compact_explained", "locked_explained"),
            )
        },
        refusals=(
            MalformedDocument,
            BadParameter,
            OnboardingIncomplete,
            ModelUnavailable,
            Busy,
            BodyTooLarge,
            UnsupportedMediaType,
            InvalidApplication,
        ),
    )
    async def explain(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.WRITE)
        asked = parameters.read(
            call, ("target", "ways", "limit", "locked", "language"), lists=("locked",)
        )
        question = self._question(asked)
        body, told = evidence.split(await json_body(call))
        caller = evidence.vouched(caller, body, told, call.arrival.at_us)
        try:
            explained = await self._explaining.explain(caller, call.arrival, body, question)
        except UnknownGoal as error:  # which repeats what was sent
            raise BadParameter("target names nothing to aim at", hint=error.hint) from None
        except UnknownField:
            known = caller.active_model().model.catalogue.position
            raise parameters.no_field("locked", question.locked, known) from None
        if "limit" in asked:
            headers = [*headers, *LIMIT_OF_WAYS.headers]
        return private_json(explain_reply(explained), headers)

    def _question(self, asked: Mapping[str, str]) -> Question:
        if "ways" in asked and "limit" in asked:
            raise BadParameter("limit is the old spelling of ways", hint="send ways alone")
        return Question(
            target=asked.get("target", TARGET_DEFAULT),
            locked=parameters.listed(asked.get("locked")),
            limit=_ways(asked),
            language=parameters.language(asked.get("language"), self._languages),
        )


def _ways(asked: Mapping[str, str]) -> int:
    """Read how many ways are wanted, in either spelling."""
    name = "limit" if "limit" in asked else "ways"
    try:
        return parameters.limit(asked.get(name), COUNT_DEFAULT, COUNT_MAX)
    except BadParameter:
        raise BadParameter(f"{name} must be a whole number from 1 to {COUNT_MAX}") from None
