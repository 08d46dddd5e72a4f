"""The trial of a candidate on the out-of-time part: everything the pack says, measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np

from alama.core import kernel, memory
from alama.core.kernel import Words
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model
from alama.core.product import PRODUCT
from alama.platform.pages import numbers
from alama.training.dataset import Dataset, take_column
from alama.training.history.report import Oddity, OddityKind
from alama.training.history.roles import REGION
from alama.training.validation.fairness import Approvals, Attribute, Repayments, attribute
from alama.training.validation.figures import Measure, served_points
from alama.training.validation.gates import Gate, GateResult, Gates, Measured, judge_gates
from alama.training.validation.money import Judges, Money, money_of
from alama.training.validation.pack import (
    SCHEMA,
    OwnFieldsEffect,
    Pack,
    PolicyFacts,
    RegionEffect,
    SplitFacts,
)
from alama.training.validation.rivals import Comparison, Entrant, compare
from alama.training.validation.stability import lately, score_psi
from alama.training.validation.support import Applied, Decided, decide_rows, select, support_of
from alama.training.validation.tiers import Light, LoanRate, TierRate, loan_rate, tier_rates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from alama.training.history.loans import History
    from alama.training.pipeline import Judged
    from alama.training.validation.metrics import Interval
    from alama.training.validation.validate import Validation

    Places = NDArray[np.intp]


DRAWS: Final = 400
"""Bootstrap draws behind an interval: a gate hangs on one, so twice those of a plain report."""

DEVICE: Final = "device_type"
PSI_WATCH: Final = 0.1
_ASKING: Final = frozenset({Light.AMBER, Light.RED})
PolicyFor = Callable[[Model], ReadyPolicy]
"""Lays the lender's policy out for a model."""


@dataclass(frozen=True)
class Trial:
    """The rows of a trial: `judging` are the places of the hold-out rows among the loans."""

    history: History
    learning: Dataset
    holdout: Dataset
    judging: Places
    seed: int

    @cached_property
    def late(self) -> Places:
        """Give the places of the applications of the out-of-time part, booked or not."""
        days = self.history.applied_on.astype("datetime64[D]")
        return np.flatnonzero(days >= np.datetime64(self.history.report.out_of_time_from))

    @cached_property
    def late_booked(self) -> Places:
        """Give the places of what was booked of them, whether or not its outcome is known."""
        return self.late[self.history.booked[self.late]]

    @cached_property
    def places(self) -> Places:
        """Give the places of the hold-out loans among the applications."""
        return self.history.places[self.judging]


class Tried:
    """A model tried on every application, under the lender's policy."""

    def __init__(
        self,
        name: str,
        model: Model,
        policy: ReadyPolicy,
        trial: Trial,
        withheld: Collection[str] = (),
    ) -> None:
        """Score and decide everything once; fields that are `withheld` count as not given."""
        given = trial.history.applications
        columns = {field: column for field, column in given.items() if field not in withheld}
        rows = len(trial.history.booked)
        self.name = name
        self.model = model
        self.policy = policy
        self.points, _ = served_points(model, columns, rows, policy.currency)
        self.decided: Decided = decide_rows(policy, columns, rows)

    def entrant(self, trial: Trial) -> Entrant:
        """Give what a comparison on the hold-out loans needs."""
        approved = self.decided.approved[trial.places]
        return Entrant(self.name, self.model.id, self.points[trial.places], approved)


class Without(NamedTuple):
    """The same recipe without the region, and without all beside the product's; None: had none."""

    region: Model | None = None
    own: Model | None = None


