"""What a lender can do from afar, with a key: everything but to have live keys issued.

Nothing here needs the training libraries: files are sealed unread, and a worker does the rest.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from alama.onboarding import jobs, steps
from alama.onboarding.records import (
    HISTORY_PREFIX,
    JOB_PREFIX,
    Candidate,
    Decided,
    FewerEyes,
    FileFormat,
    HistoryForgotten,
    HistoryRecord,
    Job,
    JobKind,
    JobUnderWay,
    Pilot,
    ReadOrder,
    Signature,
    StepMissing,
    UnknownHistory,
    UnknownJob,
    Wishes,
    encode_order,
    train_order,
)
from alama.onboarding.steps import Progress, progress_of
from alama.onboarding.store import Stores
from alama.onboarding.terms import Agreed, Agreement, Terms
from alama.platform import ids
from alama.platform.book import Book, Mode
from alama.platform.ids import RandomPool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from alama.lenders.installation import Installation
    from alama.platform.clock import Clock


class Handed(NamedTuple):
    """A history that was handed in: read, or still to be; then there is the job of it alone."""

    id: str
    record: HistoryRecord | None
    report: bytes | None
    job: Job | None


class Judged(NamedTuple):
    """A candidate, its pack, who has signed, how many must, and whether it answers now."""

    candidate: Candidate
    pack: bytes
    signatures: Sequence[Signature]
    needed: int
    live: bool


class OnboardingApi:
    """Use cases of onboarding, each for the lender that is named."""

    def __init__(
        self,
        stores: Stores,
        clock: Clock,
        chance: Callable[[], bytes],
        agreement: Agreement,
    ) -> None:
        """Keep what an onboarding is kept in; `chance` gives `ids.RANDOM_BYTES` random bytes."""
        self._stores = stores
        self._clock = clock
        self._chance = chance
        self._agreement = agreement

    @classmethod
    def at(cls, installed: Installation) -> OnboardingApi:
        """What of an onboarding lenders do themselves, over HTTP."""
        draw = RandomPool(ids.RANDOM_BYTES).draw
        return cls(Stores.at(installed), installed.clock, draw, Agreement.at(installed))

    def progress(self, lender: str) -> Progress:
        return progress_of(self._stores, lender, self._clock())

    def set_terms(self, lender: str, terms: Terms, by: str) -> Agreed:
        """Agree terms as `Agreement.set` does; `FewerEyes`, and what that raises."""

        def judge(before: Pilot | None) -> None:
            if before is not None and terms.approvers < before.approvers:
                raise FewerEyes

        return self._agreement.set(lender, terms, by, judge)

    # -------------------------------------------------------------------------------- histories

    def arrival(self, lender: str) -> Arrival:
        """Make room for a file. `StepMissing` without terms, `JobUnderWay` while one is read."""
        pilot = self._require_terms(lender)
        for job in self._stores.jobs.of(lender):
            if job.open and job.kind is JobKind.READ:
                raise JobUnderWay(job.id)
        return Arrival(self._stores, lender, pilot.days_past_due, self._clock(), self._chance())

    def history(self, lender: str, history_id: str) -> Handed:
        """Find a history that was handed in, also one that nobody has read yet."""
        job = self._reading(lender, history_id)
        try:
            record = self._stores.histories.find(lender, history_id)
        except UnknownHistory:
            if job is None:
                raise
            return Handed(history_id, None, None, job)
        report = steps.whole_report(self._stores.histories, lender, history_id)
        return Handed(history_id, record, report, job)

    def _reading(self, lender: str, history_id: str) -> Job | None:
        try:
            digits = history_id.removeprefix(HISTORY_PREFIX)
            return self._stores.jobs.find(lender, JOB_PREFIX + digits)
        except UnknownJob:
            return None

    # -------------------------------------------------------------------------------- training

    def train(self, lender: str, history_id: str | None, decided: Decided, by: str) -> Job:
        """Ask for a training run; without a history on the one that `progress` names.

        `StepMissing`, also where a field gives the outcome away and nobody has decided what
        becomes of it; `HistoryForgotten`, `JobUnderWay`.
        """
        pilot = self._require_terms(lender)
        history = self._history_to_train_on(lender, history_id, pilot)
        named, histories = [*decided.exclude, *decided.keep], self._stores.histories
        _require_decisions(steps.undecided_fields(histories, lender, history.id, named))
        order = encode_order(train_order(history.id, decided))
        chance = self._chance()
        return jobs.ask_for_training(self._stores.jobs, self._clock, chance, lender, order, by)

    def _history_to_train_on(
        self, lender: str, history_id: str | None, pilot: Pilot
    ) -> HistoryRecord:
        chosen = (
            self.progress(lender).history
            if history_id is None
            else self._counting(lender, history_id, pilot)
        )
        if chosen is None:
            raise StepMissing(
                "there is no such loan history by this definition of default",
                hint="hand one in: POST /v1/onboarding/histories",
            )
        if chosen.forgotten_us is not None:
            raise HistoryForgotten
        return chosen

    def _counting(self, lender: str, history_id: str, pilot: Pilot) -> HistoryRecord | None:
        """Find a history that was read by the definition of default of now."""
        try:
            found = self._stores.histories.find(lender, history_id)
        except UnknownHistory:
            return None
        return found if found.days_past_due == pilot.days_past_due else None

    def job(self, lender: str, job_id: str) -> Job:
        """Say how far a job has come; `UnknownJob`."""
        return jobs.worded(self._stores.jobs, self._stores.jobs.find(lender, job_id), self._clock())

    # -------------------------------------------------------------------------------- candidates

    def candidate(self, lender: str, candidate_id: str) -> Judged:
        """Give a candidate with all that there is to know before one signs; `UnknownCandidate`."""
        candidates = self._stores.candidates
        found = candidates.find(lender, candidate_id)
        pilot = self._stores.pilots.find(lender)
        live_id, _ = self._stores.registry.deployed(Book(lender, Mode.LIVE)) or (None, None)
        return Judged(
            candidate=found,
            pack=candidates.pack(lender, candidate_id),
            signatures=candidates.signatures(lender, candidate_id),
            needed=1 if pilot is None else pilot.approvers,
            live=live_id == found.model_id,
        )

    def page(self, lender: str, candidate_id: str) -> bytes | None:
        """Give the pack as a page, where one was kept; `UnknownCandidate`."""
        return self._stores.candidates.page(lender, candidate_id)

    def _require_terms(self, lender: str) -> Pilot:
        pilot = self._stores.pilots.find(lender)
        if pilot is None:
            raise StepMissing(
                "the terms of this lender are not set", hint="set them: PUT /v1/onboarding/terms"
            )
        return pilot


def _require_decisions(fields: Sequence[str]) -> None:
    if not fields:
        return
    listed = ", ".join(f'"{name}"' for name in fields)
    raise StepMissing(
        f"the step history is not done: {steps.told(fields)}",
        hint=f'what was filled in after the loan is left out with "exclude": [{listed}]; with '
        f'"keep": [{listed}] it is learned from, and nobody can approve the model',
    )


class Arrival:
    """One file that comes in part by part, and is sealed as it comes.

    The first parts are kept before the last is there: whoever breaks off drops them.
    """

    def __init__(
        self, stores: Stores, lender: str, days_past_due: int, now_us: int, chance: bytes
    ) -> None:
        """Give the file an id; the job that will read it has the same digits."""
        self._stores = stores
        self._lender = lender
        self._days_past_due = days_past_due
        self._now_us = now_us
        self._id = ids.sortable(HISTORY_PREFIX, now_us, chance)
        self._job_id = ids.sortable(JOB_PREFIX, now_us, chance)
        self._count = 0
        self._seen = hashlib.sha256()

    def add(self, part: bytes) -> None:
        """Seal the next part."""
        self._seen.update(part)
        self._count += 1
        self._stores.histories.receive(self._lender, self._id, self._count, part)

    def finish(self, file_format: FileFormat, wishes: Wishes, by: str) -> Job:
        """Ask for it to be read. `JobUnderWay` where another came in meanwhile."""
        order = ReadOrder(
            file_format=file_format,
            digest=f"sha256:{self._seen.hexdigest()}",
            part_count=self._count,
            days_past_due=self._days_past_due,
            wishes=wishes,
        )
        return jobs.ask_for(
            self._stores.jobs,
            self._job_id,
            JobKind.READ,
            self._now_us,
            self._lender,
            encode_order(order),
            by,
        )

    def drop(self) -> None:
        """Erase what has come."""
        self._stores.histories.drop(self._lender, self._id)
