"""A boosted forest and shap: values to a probability and the points of every field."""

from __future__ import annotations

import json
import math
import os
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Final

import lightgbm
import numpy as np
import shap

from bench.serve.peers.wire import Contribution, ScoreReply

if TYPE_CHECKING:
    from bench.serve.peers.wire import ScoreRequest

FOREST: Final = "BENCH_FOREST"
"""Which forest to serve: the variable holds `full` or `light`."""

ABOUT: Final = "BENCH_FORESTS_FILE"
"""What `prepare` wrote."""

EXPLAINER: Final = "BENCH_EXPLAINER"
"""How shap explains: `public` (as its documentation shows) or `paths` (see `_explainer`)."""

POINTS_PER_LOG_ODDS: Final = 40 / math.log(2)
POINTS_AT_EVEN_ODDS: Final = 660 - 40 * math.log2(19)
TIERS: Final = (
    (690, "A", "APPROVED", 20_000, 90, 30.0),
    (650, "B", "APPROVED", 12_000, 60, 42.0),
    (605, "C", "APPROVED", 6_000, 30, 60.0),
    (555, "D", "REVIEW", 3_000, 30, 84.0),
    (0, "E", "DECLINED", 0, 30, 120.0),
)
"""Least score, tier, decision, limit, term, APR: a policy as simple as it can be."""


class ForestScorer:
    """Everything that is made once lies ready here; `score` does the work of one request."""

    def __init__(self) -> None:
        """Read what to serve from the variables that the benchmark sets."""
        about = json.loads(Path(os.environ[ABOUT]).read_text("utf-8"))
        self._fields: list[str] = about["fields"]
        self._words: dict[str, dict[str, float]] = about["words"]
        forest = lightgbm.Booster(model_file=about[os.environ[FOREST]])
        self._explainer = _explainer(forest, os.environ[EXPLAINER])
        self._base = float(np.ravel(self._explainer.expected_value)[0])

    def score(self, request: ScoreRequest) -> ScoreReply:
        """Answer with the ten fields of the interface."""
        started = time.perf_counter()
        row = np.array([[self._number(request, name) for name in self._fields]])
        log_odds = self._explainer.shap_values(row, check_additivity=False)[0].tolist()
        # The forest's answer is the base plus all contributions: no second pass through the trees.
        default_log_odds = self._base + sum(log_odds)
        score = round(POINTS_AT_EVEN_ODDS - POINTS_PER_LOG_ODDS * default_log_odds)
        score = min(850, max(300, score))
        tier, decision, limit, term, apr = next(rest for least, *rest in TIERS if score >= least)
        points = [round(-POINTS_PER_LOG_ODDS * value, 4) for value in log_odds]
        ranked = sorted(zip(self._fields, points, strict=True), key=lambda c: -abs(c[1]))
        return ScoreReply(
            score=score,
            tier=tier,
            default_probability=round(1 / (1 + math.exp(-default_log_odds)), 6),
            decision=decision,
            recommended_limit=limit,
            recommended_term_days=term,
            recommended_apr=apr,
            shap_values=[Contribution(feature=name, contribution=c) for name, c in ranked],
            request_id=f"req_{uuid.uuid4().hex}",
            processing_ms=math.ceil((time.perf_counter() - started) * 1e3),
        )

    def _number(self, request: ScoreRequest, name: str) -> float:
        value = getattr(request, name)
        if isinstance(value, str):
            return self._words[name].get(value.strip().casefold(), math.nan)
        return math.nan if value is None else value


def _explainer(forest: lightgbm.Booster, how: str) -> shap.TreeExplainer:
    """Give shap's explainer, as documented or in its quickest form for a single row.

    As documented, shap hands a LightGBM forest back to LightGBM's `pred_contrib`. Its own code is
    quicker for one row; it is reached by telling shap, past its public interface, that the trees
    are its own.
    """
    explainer = shap.TreeExplainer(forest)
    if how == "paths":
        explainer.model.model_type = "internal"
    return explainer
