from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from alama.core.catalogue import Catalogue, Field, Kind
from alama.core.kernel import Column, Words
from alama.training.dataset import Dataset
from alama.training.validation import metrics
from bench.engine import page
from bench.engine.draws import best_field, draw, risk_alone, sizes
from bench.engine.samples_page import Ahead, Line, lines, plot, verdicts

LABELS = np.array([1] * 300 + [0] * 700, dtype=np.int8)
LINE = Line(
    table="hmeq",
    size="300",
    rows=1_500,
    defaults=300,
    draws=20,
    auc=0.9,
    lightgbm=Ahead(-0.004, 0.001),
    optbinning=Ahead(0.01, 0.002),
    slope=1.0,
    worst=-0.02,
    below_best_field=0,
)


# ------------------------------------------------------------------------------------------- draws


def test_a_size_that_leaves_less_than_a_fifth_of_the_defaults_is_skipped() -> None:
    assert sizes(300) == {"40": 40, "100": 100, "all": 240}
    assert sizes(1_250) == {"40": 40, "100": 100, "300": 300, "1000": 1_000, "all": 1_000}


@pytest.mark.parametrize("defaults", [40, 100, 240])
def test_a_draw_has_the_defaults_asked_for_at_the_rate_of_the_table(defaults: int) -> None:
    drawn = draw(LABELS, defaults, 0)
    assert LABELS[drawn.train].sum() == defaults
    assert LABELS[drawn.train].mean() == pytest.approx(0.3, abs=0.002)
    assert LABELS[drawn.test].mean() == pytest.approx(0.3, abs=0.002)
    assert sorted([*drawn.train, *drawn.test]) == list(range(1_000))


def test_a_draw_is_the_same_each_time_and_another_by_its_number() -> None:
    first, again, other = draw(LABELS, 40, 3), draw(LABELS, 40, 3), draw(LABELS, 40, 4)
    assert np.array_equal(first.train, again.train)
    assert np.array_equal(first.test, again.test)
    assert not np.array_equal(first.train, other.train)


def test_at_most_twenty_thousand_rows_judge_and_keep_the_rate() -> None:
    labels = np.tile(LABELS, 50)
    drawn = draw(labels, 100, 0)
    assert len(drawn.test) == 20_000
    assert labels[drawn.test].mean() == pytest.approx(0.3, abs=0.001)
    assert len(np.intersect1d(drawn.train, drawn.test)) == 0


# --------------------------------------------------------------------------------- a field alone


def table_of(columns: dict[str, Column], labels: list[int]) -> Dataset:
    catalogue = Catalogue(tuple(Field(name, Kind.NUMBER) for name in columns))
    return Dataset(catalogue, columns, np.array(labels, dtype=np.int8))


def test_numbers_rank_in_the_direction_that_the_learning_rows_show() -> None:
    seen, labels = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 1, 0, 0], dtype=np.int8)
    risk = risk_alone(seen, labels, np.array([0.5, 2.5, 9.0]))
    assert list(np.argsort(risk)) == [2, 1, 0]


def test_those_without_a_number_stand_where_their_own_rate_belongs() -> None:
    numbers = np.concatenate([np.repeat([1.0, 2.0, 3.0], 10), np.full(10, np.nan)])
    bad = {1.0: 1, 2.0: 4, 3.0: 9}
    labels = np.array(
        [int(i < bad[n]) for n in bad for i in range(10)] + [1] * 6 + [0] * 4, dtype=np.int8
    )
    risk = risk_alone(numbers, labels, np.array([1.0, 2.0, 3.0, np.nan]))
    assert list(np.argsort(risk)) == [0, 1, 3, 2]


def test_words_have_their_default_rate_and_a_missing_one_its_own() -> None:
    seen = Words(np.array([0, 0, 1, 1, -1, -1], dtype=np.int32), ("farm", "shop", "new"))
    labels = np.array([0, 0, 1, 0, 1, 1], dtype=np.int8)
    asked = Words(np.array([0, 1, -1, 2], dtype=np.int32), ("farm", "shop", "new"))
    assert list(risk_alone(seen, labels, asked)) == [0.0, 0.5, 1.0, 0.5]


def test_a_field_that_nobody_gave_ranks_nobody() -> None:
    nothing = np.full(4, np.nan)
    labels = np.array([0, 1, 0, 1], dtype=np.int8)
    assert metrics.auc(labels, risk_alone(nothing, labels, nothing)) == 0.5


def test_the_best_field_is_chosen_on_the_learning_rows_alone() -> None:
    weak = np.array([1.0, 3.0, 2.0, 4.0])
    strong = np.array([4.0, 3.0, 2.0, 1.0])
    train = table_of({"weak": weak, "strong": strong}, [0, 0, 1, 1])
    test = table_of({"weak": weak, "strong": weak}, [0, 1, 0, 1])
    assert list(best_field(train, test)) == list(-weak)


# ---------------------------------------------------------------------------------------- verdicts


