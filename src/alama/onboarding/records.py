"""What an onboarding keeps, what workers are asked for, and what can go wrong.

Times are microseconds since 1970, UTC. What training says is kept as JSON and never looked into
here: the service that serves must be able to read all of this without the training libraries.
"""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.errors import AlamaError, FileProblem
from alama.platform.errors import Kind, ModelUnavailable, StoreUnfit
from alama.training.history.report import Enough

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.lenders.records import Signed


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


HISTORY_PREFIX: Final = "his_"
CANDIDATE_PREFIX: Final = "can_"
JOB_PREFIX: Final = "job_"

PART_BYTES: Final = 1 << 20
"""How much of a history is sealed at once, and read into memory at once."""

HISTORIES_BYTES_MAX: Final = 256 << 20
"""What may lie sealed for one lender, read or not, when it sends more: four of the longest files.
Whoever runs the service can keep more."""

LEASE_US: Final = 120 * 1_000_000
"""How long a worker that says nothing is taken to be alive."""

ATTEMPTS_MAX: Final = 3
"""After so many workers that died of a job it has failed: it would take the next one with it."""

NO_GATES: Final = "{}"
"""Gates that a lender has left as they come with the package."""


class Pilot(msgspec.Struct, frozen=True):
    """The terms of one lender: what a default is, whose law holds, and how many must sign.

    A loan is a default once it is `days_past_due` days late. `gates` is JSON, what the lender asks
    of a model beyond what every lender does. `shadow_us`: since when live applications are answered
    without a model of its own, each with REVIEW.
    """

    lender: str
    jurisdiction: str | None
    days_past_due: int
    approvers: int
    gates: str
    set_us: int
    set_by: str
    shadow_us: int | None = None


class FileFormat(StrEnum):
    """How the file of a history is written."""

    CSV = "csv"
    PARQUET = "parquet"
    XLSX = "xlsx"


class HistoryRecord(msgspec.Struct, frozen=True):
    """A file of past loans that was read and doubted; the file itself is sealed, in parts.

    `digest` is `sha256:` and the hash of the file, for whoever still has it. `days_past_due` is the
    definition of default that it was read by. The report holds counts, never what a borrower said:
    it stays when the file is forgotten.
    """

    id: str
    lender: str
    digest: str
    file_format: FileFormat
    row_count: int
    part_count: int
    days_past_due: int
    enough: Enough
    created_us: int
    kept_by: str
    forgotten_us: int | None = None


class Gate(msgspec.Struct, frozen=True):
    """One thing that was asked of a model, and whether it held; `words` say what was measured."""

    name: str
    passed: bool
    words: str


class Candidate(msgspec.Struct, frozen=True):
    """A model that was trained on a history and validated, and may be signed.

    It has an id of its own: the same model may come out of a second run, with another pack beside
    it, and a signature is given to what was read. `limits` are the gates of the lender, as in
    `Pilot.gates`, by which it was judged.
    """

    id: str
    lender: str
    model_id: str
    history_id: str
    days_past_due: int
    limits: str
    gates: tuple[Gate, ...]
    created_us: int
    made_by: str

    @property
    def failed(self) -> tuple[Gate, ...]:
        """The gates that block its approval."""
        return tuple(gate for gate in self.gates if not gate.passed)

    @property
    def passed(self) -> bool:
        """Whether it may be signed: one that nothing was asked of has shown nothing."""
        return bool(self.gates) and not self.failed


class Signature(msgspec.Struct, frozen=True):
    """That a person has read the pack of a candidate and stands for it, and why.

    `key_id` is the API key that it came with; None: it was given on the machine of the service.
    """

    person: str
    reason: str
    signed_us: int
    key_id: str | None = None


class JobKind(StrEnum):
    """What a worker with the training libraries can be asked for.

    What a job makes has its digits: `job_1f...` that reads makes `his_1f...`, one that trains
    `can_1f...`. Done again after its worker has died, it cannot make a second one.
    """

    READ = "read"
    TRAIN = "train"


