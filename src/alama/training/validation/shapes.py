"""Charts of what is inside a scorecard, and its bands in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from alama.core.tables import MISSING, Feature, neighbours
from alama.platform.pages import numbers, svg
from alama.platform.pages.render import Markup, join
from alama.platform.pages.svg import Frame

if TYPE_CHECKING:
    from collections.abc import Sequence


MISSING_LABEL: Final = "not given"
OTHER_LABEL: Final = "any other"
_OPACITY_MAX: Final = 0.78
"""Of the strongest cell, so that its figure can still be read on it."""

_WHOLE_POINTS_FROM: Final = 9.5
"""Maps whose strongest cell has two figures are read in whole points; milder ones to a tenth."""

_FIGURE_HEIGHT_PX: Final = 12.0
_SHARE_HEIGHT: Final = 0.30
"""How much of the plot the bars of population may take."""

_WORD_ROW_PX: Final = 24.0
_WORD_LABEL_PX: Final = 170.0
_HEAT_ROW_PX: Final = 26.0
_HEAT_LABEL_PX: Final = 170.0
_SLANTED_LABEL_PX: Final = 130.0
_MISSING_GAP: Final = 0.45
"""Bands of empty room between "not given" and the values."""


@dataclass(frozen=True, slots=True)
class Band:
    """One band of a feature: its label, its points, and the share of the population in it."""

    label: str
    points: float
    share: float


@dataclass(frozen=True, slots=True)
class Heat:
    """A table of points: one row for each label of `rows`, one cell for each of `columns`."""

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[float]]


def steps(
    missing: Band | None, bands: Sequence[Band], cuts: Sequence[str], title: str, caption: str
) -> Markup:
    """Draw the points of a number band by band, over light bars of who is in them.

    Bands are drawn equally wide; `cuts` label the borders between them. "Not given" stands apart,
    unless it is None: a field that must be given.
    """
    frame = Frame(520.0, 250.0, left=50.0, bottom=48.0)
    first = 0.0 if missing is None else 1.0 + _MISSING_GAP
    x = frame.x(0.0, first + len(bands))
    everyone = [*bands] if missing is None else [missing, *bands]
    y = frame.y(*_range([band.points for band in everyone]))
    starts = [first + place for place in range(len(bands))]
    places = starts if missing is None else [0.0, *starts]
    most = max(1e-9, *(band.share for band in everyone))
    placed = [
        (x(start), x(start + 1.0), band) for start, band in zip(places, everyone, strict=True)
    ]
    corners = [
        (x(start + end), y(band.points))
        for start, band in zip(starts, bands, strict=True)
        for end in (0.0, 1.0)
    ]
    apart = (
        []
        if missing is None
        else [
            svg.line(x(0.0), y(missing.points), x(1.0), y(missing.points), "step-missing"),
            svg.label((x(0.0) + x(1.0)) / 2.0, frame.y0 + 16.0, "none", "label small"),
        ]
    )
    widest = max(svg.text_width(numbers.signed(band.points)) for band in everyone)
    size = "figure" if widest < x(1.0) - x(0.0) - 4.0 else "figure tiny"
    return svg.drawing(
        frame,
        title,
        "Points by band: " + "; ".join(_told(band) for band in everyone) + ".",
        svg.left_axis(frame, y, y.ticks(5), numbers.signed, "points"),
        *(_crowd(frame, left, right, band, most) for left, right, band in placed),
        svg.line(frame.x0, y(0.0), frame.x1, y(0.0), "axis"),
        *apart,
        svg.path(corners, "step"),
        _figures(placed, y, size),
        _cut_labels([x(start) for start in starts[1:]], cuts, frame.y0 + 16.0),
        svg.label((x(first) + frame.x1) / 2.0, frame.height - 8.0, caption, "caption"),
    )


def _range(points: Sequence[float]) -> tuple[float, float]:
    """Give the range of the axis: zero inside, room for figures above and for people below."""
    low, high = min(0.0, *points), max(0.0, *points)
    span = max(high - low, 1.0)
    return low - 0.22 * span, high + 0.14 * span


def _crowd(frame: Frame, left: float, right: float, band: Band, most: float) -> Markup:
    height = (frame.y0 - frame.y1) * _SHARE_HEIGHT * band.share / most
    return svg.box(left + 1.0, frame.y0 - height, right - left - 2.0, height, "crowd", _told(band))


def _figures(placed: Sequence[tuple[float, float, Band]], y: svg.Linear, size: str) -> Markup:
    """Write the points over the steps, leaving out what would run into the figure before."""
    parts: list[str] = []
    free_from, level = -1e9, 0.0
    for left, right, band in placed:
        middle, height = (left + right) / 2.0, y(band.points) - 5.0
        half = svg.text_width(numbers.signed(band.points)) / 2.0
        if middle - half < free_from and abs(height - level) < _FIGURE_HEIGHT_PX:
            continue
        parts.append(svg.label(middle, height, numbers.signed(band.points), size))
        free_from, level = middle + half + 2.0, height
    return join(*parts)


def _cut_labels(borders: Sequence[float], cuts: Sequence[str], y: float) -> Markup:
    """Label the borders, leaving out those whose labels would run into the one before."""
    parts: list[str] = []
    free_from = -1e9
    for border, cut in zip(borders, cuts, strict=True):
        parts.append(svg.line(border, y - 16.0, border, y - 12.0, "axis"))
        half = svg.text_width(cut) / 2.0
        if border - half < free_from:
            continue
        parts.append(svg.label(border, y, cut, "label small"))
        free_from = border + half + 4.0
    return join(*parts)


def words(bands: Sequence[Band], title: str) -> Markup:
    """Draw the points of groups of words as bars from zero, with the share of each group."""
    height = len(bands) * _WORD_ROW_PX + 40.0
    frame = Frame(520.0, height, left=_WORD_LABEL_PX, right=64.0, top=24.0, bottom=16.0)
    low, high = min(0.0, *(b.points for b in bands)), max(0.0, *(b.points for b in bands))
    room = 0.14 * max(high - low, 1.0)
    x = frame.x(low - room, high + room)
    return svg.drawing(
        frame,
        title,
        "Points by group: " + "; ".join(_told(band) for band in bands) + ".",
        svg.label(frame.width - 6.0, 14.0, "share", "caption", "end"),
        svg.label(x(0.0), 14.0, "points", "caption"),
        svg.line(x(0.0), frame.y1, x(0.0), frame.y0, "axis"),
        *(
            _word_row(frame, x, frame.y1 + place * _WORD_ROW_PX + 3.0, band)
            for place, band in enumerate(bands)
        ),
    )


def _word_row(frame: Frame, x: svg.Linear, top: float, band: Band) -> Markup:
    zero, end = x(0.0), x(band.points)
    raises = band.points >= 0.0
    text_y = top + 13.0
    name = svg.fitted(band.label, _WORD_LABEL_PX - 12.0)
    return join(
        svg.label(frame.x0 - 8.0, text_y, name, anchor="end"),
        svg.box(
            min(zero, end),
            top,
            abs(end - zero),
            _WORD_ROW_PX - 8.0,
            "bar-good" if raises else "bar-bad",
            _told(band),
        ),
        svg.label(
            end + (5.0 if raises else -5.0),
            text_y,
            numbers.signed(band.points),
            "figure",
            "start" if raises else "end",
        ),
        svg.label(frame.width - 6.0, text_y, numbers.percent(band.share), "label small", "end"),
    )


def _told(band: Band) -> str:
    points = numbers.signed(band.points, 1)
    return f"{band.label}: {points} points, {numbers.percent(band.share)} of people"


def heat_map(heat: Heat, down: str, across: str, title: str) -> Markup:
    """Draw a table of points, blue where it raises the score and orange where it lowers it."""
    frame = _heat_frame(heat)
    wide = (frame.x1 - frame.x0) / len(heat.columns)
    strongest = max(1e-9, *(abs(cell) for row in heat.cells for cell in row))
    cells = [
        _cell(
            svg.Area(frame.x0 + column * wide, frame.y1 + row * _HEAT_ROW_PX, wide, _HEAT_ROW_PX),
            value,
            strongest,
            f"{down} {heat.rows[row]}, {across} {heat.columns[column]}: "
            f"{numbers.signed(value, 1)} points",
        )
        for row, values in enumerate(heat.cells)
        for column, value in enumerate(values)
    ]
    return svg.drawing(
        frame,
        title,
        f"Points that {down} and {across} give together beyond what each gives alone; the "
        f"strongest cell has {numbers.fixed(strongest, 1)} either way.",
        *cells,
        _heat_labels(heat, frame, wide),
        svg.label((frame.x0 + frame.x1) / 2.0, 13.0, across, "caption"),
        svg.turned(13.0, (frame.y0 + frame.y1) / 2.0, -90, down, "caption", "middle"),
    )


def _heat_frame(heat: Heat) -> Frame:
    label_px = min(max(svg.text_width(label) for label in heat.rows) + 16.0, _HEAT_LABEL_PX)
    slanted = min(max(svg.text_width(label) for label in heat.columns), _SLANTED_LABEL_PX) * 0.62
    # Slanted labels lean out over the right edge of the last column.
    lean = min(svg.text_width(heat.columns[-1]), _SLANTED_LABEL_PX) * 0.79
    return Frame(
        520.0,
        len(heat.rows) * _HEAT_ROW_PX + slanted + 52.0,
        left=label_px + 22.0,
        right=max(14.0, lean - 12.0),
        top=slanted + 34.0,
        bottom=18.0,
    )


def _heat_labels(heat: Heat, frame: Frame, wide: float) -> Markup:
    return join(
        *(
            svg.label(
                frame.x0 - 8.0,
                frame.y1 + (row + 0.62) * _HEAT_ROW_PX,
                svg.fitted(shown, frame.left - 30.0),
                "label small",
                "end",
            )
            for row, shown in enumerate(heat.rows)
        ),
        *(
            svg.turned(
                frame.x0 + (column + 0.42) * wide,
                frame.y1 - 7.0,
                -38,
                svg.fitted(shown, _SLANTED_LABEL_PX),
            )
            for column, shown in enumerate(heat.columns)
        ),
    )


def _cell(area: svg.Area, value: float, strongest: float, told: str) -> Markup:
    decimals = 0 if strongest >= _WHOLE_POINTS_FROM else 1
    shown = numbers.signed(value, decimals)
    tone = "cell-up" if value >= 0.0 else "cell-down"
    colour = svg.shaded(area, tone, _OPACITY_MAX * abs(value) / strongest, told)
    if svg.text_width(shown) > area.width + 4.0:
        return colour
    return join(colour, svg.label(*area.middle, shown, "figure cell"))


# ------------------------------------------------------------------------------------------- labels


def slot_labels(feature: Feature) -> list[str]:
    """Say what each slot of a feature holds: "not given", "6 to <12", "smartphone, tablet"."""
    return [group_label(feature, [slot]) for slot in range(len(feature.main))]


def group_label(feature: Feature, slots: Sequence[int]) -> str:
    """Say what some slots hold together; runs of neighbouring bands read as one."""
    parts = [MISSING_LABEL] if MISSING in slots else []
    known = sorted(slot for slot in slots if slot != MISSING)
    if len(known) == len(feature.main) - 1 and len(known) > 1:
        return ", ".join([*parts, "any value"])
    if feature.words:
        parts += [_words(feature, slot) for slot in known]
    else:
        parts += [_range_of_slot(feature, first, last) for first, last in neighbours(known)]
    return ", ".join(parts)


def groups(places: Sequence[int]) -> list[list[int]]:
    """Give for each row (or column) of a pair the slots that fall into it."""
    found: list[list[int]] = [[] for _ in range(max(places) + 1)]
    for slot, place in enumerate(places):
        found[place].append(slot)
    return found


def _words(feature: Feature, slot: int) -> str:
    if slot > len(feature.words):
        return OTHER_LABEL
    return ", ".join(feature.words[slot - 1])


def _range_of_slot(feature: Feature, first: int, last: int) -> str:
    """Word the run of bands from slot `first` to slot `last`."""
    low = feature.cuts[first - 2] if first > 1 else None
    high = feature.cuts[last - 1] if last <= len(feature.cuts) else None
    if low is None and high is None:
        return "any value"
    if low is None:
        assert high is not None
        return f"<{numbers.NARROW_SPACE}{numbers.exact(high)}"
    if high is None:
        return f"\u2265{numbers.NARROW_SPACE}{numbers.exact(low)}"
    return f"{numbers.exact(low)} to <{numbers.NARROW_SPACE}{numbers.exact(high)}"
