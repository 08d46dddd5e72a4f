"""Names of the code that a result was measured on."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import alama
from bench.environment import lock_hash
from bench.store import code_hash

_MAKES_TABLES: Final = (
    "core/*.py",
    "training/dataset.py",
    "training/history/*.py",
    "training/making/*.py",
    "training/pipeline.py",
    "training/portable.py",
    "training/recipe.py",
)
"""The code that a change of a model must come from."""


@cache  # of the code as it was imported, whatever is edited meanwhile
def engine_hash() -> str:
    """Name the code that makes and applies a model; comments and formatting do not count."""
    source = Path(alama.__file__).parent
    return code_hash(path for pattern in _MAKES_TABLES for path in source.glob(pattern))


@cache
def draws_hash() -> str:
    """Name the way in which small files are drawn: draws of another are not the same rows."""
    return code_hash([Path(__file__).parent / "draws.py"])


@cache
def peer_hash(name: str) -> str:
    """Name a peer: its version, and how it is asked to train."""
    here = Path(__file__).parent
    modules = [here / "bags.py", here / "models.py", here / "folds.py"]
    if name == "ebm":  # it trains by our recipe
        modules.append(Path(alama.__file__).parent / "training" / "recipe.py")
    return code_hash(modules, lock_hash())