class JobState(StrEnum):
    """Where a job stands. One whose worker has died runs until its lease is over."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Job(msgspec.Struct, frozen=True):
    """Something that takes minutes and is done by a worker, and how far it has come.

    `order` is JSON, what was asked for. `share` goes from 0 to 1, `step` says in words what is
    being done. `lease_us` is the time until which it belongs to `worker`.
    """

    id: str
    lender: str
    kind: JobKind
    order: bytes
    state: JobState
    created_us: int
    asked_by: str
    share: float = 0.0
    step: str = ""
    attempts: int = 0
    worker: str | None = None
    lease_us: int | None = None
    error: str | None = None
    ended_us: int | None = None

    @property
    def open(self) -> bool:
        """Whether it waits or runs."""
        return self.ended_us is None

    @property
    def makes(self) -> str:
        """The id of what there is once it is done: a history, or a candidate."""
        made = HISTORY_PREFIX if self.kind is JobKind.READ else CANDIDATE_PREFIX
        return made + self.id.removeprefix(JOB_PREFIX)


SEED_MAX: Final = 2**31 - 1


class Wishes(msgspec.Struct, frozen=True):
    """What may become an input, and which columns say who is treated how.

    `exclude` takes fields of a request out of the inputs, `keep` leaves one in that gives the
    outcome away, `groups` are looked at for fairness and never are inputs; `region` is an input
    only where it is asked for.
    """

    region: bool = False
    exclude: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


class ReadOrder(msgspec.Struct, frozen=True):
    """A file that was received: how it is written, its hash and in how many parts it lies."""

    file_format: FileFormat
    digest: str
    part_count: int
    days_past_due: int
    wishes: Wishes = Wishes()


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """What is decided about a training run since its history was read; see `Wishes`.

    With a `refit` the model is fitted once more, on every loan, after it has passed its gates.
    """

    region: bool = False
    exclude: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    seed: int = 0
    refit: bool = False


class TrainOrder(Decided, frozen=True):
    """A history to train on, as it was read but for what is decided since.

    Equal orders on equal histories give equal models.
    """

    history_id: str


def train_order(history_id: str, decided: Decided) -> TrainOrder:
    return TrainOrder(history_id, **msgspec.structs.asdict(decided))


def encode_order(order: ReadOrder | TrainOrder) -> bytes:
    return msgspec.json.encode(order)


def decode_read_order(order: bytes) -> ReadOrder:
    return msgspec.json.decode(order, type=ReadOrder)


def decode_train_order(order: bytes) -> TrainOrder:
    return msgspec.json.decode(order, type=TrainOrder)


# What can go wrong on the way to a live key, each with what to do next.
#
# AlamaError
# ├── UnknownHistory          no such loan history of this lender
# ├── HistoryForgotten        the file of a history is no more; its report is
# ├── HistoryDamaged          its report is not what was kept: a StoreUnfit
# ├── HistoriesFull           as much is sealed for this lender as it may send
# ├── Unmapped                a file could be read in several ways: a FileProblem
# ├── UnknownCandidate        no such candidate of this lender
# ├── UnknownJob              no such job of this lender
# ├── JobUnderWay             the same is being done for this lender already
# ├── StepMissing             a step before this one is not done; says which
# ├── FewerEyes               four eyes are asked for, and cannot become two from afar
# ├── LawElsewhere            a law under which nobody lends in the currency of this lender
# ├── ApprovalBlocked         a candidate cannot be approved by anybody as it is; says why
# │   └── GateFailed          ... because a gate did not hold
# ├── SignatureRefused        this signature does not count; another may
# ├── ModelWithdrawn          the model to go back to was itself rolled back; says by whom
# └── NothingBefore           no other model of this lender ever answered live


class UnknownHistory(AlamaError):
    """No such loan history of this lender."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_history", "Unknown loan history")

    def __init__(self) -> None:
        super().__init__("there is no loan history with this id")


