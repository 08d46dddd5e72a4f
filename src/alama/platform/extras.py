"""The sets of libraries that an installation may do without."""

from __future__ import annotations

from typing import Final

_OF_EVERY_IMAGE: Final = frozenset({"postgres", "traces"})


def how_to_install(extra: str) -> str:
    """Say where an extra comes from: Alama is on no package index."""
    image = "alama" if extra in _OF_EVERY_IMAGE else "alama-train"
    return f"`pip install '.[{extra}]'` in the repository; the image {image} has it"
