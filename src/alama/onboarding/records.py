"""What is kept of an onboarding: terms, loan histories, candidates, signatures and jobs.

Times are microseconds since 1970, UTC. What training says is kept as JSON and never looked into
here: the service that serves must be able to read all of this without the training libraries.
"""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

import msgspec

from alama.core.application import is_visible
from alama.platform.errors import InvalidName
from alama.training.history.report import Enough

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
