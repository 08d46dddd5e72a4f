"""What a report says in words, the most urgent first: what to look at, and what to do about it.

A report has some fifty figures, each with an interval that leaves one in twenty out by chance. What
is said here of one tier or month is held to a level that allows for how many there are.
"""

from __future__ import annotations

import math
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from alama.core.monitoring.drift import SCORES_MIN
from alama.core.monitoring.figures import (
    COUNT_MIN,
    CardStability,
    Finding,
    MonitoringReport,
    Moved,
    Movement,
    Rate,
    RateVerdict,
    Urgency,
    WindowFigure,
)
from alama.core.monitoring.rates import LEVEL, Loans, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date


RANKS_HARDLY: Final = 0.60
"""An AUC that even at the upper end of its interval is below this tells the two hardly apart."""

ODDS_MATTER: Final = 1.10
"""Odds of default so many times those predicted are urgent. Of very many loans less is no chance
either, and can wait for the next recalibration."""

LOSS_MATTERS: Final = 1.10
"""Losses so many times those assumed are urgent, as odds are."""

KNOWN_MIN: Final = 0.80
OVERRIDES_MAX: Final = 0.05
WAITING_MIN: Final = 20
_NAMED_MAX: Final = 4
_ROUNDING: Final = 1e-9
_ORDER: Final = tuple(Urgency)
_ADVICE: Final = {
    Movement.DRIFTED: "Compare the bands of today with those of training. A source that has "
    "changed (a unit, a field that is no longer sent) is to be mended; if the applicants have "
    "changed, look whether defaults still are as predicted, and recalibrate or train anew where "
    "they are not.",
    Movement.MOVED: "See whether the next windows are over the limit too: that would be drift. "
    "The bands show who has come, or gone.",
}
_HELD: Final = {
    RateVerdict.AS_PREDICTED: "and default as it predicted",
    RateVerdict.HIGHER: "and default more than it predicted",
    RateVerdict.LOWER: "and default less than it predicted",
    RateVerdict.TOO_FEW: "too few to say how it did",
}


class Remedy(Enum):
    """What can be done about a finding, and is done otherwise over HTTP than in a terminal."""

    RECALIBRATE = auto()
    SIMULATE_POLICY = auto()
    SEND_OUTCOMES = auto()
    REPORT_ON_MODEL = auto()
    REVIEW = auto()
    END_CHALLENGER = auto()
    COMPARE = auto()
    LOOK_FURTHER_BACK = auto()


REMEDIES: Final[Mapping[Remedy, str]] = {
    Remedy.RECALIBRATE: "Recalibrating moves the level of the model to what came true.",
    Remedy.SIMULATE_POLICY: "a simulation shows what that does to prices and decisions.",
    Remedy.SEND_OUTCOMES: "`POST /v1/outcomes`.",
    Remedy.REPORT_ON_MODEL: "`GET /v1/monitoring?model={model}` reports on it.",
    Remedy.REVIEW: "`GET /v1/scores?waiting=true` lists them. "
    "`POST /v1/scores/{request_id}/review` gives them their end.",
    Remedy.END_CHALLENGER: "End it.",
    Remedy.COMPARE: "A comparison holds the two against each other.",
    Remedy.LOOK_FURTHER_BACK: "A longer one may have some.",
}
"""The words of each for those who call the service; `{model}` is the id of the model meant."""


def findings(
    report: MonitoringReport, remedies: Mapping[Remedy, str] = REMEDIES
) -> tuple[Finding, ...]:
    """Say what there is to look at in a report; that nothing stands out, where nothing does."""
    found = [
        *_movements(report),
        *_defaults(report, remedies),
        *_parts(report),
        *_losses(report, remedies),
        *_ranking(report),
        *_knowledge(report, remedies),
        *_other_models(report, remedies),
        *_reviews(report, remedies),
        *_challenger(report, remedies),
    ]
    if not any(one.urgency is not Urgency.NOTE for one in found):
        found = [*_calm(report, remedies), *found]
    return tuple(sorted(found, key=lambda one: _ORDER.index(one.urgency)))


