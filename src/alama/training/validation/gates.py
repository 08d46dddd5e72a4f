"""The gates between a candidate and approval: what must hold, what was measured, and why it blocks.

A gate that lacks the evidence to judge does not pass. A lender may tighten a limit, never loosen
it: what is asked of every model stands here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.errors import AlamaError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from alama.training.validation.refit import RefitLead
    from alama.training.validation.tiers import TierRate


TIER_LOANS_MIN: Final = 50
"""Loans that a tier needs to be compared alone; with fewer it is pooled with its neighbour."""

_Z_95: Final = 1.96


class InvalidGate(AlamaError):
    """A lender asked for a limit that there is not, that is looser, or that nobody can pass."""


class Gates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The limits. Rates are shares; the AUC is the lower end of its 95 % interval."""

    auc_low_min: float = 0.60
    slope_min: float = 0.8
    slope_max: float = 1.2
    predicted_to_observed_min: float = 0.8
    predicted_to_observed_max: float = 1.25
    psi_max: float = 0.25
    defaults_min: int = 300
    out_of_time_defaults_min: int = 150


FOR_EVERYONE: Final = Gates()

_DEFAULTS_MAX: Final = 1_000_000

_FURTHEST: Final = Gates(
    auc_low_min=1.0,
    slope_min=1.0,
    slope_max=1.0,
    predicted_to_observed_min=1.0,
    predicted_to_observed_max=1.0,
    psi_max=0.0,
    defaults_min=_DEFAULTS_MAX,
    out_of_time_defaults_min=_DEFAULTS_MAX,
)
"""How far a limit can be tightened and still be met: a `_min` up to it, a `_max` down to above it.

So a perfect slope and a perfect level pass whatever a lender asks for.
"""


def tightened(asked: Mapping[str, float]) -> Gates:
    """Give the limits with those that a lender asks for in their place, or raise `InvalidGate`.

    A limit that ends in `_min` may only rise, one that ends in `_max` only fall, and none so far
    that no model could pass. Those of defaults are whole numbers, however they are written.
    """
    return msgspec.structs.replace(
        FOR_EVERYONE, **{name: _limit(name, limit) for name, limit in asked.items()}
    )


def limits_text(asked: Mapping[str, float]) -> str:
    """Write down what a lender asks for, or raise `InvalidGate`: the same limits, the same text.

    This is the text that the terms of a lender hold, and that a candidate is held against.
    """
    limits = msgspec.structs.asdict(tightened(asked))
    return msgspec.json.encode({name: limits[name] for name in sorted(asked)}).decode()


def _limit(name: str, limit: float) -> float:
    """Give a limit as its gate has it, whole or not, or raise `InvalidGate`."""
    if name not in FOR_EVERYONE.__struct_fields__:
        known = ", ".join(sorted(FOR_EVERYONE.__struct_fields__))
        raise InvalidGate(f"there is no gate {name}", hint=f"gates: {known}")
    everyone, furthest = getattr(FOR_EVERYONE, name), getattr(_FURTHEST, name)
    rises, whole = name.endswith("_min"), isinstance(everyone, int)
    # Written so that NaN, which is neither, is refused.
    if not (limit >= everyone if rises else limit <= everyone):
        allowed = f"{'at least' if rises else 'at most'} {everyone:g}"
        raise InvalidGate(
            f"{name} = {limit:g} would let more through than is allowed to anyone",
            hint=f"a lender may only tighten a gate: {name} must be {allowed}",
        )
    if not (limit <= furthest if rises else limit > furthest):
        raise InvalidGate(
            f"no model could pass {name} = {limit:g}",
            hint=f"{name} must be {'at most' if rises else 'above'} {furthest:,}",
        )
    if whole and limit != int(limit):
        raise InvalidGate(
            f"{name} = {limit:g} is a number of defaults, and not a whole one",
            hint=f"write {math.ceil(limit)}",
        )
    return int(limit) if whole else float(limit)


class Gate(StrEnum):
    """What is asked of a candidate, the last of a refit alone. The names are public and stay."""

    EVIDENCE = "evidence"
    DISCRIMINATION = "discrimination"
    SLOPE = "calibration_slope"
    LEVEL = "predicted_to_observed"
    TIERS = "tiers_ordered"
    STABILITY = "stability"
    LEAKAGE = "leakage"
    REFIT = "refit_no_worse"