def try_candidate(
    trial: Trial,
    judged: Judged,
    split: SplitFacts,
    limits: Gates,
    *,
    policy: PolicyFor,
    current: Model | None,
    without: Without,
) -> Pack:
    """Measure a candidate, hold it against the gates, and put all of it into a pack."""
    model, validation = judged.model, judged.validation
    history = trial.history
    tried = Tried(model.name, model, policy(model), trial)
    measured = _measured(tried, trial, validation, split)
    pack = Pack(
        schema=SCHEMA,
        model_id=model.id,
        name=model.name,
        currency=history.report.currency,
        limits=limits,
        gates=_with_causes(judge_gates(measured, limits), history.report.structure),
        history=history.report,
        split=split,
        policy=_policy_facts(tried.policy),
        validation=validation,
        notes=judged.notes,
        overall=loan_rate(
            split.out_of_time_loans, split.out_of_time_defaults, measured.predicted_rate
        ),
        tiers=tuple(measured.tiers),
        score_psi=measured.score_psi,
        recent_psi=measured.recent_psi,
        fairness=tuple(_attributes(tried, trial)),
        selection=select(model, history.applications, history.booked, tried.points, tried.decided),
        current=_against_current(tried, current, policy, trial),
        region=_region_effect(tried, without.region, policy, trial),
        support=support_of(model, _applied(tried, trial)),
        own_fields=_own_fields_effect(tried, without.own, policy, trial),
        money=_money(tried, trial),
    )
    return msgspec.structs.replace(pack, questions=open_questions(pack))


_MAY_FAIL: Final[Mapping[OddityKind, frozenset[Gate]]] = {
    OddityKind.ROLLOVERS: frozenset((Gate.DISCRIMINATION, Gate.LEVEL)),
    OddityKind.TOP_UPS: frozenset((Gate.DISCRIMINATION,)),
    OddityKind.EARLIER: frozenset((Gate.DISCRIMINATION, Gate.LEVEL)),
    OddityKind.PRODUCTS: frozenset((Gate.DISCRIMINATION, Gate.SLOPE, Gate.TIERS)),
    OddityKind.RATE: frozenset((Gate.LEVEL, Gate.SLOPE)),
    OddityKind.LEVEL: frozenset((Gate.STABILITY, Gate.DISCRIMINATION, Gate.SLOPE, Gate.LEVEL)),
    OddityKind.LATE: frozenset((Gate.LEVEL, Gate.EVIDENCE)),
}
"""Which gates a finding in the history may be the reason of."""


def _with_causes(
    gates: Sequence[GateResult], structure: Sequence[Oddity]
) -> tuple[GateResult, ...]:
    """Say of a gate that failed what was found in the history that may be the reason."""
    told = []
    for gate in gates:
        causes = [one.words for one in structure if gate.name in _MAY_FAIL.get(one.kind, ())]
        if not gate.passed and causes:
            words = f"{gate.words}. The history may be why: {'; '.join(causes)}"
            told.append(msgspec.structs.replace(gate, words=words))
        else:
            told.append(gate)
    return tuple(told)


def _measured(tried: Tried, trial: Trial, validation: Validation, split: SplitFacts) -> Measured:
    """Measure what the gates look at."""
    model, holdout, learning = tried.model, trial.holdout, trial.learning
    points, _ = served_points(model, holdout.columns, len(holdout))
    learned, _ = served_points(model, learning.columns, len(learning))
    # Scores need no outcome. Of the last loans only the short ones have one, so that those alone
    # would look like another book.
    later = tried.points[trial.late_booked]
    recent = lately(trial.history.applied_on[trial.late_booked])
    served = validation.served
    area = served.figure(Measure.AUC)
    return Measured(
        defaults=split.learning_defaults + split.out_of_time_defaults,
        out_of_time_defaults=split.out_of_time_defaults,
        auc=area.value,
        auc_low=area.interval.low,
        slope=served.figure(Measure.CALIBRATION_SLOPE).value,
        predicted_rate=served.predicted_rate,
        observed_rate=served.default_rate,
        tiers=tier_rates(tried.policy, holdout.labels, points, kernel.probabilities(points)),
        score_psi=score_psi(learned, later),
        recent_psi=None if recent is None else score_psi(learned, later[recent]),
        suspects_kept=[s.column for s in trial.history.report.suspects if s.blocks],
    )


def _applied(tried: Tried, trial: Trial) -> Applied:
    history = trial.history
    return Applied(
        columns=history.applications,
        booked=history.booked,
        points=tried.points,
        decided=tried.decided,
        judging=trial.places,
        labels=history.loans.labels[trial.judging],
        currency=tried.policy.currency,
    )


