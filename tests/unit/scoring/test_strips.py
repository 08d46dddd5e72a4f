from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.platform.pages.svg import text_width
from alama.scoring import strips
from alama.scoring.strips import Mark, Stretch

PHONE_PX = 286.0
MOVEMENT_PX = 220.0
CROSSING_PX = 250.0

shares = st.floats(0.0, 1.0)
marks = st.builds(Mark, shares, st.text("0123456789KES", min_size=1, max_size=15))


def drawn(picture: str) -> ET.Element:
    """Parse a drawing and check that everything on it has a place on it."""
    root = ET.fromstring(picture)  # noqa: S314 our own drawing
    for element in root.iter():
        for name in ("x", "x1", "x2", "cx", "width"):
            place = element.get(name, "0%")
            if place.endswith("%"):
                assert 0.0 <= float(place.removesuffix("%")) <= 100.0
    return root


def span(label: ET.Element, room_px: float) -> tuple[float, float]:
    """Where a label starts and ends, in so many pixels of room."""
    at = float(label.get("x", "").removesuffix("%")) / 100.0 * room_px
    wide = text_width(label.text or "")
    before = {"start": 0.0, "middle": 0.5, "end": 1.0}[label.get("text-anchor", "")]
    return at - before * wide, at + (1.0 - before) * wide


@given(marks, marks)
def test_two_labels_stand_beside_each_other_however_little_room_there_is(
    before: Mark, after: Mark
) -> None:
    crossing = drawn(strips.crossing(before, after, "t"))
    movement = drawn(strips.movement([], before, after, "t"))
    for root, least_px in ((crossing, CROSSING_PX), (movement, MOVEMENT_PX)):
        for room_px in (least_px, PHONE_PX, 700.0):
            first, last = sorted(span(label, room_px) for label in root.iter("text"))
            assert first[1] < last[0]
            assert first[0] > -1.0
            assert last[1] < room_px + 1.0


@given(marks, marks)
def test_a_ring_is_where_one_stands_and_a_dot_where_one_would(before: Mark, after: Mark) -> None:
    root = drawn(strips.movement([], before, after, "t"))
    ring, dot = root.iter("circle")
    assert (ring.get("class"), dot.get("class")) == ("here", "there")
    for circle, mark in ((ring, before), (dot, after)):
        place = float(circle.get("cx", "").removesuffix("%"))
        assert place == pytest.approx(100.0 * mark.at, abs=0.01)


@given(st.lists(st.integers(301, 849), unique=True, max_size=12), shares)
def test_no_border_of_a_scale_is_written_over_another(borders: list[int], at: float) -> None:
    places = [300, *sorted(borders), 850]
    stretches = [
        Stretch(f"T{low}", (low - 300) / 550, (high - 300) / 550, "tier-review", str(low))
        for low, high in pairwise(places)
    ]
    root = drawn(strips.scale(stretches, Mark(at, "528"), "t"))
    written = [label for label in root.iter("text") if label.get("class") == "label"]
    for row in {label.get("y") for label in written}:
        spans = [span(label, PHONE_PX) for label in written if label.get("y") == row]
        assert all(left[1] + 9.0 < right[0] for left, right in pairwise(spans))
        assert float(row or "nan") < float(root.get("height", ""))
    assert len(list(root.iter("rect"))) == len(stretches)


def test_borders_that_are_close_stand_in_two_rows() -> None:
    places = [300, 555, 585, 615, 850]
    stretches = [
        Stretch(f"T{low}", (low - 300) / 550, (high - 300) / 550, "tier-review", str(low))
        for low, high in pairwise(places)
    ]
    root = drawn(strips.scale(stretches, Mark(0.5, "575"), "t"))
    written = {label.text: label.get("y") for label in root.iter("text")}
    assert written["555"] == written["615"] != written["585"]


@given(shares, shares)
def test_bars_that_give_are_filled_and_bars_that_take_are_hollow(start: float, end: float) -> None:
    (box,) = drawn(strips.bar(start, end, 0.5)).iter("rect")
    assert box.get("class") == ("gives" if end >= start else "takes")
