"""From what the service knows to what the contract says."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import msgspec

from alama.api.wire import (
    OfferDetail,
    PriceParts,
    Reason,
    ScoreListed,
    ScoreOutcome,
    ScorePage,
    ScoreRecord,
    ScoreReply,
    ScoreReview,
    ShapValue,
)
from alama.core import reasons as core_reasons
from alama.core.calibration import TO_WHOLE
from alama.service.days import date_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from alama.core.assess import Assessment
    from alama.core.reasons import Language
    from alama.service.outcomes.records import Outcome, Review, Sequel
    from alama.service.records import ScoreRow, ScoreSummary, Sealed
    from alama.service.scoring import Given

POINTS_DECIMALS: Final = 4
_POINTS_STEPS: Final = 10.0**POINTS_DECIMALS

_encode: Final = msgspec.json.Encoder().encode


def score_reply(given: Given) -> bytes:
    """Give the reply of POST /v1/score: the ten fields of the interface, in its order."""
    return _encode(_reply(given))


def expanded(names: frozenset[str], language: Language) -> Callable[[Given], bytes]:
    """Give a renderer that adds what `expand` named, in this language."""

    def render(given: Given) -> bytes:
        additions = {
            name: EXPANSIONS[name](given, language) for name in EXPANSIONS if name in names
        }
        return _encode(msgspec.structs.replace(_reply(given), **additions))

    return render


def score_record(row: ScoreRow, sealed: Sealed, sequel: Sequel) -> bytes:
    """Give everything that is kept of a score, and what became of it."""
    said = sealed.assessment
    return _encode(
        ScoreRecord(
            score=row.score,
            tier=row.tier,
            default_probability=row.default_probability,
            decision=row.decision,
            recommended_limit=plain(row.recommended_limit),
            recommended_term_days=row.recommended_term_days,
            recommended_apr=row.recommended_apr,
            shap_values=_shap_values(said),
            request_id=row.request_id,
            processing_ms=row.processing_ms,
            base_score=base_score(said),
            model=row.model_id,
            policy=row.policy_id,
            offer=_offer(said),
            created_at=moment(row.created_us),
            mode=row.mode,
            key_id=row.key_id,
            application=msgspec.Raw(sealed.application),
            review=None if sequel.review is None else _review(sequel.review),
            outcome=None if sequel.outcome is None else _outcome(sequel.outcome),
        )
    )


def review(kept: Review) -> bytes:
    """Give what an officer decided."""
    return _encode(_review(kept))


def score_page(rows: Sequence[ScoreSummary], limit: int) -> bytes:
    """Give one page of scores; the cursor of the next one is the last id, if there may be more."""
    shown = [listed(row) for row in rows[:limit]]
    more = len(rows) > limit
    return _encode(ScorePage(shown, shown[-1].request_id if more else None))


def listed(row: ScoreSummary) -> ScoreListed:
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


def _reply(given: Given) -> ScoreReply:
    said = given.assessment
    offer = said.offer
    return ScoreReply(
        said.score,
        said.tier,
        said.default_probability,
        said.decision,
        offer.limit,
        offer.term_days,
        offer.apr,
        _shap_values(said),
        given.request_id,
        given.processing_ms,
    )


def _review(kept: Review) -> ScoreReview:
    return ScoreReview(
        request_id=kept.request_id,
        decision=kept.decision,
        reason=kept.reason.value,
        name=kept.person,
        reviewed_at=moment(kept.reviewed_us),
        given_decision=kept.given_decision,
        overrides=kept.overrides,
        note=kept.note,
    )


def _outcome(known: Outcome) -> ScoreOutcome:
    disbursed, repaid = known.disbursed_amount, known.repaid_amount
    return ScoreOutcome(
        outcome=known.state.value,
        date=date_of(known.happened_on),
        is_default=known.is_default,
        disbursed_amount=None if disbursed is None else plain(disbursed),
        repaid_amount=None if repaid is None else plain(repaid),
        recorded_at=moment(known.recorded_us),
    )


def _shap_values(said: Assessment) -> list[ShapValue]:
    # In place, and not by `round`: this is the larger part of what a reply costs.
    return [
        ShapValue(one.feature, (one.points * _POINTS_STEPS + TO_WHOLE - TO_WHOLE) / _POINTS_STEPS)
        for one in said.contributions
    ]


def points(exact: float) -> float:
    """Round points to the decimals that are shown."""
    return (exact * _POINTS_STEPS + TO_WHOLE - TO_WHOLE) / _POINTS_STEPS


def base_score(said: Assessment) -> float:
    """Give what the contributions are added to."""
    return round(said.base, POINTS_DECIMALS)


def reasons(told: Iterable[core_reasons.Reason]) -> list[Reason]:
    """Give reasons as the contract has them."""
    return [
        Reason(
            one.code,
            one.feature,
            None if one.contribution is None else points(one.contribution),
            one.text,
        )
        for one in told
    ]


def _reasons(given: Given, language: Language) -> list[Reason]:
    policy, said = given.desk.policy, given.assessment
    return reasons(core_reasons.reasons(policy, given.application, said, language))


def _offer(said: Assessment) -> OfferDetail:
    offer, price = said.offer, said.offer.price
    return OfferDetail(
        currency=offer.currency,
        default_probability=offer.default_probability,
        price=PriceParts(price.expected_loss, price.running_cost, price.funding, price.margin),
        fee=plain(offer.fee),
        expected_loss=plain(offer.expected_loss),
        rules=list(said.rules),
    )


def plain(amount: float) -> float:
    """Give whole money as it was first given, without decimals; databases add them."""
    whole = int(amount)
    return whole if whole == amount else amount


def moment(moment_us: int) -> datetime:
    """Give a time as the contract has it, of microseconds since 1970, UTC."""
    return datetime.fromtimestamp(moment_us / 1e6, UTC)


EXPANSIONS: Final[dict[str, Callable[[Given, Language], object]]] = {
    "base_score": lambda given, _: base_score(given.assessment),
    "model": lambda given, _: given.desk.model.model.id,
    "policy": lambda given, _: given.desk.policy.id,
    "offer": lambda given, _: _offer(given.assessment),
    "reasons": _reasons,
}
"""What `expand` may add, by name."""
