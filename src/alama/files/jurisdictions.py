"""The jurisdiction packs that come with the package."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Final

from alama.core.errors import UnknownJurisdiction
from alama.core.lending.jurisdiction import read

if TYPE_CHECKING:
    from alama.core.lending.jurisdiction import Jurisdiction

_FOLDER: Final = "jurisdictions"


def jurisdictions() -> tuple[Jurisdiction, ...]:
    """Give every pack, in the order of their codes, whatever their case."""
    files = resources.files("alama").joinpath(_FOLDER).iterdir()
    packs = [read(file.read_text("utf-8")) for file in files if file.name.endswith(".toml")]
    return tuple(sorted(packs, key=lambda pack: pack.code.casefold()))


def jurisdiction(code: str) -> Jurisdiction:
    """Give the pack of this code or name of a place, in either case.

    `UnknownJurisdiction` lists the codes there are.
    """
    packs = jurisdictions()
    for pack in packs:
        if code.strip().casefold() in {pack.code.casefold(), pack.name.casefold()}:
            return pack
    raise UnknownJurisdiction(code, [pack.code for pack in packs])
