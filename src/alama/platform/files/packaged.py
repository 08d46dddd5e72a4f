"""What comes with the package: the built-in model, jurisdictions, the dictionary of reasons."""

from __future__ import annotations

import os
from importlib import resources
from typing import TYPE_CHECKING, Final

from alama.core import model
from alama.core.errors import FileProblem, InvalidModel, UnknownJurisdiction, UnknownLanguage
from alama.core.lending.jurisdiction import Jurisdiction, read_jurisdiction
from alama.core.reasons.dictionary import Language, read_language

if TYPE_CHECKING:
    from pathlib import Path

    from alama.core.model import Model


_BUILTIN: Final = "builtin/model.json"
_SAMPLE: Final = "builtin/sample.json"
_FIXTURES: Final = "builtin/fixtures.json"


def read_model(path: Path) -> Model:
    """Read an artefact strictly; InvalidModel names the file that holds none."""
    try:
        # One byte more than allowed is enough to know that there are too many.
        with path.open("rb") as file:
            document = file.read(model.SIZE_MAX + 1)
    except OSError as error:
        message = f"cannot read the model {path}: {os.strerror(error.errno or 0)}"
        raise FileProblem(message, hint=_hint(error)) from error
    try:
        return model.decode(document)
    except InvalidModel as error:
        hint = error.hint or "a model is the JSON file that `alama train --out` writes"
        message = f"{path}: {error}"
        raise InvalidModel(message, hint=hint) from error


def builtin() -> Model:
    """Give the model in the package: trained on the public synthetic population."""
    return model.decode(resources.files("alama").joinpath(_BUILTIN).read_bytes())


def model_at(path: Path | None) -> Model:
    """Give the model in a file, or the built-in one where no file is named."""
    return builtin() if path is None else read_model(path)


def sample_application() -> bytes:
    """Give the application of somebody who does not exist, as JSON, money in KES."""
    return resources.files("alama").joinpath(_SAMPLE).read_bytes()


def fixtures() -> bytes:
    """Give the applications of the sandbox, as `alama.scoring.sandbox` reads them."""
    return resources.files("alama").joinpath(_FIXTURES).read_bytes()


def _hint(error: OSError) -> str | None:
    if isinstance(error, IsADirectoryError):
        return "name the JSON file inside it"
    if isinstance(error, FileNotFoundError):
        return "train one with `alama train`, or leave the option out for the built-in model"
    return None


_JURISDICTIONS: Final = "jurisdictions"


def jurisdictions() -> tuple[Jurisdiction, ...]:
    """Give every pack, in the order of their codes, whatever their case."""
    files = resources.files("alama").joinpath(_JURISDICTIONS).iterdir()
    packs = [
        read_jurisdiction(file.read_text("utf-8")) for file in files if file.name.endswith(".toml")
    ]
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


_REASONS: Final = "reasons"
_CODES: Final = "codes.toml"

LANGUAGES: Final = ("en", "sw", "fr")
"""The languages there are, the default first."""


def languages() -> tuple[Language, ...]:
    folder = resources.files("alama").joinpath(_REASONS)
    codes = folder.joinpath(_CODES).read_text("utf-8")
    return tuple(
        read_language(codes, folder.joinpath(f"{code}.toml").read_text("utf-8"))
        for code in LANGUAGES
    )


def language(code: str) -> Language:
    """Give the dictionary in this language; `UnknownLanguage` lists those there are."""
    for known in languages():
        if known.code == code:
            return known
    raise UnknownLanguage(code, LANGUAGES)
