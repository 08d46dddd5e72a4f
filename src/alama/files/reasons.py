"""The dictionary of reasons that comes with the package."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Final

from alama.core.errors import UnknownLanguage
from alama.core.reasons.dictionary import read

if TYPE_CHECKING:
    from alama.core.reasons import Language

_FOLDER: Final = "reasons"
_CODES: Final = "codes.toml"

LANGUAGES: Final = ("en", "sw", "fr")
"""The languages there are, the default first."""


def languages() -> tuple[Language, ...]:
    """Give the dictionary in every language."""
    folder = resources.files("alama").joinpath(_FOLDER)
    codes = folder.joinpath(_CODES).read_text("utf-8")
    return tuple(
        read(codes, folder.joinpath(f"{code}.toml").read_text("utf-8")) for code in LANGUAGES
    )


def language(code: str) -> Language:
    """Give the dictionary in this language; `UnknownLanguage` lists those there are."""
    for known in languages():
        if known.code == code:
            return known
    raise UnknownLanguage(code, LANGUAGES)
