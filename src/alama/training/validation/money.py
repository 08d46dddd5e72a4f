"""What the candidate's scores are worth: cut-offs, amounts, losses, the present score, stress.

All of the loans that judge, and of loans that the lender's policy would give to those who applied
in the out-of-time part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from alama.core import kernel
from alama.core.application import Application
from alama.core.kernel import Words
from alama.core.lending.decision import decide
from alama.core.lending.policy import Decision
from alama.core.monitoring.rates import Amounts, lost
from alama.training.dataset import take_column
from alama.training.validation import metrics
from alama.training.validation.figures import served_points
from alama.training.validation.metrics import Floats, Interval, Labels, People
from alama.training.validation.support import rows_of_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from alama.core.kernel import Column
    from alama.core.lending.earnings import Worth
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.training.money import LoanMoney

    Places = NDArray[np.intp]


BANDS: Final = 10
LOANS_MIN: Final = 100
"""Loans of either kind of figure below which nothing is said."""

STRESSED_MAX: Final = 4_000
"""Applications that a stress is tried on, evenly through all."""

INFLOW: Final = "avg_inflow"
STRESSES: Final = (
    ("as predicted", 1.0, 1.0),
    ("inflow down by a fifth", 0.8, 1.0),
    ("inflow down by two fifths", 0.6, 1.0),
    ("odds of default up by half", 1.0, 1.5),
    ("odds of default doubled", 1.0, 2.0),
    ("inflow down by a fifth, odds up by half", 0.8, 1.5),
)
"""What is tried: a name, the share of the inflow that is left, how many times the odds."""


class GainBand(msgspec.Struct, frozen=True):
    """A tenth of the loans that judge, the best scores first, and all down to its lower end.

    `accepted` is the share of the loans down to here, `accepted_rate` how many of those defaulted,
    `caught` the share of all defaults that lie below. `lift` is the band's own rate over that of
    all.
    """

    score_from: float
    loans: int
    defaults: int
    predicted: float
    accepted: float
    accepted_rate: float
    caught: float
    lift: float


class ByAmount(msgspec.Struct, frozen=True):
    """The same loans weighed by what was lent: a large one counts for more.

    The `loans` give their amount; the rates are shares of the money.
    """

    loans: int
    amount: float
    gini: float
    gini_interval: Interval
    predicted: float
    observed: float
    observed_interval: Interval


class LossCheck(msgspec.Struct, frozen=True):
    """What defaults of known amounts lost of what was lent, beside what the policy assumes."""

    defaults: int
    lent: float
    share: float
    interval: Interval | None
    assumed: float


class PresentScore(msgspec.Struct, frozen=True):
    """The score that the lender has now, on the loans that have it.

    `ahead` is the candidate's lead. The score is taken the way round in which it ranks better:
    `rises` says whether more of it is safer.
    """

    loans: int
    auc: float
    auc_interval: Interval
    candidate_auc: float
    ahead: float
    ahead_interval: Interval
    rises: bool


class Stressed(msgspec.Struct, frozen=True):
    """The loans of the policy if risk were otherwise; rates are of loans, the rest of the money."""

    name: str
    default_rate: float
    loss: float
    profit: float


class Explored(msgspec.Struct, frozen=True):
    """The loans that judge and were given by chance, weighed by it; what they say of the others.

    They stand for `stand_for` applications.
    """

    loans: int
    stand_for: float
    predicted: float
    observed: float
    interval: Interval


class Money(msgspec.Struct, frozen=True):
    """What the scores are worth; None, or nothing, where the history does not say enough.

    `stressed` are of the loans that the policy would approve of so many applications; amounts are
    shares of what it would lend.
    """

    gains: tuple[GainBand, ...]
    by_amount: ByAmount | None = None
    loss: LossCheck | None = None
    present: PresentScore | None = None
    explored: Explored | None = None
    stressed: tuple[Stressed, ...] = ()
    stressed_applications: int = 0


@dataclass(frozen=True, slots=True)
class Judges:
    """The loans that judge: outcomes, points as served, money, people."""

    labels: Labels
    points: Floats
    money: LoanMoney
    people: People | None


def money_of(
    judges: Judges,
    policy: ReadyPolicy,
    applications: Mapping[str, Column],
    late: Places,
    *,
    seed: int,
    draws: int,
) -> Money:
    """Measure all of it; `late` are the places of the applications that stress is tried on."""
    tried = late[:: max(1, -(-len(late) // STRESSED_MAX))]
    some = {name: take_column(column, tried) for name, column in applications.items()}
    return Money(
        gains=tuple(gains(judges.labels, judges.points)),
        by_amount=_by_amount(judges, seed, draws),
        loss=_loss(judges, policy.policy.pricing.loss_given_default),
        present=_present(judges, seed, draws),
        explored=_explored(judges),
        stressed=tuple(stressed(policy, some, len(tried))),
        stressed_applications=len(tried),
    )


def gains(labels: Labels, points: Floats) -> Iterator[GainBand]:
    """Cut the loans into tenths by score, ties together, and tell what each cut-off would leave."""
    order = np.argsort(-points, kind="stable")
    ranked, bad = points[order], labels[order].astype(np.float64)
    chances = kernel.probabilities(ranked)
    all_bad, rows, start = float(bad.sum()), len(order), 0
    for tenth in range(1, BANDS + 1):
        end = round(rows * tenth / BANDS)
        if end <= start:
            continue
        # Equal scores are in one band: no cut-off parts them.
        end = int(np.searchsorted(-ranked, -ranked[end - 1], side="right"))
        band, until = bad[start:end], float(bad[:end].sum())
        yield GainBand(
            score_from=float(np.rint(ranked[end - 1])),
            loans=end - start,
            defaults=int(band.sum()),
            predicted=float(chances[start:end].mean()),
            accepted=end / rows,
            accepted_rate=until / end,
            caught=(all_bad - until) / all_bad,
            lift=float(band.mean()) / (all_bad / rows),
        )
        start = end


def _enough(labels: Labels, given: NDArray[np.bool_]) -> bool:
    some = labels[given]
    return len(some) >= LOANS_MIN and 0 < int(np.count_nonzero(some)) < len(some)


def _people(judges: Judges, given: NDArray[np.bool_]) -> People | None:
    return None if judges.people is None else judges.people[given]


def _by_amount(judges: Judges, seed: int, draws: int) -> ByAmount | None:
    amount = judges.money.amount
    given = amount > 0.0
    if not _enough(judges.labels, given):
        return None
    labels, points, lent = judges.labels[given], judges.points[given], amount[given]
    chances, ranking = kernel.probabilities(points), metrics.rank(labels, -points)

    def measured(times: Floats) -> Floats:
        weights = times * lent
        return np.array([2.0 * ranking.auc(weights) - 1.0, weights @ labels / weights.sum()])

    gini, observed = measured(np.ones(len(labels))).tolist()
    drawn = metrics.replicate(labels, measured, draws, seed, _people(judges, given))
    return ByAmount(
        loans=len(labels),
        amount=float(lent.sum()),
        gini=gini,
        gini_interval=metrics.percentile_interval(drawn[:, 0]),
        predicted=float(lent @ chances / lent.sum()),
        observed=observed,
        observed_interval=metrics.percentile_interval(drawn[:, 1]),
    )


def _loss(judges: Judges, assumed: float) -> LossCheck | None:
    amount, repaid = judges.money.amount, judges.money.repaid
    valued = (judges.labels == 1) & (amount > 0.0) & ~np.isnan(repaid)
    if not valued.any():
        return None
    # Who paid more than was lent has lost nothing of it.
    lent = amount[valued]
    back = np.minimum(repaid[valued], lent)
    found = lost(
        Amounts(
            len(lent),
            float(lent.sum()),
            float(back.sum()),
            float(lent @ lent),
            float(back @ back),
            float(lent @ back),
        )
    )
    assert found.share is not None
    interval = None
    if found.low is not None and found.high is not None:
        interval = Interval(found.low, found.high)
    return LossCheck(len(lent), found.disbursed, found.share, interval, assumed)


def _present(judges: Judges, seed: int, draws: int) -> PresentScore | None:
    score = judges.money.present_score
    given = ~np.isnan(score)
    if not _enough(judges.labels, given):
        return None
    labels, ours = judges.labels[given], judges.points[given]
    rises = metrics.auc(labels, -score[given]) >= 0.5  # noqa: PLR2004  chance
    theirs = score[given] if rises else -score[given]
    rankings = [metrics.rank(labels, -points) for points in (ours, theirs)]

    def measured(weights: Floats) -> Floats:
        return np.array([ranking.auc(weights) for ranking in rankings])

    candidate, present = (ranking.auc() for ranking in rankings)
    drawn = metrics.replicate(labels, measured, draws, seed, _people(judges, given))
    return PresentScore(
        loans=len(labels),
        auc=present,
        auc_interval=metrics.percentile_interval(drawn[:, 1]),
        candidate_auc=candidate,
        ahead=candidate - present,
        ahead_interval=metrics.percentile_interval(drawn[:, 0] - drawn[:, 1]),
        rises=bool(rises),
    )


def _explored(judges: Judges) -> Explored | None:
    """Tell how loans went that were given by chance: of people whom a policy would not choose."""
    propensity = judges.money.propensity
    given = propensity < 1.0
    if not given.any():
        return None
    weights, bad = 1.0 / propensity[given], judges.labels[given].astype(np.float64)
    total = float(weights.sum())
    rate = float(weights @ bad) / total
    worth = total * total / float(weights @ weights)
    interval = metrics.wilson_of(rate, worth)
    predicted = float(weights @ kernel.probabilities(judges.points[given])) / total
    return Explored(len(bad), total, predicted, rate, interval)


# ------------------------------------------------------------------------------------------- stress


def stressed(
    policy: ReadyPolicy, applications: Mapping[str, Column], rows: int
) -> Iterator[Stressed]:
    """Hold the loans that the policy would give, and let risk rise after they were given.

    Prices stay. Where the inflow falls, the odds rise as those of the same applicant with less.
    """
    given = [(row, worth) for row, worth in enumerate(_worths(policy, applications, rows)) if worth]
    if not given:
        return
    places = np.array([row for row, _ in given], dtype=np.intp)
    worths = [worth for _, worth in given]
    chances = np.array([worth.probability for worth in worths])
    sure = np.array([worth.sure for worth in worths])
    at_stake = np.array([worth.at_stake for worth in worths])
    lent = sum(worth.amount for worth in worths)
    before = _log_odds(policy, applications, rows)[places]
    inflow = applications.get(INFLOW)
    for name, left, times in STRESSES:
        moved = np.zeros(len(places))
        if left < 1.0:
            if inflow is None or isinstance(inflow, Words):
                continue
            less = {**applications, INFLOW: inflow * left}
            moved = _log_odds(policy, less, rows)[places] - before
        odds = chances / (1.0 - chances) * np.exp(moved) * times
        risk = odds / (1.0 + odds)
        loss = float(risk @ at_stake)
        yield Stressed(name, float(risk.mean()), loss / lent, (float(sure.sum()) - loss) / lent)


def _log_odds(policy: ReadyPolicy, applications: Mapping[str, Column], rows: int) -> Floats:
    model = policy.model.model
    points, _ = served_points(model, applications, rows, policy.currency)
    chances = kernel.probabilities(points)
    found: Floats = np.log(chances / (1.0 - chances))
    return found


def _worths(
    policy: ReadyPolicy, applications: Mapping[str, Column], rows: int
) -> Iterator[Worth | None]:
    """Give the money of the loan that each would get; None where none is approved."""
    for values in rows_of_values(policy, applications, rows):
        scorecard = policy.model.scorecard_for(Application(values))
        asked = policy.as_asked(values)
        verdict = decide(policy, scorecard, asked, scorecard.score(asked))
        if verdict.decision is Decision.APPROVED:
            loan = verdict.loan
            yield policy.tariffs[loan.term].worth(loan.probability, loan.amount)
        else:
            yield None
