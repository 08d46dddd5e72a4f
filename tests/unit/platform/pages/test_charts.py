from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.platform.pages import charts, svg
from alama.platform.pages.charts import Bar, Curve, Difference, Rate
from alama.training.validation import shapes
from alama.training.validation.shapes import Band, Heat

finite = st.floats(-500.0, 500.0)
shares = st.floats(0.0, 1.0)


def drawn(picture: str) -> ET.Element:
    """Parse a drawing and check that it is accessible and that every mark has a place."""
    root = ET.fromstring(picture)  # noqa: S314 our own drawing
    assert root.get("role") == "img"
    assert root.findtext("title")
    assert root.findtext("desc")
    assert not re.search(r"\b(nan|inf)\b", picture)
    for box in root.iter("rect"):
        assert float(box.get("width", "")) >= 0.0
        assert float(box.get("height", "")) >= 0.0
    return root


def told(root: ET.Element) -> list[str]:
    return [title.text or "" for title in root.iter("title")]


@given(st.lists(st.builds(Band, st.text(max_size=12), finite, shares), min_size=1, max_size=20))
def test_steps_show_the_points_of_any_bands(listed: list[Band]) -> None:
    cuts = [str(place) for place in range(len(listed) - 1)]
    with_missing = drawn(shapes.steps(Band("not given", 3.0, 0.1), listed, cuts, "t", "c"))
    without = drawn(shapes.steps(None, listed, cuts, "t", "c"))
    assert len(told(with_missing)) == len(told(without)) + 1 == len(listed) + 2


@given(st.lists(st.builds(Band, st.text(max_size=40), finite, shares), min_size=1, max_size=12))
def test_words_have_a_bar_each(listed: list[Band]) -> None:
    root = drawn(shapes.words(listed, "t"))
    assert len(list(root.iter("rect"))) == len(listed)


@given(st.integers(1, 9), st.integers(1, 12), st.data())
def test_a_heat_map_has_a_cell_for_each_combination(
    rows: int, columns: int, data: st.DataObject
) -> None:
    cells = [[data.draw(finite) for _ in range(columns)] for _ in range(rows)]
    heat = Heat([f"r{r}" for r in range(rows)], [f"c{c}" for c in range(columns)], cells)
    root = drawn(shapes.heat_map(heat, "down", "across", "t"))
    cell_titles = [title for title in told(root) if title.startswith("down ")]
    assert len(cell_titles) == rows * columns


def test_a_heat_map_is_blue_where_it_raises_the_score() -> None:
    root = drawn(shapes.heat_map(Heat(["a"], ["b", "c"], [[5.0, -2.5]]), "d", "x", "t"))
    colours = {
        box.get("class"): box.get("fill-opacity")
        for box in root.iter("rect")
        if box.get("fill-opacity")
    }
    assert colours == {"cell-up": "0.780", "cell-down": "0.390"}


@given(
    st.lists(
        st.tuples(shares, shares, shares).map(
            lambda rates: Rate(max(rates[0], 1e-6), rates[1], min(rates), max(rates), 9)
        ),
        min_size=1,
        max_size=20,
    )
)
def test_reliability_draws_any_rates(rates: list[Rate]) -> None:
    root = drawn(charts.reliability(rates, "t"))
    assert len(list(root.iter("circle"))) == len(rates)


def test_roc_names_each_curve() -> None:
    curves = [Curve("full", [0.0, 0.2, 1.0], [0.0, 0.7, 1.0]), Curve("compact", [0, 1], [0, 1])]
    root = drawn(charts.roc(curves, "t"))
    assert {"full", "compact"} <= {text.text for text in root.iter("text")}
    assert len(list(root.iter("path"))) == 2


def test_a_mirrored_histogram_has_a_bar_each_way() -> None:
    root = drawn(charts.mirrored_histogram([0, 10, 20], [0.4, 0.6], [1.0, 0.0], "t"))
    assert len(list(root.iter("rect"))) == 4


def test_a_trend_thins_its_labels() -> None:
    names = [f"2024-{place:02}" for place in range(40)]
    series = [Curve("observed", list(range(40)), [0.1] * 40)]
    root = drawn(charts.trend(names, series, "t", "month"))
    labels = [text.text for text in root.iter("text") if text.text in names]
    assert 5 <= len(labels) <= 14


@given(st.lists(st.builds(Bar, st.text(max_size=30), finite), min_size=1, max_size=20))
def test_bars_draw_any_values(listed: list[Bar]) -> None:
    root = drawn(charts.bars(listed, str, "t", full_at_least=0.1, limits=((0.1, "limit"),)))
    assert len(list(root.iter("rect"))) == len(listed)


@given(
    st.lists(
        st.lists(finite, min_size=3, max_size=3).map(
            lambda three: Difference("x", sorted(three)[1], min(three), max(three))
        ),
        min_size=1,
        max_size=4,
    )
)
def test_differences_stay_inside_their_frame(listed: list[Difference]) -> None:
    root = drawn(charts.differences(listed, str, "t", "c"))
    for dot in root.iter("circle"):
        assert 180.0 <= float(dot.get("cx", "")) <= 520.0


def test_a_grid_prints_its_figures() -> None:
    root = drawn(charts.grid(["a"], ["x", "y"], [[0.0, 0.31]], 0.25, "t"))
    assert {"0.00", "0.31"} <= {text.text for text in root.iter("text")}


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(1, 12))
def test_linear_ticks_are_few_and_inside(low: float, span: float, about: int) -> None:
    scale = svg.Linear(low, low + span, 0.0, 100.0)
    ticks = scale.ticks(about)
    assert len(ticks) <= about + 1
    assert all(low - 1e-6 * span <= tick <= low + span * (1 + 1e-6) for tick in ticks)


def test_log_scales_give_factors_equal_room() -> None:
    scale = svg.Log(0.01, 1.0, 0.0, 100.0)
    assert [scale(0.01), scale(0.1), scale(1.0)] == pytest.approx([0.0, 50.0, 100.0])
    assert scale(0.0) == 0.0
    assert scale.ticks(9) == pytest.approx([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0])


def test_labels_are_cut_to_their_room() -> None:
    assert svg.fitted("short", 200.0) == "short"
    assert svg.fitted("a very long label, indeed", 80.0) == "a very long…"
