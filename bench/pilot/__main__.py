"""The front door: `python -m bench.pilot [--rows N]`.

It makes a lender's history of people whose true risk is known, reads and trains as onboarding does,
and asks how long that took and how far the candidate is from the truth on applications that nobody
has seen. Then the same for a history that an earlier policy has booked. It ends with 1 where a
limit is missed, and says which.

"Within 0.01 of the truth on average" is read twice, and both must hold: the mean prediction against
the mean truth, and the mean gap between the two over twenty bands of the score, lest errors of two
bands make up for each other.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from alama.core import kernel
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.training.history.load import load
from alama.training.history.loans import Options, Terms, read_history
from alama.training.pilot import Candidate, PilotOrder, train_pilot
from alama.training.population.people import PopulationOptions, batches
from alama.training.validation import metrics
from alama.training.validation.figures import served_points
from alama.training.validation.pack_page import pack_page
from alama.training.validation.support import decide_rows
from bench.pilot.loans import loan_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from alama.training.dataset import Dataset

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

TERMS: Final = Terms(days_past_due=30, currency="KES")
FRESH_ROWS: Final = 100_000
FRESH_SEED: Final = 1_000_003
JOBS: Final = 2
BANDS: Final = 20

GAP_MAX: Final = 0.01
"""How far predictions may be from the truth on average, where everyone was booked."""

AUC_SHORT_MAX: Final = 0.015
"""How far the AUC may stay behind that of the truth, where everyone was booked."""

EVERYONE: Final = "all applications"
INSIDE: Final = "inside"

INSIDE_SHARE_MAX: Final = 0.5
"""What may be left, among those inside booked support, of the gap over all who apply.

It is not nought: an officer who knew more than the fields say chose the booked.
"""


@dataclass(frozen=True, slots=True)
class Fresh:
    """Applications that no model has seen, their true risk, and whether each was booked."""

    data: Dataset
    truth: Floats
    booked: Mask


@dataclass(frozen=True, slots=True)
class Gaps:
    """How far predictions are from the truth on some applications.

    `mean` is that of the means; `banded` the mean over bands of the score; `auc_short` how far the
    AUC stays behind that of the truth.
    """

    mean: float
    banded: float
    auc_short: float


@dataclass(frozen=True, slots=True)
class Compared:
    """A candidate on fresh applications: how far it is from the truth, part by part.

    `approved_unseen` counts those outside booked support whom no person looks at, and
    `declined_by_score` those whose like were seldom booked and who could repay some loan.
    """

    parts: Mapping[str, Gaps]
    everyone_booked: bool
    approved_unseen: int
    declined_by_score: int


def main() -> int:
    """Measure both histories, print, and say whether a limit was missed.

    An officer's impression chose the booked, beyond what any field says: they default less than
    their true risk by the fields, and those turned away more than a model of the booked can know.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.pilot", description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000, help="applications in the history")
    rows = parser.parse_args().rows
    missed: list[str] = []
    for prior_policy in (False, True):
        told = "an earlier policy booked" if prior_policy else "everyone booked"
        print(f"{rows:,} applications, {told}")
        with tempfile.TemporaryDirectory(prefix="alama-") as folder:
            population = PopulationOptions(rows=rows, seed=1, prior_policy=prior_policy)
            candidate = _onboard(Path(folder), population)
            people = PopulationOptions(FRESH_ROWS, FRESH_SEED, prior_policy=prior_policy)
            found = _compare(candidate, fresh_applications(Path(folder), people))
            missed += [f"{told}: {one}" for one in (*_blocked(candidate), *limits_missed(found))]
    for one in missed:
        print(f"MISSED {one}")
    return 1 if missed else 0


def _blocked(candidate: Candidate) -> Iterator[str]:
    for gate in candidate.pack.blocked_by:
        yield f"the gate {gate.name.value} blocks a sound history: {gate.words}"


def limits_missed(found: Compared) -> Iterator[str]:
    """Yield the limits that are missed."""
    over_all, inside = found.parts[EVERYONE], found.parts[INSIDE]
    if found.everyone_booked:
        if over_all.mean > GAP_MAX:
            yield f"the mean prediction is {over_all.mean:.4f} from the truth, over {GAP_MAX}"
        if over_all.banded > GAP_MAX:
            yield f"the gap over the bands is {over_all.banded:.4f}, over {GAP_MAX}"
        if over_all.auc_short > AUC_SHORT_MAX:
            yield f"the AUC is {over_all.auc_short:.4f} short, over {AUC_SHORT_MAX}"
    elif inside.banded > INSIDE_SHARE_MAX * over_all.banded:
        yield (
            f"inside booked support the gap over the bands is {inside.banded:.4f}, more than "
            f"{INSIDE_SHARE_MAX:.0%} of the {over_all.banded:.4f} over all applications"
        )
    if found.approved_unseen:
        yield f"{found.approved_unseen:,} outside booked support are approved without a person"
    if found.declined_by_score:
        yield (
            f"{found.declined_by_score:,} whose like were seldom booked are declined by a score "
            "that can only guess"
        )


def policy_for(model: Model) -> ReadyPolicy:
    """Lay out the policy of a lender that has none of its own."""
    return ReadyPolicy(default_policy(TERMS.currency), ReadyModel(model, TERMS.currency))


