"""Whether drift is told of, and nothing else is: streams of synthetic people, day by day.

Each run has people of its own. They are scored by the model of the package, counted by the tally
that serving uses, kept in a database, and looked at every morning by the check that the service
runs. In a drifted run, once two windows are over, two thirds of the applicants say that half as
much comes in as did; nothing else of what they say changes.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from sqlalchemy import insert

from alama.core import document
from alama.core import tally as tallies
from alama.core.kernel import BatchScorecard, Column, Words, choose_card, shown_scores
from alama.core.lending.draft import default_policy
from alama.core.lending.loan import AMOUNT, TERM
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.core.tally import Seen, Tally
from alama.lenders import installation
from alama.monitoring.drift import SETTLED_US, Drift, Drifted, DriftStore, Window
from alama.platform import settings
from alama.platform.book import Book, Mode
from alama.platform.days import DAY_US
from alama.platform.files.packaged import builtin
from alama.scoring import schema
from alama.training.dataset import take_column
from alama.training.population.people import CHUNK_ROWS, PopulationOptions, batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alama.platform.database.database import Database


Figures = dict[str, Any]
Progress = Callable[[float, str], None]
"""Told the share of the work that is done, and what it was."""

FIRST_DAY: Final = 20_500
A_DAY: Final = (340, 500)
"""Scores of a day, any number of these as likely: with three days a window has 1,000 to 1,500."""

CALM_WINDOWS: Final = 6
WINDOWS_BEFORE: Final = 2
WINDOWS_AFTER: Final = 2
"""Within so many windows drift has to be told of: it takes two to be called that."""

CURRENCY: Final = "KES"
DRIFTING_FIELD: Final = "avg_inflow"
DRIFTING_SHARE: Final = 2.0 / 3.0
CARD: Final = "full"
"""Which card's windows are counted: nineteen in twenty applications are read by it."""

_SEED: Final = 90_000
_CALM_SEED: Final = 190_000


class Stage(NamedTuple):
    """What all runs share: a database, the model in it, and who looks for drift."""

    database: Database
    model: Model
    drift: Drift
    store: DriftStore


@dataclass(frozen=True, slots=True)
class Run:
    """One stream: what was told of, and after how many windows of it in all."""

    windows: int
    scores: int
    told: Sequence[tuple[int, Drifted]]
    worst: float
    """The highest index of a window before anything has moved, in limits."""


def measure(runs_drifted: int, runs_calm: int, progress: Progress) -> Figures:
    """Run drifted and calm streams, and count what was told of."""
    drifted, calm = [], []
    runs = runs_drifted + runs_calm
    with tempfile.TemporaryDirectory() as folder, _stage(folder) as stage:
        for number in range(runs_drifted):
            drifted.append(_run(stage, f"drifted_{number}", _SEED + number, WINDOWS_BEFORE))
            progress((number + 1) / runs, f"drifted run {number + 1}")
        for number in range(runs_calm):
            calm.append(_run(stage, f"calm_{number}", _CALM_SEED + number, None))
            progress((runs_drifted + number + 1) / runs, f"calm run {number + 1}")
    return {"drifted": _detected(drifted), "calm": _alarmed(calm)}


def _detected(runs: Sequence[Run]) -> Figures:
    after = Counter[int]()
    names = Counter[str]()
    for run in runs:
        since = [(window - WINDOWS_BEFORE, told) for window, told in run.told]
        found = [window for window, told in since if window > 0 and DRIFTING_FIELD in told.figures]
        after[min(found, default=0)] += 1
        names.update({name for window, told in since if window > 0 for name in told.figures})
    return {
        "runs": len(runs),
        "detected": sum(count for windows, count in after.items() if 0 < windows <= WINDOWS_AFTER),
        "windows_until_told": {str(windows): after[windows] for windows in sorted(after)},
        "names": dict(names.most_common()),
        "told_too_soon": sum(
            any(window <= WINDOWS_BEFORE for window, _ in run.told) for run in runs
        ),
    }


def _alarmed(runs: Sequence[Run]) -> Figures:
    return {
        "runs": len(runs),
        "alarms": sum(len(run.told) for run in runs),
        "windows": sum(run.windows for run in runs),
        "scores": sum(run.scores for run in runs),
        "worst_index_in_limits": round(max((run.worst for run in runs), default=0.0), 3),
    }


# ------------------------------------------------------------------------------------ a run


