"""The drawings and tables of a monitoring report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core.monitoring.figures import Movement, RateVerdict
from alama.core.monitoring.rates import wilson
from alama.core.monitoring.stability import PSI_MIN
from alama.core.monitoring.words import days as named_days
from alama.core.monitoring.words import last_window
from alama.pages import monitoring_charts as charts
from alama.pages import numbers, page
from alama.pages.markup import join, tag
from alama.pages.monitoring_charts import Band, Column, Named
from alama.pages.monitoring_movements import WORDS, movements

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from alama.core.monitoring.figures import (
        BandShare,
        CardStability,
        DayVolume,
        MonitoringReport,
        Moved,
        Rate,
    )
    from alama.pages.markup import Markup

COLUMNS_MAX: Final = 92
"""Columns of a drawing; what has more days is drawn by the week."""

_WEEK: Final = 7
_FIELDS_OPEN: Final = 12
_TREND_MAX: Final = 4
_SHOWN_MIN: Final = 0.0005
_VERDICTS: Final = {
    RateVerdict.AS_PREDICTED: "as predicted",
    RateVerdict.HIGHER: "higher",
    RateVerdict.LOWER: "lower",
    RateVerdict.TOO_FEW: "too few",
}


# ---------------------------------------------------------------------------------- volume


def volume(report: MonitoringReport) -> Markup:
    """Draw how many scores there were, and how many of them were approved."""
    if not report.volume.scores:
        return page.paragraph("No scores were given in this period.")
    by_day = len(report.volume.days) <= COLUMNS_MAX
    unit = "day" if by_day else "week"
    days = report.volume.days if by_day else _weeks(report.volume.days)
    columns = [Column(f"{one.day:%d %b}", one.scores, one.approved) for one in days]
    weeks = [one for one in _weeks(report.volume.days) if one.scores]
    shares = [_approval(one) for one in weeks]
    decisions = report.volume.decisions.items()
    parts = [
        _wide(charts.volume(columns, f"Scores by {unit}"), f"Scores by {unit}, UTC."),
    ]
    if len(shares) > 1:
        parts.append(
            _wide(
                charts.shares(shares, "Approval rate by week"),
                "The share approved at once, by week, with its 95 % interval. A jump that no "
                "change of policy explains is a change of applicants.",
            )
        )
    parts.append(
        page.side_by_side(
            _share_table("Decision", list(decisions), report.volume.scores),
            _share_table("Tier", list(report.volume.tiers.items()), report.volume.scores),
        )
    )
    return join(*parts)


def _wide(picture: Markup, caption: str = "") -> Markup:
    """Give a picture of many columns: on a phone it is moved sideways, not made small."""
    return page.figure(tag("div", picture, class_="wide"), caption)


def _weeks(days: Sequence[DayVolume]) -> list[DayVolume]:
    """Sum days by the seven, the last week whole; the first may have fewer."""
    first = len(days) % _WEEK
    cuts = [0, *range(first, len(days), _WEEK)] if first else [*range(0, len(days), _WEEK)]
    found = []
    for start, end in zip(cuts, [*cuts[1:], len(days)], strict=True):
        part = days[start:end]
        scores, approved = sum(d.scores for d in part), sum(d.approved for d in part)
        found.append(type(part[0])(part[0].day, scores, approved))
    return found


def _approval(one: DayVolume) -> tuple[str, float, float, float]:
    low, high = wilson(one.approved, one.scores)
    return f"{one.day:%d %b}", one.approved / one.scores, low, high


def _share_table(noun: str, counts: Sequence[tuple[str, int]], everyone: int) -> Markup:
    rows = [
        [
            name.lower() if noun == "Decision" else name,
            numbers.count(count),
            numbers.percent(count / everyone),
        ]
        for name, count in counts
    ]
    return page.table([noun, "Scores", "Share"], rows)


# ----------------------------------------------------------------------------------- rates


def tiers(report: MonitoringReport) -> Markup:
    """Draw what came true in each tier beside what was predicted."""
    listed = report.rates.tiers
    if not listed:
        return _no_rates(report)
    named = [Named(one.tier, one.rate) for one in listed]
    return join(
        page.paragraph(
            "The dot is the share of mature loans that defaulted, the bar across it what the "
            "model had predicted for the same loans. Where the bar is outside the whisker the dot "
            "is orange: chance alone would do that to one tier in twenty. A hollow dot is of too "
            "few loans to say."
        ),
        page.figure(charts.rates(named, "Default rate by tier", "tier")),
        rate_table(
            "Tier", [*((one.tier, one.rate) for one in listed), ("All", report.rates.overall)]
        ),
    )


def months(report: MonitoringReport) -> Markup:
    """Draw what came true of the loans of each month."""
    listed = report.rates.months
    if not any(one.rate.count for one in listed):
        return _no_rates(report)
    named = [Named(one.month, one.rate, one.young) for one in listed]
    young = [one.month for one in listed if one.young]
    said = (
        f"In {_span(young)}, of the loans of the last day more than one in twenty may not be "
        "mature yet: the figures, on grey ground, are of those that are."
        if young
        else "Nearly all of these loans are mature."
    )
    head = ["Month of the score", "Approved at once", "Of these known", *_RATE_HEAD]
    rows = [
        [
            one.month + (" (young)" if one.young else " (partly deleted)" if one.partial else ""),
            numbers.count(one.approved),
            numbers.count(one.known),
            *_rate_cells(one.rate),
        ]
        for one in listed
    ]
    return join(
        page.paragraph(
            "Loans by the month of their score. If the model ages, the dots leave the bars month "
            f"by month; a month alone may have a cause of its own. {said}"
        ),
        _wide(charts.rates(named, "Default rate by month", "month of the score")),
        page.unfold(
            "As a table",
            join(
                page.table(head, rows),
                page.note("Mature loans are also those that an officer approved."),
            ),
        ),
        page.unfold("By tier and month", _cells(report)),
    )


def _cells(report: MonitoringReport) -> Markup:
    rows = [[one.tier, one.month, *_rate_cells(one.rate)] for one in report.rates.cells]
    return page.table(["Tier", "Month", *_RATE_HEAD], rows, words=2)


def _no_rates(report: MonitoringReport) -> Markup:
    known = report.outcomes.known
    if not known:
        return page.paragraph("Nothing is known yet of what became of loans of this model.")
    return page.paragraph(
        f"Something is known of {numbers.plural(known, 'loan')}, and none of them is mature."
    )


_RATE_HEAD: Final = ("Mature loans", "Defaults", "Came true", "95 % interval", "Predicted", "Says")


def rate_table(noun: str, rows: Sequence[tuple[str, Rate]]) -> Markup:
    """Tabulate rates beside what was predicted."""
    return page.table([noun, *_RATE_HEAD], [[name, *_rate_cells(rate)] for name, rate in rows])


def _rate_cells(rate: Rate) -> list[str]:
    return [
        numbers.count(rate.count),
        numbers.count(rate.defaults),
        numbers.percent(rate.realised),
        numbers.between(numbers.percent(rate.low), numbers.percent(rate.high))
        if rate.count
        else numbers.NOTHING,
        numbers.percent(rate.predicted),
        _VERDICTS[rate.verdict] if rate.count else "none yet",
    ]


# ------------------------------------------------------------------------------- stability


def stability(report: MonitoringReport) -> Markup:
    """Draw how far each field is from training, and the bands of those that moved most."""
    if not report.stability:
        return page.paragraph("There are no scores of this model to compare with its training.")
    return join(
        page.paragraph(
            "The population stability index of the score and of each field, against those that "
            "the model was trained on. Bars are of the whole period, each with a limit of its own. "
            "Drift is told from windows of a thousand scores or more, so a field may have drifted "
            "of late though its bar is short."
        ),
        *(_card(card, report.first_day) for card in report.stability),
    )


def _card(card: CardStability, since: date) -> Markup:
    heading = page.heading(f"Card {card.card}: {numbers.plural(card.scores, 'score')}")
    if not card.compared:
        return _card_of_few(card, since, heading)
    listed = [card.score, *card.fields]
    over = [one for one in card.fields if one.verdict is not Movement.STEADY and one.bands]
    shown = over or list(card.fields[:2])
    parts = [
        heading,
        _movements(card, since, listed[:_FIELDS_OPEN], f"PSI on the card {card.card}"),
    ]
    if len(listed) > _FIELDS_OPEN:
        title = f"More fields of the card {card.card}"
        more = _movements(card, since, listed[_FIELDS_OPEN:], title)
        parts.append(page.unfold("The other fields", more))
    said = "What moved, band by band" if over else "The two that moved most, band by band"
    parts += [page.heading(said), page.side_by_side(*(_field(one) for one in shown))]
    if len(card.windows) > 1:
        parts += [page.heading("From window to window"), _windows(card)]
    return join(*parts)


def _movements(card: CardStability, since: date, listed: Sequence[Moved], title: str) -> Markup:
    window = last_window(card, since)
    caption = f"The last window: {named_days(window.first_day, window.last_day)}." if window else ""
    return _wide(movements(listed, window, title), caption)


def _card_of_few(card: CardStability, since: date, heading: Markup) -> Markup:
    """Tell of a card of which only the scores are counted."""
    parts = [
        heading,
        page.paragraph(
            "Its days have too few scores for the bands of fields to be kept: they could tell what "
            "one applicant said. Scores are compared all the same."
        ),
    ]
    if card.score.bands:
        parts.append(_movements(card, since, [card.score], f"PSI on the card {card.card}"))
    if len(card.windows) > 1:
        parts += [page.heading("From window to window"), _windows(card)]
    return join(*parts)


def _field(one: Moved) -> Markup:
    kind = "" if one.verdict is Movement.STEADY else "act"
    return tag(
        "div",
        tag("h4", one.name, page.badge(WORDS[one.verdict], kind)),
        page.figure(charts.bands(_drawn(one.bands), f"{one.name}, now and in training", one.name)),
        class_="card",
    )


def _drawn(listed: Sequence[BandShare]) -> list[Band]:
    """Name bands; words that nobody uses are left out, and "not given" where everybody does."""
    return [
        Band(*_band_names(one), one.now, one.training, apart=one.is_missing)
        for one in listed
        if (one.words is None and not one.is_missing) or max(one.now, one.training) > _SHOWN_MIN
    ]


def _band_names(one: BandShare) -> tuple[str, str]:
    if one.is_missing:
        return "not given", ""
    if one.words is not None:
        return (", ".join(one.words) or "any other"), ""
    if one.low is None:
        return f"under {numbers.short(one.high or 0.0)}", ""
    begins = numbers.short(one.low)
    if one.high is None:
        return f"{begins} and more", begins
    return f"{begins} to under {numbers.short(one.high)}", begins


def _windows(card: CardStability) -> Markup:
    last: dict[str, float] = {}
    for one in card.windows:
        last |= one.psi
    names = sorted(last, key=lambda name: -last[name])[:_TREND_MAX]
    labels = [f"{one.last_day:%d %b}" for one in card.windows]
    lines = [(name, [one.psi.get(name) for one in card.windows]) for name in names]
    limits = [
        min((limit for name, limit in one.limit.items() if name in names), default=PSI_MIN)
        for one in card.windows
    ]
    rows = [
        [
            f"{one.first_day} to {one.last_day}",
            ", ".join(one.over) or "none",
            numbers.count(one.scores),
        ]
        for one in reversed(card.windows)
    ]
    return join(
        _wide(
            charts.trend(labels, lines, limits, f"PSI of the card {card.card}, by window"),
            f"{_most(names)} The dotted line is the lowest of their limits; a limit knows how many "
            "scores its window has. Over it twice in a row is drift, and is announced.",
        ),
        page.unfold(
            "As a table", page.table(["Window", "Over the limit", "Scores"], rows, words=2)
        ),
    )


def _most(names: Sequence[str]) -> str:
    return f"The {len(names)} that moved most." if len(names) > 1 else f"Only {names[0]} is known."


def scores(report: MonitoringReport) -> Markup:
    """Draw the scores of each card, now and in training."""
    drawn = [
        tag(
            "div",
            tag("h4", f"card {card.card}"),
            page.figure(
                charts.bands(
                    _trimmed(_drawn(card.score.bands)), f"Scores of the card {card.card}", "score"
                )
            ),
            class_="card",
        )
        for card in report.stability
        if card.score.bands
    ]
    return join(
        page.paragraph(
            "Scores that wander to the left are riskier applicants, or data that has lost "
            "something. That alone does not make the model wrong: its rates say whether it is."
        ),
        page.side_by_side(*drawn),
    )


def _trimmed(listed: list[Band]) -> list[Band]:
    """Leave out empty bands at both ends."""
    filled = [at for at, one in enumerate(listed) if max(one.now, one.training) > _SHOWN_MIN]
    return listed[filled[0] : filled[-1] + 1] if filled else listed


def _span(months: Sequence[str]) -> str:
    """Name months: the young ones are the last, one after the other."""
    return months[0] if len(months) == 1 else f"{months[0]} to {months[-1]}"