def _onboard(folder: Path, population: PopulationOptions) -> Candidate:
    path = folder / "history.parquet"
    pyarrow.parquet.write_table(loan_table(population), path)
    began = time.perf_counter()
    options = Options(region=False, today=date(2026, 11, 15))
    history = read_history(path, TERMS, options, lambda _share: None)
    read = time.perf_counter()
    order = PilotOrder("pilot", TERMS.currency, TERMS.days_past_due, seed=0, jobs=JOBS)
    candidate = train_pilot(history, order, lambda *_: None, None, policy_for)
    trained = time.perf_counter()
    page = pack_page(candidate.pack, candidate.model)
    done = time.perf_counter()
    print(
        f"  {history.report.mature:,} loans, {history.report.defaults:,} defaults; read in "
        f"{read - began:.1f} s, trained and judged in {trained - read:.1f} s, page of "
        f"{len(page) / 1e6:.1f} MB in {done - trained:.1f} s"
    )
    for gate in candidate.pack.gates:
        print(f"  {'passed' if gate.passed else 'BLOCKS'} {gate.name.value}: {gate.words}")
    found = candidate.pack.selection
    print(
        f"  outside what was booked: {found.outside_booked:.2%} of the booked, "
        f"{found.outside_not_booked:.2%} of the rest; {found.outside_to_review:.1%} of them go to "
        f"REVIEW, {found.outside_approved:,} are approved and {found.outside_declined:,} declined"
    )
    return candidate


def fresh_applications(folder: Path, people: PopulationOptions) -> Fresh:
    """Make people whom no model has seen; a file of them goes into the folder."""
    table = pa.Table.from_batches(list(batches(people)))
    truth = table.column("true_default_probability").to_numpy()
    booked = np.ones(len(truth), dtype=np.bool_)
    hidden = ["true_default_probability"]
    if people.prior_policy:
        booked = table.column("booked").to_numpy().astype(np.bool_)
        hidden.append("booked")
        # What was not booked has no outcome: there one is drawn by its true risk.
        drawn = np.random.default_rng(people.seed).random(len(truth)) < truth
        known = np.nan_to_num(table.column("default").to_numpy()).astype(np.bool_)
        outcomes = np.where(booked, known, drawn).astype(np.int8)
        place = table.column_names.index("default")
        table = table.set_column(place, "default", pa.array(outcomes))
    path = folder / "fresh.parquet"
    pyarrow.parquet.write_table(table, path)
    loaded = load(
        path, label="default", catalogue=None, monotone={}, exclude=hidden, date_column=None
    )
    return Fresh(loaded.dataset, truth, booked)


def _compare(candidate: Candidate, fresh: Fresh) -> Compared:
    data = fresh.data
    points, _ = served_points(candidate.model, data.columns, len(data), TERMS.currency)
    chances = kernel.probabilities(points)
    decided = decide_rows(policy_for(candidate.model), data.columns, len(data))
    outside, booked = decided.outside, fresh.booked
    unseen = int(np.count_nonzero(outside & decided.approved))
    declined = int(np.count_nonzero(decided.seldom_declined_by_score))
    print(
        f"  fresh {len(data):,}: {np.mean(outside):.2%} are outside what was booked, and "
        f"{unseen:,} of those are approved unseen; of the seldom booked {declined:,} are declined "
        "by a score"
    )
    complete = np.all([kernel.present(column) for column in data.columns.values()], axis=0)
    parts = {
        EVERYONE: np.ones_like(outside),
        INSIDE: ~outside,
        "inside, every field given": complete & ~outside,
    }
    if not booked.all():
        print(
            f"    outside are {np.mean(outside[booked]):.2%} of the booked, "
            f"{np.mean(outside[~booked]):.2%} of the rest"
        )
        parts |= {
            "booked": booked,
            "inside, booked": booked & ~outside,
            "inside, not booked": ~booked & ~outside,
            "outside": outside,
        }
    gaps = {
        name: _print_part(name, data, chances, fresh.truth, rows) for name, rows in parts.items()
    }
    return Compared(gaps, bool(booked.all()), unseen, declined)


def _print_part(name: str, data: Dataset, chances: Floats, truth: Floats, rows: Mask) -> Gaps:
    said, true, labels = chances[rows], truth[rows], data.labels[rows]
    band = metrics.quantile_bins(said, BANDS)
    banded = np.abs(np.bincount(band, weights=said - true, minlength=BANDS)).sum() / len(said)
    auc, auc_of_truth = metrics.auc(labels, said), metrics.auc(labels, true)
    print(
        f"    {name}: predicted {np.mean(said):.4f}, truth {np.mean(true):.4f}, defaulted "
        f"{np.mean(labels):.4f}; mean gap to the truth over "
        f"{BANDS} bands {banded:.4f}; mean gap a loan {np.mean(np.abs(said - true)):.4f}; AUC "
        f"{auc:.4f}, the truth's {auc_of_truth:.4f}"
    )
    return Gaps(abs(float(np.mean(said - true))), float(banded), auc_of_truth - auc)


if __name__ == "__main__":
    sys.exit(main())