def test_a_line_that_keeps_every_promise_is_not_told() -> None:
    assert list(verdicts(LINE)) == []
    assert list(verdicts(replace(LINE, optbinning=Ahead(-0.001, 0.002)))) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (replace(LINE, optbinning=Ahead(-0.003, 0.002)), "0.0030 below that of optbinning"),
        (replace(LINE, optbinning=Ahead(-0.003, math.nan)), "0.0030 below that of optbinning"),
        (replace(LINE, lightgbm=Ahead(-0.006, 0.01)), "0.0060 below that of LightGBM"),
        (replace(LINE, slope=0.84), "slope 0.84, outside 0.85 to 1.15"),
        (replace(LINE, slope=1.16), "slope 1.16, outside 0.85 to 1.15"),
        (replace(LINE, below_best_field=2), "below the best single field in 2 of 20 runs"),
    ],
)
def test_a_promise_that_is_missed_is_told(line: Line, said: str) -> None:
    (told,) = verdicts(line)
    assert told.startswith("hmeq, 300 defaults: ")
    assert said in told


def test_the_slope_is_promised_from_300_defaults_on() -> None:
    assert list(verdicts(replace(LINE, defaults=240, slope=0.5))) == []


# ---------------------------------------------------------------------------------------- the page


def document_of(**aucs: list[float]) -> dict[str, Any]:
    return {
        "samples": {
            f"german/{size}/{model.replace('_', ' ')}": {
                "by": "engine draws",
                "rows": 133,
                "defaults": defaults,
                "draws": {str(n): [auc, 0.5, 0.9, 1.0] for n, auc in enumerate(of_model)},
            }
            for size, defaults in (("100", 100), ("40", 40), ("all", 240))
            for model, of_model in aucs.items()
        }
    }


DOCUMENT = document_of(
    alama=[0.72, 0.70, 0.75],
    lightgbm=[0.70, 0.71],
    optbinning=[0.71, 0.69],
    best_field=[0.65, 0.705],
)


def test_only_draws_count_on_which_everyone_was_judged() -> None:
    small, middle, whole = lines(DOCUMENT)
    assert [small.defaults, middle.defaults, whole.defaults] == [40, 100, 240]
    assert small.draws == 2
    assert small.auc == pytest.approx(0.71)
    assert small.lightgbm.mean == pytest.approx(0.005)
    assert small.lightgbm.error == pytest.approx(0.015)
    assert small.worst == pytest.approx(-0.01)
    assert small.below_best_field == 1


def test_the_page_has_a_line_for_each_size_and_what_was_missed() -> None:
    filled = page.filled("<!-- measured: samples -->\n<!-- end -->", DOCUMENT)
    assert (
        "| german | 40 | 133 | 2 | 0.7100 | +0.0050 | 0.0150 | +0.0100 | 0.0000 | 0.90 |" in filled
    )
    assert "| german | 240 (all) |" in filled
    assert "- german, 40 defaults: below the best single field in 1 of 2 runs." in filled
    assert "](samples.svg)" in filled


def test_the_page_says_so_where_no_promise_is_missed() -> None:
    kept = document_of(
        alama=[0.72, 0.7], lightgbm=[0.7, 0.7], optbinning=[0.7, 0.7], best_field=[0.6, 0.6]
    )
    filled = page.filled("<!-- measured: samples -->\n<!-- end -->", kept)
    assert "No promise is missed." in filled


def test_without_figures_the_page_names_the_command() -> None:
    assert "Not measured yet" in page.filled("<!-- measured: samples -->\n<!-- end -->", {})
    assert lines({"samples": {"german/40/alama": {"draws": {}}}}) == []


def test_the_plot_has_a_panel_for_each_table_and_marks_both_lines() -> None:
    drawn = plot([LINE, replace(LINE, size="all", defaults=951), replace(LINE, table="gmsc")])
    assert drawn.startswith("<svg")
    assert drawn.count('class="zero"') == 2
    assert drawn.count('class="limit"') == 3  # one of them in the legend
    assert "hmeq, 951 defaults, ahead of optbinning: +0.0100" in drawn


def test_training_stands_beside_lightgbm_in_the_order_of_rows() -> None:
    document = {
        "training": {
            "1,000,000 loans": {"by": "x", "rows": 1_000_000, "rounds": [[300.0, 2.0, 200.0, 3.0]]},
            "10,000 loans": {
                "by": "x",
                "rows": 10_000,
                "rounds": [[8.0, 0.3, 4.0, 0.2], [9.0, 0.4, 3.0, 0.2], [8.0, 0.3, 2.0, 0.2]],
                "auc": [0.77, 0.768, 0.785],
            },
        }
    }
    filled = page.filled("<!-- measured: training -->\n<!-- end -->", document)
    first = "| 10,000 loans | 3 | 8.0 | 3.0 | 3 x | 0.4 | 0.2 | 0.7700 | 0.7680 | 0.7850 |"
    second = "| 1,000,000 loans | 1 | 300 | 200 | 1.5 x | 2.0 | 3.0 |  |  |  |"
    assert f"{first}\n{second}" in filled
