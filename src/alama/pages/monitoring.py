"""The monitoring report of a book as one page: what to look at, and the figures behind it.

The template has the words, `monitoring_figures` the drawings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from alama.core.monitoring.figures import COUNT_MIN, Movement, Urgency
from alama.pages import monitoring_figures
from alama.pages import render as templates
from alama.pages.markup import Markup, join, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.monitoring.figures import Finding, MonitoringReport, Moved


def render(report: MonitoringReport) -> str:
    """Give the report as one self-contained HTML page, without script."""
    return templates.render(
        "pages/templates/monitoring.html",
        report=report,
        headline=headline(report),
        count_min=COUNT_MIN,
        fields=_fields(report),
        figures=monitoring_figures.drawn(report),
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
