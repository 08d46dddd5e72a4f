"""A lender's own model on one page: its history in, a candidate and its validation pack out.

history -> split by time and by borrower -> trained on the earlier loans
        -> judged on the later ones of people whom it has not met
        -> tiers, fairness, selection, rivals -> gates -> Candidate
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from alama.core import kernel
from alama.core.errors import TrainingProblem
from alama.core.product import PRODUCT
from alama.training.dataset import Dataset
from alama.training.history.roles import REGION
from alama.training.history.split import sides
from alama.training.making.make import Part, Watch
from alama.training.pipeline import Judged, Order, Split, Trained, judge, shuffle, train_on
from alama.training.recipe import Recipe
from alama.training.validation.figures import served_points
from alama.training.validation.gates import FOR_EVERYONE, Gates
from alama.training.validation.pack import Pack, Returned, SplitFacts
from alama.training.validation.peers import beside_peers
from alama.training.validation.tiers import term_bands
from alama.training.validation.trial import DRAWS, PolicyFor, Trial, try_candidate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.core.model import Model
    from alama.training.history.loans import History

    Places = NDArray[np.intp]


_TRAINING_SHARE: Final = 0.84
"""Of the whole run, measured; the rest is for judging."""

_PACK_SHARE: Final = 0.05

_QUICKER: Final = Recipe(portable=False)


@dataclass(frozen=True, slots=True)
class PilotOrder:
    """What is asked for. The recipe takes its seed from the order.

    It is not the portable recipe: that one takes more than twice as long, for tables that any other
    kind of processor would make again bit for bit. Scores do not need it, for the tables are kept
    and named by their content; the model's lineage says which recipe it was.
    """

    name: str
    currency: str
    days_past_due: int
    seed: int
    jobs: int
    limits: Gates = FOR_EVERYONE
    recipe: Recipe = _QUICKER


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that nobody has approved yet, and what there is to know about it."""

    model: Model
    pack: Pack


@dataclass(frozen=True, slots=True)
class Parts:
    """A history split: `judging` are the places, among all loans, of those that judge.

    `returned` are the later loans of borrowers from whom the model learned. `restructured` says
    whether the history tells which loans were restructured in distress.
    """

    split: Split
    judging: Places
    returned: Dataset
    facts: SplitFacts
    restructured: bool

    @property
    def holdout(self) -> Dataset:
        """Give the loans that judge."""
        assert self.split.holdout is not None
        return self.split.holdout


def train_pilot(
    history: History, order: PilotOrder, watch: Watch, current: Model | None, policy: PolicyFor
) -> Candidate:
    """Train on a lender's history and judge the result; `current` is the model in use, if any.

    The same history, order and processor give the same candidate. Whether it may be approved is
    said by the gates of its pack.
    """
    parts = split_history(history, order.seed)
    runs = 2 if REGION in history.loans.columns else 1
    length = (1.0 - _PACK_SHARE) / runs
    judged = learn(parts, order, Part(watch, 0.0, length))
    without_region = None
    if runs > 1:
        # What the region buys can only be told by a model that never saw it.
        rest = Part(lambda stage, *more: watch(f"without region: {stage}", *more), length, length)
        without_region = _trained(_without_region(parts), order, rest).model
    watch("writing the pack", 1.0 - _PACK_SHARE, "")
    trial = Trial(history, parts.split.learning, parts.holdout, parts.judging, order.seed)
    pack = try_candidate(
        trial,
        judged,
        _facts(parts, judged.model),
        order.limits,
        policy=policy,
        current=current,
        without_region=without_region,
    )
    watch("done", 1.0, "")
    return Candidate(judged.model, pack)


WAIT: Final = "wait until loans are due, or collect with a shadow key meanwhile"
ADD_OR_WAIT: Final = "add older loans, or wait until more are due; a shadow key collects meanwhile"


