"""The peers on one split: each learns from the same rows and gives default probabilities.

Forests are bagged, see `bags`.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import xgboost
from interpret.glassbox import ExplainableBoostingClassifier
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from alama.core.kernel import Words
from alama.training.recipe import Recipe
from bench.engine.bags import BAGS, PATIENCE, SMALL_ROWS, TREES_MAX, lightgbm_bagged, split
from bench.engine.forests import Encoder
from bench.environment import cores

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from alama.training.dataset import Dataset

    Floats = NDArray[np.float64]


def logistic(train: Dataset, test: Dataset) -> Floats:
    """Median for what is missing (and a flag), scaled; words one-hot."""
    frames = _frame(train), _frame(test)
    words = _word_names(train)
    numbers = [name for name in train.columns if name not in words]
    prepared = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(add_indicator=True, strategy="median"),
                                StandardScaler()), numbers),
            ("w", OneHotEncoder(handle_unknown="ignore", min_frequency=5), words),
        ]
    )  # fmt: skip
    machine = make_pipeline(prepared, LogisticRegression(C=1.0, max_iter=2_000))
    machine.fit(frames[0], train.labels)
    return _second(machine.predict_proba(frames[1]))


def optbinning(train: Dataset, test: Dataset) -> Floats:
    """Optimal binning to weights of evidence, missing values by their own, then a line."""
    # Its solvers announce themselves on import; nobody else should have to hear it.
    from optbinning import BinningProcess  # noqa: PLC0415

    names, words = list(train.columns), _word_names(train)
    binning = BinningProcess(names, categorical_variables=words)
    how = {"metric": "woe", "metric_missing": "empirical", "metric_special": "empirical"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        binning.fit(_frame(train), train.labels)
        evidence = [np.asarray(binning.transform(_frame(d), **how)) for d in (train, test)]
    machine = LogisticRegression(C=1e3, max_iter=2_000)
    machine.fit(evidence[0], train.labels)
    return _second(machine.predict_proba(evidence[1]))


def xgboost_bagged(train: Dataset, test: Dataset) -> Floats:
    """Bagged, early-stopped, without constraints."""
    encoder = Encoder(train)
    kinds = ["c" if p in encoder.word_places else "q" for p in range(len(encoder.names))]

    def made(matrix: Floats, labels: NDArray[np.int8] | None) -> Any:  # noqa: ANN401
        return xgboost.DMatrix(matrix, labels, feature_types=kinds, enable_categorical=True)

    rows, judged = encoder.matrix(train), made(encoder.matrix(test), None)
    settings = {
        "objective": "binary:logistic",
        "eta": 0.03,
        "max_depth": 3 if len(train) < SMALL_ROWS else 6,
        "min_child_weight": 5.0,
        "subsample": 0.8,
        "colsample_bytree": 0.6,
        "lambda": 5.0,
        "tree_method": "hist",
        "nthread": 1,
    }

    def bag(number: int) -> Floats:
        learn, stop = split(train, number)
        forest = xgboost.train(
            {**settings, "seed": number},
            made(rows[learn], train.labels[learn]),
            TREES_MAX,
            evals=[(made(rows[stop], train.labels[stop]), "stop")],
            early_stopping_rounds=PATIENCE,
            verbose_eval=False,
        )
        best = forest.best_iteration + 1
        return np.asarray(forest.predict(judged, iteration_range=(0, best)), dtype=np.float64)

    mean: Floats = np.mean([bag(number) for number in range(BAGS)], axis=0)
    return mean


def ebm(train: Dataset, test: Dataset) -> Floats:
    """Our trainer by itself with our settings, pairs always on, as many bags as ours has in all.

    What we lose or gain by mixing, compiling, banding, calibrating and holding back on little data
    is the difference to it.
    """
    recipe = Recipe().for_data(len(train), train.defaults)
    encoder = Encoder(train)
    words, fields = encoder.word_places, len(encoder.names)
    machine = ExplainableBoostingClassifier(
        feature_names=list(encoder.names),
        feature_types=["nominal" if place in words else "continuous" for place in range(fields)],
        max_bins=recipe.main_bins,
        max_interaction_bins=recipe.pair_bins,
        interactions=min(recipe.pairs, fields * (fields - 1) // 2),
        outer_bags=recipe.folds * recipe.bags,
        learning_rate=recipe.learning_rate,
        smoothing_rounds=recipe.smoothing_rounds,
        interaction_smoothing_rounds=recipe.smoothing_rounds,
        early_stopping_rounds=recipe.patience,
        min_samples_leaf=recipe.leaf_rows,
        random_state=recipe.seed,
        n_jobs=cores(),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(encoder.matrix(train), train.labels)
    return _second(machine.predict_proba(encoder.matrix(test)))


PEERS: Final[dict[str, Callable[[Dataset, Dataset], Floats]]] = {
    "logistic": logistic,
    "optbinning": optbinning,
    "lightgbm": lightgbm_bagged,
    "xgboost": xgboost_bagged,
    "ebm": ebm,
}


def _word_names(data: Dataset) -> list[str]:
    return [name for name, column in data.columns.items() if isinstance(column, Words)]


def _frame(data: Dataset) -> pd.DataFrame:
    """Give the rows as pandas holds them; a missing word is a word of its own."""
    return pd.DataFrame(
        {
            name: np.array([*column.vocabulary, "(missing)"], dtype=object)[column.codes]
            if isinstance(column, Words)
            else column
            for name, column in data.columns.items()
        }
    )


def _second(chances: Floats) -> Floats:
    return np.asarray(chances[:, 1], dtype=np.float64)