def _money(tried: Tried, trial: Trial) -> Money:
    judges = Judges(
        trial.history.loans.labels[trial.judging],
        tried.points[trial.places],
        trial.history.money.take(trial.judging),
        trial.holdout.people,
    )
    return money_of(
        judges,
        tried.policy,
        trial.history.applications,
        trial.late,
        seed=trial.seed,
        draws=DRAWS,
    )


def _against_current(
    tried: Tried, current: Model | None, policy: PolicyFor, trial: Trial
) -> Comparison | None:
    """Compare with the model in use, which does not see what was excluded either.

    In the rows of a history such a field may give the outcome away: on it no model that reads the
    field can be beaten, and none keeps that lead in service. What every request gives stays.
    """
    if current is None:
        return None
    read = {feature.field for card in current.cards for feature in card.features}
    withheld = sorted(read & set(trial.history.report.excluded) - set(PRODUCT.core_names))
    rival = Tried("in use now", current, policy(current), trial, withheld)
    found = _compared(tried, rival, trial)
    refitted = current.lineage.refit_of is not None
    return msgspec.structs.replace(found, withheld=tuple(withheld), refitted=refitted)


def _compared(tried: Tried, rival: Tried, trial: Trial) -> Comparison:
    labels = trial.history.loans.labels[trial.judging]
    return compare(
        labels,
        tried.entrant(trial),
        rival.entrant(trial),
        seed=trial.seed,
        draws=DRAWS,
        people=trial.holdout.people,
    )


def _region_effect(
    tried: Tried, without: Model | None, policy: PolicyFor, trial: Trial
) -> RegionEffect | None:
    if without is None:
        return None
    rival = Tried("without region", without, policy(without), trial)
    return RegionEffect(_compared(tried, rival, trial), tuple(_attributes(rival, trial)))


def _own_fields_effect(
    tried: Tried, without: Model | None, policy: PolicyFor, trial: Trial
) -> OwnFieldsEffect | None:
    if without is None:
        return None
    rival = Tried("without own fields", without, policy(without), trial)
    read = [feature.field for feature in tried.model.cards[-1].features]
    own = tuple(name for name in read if name not in PRODUCT.position)
    return OwnFieldsEffect(own, _compared(tried, rival, trial))


def _attributes(tried: Tried, trial: Trial) -> Iterator[Attribute]:
    """Compare by region, by device, and by what was joined to the applications."""
    history = trial.history
    inputs = {feature.field for card in tried.model.cards for feature in card.features}
    labels = history.loans.labels[trial.judging]
    chances = kernel.probabilities(tried.points[trial.places])
    told = {name: history.applications.get(name) for name in (REGION, DEVICE)}
    for name, column in (told | {n: g for n, g in history.groups.items() if n not in told}).items():
        if isinstance(column, Words) and _says_something(column):
            yield attribute(
                name,
                Approvals(_take(column, trial.late), tried.decided.approved[trial.late]),
                Repayments(_take(column, trial.places), labels, chances),
                is_input=name in inputs,
            )


def _take(column: Words, rows: Places) -> Words:
    taken = take_column(column, rows)
    assert isinstance(taken, Words)
    return taken


def _says_something(column: Words) -> bool:
    return bool(np.any(column.codes >= 0))


def _policy_facts(policy: ReadyPolicy) -> PolicyFacts:
    text = policy.policy
    return PolicyFacts(
        id=text.id,
        name=text.name,
        version=text.version,
        jurisdiction=text.jurisdiction,
        unlike_share=text.sufficiency.unlike_share,
        outside_times=text.sufficiency.outside_times,
        forbidden_fields=text.law.forbidden_fields,
    )


# ---------------------------------------------------------------------------------------- questions


def open_questions(pack: Pack) -> tuple[str, ...]:
    """Give what whoever signs should have an answer to, the weightiest first."""
    return (
        *_doubted(pack),
        *_remembered(pack),
        *_behind(pack),
        *_lights(pack),
        *_groups(pack),
        *_moved(pack),
        *_stale(pack),
    )


