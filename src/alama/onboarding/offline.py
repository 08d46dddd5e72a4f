"""What two steps of an onboarding do with the training libraries: read a file, train on it.

Nothing here speaks to a person.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Final

import msgspec

from alama.core.errors import FileProblem
from alama.core.product import PRODUCT
from alama.lenders.mappings import Files
from alama.lenders.own_fields import learnable, own_fields_in_force
from alama.onboarding.commands import command_for, words_for
from alama.onboarding.histories import Read, digest, keep_history
from alama.onboarding.incoming import QUIET, readable, source_of
from alama.onboarding.records import (
    JOB_PREFIX,
    Candidate,
    Decided,
    FileFormat,
    HistoryRecord,
    Job,
    JobKind,
    JobState,
    JobUnderWay,
    Pilot,
    StepMissing,
    encode_order,
    train_order,
)
from alama.onboarding.steps import Progress, Step, progress_of
from alama.onboarding.store import Stores
from alama.onboarding.tasks import Tasks, limits_of
from alama.platform import ids
from alama.platform.files.table import SPREADSHEET
from alama.platform.terminal.terminal import Watch, usable_cores
from alama.training.history.loans import Options, Terms, read_history, refuse_open_suspects
from alama.training.history.report import Enough, HistoryReport, Source
from alama.training.history.roles import REGION

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from alama.lenders.installation import Installation


_PARQUET_ENDING: Final = ".parquet"
_LOOKING_SHARE: Final = 0.4
"""Of reading a file as it comes: all of it is looked at before it is read."""


# ----------------------------------------------------------------------------------- the file


def read_file(
    opened: Installation, lender: str, path: Path, options: Options, watch: Callable[[float], None]
) -> HistoryReport:
    """Read a file by the terms of a lender, and keep nothing; `StepMissing` without any.

    What is wrong with the rows stands in the report; a file that is no history is a `FileProblem`.
    """
    pilot = _require_terms(progress_of(Stores.at(opened), lender, opened.clock()))
    currency = opened.registry.lender(lender).currency
    terms = Terms(pilot.days_past_due, currency, limits_of(pilot).out_of_time_defaults_min)
    catalogue = learnable(opened.registry, lender)
    asked = replace(options, catalogue=catalogue)
    source = detected(opened, lender, path, watch)
    share = 0.0 if source is None else _LOOKING_SHARE
    with readable(path, source, catalogue) as known:
        read = read_history(known, terms, asked, lambda s: watch(share + (1.0 - share) * s))
    return msgspec.structs.replace(read.report, source=source)


def detected(
    opened: Installation, lender: str, path: Path, watch: Callable[[float], None] = QUIET
) -> Source | None:
    """Say how a file is read that did not come as Alama writes one; `Unmapped`."""
    kept = Stores.at(opened).mappings.find(lender, Files.HISTORIES)
    currency = opened.registry.lender(lender).currency
    catalogue = learnable(opened.registry, lender)
    return source_of(path, kept, currency, catalogue, lambda share: watch(_LOOKING_SHARE * share))


def keep_file(
    opened: Installation, lender: str, path: Path, report: HistoryReport, by: str
) -> HistoryRecord:
    """Seal a file that `read_file` has read, or raise where somebody has to decide first."""
    refuse_open_suspects(report)
    read = Read(
        file_format=_format_of(path),
        row_count=report.rows,
        days_past_due=report.days_past_due,
        enough=Enough(report.enough),
        report=msgspec.json.encode(report),
    )
    histories, chance = Stores.at(opened).histories, os.urandom(ids.RANDOM_BYTES)
    with _bytes_of(path) as file:
        return keep_history(histories, opened.clock, chance, lender, file, read, by)


def is_kept(opened: Installation, record: HistoryRecord, path: Path, wishes: Options) -> bool:
    """Say whether a history is this very file, read in the way that is wished for now."""
    with _bytes_of(path) as file:
        if digest(file) != record.digest or record.forgotten_us is not None:
            return False
    report = report_of(opened, record)
    inputs = set(report.inputs)
    return (
        _knows_own_fields(opened, record.lender, report)
        and wishes.region == (REGION in inputs)
        and inputs.isdisjoint(map(_field, wishes.exclude))
        and inputs.issuperset(map(_field, wishes.keep))
        and set(report.groups).issuperset(wishes.groups)
    )


def _knows_own_fields(opened: Installation, lender: str, report: HistoryReport) -> bool:
    """Say whether a report speaks of all that the lender has declared for models since."""
    told = {*report.inputs, *report.excluded, *(suspect.column for suspect in report.suspects)}
    said = " ".join(report.notes)
    return all(
        field.name in told or field.name in said
        for field in own_fields_in_force(opened.registry, lender).fields
        if field.learnable
    )


def is_the_same(opened: Installation, record: HistoryRecord, path: Path, wishes: Options) -> bool:
    """Say whether to read a file again would show nothing new: `is_kept`, and no wish less."""
    if not is_kept(opened, record, path, wishes):
        return False
    report = report_of(opened, record)
    mapping = Stores.at(opened).mappings.find(record.lender, Files.HISTORIES)
    if report.source is not None and report.source.version != (mapping and mapping.version):
        return False
    kept = {_field(suspect.column) for suspect in report.suspects if suspect.kept}
    return (
        set(report.excluded) == set(map(_field, wishes.exclude))
        and kept == set(map(_field, wishes.keep))
        and set(report.groups) - {REGION} == set(wishes.groups) - {REGION}
    )


def report_of(opened: Installation, record: HistoryRecord) -> HistoryReport:
    """Give what was found out about a history when it was handed in."""
    kept = Stores.at(opened).histories.report(record.lender, record.id)
    return msgspec.json.decode(kept, type=HistoryReport)


def _format_of(path: Path) -> FileFormat:
    if path.name.lower().endswith(_PARQUET_ENDING):
        return FileFormat.PARQUET
    with _bytes_of(path) as file:
        is_workbook = file.read(len(SPREADSHEET)) == SPREADSHEET
    return FileFormat.XLSX if is_workbook else FileFormat.CSV


def _bytes_of(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise FileProblem(f"cannot read {path}: {error.strerror}") from error


def _field(name: str) -> str:
    """Give the name of the field behind either spelling, or the name as it is."""
    return PRODUCT.field(name).name if name in PRODUCT.position else name


# ----------------------------------------------------------------------------------- training


def train(
    opened: Installation,
    lender: str,
    decided: Decided,
    by: str,
    watch: Watch,
    cores: int | None = None,
) -> Candidate:
    """Train on the newest history of a lender, judge the result, and keep both as a candidate.

    It is what a worker does, done here and now, on every core unless fewer are named. The same
    history, terms and decisions give the same model. `StepMissing` where terms or a history are
    missing, `JobUnderWay` where a worker trains already; `TrainingProblem`, `HistoryForgotten`.
    """
    stores, now_us = Stores.at(opened), opened.clock()
    history = _require_history(progress_of(stores, lender, now_us))
    for other in stores.jobs.of(lender):
        if other.open and other.kind is JobKind.TRAIN:
            raise JobUnderWay(other.id)
    # It is never kept as a job: it ends with this process, and nobody else could take it up.
    job = Job(
        id=ids.sortable(JOB_PREFIX, now_us, os.urandom(ids.RANDOM_BYTES)),
        lender=lender,
        kind=JobKind.TRAIN,
        order=encode_order(train_order(history.id, decided)),
        state=JobState.RUNNING,
        created_us=now_us,
        asked_by=by,
    )
    tasks = Tasks(stores, opened.clock, cores or usable_cores())
    tasks.do(job, lambda share, step: watch(step, share, ""))
    return stores.candidates.find(lender, job.makes)


def _require_terms(stand: Progress) -> Pilot:
    if stand.pilot is None:
        raise missing(stand, Step.LENDER)
    return stand.pilot


def _require_history(stand: Progress) -> HistoryRecord:
    _require_terms(stand)
    if stand.history is None or stand.history.enough is Enough.NOTHING:
        raise missing(stand, Step.HISTORY)
    return stand.history


def missing(stand: Progress, step: Step) -> StepMissing:
    """Give the error that names a step that has to come first, and what does it."""
    first = next(one for one in stand.steps if one.step is step)
    return StepMissing(
        f"the step {step} is missing: {words_for(stand.lender, first)}",
        hint=command_for(stand.lender, first),
    )