@contextmanager
def _stage(folder: str) -> Iterator[Stage]:
    """Open a database for all runs, each in a book of its own, with the model in it."""
    installed = installation.open_installation(settings.read({"ALAMA_HOME": folder}))
    try:
        model = builtin()
        installed.registry.keep_model(model.id, document.encode(model), FIRST_DAY * DAY_US)
        store = DriftStore(installed.database, installed.log, lambda: FIRST_DAY * DAY_US)
        yield Stage(installed.database, model, Drift(store, installed.registry), store)
    finally:
        installed.database.close()


def _run(stage: Stage, name: str, seed: int, drifts_after: int | None) -> Run:
    """Stream people day by day; after so many windows, if after any, they begin to drift."""
    book = Book(name, Mode.TEST)
    people = People(stage.model, seed)
    rng = np.random.default_rng(seed)
    last = CALM_WINDOWS if drifts_after is None else drifts_after + WINDOWS_AFTER
    told: list[tuple[int, Drifted]] = []
    windows: Sequence[Window] = ()
    done, scores, day = 0, 0, FIRST_DAY
    while done < last:
        count = int(rng.integers(*A_DAY, endpoint=True))
        is_drifting = drifts_after is not None and done >= drifts_after
        _keep(stage, book, day, people.tally(count, rng if is_drifting else None))
        found = stage.drift.look_in(book, (day + 1) * DAY_US + SETTLED_US)
        windows = stage.store.windows(book, stage.model.id, CARD, last + 1)
        done, scores, day = len(windows), scores + count, day + 1
        told += [(done, one) for one in found]
    steady = windows[: last if drifts_after is None else drifts_after]
    figures = [figure for window in steady for figure in window.figures.values()]
    return Run(done, scores, told, max(one.psi / one.limit for one in figures))


def _keep(stage: Stage, book: Book, day: int, counted: Tally) -> None:
    row = {
        "lender": book.lender,
        "mode": book.mode.value,
        "day": day,
        "model_id": stage.model.id,
        "writer": "bench",
        "counts": tallies.encode(counted),
    }
    with stage.database.writing() as connection:
        connection.execute(insert(schema.daily_counts), row)


# ------------------------------------------------------------------------------------ people


class People:
    """The applicants of one run, taken some at a time, scored and counted as the service does."""

    def __init__(self, model: Model, seed: int) -> None:
        [batch] = batches(PopulationOptions(CHUNK_ROWS, seed, CURRENCY))
        self._model = model
        policy = ReadyPolicy(default_policy(CURRENCY), ReadyModel(model, CURRENCY))
        self._standard = policy.standard_loan
        self._cards = [BatchScorecard(card, model.catalogue) for card in model.cards]
        self._columns = columns_of(batch, model)
        self._taken = 0

    def tally(self, count: int, drifting: np.random.Generator | None) -> Tally:
        """Score and count the next applicants; two thirds of them drift if a chance is given."""
        rows = np.arange(self._taken, self._taken + count)
        self._taken += count
        assert self._taken <= CHUNK_ROWS
        columns = {name: take_column(column, rows) for name, column in self._columns.items()}
        if drifting is not None:
            inflow = columns[DRIFTING_FIELD]
            assert not isinstance(inflow, Words)
            inflow[drifting.random(count) < DRIFTING_SHARE] /= 2.0
        counted = Tally()
        chosen = choose_card(self._model.cards, columns, count)
        for place, scorecard in enumerate(self._cards):
            served = np.flatnonzero(chosen == place)
            read = {name: take_column(columns[name], served) for name in scorecard.fields}
            slots = np.stack(scorecard.slots(read), axis=1).tolist()
            # Who names no loan is scored for a standard one, and counted as not naming any.
            scores = shown_scores(scorecard.score(self._as_asked(read)).points).tolist()
            for said, score in zip(slots, scores, strict=True):
                # Drift knows nothing of tiers and decisions, so neither is worked out.
                counted.add(Seen(scorecard.card.name, tuple(said), score, "-", "-"))
        return counted

    def _as_asked(self, columns: dict[str, Column]) -> dict[str, Column]:
        asked = dict(columns)
        for name, standard in ((AMOUNT, self._standard.amount), (TERM, self._standard.term_days)):
            column = columns.get(name)
            if column is not None and not isinstance(column, Words):
                asked[name] = np.where(np.isnan(column), float(standard), column)
        return asked


def columns_of(batch: pa.RecordBatch, model: Model) -> dict[str, Column]:
    """Give the fields of a batch as a card reads them."""
    found: dict[str, Column] = {}
    for field in model.catalogue.model_fields:
        column = batch.column(field.name)
        if field.numeric:
            found[field.name] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        else:
            words = column.dictionary_encode()
            codes = words.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            known = [str(word) for word in words.dictionary.to_pylist()]
            found[field.name] = Words(codes.astype(np.int32), known)
    return found