class HistoryForgotten(AlamaError):
    """The file of a history was erased; what was found out about it is still there."""

    kind = Kind(HTTPStatus.CONFLICT, "history_forgotten", "Loan history forgotten")

    def __init__(self) -> None:
        super().__init__(
            "this loan history was forgotten: its file is no more",
            hint="hand the file in again to train on it",
        )


class HistoryDamaged(StoreUnfit):
    """The report of a history is not what was kept."""

    def __init__(self, history_id: str) -> None:
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
        super().__init__(
            f"the loan histories of this lender take {HISTORIES_BYTES_MAX >> 20} MiB, and no more "
            "are taken",
            hint="whoever runs the service erases the file of one that is not needed any more; "
            "one that could not be read goes by itself within two hours",
        )


class Unmapped(FileProblem):
    """A file that could be read in several ways, and nobody has said in which."""


class UnknownCandidate(AlamaError):
    """No such candidate of this lender."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_candidate", "Unknown candidate")

    def __init__(self, *, hint: str | None = None) -> None:
        """Take a hint for who runs the service: what lists those that there are."""
        super().__init__("there is no candidate model with this id", hint=hint)


class UnknownJob(AlamaError):
    """No such job of this lender."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_job", "Unknown job")

    def __init__(self) -> None:
        super().__init__("there is no job with this id")


class JobUnderWay(AlamaError):
    """The same is being done for this lender already."""

    kind = Kind(HTTPStatus.CONFLICT, "job_under_way", "Job under way")

    def __init__(self, job_id: str) -> None:
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
        super().__init__(
            "two people approve a model of this lender, and over HTTP that cannot be lowered",
            hint="whoever runs the service can",
        )


class LawElsewhere(AlamaError):
    """Nobody lends in the currency of this lender under the law that was named."""

    kind = Kind(HTTPStatus.CONFLICT, "law_elsewhere", "Law of elsewhere")

    def __init__(self, place: str, lender: str, currency: str) -> None:
        super().__init__(
            f"{place} does not lend in {currency}, the currency of {lender}",
            hint="name the jurisdiction whose law holds for its loans, or leave it out",
        )


class Remedy(StrEnum):
    """What lets a candidate be approved that is blocked."""

    SET_TERMS = "set_terms"
    TRAIN = "train"
    CHANGE_POLICY = "change_policy"


class ApprovalBlocked(AlamaError):
    """A candidate cannot be approved by anybody as it is; `remedy` is what would mend it."""

    kind = Kind(HTTPStatus.CONFLICT, "approval_blocked", "Approval blocked")

    def __init__(
        self, message: str, *, hint: str | None = None, remedy: Remedy | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.remedy = remedy


class GateFailed(ApprovalBlocked):
    """A gate did not hold, or nothing was asked of the model at all."""

    kind = Kind(HTTPStatus.CONFLICT, "gate_failed", "Gate failed")

    def __init__(self, failed: Sequence[Gate]) -> None:
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

    def __init__(self, model_id: str, candidate_id: str, signed: Signed) -> None:
        super().__init__(
            f"model {short(model_id)} was itself rolled back, by {signed.by} at "
            f"{minute(signed.at_us)}: {signed.note}",
            hint=f"to let it answer all the same, candidate {candidate_id} is to be signed again: "
            f"POST /v1/onboarding/candidates/{candidate_id}/signatures",
        )
        self.candidate_id = candidate_id


class NothingBefore(AlamaError):
    """No other model of this lender ever answered in live mode."""

    kind = Kind(HTTPStatus.CONFLICT, "nothing_before", "No model before")

    def __init__(self, lender: str) -> None:
        super().__init__(
            f"no other model of {lender} ever answered in live mode",
            hint="whoever runs the service can leave every decision to a person",
        )