def _doubted(pack: Pack) -> Iterator[str]:
    """Name the inputs that somebody kept although they may have been written afterwards."""
    for suspect in pack.history.suspects:
        if suspect.kept and suspect.doubt:
            yield (
                f"{suspect.column} was kept as an input on somebody's word: {suspect.why} (AUC "
                f"alone {suspect.auc:.3f}). Who knows that it was known in time?"
            )


def _remembered(pack: Pack) -> Iterator[str]:
    """Ask for what the model needs in service, and nobody sends: whoever is unknown looks new."""
    named = [name for name in pack.history.inputs if name in memory.NAMES]
    if named:
        yield (
            f"The model reads what is remembered of a borrower ({', '.join(named)}). Are the loans "
            "of these books told by POST /v1/loans before it answers, and does every request name "
            "its borrower by applicant_ref?"
        )


def _behind(pack: Pack) -> Iterator[str]:
    """Name the models that rank better than the candidate, more than chance explains."""
    if pack.current is not None and pack.current.behind:
        met = " It is a refit, and may have learned from them." if pack.current.refitted else ""
        yield (
            "The model in use ranks these loans better than the candidate, more than chance "
            f"explains: the candidate's lead in AUC is "
            f"{_lead(pack.current.ahead, pack.current.ahead_interval)}.{met} Why change?"
        )
    for peer in pack.validation.cards[-1].peers:
        if peer.ahead_interval.high < 0.0:
            yield (
                f"A {peer.name} on the same fields ranks these loans better, more than chance "
                f"explains: the candidate's lead in AUC is "
                f"{_lead(peer.ahead, peer.ahead_interval)}."
            )


def _lead(ahead: float, interval: Interval) -> str:
    low, high = (numbers.signed(end, 3) for end in (interval.low, interval.high))
    return f"{numbers.signed(ahead, 3)} ({numbers.between(low, high)})"


def _lights(pack: Pack) -> Iterator[str]:
    """Name what was predicted too far from what happened."""
    rates: list[tuple[str, LoanRate | TierRate]] = [
        ("The whole out-of-time part", pack.overall),
        *((f"Tier {tier.name}", tier) for tier in pack.tiers),
    ]
    for name, rate in rates:
        if rate.light in _ASKING:
            yield (
                f"{name} is {rate.light.value}: {numbers.percent(rate.predicted)} was predicted "
                f"and {numbers.percent(rate.observed)} defaulted."
            )
    for compared in pack.fairness:
        for group in compared.groups:
            if group.light in _ASKING:
                yield (
                    f"{compared.name} \u201c{group.name}\u201d is {group.light.value}: "
                    f"{numbers.percent(group.predicted)} was predicted and "
                    f"{numbers.percent(group.observed)} defaulted."
                )


def _groups(pack: Pack) -> Iterator[str]:
    for compared in pack.fairness:
        if compared.below_four_fifths:
            yield (
                f"{compared.name}: {', '.join(compared.below_four_fifths)} are approved less "
                "than four fifths as often as the group approved most often. What explains it?"
            )


def _moved(pack: Pack) -> Iterator[str]:
    """Name the fields that moved between the loans learned from and those judged by."""
    moved: dict[str, float] = {}
    for card in pack.validation.cards:
        for shift in card.stability.features:
            if shift.psi is not None:
                moved[shift.field] = max(shift.psi, moved.get(shift.field, 0.0))
    named = [
        f"{field} ({numbers.fixed(psi, 2)})"
        for field, psi in sorted(moved.items(), key=lambda one: -one[1])
        if psi > PSI_WATCH
    ]
    if named:
        yield (
            "These fields moved between the loans learned from and those judged by (PSI above "
            f"{PSI_WATCH:g}): {', '.join(named)}. Will they go on? Terms move by themselves: the "
            "outcomes of the last months are those of short loans."
        )


def _stale(pack: Pack) -> Iterator[str]:
    if pack.history.stale:
        yield f"{pack.history.books_age}. Do people still borrow and repay as then?"
