"""The drawings of a monitoring report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.monitoring.figures import Movement
from alama.core.monitoring.rates import wilson
from alama.core.monitoring.stability import PSI_MIN
from alama.core.monitoring.words import days as named_days
from alama.core.monitoring.words import last_window
from alama.pages import monitoring_charts as charts
from alama.pages import numbers
from alama.pages.monitoring_charts import Band, Column, Named
from alama.pages.monitoring_movements import movements

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from alama.core.monitoring.figures import (
        BandShare,
        CardStability,
        DayVolume,
        MonitoringReport,
        Moved,
    )
    from alama.pages.markup import Markup

COLUMNS_MAX: Final = 92
"""Columns of a drawing; what has more days is drawn by the week."""

_WEEK: Final = 7
_FIELDS_OPEN: Final = 12
_TREND_MAX: Final = 4
_SHOWN_MIN: Final = 0.0005


class Volume(NamedTuple):
    """How many scores there were by the day or by the week, and the share that was approved."""

    unit: str
    picture: Markup
    approval: Markup | None


class Trend(NamedTuple):
    """The index of a card from window to window, of those that moved most."""

    picture: Markup
    names: Sequence[str]


class Card(NamedTuple):
    """How far a card is from training: the score and its fields, the bands of some, windows.

    A card of few scores a day has no fields.
    """

    card: CardStability
    movements: Markup | None
    more_movements: Markup | None
    last_window: str
    has_moved: bool
    fields: Sequence[tuple[Moved, Markup]]
    trend: Trend | None


class Drawn(NamedTuple):
    """What the page shows beside its words; a picture is None where there is nothing to draw."""

    volume: Volume | None
    tiers: Markup | None
    months: Markup | None
    cards: Sequence[Card]
    scores: Sequence[tuple[str, Markup]]


def drawn(report: MonitoringReport) -> Drawn:
    """Draw all there is to draw."""
    tiers = [Named(one.tier, one.rate) for one in report.rates.tiers]
    months = [Named(one.month, one.rate, one.young) for one in report.rates.months]
    known = any(one.rate.count for one in months)
    return Drawn(
        _volume(report.volume.days) if report.volume.scores else None,
        charts.rates(tiers, "Default rate by tier", "tier") if tiers else None,
        charts.rates(months, "Default rate by month", "month of the score") if known else None,
        [_card(card, report.first_day) for card in report.stability],
        [(card.card, _scores(card)) for card in report.stability if card.score.bands],
    )


def _volume(by_day: Sequence[DayVolume]) -> Volume:
    """Draw how many scores there were, and how many of them were approved."""
    unit = "day" if len(by_day) <= COLUMNS_MAX else "week"
    days = by_day if unit == "day" else _weeks(by_day)
    columns = [Column(f"{one.day:%d %b}", one.scores, one.approved) for one in days]
    shares = [_approval(one) for one in _weeks(by_day) if one.scores]
    approval = charts.shares(shares, "Approval rate by week") if len(shares) > 1 else None
    return Volume(unit, charts.volume(columns, f"Scores by {unit}"), approval)


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


def _card(card: CardStability, since: date) -> Card:
    """Draw how far each field is from training, and the bands of those that moved most."""
    window = last_window(card, since)
    listed = [card.score, *card.fields] if card.compared else [card.score]
    over = [one for one in card.fields if one.verdict is not Movement.STEADY and one.bands]
    shown = (over or card.fields[:2]) if card.compared else ()
    title = f"PSI on the card {card.card}"
    first, more = listed[:_FIELDS_OPEN], listed[_FIELDS_OPEN:]
    return Card(
        card,
        movements(first, window, title) if card.compared or card.score.bands else None,
        movements(more, window, f"More fields of the card {card.card}") if more else None,
        named_days(window.first_day, window.last_day) if window else "",
        bool(over),
        [(one, _field(one)) for one in shown],
        _trend(card) if len(card.windows) > 1 else None,
    )


def _field(one: Moved) -> Markup:
    return charts.bands(_drawn(one.bands), f"{one.name}, now and in training", one.name)


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


def _trend(card: CardStability) -> Trend:
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
    title = f"PSI of the card {card.card}, by window"
    return Trend(charts.trend(labels, lines, limits, title), names)


def _scores(card: CardStability) -> Markup:
    """Draw the scores of a card, now and in training."""
    bands = _trimmed(_drawn(card.score.bands))
    return charts.bands(bands, f"Scores of the card {card.card}", "score")


def _trimmed(listed: list[Band]) -> list[Band]:
    """Leave out empty bands at both ends."""
    filled = [at for at, one in enumerate(listed) if max(one.now, one.training) > _SHOWN_MIN]
    return listed[filled[0] : filled[-1] + 1] if filled else listed