def split_history(history: History, seed: int) -> Parts:
    """Split the loans as the report of the history says; see `alama.training.history.split`."""
    # A request may hold every field of the product, whether or not this model reads it.
    loans = replace(history.loans, catalogue=PRODUCT, people=history.borrowers)
    first_day = history.report.out_of_time_from
    if first_day is None or loans.dates is None:
        raise TrainingProblem(
            "the history holds no loan whose outcome is known",
            hint=WAIT,
        )
    found = sides(loans.dates, history.borrowers, np.datetime64(first_day))
    order = loans.canonical_order()
    learning, judging, returned = (
        order[rows[order]] for rows in (found.learning, found.judging, found.returned)
    )
    learning = learning[shuffle(len(learning), seed)]
    split = Split(
        loans.take(learning),
        loans.take(judging),
        loans.take(order).fingerprint(),
        _applications(history, np.datetime64(first_day)),
    )
    _refuse_one_outcome(split)
    came_back = loans.take(returned)
    terms = history.term_days[history.places]
    return Parts(
        split,
        judging,
        came_back,
        SplitFacts(
            out_of_time_from=first_day,
            learning_loans=len(learning),
            learning_defaults=split.learning.defaults,
            out_of_time_loans=len(judging),
            out_of_time_defaults=int(np.count_nonzero(loans.labels[judging])),
            out_of_time_borrowers=len(np.unique(history.borrowers[judging])),
            returned=Returned(len(came_back), came_back.defaults),
            terms=term_bands(terms[learning], terms[judging]),
        ),
        history.report.tells_restructuring,
    )


def _facts(parts: Parts, model: Model) -> SplitFacts:
    """Say also what the model predicts of those who came back."""
    back = parts.returned
    if not len(back):
        return parts.facts
    points, _ = served_points(model, back.columns, len(back))
    predicted = float(np.mean(kernel.probabilities(points)))
    told = msgspec.structs.replace(parts.facts.returned, predicted_rate=predicted)
    return msgspec.structs.replace(parts.facts, returned=told)


def _applications(history: History, first_day: np.datetime64) -> Dataset:
    """Give what was applied for before the out-of-time part, labelled by whether it was booked."""
    early = np.flatnonzero(history.applied_on.astype("datetime64[D]") < first_day)
    everything = Dataset(PRODUCT, history.applications, history.booked.astype(np.int8))
    return everything.take(early).in_canonical_order()


def learn(parts: Parts, order: PilotOrder, part: Part) -> Judged:
    """Train on the earlier part, judge on the out-of-time part, also beside well-known models."""
    trained = _trained(parts, order, Part(part.at, 0.0, _TRAINING_SHARE))
    half = (1.0 - _TRAINING_SHARE) / 2.0
    judging = Part(part.at, _TRAINING_SHARE, half)
    judged = judge(trained, order.seed, judging.at, draws=DRAWS)
    comparing = Part(part.at, _TRAINING_SHARE + half, half)
    validation = beside_peers(
        judged.validation,
        trained.unseen,
        seed=order.seed,
        draws=DRAWS,
        progress=lambda share, step: comparing.at(step, share),
    )
    return replace(judged, validation=validation)


def _trained(parts: Parts, order: PilotOrder, part: Part) -> Trained:
    outcome = "days past due and restructuring" if parts.restructured else "days past due"
    asked = Order(
        name=order.name,
        label=f"{outcome}, of the history",
        recipe=replace(order.recipe, seed=order.seed),
        currency=order.currency,
        days_past_due=order.days_past_due,
        restructured=parts.restructured,
        jobs=order.jobs,
    )
    return train_on(parts.split, asked, part.at)


def _without_region(parts: Parts) -> Parts:
    kept = [name for name in parts.split.learning.columns if name != REGION]
    split = parts.split
    without = replace(
        split, learning=_only(split.learning, kept), holdout=_only(parts.holdout, kept)
    )
    return replace(parts, split=without)


def _only(data: Dataset, names: Sequence[str]) -> Dataset:
    """Give the named columns alone; the catalogue stays what requests may hold."""
    return replace(data, columns={name: data.columns[name] for name in names})


def _refuse_one_outcome(split: Split) -> None:
    for words, data in (("earlier", split.learning), ("out-of-time", split.holdout)):
        if data is None or not 0 < data.defaults < len(data):
            raise TrainingProblem(
                f"the {words} part of the history does not hold both repaid loans and defaults, so "
                "there is nothing to learn from or to judge by",
                hint=ADD_OR_WAIT,
            )
