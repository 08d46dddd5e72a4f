"""Charts of monitoring: what came true beside what was predicted, and today beside training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.monitoring.figures import Moved, Movement, Rate, WindowFigure
from alama.platform.pages import numbers, svg
from alama.platform.pages.render import Markup, join
from alama.platform.pages.svg import Frame

if TYPE_CHECKING:
    from collections.abc import Sequence


TRAINING: Final = "training"
NOW: Final = "now"
_WIDTH: Final = 760.0
_STEP_PX: Final = 74.0
_LABELS_EVERY_PX: Final = 58.0
_ASIDE: Final = 2.0
"""Columns for a band that stands apart: its own, and one of air before it."""

_OFF: Final = frozenset({"higher", "lower"})
_MOVEMENTS_WIDTH: Final = 640.0
_NAMES_PX: Final = 166.0
_VALUE_PX: Final = 40.0
"""Room for the value at the end of the longest bar."""

_WINDOW_PX: Final = 84.0
_VERDICT_PX: Final = 62.0
_ROW_PX: Final = 31.0
_LIMIT_PX: Final = 11.0
"""At the top of a row, for the limit above its mark."""

_BAR_PX: Final = 14.0


@dataclass(frozen=True, slots=True)
class Column:
    """Scores of some days: their name, how many, and how many of them were approved."""

    name: str
    count: int
    part: int


@dataclass(frozen=True, slots=True)
class Named:
    """A rate with its name; `young`: not all that belongs to it is known yet."""

    name: str
    rate: Rate
    young: bool = False


@dataclass(frozen=True, slots=True)
class ChartBand:
    """A band by its name and, at an edge of the axis, the number where it begins.

    One that is `apart` is no neighbour of the others: those who did not say.
    """

    name: str
    begins: str
    now: float
    training: float
    apart: bool = False


def volume(listed: Sequence[Column], title: str) -> Markup:
    """Draw how many scores there were over time, and how many of them were approved."""
    frame = Frame(_WIDTH, 230.0, left=58.0, top=30.0, bottom=30.0)
    top = max(1, *(one.count for one in listed))
    x, y = frame.x(0.0, len(listed)), frame.y(0.0, top * 1.06)
    marks: list[str] = []
    for place, one in enumerate(listed):
        left, wide = x(place), max(x(place + 1) - x(place) - 1.0, 0.6)
        tooltip = (
            f"{one.name}: {numbers.plural(one.count, 'score')}, {numbers.count(one.part)} approved"
        )
        marks.append(svg.box(left, y(one.count), wide, frame.y0 - y(one.count), "crowd", tooltip))
        marks.append(svg.box(left, y(one.part), wide, frame.y0 - y(one.part), "bar-plain", tooltip))
    return svg.drawing(
        frame,
        title,
        f"From {listed[0].name} to {listed[-1].name}: "
        f"{numbers.plural(sum(one.count for one in listed), 'score')}.",
        svg.left_axis(frame, y, _whole_ticks(y, top), numbers.short, "scores"),
        *marks,
        svg.line(frame.x0, frame.y0, frame.x1, frame.y0, "axis"),
        *_names_below(frame, x, [one.name for one in listed]),
        _key(frame.x0, ("bar-plain", "approved"), ("crowd", "all others")),
    )


def _whole_ticks(y: svg.Linear, top: int) -> list[float]:
    return [tick for tick in y.ticks(4) if tick == int(tick) and tick <= max(top, 1)]


def _key(x: float, *parts: tuple[str, str]) -> Markup:
    drawn = []
    for style, name in parts:
        drawn.append(svg.box(x, 6.0, 11.0, 11.0, style))
        drawn.append(svg.label(x + 16.0, 16.0, name, anchor="start"))
        x += 34.0 + svg.text_width(name)
    return join(*drawn)


def shares(listed: Sequence[tuple[str, float, float, float]], title: str) -> Markup:
    """Draw a share over time with its interval: name, share, low, high."""
    frame = Frame(_WIDTH, 200.0, left=58.0, top=14.0, bottom=30.0)
    low = min(one[2] for one in listed)
    high = max(one[3] for one in listed)
    room = max((high - low) * 0.1, 0.01)
    x, y = frame.x(0.0, len(listed)), frame.y(max(low - room, 0.0), min(high + room, 1.0))
    points = [(x(place + 0.5), y(one[1])) for place, one in enumerate(listed)]
    marks: list[str] = []
    for (at, height), (name, share, least, most) in zip(points, listed, strict=True):
        tooltip = f"{name}: {numbers.percent(share)} ({_between(least, most)})"
        marks.append(svg.line(at, y(least), at, y(most), "whisker"))
        marks.append(svg.dot(at, height, "dot", tooltip))
    return svg.drawing(
        frame,
        title,
        f"From {numbers.percent(listed[0][1])} to {numbers.percent(listed[-1][1])}.",
        svg.left_axis(frame, y, y.ticks(4), _tick, "approved"),
        svg.line(frame.x0, frame.y0, frame.x1, frame.y0, "axis"),
        svg.path(points, "curve tone-a"),
        *marks,
        *_names_below(frame, x, [one[0] for one in listed]),
    )


def rates(listed: Sequence[Named], title: str, caption: str) -> Markup:
    """Draw realised rates as dots with their intervals, and predicted ones as bars across.

    A dot is orange where the prediction lies outside. It is hollow, and has no
    interval, where there are too few loans.
    """
    width = min(max(len(listed) * _STEP_PX + 90.0, 420.0), _WIDTH)
    frame = Frame(width, 300.0, left=58.0, top=34.0)
    ends = [one.rate.high for one in listed if one.rate.verdict != "too_few"]
    ends += [max(one.rate.predicted or 0.0, one.rate.realised or 0.0) for one in listed]
    top = min(max(*ends, 0.01) * 1.12, 1.0)
    x, y = frame.x(0.0, len(listed)), frame.y(0.0, top)
    half = min((x(1.0) - x(0.0)) * 0.3, 18.0)
    marks = [_rate(one, x(place + 0.5), half, y) for place, one in enumerate(listed)]
    ground = [
        svg.box(x(place), frame.y1, x(1.0) - x(0.0), frame.y0 - frame.y1, "young")
        for place, one in enumerate(listed)
        if one.young
    ]
    summary = "; ".join(f"{one.name}: {_rate_text(one.rate)}" for one in listed)
    return svg.drawing(
        frame,
        title,
        f"{summary}.",
        *ground,
        svg.left_axis(frame, y, y.ticks(5), _tick, "defaulted"),
        svg.bottom_axis(frame, x, [], str, caption),
        *marks,
        *_names_below(frame, x, [one.name for one in listed]),
        _rates_key(frame.x0),
    )


def _rate(one: Named, at: float, half: float, y: svg.Linear) -> Markup:
    rate = one.rate
    if rate.realised is None or rate.predicted is None:
        return svg.label(at, y(0.0) - 6.0, "none yet", "label tiny")
    off = rate.verdict in _OFF
    few = rate.verdict == "too_few"
    tooltip = f"{one.name}: {_rate_text(rate)}"
    style = "whisker-off" if off else "whisker"
    return join(
        # Of too few loans it would be longer than the drawing is high.
        svg.line(at, y(rate.low), at, y(rate.high), style) if not few else "",
        svg.line(at - half, y(rate.predicted), at + half, y(rate.predicted), "predicted"),
        svg.dot(
            at, y(rate.realised), "dot-off" if off else "dot-few" if few else "dot", tooltip, 4.6
        ),
    )


def _rate_text(rate: Rate) -> str:
    if rate.realised is None:
        return "no mature loans"
    return (
        f"{numbers.percent(rate.realised)} of {numbers.count(rate.count)} defaulted "
        f"({_between(rate.low, rate.high)}), {numbers.percent(rate.predicted)} predicted"
    )


def _rates_key(x: float) -> Markup:
    return join(
        svg.line(x + 6.0, 6.0, x + 6.0, 22.0, "whisker"),
        svg.dot(x + 6.0, 14.0, "dot", "", 4.6),
        svg.label(x + 17.0, 18.0, "came true, with its 95 % interval", anchor="start"),
        svg.line(x + 238.0, 14.0, x + 262.0, 14.0, "predicted"),
        svg.label(x + 268.0, 18.0, "predicted", anchor="start"),
    )


def bands(listed: Sequence[ChartBand], title: str, caption: str) -> Markup:
    """Draw the shares of bands: training as grey columns, today as a line over them."""
    frame = Frame(
        430.0,
        220.0 + (54.0 if _turned(listed) else 0.0),
        left=52.0,
        top=30.0,
        bottom=100.0 if _turned(listed) else 46.0,
    )
    along = [one for one in listed if not one.apart]
    aside = [one for one in listed if one.apart]
    x = frame.x(0.0, len(along) + (_ASIDE if aside else 0.0))
    y = frame.y(0.0, max(0.01, *(max(one.now, one.training) for one in listed)) * 1.08)
    most = max(listed, key=lambda one: abs(one.now - one.training))
    return svg.drawing(
        frame,
        title,
        f"The band that moved most: {_band_told(most)}.",
        svg.left_axis(frame, y, y.ticks(4), _tick),
        _filled(along, 0.0, x, y),
        _filled(aside, len(along) + _ASIDE - 1.0, x, y),
        svg.line(frame.x0, frame.y0, frame.x1, frame.y0, "axis"),
        *_band_names(frame, x, along, sum(svg.text_width(one.name) + 10.0 for one in aside)),
        *(svg.label(frame.x1, frame.y0 + 16.0, one.name, anchor="end") for one in aside),
        svg.label((frame.x0 + frame.x1) / 2.0, frame.height - 8.0, caption, "caption"),
        svg.box(frame.x0 + 4.0, 6.0, 12.0, 10.0, "crowd"),
        svg.label(frame.x0 + 21.0, 15.0, TRAINING, anchor="start"),
        svg.line(frame.x0 + 84.0, 11.0, frame.x0 + 104.0, 11.0, "step"),
        svg.label(frame.x0 + 110.0, 15.0, NOW, anchor="start"),
    )


def _filled(listed: Sequence[ChartBand], start: float, x: svg.Linear, y: svg.Linear) -> Markup:
    """Draw neighbouring bands from a place on."""
    columns, outline = [], [(x(start), y(0.0))]
    for place, one in enumerate(listed):
        left, right = x(start + place), x(start + place + 1.0)
        height = y(0.0) - y(one.training)
        box = svg.box(left, y(one.training), right - left - 1.0, height, "crowd", _band_told(one))
        columns.append(box)
        outline += [(left, y(one.now)), (right, y(one.now))]
    outline.append((x(start + len(listed)), y(0.0)))
    return join(*columns, svg.path(outline, "step")) if listed else join()


def _band_told(one: ChartBand) -> str:
    return (
        f"{one.name}: {numbers.percent(one.training)} in training, {numbers.percent(one.now)} now"
    )


def _turned(listed: Sequence[ChartBand]) -> bool:
    """Say whether bands are words, which stand at an angle under their columns."""
    return not any(one.begins for one in listed if not one.apart)


def _band_names(
    frame: Frame, x: svg.Linear, listed: Sequence[ChartBand], taken_px: float
) -> list[Markup]:
    """Write under bands what they hold, as far as there is room; the last pixels are taken."""
    if _turned(listed):
        return [
            svg.turned(
                x(place + 0.6), frame.y0 + 12.0, -38, svg.fitted(one.name, 108.0), anchor="end"
            )
            for place, one in enumerate(listed)
        ]
    # The number where a band begins stands at its edge, as far as there is room.
    drawn, free_from = [], frame.x0 - 20.0
    for place, one in enumerate(listed):
        half = svg.text_width(one.begins) / 2.0
        if one.begins and free_from <= x(place) - half <= frame.x1 - taken_px - 2.0 * half:
            drawn.append(svg.label(x(place), frame.y0 + 16.0, one.begins))
            free_from = x(place) + half + 8.0
    return drawn


def trend(
    labels: Sequence[str],
    lines: Sequence[tuple[str, Sequence[float | None]]],
    limits: Sequence[float],
    title: str,
) -> Markup:
    """Draw the index of a few names over windows, each with its limit.

    A window that has no figure of a name leaves a gap in its line.
    """
    frame = Frame(_WIDTH, 220.0, left=52.0, top=30.0)
    found = [value for _, values in lines for value in values if value is not None]
    top = max(*limits, *found) * 1.12
    x, y = frame.x(-0.5, len(labels) - 0.5), frame.y(0.0, top)
    marks: list[str] = []
    at = frame.x0 + 4.0
    for place, (name, values) in enumerate(lines):
        tone = f"tone-{'abcd'[place % 4]}"
        for run in _runs(values):
            marks.append(svg.path([(x(i), y(v)) for i, v in run], f"curve {tone}"))
            marks += [
                svg.dot(x(i), y(v), f"point {tone}", f"{labels[i]}, {name}: {psi(v)}", 3.0)
                for i, v in run
            ]
        marks.append(svg.line(at, 12.0, at + 26.0, 12.0, f"curve {tone}"))
        marks.append(svg.label(at + 32.0, 16.0, name, anchor="start"))
        at += 60.0 + svg.text_width(name)
    every = max(1, round(len(labels) * 90.0 / (frame.x1 - frame.x0) + 0.49))
    return svg.drawing(
        frame,
        title,
        f"{', '.join(name for name, _ in lines)} in {len(labels)} windows.",
        svg.left_axis(frame, y, y.ticks(4), lambda t: f"{t:.2g}"),
        svg.bottom_axis(frame, x, [], str, "windows of a thousand scores or more, by their end"),
        *(
            svg.line(x(i - 0.5), y(limit), x(i + 0.5), y(limit), "limit")
            for i, limit in enumerate(limits)
        ),
        *marks,
        *(svg.label(x(p), frame.y0 + 16.0, labels[p]) for p in range(0, len(labels), every)),
    )


def _runs(values: Sequence[float | None]) -> list[list[tuple[int, float]]]:
    """Part values where one is missing, each with its place."""
    runs: list[list[tuple[int, float]]] = [[]]
    for place, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append((place, value))
    return [run for run in runs if run]


def movements(listed: Sequence[Moved], window: WindowFigure | None, title: str) -> Markup:
    """Draw the index of the period as bars, each with its limit, and write that of the last window.

    A bar has the colour of its verdict, which may be of the windows: not of how long it is.
    """
    aside = (_WINDOW_PX if window else 0.0) + _VERDICT_PX
    frame = Frame(
        _MOVEMENTS_WIDTH,
        len(listed) * _ROW_PX + 36.0,
        left=_NAMES_PX,
        right=aside + _VALUE_PX,
        top=26.0,
        bottom=10.0,
    )
    x = frame.x(0.0, max(0.12, *(max(one.psi, one.limit) for one in listed)))
    marks: list[str] = []
    for place, one in enumerate(listed):
        row = _Row(frame.y1 + place * _ROW_PX, x)
        name = svg.fitted(one.name, frame.x0 - 12.0)
        marks += [svg.label(frame.x0 - 8.0, row.base, name, anchor="end"), _bar(one, row)]
        marks.append(svg.label(_MOVEMENTS_WIDTH, row.base, one.verdict.value, anchor="end"))
        if window and one.name in window.psi:
            value = psi(window.psi[one.name])
            marks.append(svg.label(_MOVEMENTS_WIDTH - _VERDICT_PX, row.base, value, anchor="end"))
    summary = "; ".join(_movement_text(one, window) for one in listed)
    return svg.drawing(
        frame,
        title,
        f"{summary}.",
        svg.label(frame.x0, 14.0, "PSI in the period", "caption", "start"),
        svg.label(_MOVEMENTS_WIDTH - _VERDICT_PX, 14.0, "last window", "caption", "end")
        if window
        else "",
        *marks,
        svg.line(x(0.0), frame.y1 + 4.0, x(0.0), frame.y0, "axis"),
    )


class _Row(NamedTuple):
    """Where a row is drawn: its upper end, and the scale of its bar."""

    top: float
    x: svg.Linear

    @property
    def base(self) -> float:
        """Give where its words stand."""
        return self.top + _LIMIT_PX + 11.5


def _bar(one: Moved, row: _Row) -> Markup:
    """Draw a bar with its value at its end, and the limit with its number above its mark."""
    end, limit, top = row.x(one.psi), row.x(one.limit), row.top + _LIMIT_PX
    value = psi(one.psi)
    style = "bar-plain" if one.verdict is Movement.STEADY else "bar-bad"
    # Where the value stands at the limit the mark ends above it.
    in_the_way = end - 1.0 < limit < end + 9.0 + svg.text_width(value)
    foot = top if in_the_way else top + _BAR_PX + 2.0
    start = row.x(0.0)
    return join(
        svg.box(start, top, max(end - start, 0.8), _BAR_PX, style, _movement_text(one, None)),
        svg.line(limit, row.top + 3.0, limit, foot, "limit-mark"),
        svg.label(limit + 4.0, top - 2.0, f"limit {psi(one.limit)}", "label tiny", "start"),
        svg.label(end + 5.0, row.base, value, "figure", "start"),
    )


def _movement_text(one: Moved, window: WindowFigure | None) -> str:
    text = f"{one.name}: {numbers.fixed(one.psi)}, limit {numbers.fixed(one.limit)}"
    if window and one.name in window.psi:
        text += f", in the last window {numbers.fixed(window.psi[one.name])}"
    return f"{text}, {one.verdict.value}"


def _names_below(frame: Frame, x: svg.Linear, names: Sequence[str]) -> list[Markup]:
    """Write names under their places, as many as have room."""
    wide = (x(1.0) - x(0.0)) if names else 1.0
    longest = max(svg.text_width(name) for name in names) + 14.0
    every = max(1, int(max(longest, _LABELS_EVERY_PX if len(names) > 1 else 0.0) / wide + 0.99))
    return [
        svg.label(x(place + 0.5), frame.y0 + 16.0, names[place])
        for place in range(0, len(names), every)
    ]


def psi(value: float) -> str:
    return numbers.fixed(value, 2 if value >= 0.1 else 3)  # noqa: PLR2004  two figures either way


def _between(low: float, high: float) -> str:
    return numbers.between(numbers.percent(low), numbers.percent(high))


def _tick(share: float) -> str:
    return f"{100.0 * share:.4g}{numbers.NARROW_SPACE}%"
