"""The pack of a recalibrated model: what was moved, on what evidence, and the gates before it.

It goes the way of every candidate: a person reads it and signs. So it has the parts that a
validation pack is known by (the model, its name, gates, questions) and the few figures that speak
of a level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.monitoring import level
from alama.core.monitoring.calibration_shift import shift
from alama.core.monitoring.level import Band, Slope
from alama.core.recalibration import points_of, recalibrated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.model import Model
    from alama.core.monitoring.calibration_shift import Shift
    from alama.core.monitoring.level import Given, Sample

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
    slope = level.slope(sample)
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
        predicted=level.predicted_rate(sample),
        observed=found.defaults / found.loans,
        shift=found.log_odds,
        shift_error=found.standard_error,
        points=points_of(found),
        slope=slope,
        later=later,
        before=tuple(level.bands(sample, _BANDS)),
        after=tuple(level.bands(sample, _BANDS, found.log_odds)),
        coverage=evidence.coverage,
        gates=(_evidence(found), _certain(found), _small(found), _slope(slope), _holds(later)),
        questions=tuple(_questions(evidence)),
    )
    return Recalibration(made, pack)


def _judged_later(whole: Sequence[Given], later: Sequence[Given]) -> Later | None:
    """Move the level by the earlier loans alone and see what that does to the later ones."""
    earlier = shift(level.without(whole, later))
    if earlier is None or not later:
        return None
    return Later(
        loans=sum(one.loans for one in later),
        defaults=sum(one.defaults for one in later),
        shift=earlier.log_odds,
        loss_before=level.loss(later),
        loss_after=level.loss(later, earlier.log_odds),
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


# ----------------------------------------------------------------------------------- gates


def _evidence(found: Shift) -> GateResult:
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


def _certain(found: Shift) -> GateResult:
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


def _small(found: Shift) -> GateResult:
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


def _slope(slope: Slope | None) -> GateResult:
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


def _holds(later: Later | None) -> GateResult:
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
