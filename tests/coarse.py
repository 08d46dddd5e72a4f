"""Trainings that are coarse: for tests whose subject is not how finely a model is made.

The steps are the real ones. A model of few defaults is made in fewer folds, and the peers beside
it learn from fewer rows. What the recipe and the peers are by themselves is tested in
tests/unit/training, and in test_reproducible.py by the hash of a model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from alama.training import recipe
from alama.training.validation import peers

FOLDS = 3
"""The fewest: one is left out, one stops the boosting, one is learnt from."""

PEER_ROWS = 1_000


@contextmanager
def coarse_training() -> Iterator[None]:
    """Train coarsely in this process meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipe, "BAGS", ())
        patch.setattr(recipe, "FOLDS_OF_FEW", FOLDS)
        patch.setattr(peers, "ROWS_MAX", PEER_ROWS)
        patch.setattr(peers, "_BAGS", 1)
        yield


def coarse_path(environment: Mapping[str, str]) -> str:
    """The PYTHONPATH that has every process train coarsely which starts with it."""
    folders = [str(Path(__file__).with_name("coarsely")), environment.get("PYTHONPATH", "")]
    return os.pathsep.join(filter(None, folders))
