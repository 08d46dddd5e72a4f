"""What the terminal says is to be typed, where an error says what is missing."""

from pathlib import Path
from typing import cast

import msgspec
import pytest

from alama.lenders import installation
from alama.onboarding.commands import naming_commands, naming_shadow_key, words_for
from alama.onboarding.records import ApprovalBlocked, Remedy
from alama.onboarding.steps import State, Step, StepProgress
from alama.platform import settings
from alama.training.history.report import COLLECT, HistoryReport


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


def test_steps_and_reports_that_a_shadow_key_helps_name_its_command() -> None:
    report_line = f"{COLLECT[:-1]} (`alama keys issue --lender LENDER --mode live --shadow`)."
    step = StepProgress(Step.HISTORY, State.BLOCKED, "too few", shadow_helps=True)
    told = "too few (alama keys issue --lender demo --mode live --shadow)"
    assert words_for("demo", step) == told
    found = naming_shadow_key(cast("HistoryReport", Told(("wait", COLLECT))))
    assert found.advice == ("wait", report_line)


class Told(msgspec.Struct, frozen=True):
    """Of a report what it advises."""

    advice: tuple[str, ...]
