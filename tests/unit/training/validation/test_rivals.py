"""Two models on the same loans: paired, and approved by the same policy."""

from __future__ import annotations

import numpy as np
import pytest

from alama.core.kernel import probabilities
from alama.training.validation.metrics import Floats, Labels
from alama.training.validation.rivals import Entrant, compare

ROWS = 3_000
Loans = tuple[Labels, Floats]


@pytest.fixture(scope="module")
def loans() -> Loans:
    rng = np.random.default_rng(5)
    points = rng.normal(640.0, 60.0, ROWS)
    labels = (rng.random(ROWS) < probabilities(points)).astype(np.int8)
    return labels, points


def test_a_model_is_not_ahead_of_itself(loans: Loans) -> None:
    labels, points = loans
    one = Entrant("one", "sha256:1", points, points > 650.0)
    found = compare(labels, one, one, seed=1, draws=50)
    assert found.ahead == 0.0
    assert (found.ahead_interval.low, found.ahead_interval.high) == (0.0, 0.0)
    assert found.candidate == found.other


def test_noise_puts_a_model_behind_beyond_doubt(loans: Loans) -> None:
    labels, points = loans
    noisy = points + np.random.default_rng(6).normal(0.0, 80.0, ROWS)
    sound = Entrant("sound", "sha256:1", points, points > 650.0)
    worse = Entrant("noisy", "sha256:2", noisy, noisy > 10_000.0)
    found = compare(labels, sound, worse, seed=1, draws=100)
    assert found.ahead > 0.0
    assert found.ahead_interval.low > 0.0
    assert found.candidate.slope == pytest.approx(1.0, abs=0.15)
    assert found.other.slope < 0.6
    assert found.other.approved == 0.0
    assert found.other.approved_default_rate is None
    assert found.candidate.approved_default_rate is not None
    assert found.candidate.approved_default_rate < labels.mean()
