"""What was asked for over HTTP, done: a history read and doubted, a model trained and judged.

All of it can be done twice. A worker may die at any moment, and the next one begins anew.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core import model as models
from alama.core.errors import FileProblem, TrainingProblem
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.core.own_fields import reading
from alama.core.product import PRODUCT
from alama.lenders.mappings import Files
from alama.lenders.own_fields import learnable, own_fields_in_force
from alama.onboarding.histories import write_history
from alama.onboarding.incoming import readable, source_of
from alama.onboarding.records import (
    Candidate,
    FileFormat,
    Gate,
    HistoryDamaged,
    HistoryRecord,
    Job,
    JobKind,
    Pilot,
    TrainOrder,
    Unmapped,
    Wishes,
    decode_read_order,
    decode_train_order,
)
from alama.platform.book import Book, Mode
from alama.platform.errors import StoreUnfit
from alama.platform.files.table import GZIP, SENT
from alama.policies import policies
from alama.training.history.loans import History, Options, Terms, read_history, refuse_open_suspects
from alama.training.history.report import Enough, HistoryReport, Source
from alama.training.history.roles import REGION
from alama.training.pilot import Candidate as Made
from alama.training.pilot import PilotOrder, train_pilot
from alama.training.validation import pack
from alama.training.validation.gates import FOR_EVERYONE, Gates, tightened
from alama.training.validation.pack_page import pack_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.core.catalogue import Catalogue
    from alama.onboarding.store import Stores
    from alama.platform.clock import Clock
    from alama.training.validation.trial import PolicyFor


Watch = Callable[[float, str], None]
"""Told the share of a job that is done, and in words what is being done."""

READING: Final = "reading the history"
_READING_SHARE: Final = 0.02
"""Of a training run: the file is read again before it is learned from."""

_NAME: Final = "history"


class Tasks:
    """Does jobs, one at a time. `cores` is how many processes may train at once."""

    def __init__(self, stores: Stores, clock: Clock, cores: int) -> None:
        self._stores = stores
        self._clock = clock
        self._cores = cores

    def do(self, job: Job, watch: Watch) -> None:
        """Do a job, or raise an `AlamaError` whose words may be told to the lender."""
        match job.kind:
            case JobKind.READ:
                self._read(job, watch)
            case JobKind.TRAIN:
                self._train(job, watch)

    # -------------------------------------------------------------------------------- reading

    def _read(self, job: Job, watch: Watch) -> None:
        order = decode_read_order(job.order)
        record = HistoryRecord(
            id=job.makes,
            lender=job.lender,
            digest=order.digest,
            file_format=order.file_format,
            row_count=0,
            part_count=order.part_count,
            days_past_due=order.days_past_due,
            enough=Enough.NOTHING,
            created_us=self._clock(),
            kept_by=job.asked_by,
        )
        # Whatever goes wrong, the file stays: this may not be the last who tries. What came to
        # nothing is swept once its job has ended.
        self._read_received(record, order.wishes, watch)

    def _read_received(self, record: HistoryRecord, wishes: Wishes, watch: Watch) -> None:
        options = Options(
            region=wishes.region,
            exclude=frozenset(wishes.exclude),
            keep=frozenset(wishes.keep),
            groups=wishes.groups,
            today=_day(record),
        )
        with _folder() as folder:
            path = folder / _NAME
            seen = hashlib.sha256()
            with path.open("wb") as file:
                for part in self._stores.histories.received(record):
                    seen.update(part)
                    file.write(part)
            if f"sha256:{seen.hexdigest()}" != record.digest:
                raise StoreUnfit(f"the file of {record.id} is damaged", hint="hand it in again")
            named = path.rename(path.with_name(_NAME + _ending(path, record.file_format)))
            source = self._source(named, record)
            read = self._history(named, source, record, options, lambda s: watch(s, READING))
        report = msgspec.structs.replace(read.report, source=source)
        settled = msgspec.structs.replace(record, row_count=report.rows, enough=report.enough)
        self._stores.histories.settle(settled, msgspec.json.encode(report))

    def _source(self, path: Path, record: HistoryRecord) -> Source | None:
        kept = self._stores.mappings.find(record.lender, Files.HISTORIES)
        currency = self._stores.registry.lender(record.lender).currency
        catalogue = learnable(self._stores.registry, record.lender)
        try:
            return source_of(path, kept, currency, catalogue, limits=SENT)
        except Unmapped as error:
            error.hint = (
                "whoever runs the service can say how the files of the lender are read; or name "
                "the columns as the documentation does, write days as 2024-03-31, amounts as 1234.5"
            )
            raise

    def _history(
        self,
        path: Path,
        source: Source | None,
        record: HistoryRecord,
        options: Options,
        watch: Callable[[float], None],
    ) -> History:
        currency = self._stores.registry.lender(record.lender).currency
        pilot = self._stores.pilots.find(record.lender)
        limits = FOR_EVERYONE if pilot is None else limits_of(pilot)
        terms = Terms(record.days_past_due, currency, limits.out_of_time_defaults_min)
        catalogue = learnable(self._stores.registry, record.lender)
        asked = replace(options, catalogue=catalogue)
        with readable(path, source, catalogue, SENT) as known:
            return read_history(known, terms, asked, watch, SENT)

    # -------------------------------------------------------------------------------- training

    def _train(self, job: Job, watch: Watch) -> None:
        order = decode_train_order(job.order)
        pilot = self._stores.pilots.find(job.lender)
        record = self._stores.histories.find(job.lender, order.history_id)
        if pilot is None or record.days_past_due != pilot.days_past_due:
            raise TrainingProblem(
                "the history was read by another definition of default than that of now",
                hint="hand it in again, and then train on it",
            )
        report = self._report(record)
        with _folder() as folder:
            path = folder / _NAME
            with path.open("wb") as file:
                write_history(self._stores.histories, job.lender, record.id, file)
            history = self._history(
                path.rename(path.with_name(_NAME + _ending(path, record.file_format))),
                report.source,
                record,
                _options(report, record, order, learnable(self._stores.registry, record.lender)),
                lambda share: watch(_READING_SHARE * share, READING),
            )
        refuse_open_suspects(history.report)
        if history.report.enough is Enough.NOTHING:
            raise TrainingProblem(" ".join(history.report.advice))
        made = self._trained(record, pilot, history, order, watch)
        self._keep_candidate(job, record, pilot, made)

    def _report(self, record: HistoryRecord) -> HistoryReport:
        kept = self._stores.histories.report(record.lender, record.id)
        try:
            return msgspec.json.decode(kept, type=HistoryReport)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise HistoryDamaged(record.id) from None

    def _trained(
        self, record: HistoryRecord, pilot: Pilot, history: History, order: TrainOrder, watch: Watch
    ) -> Made:
        lender = self._stores.registry.lender(record.lender)
        asked = PilotOrder(
            name=f"{lender.name}, history of {_day(record)}",
            currency=lender.currency,
            days_past_due=pilot.days_past_due,
            seed=order.seed,
            jobs=self._cores,
            limits=limits_of(pilot),
            refit=order.refit,
        )
        current, policy_for = self._answering(Book(record.lender, Mode.LIVE))
        return train_pilot(history, asked, _after_reading(watch), current, policy_for)

    def _keep_candidate(self, job: Job, record: HistoryRecord, pilot: Pilot, made: Made) -> None:
        candidate = Candidate(
            id=job.makes,
            lender=job.lender,
            model_id=made.model.id,
            history_id=record.id,
            days_past_due=pilot.days_past_due,
            limits=pilot.gates,
            gates=tuple(Gate(gate.name.value, gate.passed, gate.words) for gate in made.pack.gates),
            created_us=self._clock(),
            made_by=job.asked_by,
        )
        page = pack_page(made.pack, made.model).encode()
        self._stores.candidates.add(
            candidate, models.encode(made.model), pack.encode(made.pack), page
        )

    def _answering(self, book: Book) -> tuple[Model | None, PolicyFor]:
        """Give the model that answers live, if any, and how the policy is laid out for another."""
        registry = self._stores.registry
        model_id, policy_id = registry.deployed(book) or (None, None)
        policy = policies.policy_by_id(registry, book, policy_id)
        current = None if model_id is None else models.stored(registry.model(model_id), model_id)
        own = own_fields_in_force(registry, book.lender)
        return current, lambda model: ReadyPolicy(
            policy, ReadyModel(reading(model, own), policy.currency)
        )


def _after_reading(watch: Watch) -> Callable[[str, float, str], None]:
    def told(stage: str, share: float, _figure: str) -> None:
        watch(_READING_SHARE + (1.0 - _READING_SHARE) * share, stage)

    return told


def limits_of(pilot: Pilot) -> Gates:
    """Give the gates for everyone, with those that the lender has tightened."""
    return tightened(msgspec.json.decode(pilot.gates, type=dict[str, float]))


def options_of(report: HistoryReport, read_on: date, catalogue: Catalogue = PRODUCT) -> Options:
    """Give the options that read a file again as it was read for a report.

    A field that is no input stays none; a group is none by itself. One that gives the outcome away
    and about which nobody has decided is not left out in silence: `refuse_open_suspects` names it
    again.
    """
    undecided = {catalogue.field(name).name for name in report.open_suspects}
    inputs = set(report.inputs)
    of_themselves = {*report.groups, REGION}
    left_out = {field.name for field in catalogue.model_fields} - inputs - undecided - of_themselves
    return Options(
        region=REGION in inputs,
        exclude=frozenset(left_out),
        keep=frozenset(suspect.column for suspect in report.suspects if suspect.kept),
        groups=tuple(name for name in report.groups if name != REGION),
        today=read_on,
    )


def _options(
    report: HistoryReport, record: HistoryRecord, order: TrainOrder, catalogue: Catalogue
) -> Options:
    as_read = options_of(report, _day(record), catalogue)
    return replace(
        as_read,
        region=as_read.region or order.region,
        exclude=as_read.exclude.union(order.exclude),
        keep=as_read.keep.union(order.keep),
    )


def _day(record: HistoryRecord) -> date:
    return datetime.fromtimestamp(record.created_us / 1e6, UTC).date()


def _ending(path: Path, file_format: FileFormat) -> str:
    if file_format is not FileFormat.CSV:
        return f".{file_format.value}"
    with path.open("rb") as file:
        return ".csv.gz" if file.read(len(GZIP)) == GZIP else ".csv"


@contextmanager
def _folder() -> Iterator[Path]:
    """Give a place for the file of a history, in clear; it is gone as soon as it was read.

    Of what is wrong with the file the lender is told, and not where it lay.
    """
    with tempfile.TemporaryDirectory(prefix="alama-history-") as folder:
        try:
            yield Path(folder)
        except FileProblem as error:
            said, hint = (
                None if text is None else text.replace(f"{folder}/", "")
                for text in (str(error), error.hint)
            )
            raise FileProblem(said or "the file cannot be read", hint=hint) from None
