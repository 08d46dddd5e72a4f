"""What speed is measured on: a model of ours and equal forests, from the same population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import lightgbm
import numpy as np
import shap

from alama.core.model import Model, decode, encode
from alama.platform.files import writer
from alama.training.population.people import PopulationOptions, batches, schema
from alama.training.validation import metrics
from bench.engine import ours
from bench.engine.forests import Encoder
from bench.engine.hashes import engine_hash
from bench.environment import SCRATCH

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from alama.training.dataset import Dataset
    from bench.progress import Bar
    from bench.store import Figures

    Floats = NDArray[np.float64]

TREES_MAX: Final = 2_000
PATIENCE: Final = 60
FULL: Final = {"num_leaves": 31, "learning_rate": 0.03}
LIGHT: Final = {"num_leaves": 15, "learning_rate": 0.1}
"""Explaining a forest takes time in proportion to its trees, so early stopping says how many. The
light forest is the one that makes us look worst: as few and as small trees as still do."""

BACKGROUND_ROWS: Final = 100
CURRENCY: Final = "KES"
TRAIN_SEED: Final = 11
TEST_SEED: Final = 12
STOP_SEED: Final = 13
STOP_ROWS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Subject:
    """Our model, the two forests, and rows that none has seen."""

    model: Model
    forest: lightgbm.Booster
    light: lightgbm.Booster
    encoder: Encoder
    test: Dataset
    test_file: Path

    def about(self) -> Figures:
        """Say how good the two are: equal models make a fair race."""
        labels, matrix = self.test.labels, self.encoder.matrix(self.test)
        return {
            **{
                f"{name}_{what}": figure
                for name, forest in (("full", self.forest), ("light", self.light))
                for what, figure in (
                    ("trees", forest.num_trees()),
                    ("auc", round(metrics.auc(labels, np.asarray(forest.predict(matrix))), 4)),
                )
            },
            "alama_auc": round(metrics.auc(labels, -ours.points(self.model, self.test)), 4),
            "fields": len(self.encoder.names),
            "pairs": len(self.model.cards[-1].pairs),
        }

    def explainer(self, *, background: bool) -> Any:  # noqa: ANN401
        """Give shap's explainer: on a background sample, or along the paths of the trees.

        Without a background sample shap hands a LightGBM forest back to `pred_contrib`. Its own
        code is the faster one for a single row, so it is told that the trees are its own.
        """
        if background:
            rows = self.encoder.matrix(self.test)[-BACKGROUND_ROWS:]
            return shap.TreeExplainer(self.forest, rows)
        explainer = shap.TreeExplainer(self.forest)
        explainer.model.model_type = "internal"
        return explainer


def prepare(train_rows: int, test_rows: int, bar: Bar) -> Subject:
    """Make the models, or take those that the last run made."""
    train_file = population(train_rows, TRAIN_SEED)
    test_file = population(test_rows, TEST_SEED)
    train, test = ours.read(train_file, "default"), ours.read(test_file, "default")
    encoder = Encoder(train)
    bar.at("the models")
    forests = [
        lightgbm.Booster(model_file=forest_file(train, encoder, shape)) for shape in (FULL, LIGHT)
    ]
    return Subject(_model(train), *forests, encoder, test, test_file)


def population(rows: int, seed: int) -> Path:
    """Write so many rows of the synthetic population, once."""
    path = SCRATCH / f"population-{seed}-{rows}.parquet"
    if not path.exists():
        SCRATCH.mkdir(parents=True, exist_ok=True)
        options = PopulationOptions(rows=rows, seed=seed, currency=CURRENCY)
        with writer.open_table(path, schema(options)) as table:
            for batch in batches(options):
                table.write(batch)
    return path


def model_file(train_rows: int) -> Path:
    """Say where the model of so many rows is kept."""
    return SCRATCH / f"model-{train_rows}-{engine_hash()}.json"


def _model(train: Dataset) -> Model:
    path = model_file(len(train))
    if not path.exists():
        path.write_bytes(encode(ours.trained(train, currency=CURRENCY).model))
    return decode(path.read_bytes())


def forest_file(train: Dataset, encoder: Encoder, shape: dict[str, float]) -> Path:
    """Train a forest of this shape, once. Words are numbers here: shap reads no other forest."""
    name = "-".join(f"{value:g}" for value in shape.values())
    path = SCRATCH / f"forest-{len(train)}-{name}.txt"
    if not path.exists():
        settings = {
            **shape,
            "objective": "binary",
            "min_data_in_leaf": 50,
            "feature_fraction": 0.7,
            "bagging_fraction": 0.8,
            "bagging_freq": 1,
            "lambda_l2": 5.0,
            "seed": 0,
            "num_threads": 1,  # kept in the file, and so the threads it predicts with
            "verbosity": -1,
        }
        stop = ours.read(population(STOP_ROWS, STOP_SEED), "default")
        data = lightgbm.Dataset(encoder.matrix(train), train.labels)
        watched = lightgbm.Dataset(encoder.matrix(stop), stop.labels, reference=data)
        stopping = lightgbm.early_stopping(PATIENCE, verbose=False)
        forest = lightgbm.train(
            settings, data, TREES_MAX, valid_sets=[watched], callbacks=[stopping]
        )
        forest.save_model(path, num_iteration=forest.best_iteration)
    return path
