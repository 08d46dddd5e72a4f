"""The licence of a package, as an SPDX expression: from its metadata, or refused."""

from __future__ import annotations

import re
from importlib import metadata
from typing import TYPE_CHECKING, Final

from tools.materials import rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.materials.lock import Package
    from tools.materials.rules import Correction

_CLASSIFIER: Final = re.compile(r"^License :: (?:OSI Approved :: )?(.+)$")
_NAME_CHARACTERS_MAX: Final = 60
"""What is longer is the text of a licence, not its name."""
_FIELDS: Final = ("License-Expression", "License")
_LIBRARY: Final = re.compile(r"(lib[^.]+?)(?:-[0-9a-f]{8})*\.(?:so|dylib|dll)(?:\.\w+)*")
_FOLDER: Final = ".libs"
"""Where the tools that mend wheels put what they found elsewhere, whatever it is called."""


class Unclear(Exception):
    """Metadata does not say which licence it is; the message says what to do."""


def licence(package: Package, corrections: Mapping[str, Correction] = rules.CORRECTIONS) -> str:
    """Give the licence of a package of a lock."""
    correction = corrections.get(package.name)
    if correction is not None and correction.version == package.version:
        return correction.licence
    try:
        said = metadata.metadata(package.name)
    except metadata.PackageNotFoundError:
        raise _unclear(package, "is not installed here") from None
    if said["Version"] != package.version:
        raise _unclear(package, f"is installed here as {said['Version']}: run `make setup`")
    expression, field = ((said.get_all(name) or [None])[0] for name in _FIELDS)
    found = _declared(expression, field, _classified(said))
    if found is None:
        raise _unclear(package, "does not say clearly which licence it is under")
    return found


def _unclear(package: Package, what: str) -> Unclear:
    return Unclear(
        f"{package.name} {package.version} {what}. Read the licence file in its wheel, "
        "then write what you found into CORRECTIONS of tools/materials/rules.py"
    )


def _classified(said: metadata.PackageMetadata) -> list[str]:
    lines = said.get_all("Classifier") or []
    return [found[1] for line in lines if (found := _CLASSIFIER.match(str(line)))]


def _declared(expression: str | None, field: str | None, classified: list[str]) -> str | None:
    """Give what all that is said agrees on; an expression is the last word."""
    if expression:
        return expression
    names = [*classified]
    if field and len(field) <= _NAME_CHARACTERS_MAX:
        names.append(field)
    found = {rules.ALIASES.get(name.lower(), name) for name in names} - {""}
    return found.pop() if len(found) == 1 and len(field or "") <= _NAME_CHARACTERS_MAX else None


def refused(name: str, expression: str) -> bool:
    """Say whether a licence may not be in an image: of a choice one part has to be allowed."""
    choices = expression.split(" OR ")
    return not any(all(_allowed(name, part) for part in one.split(" AND ")) for one in choices)


def _allowed(name: str, licence_id: str) -> bool:
    return licence_id in rules.ALLOWED or rules.LESSER.get(name) == licence_id


def libraries_inside(name: str) -> set[str]:
    """Name the shared libraries that the installed wheel of a package brought along.

    Its project's own are not among them, nor modules of Python.
    """
    found = set()
    for file in metadata.files(name) or []:
        library = _LIBRARY.fullmatch(file.name)
        if library or file.parts[0].endswith(_FOLDER):
            found.add(library[1] if library else file.name)
    return {library for library in found if not library.startswith(rules.OWN.get(name, ()))}
