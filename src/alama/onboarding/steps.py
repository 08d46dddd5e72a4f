"""Where an onboarding stands: six steps, each done, next or in the way of those after it.

lender -> history -> train -> validate -> approve -> key

Nothing here is remembered: where a lender stands follows from what is kept, so that an onboarding
can be left and taken up again at any step, by anybody, on any machine.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.product import PRODUCT
from alama.lenders.keys import is_open
from alama.lenders.records import Deployment, Pause, Signed
from alama.onboarding.jobs import worded
from alama.onboarding.records import (
    NO_GATES,
    Candidate,
    HistoryDamaged,
    HistoryRecord,
    Job,
    JobKind,
    JobState,
    Pilot,
    Signature,
    minute,
    short,
)
from alama.platform.book import Book, Mode
from alama.training.history.report import Enough

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from alama.onboarding.histories import Histories
    from alama.onboarding.store import Stores


def that_count(
    signatures: Iterable[Signature], model_id: str, deployments: Sequence[Deployment]
) -> list[Signature]:
    """Give those of the signatures for a model that count now.

    `deployments` are all of the lender's live book, oldest first. While the model answers nothing
    more is counted, so all do.
    """
    left_us = left_since(model_id, deployments)
    return [one for one in signatures if left_us is None or one.signed_us > left_us]


def left_since(model_id: str, deployments: Sequence[Deployment]) -> int | None:
    """Give when a model last stopped answering (microseconds); None: it never did, or answers."""
    after: Deployment | None = None
    for step in reversed(deployments):
        if step.model_id == model_id:
            return None if after is None else after.signed.at_us
        after = step
    return None


class WayBack(NamedTuple):
    """The models that one may go back to, and those that somebody went back from.

    `models` were each put in force after the one before it; the last of them answers now.
    `withdrawn` says of a model that was left for an earlier one who did that, when and why; the one
    that was withdrawn last is the last. It is nothing to go back to until people have signed for it
    again: a roll back is the deed of one.
    """

    models: Sequence[str]
    withdrawn: Mapping[str, Signed]


def way_back(steps: Sequence[Deployment]) -> WayBack:
    """Find the way back through all that ever answered in a book; a change of policy is no step.

    A model that answers again while it is one to go back to was gone back to, and those that came
    after it are withdrawn.
    """
    models: list[str] = []
    withdrawn: dict[str, Signed] = {}
    for step in steps:
        model_id = step.model_id
        if model_id is None:
            continue
        if model_id not in models:
            models.append(model_id)
            withdrawn.pop(model_id, None)
        while models[-1] != model_id:
            withdrawn[models.pop()] = step.signed
    return WayBack(models, withdrawn)


def withdrawn_for(steps: Sequence[Deployment]) -> tuple[str, Signed] | None:
    """Give the model that was left for the one of now, and by whom; None: it was put in force."""
    changes = [
        (earlier.model_id, later)
        for earlier, later in pairwise(steps)
        if earlier.model_id != later.model_id
    ]
    if not changes:
        return None
    left, change = changes[-1]
    signed = way_back(steps).withdrawn.get(left or "")
    return None if left is None or signed != change.signed else (left, signed)


_OPEN: Final = "open"
"""As `alama.training.history.report.Standing` writes it."""


class _Suspect(msgspec.Struct, frozen=True):
    column: str
    standing: str


class _Report(msgspec.Struct, frozen=True):
    """The part of the report of a history that is read here."""

    suspects: tuple[_Suspect, ...] = ()


def undecided_fields(
    histories: Histories, lender: str, history_id: str, decided: Iterable[str] = ()
) -> Sequence[str]:
    """Give the fields that a report names as open, but for those that are decided about now.

    They give the outcome of a loan away; a file over HTTP is kept before anybody decides. Either
    spelling of a field will do. `UnknownHistory`, `HistoryDamaged`.
    """
    suspects = _read(history_id, histories.report(lender, history_id)).suspects
    named = {_field(name) for name in decided}
    return [
        one.column for one in suspects if one.standing == _OPEN and _field(one.column) not in named
    ]


def whole_report(histories: Histories, lender: str, history_id: str) -> bytes:
    """Give the report of a history as it was kept; `UnknownHistory`, `HistoryDamaged`."""
    report = histories.report(lender, history_id)
    _read(history_id, report)
    return report


def _read(history_id: str, report: bytes) -> _Report:
    try:
        # As text: of what is passed over, the decoder does not look at the letters.
        return msgspec.json.decode(report.decode("utf-8"), type=_Report)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise HistoryDamaged(history_id) from None  # its words may be those of the file


def told(fields: Sequence[str]) -> str:
    """Say what is wrong with fields that are open."""
    tell = "tells" if len(fields) == 1 else "tell"
    return f"{', '.join(fields)} {tell} the outcome almost alone, and nobody has decided"


def _field(name: str) -> str:
    return PRODUCT.field(name).name if name in PRODUCT.position else name


class Step(StrEnum):
    """What has to be done, in this order."""

    LENDER = "lender"
    HISTORY = "history"
    TRAIN = "train"
    VALIDATE = "validate"
    APPROVE = "approve"
    KEY = "key"


class State(StrEnum):
    """How a step stands: `blocked` where it was tried, or something before it is missing."""

    DONE = "done"
    MISSING = "missing"
    BLOCKED = "blocked"


class StepProgress(msgspec.Struct, frozen=True):
    """One step: what there is to say of it, and who did it and when.

    `done_by` is the step to do in its place, where it is not the step itself; `exclude` are fields
    that are to be left out then. `shadow_helps`: a shadow key would collect what is missing.
    """

    step: Step
    state: State
    words: str
    by: str | None = None
    at_us: int | None = None
    done_by: Step | None = None
    exclude: tuple[str, ...] = ()
    shadow_helps: bool = False


class Progress(msgspec.Struct, frozen=True):
    """All six steps of one lender, and what each has left to work with.

    `history` is the newest that counts, `candidate` the newest that was trained on it. `job` is the
    last training that was asked for, `reading` the last file that came over HTTP. `live` is the
    model that answers; `newer`: the candidate has passed its gates and waits beside that one.
    """

    lender: str
    steps: tuple[StepProgress, ...]
    pilot: Pilot | None
    history: HistoryRecord | None
    candidate: Candidate | None
    job: Job | None
    reading: Job | None
    live: str | None = None
    newer: bool = False
    paused: Pause | None = None

    @property
    def next(self) -> StepProgress | None:
        """The first step that is not done; None: there is nothing left to do."""
        return next((step for step in self.steps if step.state is not State.DONE), None)


class _Found(NamedTuple):
    """What is kept of one lender and still counts.

    `outdated` was trained on another history; `redefined`: all histories that there are were read
    by another definition of default. `undecided` are fields of the history that give the outcome
    away, where nothing has been trained on it.
    """

    lender: str
    pilot: Pilot | None
    history: HistoryRecord | None
    candidate: Candidate | None
    job: Job | None
    reading: Job | None
    outdated: Candidate | None = None
    redefined: bool = False
    undecided: Sequence[str] = ()
    deployments: Sequence[Deployment] = ()

    @property
    def live(self) -> str | None:
        return self.deployments[-1].model_id if self.deployments else None


def progress_of(stores: Stores, lender: str, now_us: int) -> Progress:
    """Say where a lender stands; `UnknownLender`."""
    stores.registry.lender(lender)
    book = Book(lender, Mode.LIVE)
    deployments = stores.registry.deployments(book)
    found = _find(stores, lender, now_us)._replace(deployments=deployments)
    steps = [_lender(found), _history(found), _train(found), _validate(found)]
    steps += [_approve(stores, found), _key(stores, found, now_us)]
    newer = steps[3].state is State.DONE and _waits(stores, found)
    told = tuple(_blocked_by_those_before(steps))
    paused = stores.registry.pause_of(book)
    return Progress(lender, told, *found[1:6], live=found.live, newer=newer, paused=paused)


def _find(stores: Stores, lender: str, now_us: int) -> _Found:
    """Look for what still counts: what was made under another definition of default does not.

    Nor does a history whose file was erased before anything was trained on it, unless it is all
    that there is.
    """
    pilot = stores.pilots.find(lender)
    jobs = [worded(stores.jobs, one, now_us) for one in stores.jobs.of(lender)]
    job = next((one for one in jobs if one.kind is JobKind.TRAIN), None)
    reading = next((one for one in jobs if one.kind is JobKind.READ), None)
    if pilot is None:
        return _Found(lender, None, None, None, job, reading)
    days = pilot.days_past_due
    candidates = [one for one in stores.candidates.of(lender) if one.days_past_due == days]
    trained_on = {one.history_id for one in candidates}
    kept = stores.histories.of(lender)
    histories = [one for one in kept if one.days_past_due == days]
    usable = [one for one in histories if one.forgotten_us is None or one.id in trained_on]
    history = next(iter(usable or histories), None)
    of_it = [one for one in candidates if history is not None and one.history_id == history.id]
    candidate, newest = next(iter(of_it), None), next(iter(candidates), None)
    outdated = newest if candidate is None else None
    redefined = bool(kept) and not histories
    undecided: Sequence[str] = ()
    if history is not None and candidate is None and not (job is not None and job.open):
        undecided = undecided_fields(stores.histories, lender, history.id)
    return _Found(lender, pilot, history, candidate, job, reading, outdated, redefined, undecided)


def _blocked_by_those_before(steps: list[StepProgress]) -> list[StepProgress]:
    """Let what is missing after the first open step be blocked by it; what is done stays done."""
    opened: StepProgress | None = None
    told = []
    for step in steps:
        if step.state is State.MISSING and opened is not None:
            words = f"after the step {opened.step}"
            told.append(msgspec.structs.replace(step, state=State.BLOCKED, words=words))
        else:
            told.append(step)
        if opened is None and step.state is not State.DONE:
            opened = step
    return told


# ------------------------------------------------------------------------------- each step


def _lender(found: _Found) -> StepProgress:
    pilot = found.pilot
    if pilot is None:
        words = "its terms are not set: what a default is, and how many people approve a model"
        return StepProgress(Step.LENDER, State.MISSING, words)
    people = "one person approves" if pilot.approvers == 1 else "two people approve"
    law = "" if pilot.jurisdiction is None else f"; the law of {pilot.jurisdiction} holds"
    tighter = "" if pilot.gates == NO_GATES else "; some gates are its own, and tighter"
    words = f"a default is {pilot.days_past_due} days past due; {people}{law}{tighter}"
    return StepProgress(Step.LENDER, State.DONE, words, pilot.set_by, pilot.set_us)


def _history(found: _Found) -> StepProgress:
    history, reading = found.history, found.reading
    if history is None and reading is not None and reading.open:
        who = (reading.asked_by, reading.created_us)
        return StepProgress(Step.HISTORY, State.MISSING, _under_way(reading), *who)
    if history is None and reading is not None and reading.state is JobState.FAILED:
        words = f"it could not be read: {reading.error}"
        ended_us = reading.ended_us
        return StepProgress(Step.HISTORY, State.BLOCKED, words, reading.asked_by, ended_us)
    if history is None:
        words = "no loan history was handed in" + (
            " since the definition of default was changed" if found.redefined else ""
        )
        return StepProgress(Step.HISTORY, State.MISSING, words)
    if history.forgotten_us is not None and found.candidate is None:
        words = "its file was erased before a model was trained on it: hand the file in again"
        return StepProgress(Step.HISTORY, State.MISSING, words)
    if history.enough is Enough.NOTHING:
        words = (
            "the loan history has too few defaults to train on: hand in a longer one; until then "
            "a live key whose every decision is left to a person collects more"
        )
        state = State.BLOCKED
    elif found.undecided:
        return _undecided(found, history)
    else:
        words, state = f"{history.row_count:,} rows, enough for a model", State.DONE
    return StepProgress(
        Step.HISTORY,
        state,
        words,
        history.kept_by,
        history.created_us,
        shadow_helps=history.enough is Enough.NOTHING,
    )


def _undecided(found: _Found, history: HistoryRecord) -> StepProgress:
    words = (
        f"{told(found.undecided)}: train with `exclude` and their names if they were "
        "filled in after the loan; with `keep` nobody can approve the model"
    )
    who = (history.kept_by, history.created_us)
    undecided = tuple(found.undecided)
    return StepProgress(Step.HISTORY, State.BLOCKED, words, *who, Step.TRAIN, undecided)


def _train(found: _Found) -> StepProgress:
    candidate, job = found.candidate, found.job
    state, words, by, at_us = State.MISSING, "no model has been trained on its history", None, None
    if job is not None and job.open:
        words, by, at_us = _under_way(job), job.asked_by, job.created_us
    elif candidate is not None:
        state, words = State.DONE, f"model {short(candidate.model_id)}"
        by, at_us = candidate.made_by, candidate.created_us
    elif job is not None and job.state is JobState.FAILED and not _is_before(job, found.history):
        state, words = State.BLOCKED, f"it failed: {job.error}"
        by, at_us = job.asked_by, job.ended_us
    elif found.outdated is not None:
        model = short(found.outdated.model_id)
        words = f"model {model} was trained on an earlier history than the newest: train again"
        if found.live is not None:
            words += f"; until a newer one is approved, model {short(found.live)} goes on answering"
    return StepProgress(Step.TRAIN, state, words, by, at_us)


def _under_way(job: Job) -> str:
    if job.state is JobState.WAITING:
        return job.step
    return f"under way, {job.share:.0%}{': ' if job.step else ''}{job.step}"


def _is_before(job: Job, history: HistoryRecord | None) -> bool:
    """Say whether a job was over before a history was there: it says nothing about that one."""
    return history is not None and job.ended_us is not None and job.ended_us < history.created_us


def _validate(found: _Found) -> StepProgress:
    candidate = found.candidate
    if candidate is None or found.pilot is None:
        words = "no model has been validated"
        return StepProgress(Step.VALIDATE, State.MISSING, words)
    who = (candidate.made_by, candidate.created_us)
    if candidate.limits != found.pilot.gates:
        words = "the model was judged by other gates than those of now: train again"
        return StepProgress(Step.VALIDATE, State.BLOCKED, words, *who, Step.TRAIN)
    if not candidate.passed:
        failed = "; ".join(f"{gate.name}: {gate.words}" for gate in candidate.failed)
        words = f"the model has not passed its gates: {failed or 'none was measured'}"
        return StepProgress(Step.VALIDATE, State.BLOCKED, words, *who)
    words = f"all {len(candidate.gates)} gates passed"
    return StepProgress(Step.VALIDATE, State.DONE, words, *who)


def _approve(stores: Stores, found: _Found) -> StepProgress:
    candidate, deployments = found.candidate, found.deployments
    signatures = _counting(stores, candidate, deployments)
    needed = 1 if found.pilot is None else found.pilot.approvers
    if found.live is None:
        return StepProgress(Step.APPROVE, State.MISSING, _signed(signatures, needed))
    words = f"model {short(found.live)} answers"
    if left := withdrawn_for(deployments):
        model_id, gone = left
        words += f", rolled back from {short(model_id)} by {gone.by}, {minute(gone.at_us)}: "
        words += gone.note or ""
    if candidate is not None and _waits(stores, found):
        words += f"; model {short(candidate.model_id)}: {_signed(signatures, needed)}"
    signed = next(step.signed for step in deployments if step.model_id == found.live)
    return StepProgress(Step.APPROVE, State.DONE, words, signed.by, signed.at_us)


def _signed(signatures: Sequence[Signature], needed: int) -> str:
    """Say how far signing has come for a model that does not answer.

    Enough may have signed: two had to then, and one is enough by the terms of now.
    """
    if len(signatures) < needed:
        return f"{len(signatures)} of {needed} signatures"
    people = ", ".join(signature.person for signature in signatures)
    who = "also by the same person" if needed == 1 else "by somebody else"
    one_more = f"one signature more, {who}, puts the model in force"
    return f"signed before by {people}: {one_more}"


def _counting(
    stores: Stores, candidate: Candidate | None, deployments: Sequence[Deployment]
) -> Sequence[Signature]:
    """Give the signatures that count for a candidate which does not answer; none where it does."""
    if candidate is None or (deployments and deployments[-1].model_id == candidate.model_id):
        return ()
    signed = stores.candidates.signatures(candidate.lender, candidate.id)
    return that_count(signed, candidate.model_id, deployments)


def _waits(stores: Stores, found: _Found) -> bool:
    """Say whether a candidate is to be signed, or was signed for, beside the model that answers."""
    candidate, deployments = found.candidate, found.deployments
    if candidate is None or found.live in (None, candidate.model_id):
        return False
    return bool(_counting(stores, candidate, deployments)) or _is_new(candidate, deployments)


def _is_new(candidate: Candidate, deployments: Sequence[Deployment]) -> bool:
    """Say whether a model has yet to answer.

    One that has answered was left on purpose, unless a second run has made it again.
    """
    answered = {step.model_id for step in deployments}
    left_us = left_since(candidate.model_id, deployments)
    return candidate.model_id not in answered or (
        left_us is not None and candidate.created_us > left_us
    )


def _key(stores: Stores, found: _Found, now_us: int) -> StepProgress:
    usable = [
        key
        for key in stores.registry.keys(found.lender)
        if key.mode is Mode.LIVE and key.revoked_us is None and not key.expired(now_us)
    ]
    if not usable:
        return StepProgress(Step.KEY, State.MISSING, "no live key was issued")
    if not is_open(stores.registry, Book(found.lender, Mode.LIVE)):
        words = "live keys answer with REVIEW alone, until a model is approved"
        return StepProgress(Step.KEY, State.BLOCKED, words)
    words = f"{len(usable)} live key" + ("s" if len(usable) > 1 else "")
    return StepProgress(Step.KEY, State.DONE, words, None, usable[0].created_us)
