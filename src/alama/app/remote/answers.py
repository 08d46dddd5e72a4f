"""What a service answers, as the rooms have it, so that their own words and drawings tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from rich.text import Text

from alama import __version__
from alama.app.remote.client import Unreachable
from alama.core.assess import Assessment, Contribution
from alama.core.lending.offer import Offer
from alama.core.lending.policy import Decision
from alama.core.lending.pricing import Price
from alama.core.monitoring.news import News, State
from alama.core.product import PRODUCT
from alama.core.recourse.answer import Hindrance
from alama.core.units import Apr, Money, Points, Probability
from alama.monitoring.outcomes import Result
from alama.monitoring.outcomes_api import NewOutcome, OutcomeResult
from alama.platform.days import date_of, day_number
from alama.scoring import waterfall
from alama.scoring.api import OfferDetail, Reason, Scored
from alama.scoring.explain_cli import cost_of
from alama.scoring.records import ScoreSummary
from alama.scoring.sequels import Answer, Outcome, Review, ReviewReason, Sequel
from alama.scoring.waterfall import Beside, short_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime
    from enum import StrEnum

    from rich.console import Console

    from alama.core.application import Value
    from alama.scoring.api import Concluded, ShapValue
    from alama.scoring.explain_api import Counterfactual, ExplainedValue, ExplainReply
    from alama.scoring.explain_cli import ExplanationDrawing
    from alama.scoring.scores_api import ScoreListed, ScoreOutcome, ScoreRecord, ScoreReview

    E = TypeVar("E", bound=StrEnum)

_US = 1_000_000


def microseconds(moment: datetime) -> int:
    """Give a time as the rooms keep it."""
    return round(moment.timestamp() * _US)


def known(kind: type[E], word: str) -> E:
    """Read a word of an open set, or raise `Unreachable`: a newer service may know more of them."""
    try:
        return kind(word)
    except ValueError:
        raise Unreachable(
            f"the service has said a word that Alama {__version__} does not know",
            hint="--json gives the answer as it came; a newer Alama can show it",
        ) from None


# ------------------------------------------------------------------------------------- scores


EXPAND: Final = "base_score,reasons,model,policy,offer"


class ExpandedScore(Scored, frozen=True, kw_only=True):
    """A score with all that `EXPAND` asks for."""

    base_score: float
    reasons: list[Reason]
    model: str
    policy: str
    offer: OfferDetail


def summary(listed: ScoreListed) -> ScoreSummary:
    return ScoreSummary(
        listed.request_id,
        microseconds(listed.created_at),
        listed.score,
        listed.tier,
        listed.default_probability,
        listed.decision,
        listed.recommended_limit,
        listed.recommended_term_days,
        listed.recommended_apr,
    )


def contributions(
    shap_values: Iterable[ShapValue | ExplainedValue], application: Mapping[str, Value]
) -> tuple[Contribution, ...]:
    """Put the value that was sent beside each contribution, which has the name it was sent by."""
    return tuple(
        Contribution(one.feature, application.get(one.feature), one.contribution)
        for one in shap_values
    )


def assessment(
    said: Concluded | Counterfactual,
    base_score: float,
    parts: tuple[Contribution, ...],
    detail: OfferDetail | None,
    rules: Iterable[str],
) -> Assessment:
    """Give what was concluded as the drawing wants it; an offer without detail has no price."""
    price = Price(*(Apr(0.0),) * 4)
    if detail is not None:
        price = msgspec.convert(msgspec.to_builtins(detail.price), Price)
    offer = Offer(
        currency="" if detail is None else detail.currency,
        limit=int(said.recommended_limit),
        term_days=said.recommended_term_days,
        apr=Apr(said.recommended_apr),
        default_probability=Probability(
            said.default_probability if detail is None else detail.default_probability
        ),
        price=price,
        fee=Money(0.0 if detail is None else detail.fee),
        expected_loss=Money(0.0 if detail is None else detail.expected_loss),
    )
    return Assessment(
        score=said.score,
        default_probability=Probability(said.default_probability),
        base=base_score,
        points=Points(base_score + sum(part.points for part in parts)),
        contributions=parts,
        card="",
        tier=said.tier,
        decision=known(Decision, said.decision),
        offer=offer,
        rules=tuple(rules),
    )


def picture(
    said: Assessment, model: str, policy: str, currency: str | None, console: Console
) -> Text:
    """Draw an answer as the service itself would; names of model and policy are not on the wire."""
    sources = [f"model {short_id(model)}, policy {short_id(policy)}"]
    priced = bool(said.offer.currency)
    beside = Beside(sources, PRODUCT, said.offer.currency or currency, priced=priced)
    return waterfall.picture(said, beside, console)


def sequel(record: ScoreRecord) -> Sequel:
    return Sequel(
        None if record.review is None else review(record.review),
        None if record.outcome is None else _outcome(record.request_id, record.outcome),
    )


def review(told: ScoreReview) -> Review:
    return Review(
        told.request_id,
        told.decision,
        known(ReviewReason, told.reason),
        told.name,
        told.note,
        microseconds(told.reviewed_at),
        None,
        told.given_decision,
    )


def _outcome(request_id: str, told: ScoreOutcome) -> Outcome:
    happened_on = day_number(told.date)
    return Outcome(
        request_id,
        known(State, told.outcome),
        happened_on,
        happened_on if told.is_default else None,  # since when is not on the wire
        told.disbursed_amount,
        told.repaid_amount,
        microseconds(told.recorded_at),
        None,
    )


# ------------------------------------------------------------------------------------- outcomes


def sent_outcome(news: News) -> NewOutcome:
    """Give a piece of news as it is sent."""
    return NewOutcome(
        news.request_id,
        news.state,
        date_of(news.happened_on),
        news.disbursed_amount,
        news.repaid_amount,
        news.corrects,
        None if news.defaulted_on is None else date_of(news.defaulted_on),
    )


def outcome_result(told: OutcomeResult) -> Result:
    is_default = None if told.is_default is msgspec.UNSET else told.is_default
    return Result(told.request_id, known(Answer, told.result), is_default)


# ------------------------------------------------------------------------------------- explaining


def show_recourse(drawing: ExplanationDrawing, said: ExplainReply) -> None:
    """Print the ways, or that there is nothing to change, or what stands in the way."""
    if said.counterfactuals:
        ways = [_way(drawing, said, way) for way in said.counterfactuals]
        proven = all(way.optimal for way in said.counterfactuals)
        drawing.ways(said.target, ways, said.notice or "", proven=proven)
    elif said.binding:
        gave_up = any(one.code == Hindrance.OUT_OF_TIME for one in said.binding)
        nothing = "Nothing was found that" if gave_up else "Nothing"
        drawing.told.heading(f"{nothing} leads to {said.target}")
        for text in dict.fromkeys(one.text for one in said.binding):
            drawing.told.hang(Text(text), "-")
    else:
        drawing.told.heading(f"{said.target} is met. Nothing needs to change.")


def _way(drawing: ExplanationDrawing, said: ExplainReply, way: Counterfactual) -> Iterator[Text]:
    for change in way.changes:
        yield Text(change.text)
    then = assessment(way, said.base_score, (), None, ())
    yield from drawing.step(said.score, said.tier, then)
    yield cost_of(way.cost, f"within {way.within_days} days" if way.within_days else "at once")
