"""Reports of monitoring as pages: a book, and the pack of a recalibrated model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.monitoring.drift import PSI_MIN
from alama.core.monitoring.figures import (
    COUNT_MIN,
    BandShare,
    CardStability,
    DayVolume,
    Finding,
    MonitoringReport,
    Moved,
    Movement,
    Urgency,
)
from alama.core.monitoring.findings import days as named_days
from alama.core.monitoring.findings import last_window
from alama.core.monitoring.rates import wilson
from alama.monitoring import charts as monitoring_charts
from alama.monitoring.charts import ChartBand, Column, Named, movements
from alama.platform.pages import charts, numbers
from alama.platform.pages.charts import Rate
from alama.platform.pages.render import Markup, join, render, tag

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from alama.core.monitoring.recalibration import Band, Pack


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
        monitoring_charts.rates(tiers, "Default rate by tier", "tier") if tiers else None,
        monitoring_charts.rates(months, "Default rate by month", "month of the score")
        if known
        else None,
        [_card(card, report.first_day) for card in report.stability],
        [(card.card, _scores(card)) for card in report.stability if card.score.bands],
    )


def _volume(by_day: Sequence[DayVolume]) -> Volume:
    """Draw how many scores there were, and how many of them were approved."""
    unit = "day" if len(by_day) <= COLUMNS_MAX else "week"
    days = by_day if unit == "day" else _weeks(by_day)
    columns = [Column(f"{one.day:%d %b}", one.scores, one.approved) for one in days]
    shares = [_approval(one) for one in _weeks(by_day) if one.scores]
    approval = (
        monitoring_charts.shares(shares, "Approval rate by week") if len(shares) > 1 else None
    )
    return Volume(unit, monitoring_charts.volume(columns, f"Scores by {unit}"), approval)


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
    return monitoring_charts.bands(_drawn(one.bands), f"{one.name}, now and in training", one.name)


def _drawn(listed: Sequence[BandShare]) -> list[ChartBand]:
    """Name bands; words that nobody uses are left out, and "not given" where everybody does."""
    return [
        ChartBand(*_band_names(one), one.now, one.training, apart=one.is_missing)
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
    return Trend(monitoring_charts.trend(labels, lines, limits, title), names)


def _scores(card: CardStability) -> Markup:
    """Draw the scores of a card, now and in training."""
    bands = _trimmed(_drawn(card.score.bands))
    return monitoring_charts.bands(bands, f"Scores of the card {card.card}", "score")


def _trimmed(listed: list[ChartBand]) -> list[ChartBand]:
    """Leave out empty bands at both ends."""
    filled = [at for at, one in enumerate(listed) if max(one.now, one.training) > _SHOWN_MIN]
    return listed[filled[0] : filled[-1] + 1] if filled else listed


# ------------------------------------------------------------------------------- the pages


def monitoring_page(report: MonitoringReport) -> str:
    """Give the report as one self-contained HTML page, without script."""
    return render(
        "monitoring/templates/monitoring.html",
        report=report,
        headline=headline(report),
        count_min=COUNT_MIN,
        fields=_fields(report),
        figures=drawn(report),
        with_code=_with_code,
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


class _Fields(NamedTuple):
    """How many fields were compared with training, how many moved, and which one furthest."""

    compared: int
    moved: int
    furthest: Moved | None


def _fields(report: MonitoringReport) -> _Fields:
    """Count fields, each once though several cards may have it; the score is none."""
    listed = [one for card in report.stability if card.compared for one in card.fields]
    return _Fields(
        len({one.name for one in listed}),
        len({one.name for one in listed if one.verdict is not Movement.STEADY}),
        max(listed, key=lambda one: one.psi / one.limit, default=None),
    )


def _with_code(said: str) -> Markup:
    """Set what stands between backticks as code."""
    parts = enumerate(said.split("`"))
    return join(*(tag("code", part) if place % 2 else part for place, part in parts))


_GATES: Final = {
    "recent_outcomes": "Enough recent outcomes",
    "shift_no_chance": "More than chance",
    "shift_size": "A level, and no more",
    "calibration_slope": "Calibration slope",
    "later_half": "Holds for later loans",
}
_SHORT_ID: Final = 8


def recalibration_page(pack: Pack, unsigned: str | None = None) -> str:
    """Give the pack as one self-contained HTML page, without script.

    `unsigned` says why nobody signs for it, whatever the gates say; None where people do.
    """
    return render(
        "monitoring/templates/recalibration.html",
        pack=pack,
        unsigned=unsigned,
        short_id=pack.model_id.removeprefix("sha256:")[:_SHORT_ID],
        gates=[(_GATES.get(gate.name, gate.name), gate) for gate in pack.gates],
        interval=_interval(pack),
        bands=list(zip(pack.before, pack.after, strict=True)),
        before=charts.reliability(_rates(pack.before), "As it answers now"),
        after=charts.reliability(_rates(pack.after), "As recalibrated"),
    )


def _interval(pack: Pack) -> tuple[float, float]:
    """Give the 95 % interval of the points that scores move by."""
    reach = 1.96 * pack.shift_error * abs(pack.points / pack.shift) if pack.shift else 0.0
    return pack.points - reach, pack.points + reach


def _rates(bands: Sequence[Band]) -> list[Rate]:
    return [Rate(one.predicted, one.observed, one.low, one.high, one.loans) for one in bands]
