"""What can go wrong on the way to a live key, each with what to do next.

AlamaError
├── UnknownHistory          no such loan history of this lender
├── HistoryForgotten        the file of a history is no more; its report is
├── HistoryDamaged          its report is not what was kept: a StoreUnfit
├── HistoriesFull           as much is sealed for this lender as it may send
├── UnknownCandidate        no such candidate of this lender
├── UnknownJob              no such job of this lender
├── JobUnderWay             the same is being done for this lender already
├── StepMissing             a step before this one is not done; says which
├── FewerEyes               four eyes are asked for, and cannot become two from afar
├── LawElsewhere            a law under which nobody lends in the currency of this lender
├── ApprovalBlocked         a candidate cannot be approved by anybody as it is; says why
│   └── GateFailed          ... because a gate did not hold
├── SignatureRefused        this signature does not count; another may
├── ModelWithdrawn          the model to go back to was itself rolled back; says by whom
└── NothingBefore           no other model of this lender ever answered live
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from alama.core.errors import AlamaError
from alama.onboarding.records import HISTORIES_BYTES_MAX, Gate, minute, short
from alama.platform.errors import Kind, ModelUnavailable, StoreUnfit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.lenders.records import Signed


class UnknownHistory(AlamaError):
    """No such loan history of this lender."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_history", "Unknown loan history")

    def __init__(self) -> None:
        """Say no more: whether another lender has it is not the caller's business."""
        super().__init__("there is no loan history with this id")


class HistoryForgotten(AlamaError):
    """The file of a history was erased; what was found out about it is still there."""

    kind = Kind(HTTPStatus.CONFLICT, "history_forgotten", "Loan history forgotten")

    def __init__(self) -> None:
        """Say what would do."""
        super().__init__(
            "this loan history was forgotten: its file is no more",
            hint="hand the file in again to train on it",
        )


class HistoryDamaged(StoreUnfit):
    """The report of a history is not what was kept."""

    def __init__(self, history_id: str) -> None:
        """Say whose, and what would do."""
        super().__init__(
            f"the stored report of {history_id} is damaged",
            hint="restore it from a backup, or hand the file in again",
        )

    def to_callers(self) -> AlamaError:
        """Say that a document that is needed cannot be used."""
        return ModelUnavailable(self)


class HistoriesFull(AlamaError):
    """As much is sealed for this lender as it may send."""

    kind = Kind(HTTPStatus.CONFLICT, "histories_full", "Loan histories full")

    def __init__(self) -> None:
        """Say what makes room."""
        super().__init__(
            f"the loan histories of this lender take {HISTORIES_BYTES_MAX >> 20} MiB, and no more "
            "are taken",
            hint="whoever runs the service erases the file of one that is not needed any more; "
            "one that could not be read goes by itself within two hours",
        )


class UnknownCandidate(AlamaError):
    """No such candidate of this lender."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_candidate", "Unknown candidate")

    def __init__(self, *, hint: str | None = None) -> None:
        """Say no more: whether another lender has it is not the caller's business.

        The hint is for who runs the service: what lists those that there are.
        """
        super().__init__("there is no candidate model with this id", hint=hint)


class UnknownJob(AlamaError):
    """No such job of this lender."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_job", "Unknown job")

    def __init__(self) -> None:
        """Say no more: whether another lender has it is not the caller's business."""
        super().__init__("there is no job with this id")


class JobUnderWay(AlamaError):
    """The same is being done for this lender already."""

    kind = Kind(HTTPStatus.CONFLICT, "job_under_way", "Job under way")

    def __init__(self, job_id: str) -> None:
        """Name the job that is open."""
        super().__init__(
            f"this is being done already, as {job_id}",
            hint="read how far it has come, and ask again when it has ended",
        )
        self.job_id = job_id


class StepMissing(AlamaError):
    """A step before this one is not done."""

    kind = Kind(HTTPStatus.CONFLICT, "step_missing", "Step missing")


class FewerEyes(AlamaError):
    """From afar four eyes cannot become two: one key could then approve what two people should."""

    kind = Kind(HTTPStatus.CONFLICT, "fewer_eyes", "Fewer eyes")

    def __init__(self) -> None:
        """Say who can."""
        super().__init__(
            "two people approve a model of this lender, and over HTTP that cannot be lowered",
            hint="whoever runs the service can",
        )


class LawElsewhere(AlamaError):
    """Nobody lends in the currency of this lender under the law that was named."""

    kind = Kind(HTTPStatus.CONFLICT, "law_elsewhere", "Law of elsewhere")

    def __init__(self, place: str, lender: str, currency: str) -> None:
        """Say which law and which currency."""
        super().__init__(
            f"{place} does not lend in {currency}, the currency of {lender}",
            hint="name the jurisdiction whose law holds for its loans, or leave it out",
        )


class ApprovalBlocked(AlamaError):
    """A candidate cannot be approved by anybody as it is."""

    kind = Kind(HTTPStatus.CONFLICT, "approval_blocked", "Approval blocked")


class GateFailed(ApprovalBlocked):
    """A gate did not hold, or nothing was asked of the model at all."""

    kind = Kind(HTTPStatus.CONFLICT, "gate_failed", "Gate failed")

    def __init__(self, failed: Sequence[Gate]) -> None:
        """Say which, and what was measured."""
        said = "; ".join(f"{gate.name}: {gate.words}" for gate in failed)
        super().__init__(
            f"the model has not passed its gates ({said or 'none was measured'})",
            hint="the validation pack shows each of them; train again on other or more loans",
        )
        self.failed = tuple(failed)


class SignatureRefused(AlamaError):
    """This signature does not count; that of somebody else may."""

    kind = Kind(HTTPStatus.CONFLICT, "signature_refused", "Signature refused")


class ModelWithdrawn(AlamaError):
    """The only models to go back to were themselves rolled back: they have to be signed again."""

    kind = Kind(HTTPStatus.CONFLICT, "model_withdrawn", "Model withdrawn")

    def __init__(self, lender: str, model_id: str, candidate_id: str, signed: Signed) -> None:
        """Say who went back from it, when and why, and how it comes back."""
        super().__init__(
            f"model {short(model_id)} was itself rolled back, by {signed.by} at "
            f"{minute(signed.at_us)}: {signed.note}",
            hint="to let it answer all the same, sign it again: "
            f"alama onboard approve {lender} --candidate {candidate_id}, over HTTP "
            f"POST /v1/onboarding/candidates/{candidate_id}/signatures; to stop the model of now: "
            f"alama lenders pause {lender}",
        )


class NothingBefore(AlamaError):
    """No other model of this lender ever answered in live mode."""

    kind = Kind(HTTPStatus.CONFLICT, "nothing_before", "No model before")

    def __init__(self, lender: str) -> None:
        """Say what stops a bad model where there is none to go back to."""
        super().__init__(
            f"no other model of {lender} ever answered in live mode",
            hint=f'leave every decision to a person: alama lenders pause {lender} --reason "..."',
        )
