from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from bench.engine import page
from bench.engine.folds import folds, paired, subsample
from bench.engine.options import parse
from bench.store import Store, as_text, code_hash

pytestmark = pytest.mark.long

LABELS = np.array([1] * 20 + [0] * 80, dtype=np.int8)


def test_every_row_is_judged_once_a_repeat_and_never_by_a_model_that_saw_it() -> None:
    splits = list(folds(LABELS, 5, 2))
    assert [fold.name for fold in splits[:6]] == ["0.0", "0.1", "0.2", "0.3", "0.4", "1.0"]
    for repeat in (splits[:5], splits[5:]):
        judged = np.concatenate([fold.test for fold in repeat])
        assert sorted(judged) == list(range(100))
    assert all(len(np.intersect1d(fold.train, fold.test)) == 0 for fold in splits)


def test_each_fold_has_its_share_of_defaults() -> None:
    assert [LABELS[fold.test].sum() for fold in folds(LABELS, 5, 1)] == [4] * 5


def test_a_repeat_deals_the_rows_anew() -> None:
    splits = list(folds(LABELS, 5, 2))
    assert not np.array_equal(splits[0].test, splits[5].test)


def test_a_subsample_keeps_the_default_rate() -> None:
    labels = np.tile(LABELS, 20)
    chosen = subsample(labels, 500)
    assert labels[chosen].mean() == pytest.approx(0.2)


def test_overlapping_training_sets_widen_the_standard_error() -> None:
    difference = paired([0.80, 0.82, 0.81, 0.83, 0.84], [0.79, 0.80, 0.80, 0.80, 0.82], 5)
    spread = np.std([0.01, 0.02, 0.01, 0.03, 0.02], ddof=1)
    assert difference.mean == pytest.approx(0.018)
    assert difference.plain == pytest.approx(spread / math.sqrt(5))
    assert difference.corrected == pytest.approx(spread * math.sqrt(1 / 5 + 1 / 4))


def test_results_survive_an_interruption(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    first = Store(path)
    first.entry("quality", "gmsc/alama", "code-1")["folds"] = {"0.0": [0.8, 0.2, 0.01, 3.0]}
    first.save()
    again = Store(path).entry("quality", "gmsc/alama", "code-1")
    assert again["folds"] == {"0.0": [0.8, 0.2, 0.01, 3.0]}


def test_results_of_other_code_are_forgotten(tmp_path: Path) -> None:
    store = Store(tmp_path / "results.json")
    store.entry("quality", "gmsc/alama", "code-1")["folds"] = {"0.0": [0.8]}
    assert store.entry("quality", "gmsc/alama", "code-2") == {"by": "code-2"}


def test_forgetting_one_table_keeps_the_others(tmp_path: Path) -> None:
    store = Store(tmp_path / "results.json")
    store.entry("quality", "gmsc/alama", "code")
    store.entry("quality", "taiwan/alama", "code")
    store.forget("quality", ["gmsc/"])
    assert list(store.document["quality"]) == ["taiwan/alama"]


def test_the_file_of_results_is_json_with_a_fold_a_line() -> None:
    document = {"quality": {"folds": {"0.0": [0.8, 0.2], "0.1": [0.7, 0.3]}}}
    text = as_text(document)
    assert json.loads(text) == document
    assert '"0.0": [ 0.8, 0.2 ]' in text


def test_comments_do_not_make_code_another(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("x = 1\n")
    before = code_hash([module])
    module.write_text("x = 1  # one\n")
    assert code_hash([module]) == before
    module.write_text("x = 2\n")
    assert code_hash([module]) != before


def test_writing_the_page_leaves_the_prose_alone() -> None:
    text = "ours\n<!-- measured: rows -->\nold\n<!-- end -->\nmore of ours\n"
    filled = page.filled(text, {})
    assert filled.startswith("ours\n")
    assert filled.endswith("<!-- end -->\nmore of ours\n")
    assert "old" not in filled
    assert page.filled(filled, {}) == filled


def test_the_page_compares_on_shared_folds_alone() -> None:
    document = {
        "quality": {
            "gmsc/alama": {
                "rows": 100,
                "fold_count": 5,
                "folds": {"0.0": [0.8] * 4, "0.1": [0.9] * 4},
            },
            "gmsc/ebm": {"rows": 100, "fold_count": 5, "folds": {"0.1": [0.85] * 4}},
        }
    }
    filled = page.filled("<!-- measured: quality -->\n<!-- end -->", document)
    assert "+0.0500 (folds: 1)" in filled


def test_all_parts_are_measured_unless_some_are_asked_for() -> None:
    assert parse(["full"]).parts == ("rows", "batch", "quality", "samples", "training")
    assert parse(["--part", "samples"]).parts == ("samples",)


def test_one_part_can_be_asked_for() -> None:
    options = parse(["full", "--part", "quality", "--table", "gmsc"])
    assert not options.quick
    assert options.parts == ("quality",)
    assert options.names == ("gmsc",)
