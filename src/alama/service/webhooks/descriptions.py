"""Descriptions of endpoints: a line for people, whoever writes it and wherever."""

from __future__ import annotations

from typing import Final

from alama.core.characters import is_visible

LENGTH_MAX: Final = 200
"""Characters."""


def fits(text: str) -> bool:
    """Say whether a text may be a description."""
    return len(text) <= LENGTH_MAX and is_visible(text)
