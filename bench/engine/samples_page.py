"""What samples of the real tables showed: a table, the promises that were missed, and a plot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from alama.platform.pages import svg
from alama.platform.pages.render import Markup, join, tag
from alama.platform.pages.svg import Frame
from bench.engine.draws import ALL
from bench.engine.options import TABLE_NAMES
from bench.page import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.page import Document

ALAMA: Final = "alama"
LIGHTGBM: Final = "lightgbm"
OPTBINNING: Final = "optbinning"
BEST_FIELD: Final = "best field"
PLOT: Final = "samples.svg"

BEHIND_MAX: Final = 0.005
"""How far the mean AUC may lie below that of LightGBM."""

SLOPE_MIN: Final = 0.85
SLOPE_MAX: Final = 1.15
SLOPE_DEFAULTS_MIN: Final = 300
"""The slope is promised from so many defaults on."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """By how much our AUC is ahead of another's: the mean over draws, and its standard error."""

    mean: float
    error: float


@dataclass(frozen=True, slots=True)
class Line:
    """One table at one size; only draws count on which everyone was judged."""

    table: str
    size: str
    rows: int
    defaults: int
    draws: int
    auc: float
    lightgbm: Ahead
    optbinning: Ahead
    slope: float
    worst: float
    below_best_field: int

    @property
    def name(self) -> str:
        return f"{self.table}, {self.defaults:,} defaults"


def lines(document: Document) -> list[Line]:
    """Sum up what is known, small sizes first."""
    known = document.get("samples", {})
    found = [
        _line(name, size, known)
        for name in TABLE_NAMES
        for size in dict.fromkeys(key.split("/")[1] for key in known if key.startswith(f"{name}/"))
    ]
    ordered = sorted(
        (line for line in found if line), key=lambda line: (line.size == ALL, line.defaults)
    )
    return sorted(ordered, key=lambda line: TABLE_NAMES.index(line.table))


def _line(name: str, size: str, known: dict[str, Any]) -> Line | None:
    models = (ALAMA, LIGHTGBM, OPTBINNING, BEST_FIELD)
    draws = {m: known.get(f"{name}/{size}/{m}", {}).get("draws", {}) for m in models}
    shared = sorted(set.intersection(*(set(of_model) for of_model in draws.values())))
    if not shared:
        return None
    ours, forest, binned, field = (np.array([draws[m][d][0] for d in shared]) for m in models)
    entry = known[f"{name}/{size}/{ALAMA}"]
    return Line(
        table=name,
        size=size,
        rows=entry["rows"],
        defaults=entry["defaults"],
        draws=len(shared),
        auc=float(ours.mean()),
        lightgbm=_ahead(ours - forest),
        optbinning=_ahead(ours - binned),
        slope=float(np.mean([draws[ALAMA][d][2] for d in shared])),
        worst=float(np.min(ours - forest)),
        below_best_field=int(np.count_nonzero(ours < field)),
    )


def _ahead(differences: np.ndarray[Any, np.dtype[np.float64]]) -> Ahead:
    count = len(differences)
    error = float(differences.std(ddof=1)) / math.sqrt(count) if count > 1 else math.nan
    return Ahead(float(differences.mean()), error)


def block(measured: Sequence[Line]) -> str:
    """Write the plot, the table and what was missed."""
    head = ["table", "defaults", "rows", "draws", "AUC", "ahead of LightGBM", "s.e."]
    head += ["ahead of optbinning", "s.e.", "slope", "worst draw against LightGBM"]
    head += ["runs below the best single field"]
    rows = [
        [
            line.table,
            f"{line.defaults:,}" + (" (all)" if line.size == ALL else ""),
            f"{line.rows:,}",
            f"{line.draws}",
            f"{line.auc:.4f}",
            *(f for ahead in (line.lightgbm, line.optbinning) for f in _figures(ahead)),
            f"{line.slope:.2f}",
            f"{line.worst:+.4f}",
            f"{line.below_best_field}",
        ]
        for line in measured
    ]
    missed = [f"- {said}" for line in measured for said in verdicts(line)]
    told = "\n".join(["Missed:", "", *missed]) if missed else "No promise is missed."
    picture = f"![AUC ahead of LightGBM and of optbinning, by the number of defaults]({PLOT})"
    return f"{picture}\n\n{table(head, rows)}\n\n{told}"


