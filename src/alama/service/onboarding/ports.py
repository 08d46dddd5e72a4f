"""What onboarding needs from outside. `alama.storage` implements all of it.

Every method names the lender, and finds nothing of another; but for those of workers, who serve
all lenders. Each may raise `StoreUnavailable`. What is done is written to the audit in the same
transaction; `by` is who said so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from alama.service.onboarding.records import (
        Candidate,
        HistoryRecord,
        Job,
        JobKind,
        Pilot,
        Signature,
    )
    from alama.service.policies import Deployment, Signed


JudgeTerms = Callable[["Pilot | None"], None]
"""Raises where terms must not take the place of those before."""


def whatever_was_before(before: Pilot | None) -> None:
    """Let terms take the place of any."""


class Pilots(Protocol):
    """The terms of lenders."""

    def set(
        self, pilot: Pilot, judge: JudgeTerms = whatever_was_before, reason: str | None = None
    ) -> None:
        """Keep terms in the place of those before; a shadow that has begun goes on.

        One at a time for a lender: nobody else sets terms between the judgement and this.
        `reason` is for the audit. `UnknownLender`, and whatever the judge raises.
        """

    def find(self, lender: str) -> Pilot | None:
        """The terms of a lender, if they were ever set."""
        ...

    def begin_shadow(self, lender: str, at_us: int, by: str) -> None:
        """Answer live applications without a model from now on; the first time stands.

        Does nothing where a lender has no terms.
        """


class Forgotten(NamedTuple):
    """What became of the file of a history; `is_news` is False where it was erased before.

    `journal_emptied` is False where SQLite's journal may still hold some of it, because somebody is
    reading from it.
    """

    is_news: bool
    journal_emptied: bool


class Histories(Protocol):
    """Loan histories, whose files are sealed under the keys of their lenders."""

    def keep(self, record: HistoryRecord, report: bytes, parts: Iterable[bytes]) -> None:
        """Seal a file part by part, and then let it be found; an earlier failure leaves nothing.

        `part_count` of the record is what it will be once all parts are kept. `UnknownLender`.
        """

    def of(self, lender: str) -> Sequence[HistoryRecord]:
        """Those of a lender, newest first."""
        ...

    def find(self, lender: str, history_id: str) -> HistoryRecord:
        """One of them, or `UnknownHistory`."""
        ...

    def report(self, lender: str, history_id: str) -> bytes:
        """What was found out about it, as JSON, or `UnknownHistory`."""
        ...

    def parts(self, lender: str, history_id: str) -> Iterator[bytes]:
        """The file again, part by part; `UnknownHistory`, `HistoryForgotten`, `StoreUnfit`."""
        ...

    def forget(self, lender: str, history_id: str, at_us: int, by: str) -> Forgotten:
        """Erase the file; asked again, it still empties the journal. `UnknownHistory`."""
        ...

    def receive(self, lender: str, history_id: str, number: int, part: bytes) -> None:
        """Seal one part of a file that nobody has read yet; the first is number 1.

        What is received is found by nobody before it is settled. It goes after a day, unless the
        job that is to read it is open. `HistoriesFull` beyond `HISTORIES_BYTES_MAX` of the lender.
        """

    def received(self, record: HistoryRecord) -> Iterator[bytes]:
        """Give a file that was received, part by part; `StoreUnfit` where it is not whole."""
        ...

    def settle(self, record: HistoryRecord, report: bytes) -> None:
        """Let a file be found that was received, and has been read; twice is as once."""

    def drop(self, lender: str, history_id: str) -> None:
        """Erase a file that was received, unless it is settled or an open job is to read it."""

    def sweep(self, now_us: int) -> bool:
        """Erase some of what was received in vain, of any lender; says whether some is left.

        Of those files no history came: the job that was to read them has failed, or there has been
        none for a day.
        """
        ...


class Dossier(NamedTuple):
    """All that decides whether a signature counts, as it stands in the transaction of it.

    `document` is the artefact of the candidate, `signatures` are all that it ever got, and
    `deployments` all that ever answered live, oldest first.
    """

    pilot: Pilot | None
    candidate: Candidate
    signatures: Sequence[Signature]
    document: bytes
    deployments: Sequence[Deployment]

    @property
    def live(self) -> tuple[str | None, str | None]:
        """The model and the policy that answer live; None stands for what the package brings."""
        return self.deployments[-1][:2] if self.deployments else (None, None)


class Counted(NamedTuple):
    """The signatures that count for a candidate, a new one last, and how many are needed."""

    signatures: Sequence[Signature]
    needed: int

    @property
    def enough(self) -> bool:
        """Whether they put its model in force."""
        return len(self.signatures) >= self.needed


Judge = Callable[[Dossier], Counted]
"""Raises where a new signature does not count; else gives it with those that count beside it."""

Choose = Callable[["Sequence[Deployment]"], str]
"""Gives the model to go back to, of all that ever answered, oldest first; or raises."""


class Candidates(Protocol):
    """Models that may be signed, and what was signed."""

    def add(
        self, candidate: Candidate, document: bytes, pack: bytes, page: bytes | None = None
    ) -> None:
        """Keep a candidate, its artefact and its pack: as JSON, and as a page for people.

        One that is there already stays as it is. `UnknownHistory`.
        """

    def of(self, lender: str) -> Sequence[Candidate]:
        """Those of a lender, newest first."""
        ...

    def find(self, lender: str, candidate_id: str) -> Candidate:
        """One of them, or `UnknownCandidate`."""
        ...

    def pack(self, lender: str, candidate_id: str) -> bytes:
        """What was measured of it, as JSON, or `UnknownCandidate`."""
        ...

    def page(self, lender: str, candidate_id: str) -> bytes | None:
        """The same as a page (HTML), if one was kept; `UnknownCandidate`."""
        ...

    def document(self, lender: str, candidate_id: str) -> bytes:
        """Its artefact, or `UnknownCandidate`."""
        ...

    def signatures(self, lender: str, candidate_id: str) -> Sequence[Signature]:
        """Who has signed it, the first one first; none where there is no such candidate."""
        ...

    def sign(self, lender: str, candidate_id: str, signature: Signature, judge: Judge) -> Counted:
        """Keep a signature and give all that count; where they are enough the model answers live.

        All in one transaction, one at a time for a lender: the signature, the artefact, the
        deployment, its event and the entries of the audit stand together or not at all.
        `UnknownLender`, `UnknownCandidate`, and whatever the judge raises.
        """
        ...

    def roll_back(self, lender: str, signed: Signed, choose: Choose) -> str:
        """Let a chosen earlier model answer live, with the policy of now; give its id.

        `UnknownLender`, and whatever is raised by who chooses.
        """
        ...


class Jobs(Protocol):
    """What workers are asked to do. Those who work name themselves, and serve every lender."""

    def add(self, job: Job) -> None:
        """Keep a job; `JobUnderWay` where one of its kind is open, `UnknownLender`."""

    def of(self, lender: str) -> Sequence[Job]:
        """Those of a lender, newest first."""
        ...

    def find(self, lender: str, job_id: str) -> Job:
        """One of them, or `UnknownJob`."""
        ...

    def is_any_free(self, now_us: int) -> bool:
        """Say whether a worker would get something, without a lock: scores are kept meanwhile."""
        ...

    def is_any_under_way(self, now_us: int) -> bool:
        """Say whether a worker does a job at this moment, of whatever lender."""
        ...

    def claim(
        self, worker: str, kinds: Sequence[JobKind], now_us: int, until_us: int
    ) -> Job | None:
        """Take a job that waits or whose worker is taken to be dead; None: there is none.

        Lenders take turns: it is the oldest job of the lender for whom least lately something was
        done. Nobody else gets it before `until_us`. One that has cost `ATTEMPTS_MAX` workers is
        given up instead, and has failed.
        """
        ...

    def advance(self, worker: str, job_id: str, share: float, step: str, until_us: int) -> bool:
        """Say how far a job has come, and keep it for longer; False where it is not one's own."""
        ...

    def finish(self, worker: str, job_id: str, at_us: int) -> bool:
        """End a job that was done; False where it is not one's own any more."""
        ...

    def fail(self, worker: str, job_id: str, error: str, at_us: int) -> bool:
        """End a job in vain, with what to tell; False where it is not one's own any more."""
        ...

    def give_back(self, worker: str) -> None:
        """Let others have what this worker will not do any more."""
