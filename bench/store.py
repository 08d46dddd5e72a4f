"""Results in one small JSON file, written after every step, so that a run can go on."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Figures = dict[str, Any]


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


def code_hash(modules: Iterable[Path], *more: str) -> str:
    """Hash the syntax of modules."""
    digest = hashlib.sha256(" ".join(more).encode())
    for path in sorted(modules):
        if path.exists():
            digest.update(path.name.encode())
            digest.update(ast.dump(ast.parse(path.read_text("utf-8"))).encode())
    return digest.hexdigest()[:12]
