"""The points of every field: Alama's beside shap's on an equal forest, in turn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import shap

from alama.core.application import Application, read
from alama.core.assess import explain_score
from alama.core.calibration import POINTS_PER_LOG_ODDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import lightgbm
    from numpy.typing import NDArray

    from alama.core.model import ReadyModel
    from bench.explain.ground import Ground
    from bench.store import Figures

    Call = Callable[[int], object]
    Floats = NDArray[np.float64]

ALAMA: Final = "alama"
BLOCK_ROWS: Final = 50


def measure(ground: Ground, count: int) -> Figures:
    """Time everyone on the same people, and see how exactly their parts add up."""
    people = pd.DataFrame(ground.known[:count], columns=list(ground.forest.names))
    matrix = ground.forest.matrix(people)
    single = [np.ascontiguousarray(matrix[row : row + 1]) for row in range(count)]
    applications = [read(ground.model.catalogue, row) for row in ground.known[:count]]
    full = ground.forest.booster
    explainers = {
        "shap": shap.TreeExplainer(full, feature_perturbation="tree_path_dependent"),
        "shap, its quickest path": _quickest(full),
        "shap, its quickest path, light forest": _quickest(ground.light),
    }
    calls: dict[str, Call] = {ALAMA: lambda row: explain_score(ground.model, applications[row])}
    for name, explainer in explainers.items():
        calls[name] = _explaining(explainer, single)
    boosters = (full, full, ground.light)
    return {
        "rows": count,
        "us": _timed(calls, count),
        "error_points": {
            ALAMA: _our_error(ground.model, applications),
            **{
                name: _their_error(explainer, booster, matrix)
                for (name, explainer), booster in zip(explainers.items(), boosters, strict=True)
            },
        },
    }


def _explaining(explainer: Any, single: list[Floats]) -> Call:  # noqa: ANN401  shap has no types
    return lambda row: explainer.shap_values(single[row], check_additivity=False)


def _quickest(forest: lightgbm.Booster) -> Any:  # noqa: ANN401  shap has no types
    """Give shap's explainer in its quickest form for a single row.

    As documented, shap hands a LightGBM forest back to LightGBM's `pred_contrib`. Its own code is
    quicker for one row; it is reached by telling shap, past its public interface, that the trees
    are its own.
    """
    explainer = shap.TreeExplainer(forest, feature_perturbation="tree_path_dependent")
    explainer.model.model_type = "internal"
    return explainer


def _timed(calls: Mapping[str, Call], count: int) -> dict[str, list[float]]:
    """Give median and 99th percentile by the clock, and the median of processor time, in us.

    Everyone does a block of rows, then the next in turn, so that a busy moment hits all alike. The
    first row of a block finds the caches full of somebody else's trees and is not counted.
    """
    wall: dict[str, list[float]] = {name: [] for name in calls}
    processor: dict[str, list[float]] = {name: [] for name in calls}
    for start in range(0, count, BLOCK_ROWS):
        for name, call in calls.items():
            first, *others = range(start, start + BLOCK_ROWS)
            call(first)
            used = time.thread_time()
            for row in others:
                started = time.perf_counter()
                call(row)
                wall[name].append(time.perf_counter() - started)
            processor[name].append((time.thread_time() - used) / len(others))
    return {
        name: [
            *(round(float(q) * 1e6, 1) for q in np.quantile(wall[name], (0.5, 0.99))),
            round(float(np.median(processor[name])) * 1e6, 1),
        ]
        for name in calls
    }


def _our_error(model: ReadyModel, applications: list[Application]) -> float:
    """Give by how many points base and contributions miss the score, at most."""
    told = [explain_score(model, application) for application in applications]
    return max(
        abs(one.base + sum(c.points for c in one.contributions) - one.points) for one in told
    )


def _their_error(explainer: Any, forest: lightgbm.Booster, matrix: Floats) -> float:  # noqa: ANN401
    """Give the same for shap, whose log-odds are taken as points."""
    parts = np.asarray(explainer.shap_values(matrix, check_additivity=False))
    base = float(np.ravel(explainer.expected_value)[0])
    missed = base + parts.sum(axis=1) - np.asarray(forest.predict(matrix, raw_score=True))
    return float(np.abs(missed).max() * POINTS_PER_LOG_ODDS)
