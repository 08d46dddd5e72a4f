"""Pretend to run on a lesser processor: what must reproduce must not hang on vector units."""

import importlib
from typing import Any


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
