"""A lender's own model on one page: its history in, a candidate and its validation pack out.

history -> split by time and by borrower -> trained on the earlier loans
        -> judged on the later ones of people whom it has not met
        -> tiers, fairness, selection, rivals -> gates -> Candidate
        -> where a refit is asked for and every gate is passed: trained once more on every loan
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
from alama.training.validation.gates import FOR_EVERYONE, Gates, judge_refit
from alama.training.validation.pack import Pack, Returned, SplitFacts
from alama.training.validation.peers import beside_peers
from alama.training.validation.refit import Refit, Refitted, agreement_of, lead_of
from alama.training.validation.tiers import term_bands
from alama.training.validation.trial import DRAWS, PolicyFor, Trial, Without, try_candidate
from alama.training.validation.unseen import Unseen
from alama.training.validation.validate import points_as_served

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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

    With a `refit` the same recipe is fitted once more, on every loan, once the gates are passed.

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
    refit: bool = False


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
    with_region = REGION in history.loans.columns
    own = {name for name in history.loans.columns if name not in PRODUCT.position}
    runs_beside = with_region + bool(own)
    length = (1.0 - _PACK_SHARE) / (1 + runs_beside + order.refit)
    judged = learn(parts, order, Part(watch, 0.0, length))
    without_region = None
    if with_region:
        # What the region buys can only be told by a model that never saw it.
        rest = Part(_named("without region", watch), length, length)
        without_region = _trained(_without(parts, {REGION}), order, rest).model
    without_own = None
    if own:
        rest = Part(_named("without own fields", watch), runs_beside * length, length)
        without_own = _trained(_without(parts, own), order, rest).model
    done = (1 + runs_beside) * length
    watch("writing the pack", done, "")
    trial = Trial(history, parts.split.learning, parts.holdout, parts.judging, order.seed)
    pack = try_candidate(
        trial,
        judged,
        _facts(parts, judged.model),
        order.limits,
        policy=policy,
        current=current,
        without=Without(without_region, without_own),
    )
    candidate = Candidate(judged.model, pack)
    if order.refit and pack.passed:
        part = Part(_named("refit", watch), done + _PACK_SHARE, length)
        candidate = refitted(history, parts, order, judged, pack, policy=policy, part=part)
    elif order.refit:
        refused = Refit(judged.model.id)
        candidate = Candidate(judged.model, msgspec.structs.replace(pack, refit=refused))
    watch("done", 1.0, "")
    return candidate


def _named(run: str, watch: Watch) -> Watch:
    """Put the name of a run before each of its stages."""
    return lambda stage, *more: watch(f"{run}: {stage}", *more)


def refitted(
    history: History,
    parts: Parts,
    order: PilotOrder,
    judged: Judged,
    pack: Pack,
    *,
    policy: PolicyFor,
    part: Part,
) -> Candidate:
    """Fit the recipe of a judged model once more, on every loan, and hold the two together.

    The candidate is then the refit, with the pack of the judged model, whose gates stand, and with
    what the refit adds to it.
    """
    loans = _loans(history)
    places = loans.canonical_order()
    places = np.repeat(places, history.money.take(places).times(order.seed))
    places = places[shuffle(len(places), order.seed)]
    assert loans.dates is not None
    ended = loans.dates.max().astype("datetime64[D]") + 1
    applications = _applications(history, ended)
    split = Split(loans.take(places), None, parts.split.fingerprint, applications)
    every = replace(parts, split=split)
    learning = Part(part.at, 0.0, _TRAINING_SHARE)
    trained = _trained(every, order, learning, refit_of=judged.model.id)
    again = judge(trained, order.seed, Part(part.at, _TRAINING_SHARE, 1.0 - _TRAINING_SHARE).at)
    holdout, models = parts.holdout, (again.model, judged.model)
    # All that one loan teaches is of one person, and so of one fold.
    folds = trained.folds[np.unique(places, return_index=True)[1][parts.judging]]
    # Like against like: tables that were made without a fold carry less than a whole model.
    unseen, before = (
        points_as_served(
            Unseen.out_of_fold(one.model, one.without, holdout, folds % len(one.without))
        )[0]
        for one in (again, judged)
    )
    shown, shown_before = (served_points(one, holdout.columns, len(holdout))[0] for one in models)
    laid_out, laid_out_before = map(policy, models)
    made = Refitted(
        folds=len(again.without),
        served=again.validation.served,
        lead=lead_of(holdout.labels, unseen, before, folds),
        agreement=agreement_of(laid_out, shown, laid_out_before, shown_before),
    )
    told = msgspec.structs.replace(
        pack,
        model_id=again.model.id,
        notes=again.notes,
        gates=(*pack.gates, judge_refit(made.lead)),
        refit=Refit(judged.model.id, made),
    )
    return Candidate(again.model, told)


def _loans(history: History) -> Dataset:
    # A request may hold every field of the catalogue, whether or not this model reads it.
    return replace(history.loans, catalogue=history.catalogue, people=history.borrowers)


WAIT: Final = "wait until loans are due, or collect with a shadow key meanwhile"
ADD_OR_WAIT: Final = "add older loans, or wait until more are due; a shadow key collects meanwhile"


def split_history(history: History, seed: int) -> Parts:
    """Split the loans as the report of the history says; see `alama.training.history.split`."""
    loans = _loans(history)
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
    taught = history.money.take(learning)
    learning_loans, learning_defaults = len(learning), int(loans.labels[learning].sum())
    # A loan that was given by chance teaches as often as it stands for.
    learning = np.repeat(learning, taught.times(seed))
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
            learning_loans=learning_loans,
            learning_defaults=learning_defaults,
            out_of_time_loans=len(judging),
            out_of_time_defaults=int(np.count_nonzero(loans.labels[judging])),
            out_of_time_borrowers=len(np.unique(history.borrowers[judging])),
            returned=Returned(len(came_back), came_back.defaults),
            terms=term_bands(terms[np.unique(learning)], terms[judging]),
            explored=int(np.count_nonzero(taught.propensity < 1.0)),
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


def _applications(history: History, ended: np.datetime64) -> Dataset:
    """Give what was applied for before a day, labelled by whether it was booked."""
    early = np.flatnonzero(history.applied_on.astype("datetime64[D]") < ended)
    everything = Dataset(history.catalogue, history.applications, history.booked.astype(np.int8))
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


def _trained(
    parts: Parts, order: PilotOrder, part: Part, *, refit_of: str | None = None
) -> Trained:
    outcome = "days past due and restructuring" if parts.restructured else "days past due"
    rows = "" if refit_of is None else "; refitted on every loan"
    asked = Order(
        name=order.name,
        label=f"{outcome}, of the history{rows}",
        recipe=replace(order.recipe, seed=order.seed),
        currency=order.currency,
        days_past_due=order.days_past_due,
        restructured=parts.restructured,
        jobs=order.jobs,
        refit_of=refit_of,
    )
    return train_on(parts.split, asked, part.at)


def _without(parts: Parts, names: Collection[str]) -> Parts:
    kept = [name for name in parts.split.learning.columns if name not in names]
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
