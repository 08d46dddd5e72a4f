"""What an image installs: the packages of a lock, and who asks for each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALAMA: Final = "alama"
LOCKS: Final = {"serve": ("serve",), "train": ("serve", "train")}
"""What each image installs, lock by lock, as deploy/container/Containerfile has it."""

_WINDOWS: Final = "Windows"
_PIN: Final = re.compile(r"^([a-z0-9._-]+)(?:\[[^]]*\])?==([^\s;]+)(?: ; ([^\\]*))?")
_HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_ASKED_BY: Final = re.compile(r"^ +#(?: via)? +(?!-c |via$)([a-z0-9._-]+)(?:\[[^]]*\])?(?: .*)?$")
_PLACES: Final = (
    ("platform_machine == 'x86_64'", "Linux on x86-64"),
    ("platform_machine == 'aarch64'", "Linux on ARM"),
    ("sys_platform == 'win32'", _WINDOWS),
)


class Package(NamedTuple):
    """One line of a lock; `only_on` is empty for what every image has."""

    name: str
    version: str
    only_on: str
    hashes: tuple[str, ...]
    asked_by: tuple[str, ...]

    @property
    def direct(self) -> bool:
        """Say whether Alama itself asks for it."""
        return ALAMA in self.asked_by


def paths(root: Path, image: str) -> list[Path]:
    """Give the locks that an image is installed from."""
    return [root / "requirements" / f"{name}.txt" for name in LOCKS[image]]


def of_image(root: Path, image: str) -> list[Package]:
    """Give the packages of an image, in the order of names; what Windows alone needs is in none."""
    found: dict[str, Package] = {}
    for package in (one for path in paths(root, image) for one in read(path)):
        if package.only_on != _WINDOWS:
            known = found.get(package.name, package)
            asked_by = tuple(sorted({*known.asked_by, *package.asked_by}))
            found[package.name] = package._replace(asked_by=asked_by)
    return [found[name] for name in sorted(found)]


def read(path: Path) -> list[Package]:
    """Read a lock as uv writes it, in the order of names."""
    return [_package(lines) for lines in _entries(path.read_text("utf-8"))]


def _entries(text: str) -> Iterator[list[str]]:
    entry: list[str] = []
    for line in text.splitlines():
        if _PIN.match(line):
            if entry:
                yield entry
            entry = [line]
        elif entry:
            entry.append(line)
    if entry:
        yield entry


def _package(lines: list[str]) -> Package:
    pin = _PIN.match(lines[0])
    assert pin is not None
    name, version, marker = pin.groups()
    asked_by = {found[1] for line in lines[1:] if (found := _ASKED_BY.match(line))}
    return Package(
        name=name,
        version=version,
        only_on=place(marker or ""),
        hashes=tuple(sorted(_HASH.findall("\n".join(lines)))),
        asked_by=tuple(sorted(asked_by)),
    )


def place(marker: str) -> str:
    """Say in words where alone a package is installed; CPython goes without saying."""
    return next((words for part, words in _PLACES if part in marker), "")
