"""docs/generated/licences.md: the tables between their markers; the prose around them stays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tools.materials import licences, lock, rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tools.materials.lock import Package

_END: Final = "<!-- end -->"
_ARGUED: Final = re.compile(r"^\| `([a-z0-9-]+)` \| ([^|]+) \|", re.MULTILINE)


class Refused(Exception):
    """A licence is in an image that must not be there."""


def filled(page: str, blocks: Mapping[str, str]) -> str:
    """Give the page with these blocks written anew."""
    for name, block in blocks.items():
        before, start, rest = page.partition(f"<!-- made: {name} -->\n")
        _old, end, after = rest.partition(_END)
        assert start, f"docs/generated/licences.md has no place for {name}"
        assert end, f"the place for {name} has no end"
        page = f"{before}{start}{block}\n{end}{after}"
    return page


def blocks(root: Path) -> dict[str, str]:
    """Make all that is on the page from the locks, the metadata and the decision of each package.

    Raises:
        Refused: a licence is not one that may be there.
        licences.Unclear: a package does not say which it is under.

    """
    images = {image: lock.of_image(root, image) for image in lock.LOCKS}
    decision = (root / "docs" / "decisions" / "0001-dependencies.md").read_text("utf-8")
    argued = dict(_ARGUED.findall(decision))
    found = {package.name: package for packages in images.values() for package in packages}
    under = {name: licences.licence(package) for name, package in found.items()}
    refuse([*under.items(), *((one.name, one.licence) for one in rules.BUNDLED)])
    return {
        "count": _counted(images, under),
        "packages": _packages(images, under, argued),
        "corrections": _corrections(),
        "bundled": _bundled(),
    }


def refuse(found: Iterable[tuple[str, str]]) -> None:
    """Raise `Refused` where a licence may not be in an image."""
    bad = [f"{name} is under {under}" for name, under in found if licences.refused(name, under)]
    if bad:
        raise Refused(
            f"{'; '.join(bad)}: not a licence for a service that others run. Do without, or argue "
            "for it in tools/materials/rules.py"
        )


def _counted(images: Mapping[str, Sequence[Package]], under: Mapping[str, str]) -> str:
    sizes = " and ".join(f"{len(images[image])} in {image}" for image in images)
    return f"{len(under)} packages: {sizes}, none under a licence that is not on the list above."


def _packages(
    images: Mapping[str, Sequence[Package]], under: Mapping[str, str], argued: Mapping[str, str]
) -> str:
    rows = []
    for name, expression in sorted(under.items()):
        holding = [image for image in images if any(one.name == name for one in images[image])]
        everywhere = [one for image in holding for one in images[image] if one.name == name]
        rows.append(
            [
                f"`{name}`",
                everywhere[0].version,
                expression,
                " and ".join(holding),
                _used(everywhere, argued),
            ]
        )
    return _table(("package", "version", "licence", "image", "used"), rows)


def _used(everywhere: Sequence[Package], argued: Mapping[str, str]) -> str:
    """Say what a package is for, in the words of the decision; else, who brings it."""
    name = everywhere[0].name
    direct = any(one.direct for one in everywhere)
    asked_by = sorted({by for one in everywhere for by in one.asked_by} - {lock.ALAMA})
    used = argued.get(name) if direct else None
    words = used or "by " + ", ".join(asked_by)
    # One that is left out only on some platform is in the images of the others.
    places = {one.only_on for one in everywhere}
    return f"{words} ({places.pop()} only)" if len(places) == 1 and "" not in places else words


def _corrections() -> str:
    rows = [
        [f"`{name}`", one.version, one.licence, one.reason]
        for name, one in sorted(rules.CORRECTIONS.items())
    ]
    return _table(("package", "version", "taken as", "why"), rows)


def _bundled() -> str:
    rows = [[f"`{one.wheel}`", one.name, one.licence, one.told_by] for one in sorted(rules.BUNDLED)]
    return _table(("wheel", "holds", "licence", "told by"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows))
