"""A model on the level of today: what is moved, on what evidence, and the gates before it.

Who is riskier than whom is what the tables say, and that lasts for years. How many default in all
goes up and down with harvests, prices and the lender's own collecting. So where only the level is
off, nothing has to be learned again: one number moves, for which a few hundred loans are enough,
and contributions, monotone directions, the order of applicants and everything that was shown about
them stay as they were signed.

The pack goes the way of every candidate: a person reads it and signs. So it has the parts that a
validation pack is known by (the model, its name, gates, questions) and the few figures that speak
of a level.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core import calibration
from alama.core import model as models
from alama.core.model import Model, Recalibrated, Reference
from alama.core.monitoring import rates
from alama.core.monitoring.rates import log_odds, probability, wilson
from alama.core.tables import on_grid
from alama.core.tally import SCORE_STEP
from alama.core.units import LogOdds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


SCHEMA: Final = "alama.recalibration/1"
DEFAULTS_MIN: Final = 100
"""Mature defaults, and as many repaid loans, below which a level is not moved: its own standard
error is then above a tenth of the odds, whatever the book."""

SHIFT_MAX: Final = 1.0
"""Log-odds beyond which not the level of the model is wrong: 2.7 times the odds of default."""

SLOPE_MIN: Final = 0.8
SLOPE_MAX: Final = 1.2
"""As for a trained model; a slope that these cannot be told from by chance passes."""

TOLD_MIN: Final = 0.8
"""Share of the approved loans of which something is known, below which a person is asked why."""

_DEVIATIONS: Final = 1.96
_BANDS: Final = 10
_SUFFIX: Final = re.compile(r", recalibrated \d{4}-\d{2}-\d{2}$")
_REACH: Final = 64.0
"""More log-odds than any shift: with the probabilities above it takes e**35 loans to need 50."""

_ROUNDS_MAX: Final = 200
_CLOSE_ENOUGH: Final = 1e-12
_SLOPE_ROUNDS_MAX: Final = 60
_SLOPE_CLOSE_ENOUGH: Final = 1e-10
_STEP_MAX: Final = 2.0


class Given(NamedTuple):
    """The loans that were given one probability of default, or nearly one."""

    probability: float
    loans: int
    defaults: int


Sample = list[Given]
"""Some loans, a row for each probability: a million of them are some hundred rows."""


class Shift(NamedTuple):
    """What to add to the log-odds of default of every loan, and how sure that is.

    Above nought more have defaulted than was predicted. `standard_error` is of the shift alone: it
    takes the order of the loans as given.
    """

    log_odds: LogOdds
    standard_error: float
    loans: int
    defaults: int


class Slope(NamedTuple):
    """How steeply the true log-odds rise with the stated ones: 1 where the model is right.

    Below 1 high risks are stated too high and low ones too low, whatever the level.
    """

    value: float
    standard_error: float


class Band(NamedTuple):
    """Neighbouring loans: what was predicted of them, what came of it, and its 95 % interval."""

    predicted: float
    observed: float
    low: float
    high: float
    loans: int


class GateResult(msgspec.Struct, frozen=True):
    """One gate: its figure (None where nothing could be measured), its limit, and why.

    `shown` is the figure as people read it, where the number alone does not say enough.
    """

    name: str
    passed: bool
    measured: float | None
    limit: str
    words: str
    shown: str | None = None


class Later(msgspec.Struct, frozen=True):
    """The later half of the loans, with the level that the earlier half alone would have given.

    Losses are mean log losses; less is better.
    """

    loans: int
    defaults: int
    shift: float
    loss_before: float
    loss_after: float


class Coverage(msgspec.Struct, frozen=True):
    """Of how many approved applications anything is known, in months whose last loan is mature."""

    approved: int
    told: int

    @property
    def is_thin(self) -> bool:
        """Whether so few are known that those may be of one kind."""
        return self.told < TOLD_MIN * self.approved


class Pack(msgspec.Struct, frozen=True):
    """The pack of one recalibration. Rates are shares; `shift` is in log-odds of default."""

    schema: str
    model_id: str
    name: str
    from_model_id: str
    from_name: str
    made_on: str
    since: str
    days_past_due: int
    loans: int
    defaults: int
    predicted: float
    observed: float
    shift: float
    shift_error: float
    points: float
    slope: Slope | None
    later: Later | None
    before: tuple[Band, ...]
    after: tuple[Band, ...]
    coverage: Coverage
    gates: tuple[GateResult, ...]
    questions: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it may be approved."""
        return all(gate.passed for gate in self.gates)


class Evidence(NamedTuple):
    """What a recalibration is made on: mature loans of one model, those of the later half apart.

    `since` and `made_on` are days, as 2026-11-16.
    """

    sample: Sample
    later: Sample
    since: str
    made_on: str
    coverage: Coverage


