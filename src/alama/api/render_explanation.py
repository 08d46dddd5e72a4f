"""From an explanation to what the contract says; numbers are those of POST /v1/score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from alama.api.render import base_score, plain, points, reasons
from alama.api.wire_explanation import (
    Change,
    Counterfactual,
    ExplainedValue,
    ExplainReply,
    Obstacle,
)
from alama.core.reasons import Advice

if TYPE_CHECKING:
    from alama.core.application import Value
    from alama.core.assess import Contribution
    from alama.core.recourse import answer
    from alama.service.explaining import Explained

_encode: Final = msgspec.json.Encoder().encode


def explain_reply(explained: Explained) -> bytes:
    """Give the reply of POST /v1/explain."""
    said, recourse = explained.explanation.assessment, explained.explanation.recourse
    question, policy = explained.question, explained.desk.policy
    advice = Advice(policy, question.language)
    return _encode(
        ExplainReply(
            score=said.score,
            tier=said.tier,
            default_probability=said.default_probability,
            decision=said.decision,
            recommended_limit=said.offer.limit,
            recommended_term_days=said.offer.term_days,
            recommended_apr=said.offer.apr,
            rules=list(said.rules),
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
            model=explained.desk.model.model.id,
            policy=policy.id,
            request_id=explained.request_id,
            processing_ms=explained.processing_ms,
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
