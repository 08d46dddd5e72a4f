"""The monitoring report of a book as one page: what to look at, and the figures behind it.

This file says what stands on the page and in which order; `monitoring_figures` draws and tabulates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core.monitoring.figures import COUNT_MIN, Movement, RateVerdict, Urgency
from alama.pages import monitoring_figures as figures
from alama.pages import monitoring_lending as lending
from alama.pages import numbers, page
from alama.pages.markup import join, tag
from alama.pages.page import Section, Tile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.monitoring.figures import Finding, MonitoringReport, Rate
    from alama.pages.markup import Markup

_VERDICTS: Final = {
    RateVerdict.AS_PREDICTED: "as predicted",
    RateVerdict.HIGHER: "more than predicted",
    RateVerdict.LOWER: "fewer than predicted",
    RateVerdict.TOO_FEW: "too few to tell",
}


def render(report: MonitoringReport) -> str:
    """Give the report as one self-contained HTML page, without script."""
    sections = [
        Section("look", "What to look at", _look(report)),
        Section("volume", "Volume and approval", figures.volume(report)),
        Section("tiers", "Defaults by tier: predicted and come true", figures.tiers(report)),
        Section("months", "Defaults by month", figures.months(report)),
        Section("moved", "Whether applicants have changed", figures.stability(report)),
    ]
    if report.stability:
        sections.append(Section("scores", "Scores, now and in training", figures.scores(report)))
    sections += [
        Section("ranking", "Whether the score ranks", lending.ranking(report)),
        Section("officers", "What officers decided", lending.officers(report)),
        Section("outcomes", "What is known of loans", lending.outcomes(report)),
        Section("reading", "How to read this page", _reading(report)),
    ]
    return page.document(
        f"Monitoring of {report.lender}, {report.mode}",
        _header(report),
        sections,
        f"Alama monitoring of {report.lender}, {report.mode} mode, "
        f"{report.generated_at:%Y-%m-%d %H:%M} UTC.",
    )


def headline(report: MonitoringReport) -> str:
    """Say in a sentence how the book goes."""
    urgent = [one for one in report.findings if one.urgency is Urgency.ACT]
    watched = [one for one in report.findings if one.urgency is Urgency.WATCH]
    if not report.volume.scores and not report.outcomes.known:
        return "There is nothing to look at yet"
    if urgent:
        return f"{_counted(urgent)} {'thing' if len(urgent) == 1 else 'things'} to act on"
    if watched:
        things = "thing" if len(watched) == 1 else "things"
        return f"Nothing to act on; {_counted(watched).lower()} {things} to watch"
    if not report.outcomes.mature:
        return "Nothing stands out, and no loan is mature yet"
    return "Nothing stands out"


def _counted(listed: Sequence[Finding]) -> str:
    words = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
    return words[len(listed)] if len(listed) < len(words) else str(len(listed))


def _header(report: MonitoringReport) -> Markup:
    model = report.model
    count = numbers.plural(report.volume.scores, "score")
    known = numbers.plural(report.outcomes.mature, "mature loan")
    lead = (
        f"{count} from {report.first_day} to {report.last_day}; and {known} of which it is known "
        "what became of them."
    )
    if model is not None and not model.answers:
        lead += " The model below no longer answers in this book."
    parts = [
        tag(
            "p",
            f"Monitoring of {report.lender}, {report.mode} mode, "
            f"{report.generated_at:%Y-%m-%d %H:%M} UTC",
            class_="kicker",
        ),
        tag("h1", headline(report)),
        tag("p", lead, class_="lead"),
    ]
    if model is not None:
        parts.append(tag("p", f"{model.name} \u00b7 {model.id}", class_="id"))
    return join(*parts)


def _look(report: MonitoringReport) -> Markup:
    return join(
        page.tiles(_tiles(report)),
        tag("ul", *map(_finding, report.findings), class_="look"),
    )


def _finding(one: Finding) -> Markup:
    kind = "" if one.urgency is Urgency.NOTE else one.urgency.value
    advice = [] if one.code == "all_well" else [page.paragraph(*_with_code(one.advice))]
    return tag(
        "li",
        page.paragraph(page.badge(one.urgency.value, kind), one.says),
        *advice,
        class_=one.urgency.value,
    )


def _with_code(said: str) -> list[str]:
    """Set what stands between backticks as code."""
    return [tag("code", part) if place % 2 else part for place, part in enumerate(said.split("`"))]


def _tiles(report: MonitoringReport) -> list[Tile]:
    volume, approval = report.volume, report.volume.approval
    return [
        Tile(
            "Scores",
            numbers.large(volume.scores),
            f"{report.first_day} to {report.last_day}",
            f"Left to a person: {numbers.count(volume.decisions.get('REVIEW', 0))}.",
        ),
        Tile(
            "Approval rate",
            numbers.percent(approval.share),
            _interval(approval.low, approval.high) if approval.of else "no scores",
            "Approved at once, of all scores.",
        ),
        _rate_tile(report.rates.overall),
        _ranking_tile(report),
        _moved_tile(report),
    ]


def _rate_tile(rate: Rate) -> Tile:
    if rate.realised is None:
        return Tile(
            "Defaults",
            numbers.NOTHING,
            "no mature loans",
            "A loan counts once it has been due for as long as it takes to be a default.",
        )
    return Tile(
        "Defaults",
        numbers.percent(rate.realised),
        _interval(rate.low, rate.high),
        f"{numbers.percent(rate.predicted)} was predicted: {_VERDICTS[rate.verdict]}.",
    )


def _ranking_tile(report: MonitoringReport) -> Tile:
    ranking = report.ranking
    if ranking.auc is None:
        return Tile(
            "Ranking, AUC",
            numbers.NOTHING,
            f"{numbers.plural(ranking.bads, 'default')} so far",
            f"Told from {COUNT_MIN} defaults and {COUNT_MIN} repaid loans on.",
        )
    return Tile(
        "Ranking, AUC",
        numbers.fixed(ranking.auc),
        numbers.between(numbers.fixed(ranking.low), numbers.fixed(ranking.high)),
        "How often of two loans the one that was repaid had the higher score.",
    )


def _moved_tile(report: MonitoringReport) -> Tile:
    """Count fields, each once though several cards may have it; the score is none."""
    listed = [one for card in report.stability if card.compared for one in card.fields]
    over = {one.name for one in listed if one.verdict is not Movement.STEADY}
    furthest = max(listed, key=lambda one: one.psi / one.limit, default=None)
    if furthest is None:
        said = "too few scores a day" if report.stability else "no scores"
        return Tile("Fields that moved", numbers.NOTHING, said, "Nothing to compare.")
    return Tile(
        "Fields that moved",
        numbers.count(len(over)),
        f"of {numbers.count(len({one.name for one in listed}))} looked at",
        f"The furthest in the period is {furthest.name}: PSI {numbers.fixed(furthest.psi, 2)}, "
        f"limit {numbers.fixed(furthest.limit, 2)}.",
    )


def _interval(low: float, high: float) -> str:
    return numbers.between(numbers.percent(low), numbers.percent(high))


def _reading(report: MonitoringReport) -> Markup:
    days = report.model.days_past_due if report.model else 30
    listed = [
        (
            "A loan is mature once it has been due for "
            f"{numbers.plural(days, 'day')}, and counts only then, whatever became of it sooner: "
            "fast repayments are known before slow defaults, and would flatter every young month."
        ),
        "A loan that was ever a default stays one, also where it was repaid later.",
        (
            "What nothing is known of is in no rate. Defaults that are not sent make a model look "
            "better than it is."
        ),
        (
            "An interval holds the true rate 95 times in 100. Of twenty tiers and months one lies "
            "outside by chance; what is said above under \u201cWhat to look at\u201d allows for it."
        ),
        (
            "The population stability index (PSI) is 0 where the bands are filled as in training. "
            "Its limit is 0.10, or more where so few scores would go beyond that by chance."
        ),
        (
            "A field has moved where it is over its limit in the period. It has drifted where it "
            "was over it in two windows of a thousand scores or more, one after the other."
        ),
        (
            "Fields go by the names of docs/fields.md, where the other spelling of some stands "
            "beside them."
        ),
        (
            "What is found is to act on, to watch, or to note: the `urgency` of the same finding "
            "in the JSON."
        ),
        (
            "The AUC is of loans that were granted. Those who were declined are not in it, so it "
            "is lower than when the model was made, and falls where a policy gets stricter."
        ),
    ]
    facts = [
        ("Book", f"{report.lender}, {report.mode} mode"),
        ("Period", f"{report.first_day} to {report.last_day}, days in UTC"),
    ]
    if report.model:
        facts += [
            ("Model", f"{report.model.name}, {report.model.id}"),
            ("A default", report.model.definition),
        ]
    if report.other_models:
        others = ", ".join(
            f"{one.id} ({numbers.plural(one.scores, 'score')}, "
            f"{numbers.plural(one.loans.count, 'mature loan')})"
            for one in report.other_models
        )
        facts.append(("Other models", others))
    return join(tag("ul", *(tag("li", *_with_code(said)) for said in listed)), page.facts(facts))