class Recalibration(NamedTuple):
    """A model on the level of today, and what there is to know about it."""

    model: Model
    pack: Pack


encode: Final = msgspec.json.Encoder().encode


def recalibrate(model: Model, evidence: Evidence) -> Recalibration | None:
    """Move a model to the level of its recent loans, and judge that.

    None where no loan of the sample defaulted, or none did not: then there is no level to move to.
    """
    sample = evidence.sample
    found = shift(sample)
    if found is None:
        return None
    made = recalibrated(model, found, evidence.made_on)
    slope = slope_of(sample)
    later = _judged_later(sample, evidence.later)
    pack = Pack(
        schema=SCHEMA,
        model_id=made.id,
        name=made.name,
        from_model_id=model.id,
        from_name=model.name,
        made_on=evidence.made_on,
        since=evidence.since,
        days_past_due=model.outcome.days_past_due,
        loans=found.loans,
        defaults=found.defaults,
        predicted=predicted_rate(sample),
        observed=found.defaults / found.loans,
        shift=found.log_odds,
        shift_error=found.standard_error,
        points=points_of(found),
        slope=slope,
        later=later,
        before=tuple(bands(sample, _BANDS)),
        after=tuple(bands(sample, _BANDS, found.log_odds)),
        coverage=evidence.coverage,
        gates=(
            _recent_outcomes(found),
            _shift_no_chance(found),
            _shift_size(found),
            _calibration_slope(slope),
            _later_half(later),
        ),
        questions=tuple(_questions(evidence)),
    )
    return Recalibration(made, pack)


def _judged_later(whole: Sequence[Given], later: Sequence[Given]) -> Later | None:
    """Move the level by the earlier loans alone and see what that does to the later ones."""
    earlier = shift(without(whole, later))
    if earlier is None or not later:
        return None
    return Later(
        loans=sum(one.loans for one in later),
        defaults=sum(one.defaults for one in later),
        shift=earlier.log_odds,
        loss_before=loss(later),
        loss_after=loss(later, earlier.log_odds),
    )


def _questions(evidence: Evidence) -> list[str]:
    coverage = evidence.coverage
    if not coverage.is_thin:
        return []
    question = (
        f"Of {coverage.approved:,} applications that were approved in months whose loans are all "
        f"mature, something is known of {coverage.told:,}. Are defaults told of sooner, or more "
        "often, than repayments? Then this level is too high."
    )
    return [question]


# -------------------------------------------------------------------------------------------- gates


def _recent_outcomes(found: Shift) -> GateResult:
    fewer = min(found.defaults, found.loans - found.defaults)
    passed = fewer >= DEFAULTS_MIN
    said = f"{found.loans:,} mature loans, {found.defaults:,} of them defaults"
    return GateResult(
        "recent_outcomes",
        passed=passed,
        measured=float(fewer),
        limit=f"at least {DEFAULTS_MIN} defaults and as many repaid",
        words=f"{said}." if passed else f"{said}: too few to tell a level by; wait for more.",
    )


def _shift_no_chance(found: Shift) -> GateResult:
    noise = _DEVIATIONS * found.standard_error
    passed = abs(found.log_odds) > noise
    said = f"The shift is {found.log_odds:+.3f} log-odds, and chance alone makes up to {noise:.3f}"
    return GateResult(
        "shift_no_chance",
        passed=passed,
        measured=abs(found.log_odds) / found.standard_error,
        limit=f"more than {_DEVIATIONS} standard errors",
        words=f"{said}."
        if passed
        else f"{said}: the model is on its level as far as anybody can tell.",
    )


def _shift_size(found: Shift) -> GateResult:
    passed = abs(found.log_odds) <= SHIFT_MAX
    said = f"The shift is {found.log_odds:+.3f} log-odds, {points_of(found):+.1f} points"
    return GateResult(
        "shift_size",
        passed=passed,
        measured=abs(found.log_odds),
        limit=f"at most {SHIFT_MAX:g} log-odds either way",
        words=f"{said}."
        if passed
        else f"{said}: so far off is not a level. Look at what has changed, and train again.",
    )


def _calibration_slope(slope: Slope | None) -> GateResult:
    name, limit = "calibration_slope", f"{SLOPE_MIN:g} to {SLOPE_MAX:g}, within chance"
    if slope is None:
        words = "The loans cannot tell the slope: their probabilities are too much alike."
        return GateResult(name, passed=False, measured=None, limit=limit, words=words)
    noise = _DEVIATIONS * slope.standard_error
    passed = slope.value + noise >= SLOPE_MIN and slope.value - noise <= SLOPE_MAX
    said = f"The slope on these loans is {slope.value:.2f}, give or take {noise:.2f}"
    return GateResult(
        name,
        passed=passed,
        measured=slope.value,
        limit=limit,
        words=f"{said}."
        if passed
        else f"{said}: not only the level is off, but high risks against low ones. Train again.",
        shown=f"{slope.value:.2f} ({slope.value - noise:.2f} to {slope.value + noise:.2f})",
    )


