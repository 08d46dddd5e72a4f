"""What mends a stored model or the text of a policy, as the terminal names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core.lending.policy_text import MORE, UNREADABLE
from alama.core.model import RESTORE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.core.errors import AlamaError


_COMMANDS: Final[Mapping[str, str]] = {
    RESTORE: "restore it from a backup; until then `alama models rollback` lets the model before "
    "answer, or `alama lenders pause` leaves every decision to a person",
    MORE: "mend these first; behind a key that is missing or of the wrong kind `alama policy "
    "check` may find more",
    UNREADABLE: "`alama policy init` writes a policy to start from",
}


def hint_of(error: AlamaError) -> str | None:
    """Give the hint of an error, with what is to be typed."""
    return None if error.hint is None else _COMMANDS.get(error.hint, error.hint)
