"""The same rows and seed make the same model, byte for byte, wherever and however it is trained."""

import importlib
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from alama.core import model
from alama.training.pipeline import Order, Trained, judge, train
from tests.patterned import QUICK, patterned, unwatched

# One worker makes what the tests here share, once.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("reproducible")]

ORDER = Order(name="small", label="default", recipe=replace(QUICK, portable=True))

SCRIPT = """
from alama.training.pipeline import judge, train
from tests.e2e.test_reproducible import ORDER
from tests.patterned import patterned, unwatched
trained = train(patterned(3_000), ORDER, unwatched)
print(trained.model.id, judge(trained, 5, unwatched).model.id)
"""


@pytest.fixture(scope="module")
def trained() -> Trained:
    return train(patterned(3_000), ORDER, unwatched)


@pytest.fixture
def model_id(trained: Trained) -> str:
    return trained.model.id


def test_the_order_of_the_rows_does_not_matter(model_id: str) -> None:
    data = patterned(3_000)
    turned = data.take(np.arange(len(data))[::-1])
    assert train(turned, ORDER, unwatched).model.id == model_id


def test_the_number_of_processes_does_not_matter(model_id: str) -> None:
    order = replace(ORDER, jobs=2)
    assert train(patterned(3_000), order, unwatched).model.id == model_id


def test_the_processor_does_not_matter(trained: Trained) -> None:
    plain = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, **lesser_processor()},
        capture_output=True,
        text=True,
        check=True,
    )
    judged = judge(trained, 5, unwatched)
    assert plain.stdout.split() == [trained.model.id, judged.model.id]


def test_the_hash_is_the_one_that_was_seen_before(model_id: str) -> None:
    """A change of this hash is a change of every model: name it in the changelog."""
    assert model_id == "sha256:7615c517f5c74d326d0350fcb9ffb7e0955019e7ed6c9243a4efd95c7a4944ce"


def test_another_seed_is_another_model(model_id: str) -> None:
    other = train(patterned(3_000, seed=1), ORDER, unwatched)
    assert other.model.id != model_id
    assert model.decode(model.encode(other.model)) == other.model


def lesser_processor() -> dict[str, str]:
    """The environment in which NumPy and the C library use their plain code paths."""
    numpy_core: Any = importlib.import_module("numpy._core._multiarray_umath")
    # NumPy refuses to disable what the machine lacks, so only what it would really use is named.
    features: dict[str, bool] = numpy_core.__cpu_features__
    used = [name for name in numpy_core.__cpu_dispatch__ if features.get(name)]
    return {
        "NPY_DISABLE_CPU_FEATURES": " ".join(used),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F",
        "OPENBLAS_CORETYPE": "Prescott",
    }