def _later_half(later: Later | None) -> GateResult:
    name, limit = "later_half", "less loss than before"
    if later is None:
        words = "One half of the loans has no defaults, or nothing else: nothing can be judged."
        return GateResult(name, passed=False, measured=None, limit=limit, words=words)
    gain = later.loss_before - later.loss_after
    passed = gain > 0.0
    said = (
        f"With the level of the earlier half, {later.shift:+.3f} log-odds, the loss on the "
        f"{later.loans:,} later loans goes from {later.loss_before:.5f} to {later.loss_after:.5f}"
    )
    return GateResult(
        name,
        passed=passed,
        measured=gain,
        limit=limit,
        words=f"{said}."
        if passed
        else f"{said}: what was right for the earlier loans is not for the later ones.",
        shown=f"loss {later.loss_before:.5f} -> {later.loss_after:.5f}",
    )


# ---------------------------------------------------------------------------------------- the model


def recalibrated(model: Model, shift: Shift, on: str) -> Model:
    """Give the model with every base moved by a shift; `on` is the day, as 2026-11-16.

    It is sealed, and read back as any model is: `InvalidModel` where its cells would reach too far.
    """
    points = points_of(shift)
    was_made = Recalibrated(
        model_id=model.id,
        on=on,
        shift=shift.log_odds,
        points=points,
        loans=shift.loans,
        defaults=shift.defaults,
    )
    moved = models.seal(
        msgspec.structs.replace(
            model,
            name=f"{_SUFFIX.sub('', model.name)}, recalibrated {on}",
            cards=tuple(
                msgspec.structs.replace(card, base=on_grid(card.base + points))
                for card in model.cards
            ),
            references=tuple(_moved_along(reference, points) for reference in model.references),
            lineage=msgspec.structs.replace(model.lineage, recalibrated=was_made),
        )
    )
    return models.decode(models.encode(moved))


def points_of(shift: Shift) -> float:
    """Give the points that a shift of the log-odds of default moves every score by, on the grid."""
    return on_grid(-shift.log_odds * calibration.POINTS_PER_LOG_ODDS)


def _moved_along(reference: Reference, points: float) -> Reference:
    """Move the edges along with the scores, in whole steps of what is counted.

    Up to half a step is left, which moves a few in a hundred scores to the next band: far less than
    what is called drift. An edge that leaves the scale is left out, with its band in the next one:
    nobody has such a score any more.
    """
    step = SCORE_STEP * round(points / SCORE_STEP)
    edges: list[int] = []
    shares = [reference.score_shares[0]]
    for edge, share in zip(reference.score_edges, reference.score_shares[1:], strict=True):
        there = edge + step
        if calibration.SCORE_MIN < there <= calibration.SCORE_MAX:
            edges.append(there)
            shares.append(share)
        else:
            shares[-1] += share
    return msgspec.structs.replace(reference, score_edges=tuple(edges), score_shares=tuple(shares))


# ---------------------------------------------------------------------------------------- the level


def shift(predicted: Iterable[tuple[float, int, int]]) -> Shift | None:
    """Give the shift with which as many defaults are predicted as there were.

    `predicted` has, for each probability of default that was given, the count of loans and how many
    of these defaulted. None where no loan defaulted, or none did not: no shift is far enough.
    """
    groups = []
    loans = defaults = 0
    for stated, count, defaulted in predicted:
        assert 0 <= defaulted <= count
        loans += count
        defaults += defaulted
        if count:
            groups.append(_Group(log_odds(stated), count))
    if not 0 < defaults < loans:
        return None
    found = _solved(groups, defaults)
    _, slope = _expected(groups, found)
    return Shift(LogOdds(found), 1.0 / math.sqrt(slope), loans, defaults)


class _Group(NamedTuple):
    log_odds: float
    loans: int


def _solved(groups: Sequence[_Group], defaults: int) -> float:
    """Find where as many are expected: Newton's steps, halving where one would lead astray."""
    low, high = -_REACH, _REACH
    here = 0.0
    for _ in range(_ROUNDS_MAX):
        expected, slope = _expected(groups, here)
        if expected < defaults:
            low = here
        else:
            high = here
        step = (defaults - expected) / slope if slope > 0.0 else math.inf
        there = here + step if low < here + step < high else (low + high) / 2.0
        if abs(there - here) <= _CLOSE_ENOUGH:
            return there
        here = there
    return here


