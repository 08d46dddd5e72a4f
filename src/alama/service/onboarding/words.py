"""What people write of themselves, each on one line; models and times as people read them."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from typing import Final

from alama.core.characters import is_visible
from alama.service.errors import InvalidName

TEXT_MAX: Final = 200


def require_person(name: str) -> str:
    """Give a name without what surrounds it, or raise `InvalidName`."""
    return _line(name, "a name", 'for example: --by "W. Mutua"')


def require_reason(reason: str) -> str:
    """Give a reason without what surrounds it, or raise `InvalidName`."""
    return _line(reason, "a reason", "say what convinced you: the history keeps it")


def _line(text: str, what: str, hint: str) -> str:
    if not is_line(text):
        raise InvalidName(f"{what} has 1 to {TEXT_MAX} characters, all on one line", hint=hint)
    return text.strip()


def is_line(text: str) -> bool:
    """Say whether a text may be a name or a reason: one line that says something."""
    return is_visible(text) and 1 <= len(text.strip()) <= TEXT_MAX


def short(model_id: str) -> str:
    """Give as much of the id of a model as tells it from others."""
    return model_id.removeprefix("sha256:")[:12]


def minute(moment_us: int) -> str:
    """Give a time to the minute, UTC."""
    return f"{datetime.fromtimestamp(moment_us / 1_000_000, UTC):%Y-%m-%d %H:%M} UTC"


def is_same_person(one: str, other: str) -> bool:
    """Say whether two names are written alike but for case, spaces and dots."""
    return _letters(one) == _letters(other)


def _letters(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(letter for letter in folded if letter.isalnum()) or folded
