"""The validation pack as one page: values and drawings for templates/pack.html."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from alama.core.tables import MISSING, Card, Feature
from alama.platform.pages import charts, numbers, svg
from alama.platform.pages.charts import Bar, Curve, Difference, Rate
from alama.platform.pages.render import Markup, join, render
from alama.platform.pages.svg import Frame
from alama.training.validation import shapes
from alama.training.validation.fairness import FOUR_FIFTHS, GROUP_ROWS_MIN, Attribute
from alama.training.validation.report import Measured, shared_values, written_figures
from alama.training.validation.tiers import AMBER_BELOW, RED_BELOW, lights, seldom_judged

if TYPE_CHECKING:
    from alama.core.model import Model
    from alama.training.history.report import HistoryReport
    from alama.training.validation.pack import Pack
    from alama.training.validation.support import FieldSelection, Selection, Support

_SHORT_ID: Final = 8
_MISSING_SHOWN: Final = 0.0005
_FIELDS_SHOWN: Final = 10
_PSI_WATCH: Final = 0.1


@dataclass(frozen=True, slots=True)
class Scorecard:
    """A card as tables to add up by hand, those that move the score most first.

    Each is its field and its bands: label, points, share, default rate (None where nobody was).
    """

    name: str
    base: float
    pairs: int
    always_given: bool
    tables: list[tuple[str, list[tuple[str, float, float, float | None]]]]


@dataclass(frozen=True, slots=True)
class SelectionDrawings:
    """The booked against all who applied: scores, and the fields that differ most."""

    scores: Markup
    psi_by_field: Markup
    fields: tuple[FieldSelection, ...]


def pack_page(pack: Pack, model: Model) -> str:
    """Give the pack as one self-contained HTML page, without script."""
    found = pack.selection
    missing = [missing for missing in pack.history.missing if missing.share >= _MISSING_SHOWN]
    return render(
        "training/validation/templates/pack.html",
        **shared_values(model, pack.validation, pack.notes),
        pack=pack,
        short_id=pack.model_id.removeprefix("sha256:")[:_SHORT_ID],
        rate_by_month=_rate_by_month(pack.history),
        not_given=sorted(missing, key=lambda missing: -missing.share),
        rate_by_tier=_rate_by_tier(pack),
        lights_counted=[(light, count) for light, count in lights(pack.tiers).items() if count],
        amber_below=AMBER_BELOW,
        red_below=RED_BELOW,
        lead=_lead(pack),
        scorecards=[_scorecard(model, card) for card in reversed(model.cards)],
        compared=[(attribute, _ratios(attribute)) for attribute in pack.fairness],
        four_fifths=FOUR_FIFTHS,
        group_rows_min=GROUP_ROWS_MIN,
        approved_without_region=_approved_without_region(pack),
        selected=None if found.booked == found.applications else _selected(found),
        refitted=_refitted(pack),
        kept_out=None if pack.support is None else _kept_out(pack.support),
        seldom_judged=seldom_judged(pack.split.terms),
    )


def _refitted(pack: Pack) -> Measured | None:
    made = None if pack.refit is None else pack.refit.made
    return None if made is None else written_figures(made.served)


def _rate_by_month(history: HistoryReport) -> Markup | None:
    known = [(month.month, month.rate) for month in history.months if month.rate is not None]
    if len(known) <= 1:
        return None
    rates = Curve("default rate", list(range(len(known))), [rate for _, rate in known])
    return charts.trend([name for name, _ in known], [rates], "Default rate by month", "month")


def _rate_by_tier(pack: Pack) -> Markup:
    rates = [
        Rate(t.predicted, t.observed, t.interval.low, t.interval.high, t.loans)
        for t in pack.tiers
        if t.loans
    ]
    return charts.reliability(rates, "Predicted and observed default rate by tier")


def _lead(pack: Pack) -> Markup:
    plain = pack.validation.cards[-1].peers[0]
    rivals = [(plain.name, plain.ahead, plain.ahead_interval)]
    if pack.current is not None:
        rivals.append(("model in use", pack.current.ahead, pack.current.ahead_interval))
    listed = [Difference(name, ahead, inner.low, inner.high) for name, ahead, inner in rivals]
    return charts.differences(
        listed, lambda value: numbers.signed(value, 4), "The candidate's lead", "lead in AUC"
    )


def _scorecard(model: Model, card: Card) -> Scorecard:
    required = {field.name for field in model.catalogue.fields if field.required}
    ordered = sorted(card.features, key=lambda feature: min(feature.main) - max(feature.main))
    return Scorecard(
        name=card.name,
        base=card.base,
        pairs=len(card.pairs),
        always_given=all(feature.field in required for feature in card.features),
        tables=[(f.field, _bands(f, always_given=f.field in required)) for f in ordered],
    )


def _bands(feature: Feature, *, always_given: bool) -> list[tuple[str, float, float, float | None]]:
    listed = list(
        zip(
            shapes.slot_labels(feature),
            feature.main,
            feature.shares,
            feature.default_rates,
            strict=True,
        )
    )
    return listed[MISSING + 1 :] if always_given else listed


def _ratios(attribute: Attribute) -> Markup | None:
    compared = [Bar(g.name, g.ratio) for g in attribute.groups if g.ratio is not None]
    if not compared:
        return None
    return charts.bars(
        compared,
        lambda value: numbers.fixed(value, 2),
        f"Four-fifths ratio by {attribute.name}",
        full_at_least=1.0,
        limits=((FOUR_FIFTHS, "four fifths"),),
    )


def _approved_without_region(pack: Pack) -> dict[tuple[str, str], float]:
    """Give the share that is approved, by attribute and group."""
    without = () if pack.region is None else pack.region.without
    return {(one.name, group.name): group.approved for one in without for group in one.groups}


def _selected(found: Selection) -> SelectionDrawings:
    fields = found.fields[:_FIELDS_SHOWN]
    psi_by_field = charts.bars(
        [Bar(field.field, field.psi) for field in fields],
        numbers.fixed,
        "PSI of each field, booked against applied",
        full_at_least=_PSI_WATCH * 1.1,
        limits=((_PSI_WATCH, "0.1 watch"),),
    )
    return SelectionDrawings(_applied_and_booked(found), psi_by_field, fields)


def _kept_out(support: Support) -> Markup:
    return charts.bars(
        [Bar(one.field, one.share) for one in support.kept_out[:_FIELDS_SHOWN]],
        numbers.percent,
        "Which field keeps people out",
    )


def _applied_and_booked(found: Selection) -> Markup:
    """Draw all who applied as a crowd and the booked as a line, each as shares of its own."""
    frame = Frame(760.0, 280.0, left=58.0, top=30.0)
    edges = found.score_edges
    x = frame.x(edges[0], edges[-1])
    y = frame.y(0.0, max(*found.applied_shares, *found.booked_shares) * 1.12)
    crowd, outline = [], [(x(edges[0]), y(0.0))]
    for place, (low, high) in enumerate(pairwise(edges)):
        applied, booked = found.applied_shares[place], found.booked_shares[place]
        told = (
            f"{low:.0f} to {high:.0f} points: {numbers.percent(applied)} of all who applied, "
            f"{numbers.percent(booked)} of the booked"
        )
        left, top = x(low), y(applied)
        crowd.append(svg.box(left, top, x(high) - left - 1.0, y(0.0) - top, "crowd", told))
        outline += [(left, y(booked)), (x(high), y(booked))]
    outline.append((x(edges[-1]), y(0.0)))
    return svg.drawing(
        frame,
        "Scores of all who applied and of the booked",
        f"From {edges[0]:.0f} to {edges[-1]:.0f} points; PSI {numbers.fixed(found.score_psi)}.",
        svg.bottom_axis(frame, x, x.ticks(9), lambda tick: f"{tick:.0f}", "score"),
        svg.left_axis(frame, y, y.ticks(4), lambda tick: numbers.percent(tick, 0), "share"),
        *crowd,
        svg.path(outline, "step"),
        _legend(frame),
    )


def _legend(frame: Frame) -> Markup:
    x, y = frame.x0 + 4.0, 14.0
    return join(
        svg.box(x, y - 7.0, 22.0, 10.0, "crowd"),
        svg.label(x + 28.0, y + 2.0, "all who applied", anchor="start"),
        svg.line(x + 132.0, y - 2.0, x + 156.0, y - 2.0, "step"),
        svg.label(x + 162.0, y + 2.0, "booked", anchor="start"),
    )