def _expected(groups: Sequence[_Group], moved: float) -> tuple[float, float]:
    """Give the defaults that are expected with a shift, and how fast they grow with it."""
    chances = [(group.loans, probability(group.log_odds + moved)) for group in groups]
    expected = math.fsum(count * chance for count, chance in chances)
    slope = math.fsum(count * chance * (1.0 - chance) for count, chance in chances)
    return expected, slope


# ----------------------------------------------------------------------------------------- a sample


def predicted_rate(sample: Sequence[Given], shift: float = 0.0) -> float:
    """Give the mean probability of some loans, each moved by a shift."""
    total = math.fsum(one.loans * moved(one.probability, shift) for one in sample)
    return total / sum(one.loans for one in sample)


def moved(probability: float, shift: float) -> float:
    """Give a probability with its log-odds moved."""
    return rates.probability(rates.log_odds(probability) + shift)


def slope_of(sample: Sequence[Given]) -> Slope | None:
    """Fit outcomes by the stated log-odds, level and slope both free.

    None where the sample cannot tell: too few different probabilities, or outcomes that they part.
    """
    level, steep = 0.0, 1.0
    for _ in range(_SLOPE_ROUNDS_MAX):
        gradient, curve = _steps(sample, level, steep)
        determinant = curve[0] * curve[2] - curve[1] * curve[1]
        if not determinant > _SLOPE_CLOSE_ENOUGH * curve[0] * curve[2]:
            return None
        by_level = (curve[2] * gradient[0] - curve[1] * gradient[1]) / determinant
        by_slope = (curve[0] * gradient[1] - curve[1] * gradient[0]) / determinant
        longest = max(abs(by_level), abs(by_slope))
        # Far from the end Newton's step may be too long; its direction is right all the same.
        shrink = min(1.0, _STEP_MAX / longest) if longest else 1.0
        level, steep = level + shrink * by_level, steep + shrink * by_slope
        if longest <= _SLOPE_CLOSE_ENOUGH:
            return Slope(steep, math.sqrt(curve[0] / determinant))
    return None


def _steps(
    sample: Sequence[Given], level: float, steep: float
) -> tuple[tuple[float, float], tuple[float, float, float]]:
    """Give the gradient of the log-likelihood, and its curvature as three of four numbers."""
    by_level = by_slope = flat = mixed = square = 0.0
    for one in sample:
        stated = rates.log_odds(one.probability)
        chance = rates.probability(level + steep * stated)
        missed = one.defaults - one.loans * chance
        weight = one.loans * chance * (1.0 - chance)
        by_level += missed
        by_slope += missed * stated
        flat += weight
        mixed += weight * stated
        square += weight * stated * stated
    return (by_level, by_slope), (flat, mixed, square)


def loss(sample: Sequence[Given], shift: float = 0.0) -> float:
    """Give the mean log loss of the probabilities, each moved by a shift; less is better."""
    total = 0.0
    for one in sample:
        chance = moved(one.probability, shift)
        total -= one.defaults * math.log(chance)
        total -= (one.loans - one.defaults) * math.log1p(-chance)
    return total / sum(one.loans for one in sample)


def without(whole: Sequence[Given], part: Sequence[Given]) -> Sample:
    """Give a sample without a part of it, row by row where probabilities are the same."""
    gone = {one.probability: one for one in part}
    nothing = Given(0.0, 0, 0)
    left = []
    for one in whole:
        taken = gone.get(one.probability, nothing)
        left.append(Given(one.probability, one.loans - taken.loans, one.defaults - taken.defaults))
    assert all(0 <= one.defaults <= one.loans for one in left)
    return [one for one in left if one.loans]


def bands(sample: Sequence[Given], many: int, shift: float = 0.0) -> list[Band]:
    """Put neighbours together into at most so many bands of about as many loans each."""
    return [_band(some, shift) for some in _parted(sample, many)]


def _band(some: Sequence[Given], shift: float) -> Band:
    count = sum(one.loans for one in some)
    defaults = sum(one.defaults for one in some)
    low, high = wilson(defaults, count)
    return Band(predicted_rate(some, shift), defaults / count, low, high, count)


def _parted(sample: Sequence[Given], many: int) -> Iterator[Sequence[Given]]:
    ordered = sorted(one for one in sample if one.loans)
    total = sum(one.loans for one in ordered)
    some: list[Given] = []
    reached = given = 0
    for one in ordered:
        some.append(one)
        reached += one.loans
        if reached * many >= total * (given + 1):
            yield some
            some = []
            given = reached * many // total
    assert not some
