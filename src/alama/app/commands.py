"""What puts an error right, as the terminal names it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.lenders.records import UnknownFields, UnknownKey, UnknownLender, UnknownPolicy
from alama.policies.commands import hint_of

if TYPE_CHECKING:
    from alama.core.errors import AlamaError


def hint_for(error: AlamaError) -> str | None:
    """Give what to do about an error that ended a command, with what is to be typed."""
    if isinstance(error, UnknownLender):
        return (
            "`alama lenders list` shows them; to add it: "
            f"alama lenders add {error.lender} --name NAME --currency KES"
        )
    if isinstance(error, UnknownKey):
        return "`alama keys list` shows them"
    if isinstance(error, UnknownPolicy):
        return "`alama policy history` lists those that did"
    if isinstance(error, UnknownFields):
        return "`alama fields history` lists those that were"
    return hint_of(error)
