"""The commands that do the steps of an onboarding, as the terminal names them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from alama.lenders.records import OnboardingIncomplete
from alama.onboarding.jobs import WAITS_IN_VAIN
from alama.onboarding.records import (
    ApprovalBlocked,
    Candidate,
    ModelWithdrawn,
    NothingBefore,
    Remedy,
    UnknownCandidate,
)
from alama.onboarding.steps import Step, StepProgress, progress_of
from alama.onboarding.store import Stores
from alama.training.history.report import COLLECT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.lenders.installation import Installation
    from alama.training.history.report import HistoryReport


COMMANDS: Final = {
    Step.LENDER: "alama onboard terms {lender}",
    Step.HISTORY: "alama onboard history {lender} FILE",
    Step.TRAIN: "alama onboard train {lender}",
    Step.VALIDATE: "alama onboard validate {lender}",
    Step.APPROVE: 'alama onboard approve {lender} --by NAME --reason "..."',
    Step.KEY: "alama keys issue --lender {lender} --mode live",
}
_REMEDIES: Final = {
    Remedy.SET_TERMS: "set them first: alama onboard terms {lender}",
    Remedy.TRAIN: "train it again: alama onboard train {lender}",
    Remedy.CHANGE_POLICY: "`alama policy activate` sets another policy of {lender}",
}


SHADOW: Final = "alama keys issue --lender {lender} --mode live --shadow"
"""What makes the key that collects a history."""


def words_for(lender: str, step: StepProgress) -> str:
    """Give what there is to say of a step, with the command that helps."""
    if step.shadow_helps:
        return f"{step.words} ({SHADOW.format(lender=lender)})"
    return step.words.replace(
        WAITS_IN_VAIN, WAITS_IN_VAIN.replace("one has to run", "`alama worker` has to run")
    )


def naming_shadow_key(report: HistoryReport) -> HistoryReport:
    """Give the report of a history with the command that does what it advises."""
    command = SHADOW.format(lender="LENDER")
    told = f"{COLLECT.removesuffix('.')} (`{command}`)."
    return replace(report, advice=tuple(told if it == COLLECT else it for it in report.advice))


def command_for(lender: str, step: StepProgress) -> str:
    """Give the command that does a step, or what the step waits for."""
    left_out = "".join(f" --exclude {name}" for name in step.exclude)
    return COMMANDS[step.done_by or step.step].format(lender=lender) + left_out


@contextmanager
def naming_commands(opened: Installation, lender: str) -> Iterator[None]:
    """Let an error that blocks an approval, a roll back or a live key name what is to be typed."""
    try:
        yield
    except OnboardingIncomplete as error:
        missing = progress_of(Stores.at(opened), lender, opened.clock()).next
        if missing is not None:
            error.args = (str(error).replace(missing.words, words_for(lender, missing)),)
        error.hint = None if missing is None else command_for(lender, missing)
        raise
    except ApprovalBlocked as error:
        if error.remedy is not None:
            error.hint = _REMEDIES[error.remedy].format(lender=lender)
        raise
    except ModelWithdrawn as error:
        error.hint = (
            "to let it answer all the same, sign it again: "
            f"alama onboard approve {lender} --candidate {error.candidate_id}, over HTTP "
            f"POST /v1/onboarding/candidates/{error.candidate_id}/signatures; to stop the model of "
            f"now: alama lenders pause {lender}"
        )
        raise
    except NothingBefore as error:
        error.hint = (
            f'leave every decision to a person: alama lenders pause {lender} --reason "..."'
        )
        raise


def named_candidate(opened: Installation, lender: str, candidate_id: str) -> Candidate:
    """Give a candidate of a lender, or raise `UnknownCandidate` with what lists them."""
    opened.registry.lender(lender)
    try:
        return Stores.at(opened).candidates.find(lender, candidate_id)
    except UnknownCandidate:
        raise UnknownCandidate(hint=f"`alama onboard status {lender}` lists them") from None
