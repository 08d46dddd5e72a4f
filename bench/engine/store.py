"""Results in one small JSON file, written after every step, so that a run can go on."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import alama
from bench.engine.environment import lock_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

Figures = dict[str, Any]

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


class Store:
    """The document: a part by name, each with the code it was measured on.

    A result of other code is forgotten when the part is opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.document: dict[str, dict[str, Any]] = (
            json.loads(path.read_text("utf-8")) if path.exists() else {}
        )

    def entry(self, part: str, name: str, by: str) -> Figures:
        """Give what is known of a name, nothing where other code than `by` measured it."""
        entries = self.document.setdefault(part, {})
        if entries.get(name, {}).get("by") != by:
            entries[name] = {"by": by}
        entry: Figures = entries[name]
        return entry

    def forget(self, part: str, names: Iterable[str] = ()) -> None:
        """Drop a part, or the entries whose names begin with one of these."""
        chosen = tuple(names)
        kept = {
            name: entry
            for name, entry in self.document.get(part, {}).items()
            if chosen and not name.startswith(chosen)
        }
        self.document[part] = kept

    def save(self) -> None:
        """Write the document; it changes only as a whole."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_text(as_text(self.document), "utf-8")
        part.replace(self.path)


def as_text(document: dict[str, Any]) -> str:
    """Write JSON with the innermost lists on one line each: short, and good to compare."""
    text = json.dumps(document, indent=1, sort_keys=True)
    return re.sub(r"\[[^\[\]{}]*\]", lambda found: " ".join(found[0].split()), text) + "\n"


@cache  # of the code as it was imported, whatever is edited meanwhile
def engine_hash() -> str:
    """Name the code that makes and applies a model; comments and formatting do not count."""
    source = Path(alama.__file__).parent
    return code_hash(path for pattern in _MAKES_TABLES for path in source.glob(pattern))


@cache
def peer_hash(name: str) -> str:
    """Name a peer: its version, and how it is asked to train."""
    here = Path(__file__).parent
    modules = [here / "models.py", here / "folds.py"]
    if name == "ebm":  # it trains by our recipe
        modules.append(Path(alama.__file__).parent / "training" / "recipe.py")
    return code_hash(modules, lock_hash())


def code_hash(modules: Iterable[Path], *more: str) -> str:
    """Hash the syntax of modules."""
    digest = hashlib.sha256(" ".join(more).encode())
    for path in sorted(modules):
        if path.exists():
            digest.update(path.name.encode())
            digest.update(ast.dump(ast.parse(path.read_text("utf-8"))).encode())
    return digest.hexdigest()[:12]
