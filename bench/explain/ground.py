"""Who is measured: declined applicants, our model and policy, and an equal forest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import lightgbm
import numpy as np

from alama.core.application import Application, read
from alama.core.assess import assess
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.platform.files.packaged import builtin
from alama.platform.files.reader import open_table
from alama.training.validation import metrics
from bench.engine import ours
from bench.engine.forests import Encoder
from bench.engine.subject import (
    CURRENCY,
    FULL,
    LIGHT,
    TEST_SEED,
    TRAIN_SEED,
    forest_file,
    population,
)
from bench.explain.surfaces import Card, Forest

if TYPE_CHECKING:
    from pathlib import Path

    from bench.store import Figures

FOREST_ROWS: Final = 100_000
TEST_ROWS: Final = 20_000
KNOWN_ROWS: Final = 10_000
"""How many people DiCE knows: it looks through all of them for every answer of two methods."""

APPLICANTS_SEED: Final = 41
APPLICANTS_FROM_ROWS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Ground:
    """What everybody is asked about.

    `rows` and `applications` are the same declined people; `known` are others, whom DiCE knows.
    """

    policy: ReadyPolicy
    forest: Forest
    light: lightgbm.Booster
    card: Card
    rows: list[dict[str, Any]]
    applications: list[Application]
    known: list[dict[str, Any]]
    about: Figures

    @property
    def model(self) -> ReadyModel:
        return self.policy.model


def prepare(count: int) -> Ground:
    """Take the first so many whom we decline and the forest does not approve either."""
    model = ReadyModel(builtin(), CURRENCY)
    policy = ReadyPolicy(default_policy(CURRENCY), model)
    train_file = population(FOREST_ROWS, TRAIN_SEED)
    train = ours.read(train_file, "default")
    encoder = Encoder(train)
    full, light = (
        lightgbm.Booster(model_file=forest_file(train, encoder, shape)) for shape in (FULL, LIGHT)
    )
    rows = _complete(population(APPLICANTS_FROM_ROWS, APPLICANTS_SEED), encoder.names)
    applications = [read(model.catalogue, row) for row in rows]
    decisions = [assess(model, policy, application).decision for application in applications]
    approved = float(np.mean([decision is Decision.APPROVED for decision in decisions]))
    forest = Forest.approving(full, encoder, rows, approved)
    chosen = [
        place
        for place, theirs in enumerate(forest.approves(rows))
        if decisions[place] is Decision.DECLINED and not theirs
    ][:count]
    if len(chosen) < count:
        raise AssertionError("the population has too few declined people")
    return Ground(
        policy,
        forest,
        light,
        Card(policy, encoder.names),
        [rows[place] for place in chosen],
        [applications[place] for place in chosen],
        _complete(train_file, encoder.names)[:KNOWN_ROWS],
        {"approved_share": round(approved, 3), **_quality(full, encoder, model)},
    )


def _complete(path: Path, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Read the people who gave every field: DiCE takes no others."""
    batches = open_table(path).batches(list(names), 4_096)
    return [row for batch in batches for row in batch.to_pylist() if None not in row.values()]


def _quality(forest: lightgbm.Booster, encoder: Encoder, model: ReadyModel) -> Figures:
    """Say how good the two are on the same unseen rows: equal models make a fair race."""
    test = ours.read(population(TEST_ROWS, TEST_SEED), "default")
    theirs = np.asarray(forest.predict(encoder.matrix(test)))
    return {
        "trees": forest.num_trees(),
        "forest_auc": round(metrics.auc(test.labels, theirs), 4),
        "alama_auc": round(metrics.auc(test.labels, -ours.points(model.model, test)), 4),
    }
