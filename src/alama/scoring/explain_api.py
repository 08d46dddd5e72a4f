"""POST /v1/explain: why, and what can be done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.errors import UnknownField, UnknownGoal
from alama.core.lending.policy import Decision
from alama.core.reasons.advice import Advice
from alama.core.recourse.answer import COUNT_DEFAULT, COUNT_MAX
from alama.platform.book import Scope
from alama.platform.http import parameters
from alama.platform.http.bodies import json_body
from alama.platform.http.exchange import Call, Reply, private_json
from alama.platform.http.problems import BadParameter
from alama.scoring.api import base_score, points, reasons
from alama.scoring.explaining import Explained, Explaining, Question
from alama.scoring.wire import Change, Counterfactual, ExplainedValue, ExplainReply, Obstacle, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.application import Value
    from alama.core.assess import Contribution
    from alama.core.reasons.dictionary import Language
    from alama.core.recourse import answer
    from alama.scoring.admission import Admission


_encode: Final = msgspec.json.Encoder().encode


def explain_reply(explained: Explained) -> bytes:
    """Give the reply of POST /v1/explain."""
    said, recourse = explained.explanation.assessment, explained.explanation.recourse
    question, policy = explained.question, explained.active.policy
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
            model=explained.active.model.model.id,
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


TARGET_DEFAULT: Final = Decision.APPROVED.value


class ExplainEndpoint:
    """Explains applications. Nothing of them is kept."""

    def __init__(
        self, admission: Admission, explaining: Explaining, languages: Sequence[Language]
    ) -> None:
        """Use the use case; the first language is that of callers who do not say."""
        self._admission = admission
        self._explaining = explaining
        self._languages = languages

    async def explain(self, call: Call) -> Reply:
        """POST /v1/explain: contributions, reasons and recourse."""
        caller, headers = await self._admission.admit(call, Scope.WRITE)
        question = self._question(call)
        body = await json_body(call)
        try:
            explained = await self._explaining.explain(caller, call.arrival, body, question)
        except UnknownGoal as error:  # which repeats what was sent
            raise BadParameter("target names nothing to aim at", hint=error.hint) from None
        except UnknownField:
            known = caller.active_model().model.catalogue.position
            raise parameters.no_field("locked", question.locked, known) from None
        return private_json(explain_reply(explained), headers)

    def _question(self, call: Call) -> Question:
        asked = parameters.read(call, ("target", "limit", "locked", "language"))
        return Question(
            target=asked.get("target", TARGET_DEFAULT),
            locked=parameters.listed(asked.get("locked")),
            limit=parameters.limit(asked.get("limit"), COUNT_DEFAULT, COUNT_MAX),
            language=parameters.language(asked.get("language"), self._languages),
        )