def _movements(report: MonitoringReport) -> Iterator[Finding]:
    for movement, code, urgency in (
        (Movement.DRIFTED, "drifted", Urgency.ACT),
        (Movement.MOVED, "moved", Urgency.WATCH),
    ):
        for card in report.stability:
            named = [one for one in (card.score, *card.fields) if one.verdict is movement]
            if named:
                yield Finding(code, urgency, _says(movement, card, named), _ADVICE[movement])


def _says(movement: Movement, card: CardStability, named: Sequence[Moved]) -> str:
    if movement is Movement.DRIFTED:
        last = card.windows[-1]  # the period may reach back to before it began
        shown = _listed([f"{one.name} (PSI {last.psi[one.name]:.2f})" for one in named])
        has, was = ("has", "it was") if len(named) == 1 else ("have", "they were")
        return (
            f"On the card {card.card}, {shown} {has} drifted: in the last window, "
            f"{days(last.first_day, last.last_day)}, {was} over the limit, as in the one before it."
        )
    told = [f"{one.name} (PSI {one.psi:.2f}, limit {one.limit:.2f})" for one in named]
    stands = "stands" if len(named) == 1 else "stand"
    return (
        f"On the card {card.card}, {_listed(told)} {stands} further from training in the period "
        "than chance explains."
    )


def _defaults(report: MonitoringReport, remedies: Mapping[Remedy, str]) -> Iterator[Finding]:
    rate = report.rates.overall
    if rate.verdict is RateVerdict.HIGHER:
        yield Finding(
            "defaults_higher",
            Urgency.ACT if _odds_times(rate) >= ODDS_MATTER else Urgency.WATCH,
            f"More loans default than was predicted: {_rate_says(rate)}",
            f"{_recalibrate(report, remedies)} "
            "Until then a policy with higher cut-offs lends less.",
        )
    if rate.verdict is RateVerdict.LOWER:
        yield Finding(
            "defaults_lower",
            Urgency.WATCH,
            f"Fewer loans default than was predicted: {_rate_says(rate)}",
            f"Good payers may be turned away. Make sure that every default is sent. "
            f"{_recalibrate(report, remedies)}",
        )


def _recalibrate(report: MonitoringReport, remedies: Mapping[Remedy, str]) -> str:
    """Advise it; after a look at what moved, for a source that broke is no matter of the level."""
    if report.model is not None and not report.model.answers:
        return "This model answers no more; see how the one that does compares."
    moved = (one for card in report.stability for one in (card.score, *card.fields))
    said = remedies[Remedy.RECALIBRATE]
    if not any(one.verdict is Movement.DRIFTED for one in moved):
        return said
    return (
        "See first what has drifted, and mend it if a source has changed. Then "
        f"{said[0].lower()}{said[1:]}"
    )


def _odds_times(rate: Rate) -> float:
    """Give the odds of default that came true as a multiple of those that were predicted."""
    realised, predicted = rate.realised or 0.0, rate.predicted or 0.0
    if realised >= 1.0 or predicted <= 0.0:
        return math.inf
    return realised * (1.0 - predicted) / ((1.0 - realised) * predicted)


def _parts(report: MonitoringReport) -> Iterator[Finding]:
    """Name the tiers and months that stand out, where the whole does not."""
    if report.rates.overall.verdict is RateVerdict.HIGHER:
        return
    tiers = [(f"tier {one.tier}", one.rate) for one in report.rates.tiers]
    months = [(one.month, one.rate) for one in report.rates.months]
    for code, what, named in (("tier_higher", "tiers", tiers), ("month_higher", "months", months)):
        found = _higher(named)
        if found and len(named) > 1:
            yield Finding(
                code,
                Urgency.WATCH,
                f"Of the {what}, more default than was predicted in {_listed(found)}.",
                "One tier alone: the order of the model has suffered there, which recalibrating "
                "does not mend; raise its cut-off, or train anew."
                if code == "tier_higher"
                else "A month alone may have its own cause, such as a campaign or a bad harvest; "
                "if the months after it are alike, the model has aged.",
            )


def _higher(named: Sequence[tuple[str, Rate]]) -> list[str]:
    level = 1.0 - (1.0 - LEVEL) / max(len(named), 1)
    return [
        f"{name} ({_percent(rate.realised)} against {_percent(rate.predicted)})"
        for name, rate in named
        if verdict(Loans(rate.count, rate.defaults, (rate.predicted or 0.0) * rate.count), level)
        is RateVerdict.HIGHER
    ]