def _figures(ahead: Ahead) -> tuple[str, str]:
    error = "unknown" if math.isnan(ahead.error) else f"{ahead.error:.4f}"
    return f"{ahead.mean:+.4f}", error


def verdicts(line: Line) -> Iterator[str]:
    """Say which promises a table and size misses; of a single draw the error counts as nought."""
    error = 0.0 if math.isnan(line.optbinning.error) else line.optbinning.error
    if line.optbinning.mean < -error:
        yield (
            f"{line.name}: mean AUC {-line.optbinning.mean:.4f} below that of optbinning, "
            f"more than a standard error ({error:.4f})."
        )
    if line.lightgbm.mean < -BEHIND_MAX:
        yield (
            f"{line.name}: mean AUC {-line.lightgbm.mean:.4f} below that of LightGBM, "
            f"more than {BEHIND_MAX}."
        )
    if line.defaults >= SLOPE_DEFAULTS_MIN and not SLOPE_MIN <= line.slope <= SLOPE_MAX:
        yield f"{line.name}: slope {line.slope:.2f}, outside {SLOPE_MIN} to {SLOPE_MAX}."
    if line.below_best_field:
        yield (
            f"{line.name}: below the best single field in {line.below_best_field} of "
            f"{line.draws} runs."
        )


# ---------------------------------------------------------------------------------------- the plot


_STYLE: Final = (
    "<style>text{font:12px sans-serif;fill:#444}.name{font-weight:bold}.small{font-size:11px}"
    ".curve{fill:none;stroke-width:2}"
    ".tone-a{stroke:#2b6cb0}.tone-b{stroke:#d1661f;stroke-dasharray:7 3}"
    ".point.tone-a{fill:#2b6cb0}.point.tone-b{fill:#d1661f;stroke-dasharray:none}"
    ".band{stroke:none;fill-opacity:.18}.band.tone-a{fill:#2b6cb0}.band.tone-b{fill:#d1661f}"
    ".grid{stroke:#e4e4e4}.axis{stroke:#bbb}.zero{stroke:#444}"
    ".limit{stroke:#b91c1c;stroke-dasharray:3 3}.limit-text{fill:#b91c1c;font-size:11px}</style>"
)
_WIDTH: Final = 860.0
_PANEL_HEIGHT: Final = 260.0
_TOP: Final = 34.0
_BOTTOM: Final = 20.0
_BEND: Final = 0.01
"""Differences have equal steps up to here and nearly equal factors beyond: with few defaults they
reach far, and would press the promise against the zero line."""

