"""What the terminal says is to be typed, where an error says what is missing."""

from pathlib import Path

import pytest

from alama.lenders import installation
from alama.onboarding.commands import naming_commands
from alama.onboarding.records import ApprovalBlocked, Remedy
from alama.platform import settings


@pytest.mark.parametrize(
    ("remedy", "hint"),
    [
        (Remedy.SET_TERMS, "set them first: alama onboard terms demo"),
        (Remedy.TRAIN, "train it again: alama onboard train demo"),
        (Remedy.CHANGE_POLICY, "`alama policy activate` sets another policy of demo"),
        (None, "as it was"),
    ],
)
def test_what_blocks_an_approval_is_mended_by_a_command(
    tmp_path: Path, remedy: Remedy | None, hint: str
) -> None:
    opened = installation.open_installation(settings.Settings(home=str(tmp_path)))
    with pytest.raises(ApprovalBlocked) as caught, naming_commands(opened, "demo"):
        raise ApprovalBlocked("blocked", hint="as it was", remedy=remedy)
    opened.close()
    assert caught.value.hint == hint