def _losses(report: MonitoringReport, remedies: Mapping[Remedy, str]) -> Iterator[Finding]:
    """Hold what defaults cost against what prices are made with.

    The one is a share of what was paid out, the other of what is due, which is more: where the
    first is larger, like for like would be farther apart. So nothing is said of losses that look
    smaller.
    """
    loss = report.outcomes.loss
    if loss.share is None or loss.low is None or loss.high is None or loss.assumed is None:
        return
    if loss.low <= loss.assumed + _ROUNDING:
        return
    yield Finding(
        "losses_higher",
        Urgency.ACT if loss.share >= LOSS_MATTERS * loss.assumed else Urgency.WATCH,
        f"Defaults lose more than the policy assumes: {_percent(loss.share)} of what was paid out "
        f"on {plural(loss.defaults, 'default')} ({_percent(loss.low)} to {_percent(loss.high)}), "
        f"where it prices with {_percent(loss.assumed)} of what is due. Prices are too low, and so "
        "are expected losses.",
        "Make sure that what was recovered since is sent: money may come back for months. Then set "
        "`loss_given_default` under `[pricing]` to what came true; "
        f"{remedies[Remedy.SIMULATE_POLICY]}",
    )


def _ranking(report: MonitoringReport) -> Iterator[Finding]:
    ranking, model = report.ranking, report.model
    if ranking.auc is None or ranking.high is None or ranking.low is None:
        return
    says = f"AUC {ranking.auc:.3f} ({ranking.low:.3f} to {ranking.high:.3f})"
    if ranking.high < RANKS_HARDLY:
        yield Finding(
            "ranks_hardly",
            Urgency.ACT,
            f"The score hardly tells apart who repays and who does not: {says}.",
            "Recalibrating does not help: train anew on a history that has these loans.",
        )
    elif model is not None and model.hold_out is not None:
        held = model.hold_out
        if ranking.high < (held.auc if held.low is None else held.low):
            yield Finding(
                "ranks_less",
                Urgency.NOTE,
                f"Among loans that were granted the score ranks less well than it did on all: "
                f"{says}, where it was {held.auc:.3f} when the model was made.",
                "That is so wherever the worst are declined, for they are no longer in it. A fall "
                "from one quarter to the next says more.",
            )


def _knowledge(report: MonitoringReport, remedies: Mapping[Remedy, str]) -> Iterator[Finding]:
    outcomes, expected = report.outcomes, report.outcomes.expected
    if report.volume.scores and not outcomes.known:
        yield Finding(
            "no_outcomes",
            Urgency.NOTE,
            "Nothing is known of what became of loans of this model, so nothing can be said of its "
            "defaults.",
            f"Send outcomes as loans are repaid or default: {remedies[Remedy.SEND_OUTCOMES]}",
        )
    elif outcomes.known and not outcomes.mature:
        yield Finding(
            "young",
            Urgency.NOTE,
            f"Something is known of {plural(outcomes.known, 'loan')} of this model, and none is "
            "mature yet.",
            "Loans that are repaid early are known before those that will default. They count "
            "once they have been due for as long as it takes to be a default.",
        )
    if expected.of >= COUNT_MIN and expected.share is not None and expected.share < KNOWN_MIN:
        yield Finding(
            "few_known",
            Urgency.WATCH,
            f"Of {plural(expected.of, 'loan')} approved at once in months whose loans are all "
            f"mature, the outcome of {_percent(expected.share)} is known.",
            "What is not known is not taken to be good. Send the rest; if approved loans are often "
            "not taken up, that is all of it.",
        )


def _other_models(report: MonitoringReport, remedies: Mapping[Remedy, str]) -> Iterator[Finding]:
    """Point to the model that more is known of than of the one that is reported on."""
    most = max(report.other_models, key=lambda one: one.loans.count, default=None)
    if most is None or most.loans.count < max(COUNT_MIN, report.rates.overall.count):
        return
    whose = "the model that answers now" if most.answers else "an earlier model"
    yield Finding(
        "other_model",
        Urgency.NOTE,
        f"{plural(most.loans.count, 'mature loan')} are of {whose}, {_HELD[most.loans.verdict]}: "
        f"{_rate_says(most.loans)}",
        remedies[Remedy.REPORT_ON_MODEL].format(model=most.id),
    )