class GateResult(msgspec.Struct, frozen=True):
    """One gate: its figure (None where nothing could be measured), its limit, and why."""

    name: Gate
    passed: bool
    measured: float | None
    limit: str
    words: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What the gates look at; all but the first on the out-of-time part, as served.

    `score_psi` is of all that was booked in it, also of what has no outcome yet. `recent_psi` is of
    its last three months, which the whole would water down; None where it holds too few loans to
    tell.
    """

    defaults: int
    out_of_time_defaults: int
    auc: float
    auc_low: float
    slope: float
    predicted_rate: float
    observed_rate: float
    tiers: Sequence[TierRate]
    score_psi: float
    recent_psi: float | None
    suspects_kept: Sequence[str]


def judge_gates(measured: Measured, limits: Gates) -> tuple[GateResult, ...]:
    """Hold what was measured against the limits, in the order of `Gate`; see `judge_refit`."""
    judges: Sequence[Callable[[Measured, Gates], GateResult]] = (
        _evidence,
        _discrimination,
        _slope,
        _level,
        _tiers,
        _stability,
        _leakage,
    )
    return tuple(judge(measured, limits) for judge in judges)


def judge_refit(lead: RefitLead) -> GateResult:
    """Ask of a refit that it is not worse than the model that was judged, beyond chance."""
    worse = [
        words
        for words, is_worse in (
            ("ranks these loans worse", lead.ranks_worse),
            ("states probabilities that fit them worse", lead.fits_worse),
        )
        if is_worse
    ]
    words = (
        f"Out of fold on the out-of-time loans the refit has an AUC of {lead.auc:.3f}, and the "
        f"judged model {lead.judged_auc:.3f}; a log loss of {lead.log_loss:.4f}, and the judged "
        f"model {lead.judged_log_loss:.4f}"
    )
    if worse:
        words += f": the refit {' and '.join(worse)}, more than chance explains"
    return GateResult(
        Gate.REFIT,
        passed=not worse,
        measured=lead.auc_ahead,
        limit="out of fold, neither AUC nor log loss worse than the judged model's, beyond chance "
        "at 95 %",
        words=f"{words}.",
    )


def _evidence(measured: Measured, limits: Gates) -> GateResult:
    lacks = [
        f"{least - found:,} more {where}"
        for found, least, where in (
            (measured.defaults, limits.defaults_min, "in all"),
            (
                measured.out_of_time_defaults,
                limits.out_of_time_defaults_min,
                "in the out-of-time part",
            ),
        )
        if found < least
    ]
    found = (
        f"{measured.defaults:,} defaults, {measured.out_of_time_defaults:,} of them in the "
        "out-of-time part"
    )
    return GateResult(
        Gate.EVIDENCE,
        passed=not lacks,
        measured=float(measured.defaults),
        limit=f"at least {limits.defaults_min:,} defaults, "
        f"{limits.out_of_time_defaults_min:,} out of time",
        words=f"{found}: too few to judge a model by; {' and '.join(lacks)} are needed."
        if lacks
        else f"{found}.",
    )


def _discrimination(measured: Measured, limits: Gates) -> GateResult:
    passed = measured.auc_low >= limits.auc_low_min
    said = f"AUC {measured.auc:.3f}, and with 95 % confidence at least {measured.auc_low:.3f}"
    return GateResult(
        Gate.DISCRIMINATION,
        passed=passed,
        measured=measured.auc_low,
        limit=f"lower 95 % bound of the AUC at least {limits.auc_low_min:g}",
        words=f"{said}."
        if passed
        else f"{said}: the model does not rank these loans well enough to lend by.",
    )


def _slope(measured: Measured, limits: Gates) -> GateResult:
    slope = measured.slope
    words = f"The calibration slope is {slope:.2f}"
    if slope < limits.slope_min:
        words += ": high risks are stated too high and low ones too low"
    elif slope > limits.slope_max:
        words += ": the model is too timid at both ends"
    return GateResult(
        Gate.SLOPE,
        passed=limits.slope_min <= slope <= limits.slope_max,
        measured=slope,
        limit=f"{limits.slope_min:g} to {limits.slope_max:g}",
        words=f"{words}.",
    )


def _level(measured: Measured, limits: Gates) -> GateResult:
    low, high = limits.predicted_to_observed_min, limits.predicted_to_observed_max
    predicted, observed = measured.predicted_rate, measured.observed_rate
    ratio = predicted / observed if observed > 0.0 else None
    words = f"{predicted:.1%} was predicted and {observed:.1%} defaulted"
    if ratio is None:
        words += ": without a default nothing can be judged"
    elif ratio < low:
        words += ": loans would be priced too low"
    elif ratio > high:
        words += ": good applicants would be turned away"
    return GateResult(
        Gate.LEVEL,
        passed=ratio is not None and low <= ratio <= high,
        measured=ratio,
        limit=f"predicted to observed {low:g} to {high:g}",
        words=f"{words}.",
    )


def _tiers(measured: Measured, _limits: Gates) -> GateResult:
    pools = _pooled(measured.tiers)
    inversions = [
        _Inversion(better, worse)
        for better, worse in combinations(pools, 2)
        if worse.observed < better.observed
    ]
    broken = [found for found in inversions if found.beyond_chance]
    enough = len(pools) > 1
    rates = ", ".join(f"{pool.name} {pool.observed:.1%}" for pool in pools)
    if not enough:
        words = (
            f"Fewer than two tiers, or neighbours together, hold {TIER_LOANS_MIN} loans, so their "
            "order cannot be judged."
        )
    elif broken:
        told = "; ".join(found.words for found in broken)
        words = f"A better tier defaults more than a worse one, beyond chance: {told}."
    elif inversions:
        told = "; ".join(found.words for found in inversions)
        words = f"Default rates rise from tier to tier as far as chance lets one tell: {rates}. "
        words += f"Within chance: {told}."
    else:
        words = f"Default rates rise from tier to tier: {rates}."
    if enough and (together := [pool.name for pool in pools if len(pool.tiers) > 1]):
        words += f" Taken together for want of loans: {'; '.join(together)}."
    return GateResult(
        Gate.TIERS,
        passed=enough and not broken,
        measured=float(len(broken)) if enough else None,
        limit="no better tier defaults more than a worse one, beyond chance at 95 % "
        f"(under {TIER_LOANS_MIN} loans with its neighbour)",
        words=words,
    )


@dataclass(frozen=True, slots=True)
class _Pool:
    """Neighbouring tiers that are compared as one, the best first."""

    tiers: tuple[TierRate, ...]

    @property
    def name(self) -> str:
        return " with ".join(tier.name for tier in self.tiers)

    @property
    def loans(self) -> int:
        return sum(tier.loans for tier in self.tiers)

    @property
    def defaults(self) -> int:
        return sum(tier.defaults for tier in self.tiers)

    @property
    def observed(self) -> float:
        return self.defaults / self.loans


@dataclass(frozen=True, slots=True)
class _Inversion:
    """Two pools the wrong way round, and how far apart chance would bring them, were they equal."""

    better: _Pool
    worse: _Pool

    @property
    def apart(self) -> float:
        return self.better.observed - self.worse.observed

    @property
    def chance(self) -> float:
        """Give the half-width of the 95 % range of the difference of two equal rates."""
        better, worse = self.better, self.worse
        both = (better.defaults + worse.defaults) / (better.loans + worse.loans)
        variance = both * (1.0 - both) * (1.0 / better.loans + 1.0 / worse.loans)
        return _Z_95 * math.sqrt(variance)

    @property
    def beyond_chance(self) -> bool:
        return self.apart > self.chance

    @property
    def words(self) -> str:
        return (
            f"{self.better.name} {self.better.observed:.1%}, but {self.worse.name} below it "
            f"{self.worse.observed:.1%}, {100.0 * self.apart:.1f} points apart where chance alone "
            f"makes up to {100.0 * self.chance:.1f}"
        )


def _pooled(tiers: Sequence[TierRate]) -> list[_Pool]:
    """Pool each thin tier with the next worse one, the last of them with those above it."""
    pools: list[_Pool] = []
    waiting: tuple[TierRate, ...] = ()
    for tier in tiers:
        if not tier.loans:
            continue
        waiting = (*waiting, tier)
        if (pool := _Pool(waiting)).loans >= TIER_LOANS_MIN:
            pools.append(pool)
            waiting = ()
    if waiting and pools:
        pools[-1] = _Pool((*pools[-1].tiers, *waiting))
    return pools


def _stability(measured: Measured, limits: Gates) -> GateResult:
    moved = [psi for psi in (measured.score_psi, measured.recent_psi) if psi is not None]
    passed = all(psi < limits.psi_max for psi in moved)
    words = (
        "The scores of all that was booked in the out-of-time part moved by a PSI of "
        f"{measured.score_psi:.3f}"
    )
    if measured.recent_psi is not None:
        words += f", those of its last three months by {measured.recent_psi:.3f}"
    return GateResult(
        Gate.STABILITY,
        passed=passed,
        measured=max(moved),
        limit=f"PSI of the scores under {limits.psi_max:g}, also of the last three months",
        words=f"{words}."
        if passed
        else f"{words}: those who apply now are not those whom the model learned from.",
    )


def _leakage(measured: Measured, _limits: Gates) -> GateResult:
    kept = measured.suspects_kept
    return GateResult(
        Gate.LEAKAGE,
        passed=not kept,
        measured=float(len(kept)),
        limit="no input that gives the outcome away",
        words=f"Kept as input although the outcome can be read off it: {', '.join(kept)}."
        if kept
        else "No input gives the outcome away.",
    )
