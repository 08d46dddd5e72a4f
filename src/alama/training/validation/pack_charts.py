"""The one drawing that only a pack needs: the scores of those who applied and of the booked."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from alama.pages import numbers, svg
from alama.pages.markup import join
from alama.pages.svg import Frame

if TYPE_CHECKING:
    from alama.pages.markup import Markup
    from alama.training.validation.selection import Selection


def scores(found: Selection) -> Markup:
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