def _reviews(report: MonitoringReport, remedies: Mapping[Remedy, str]) -> Iterator[Finding]:
    reviews, scores = report.reviews, report.volume.scores
    if reviews.overridden.verdict is RateVerdict.HIGHER:
        yield Finding(
            "overrides_worse",
            Urgency.WATCH,
            "Loans that the service declined and an officer approved default more than was "
            f"predicted: {_rate_says(reviews.overridden)}",
            "Look at the reasons that were given for them, and at who may override.",
        )
    overrides = reviews.to_approved + reviews.to_declined
    if scores >= COUNT_MIN and overrides / scores > OVERRIDES_MAX:
        yield Finding(
            "many_overrides",
            Urgency.WATCH,
            f"Officers decided otherwise on {overrides:,} of {plural(scores, 'score')}.",
            "A policy that is overridden this often is not the one in force: write what officers "
            "do into it, or ask them why.",
        )
    if reviews.waiting >= WAITING_MIN:
        yield Finding(
            "reviews_wait",
            Urgency.WATCH,
            f"{reviews.waiting:,} scores that were left to a person wait for a decision, of this "
            "period or of before.",
            remedies[Remedy.REVIEW],
        )


def _challenger(report: MonitoringReport, remedies: Mapping[Remedy, str]) -> Iterator[Finding]:
    challenger = report.challenger
    if challenger is None:
        return
    if challenger.answers:
        yield Finding(
            "challenger",
            Urgency.WATCH,
            "The challenger answers in this book itself now, and is still asked.",
            remedies[Remedy.END_CHALLENGER],
        )
        return
    broke = f", and broke on {challenger.failed:,}" if challenger.failed else ""
    yield Finding(
        "challenger",
        Urgency.WATCH if challenger.failed else Urgency.NOTE,
        f"A challenger has scored {plural(challenger.scored, 'application')} since "
        f"{challenger.since}"
        f"{broke}.",
        remedies[Remedy.COMPARE],
    )


def _calm(report: MonitoringReport, remedies: Mapping[Remedy, str]) -> Iterator[Finding]:
    if not report.volume.scores:
        yield Finding(
            "no_scores",
            Urgency.NOTE,
            "No scores were given in this period.",
            remedies[Remedy.LOOK_FURTHER_BACK],
        )
        return
    rate, compared = report.rates.overall, _compared(report)
    says = f"{compared}."
    if rate.verdict is RateVerdict.AS_PREDICTED:
        says = f"{compared}, and loans default as predicted: {_rate_says(rate)}"
    yield Finding("all_well", Urgency.NOTE, f"Nothing stands out. {says}", "Nothing to do.")


def _compared(report: MonitoringReport) -> str:
    """Say what of applicants is as in training: where little was compared, nothing is known."""
    if any(card.compared >= SCORES_MIN for card in report.stability):
        return "Applicants look as in training"
    if any(card.scores >= SCORES_MIN for card in report.stability):
        return "Scores are as in training, though too few a day to compare what applicants say"
    return "There are too few scores to compare applicants with those of training"


def last_window(card: CardStability, since: date) -> WindowFigure | None:
    """Give the last window of a card; none where it ended before the period of the report began."""
    if card.windows and card.windows[-1].last_day >= since:
        return card.windows[-1]
    return None


def plural(number: int, noun: str) -> str:
    """Write a count with its noun: 1 loan, 4,000 loans."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def days(first: date, last: date) -> str:
    """Name the days from one to another: 4 to 14 November."""
    end = f"{last.day} {last:%B}"
    if first == last:
        return end
    if first.year != last.year:
        return f"{first.day} {first:%B %Y} to {end} {last.year}"
    if first.month == last.month:
        return f"{first.day} to {end}"
    return f"{first.day} {first:%B} to {end}"


def _rate_says(rate: Rate) -> str:
    return (
        f"{_percent(rate.realised)} of {plural(rate.count, 'mature loan')} "
        f"({_percent(rate.low)} to {_percent(rate.high)}), where "
        f"{_percent(rate.predicted)} was predicted."
    )


def _listed(told: Sequence[str]) -> str:
    shown = list(told[:_NAMED_MAX])
    if len(told) > _NAMED_MAX:
        shown.append(f"{len(told) - _NAMED_MAX} more")
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{share:.1%}"