_TICKS: Final = (-0.2, -0.1, -0.05, -0.02, -0.01, 0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
_SERIES: Final = (("LightGBM, 8 bags", "tone-a"), ("optbinning", "tone-b"))


def plot(measured: Sequence[Line]) -> str:
    """Draw how far ahead we are, by the number of defaults, a panel for each table."""
    names = [name for name in TABLE_NAMES if any(line.table == name for line in measured)]
    down = -(-len(names) // 2)
    whole = Frame(_WIDTH, _TOP + down * _PANEL_HEIGHT + _BOTTOM)
    every = [ahead for line in measured for ahead in (line.lightgbm, line.optbinning)]
    reach = [-_BEND, _BEND, *(edge for ahead in every for edge in _band(ahead))]
    panels = [
        _panel(
            name,
            [line for line in measured if line.table == name],
            Frame(
                width=(place % 2 + 1) * _WIDTH / 2.0,
                height=_TOP + (place // 2 + 1) * _PANEL_HEIGHT,
                left=place % 2 * _WIDTH / 2.0 + 58.0,
                right=14.0,
                top=_TOP + place // 2 * _PANEL_HEIGHT + 26.0,
                bottom=30.0,
            ),
            reach,
        )
        for place, name in enumerate(names)
    ]
    drawn = svg.drawing(
        whole,
        "AUC ahead of LightGBM and of optbinning",
        f"By the number of defaults to learn from, on {', '.join(names)}.",
        _legend(),
        *panels,
        svg.label(_WIDTH / 2.0, whole.height - 8.0, "defaults to learn from", "caption"),
    )
    head, rest = str(drawn).split(">", 1)
    return f'{head} xmlns="http://www.w3.org/2000/svg">{_STYLE}{rest}\n'


def _panel(name: str, measured: Sequence[Line], frame: Frame, reach: Sequence[float]) -> Markup:
    straight = frame.y(min(map(_bent, reach)) - 0.2, max(map(_bent, reach)) + 0.2)
    ticks = [tick for tick in _TICKS if straight.low <= _bent(tick) <= straight.high]

    def y(value: float) -> float:
        return straight(_bent(value))

    aheads = [[line.lightgbm for line in measured], [line.optbinning for line in measured]]
    counts = [float(line.defaults) for line in measured]
    x = svg.Log(min(counts) / 1.25, max(counts) * 1.25, frame.x0, frame.x1)
    marks = []
    for series, (against, tone) in zip(aheads, _SERIES, strict=True):
        bands = [_band(ahead) for ahead in series]
        upper = [(x(n), y(b[1])) for n, b in zip(counts, bands, strict=True)]
        lower = [(x(n), y(b[0])) for n, b in zip(counts, bands, strict=True)]
        middle = [(x(n), y(ahead.mean)) for n, ahead in zip(counts, series, strict=True)]
        marks.append(svg.path([*upper, *reversed(lower)], f"band {tone}"))
        marks.append(svg.path(middle, f"curve {tone}"))
        for line, ahead, (px, py) in zip(measured, series, middle, strict=True):
            told = f"{line.name}, ahead of {against}: {ahead.mean:+.4f}"
            marks.append(svg.dot(px, py, f"point {tone}", told, 3.0))
    return join(
        svg.label(frame.x0, frame.y1 - 10.0, name, "name", "start"),
        *(svg.line(frame.x0, y(t), frame.x1, y(t), "grid") for t in ticks),
        *(svg.label(frame.x0 - 6.0, y(t) + 4.0, f"{t:+g}", anchor="end") for t in ticks if t),
        svg.label(frame.x0 - 6.0, y(0.0) + 4.0, "0", anchor="end"),
        *(svg.line(x(n), frame.y0, x(n), frame.y0 + 4.0, "axis") for n in counts),
        *(svg.label(x(n), frame.y0 + 17.0, f"{n:,.0f}") for n in counts),
        svg.line(frame.x0, frame.y0, frame.x1, frame.y0, "axis"),
        svg.line(frame.x0, y(0.0), frame.x1, y(0.0), "zero"),
        svg.line(frame.x0, y(-BEHIND_MAX), frame.x1, y(-BEHIND_MAX), "limit"),
        *marks,
    )


def _bent(difference: float) -> float:
    return math.asinh(difference / _BEND)


def _band(ahead: Ahead) -> tuple[float, float]:
    error = 0.0 if math.isnan(ahead.error) else ahead.error
    return ahead.mean - error, ahead.mean + error


def _legend() -> Markup:
    parts, at = [svg.label(14.0, 18.0, "AUC ahead of", "label", "start")], 96.0
    for name, tone in _SERIES:
        parts.append(svg.line(at, 14.0, at + 26.0, 14.0, f"curve {tone}"))
        parts.append(svg.label(at + 32.0, 18.0, name, anchor="start"))
        at += 56.0 + svg.text_width(name)
    parts.append(tag("rect", x=at, y=8.0, width=26.0, height=12.0, class_="band tone-a"))
    parts.append(svg.label(at + 32.0, 18.0, "one standard error", anchor="start"))
    at += 56.0 + svg.text_width("one standard error")
    parts.append(svg.line(at, 14.0, at + 26.0, 14.0, "limit"))
    said = f"{-BEHIND_MAX}, the most behind LightGBM"
    parts.append(svg.label(at + 32.0, 18.0, said, anchor="start"))
    return join(*parts)
