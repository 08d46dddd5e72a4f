"""What the terminal says is to be typed, where an error ended a command."""

from __future__ import annotations

import pytest

from alama.app.commands import hint_for
from alama.core.errors import AlamaError, InvalidModel, InvalidPolicy
from alama.core.lending.policy_text import MORE, UNREADABLE
from alama.core.model import RESTORE
from alama.lenders.records import UnknownKey, UnknownLender, UnknownPolicy


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (
            UnknownLender("umoja"),
            (
                "`alama lenders list` shows them; to add it: "
                "alama lenders add umoja --name NAME --currency KES"
            ),
        ),
        (UnknownKey("key_1"), "`alama keys list` shows them"),
        (UnknownPolicy("7f3a"), "`alama policy history` lists those that did"),
        (
            InvalidModel("damaged", hint=RESTORE),
            (
                "restore it from a backup; until then `alama models rollback` lets the model "
                "before answer, or `alama lenders pause` leaves every decision to a person"
            ),
        ),
        (
            InvalidPolicy("faulty", hint=MORE),
            (
                "mend these first; behind a key that is missing or of the wrong kind "
                "`alama policy check` may find more"
            ),
        ),
        (
            InvalidPolicy("faulty", hint=UNREADABLE),
            "`alama policy init` writes a policy to start from",
        ),
        (AlamaError("it broke", hint="mend it"), "mend it"),
        (AlamaError("it broke"), None),
    ],
)
def test_a_hint_names_what_is_to_be_typed(error: AlamaError, hint: str | None) -> None:
    assert hint_for(error) == hint
    assert "alama " not in (error.hint or "")
